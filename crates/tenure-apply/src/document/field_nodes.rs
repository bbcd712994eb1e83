//! The fields of one level of a set, found one after the other.

use std::cmp::Ordering;
use tenure_fields::{FieldSet, Node, PathElement};

/// The nodes of the fields of a level. They are sorted, and so are the names of an object: a walk over both passes each once.
pub(crate) struct FieldNodes<'a> {
    nodes: &'a [Node],
    passed: usize,
}

impl<'a> FieldNodes<'a> {
    pub(crate) fn new(set: &'a FieldSet) -> FieldNodes<'a> {
        FieldNodes { nodes: set.nodes(), passed: 0 }
    }

    /// Returns the node of a field; names must come in ascending order.
    pub(crate) fn seek(&mut self, name: &str) -> Option<&'a Node> {
        while let Some(node) = self.nodes.get(self.passed) {
            let PathElement::Field(field) = &node.element else { return None };
            match field.as_str().cmp(name) {
                Ordering::Less => self.passed += 1,
                Ordering::Equal => return Some(node),
                Ordering::Greater => return None,
            }
        }
        None
    }

    /// Returns how many nodes come before the last field that was sought.
    pub(crate) fn passed(&self) -> usize {
        self.passed
    }
}
