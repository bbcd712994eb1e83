//! Insertion and removal of single paths, and selection by prefix. Each operation copies the levels along one
//! path and shares the rest; to insert many paths use a [`FieldSetBuilder`](crate::FieldSetBuilder).

use crate::{FieldSet, Node, PathElement};

impl FieldSet {
    /// Inserts a path and returns whether it was new. The root is ignored.
    pub fn insert(&mut self, path: &[PathElement]) -> bool {
        if path.is_empty() || self.has(path) {
            return false;
        }
        *self = self.with(path);
        true
    }

    /// Removes a path but not the paths below it, and returns whether it was present.
    pub fn remove(&mut self, path: &[PathElement]) -> bool {
        if !self.has(path) {
            return false;
        }
        *self = self.edited(path, |node| node.included = false);
        true
    }

    fn with(&self, path: &[PathElement]) -> FieldSet {
        let [first, rest @ ..] = path else { return self.clone() };
        let mut nodes = self.nodes().to_vec();
        let at = match nodes.binary_search_by(|node| node.element.cmp(first)) {
            Ok(at) => at,
            Err(at) => {
                let children = FieldSet::default();
                nodes.insert(at, Node { element: first.clone(), included: false, children });
                at
            }
        };
        let node = &mut nodes[at];
        node.included |= rest.is_empty();
        node.children = node.children.with(rest);
        FieldSet::from_sorted(nodes.into_iter())
    }

    /// Changes the node at a path, if it exists; a node without content is removed.
    fn edited(&self, path: &[PathElement], change: impl FnOnce(&mut Node)) -> FieldSet {
        let Some((first, rest)) = path.split_first() else { return self.clone() };
        let Ok(at) = self.nodes().binary_search_by(|node| node.element.cmp(first)) else {
            return self.clone();
        };
        let mut nodes = self.nodes().to_vec();
        let node = &mut nodes[at];
        if rest.is_empty() {
            change(node);
        } else {
            node.children = node.children.edited(rest, change);
        }
        if !node.included && node.children.is_empty() {
            nodes.remove(at);
        }
        FieldSet::from_sorted(nodes.into_iter())
    }

    /// Returns the node at a path.
    pub fn node_at(&self, path: &[PathElement]) -> Option<&Node> {
        let (last, way) = path.split_last()?;
        let mut level = self;
        for element in way {
            level = &level.node(element)?.children;
        }
        level.node(last)
    }

    /// Returns the paths below a path, relative to it.
    pub fn below(&self, path: &[PathElement]) -> FieldSet {
        match path {
            [] => self.clone(),
            path => self.node_at(path).map(|node| node.children.clone()).unwrap_or_default(),
        }
    }

    /// Returns the paths at or below a path.
    pub fn with_prefix(&self, path: &[PathElement]) -> FieldSet {
        match self.node_at(path) {
            Some(node) => node.children.clone().under(path, node.included),
            None if path.is_empty() => self.clone(),
            None => FieldSet::default(),
        }
    }

    /// Returns the paths that are neither at nor below a path.
    pub fn without_prefix(&self, path: &[PathElement]) -> FieldSet {
        if path.is_empty() {
            return FieldSet::default();
        }
        self.edited(path, |node| {
            node.included = false;
            node.children = FieldSet::default();
        })
    }

    /// Returns the paths with a prefix added to each.
    pub fn prefixed(&self, path: &[PathElement]) -> FieldSet {
        self.clone().under(path, false)
    }

    fn under(self, path: &[PathElement], included: bool) -> FieldSet {
        let mut set = self;
        let mut included = included;
        for element in path.iter().rev() {
            if set.is_empty() && !included {
                return FieldSet::default();
            }
            let node = Node { element: element.clone(), included, children: set };
            set = FieldSet::from_sorted([node].into_iter());
            included = false;
        }
        set
    }

    /// Returns the paths that have no other path of the set below them.
    pub fn leaves(&self) -> FieldSet {
        if self.nodes().iter().all(|node| node.children.is_empty()) {
            return self.clone();
        }
        let leaf = |node: &Node| Node {
            element: node.element.clone(),
            included: node.included && node.children.is_empty(),
            children: node.children.leaves(),
        };
        let leaves: Vec<Node> = self.nodes().iter().map(leaf).collect();
        let same = |(leaf, node): (&Node, &Node)| {
            leaf.included == node.included && leaf.children.ptr_eq(&node.children)
        };
        if leaves.iter().zip(self.nodes()).all(same) {
            self.clone()
        } else {
            FieldSet::from_sorted(leaves.into_iter())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields_v1;

    fn set(text: &str) -> FieldSet {
        fields_v1::parse(text.as_bytes()).unwrap()
    }

    fn path<const N: usize>(names: [&str; N]) -> [PathElement; N] {
        names.map(PathElement::field)
    }

    #[test]
    fn paths_are_inserted_and_removed() {
        let mut fields = FieldSet::default();
        assert!(fields.insert(&path(["b", "x"])));
        assert!(fields.insert(&path(["a"])));
        assert!(fields.insert(&path(["b"])));
        assert!(!fields.insert(&path(["b"])));
        assert!(!fields.insert(&[]));
        assert_eq!(fields, set(r#"{"f:a":{},"f:b":{".":{},"f:x":{}}}"#));
        assert!(fields.remove(&path(["b"])));
        assert!(!fields.remove(&path(["b"])));
        assert!(!fields.remove(&path(["c", "x"])));
        assert!(fields.remove(&path(["b", "x"])));
        assert_eq!(fields, set(r#"{"f:a":{}}"#));
        assert!(fields.remove(&path(["a"])));
        assert!(fields.is_empty());
    }

    #[test]
    fn paths_are_selected_excluded_and_extended_by_prefix() {
        let fields = set(r#"{"f:a":{"f:b":{".":{},"f:x":{}},"f:c":{}},"f:d":{}}"#);
        let ab = path(["a", "b"]);
        assert_eq!(fields.below(&ab), set(r#"{"f:x":{}}"#));
        assert_eq!(fields.with_prefix(&ab), set(r#"{"f:a":{"f:b":{".":{},"f:x":{}}}}"#));
        assert_eq!(fields.without_prefix(&ab), set(r#"{"f:a":{"f:c":{}},"f:d":{}}"#));
        assert_eq!(fields.below(&ab).prefixed(&ab), set(r#"{"f:a":{"f:b":{"f:x":{}}}}"#));
        assert_eq!(fields.with_prefix(&path(["d", "e"])), FieldSet::default());
        assert_eq!(fields.with_prefix(&[]), fields);
        assert_eq!(fields.without_prefix(&[]), FieldSet::default());
        assert!(fields.below(&[]).ptr_eq(&fields));
        assert!(FieldSet::default().prefixed(&ab).is_empty());
    }

    #[test]
    fn leaves_have_nothing_below_them() {
        let fields = set(r#"{"f:a":{".":{},"f:b":{".":{},"f:x":{}}},"f:d":{}}"#);
        let leaves = set(r#"{"f:a":{"f:b":{"f:x":{}}},"f:d":{}}"#);
        assert_eq!(fields.leaves(), leaves);
        assert!(leaves.leaves().ptr_eq(&leaves));
    }
}
