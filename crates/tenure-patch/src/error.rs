//! The errors of patches. An error is created where it is found and collects its path on the way out, one step per
//! level, so that a patch that succeeds does not pay for paths.

use std::fmt;
use tenure_fields::{Path, PathElement};
use tenure_value::{Array, Kind, Object, Text, Value};

/// What is wrong with a patch or a document.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A document, a patch or a directive has the wrong type.
    WrongKind {
        /// What has the wrong type: "the patch", "the live document", the name of a directive.
        what: Text,
        /// The type it must have.
        expected: Kind,
        /// What was found.
        found: Value,
    },
    /// A text is not valid JSON or exceeds a limit.
    Unreadable {
        /// What was read: "the patch", "the live document".
        what: Text,
        /// What is wrong, and where.
        error: Box<tenure_value::Error>,
    },
    /// `$patch` has a value other than `replace` and `delete`.
    UnknownPatchValue {
        /// The value of `$patch`.
        value: Value,
        /// The map that contains it.
        map: Object,
    },
    /// `$patch` is `merge`; merging needs no directive.
    MergeNotSpecifiable {
        /// The map that contains it.
        map: Object,
    },
    /// A directive for a list does not name the list.
    NamelessDirective {
        /// The field name.
        name: Text,
    },
    /// An entry has no value for the merge key of its list.
    NoMergeKey {
        /// The key.
        key: Text,
        /// The entry without it.
        entry: Value,
    },
    /// The value of a merge key is a list or an object.
    KeyNotScalar {
        /// The key.
        key: Text,
        /// Its value.
        value: Value,
    },
    /// The items of a list that merges have different types.
    MixedItems {
        /// The list in the live document.
        live: Array,
        /// The list in the patch.
        patch: Array,
    },
    /// A list of lists cannot be merged.
    ListOfLists {
        /// The inner list.
        item: Value,
    },
    /// A list of maps is merged or ordered, and its type has no merge key.
    ListWithoutKey {
        /// An entry of the list.
        entry: Value,
    },
    /// The list in the patch contradicts `$setElementOrder`: an entry is missing from it or in another order.
    OrderMismatch {
        /// The list in the patch.
        patch: Array,
        /// The value of the directive.
        order: Array,
        /// The entry that is missing or out of order.
        entry: Value,
    },
    /// `$setElementOrder` has no items to order.
    NothingToOrder {
        /// The value of the directive.
        order: Array,
    },
    /// `$retainKeys` is not a list of names.
    BadRetainKeys {
        /// Its value.
        value: Value,
    },
    /// The patch sets a field that its own `$retainKeys` does not list.
    NotRetained {
        /// The field.
        field: Text,
        /// The names listed.
        listed: Value,
    },
    /// The patch changes a part of a field that the type does not have.
    UnknownField {
        /// The field.
        field: Text,
        /// The value in the patch.
        value: Value,
    },
    /// `$patchMergeKey` is not a list of names that contains the merge key of the list.
    BadMergeKeys {
        /// Its value.
        value: Value,
        /// What would be right.
        right: Text,
    },
    /// The `$patchMergeKey` of an entry differs from that of the first one, or is missing.
    MergeKeysDisagree {
        /// The value in the first entry.
        first: Value,
        /// The value in this entry; `null` if it has none.
        other: Value,
    },
    /// The keys of an entry match more than one live entry.
    Ambiguous {
        /// The keys in the patch.
        keys: Object,
        /// How many live entries they match.
        matches: usize,
    },
    /// Two entries of one list have the same keys.
    NotUnique {
        /// Their keys.
        keys: Object,
    },
    /// An operation of a JSON patch is malformed.
    BadOperation {
        /// Its index in the patch.
        index: usize,
        /// What is wrong with it.
        problem: Text,
        /// The operation, or the part of it that is wrong.
        value: Value,
    },
    /// The target of an operation of a JSON patch does not exist.
    NoSuchTarget {
        /// The index of the operation in the patch.
        index: usize,
        /// The pointer.
        pointer: Text,
        /// Why it does not exist.
        problem: Text,
        /// How Kubernetes reports it.
        in_kubernetes: Text,
    },
    /// A `test` operation found another value.
    TestFailed {
        /// The index of the operation in the patch.
        index: usize,
        /// The pointer.
        pointer: Text,
        /// The value that the patch expects.
        expected: Value,
        /// The value found, if there is one.
        found: Option<Value>,
    },
    /// A patch, or the document that it would create, exceeds a limit.
    TooLarge {
        /// What is limited.
        what: Text,
        /// The limit.
        limit: usize,
        /// The amount found; counting may stop early.
        found: usize,
    },
    /// The live document has changed where the patch would change it.
    Conflicts(Vec<Conflict>),
    /// The patch would change a field that must not change.
    Precondition {
        /// The precondition.
        rule: Text,
    },
}

/// A field that both the manifest and the live document have changed since the last apply.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Conflict {
    /// The path of the field.
    pub path: Path,
    /// The value in the patch; `null` removes the field.
    pub patch: Value,
    /// The live value; `null` if the field was removed.
    pub live: Value,
}

/// How a caller should treat a [`PatchError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The patch is malformed or does not fit the type of the document.
    BadPatch,
    /// The patch is well-formed and cannot be applied to this document.
    Inapplicable,
    /// A `test` operation failed.
    TestFailed,
    /// A limit was exceeded.
    TooLarge,
    /// The live document has changed where the patch would change it.
    Conflict,
    /// The patch would change a field that must not change.
    Precondition,
}

/// An error and its path.
///
/// ```
/// use tenure_patch::{ErrorClass, strategic};
/// use tenure_schema::Schema;
/// use tenure_value::Value;
///
/// let pod = Schema::builtin().kind("v1", "Pod").unwrap();
/// let patch: Value = r#"{"spec": {"containers": [{"image": "x"}]}}"#.parse().unwrap();
/// let live: Value = r#"{"spec": {"containers": [{"name": "a"}]}}"#.parse().unwrap();
/// let error = strategic::apply(&live, &patch, pod, &Default::default()).unwrap_err();
/// assert_eq!(error.class(), ErrorClass::BadPatch);
/// assert_eq!(error.path().to_string(), ".spec.containers[0]");
/// ```
#[derive(Clone, PartialEq)]
pub struct PatchError(Box<Located>);

#[derive(Clone, PartialEq)]
struct Located {
    /// The steps from the error up to the root.
    upwards: Vec<PathElement>,
    kind: ErrorKind,
}

impl PatchError {
    /// Returns what is wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the path of the part that is wrong.
    pub fn path(&self) -> Path {
        self.0.upwards.iter().rev().cloned().collect()
    }

    /// Returns how a caller should treat it.
    pub fn class(&self) -> ErrorClass {
        match &self.0.kind {
            ErrorKind::Ambiguous { .. }
            | ErrorKind::NothingToOrder { .. }
            | ErrorKind::NoSuchTarget { .. } => ErrorClass::Inapplicable,
            ErrorKind::BadOperation { value, .. } if is_operation(value) => ErrorClass::Inapplicable,
            ErrorKind::TestFailed { .. } => ErrorClass::TestFailed,
            ErrorKind::TooLarge { .. } => ErrorClass::TooLarge,
            ErrorKind::Conflicts(_) => ErrorClass::Conflict,
            ErrorKind::Precondition { .. } => ErrorClass::Precondition,
            _ => ErrorClass::BadPatch,
        }
    }

    /// Returns the conflicts, if this is a conflict.
    pub fn conflicts(&self) -> &[Conflict] {
        match &self.0.kind {
            ErrorKind::Conflicts(conflicts) => conflicts,
            _ => &[],
        }
    }

    /// Adds a step at the front of the path.
    #[cold]
    pub(crate) fn under(mut self, step: PathElement) -> PatchError {
        self.0.upwards.push(step);
        self
    }

    /// Adds a field at the front of the path.
    #[cold]
    pub(crate) fn under_field(self, name: &str) -> PatchError {
        self.under(PathElement::field(name))
    }
}

impl From<ErrorKind> for PatchError {
    #[cold]
    fn from(kind: ErrorKind) -> PatchError {
        PatchError(Box::new(Located { upwards: Vec::new(), kind }))
    }
}

impl std::error::Error for PatchError {}

impl fmt::Debug for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.upwards.is_empty() {
            write!(f, "{}: ", self.path())?;
        }
        write!(f, "{}", self.0.kind)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::WrongKind { what, expected, found } => {
                write!(f, "{what} is {}, {found}; it must be {}", article(found.kind()), article(*expected))
            }
            ErrorKind::Unreadable { what, error } => write!(f, "{what} cannot be read: {error}"),
            ErrorKind::UnknownPatchValue { value, map } => {
                write!(f, "$patch is {value} in {map:?}; it must be \"replace\" or \"delete\"")
            }
            ErrorKind::MergeNotSpecifiable { map } => {
                write!(f, "$patch is \"merge\" in {map:?}; remove it; maps and keyed lists merge without it")
            }
            ErrorKind::NamelessDirective { name } => {
                write!(f, "the directive {name:?} names no list; write {name}/ and the name of the list")
            }
            ErrorKind::NoMergeKey { key, entry } => {
                write!(f, "no value for merge key {key:?} in {entry}; every entry of this list needs one")
            }
            ErrorKind::KeyNotScalar { key, value } => {
                write!(f, "merge key {key:?} is {value}; it must be a string, a number or a boolean")
            }
            ErrorKind::MixedItems { live, patch } => {
                write!(
                    f,
                    "the items of {live:?} and {patch:?} have different types; all items of a list that merges have one type"
                )
            }
            ErrorKind::ListOfLists { item } => {
                write!(f, "the item {item} is a list; lists of lists do not merge")
            }
            ErrorKind::ListWithoutKey { entry } => {
                write!(f, "the type has no merge key to tell {entry} from other entries; send $patchMergeKey")
            }
            ErrorKind::OrderMismatch { patch, order, entry } => write!(
                f,
                "{entry} of the patch list {patch:?} is missing from $setElementOrder {order:?} or in another \
                 position; list every entry, in the same order"
            ),
            ErrorKind::NothingToOrder { order } => {
                write!(
                    f,
                    "$setElementOrder {order:?} has no items to order; neither the live list nor the patch has any"
                )
            }
            ErrorKind::BadRetainKeys { value } => {
                write!(f, "$retainKeys is {value}; it must be a list of field names")
            }
            ErrorKind::NotRetained { field, listed } => {
                write!(f, "the patch sets {field:?}, which is missing from $retainKeys {listed}; add it")
            }
            ErrorKind::UnknownField { field, value } => {
                write!(f, "the type has no field {field:?} into which {value} could be merged")
            }
            ErrorKind::BadMergeKeys { value, right } => write!(f, "$patchMergeKey is {value}; {right}"),
            ErrorKind::MergeKeysDisagree { first, other } => write!(
                f,
                "$patchMergeKey is {other} here and {first} in the first entry; it must be the same in all entries"
            ),
            ErrorKind::Ambiguous { keys, matches } => {
                write!(
                    f,
                    "{keys:?} matches {matches} live entries; name the keys of one entry in $patchMergeKey"
                )
            }
            ErrorKind::NotUnique { keys } => {
                write!(f, "{keys:?} identifies two entries of one list; every entry needs its own keys")
            }
            ErrorKind::BadOperation { index, problem, value } => {
                write!(f, "operation {index}: {problem}: {value}")
            }
            ErrorKind::NoSuchTarget { index, pointer, problem, .. } => {
                write!(f, "operation {index}: {pointer:?} does not exist: {problem}")
            }
            // Without the values: the document may be a secret, and errors end in logs.
            ErrorKind::TestFailed { index, pointer, found, .. } => {
                let problem = if found.is_some() { "it has another value" } else { "it does not exist" };
                write!(f, "operation {index}: test failed at {pointer:?}: {problem}")
            }
            ErrorKind::TooLarge { what, limit, found } => {
                write!(f, "{what}: {found} exceeds the limit of {limit}")
            }
            ErrorKind::Conflicts(conflicts) => {
                write!(f, "the live document has changed where the patch would change it:")?;
                for conflict in conflicts {
                    write!(f, "\n  {}: {} would replace {}", conflict.path, conflict.patch, conflict.live)?;
                }
                Ok(())
            }
            ErrorKind::Precondition { rule } => write!(f, "precondition failed: {rule}"),
        }
    }
}

/// Whether a value has the types of an operation.
fn is_operation(value: &Value) -> bool {
    let is_text = |name: &str| value.get(name).is_none_or(|text| text.as_str().is_some());
    value.as_object().is_some() && ["op", "path", "from"].into_iter().all(is_text)
}

fn article(kind: Kind) -> String {
    match kind {
        Kind::Array => "a list".into(),
        Kind::Integer | Kind::Object => format!("an {kind}"),
        Kind::Null => "null".into(),
        _ => format!("a {kind}"),
    }
}
