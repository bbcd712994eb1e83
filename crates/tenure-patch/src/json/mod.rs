//! JSON patch (RFC 6902): a list of operations, each on the result of the one before; either all are applied or none.
//! Operations work on a draft of the document, so that ten thousand of them cost what they touch and not ten thousand
//! documents.

mod diff;
mod draft;
mod library_text;
mod operation;
mod sequence;

pub use crate::pointer::Dialect;
pub use diff::diff;

use crate::{ErrorKind, PatchError};
use draft::{Draft, Missing};
use library_text::Target;
use operation::{Action, Operation};
use tenure_value::{Kind, Limits, Value};

/// How a JSON patch is read, and its limits. The default is what a Kubernetes API server accepts.
///
/// ```
/// use tenure_patch::json::{Dialect, Options};
///
/// let options = Options::default().dialect(Dialect::Standard).max_operations(100);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    dialect: Dialect,
    max_operations: usize,
    max_copied_bytes: usize,
}

impl Options {
    /// Sets which reading of the standard is used.
    pub const fn dialect(mut self, dialect: Dialect) -> Options {
        self.dialect = dialect;
        self
    }

    /// Sets how many operations a patch may have.
    pub const fn max_operations(mut self, operations: usize) -> Options {
        self.max_operations = operations;
        self
    }

    /// Sets how many bytes the `copy` operations of a patch may add together.
    pub const fn max_copied_bytes(mut self, bytes: usize) -> Options {
        self.max_copied_bytes = bytes;
        self
    }
}

impl Default for Options {
    fn default() -> Options {
        Options { dialect: Dialect::Kubernetes, max_operations: 10_000, max_copied_bytes: 3 << 20 }
    }
}

/// Applies a JSON patch; `null` is a patch without operations.
///
/// ```
/// use tenure_patch::json;
/// use tenure_value::Value;
///
/// let live: Value = r#"{"a": [1, 3]}"#.parse().unwrap();
/// let patch: Value = r#"[{"op": "add", "path": "/a/1", "value": 2}]"#.parse().unwrap();
/// assert_eq!(json::apply(&live, &patch, &Default::default()).unwrap().to_string(), r#"{"a":[1,2,3]}"#);
/// ```
pub fn apply(live: &Value, patch: &Value, options: &Options) -> Result<Value, PatchError> {
    let operations = match patch {
        Value::Array(operations) => operations.items(),
        Value::Null => &[],
        found => {
            let what = "a JSON patch".into();
            return Err(ErrorKind::WrongKind { what, expected: Kind::Array, found: found.clone() }.into());
        }
    };
    if operations.len() > options.max_operations {
        let what = "operations in a JSON patch".into();
        let (limit, found) = (options.max_operations, operations.len());
        return Err(ErrorKind::TooLarge { what, limit, found }.into());
    }
    let mut patching = Patching { draft: Draft::new(live.clone()), options, copied: 0 };
    for (index, operation) in operations.iter().enumerate() {
        patching.run(index, operation)?;
    }
    Ok(patching.draft.finish())
}

/// A patch being applied.
struct Patching<'o> {
    draft: Draft,
    options: &'o Options,
    /// The bytes that `copy` operations have added.
    copied: usize,
}

impl Patching<'_> {
    fn run(&mut self, index: usize, operation: &Value) -> Result<(), PatchError> {
        let dialect = self.options.dialect;
        let Operation { path, pointer, action } = Operation::read(operation, dialect).map_err(|problem| {
            let value = operation.clone();
            PatchError::from(ErrorKind::BadOperation { index, problem: problem.into(), value })
        })?;
        let missing = |pointer: &str, target: Target, problem: Missing| -> PatchError {
            let name = operation.get("op").and_then(Value::as_str).unwrap_or_default();
            let in_kubernetes = library_text::missing(name, target, pointer, problem).into();
            let (pointer, problem) = (pointer.into(), problem.why.into());
            ErrorKind::NoSuchTarget { index, pointer, problem, in_kubernetes }.into()
        };
        let to = |problem| missing(path, Target::Path, problem);
        let of_source = |text, problem| missing(text, Target::From, problem);
        let depth = pointer.tokens().len();
        match action {
            Action::Add(value) => {
                let value = checked(Draft::new(value), depth)?;
                self.draft.add(&pointer, value, dialect).map_err(to)
            }
            Action::Replace(value) => {
                let value = checked(Draft::new(value), depth)?;
                self.draft.replace(&pointer, value, dialect).map_err(to)
            }
            Action::Remove => self.draft.remove(&pointer, dialect).map(drop).map_err(to),
            Action::Move { from, text } => {
                if pointer.is_within(&from) && pointer != from {
                    return Err(to(Missing { why: "a value cannot move into itself", has_parent: false }));
                }
                let value = self.draft.remove(&from, dialect).map_err(|problem| of_source(text, problem))?;
                self.draft.add(&pointer, checked(value, depth)?, dialect).map_err(to)
            }
            Action::Copy { from, text } => {
                let value = self.draft.get(&from, dialect).map_err(|problem| of_source(text, problem))?;
                let value = match (value, dialect) {
                    (Some(value), _) => value.view(),
                    // As recorded: if the parent exists and the field does not, `null` is copied.
                    (None, Dialect::Kubernetes) => Value::Null,
                    (None, Dialect::Standard) => return Err(of_source(text, draft::ABSENT)),
                };
                self.count_copy(&value)?;
                self.draft.add(&pointer, checked(Draft::new(value), depth)?, dialect).map_err(to)
            }
            Action::Test(expected) => {
                let found = self.draft.get(&pointer, dialect).map_err(to)?;
                let holds = match (&found, dialect) {
                    (Some(found), _) => found.equals(&expected),
                    (None, Dialect::Kubernetes) => expected.is_null(),
                    (None, Dialect::Standard) => false,
                };
                if holds {
                    return Ok(());
                }
                let found = found.map(|found| found.view());
                Err(ErrorKind::TestFailed { index, pointer: path.into(), expected, found }.into())
            }
        }
    }

    /// Counts the bytes that a `copy` adds.
    fn count_copy(&mut self, value: &Value) -> Result<(), PatchError> {
        let limit = self.options.max_copied_bytes;
        let left = limit.saturating_sub(self.copied);
        let bytes = draft::bytes(value, left);
        self.copied += bytes;
        match bytes > left {
            true => {
                let what = "bytes added by copy operations".into();
                Err(ErrorKind::TooLarge { what, limit, found: self.copied }.into())
            }
            false => Ok(()),
        }
    }
}

/// Checks that a value at this depth keeps the document within the depth that every walk relies on.
fn checked(value: Draft, depth: usize) -> Result<Draft, PatchError> {
    let found = depth + value.depth();
    match found > Limits::DEPTH {
        true => {
            let what = "levels of nesting".into();
            Err(ErrorKind::TooLarge { what, limit: Limits::DEPTH, found }.into())
        }
        false => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorClass;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    fn run(live: &str, patch: &str, dialect: Dialect) -> Result<String, ErrorClass> {
        let options = Options::default().dialect(dialect);
        apply(&value(live), &value(patch), &options)
            .map(|value| value.to_string())
            .map_err(|error| error.class())
    }

    #[test]
    fn operations_follow_the_standard() {
        for (live, patch, expected) in [
            (
                r#"{"foo":"bar"}"#,
                r#"[{"op":"add","path":"/baz","value":"qux"}]"#,
                r#"{"baz":"qux","foo":"bar"}"#,
            ),
            (
                r#"{"foo":["bar","baz"]}"#,
                r#"[{"op":"add","path":"/foo/1","value":"q"}]"#,
                r#"{"foo":["bar","q","baz"]}"#,
            ),
            (
                r#"{"foo":["bar"]}"#,
                r#"[{"op":"add","path":"/foo/-","value":["a"]}]"#,
                r#"{"foo":["bar",["a"]]}"#,
            ),
            (r#"{"a":1,"b":2}"#, r#"[{"op":"remove","path":"/a"}]"#, r#"{"b":2}"#),
            (r#"{"a":[1,2,3]}"#, r#"[{"op":"remove","path":"/a/1"}]"#, r#"{"a":[1,3]}"#),
            (r#"{"a":1}"#, r#"[{"op":"replace","path":"/a","value":null}]"#, r#"{"a":null}"#),
            (
                r#"{"a":{"x":1},"b":{}}"#,
                r#"[{"op":"move","from":"/a/x","path":"/b/y"}]"#,
                r#"{"a":{},"b":{"y":1}}"#,
            ),
            (
                r#"{"a":["x","y","z"]}"#,
                r#"[{"op":"move","from":"/a/0","path":"/a/2"}]"#,
                r#"{"a":["y","z","x"]}"#,
            ),
            (
                r#"{"a":{"x":1}}"#,
                r#"[{"op":"copy","from":"/a","path":"/b"}]"#,
                r#"{"a":{"x":1},"b":{"x":1}}"#,
            ),
            (
                r#"{"a":{"b":[1,"2"]}}"#,
                r#"[{"op":"test","path":"/a","value":{"b":[1,"2"]}}]"#,
                r#"{"a":{"b":[1,"2"]}}"#,
            ),
            (r#"{"a":1}"#, r#"[{"op":"replace","path":"","value":{"b":2}}]"#, r#"{"b":2}"#),
            (
                r#"{"/":9,"~1":10}"#,
                r#"[{"op":"test","path":"/~01","value":10},{"op":"remove","path":"/~1"}]"#,
                r#"{"~1":10}"#,
            ),
        ] {
            for dialect in [Dialect::Standard, Dialect::Kubernetes] {
                assert_eq!(run(live, patch, dialect).as_deref(), Ok(expected), "{live} {patch}");
            }
        }
    }

    #[test]
    fn dialects_differ_where_kubernetes_is_lenient() {
        use ErrorClass::{Inapplicable, TestFailed};
        for (live, patch, standard, kubernetes) in [
            (r#"{}"#, r#"[{"op":"replace","path":"/a","value":1}]"#, Err(Inapplicable), Ok(r#"{"a":1}"#)),
            (r#"{}"#, r#"[{"op":"test","path":"/a","value":null}]"#, Err(TestFailed), Ok("{}")),
            (r#"{"a":[1,2]}"#, r#"[{"op":"remove","path":"/a/-1"}]"#, Err(Inapplicable), Ok(r#"{"a":[1]}"#)),
            (r#"{"a":1}"#, r#"[{"op":"add","path":"","value":2}]"#, Ok("2"), Err(Inapplicable)),
            (r#"{"a":1}"#, r#"[{"op":"add","path":"/a"}]"#, Err(Inapplicable), Ok(r#"{"a":null}"#)),
            (r#"{}"#, r#"[{"op":"add","path":"x/a","value":1}]"#, Err(Inapplicable), Ok(r#"{"a":1}"#)),
        ] {
            assert_eq!(
                run(live, patch, Dialect::Standard).as_deref().map_err(|class| *class),
                standard,
                "{patch}"
            );
            assert_eq!(
                run(live, patch, Dialect::Kubernetes).as_deref().map_err(|class| *class),
                kubernetes,
                "{patch}"
            );
        }
    }

    #[test]
    fn bad_operations_have_their_class() {
        for (patch, class) in [
            (r#"{}"#, ErrorClass::BadPatch),
            (r#"[1]"#, ErrorClass::BadPatch),
            (r#"[{"op":1,"path":"/a"}]"#, ErrorClass::BadPatch),
            (r#"[{"op":"jump","path":"/a"}]"#, ErrorClass::Inapplicable),
            (r#"[{"path":"/a"}]"#, ErrorClass::Inapplicable),
            (r#"[{"op":"add","value":1}]"#, ErrorClass::Inapplicable),
            (r#"[{"op":"copy","path":"/b"}]"#, ErrorClass::Inapplicable),
            (r#"[{"op":"remove","path":"/none"}]"#, ErrorClass::Inapplicable),
            (r#"[{"op":"remove","path":""}]"#, ErrorClass::Inapplicable),
            (r#"[{"op":"add","path":"/none/here","value":1}]"#, ErrorClass::Inapplicable),
            (r#"[{"op":"add","path":"/list/9","value":1}]"#, ErrorClass::Inapplicable),
            (r#"[{"op":"replace","path":"/list/-","value":1}]"#, ErrorClass::Inapplicable),
            (r#"[{"op":"move","from":"/a","path":"/a/b"}]"#, ErrorClass::Inapplicable),
            (r#"[{"op":"test","path":"/a","value":2}]"#, ErrorClass::TestFailed),
        ] {
            assert_eq!(run(r#"{"a":1,"list":[]}"#, patch, Dialect::Kubernetes), Err(class), "{patch}");
        }
    }

    #[test]
    fn growth_and_nesting_are_limited() {
        let doubling = vec![r#"{"op":"copy","from":"/a","path":"/a/-"}"#; 60].join(",");
        assert_eq!(
            run(r#"{"a":["xxxxxxxxxxxxxxxx"]}"#, &format!("[{doubling}]"), Dialect::Standard),
            Err(ErrorClass::TooLarge)
        );
        let nesting = vec![r#"{"op":"copy","from":"/a","path":"/a/a"}"#; 300].join(",");
        assert_eq!(run(r#"{"a":{}}"#, &format!("[{nesting}]"), Dialect::Standard), Err(ErrorClass::TooLarge));
        let many = vec![r#"{"op":"test","path":"/a","value":1}"#; 10_001].join(",");
        assert_eq!(run(r#"{"a":1}"#, &format!("[{many}]"), Dialect::Standard), Err(ErrorClass::TooLarge));
    }
}
