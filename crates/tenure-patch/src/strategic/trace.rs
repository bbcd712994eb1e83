//! The record of an apply: which rule decided every path that the patch touched. The merge is generic over the
//! recorder; the recorder of an ordinary apply does nothing and is compiled away.

use std::fmt;
use tenure_fields::{Path, PathElement};
use tenure_value::Text;

/// The rule that decided a part of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatchRule {
    /// No type was given: the patch was applied as a JSON merge patch.
    NoSchema,
    /// The field or entry was absent and was added by the patch.
    Added,
    /// The patch set the value.
    Set,
    /// The patch has the live value.
    Kept,
    /// `null` removed the field.
    RemovedByNull,
    /// `$patch: delete` removed the map, or every entry that its keys match.
    RemovedByDirective,
    /// `$patch: replace` replaced the live map or list.
    ReplacedByDirective,
    /// The patch strategy of the type, or the lack of one, replaced the live value.
    ReplacedByStrategy,
    /// The entry was found by these keys and merged.
    MergedByKey(KeySource, Vec<Text>),
    /// The list was merged as a set.
    MergedAsSet,
    /// `$deleteFromPrimitiveList` removed items.
    RemovedFromSet,
    /// `$retainKeys` does not list the field and cleared it.
    Cleared,
    /// The list was reordered.
    Ordered(OrderSource),
    /// The type has no such list: the order of a newer client was dropped.
    UnknownListDropped,
}

/// Where the keys of a list came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
#[non_exhaustive]
pub enum OrderSource {
    /// `$setElementOrder` in the patch.
    Directive,
    /// The order of the list in the patch.
    PatchList,
}

/// Describes the rule in a few words.
impl fmt::Display for PatchRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatchRule::NoSchema => f.write_str("no type is known: JSON merge"),
            PatchRule::Added => f.write_str("added"),
            PatchRule::Set => f.write_str("set"),
            PatchRule::Kept => f.write_str("unchanged"),
            PatchRule::RemovedByNull => f.write_str("removed by null"),
            PatchRule::RemovedByDirective => f.write_str("removed by $patch: delete"),
            PatchRule::ReplacedByDirective => f.write_str("replaced by $patch: replace"),
            PatchRule::ReplacedByStrategy => f.write_str("replaced as a whole"),
            PatchRule::MergedByKey(source, keys) => {
                let by = match source {
                    KeySource::MergeKey => "merged by",
                    KeySource::ListKeys => "merged by list keys",
                    KeySource::Directive => "merged by $patchMergeKey",
                };
                write!(f, "{by} {}", keys.join("+"))
            }
            PatchRule::MergedAsSet => f.write_str("merged as a set"),
            PatchRule::RemovedFromSet => f.write_str("removed from the set"),
            PatchRule::Cleared => f.write_str("cleared by $retainKeys"),
            PatchRule::Ordered(OrderSource::Directive) => f.write_str("in the order of $setElementOrder"),
            PatchRule::Ordered(OrderSource::PatchList) => f.write_str("in the order of the patch"),
            PatchRule::UnknownListDropped => f.write_str("dropped: the type has no such list"),
        }
    }
}

/// A path and the rule that decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PatchDecision {
    /// The path.
    pub path: Path,
    /// The rule.
    pub rule: PatchRule,
}

/// All decisions of one apply, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchTrace {
    path: Path,
    decisions: Vec<PatchDecision>,
}

impl PatchTrace {
    /// Returns the decisions.
    pub fn decisions(&self) -> &[PatchDecision] {
        &self.decisions
    }

    /// Returns the rules that decided exactly this path.
    pub fn at<'t>(&'t self, path: &'t Path) -> impl Iterator<Item = &'t PatchRule> {
        self.decisions.iter().filter(move |decision| decision.path == *path).map(|decision| &decision.rule)
    }
}

/// Receives the decisions of a merge. Each method does nothing unless a recorder needs it.
pub(crate) trait Recorder {
    /// Enters a part.
    #[inline(always)]
    fn enter(&mut self, _step: impl FnOnce() -> PathElement) {}
    /// Leaves a part.
    #[inline(always)]
    fn leave(&mut self) {}
    /// Records the rule that decided the current part.
    #[inline(always)]
    fn note(&mut self, _rule: impl FnOnce() -> PatchRule) {}

    /// Records that something of the patch was dropped.
    #[inline(always)]
    fn dropped(&mut self) {}

    /// Records the rule that decided a field of the current part.
    #[inline]
    fn note_field(&mut self, name: &str, rule: impl FnOnce() -> PatchRule) {
        self.enter(|| PathElement::field(name));
        self.note(rule);
        self.leave();
    }
}

/// Records nothing.
pub(crate) struct Silent;

impl Recorder for Silent {}

/// Records only whether something of the patch was dropped.
#[derive(Default)]
pub(crate) struct Drops(pub(crate) bool);

impl Recorder for Drops {
    fn dropped(&mut self) {
        self.0 = true;
    }
}

impl Recorder for PatchTrace {
    fn enter(&mut self, step: impl FnOnce() -> PathElement) {
        self.path.push(step());
    }

    fn leave(&mut self) {
        self.path.pop();
    }

    fn note(&mut self, rule: impl FnOnce() -> PatchRule) {
        self.decisions.push(PatchDecision { path: self.path.clone(), rule: rule() });
    }
}
