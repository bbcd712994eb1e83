//! Phrases prepared for decoding: sequences of sibling nodes that a phrase describes completely are built
//! once, with their descendants, and shared by every decoded set that uses the phrase.

use super::{Table, step::Step};
use crate::{FieldSet, Node, PathElement};

/// A decoded level, with what is needed to repeat it.
#[derive(Clone)]
pub(crate) struct CompleteLevel {
    pub(crate) set: FieldSet,
    /// Its size with all repetitions expanded.
    pub(crate) content: u64,
    /// The number of nested levels, itself included.
    pub(crate) height: usize,
}

/// A part of a phrase.
#[derive(Clone)]
pub(crate) enum PhrasePart {
    /// Complete sibling nodes.
    Run(Run),
    /// The complete level that the previous step opens.
    Level(Run, FieldSet),
    /// A step with arguments, or one that opens or closes a level that the phrase does not contain
    /// completely.
    Step(Step),
}

/// Sibling nodes with their descendants.
#[derive(Clone, Default)]
pub(crate) struct Run {
    pub(crate) nodes: Vec<Node>,
    /// The ranks of the first and the last name in the table.
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) content: u64,
    /// The number of nested levels below the nodes.
    pub(crate) height: usize,
    /// The numbered levels below, in the order in which they end.
    pub(crate) levels: Vec<CompleteLevel>,
}

/// Prepares a phrase.
pub(crate) fn prepare(phrase: &[Step], table: &Table) -> Vec<PhrasePart> {
    let mut parts = Vec::new();
    let mut rest = phrase;
    while let Some((step, after)) = rest.split_first() {
        let mut run = Run::default();
        let remaining = siblings(rest, table, &mut run);
        if run.nodes.is_empty() {
            parts.push(PhrasePart::Step(*step));
            rest = after;
            continue;
        }
        rest = remaining;
        match (parts.last(), remaining.split_first()) {
            (Some(PhrasePart::Step(opening)), Some((Step::End, after))) if opening.opens() => {
                let mut level = Run::default();
                let set = level.close(run);
                parts.push(PhrasePart::Level(level, set));
                rest = after;
            }
            _ => parts.push(PhrasePart::Run(run)),
        }
    }
    parts
}

/// Collects the complete nodes at the start of the steps, and returns the remaining steps.
fn siblings<'s>(steps: &'s [Step], table: &Table, run: &mut Run) -> &'s [Step] {
    let mut rest = steps;
    while let Some((Step::Field(number, shape), after)) = rest.split_first() {
        let number = usize::from(*number);
        let (Some(name), rank) = (table.string(number), table.rank(number)) else { break };
        // If the phrases of a table are not sorted, decoding them step by step reports it.
        if rank <= run.last {
            break;
        }
        let mut below = Run::default();
        let mut remaining = after;
        if shape.has_children() {
            match siblings(after, table, &mut below).split_first() {
                Some((Step::End, closed)) if !below.nodes.is_empty() => remaining = closed,
                _ => break,
            }
        }
        let children = run.close(below);
        run.content += 16 + name.len() as u64;
        run.first = if run.nodes.is_empty() { rank } else { run.first };
        run.last = rank;
        run.nodes.push(Node {
            element: PathElement::Field(name.clone()),
            included: shape.included(),
            children,
        });
        rest = remaining;
    }
    rest
}

impl Run {
    /// Adds the children of a node, and returns their level.
    fn close(&mut self, mut below: Run) -> FieldSet {
        let numbered = match below.nodes.as_slice() {
            [] => return FieldSet::default(),
            [only] => !only.children.is_empty(),
            _ => true,
        };
        let (content, height) = (below.content, below.height + 1);
        let set = FieldSet::from_sorted(below.nodes.into_iter());
        self.content += content;
        self.height = self.height.max(height);
        self.levels.append(&mut below.levels);
        if numbered {
            self.levels.push(CompleteLevel { set: set.clone(), content, height });
        }
        set
    }
}
