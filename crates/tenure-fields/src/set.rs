//! A set of paths as a sorted trie. Each node says whether the path that ends there is in the set, and which
//! paths are in the set below it; nodes without content do not exist. Levels are shared behind an `Arc`.

use crate::PathElement;
use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

/// A set of paths.
#[derive(Clone, Default)]
pub struct FieldSet(Option<Arc<[Node]>>);

/// A node of a level.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Node {
    /// The path element of the node.
    pub element: PathElement,
    /// Whether the path that ends here is in the set.
    pub included: bool,
    /// The paths in the set below this node, relative to it.
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

impl FieldSet {
    /// The empty set.
    pub const EMPTY: FieldSet = FieldSet(None);

    /// Returns the set whose first level has these nodes, in any order. Nodes of the same element are merged,
    /// and nodes without content are dropped. Nodes that are already sorted cost one comparison each.
    ///
    /// ```
    /// use tenure_fields::{FieldSet, Node, PathElement, fields_v1};
    ///
    /// let node = |name| Node { element: PathElement::field(name), included: true, children: FieldSet::EMPTY };
    /// let set = FieldSet::from_nodes([node("spec"), node("data"), node("spec")]);
    /// assert_eq!(set, fields_v1::parse(br#"{"f:data":{},"f:spec":{}}"#)?);
    /// # Ok::<(), tenure_fields::Error>(())
    /// ```
    pub fn from_nodes(nodes: impl IntoIterator<Item = Node>) -> FieldSet {
        let nodes = nodes.into_iter();
        if nodes.size_hint().1 == Some(0) {
            return FieldSet(None);
        }
        let nodes: Arc<[Node]> = nodes.collect();
        let has_content = |node: &Node| node.included || !node.children.is_empty();
        let in_order = nodes.windows(2).all(|pair| pair[0].element < pair[1].element);
        if in_order && nodes.iter().all(has_content) {
            return if nodes.is_empty() { FieldSet(None) } else { FieldSet(Some(nodes)) };
        }
        let mut sorted: Vec<Node> = nodes.iter().filter(|node| has_content(node)).cloned().collect();
        sorted.sort_by(|a, b| a.element.cmp(&b.element));
        sorted.dedup_by(|later, kept| {
            let same = later.element == kept.element;
            if same {
                kept.included |= later.included;
                kept.children = kept.children.union(&later.children);
            }
            same
        });
        FieldSet::from_sorted(sorted.into_iter())
    }

    /// Returns the set of a level whose nodes are sorted by element, unique, and not empty.
    pub(crate) fn from_sorted(nodes: impl ExactSizeIterator<Item = Node>) -> FieldSet {
        if nodes.len() == 0 {
            return FieldSet(None);
        }
        let nodes: Arc<[Node]> = nodes.collect();
        debug_assert!(nodes.windows(2).all(|pair| pair[0].element < pair[1].element));
        debug_assert!(nodes.iter().all(|node| node.included || !node.children.is_empty()));
        FieldSet(Some(nodes))
    }

    /// Returns the nodes of this level in order.
    #[inline]
    pub fn nodes(&self) -> &[Node] {
        self.0.as_deref().unwrap_or(&[])
    }

    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether both share the same memory, or both are empty.
    #[inline]
    pub fn ptr_eq(&self, other: &FieldSet) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }

    /// Whether the memory of the level may be shared with another set.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.as_ref().is_some_and(|nodes| Arc::strong_count(nodes) > 1)
    }

    /// Returns the node of an element on this level.
    #[inline]
    pub fn node(&self, element: &PathElement) -> Option<&Node> {
        let nodes = self.nodes();
        nodes.binary_search_by(|node| node.element.cmp(element)).ok().map(|at| &nodes[at])
    }

    /// Returns the paths below an element of this level.
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
