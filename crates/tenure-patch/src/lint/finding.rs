//! What lint finds, in words.

use std::fmt;
use tenure_fields::Path;
use tenure_value::{Object, Text, Value};

/// A place in a patch or manifest and what is to be said about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Where; the last step is the directive's name where the finding is about a directive.
    pub path: Path,
    /// What.
    pub problem: Problem,
}

/// What lint finds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// No type is known: the patch works as a JSON merge patch.
    NoSchema,
    /// A document or an entry of a keyed list is no object.
    NotAnObject(Value),
    /// The type has no such field.
    UnknownField(Text),
    /// A manifest has a directive.
    DirectiveInManifest(Text),
    /// A `$` field that is no directive known here.
    UnknownDirective(Text),
    /// An order or deletion list without a list's name.
    NamelessDirective(Text),
    /// A directive has a value that it cannot have.
    UnknownValue {
        /// The directive.
        directive: Text,
        /// Its value.
        value: Value,
        /// What it can be.
        right: &'static str,
    },
    /// A directive stands where it has no meaning.
    Misplaced {
        /// The directive.
        directive: Text,
        /// Where it has one.
        right: &'static str,
    },
    /// A directive stands in what is taken word for word.
    Ineffective(Text),
    /// `$retainKeys` does not list a field that the patch sets.
    NotRetained(Text),
    /// An entry has no value for its merge key.
    NoMergeKey(Text),
    /// A merge key is a list or an object.
    KeyNotScalar(Text),
    /// Some entries of a list carry `$patchMergeKey` and this one does not.
    MergeKeysMissing,
    /// Two entries have the same keys, or a set has an item twice.
    Repeated(Value),
    /// Two entries have the same merge key, and more keys would tell them apart.
    KeyCannotTell {
        /// The merge key that both have.
        key: Object,
        /// The keys that tell them apart.
        recommended: Vec<Text>,
    },
    /// An order lacks an entry of its list, or has it in another order.
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
            Problem::NoSchema => "give the kind's type, or send it as a JSON merge patch".into(),
            Problem::NotAnObject(_) => "write an object".into(),
            Problem::UnknownField(_) => "check its spelling, or remove it".into(),
            Problem::DirectiveInManifest(_) => "remove it; directives belong into patches".into(),
            Problem::UnknownDirective(_) => "remove it, unless it is for a newer server".into(),
            Problem::NamelessDirective(name) => format!("write {name}/LIST"),
            Problem::UnknownValue { right, .. } => format!("write {right}"),
            Problem::Misplaced { right, .. } => format!("it belongs {right}"),
            Problem::Ineffective(_) => "remove it".into(),
            Problem::NotRetained(name) => format!("add {name:?} to $retainKeys, or set it to null"),
            Problem::NoMergeKey(_) => "give it one".into(),
            Problem::KeyNotScalar(_) => "make it a string, a number or a boolean".into(),
            Problem::MergeKeysMissing => "repeat it in every entry".into(),
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
            Problem::NoSchema => write!(f, "no type is known, so this works as a JSON merge patch"),
            Problem::NotAnObject(value) => write!(f, "{value} is no object"),
            Problem::UnknownField(name) => write!(f, "the type has no field {name:?}"),
            Problem::DirectiveInManifest(name) => write!(f, "the directive {name} stands in a manifest"),
            Problem::UnknownDirective(name) => write!(f, "{name} is no directive known here and is ignored"),
            Problem::NamelessDirective(name) => write!(f, "{name} does not name a list"),
            Problem::UnknownValue { directive, value, .. } => write!(f, "{directive} cannot be {value}"),
            Problem::Misplaced { directive, .. } => write!(f, "{directive} has no meaning here"),
            Problem::Ineffective(name) => write!(f, "{name} has no effect in what is taken word for word"),
            Problem::NotRetained(name) => {
                write!(f, "the patch sets {name:?}, which $retainKeys does not list")
            }
            Problem::NoMergeKey(key) => write!(f, "the entry has no value for its merge key {key:?}"),
            Problem::KeyNotScalar(key) => write!(f, "the merge key {key:?} is a list or an object"),
            Problem::MergeKeysMissing => {
                write!(f, "other entries carry $patchMergeKey and this one does not")
            }
            Problem::Repeated(value) => write!(f, "{value} occurs more than once in the list"),
            Problem::KeyCannotTell { key, .. } => write!(f, "{key:?} cannot tell this entry from another"),
            Problem::OrderDoesNotCover { entry, directive } => {
                write!(f, "{directive} lacks {entry} or has it in another order")
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
