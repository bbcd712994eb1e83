//! The findings of lint.

use std::fmt;
use tenure_fields::Path;
use tenure_value::{Object, Text, Value};

/// A problem of a patch or manifest, and where it is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// The path; it ends with the name of the directive if the problem is a directive.
    pub path: Path,
    /// The problem.
    pub problem: Problem,
}

/// A problem that lint finds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// No type is known: the patch works as a JSON merge patch.
    NoSchema,
    /// A document or an entry of a keyed list is not an object.
    NotAnObject(Value),
    /// The type has no such field.
    UnknownField(Text),
    /// A manifest contains a directive.
    DirectiveInManifest(Text),
    /// An unknown directive.
    UnknownDirective(Text),
    /// A directive for a list does not name the list.
    NamelessDirective(Text),
    /// A directive has a wrong value.
    UnknownValue {
        /// The directive.
        directive: Text,
        /// Its value.
        value: Value,
        /// What it must be.
        right: &'static str,
    },
    /// A directive has no meaning where it is.
    Misplaced {
        /// The directive.
        directive: Text,
        /// Where it belongs.
        right: &'static str,
    },
    /// A directive has no effect in a value that is taken literally.
    Ineffective(Text),
    /// `$retainKeys` does not list a field that the patch sets.
    NotRetained(Text),
    /// An entry has no value for its merge key.
    NoMergeKey(Text),
    /// A merge key is a list or an object.
    KeyNotScalar(Text),
    /// `$patchMergeKey` is missing from this entry, while others have it.
    MergeKeysMissing,
    /// `$patch: replace` in an entry with a merge key.
    ReplacesEntry,
    /// Two entries have the same keys, or a set contains an item twice.
    Repeated(Value),
    /// Two entries have the same merge key; the recommended keys tell them apart.
    KeyCannotTell {
        /// The merge key of both.
        key: Object,
        /// The keys that tell them apart.
        recommended: Vec<Text>,
    },
    /// An entry is missing from the order of its list, or in another order.
    OrderDoesNotCover {
        /// The entry.
        entry: Value,
        /// The directive.
        directive: Text,
    },
}

impl Problem {
    /// Returns what to do about it.
    pub fn fix(&self) -> String {
        match self {
            Problem::NoSchema => "pass the type of the kind, or send it as a JSON merge patch".into(),
            Problem::NotAnObject(_) => "write an object".into(),
            Problem::UnknownField(_) => "check its spelling, or remove it".into(),
            Problem::DirectiveInManifest(_) => "remove it; directives belong in patches".into(),
            Problem::UnknownDirective(_) => "remove it, unless a newer server knows it".into(),
            Problem::NamelessDirective(name) => format!("write {name}/LIST"),
            Problem::UnknownValue { right, .. } => format!("write {right}"),
            Problem::Misplaced { right, .. } => format!("it belongs {right}"),
            Problem::Ineffective(_) => "remove it".into(),
            Problem::NotRetained(name) => format!("add {name:?} to $retainKeys, or set it to null"),
            Problem::NoMergeKey(_) => "set it".into(),
            Problem::KeyNotScalar(_) => "make it a string, a number or a boolean".into(),
            Problem::MergeKeysMissing => "repeat it in every entry".into(),
            Problem::ReplacesEntry => {
                "to replace the list put {$patch: replace} in an entry of its own; to replace the entry everywhere, \
                 set the other fields to null".into()
            }
            Problem::Repeated(_) => "keep one of them".into(),
            Problem::KeyCannotTell { recommended, .. } => {
                format!("send $patchMergeKey: [{}] in every entry", recommended.join(", "))
            }
            Problem::OrderDoesNotCover { .. } => "list every entry of the patch, in the same order".into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NoSchema => write!(f, "no type is known, so this is applied as a JSON merge patch"),
            Problem::NotAnObject(value) => write!(f, "{value} is not an object"),
            Problem::UnknownField(name) => write!(f, "the type has no field {name:?}"),
            Problem::DirectiveInManifest(name) => write!(f, "the manifest contains the directive {name}"),
            Problem::UnknownDirective(name) => write!(f, "the directive {name} is unknown and ignored"),
            Problem::NamelessDirective(name) => write!(f, "{name} does not name a list"),
            Problem::UnknownValue { directive, value, .. } => write!(f, "{directive} cannot be {value}"),
            Problem::Misplaced { directive, .. } => write!(f, "{directive} has no meaning here"),
            Problem::Ineffective(name) => {
                write!(f, "{name} has no effect in a value that is taken literally")
            }
            Problem::NotRetained(name) => {
                write!(f, "the patch sets {name:?}, which $retainKeys does not list")
            }
            Problem::NoMergeKey(key) => write!(f, "the entry has no value for its merge key {key:?}"),
            Problem::KeyNotScalar(key) => write!(f, "the merge key {key:?} is a list or an object"),
            Problem::MergeKeysMissing => {
                write!(f, "$patchMergeKey is missing; other entries have it")
            }
            Problem::ReplacesEntry => write!(
                f,
                "$patch: replace replaces this entry; Kubernetes replaces the whole list and drops this entry"
            ),
            Problem::Repeated(value) => write!(f, "{value} occurs more than once in the list"),
            Problem::KeyCannotTell { key, .. } => write!(f, "{key:?} does not tell this entry from another"),
            Problem::OrderDoesNotCover { entry, directive } => {
                write!(f, "{entry} is missing from {directive} or in another order")
            }
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.elements().is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}; {}", self.problem, self.problem.fix())
    }
}
