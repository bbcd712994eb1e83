//! What can be wrong with a patch. A fault is made where it is found and gathers its path on the way
//! out, one step per level, so that a patch that succeeds pays nothing for paths.

use std::fmt;
use tenure_fields::{Path, PathElement};
use tenure_value::{Array, Kind, Object, Text, Value};

/// What is wrong, without where.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// A document or a patch is of another kind than it has to be.
    WrongKind {
        /// What was to be read: "the patch", "the live document", a directive's name.
        what: Text,
        /// The kind it should have.
        expected: Kind,
        /// What was found.
        found: Value,
    },
    /// A text is not the JSON of a document, or is past a limit.
    Unreadable {
        /// What was to be read: "the patch", "the live document".
        what: Text,
        /// What is wrong with it, and where.
        error: Box<tenure_value::Error>,
    },
    /// `$patch` holds something other than `replace` or `delete`.
    UnknownPatchValue {
        /// The value of `$patch`.
        value: Value,
        /// The map that carries it.
        map: Object,
    },
    /// `$patch: merge` was written; merging is what happens without it.
    MergeNotSpecifiable {
        /// The map that carries it.
        map: Object,
    },
    /// A directive that names a list lacks the slash and the name behind its own name.
    NamelessDirective {
        /// The field name as written.
        name: Text,
    },
    /// An entry has no value for the key by which its list is merged.
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
    /// The items of a list that is merged are not all of one kind.
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
    /// A list of maps is to be merged or ordered, and its type names no merge key.
    ListWithoutKey {
        /// An entry that would have to be told from the others.
        entry: Value,
    },
    /// The list in the patch contradicts `$setElementOrder`: an entry is not in it, or stands in another order.
    OrderMismatch {
        /// The list in the patch.
        patch: Array,
        /// The value of the directive.
        order: Array,
        /// The entry that is out of order or not covered.
        entry: Value,
    },
    /// `$setElementOrder` stands beside an empty list in the patch, where no list is live.
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
    /// The patch goes into a field that the type does not know.
    UnknownField {
        /// The field.
        field: Text,
        /// What the patch has there.
        value: Value,
    },
    /// `$patchMergeKey` is not a list of names that begins with the list's own merge key.
    BadMergeKeys {
        /// Its value.
        value: Value,
        /// What would be right.
        right: Text,
    },
    /// One entry of a list has another `$patchMergeKey` than the first one, or none.
    MergeKeysDisagree {
        /// What the first entry says.
        first: Value,
        /// What this one says; `null` where it says nothing.
        other: Value,
    },
    /// The keys of an entry match more than one live entry, or could mean more than one.
    Ambiguous {
        /// The keys as the patch has them.
        keys: Object,
        /// How many live entries they match.
        matches: usize,
    },
    /// Two entries of one list have the same identity.
    NotUnique {
        /// The keys that both have.
        keys: Object,
    },
    /// An operation of a JSON patch is malformed.
    BadOperation {
        /// Its place in the patch, from zero.
        index: usize,
        /// What is wrong with it.
        problem: Text,
        /// The operation, or the part of it that is wrong.
        value: Value,
    },
    /// An operation of a JSON patch goes to or takes from a place that is not there.
    NoSuchPlace {
        /// The operation's place in the patch, from zero.
        index: usize,
        /// The pointer.
        pointer: Text,
        /// Why there is no such place.
        problem: Text,
    },
    /// A `test` operation found another value.
    TestFailed {
        /// The operation's place in the patch, from zero.
        index: usize,
        /// The pointer.
        pointer: Text,
        /// The value the patch asks for.
        expected: Value,
        /// The value that is there; nothing where the place is absent.
        found: Option<Value>,
    },
    /// A patch is larger, or would grow the document further, than the limits allow.
    TooLarge {
        /// What is limited.
        what: Text,
        /// The most that is allowed.
        limit: usize,
        /// What was asked for, as far as it was counted.
        found: usize,
    },
    /// Live changes stand where the patch would change something too; each is listed.
    Conflicts(Vec<Conflict>),
    /// A field that must not change would.
    Precondition {
        /// What the predicate says of itself.
        rule: Text,
    },
}

/// A place that both the manifest and the live document changed since the last apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// Where.
    pub path: Path,
    /// What the patch would do there; `null` removes.
    pub patch: Value,
    /// What the live document did there since the last apply; `null` removed.
    pub live: Value,
}

/// How a caller should treat a [`PatchError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The patch is malformed, or does not fit the document's type.
    BadPatch,
    /// The patch has the form of one and cannot be applied to this document, or to any.
    Inapplicable,
    /// A `test` operation did not hold.
    TestFailed,
    /// A limit was exceeded.
    TooLarge,
    /// The live document changed in the same places.
    Conflict,
    /// A field that must not change would.
    Precondition,
}

/// A fault and where it was found.
#[derive(Clone, PartialEq)]
pub struct PatchError(Box<Located>);

#[derive(Clone, PartialEq)]
struct Located {
    /// The steps from the fault up to the root.
    upwards: Vec<PathElement>,
    fault: Fault,
}

impl PatchError {
    /// Returns what is wrong.
    pub fn fault(&self) -> &Fault {
        &self.0.fault
    }

    /// Returns where it was found.
    pub fn path(&self) -> Path {
        self.0.upwards.iter().rev().cloned().collect()
    }

    /// Returns how a caller should treat it.
    pub fn class(&self) -> Class {
        match &self.0.fault {
            Fault::Ambiguous { .. } | Fault::NothingToOrder { .. } | Fault::NoSuchPlace { .. } => {
                Class::Inapplicable
            }
            Fault::BadOperation { value, .. } if is_operation(value) => Class::Inapplicable,
            Fault::TestFailed { .. } => Class::TestFailed,
            Fault::TooLarge { .. } => Class::TooLarge,
            Fault::Conflicts(_) => Class::Conflict,
            Fault::Precondition { .. } => Class::Precondition,
            _ => Class::BadPatch,
        }
    }

    /// Returns the conflicts, if that is what is wrong.
    pub fn conflicts(&self) -> &[Conflict] {
        match &self.0.fault {
            Fault::Conflicts(conflicts) => conflicts,
            _ => &[],
        }
    }

    /// Adds the step that leads down to where this was found.
    #[cold]
    pub(crate) fn under(mut self, step: PathElement) -> PatchError {
        self.0.upwards.push(step);
        self
    }

    /// Adds the step to a field.
    #[cold]
    pub(crate) fn under_field(self, name: &str) -> PatchError {
        self.under(PathElement::field(name))
    }
}

impl From<Fault> for PatchError {
    #[cold]
    fn from(fault: Fault) -> PatchError {
        PatchError(Box::new(Located { upwards: Vec::new(), fault }))
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
        write!(f, "{}", self.0.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::WrongKind { what, expected, found } => {
                write!(f, "{what} is {} {found}; it has to be {}", found.kind(), article(*expected))
            }
            Fault::Unreadable { what, error } => write!(f, "{what} cannot be read: {error}"),
            Fault::UnknownPatchValue { value, map } => {
                write!(f, "$patch is {value} in {map:?}; it can be \"replace\" or \"delete\"")
            }
            Fault::MergeNotSpecifiable { map } => {
                write!(
                    f,
                    "$patch is \"merge\" in {map:?}; leave it out, maps and keyed lists merge without it"
                )
            }
            Fault::NamelessDirective { name } => {
                write!(f, "the directive {name:?} names no list; write its name, a slash and the list's name")
            }
            Fault::NoMergeKey { key, entry } => {
                write!(f, "no value for merge key {key:?} in {entry}; every entry of this list needs one")
            }
            Fault::KeyNotScalar { key, value } => {
                write!(f, "merge key {key:?} is {value}; it has to be a string, a number or a boolean")
            }
            Fault::MixedItems { live, patch } => {
                write!(
                    f,
                    "the items of {live:?} and {patch:?} differ in kind; a list that merges has one kind"
                )
            }
            Fault::ListOfLists { item } => {
                write!(f, "the item {item} is a list; lists of lists do not merge")
            }
            Fault::ListWithoutKey { entry } => {
                write!(f, "the type names no key to tell {entry} from other entries; send $patchMergeKey")
            }
            Fault::OrderMismatch { patch, order, entry } => write!(
                f,
                "{entry} of the patch list {patch:?} is missing from $setElementOrder {order:?} or stands \
                 elsewhere in it; list every entry, in the same order"
            ),
            Fault::NothingToOrder { order } => {
                write!(f, "$setElementOrder {order:?} finds no items to order, neither live nor in the patch")
            }
            Fault::BadRetainKeys { value } => {
                write!(f, "$retainKeys is {value}; it has to be a list of field names")
            }
            Fault::NotRetained { field, listed } => {
                write!(f, "the patch sets {field:?}, which $retainKeys {listed} lacks; list it too")
            }
            Fault::UnknownField { field, value } => {
                write!(f, "the type has no field {field:?} into which {value} could be merged")
            }
            Fault::BadMergeKeys { value, right } => write!(f, "$patchMergeKey is {value}; {right}"),
            Fault::MergeKeysDisagree { first, other } => write!(
                f,
                "$patchMergeKey is {other} here and {first} in the first entry; all entries of a list say the same"
            ),
            Fault::Ambiguous { keys, matches } => {
                write!(
                    f,
                    "{keys:?} could mean any of {matches} live entries; name more keys in $patchMergeKey"
                )
            }
            Fault::NotUnique { keys } => {
                write!(f, "{keys:?} identifies two entries of one list; an identity occurs once")
            }
            Fault::BadOperation { index, problem, value } => {
                write!(f, "operation {index}: {problem}: {value}")
            }
            Fault::NoSuchPlace { index, pointer, problem } => {
                write!(f, "operation {index}: nothing at {pointer:?}: {problem}")
            }
            Fault::TestFailed { index, pointer, expected, found: Some(found) } => {
                write!(f, "operation {index}: test failed at {pointer:?}: {found} is there, not {expected}")
            }
            Fault::TestFailed { index, pointer, expected, found: None } => {
                write!(
                    f,
                    "operation {index}: test failed at {pointer:?}: nothing is there, {expected} was asked for"
                )
            }
            Fault::TooLarge { what, limit, found } => {
                write!(f, "{what}: {found} is more than the {limit} allowed")
            }
            Fault::Conflicts(conflicts) => {
                write!(f, "the live document has changed where the patch would change it:")?;
                for conflict in conflicts {
                    write!(f, "\n  {}: {} would replace {}", conflict.path, conflict.patch, conflict.live)?;
                }
                Ok(())
            }
            Fault::Precondition { rule } => write!(f, "precondition failed: {rule}"),
        }
    }
}

/// Whether a value has the form of an operation, whatever it says.
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
