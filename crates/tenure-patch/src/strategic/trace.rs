//! The record of an apply: which rule decided about every path the patch touched. The merge is generic
//! over who listens; the listener of an ordinary apply does nothing, and nothing is left of it.

use std::fmt;
use tenure_fields::{Path, PathElement};
use tenure_value::Text;

/// What decided about a part of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// No type was given: the patch was applied as a JSON merge patch.
    NoSchema,
    /// The field or entry was not there and was taken from the patch.
    Added,
    /// The value was replaced by that of the patch.
    Set,
    /// The patch has what was live already.
    Kept,
    /// `null` removed the field.
    RemovedByNull,
    /// `$patch: delete` removed the map, or every entry that its keys match.
    RemovedByDirective,
    /// `$patch: replace` put the patch's map or list in the place of the live one.
    ReplacedByDirective,
    /// The type's strategy, or the lack of one, put the patch's value in the place of the live one.
    ReplacedByStrategy,
    /// The entry was found by these keys and merged.
    MergedByKey(KeySource, Vec<Text>),
    /// The list was merged as a set.
    MergedAsSet,
    /// The items were taken out by `$deleteFromPrimitiveList`.
    RemovedFromSet,
    /// `$retainKeys` does not list the field, so it was cleared.
    Cleared,
    /// The entries stand in this order.
    Ordered(OrderSource),
}

/// Where the keys of a list came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// The merge key of the type.
    MergeKey,
    /// The list keys of the type, which has no merge key.
    ListKeys,
    /// `$patchMergeKey` in the patch.
    Directive,
}

/// Where the order of a list came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderSource {
    /// `$setElementOrder` in the patch.
    Directive,
    /// The order of the list in the patch.
    PatchList,
}

/// Says the rule in a few words, for people.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::NoSchema => f.write_str("no type is known: JSON merge"),
            Rule::Added => f.write_str("added"),
            Rule::Set => f.write_str("set"),
            Rule::Kept => f.write_str("as it was"),
            Rule::RemovedByNull => f.write_str("removed by null"),
            Rule::RemovedByDirective => f.write_str("removed by $patch: delete"),
            Rule::ReplacedByDirective => f.write_str("replaced by $patch: replace"),
            Rule::ReplacedByStrategy => f.write_str("replaced as a whole"),
            Rule::MergedByKey(source, keys) => {
                let by = match source {
                    KeySource::MergeKey => "merged by",
                    KeySource::ListKeys => "merged by list keys",
                    KeySource::Directive => "merged by $patchMergeKey",
                };
                write!(f, "{by} {}", keys.join("+"))
            }
            Rule::MergedAsSet => f.write_str("merged as a set"),
            Rule::RemovedFromSet => f.write_str("removed from the set"),
            Rule::Cleared => f.write_str("cleared by $retainKeys"),
            Rule::Ordered(OrderSource::Directive) => f.write_str("in the order of $setElementOrder"),
            Rule::Ordered(OrderSource::PatchList) => f.write_str("in the order of the patch"),
        }
    }
}

/// A path and the rule that decided about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Where.
    pub path: Path,
    /// By what.
    pub rule: Rule,
}

/// Every decision of one apply, in the order in which they were taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    path: Path,
    decisions: Vec<Decision>,
}

impl Trace {
    /// Returns the decisions.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// Returns the rules that decided about exactly this path.
    pub fn at<'t>(&'t self, path: &'t Path) -> impl Iterator<Item = &'t Rule> {
        self.decisions.iter().filter(move |decision| decision.path == *path).map(|decision| &decision.rule)
    }
}

/// Who listens to the decisions of a merge.
pub(crate) trait Recorder {
    /// Goes one step down.
    fn enter(&mut self, step: impl FnOnce() -> PathElement);
    /// Goes one step up.
    fn leave(&mut self);
    /// Hears what decided about the place reached.
    fn note(&mut self, rule: impl FnOnce() -> Rule);

    /// Hears what decided about a field of the place reached.
    #[inline]
    fn note_field(&mut self, name: &str, rule: impl FnOnce() -> Rule) {
        self.enter(|| PathElement::field(name));
        self.note(rule);
        self.leave();
    }
}

/// Listens to nothing.
pub(crate) struct Silent;

impl Recorder for Silent {
    #[inline(always)]
    fn enter(&mut self, _step: impl FnOnce() -> PathElement) {}
    #[inline(always)]
    fn leave(&mut self) {}
    #[inline(always)]
    fn note(&mut self, _rule: impl FnOnce() -> Rule) {}
}

impl Recorder for Trace {
    fn enter(&mut self, step: impl FnOnce() -> PathElement) {
        self.path.push(step());
    }

    fn leave(&mut self) {
        self.path.pop();
    }

    fn note(&mut self, rule: impl FnOnce() -> Rule) {
        self.decisions.push(Decision { path: self.path.clone(), rule: rule() });
    }
}
