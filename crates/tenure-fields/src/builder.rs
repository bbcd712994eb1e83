//! Builds a set from many paths. Paths in ascending order, as documents and encodings provide them, cost only
//! their length; others are sorted at the end, so any order costs at most a sort.

use crate::{FieldSet, Node, PathElement};

/// Collects paths into a [`FieldSet`], in any order.
#[derive(Default)]
pub struct FieldSetBuilder {
    nodes: Vec<Unfinished>,
}

struct Unfinished {
    element: PathElement,
    included: bool,
    below: FieldSetBuilder,
}

impl FieldSetBuilder {
    /// Creates an empty builder.
    pub fn new() -> FieldSetBuilder {
        FieldSetBuilder::default()
    }

    /// Adds a path. The root is ignored.
    pub fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => self.descend(last).included = true,
            [first, rest @ ..] => self.descend(first).below.insert(rest),
        }
    }

    /// Returns the node of an element: the last one, or a new one that [`FieldSetBuilder::finish`] may merge
    /// with an earlier node of the same element.
    fn descend(&mut self, element: &PathElement) -> &mut Unfinished {
        if self.nodes.last().is_none_or(|last| last.element != *element) {
            self.nodes.push(Unfinished::at(element));
        }
        let last = self.nodes.len() - 1;
        &mut self.nodes[last]
    }

    /// Returns the set.
    pub fn finish(mut self) -> FieldSet {
        if !self.nodes.is_sorted_by(|a, b| a.element < b.element) {
            self.nodes.sort_by(|a, b| a.element.cmp(&b.element));
            self.nodes.dedup_by(|later, kept| {
                let same = later.element == kept.element;
                if same {
                    kept.included |= later.included;
                    kept.below.nodes.append(&mut later.below.nodes);
                }
                same
            });
        }
        let node = |node: Unfinished| Node {
            element: node.element,
            included: node.included,
            children: node.below.finish(),
        };
        FieldSet::from_sorted(self.nodes.into_iter().map(node))
    }
}

impl Unfinished {
    fn at(element: &PathElement) -> Unfinished {
        Unfinished { element: element.clone(), included: false, below: FieldSetBuilder::default() }
    }
}

impl<P: AsRef<[PathElement]>> FromIterator<P> for FieldSet {
    fn from_iter<I: IntoIterator<Item = P>>(paths: I) -> FieldSet {
        let mut builder = FieldSetBuilder::new();
        paths.into_iter().for_each(|path| builder.insert(path.as_ref()));
        builder.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields_v1;

    #[test]
    fn paths_in_any_order_build_the_same_set() {
        let paths = [vec!["b", "x"], vec!["a"], vec!["c"], vec!["b"], vec!["b", "w", "z"], vec!["a"], vec![]];
        let path = |names: &Vec<&'static str>| -> Vec<PathElement> {
            names.iter().map(|name| PathElement::field(*name)).collect()
        };
        let set: FieldSet = paths.iter().map(path).collect();
        let text = br#"{"f:a":{},"f:b":{".":{},"f:w":{"f:z":{}},"f:x":{}},"f:c":{}}"#;
        assert_eq!(set, fields_v1::parse(text).unwrap());
    }
}
