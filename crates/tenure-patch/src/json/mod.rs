//! JSON patch (RFC 6902): a list of operations, each on the result of the one before; all of them hold or
//! none does. Operations work on a draft of the document, so that ten thousand of them cost what they
//! touch and not ten thousand documents.

mod diff;
mod draft;
mod operation;

pub use crate::pointer::Dialect;
pub use diff::diff;

use crate::{Fault, PatchError};
use draft::Draft;
use operation::Operation;
use tenure_value::{Kind, Limits, Value};

/// How a JSON patch is read, and what it may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which reading of the standard holds.
    pub dialect: Dialect,
    /// The most operations of one patch.
    pub operations: usize,
    /// The most bytes that all `copy` operations of one patch may add.
    pub copied_bytes: usize,
}

/// What a Kubernetes API server accepts.
impl Default for Options {
    fn default() -> Options {
        Options { dialect: Dialect::Kubernetes, operations: 10_000, copied_bytes: 3 << 20 }
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
            return Err(Fault::WrongKind { what, expected: Kind::Array, found: found.clone() }.into());
        }
    };
    if operations.len() > options.operations {
        let what = "operations in a JSON patch".into();
        return Err(Fault::TooLarge { what, limit: options.operations, found: operations.len() }.into());
    }
    let mut draft = Draft::new(live);
    let mut copied = 0;
    for (index, operation) in operations.iter().enumerate() {
        run(&mut draft, index, operation, options, &mut copied)?;
    }
    Ok(draft.finish())
}

fn run(
    draft: &mut Draft,
    index: usize,
    operation: &Value,
    options: &Options,
    copied: &mut usize,
) -> Result<(), PatchError> {
    let dialect = options.dialect;
    let bad = |problem: &str| {
        PatchError::from(Fault::BadOperation { index, problem: problem.into(), value: operation.clone() })
    };
    let operation = Operation::read(operation, dialect).map_err(bad)?;
    let missing = |pointer: &str, problem: &'static str| -> PatchError {
        Fault::NoSuchPlace { index, pointer: pointer.into(), problem: problem.into() }.into()
    };
    let path = operation.path;
    let to = |problem| missing(path, problem);
    match operation.kind {
        operation::Kind::Add(value) => {
            check_depth(operation.pointer.tokens().len(), &value)?;
            draft.add(&operation.pointer, Draft::new(&value), dialect).map_err(to)
        }
        operation::Kind::Replace(value) => {
            check_depth(operation.pointer.tokens().len(), &value)?;
            draft.replace(&operation.pointer, Draft::new(&value), dialect).map_err(to)
        }
        operation::Kind::Remove => draft.remove(&operation.pointer, dialect).map(drop).map_err(to),
        operation::Kind::Move { from, text } => {
            if operation.pointer.is_within(&from) && operation.pointer != from {
                return Err(missing(path, "a value cannot move into itself"));
            }
            let value = draft.remove(&from, dialect).map_err(|problem| missing(text, problem))?;
            if operation.pointer.tokens().len() > from.tokens().len() {
                check_depth(operation.pointer.tokens().len(), &value.view())?;
            }
            draft.add(&operation.pointer, value, dialect).map_err(to)
        }
        operation::Kind::Copy { from, text } => {
            let value = draft.get(&from, dialect).map_err(|problem| missing(text, problem))?;
            let value = match (value, dialect) {
                (Some(value), _) => value.view(),
                // As recorded: where the parent is there and the field is not, what is copied is null.
                (None, Dialect::Kubernetes) => Value::Null,
                (None, Dialect::Standard) => return Err(missing(text, "the field is absent")),
            };
            let left = options.copied_bytes.saturating_sub(*copied);
            let bytes = draft::bytes(&value, left);
            *copied += bytes;
            if bytes > left {
                let what = "bytes added by copy operations".into();
                return Err(Fault::TooLarge { what, limit: options.copied_bytes, found: *copied }.into());
            }
            check_depth(operation.pointer.tokens().len(), &value)?;
            draft.add(&operation.pointer, Draft::new(&value), dialect).map_err(to)
        }
        operation::Kind::Test(expected) => {
            let found = draft.get(&operation.pointer, dialect).map_err(to)?;
            let holds = match (&found, dialect) {
                (Some(found), _) => found.is(&expected),
                (None, Dialect::Kubernetes) => expected.is_null(),
                (None, Dialect::Standard) => false,
            };
            if holds {
                return Ok(());
            }
            let found = found.map(|found| found.view());
            Err(Fault::TestFailed { index, pointer: path.into(), expected, found }.into())
        }
    }
}

/// Checks that a value, put that deep, keeps the document within the depth that every walk relies on.
fn check_depth(at: usize, value: &Value) -> Result<(), PatchError> {
    let found = at + draft::depth(value);
    if found > Limits::DEPTH {
        return Err(Fault::TooLarge { what: "levels of nesting".into(), limit: Limits::DEPTH, found }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    fn run(live: &str, patch: &str, dialect: Dialect) -> Result<String, Class> {
        let options = Options { dialect, ..Options::default() };
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
        use Class::{Inapplicable, TestFailed};
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
    fn bad_operations_are_told_apart() {
        for (patch, class) in [
            (r#"{}"#, Class::BadPatch),
            (r#"[1]"#, Class::BadPatch),
            (r#"[{"op":1,"path":"/a"}]"#, Class::BadPatch),
            (r#"[{"op":"jump","path":"/a"}]"#, Class::Inapplicable),
            (r#"[{"path":"/a"}]"#, Class::Inapplicable),
            (r#"[{"op":"add","value":1}]"#, Class::Inapplicable),
            (r#"[{"op":"copy","path":"/b"}]"#, Class::Inapplicable),
            (r#"[{"op":"remove","path":"/none"}]"#, Class::Inapplicable),
            (r#"[{"op":"remove","path":""}]"#, Class::Inapplicable),
            (r#"[{"op":"add","path":"/none/here","value":1}]"#, Class::Inapplicable),
            (r#"[{"op":"add","path":"/list/9","value":1}]"#, Class::Inapplicable),
            (r#"[{"op":"replace","path":"/list/-","value":1}]"#, Class::Inapplicable),
            (r#"[{"op":"move","from":"/a","path":"/a/b"}]"#, Class::Inapplicable),
            (r#"[{"op":"test","path":"/a","value":2}]"#, Class::TestFailed),
        ] {
            assert_eq!(run(r#"{"a":1,"list":[]}"#, patch, Dialect::Kubernetes), Err(class), "{patch}");
        }
    }

    #[test]
    fn a_patch_can_neither_grow_without_bound_nor_nest_without_bound() {
        let doubling = vec![r#"{"op":"copy","from":"/a","path":"/a/-"}"#; 60].join(",");
        assert_eq!(
            run(r#"{"a":["xxxxxxxxxxxxxxxx"]}"#, &format!("[{doubling}]"), Dialect::Standard),
            Err(Class::TooLarge)
        );
        let nesting = vec![r#"{"op":"copy","from":"/a","path":"/a/a"}"#; 300].join(",");
        assert_eq!(run(r#"{"a":{}}"#, &format!("[{nesting}]"), Dialect::Standard), Err(Class::TooLarge));
        let many = vec![r#"{"op":"test","path":"/a","value":1}"#; 10_001].join(",");
        assert_eq!(run(r#"{"a":1}"#, &format!("[{many}]"), Dialect::Standard), Err(Class::TooLarge));
    }
}
