//! Many paths into one set. The builder keeps plain vectors that grow in place; in ascending order, which
//! is how documents and encodings give them, a path costs its length.

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
    /// Starts with no path.
    pub fn new() -> FieldSetBuilder {
        FieldSetBuilder::default()
    }

    /// Adds a path. The root is in no set.
    pub fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => self.descend(last).included = true,
            [first, rest @ ..] => self.descend(first).below.insert(rest),
        }
    }

    fn descend(&mut self, element: &PathElement) -> &mut Unfinished {
        let last = self.nodes.last().map(|last| last.element.cmp(element));
        let at = match last {
            Some(std::cmp::Ordering::Equal) => self.nodes.len() - 1,
            Some(std::cmp::Ordering::Greater) => {
                match self.nodes.binary_search_by(|node| node.element.cmp(element)) {
                    Ok(at) => at,
                    Err(at) => {
                        self.nodes.insert(at, Unfinished::at(element));
                        at
                    }
                }
            }
            Some(std::cmp::Ordering::Less) | None => {
                self.nodes.push(Unfinished::at(element));
                self.nodes.len() - 1
            }
        };
        &mut self.nodes[at]
    }

    /// Returns the set.
    pub fn finish(self) -> FieldSet {
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
    fn paths_in_any_order_make_one_set() {
        let paths = [vec!["b", "x"], vec!["a"], vec!["c"], vec!["b"], vec!["b", "w", "z"], vec!["a"], vec![]];
        let path = |names: &Vec<&'static str>| -> Vec<PathElement> {
            names.iter().map(|name| PathElement::field(*name)).collect()
        };
        let set: FieldSet = paths.iter().map(path).collect();
        let text = br#"{"f:a":{},"f:b":{".":{},"f:w":{"f:z":{}},"f:x":{}},"f:c":{}}"#;
        assert_eq!(set, fields_v1::parse(text).unwrap());
    }
}
