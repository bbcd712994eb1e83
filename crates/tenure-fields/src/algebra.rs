//! Union, intersection and difference, each in one traversal of both sets. Subtrees that are equal on both
//! sides or affected by one side only are shared with the result; a level that does not change is returned as
//! is.

use crate::{FieldSet, Node, memo::Memo};
use std::cmp::Ordering;

/// How a node that both sets contain is combined, apart from its children.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
    /// Like the difference, but an element of the second set also removes everything below it.
    RecursiveDifference,
}

impl FieldSet {
    /// Returns the paths that are in either set.
    pub fn union(&self, other: &FieldSet) -> FieldSet {
        merge(self, other, Operation::Union)
    }

    /// Returns the paths that are in both sets.
    pub fn intersection(&self, other: &FieldSet) -> FieldSet {
        merge(self, other, Operation::Intersection)
    }

    /// Returns the paths of this set that are not in the other.
    pub fn difference(&self, other: &FieldSet) -> FieldSet {
        merge(self, other, Operation::Difference)
    }

    /// Returns the paths of this set that are neither in the other nor below one of its paths.
    pub fn recursive_difference(&self, other: &FieldSet) -> FieldSet {
        merge(self, other, Operation::RecursiveDifference)
    }

    /// Whether every path of this set is in the other.
    pub fn is_subset(&self, other: &FieldSet) -> bool {
        if self.ptr_eq(other) {
            return true;
        }
        let mut others = other.nodes().iter();
        self.nodes().iter().all(|node| {
            let Some(found) = others.find(|other| other.element >= node.element) else { return false };
            found.element == node.element
                && (found.included || !node.included)
                && node.children.is_subset(&found.children)
        })
    }

    /// Whether no path is in both sets.
    pub fn is_disjoint(&self, other: &FieldSet) -> bool {
        let mut others = other.nodes().iter().peekable();
        self.nodes().iter().all(|node| {
            while others.next_if(|other| other.element < node.element).is_some() {}
            others.peek().is_none_or(|other| {
                other.element != node.element
                    || !(node.included && other.included) && node.children.is_disjoint(&other.children)
            })
        })
    }
}

fn merge(a: &FieldSet, b: &FieldSet, operation: Operation) -> FieldSet {
    Merge { operation, nodes: Vec::new(), recent: Memo::new() }.sets(a, b, 0)
}

struct Merge<'s> {
    operation: Operation,
    /// The nodes of all levels under construction, innermost last.
    nodes: Vec<Node>,
    /// The levels merged last. Items with the same fields share their levels on both sides, so their result
    /// is computed once and shared too.
    recent: Memo<(&'s FieldSet, &'s FieldSet), FieldSet>,
}

impl<'s> Merge<'s> {
    fn sets(&mut self, a: &'s FieldSet, b: &'s FieldSet, depth: usize) -> FieldSet {
        use Operation::{Intersection, Union};
        if a.ptr_eq(b) {
            let same = matches!(self.operation, Union | Intersection);
            return if same { a.clone() } else { FieldSet::EMPTY };
        }
        match (a.is_empty(), b.is_empty(), self.operation) {
            (true, _, Union) => b.clone(),
            (true, ..) | (_, true, Intersection) => FieldSet::EMPTY,
            (_, true, _) => a.clone(),
            _ => self.remembered(a, b, depth),
        }
    }

    fn remembered(&mut self, a: &'s FieldSet, b: &'s FieldSet, depth: usize) -> FieldSet {
        if !(a.is_shared() && b.is_shared()) {
            return self.level(a, b, depth);
        }
        let same = |(before_a, before_b): &(&FieldSet, &FieldSet)| a.ptr_eq(before_a) && b.ptr_eq(before_b);
        if let Some((_, result)) = self.recent.find(depth, same) {
            return result.clone();
        }
        let result = self.level(a, b, depth);
        self.recent.keep(depth, (a, b), result.clone());
        result
    }

    fn level(&mut self, a: &'s FieldSet, b: &'s FieldSet, depth: usize) -> FieldSet {
        let mut level = Level { from: a.nodes(), next: 0, base: None };
        let mut others = b.nodes();
        for node in a.nodes() {
            let mut same = None;
            while let [other, rest @ ..] = others {
                match other.element.cmp(&node.element) {
                    Ordering::Less if self.operation == Operation::Union => level.add(other, self),
                    Ordering::Less => {}
                    Ordering::Equal => same = Some(other),
                    Ordering::Greater => break,
                }
                others = rest;
                if same.is_some() {
                    break;
                }
            }
            match same {
                Some(other) => self.both(&mut level, node, other, depth),
                None if self.operation == Operation::Intersection => level.drop_next(self),
                None => level.keep_next(self),
            }
        }
        if self.operation == Operation::Union {
            others.iter().for_each(|other| level.add(other, self));
        }
        match level.base {
            None => a.clone(),
            Some(base) => FieldSet::from_sorted(self.nodes.drain(base..)),
        }
    }

    /// Adds the result for a node that both levels contain.
    fn both(&mut self, level: &mut Level<'s>, node: &'s Node, other: &'s Node, depth: usize) {
        let included = match self.operation {
            Operation::Union => node.included || other.included,
            Operation::Intersection => node.included && other.included,
            Operation::RecursiveDifference if other.included => return level.drop_next(self),
            Operation::Difference | Operation::RecursiveDifference => node.included && !other.included,
        };
        let children = self.sets(&node.children, &other.children, depth + 1);
        if included == node.included && children.ptr_eq(&node.children) {
            level.keep_next(self);
        } else if included || !children.is_empty() {
            level.replace_next(included, children, self);
        } else {
            level.drop_next(self);
        }
    }
}

/// A level built from the nodes of another, copied only when it starts to differ.
struct Level<'s> {
    from: &'s [Node],
    /// The number of nodes of `from` that are processed.
    next: usize,
    /// The start of the nodes so far, unless they equal the first nodes of `from`.
    base: Option<usize>,
}

impl<'s> Level<'s> {
    /// Keeps the next node.
    fn keep_next(&mut self, merge: &mut Merge<'s>) {
        if self.base.is_some() {
            merge.nodes.push(self.from[self.next].clone());
        }
        self.next += 1;
    }

    /// Drops the next node.
    fn drop_next(&mut self, merge: &mut Merge<'s>) {
        self.differ(merge);
        self.next += 1;
    }

    /// Replaces the content of the next node.
    fn replace_next(&mut self, included: bool, children: FieldSet, merge: &mut Merge<'s>) {
        self.differ(merge);
        let element = self.from[self.next].element.clone();
        merge.nodes.push(Node { element, included, children });
        self.next += 1;
    }

    /// Inserts a node before the next one.
    fn add(&mut self, node: &Node, merge: &mut Merge<'s>) {
        self.differ(merge);
        merge.nodes.push(node.clone());
    }

    fn differ(&mut self, merge: &mut Merge<'s>) {
        if self.base.is_none() {
            self.base = Some(merge.nodes.len());
            merge.nodes.extend_from_slice(&self.from[..self.next]);
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

    #[test]
    fn operations_handle_paths_and_their_descendants() {
        let a = set(r#"{"f:a":{".":{},"f:x":{}},"f:b":{"f:x":{},"f:y":{}},"f:c":{}}"#);
        let b = set(r#"{"f:a":{},"f:b":{"f:y":{}},"f:c":{"f:z":{}},"f:d":{}}"#);
        let union = r#"{"f:a":{".":{},"f:x":{}},"f:b":{"f:x":{},"f:y":{}},"f:c":{".":{},"f:z":{}},"f:d":{}}"#;
        assert_eq!(a.union(&b), set(union));
        assert_eq!(a.intersection(&b), set(r#"{"f:a":{},"f:b":{"f:y":{}}}"#));
        assert_eq!(a.difference(&b), set(r#"{"f:a":{"f:x":{}},"f:b":{"f:x":{}},"f:c":{}}"#));
        assert_eq!(a.recursive_difference(&b), set(r#"{"f:b":{"f:x":{}},"f:c":{}}"#));
    }

    #[test]
    fn unchanged_subtrees_are_shared() {
        let a = set(r#"{"f:a":{"f:x":{}},"f:b":{"f:x":{},"f:y":{}}}"#);
        let apart = set(r#"{"f:c":{}}"#);
        let part = set(r#"{"f:b":{"f:y":{}}}"#);
        assert!(a.union(&part).ptr_eq(&a));
        assert!(a.difference(&apart).ptr_eq(&a));
        assert!(a.recursive_difference(&apart).ptr_eq(&a));
        assert!(a.intersection(&a.union(&apart)).ptr_eq(&a));
        let grown = a.union(&apart);
        assert!(grown.nodes()[0].children.ptr_eq(&a.nodes()[0].children));
    }

    #[test]
    fn subsets_and_disjoint_sets_are_recognized() {
        let a = set(r#"{"f:a":{".":{},"f:x":{}},"f:b":{"f:x":{}}}"#);
        for (text, subset, disjoint) in [
            ("{}", true, true),
            (r#"{"f:a":{}}"#, true, false),
            (r#"{"f:b":{"f:x":{}}}"#, true, false),
            (r#"{"f:b":{}}"#, false, true),
            (r#"{"f:b":{".":{},"f:x":{}}}"#, false, false),
            (r#"{"f:c":{}}"#, false, true),
            (r#"{"f:a":{"f:w":{},"f:y":{}}}"#, false, true),
        ] {
            let b = set(text);
            assert_eq!(b.is_subset(&a), subset, "{text}");
            assert_eq!(b.is_disjoint(&a), disjoint, "{text}");
            assert_eq!(a.is_disjoint(&b), disjoint, "{text}");
        }
    }
}
