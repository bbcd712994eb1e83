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

    /// Returns the set whose first level has these nodes, in any order. Nodes of one element are united, and nodes
    /// without content are left out. Nodes that are already in order cost one comparison each.
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
        let nodes: Arc<[Node]> = nodes.into_iter().collect();
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

    /// Returns the set of a level whose nodes are sorted by element, without repetitions, each with content.
    pub(crate) fn from_sorted(nodes: impl ExactSizeIterator<Item = Node>) -> FieldSet {
        if nodes.len() == 0 {
            return FieldSet(None);
        }
        let nodes: Arc<[Node]> = nodes.collect();
        debug_assert!(nodes.windows(2).all(|pair| pair[0].element < pair[1].element));
        debug_assert!(nodes.iter().all(|node| node.included || !node.children.is_empty()));
        FieldSet(Some(nodes))
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
