//! Phrases made ready for reading: runs of sibling nodes that a phrase says completely are built once, with
//! all that is below them, and every document that uses the phrase shares them.

use super::step::Step;
use crate::{FieldSet, Node, PathElement, compact::Table};

/// A level that was read, as far as it matters for repeating it.
#[derive(Clone)]
pub(crate) struct Closed {
    pub(crate) set: FieldSet,
    /// What it holds when all that it repeats is written out.
    pub(crate) content: u64,
    /// How many levels are inside one another, itself included.
    pub(crate) height: usize,
}

/// A part of a phrase.
#[derive(Clone)]
pub(crate) enum Part {
    /// Sibling nodes that need nothing more.
    Run(Run),
    /// The whole level that the step before opens.
    Level(Run, FieldSet),
    /// A step that needs more, or opens or closes a level that the phrase does not hold whole.
    Step(Step),
}

/// Sibling nodes with all that is below them.
#[derive(Clone, Default)]
pub(crate) struct Run {
    pub(crate) nodes: Vec<Node>,
    /// The places of the first and the last name among the table's strings.
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) content: u64,
    /// How many levels are inside one another below the nodes.
    pub(crate) height: usize,
    /// The levels below that are numbered, in the order of closing.
    pub(crate) levels: Vec<Closed>,
}

/// Makes a phrase ready.
pub(crate) fn ready(phrase: &[Step], table: &Table) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = phrase;
    while let Some((step, after)) = rest.split_first() {
        let mut run = Run::default();
        let behind = siblings(rest, table, &mut run);
        if run.nodes.is_empty() {
            parts.push(Part::Step(*step));
            rest = after;
            continue;
        }
        rest = behind;
        match (parts.last(), behind.split_first()) {
            (Some(Part::Step(opening)), Some((Step::End, after))) if opening.opens() => {
                let mut level = Run::default();
                let set = level.close(run);
                parts.push(Part::Level(level, set));
                rest = after;
            }
            _ => parts.push(Part::Run(run)),
        }
    }
    parts
}

/// Takes the complete nodes that the steps begin with, and returns the steps behind them.
fn siblings<'s>(steps: &'s [Step], table: &Table, run: &mut Run) -> &'s [Step] {
    let mut rest = steps;
    while let Some((Step::Field(number, shape), after)) = rest.split_first() {
        let number = usize::from(*number);
        let (Some(name), rank) = (table.string(number), table.rank(number)) else { break };
        // A table whose phrases are out of order is found out when they are read step by step.
        if rank <= run.last {
            break;
        }
        let mut below = Run::default();
        let mut behind = after;
        if shape.has_children() {
            match siblings(after, table, &mut below).split_first() {
                Some((Step::End, closed)) if !below.nodes.is_empty() => behind = closed,
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
        rest = behind;
    }
    rest
}

impl Run {
    /// Takes what is below a node, and returns its level.
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
            self.levels.push(Closed { set: set.clone(), content, height });
        }
        set
    }
}
