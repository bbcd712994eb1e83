//! A set of paths as a sorted trie. Each node says whether the path that ends there is in the set, and
//! what is in the set below it; a node with neither does not exist. Levels are shared behind an `Arc`.

use crate::PathElement;
use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

/// A set of paths.
#[derive(Clone, Default)]
pub struct FieldSet(Option<Arc<[Node]>>);

/// One element of a set's level.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Node {
    /// The step that leads here.
    pub element: PathElement,
    /// Whether the path that ends here is in the set.
    pub included: bool,
    /// The paths in the set that lead further, relative to here.
    pub children: FieldSet,
}

impl PartialEq for FieldSet {
    fn eq(&self, other: &FieldSet) -> bool {
        self.ptr_eq(other) || self.nodes() == other.nodes()
    }
}

impl Eq for FieldSet {}

impl Hash for FieldSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nodes().hash(state);
    }
}

/// Shows the set as `FieldsV1`.
impl std::fmt::Debug for FieldSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&crate::fields_v1::to_vec(self)))
    }
}

impl FieldSet {
    /// The set without any path.
    pub const EMPTY: FieldSet = FieldSet(None);

    /// Takes one level's nodes, sorted by element, each included or with children.
    pub fn from_sorted(nodes: Vec<Node>) -> FieldSet {
        debug_assert!(nodes.windows(2).all(|pair| pair[0].element < pair[1].element));
        debug_assert!(nodes.iter().all(|node| node.included || !node.children.is_empty()));
        if nodes.is_empty() { FieldSet(None) } else { FieldSet(Some(Arc::from(nodes))) }
    }

    /// Takes one level's nodes as [`FieldSet::from_sorted`] does, where their number is known.
    pub fn from_level(nodes: impl ExactSizeIterator<Item = Node>) -> FieldSet {
        if nodes.len() == 0 { FieldSet(None) } else { FieldSet(Some(nodes.collect())) }
    }

    /// Returns the nodes of this level, in order.
    pub fn nodes(&self) -> &[Node] {
        self.0.as_deref().unwrap_or(&[])
    }

    /// Whether no path is in the set.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether both share the same memory, or both are empty.
    pub fn ptr_eq(&self, other: &FieldSet) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }

    /// Whether something else may hold the same memory.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.as_ref().is_some_and(|nodes| Arc::strong_count(nodes) > 1)
    }

    /// Returns the node of an element on this level.
    pub fn node(&self, element: &PathElement) -> Option<&Node> {
        let nodes = self.nodes();
        nodes.binary_search_by(|node| node.element.cmp(element)).ok().map(|at| &nodes[at])
    }

    /// Returns what is in the set below an element of this level.
    pub fn children(&self, element: &PathElement) -> FieldSet {
        self.node(element).map(|node| node.children.clone()).unwrap_or_default()
    }

    /// Whether a path is in the set.
    pub fn has(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.node(last).is_some_and(|node| node.included),
            [first, rest @ ..] => self.node(first).is_some_and(|node| node.children.has(rest)),
        }
    }
}
