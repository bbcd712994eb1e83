//! Union, intersection and difference: one walk over both sets each. Whatever is the same on both sides or
//! untouched by the other is shared with the result; a level that comes out as it went in is returned itself.

use crate::{FieldSet, Node};
use std::cmp::Ordering;

/// What becomes of a node that both sets have, apart from its children.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
    /// As the difference, but an element of the second set takes with it all that is below.
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
    use Operation::{Intersection, Union};
    if a.ptr_eq(b) {
        return if matches!(operation, Union | Intersection) { a.clone() } else { FieldSet::default() };
    }
    match (a.is_empty(), b.is_empty(), operation) {
        (true, _, Union) => return b.clone(),
        (true, ..) | (_, true, Intersection) => return FieldSet::default(),
        (_, true, _) => return a.clone(),
        _ => {}
    }
    let mut level = Level::of(a);
    let mut children = Children { operation, last: None };
    let mut others = b.nodes();
    for node in a.nodes() {
        while let [other, rest @ ..] = others {
            match other.element.cmp(&node.element) {
                Ordering::Less => {
                    if operation == Union {
                        level.add(other.clone(), others.len());
                    }
                    others = rest;
                }
                Ordering::Equal | Ordering::Greater => break,
            }
        }
        match others {
            [other, rest @ ..] if other.element == node.element => {
                others = rest;
                both(&mut level, node, other, &mut children);
            }
            _ if operation == Intersection => level.drop_next(),
            _ => level.keep_next(),
        }
    }
    if operation == Union {
        others.iter().for_each(|other| level.add(other.clone(), others.len()));
    }
    level.finish()
}

/// Puts the outcome of a node that both levels have.
fn both<'s>(level: &mut Level<'s>, node: &'s Node, other: &'s Node, children: &mut Children<'s>) {
    let included = match children.operation {
        Operation::Union => node.included || other.included,
        Operation::Intersection => node.included && other.included,
        Operation::RecursiveDifference if other.included => return level.drop_next(),
        Operation::Difference | Operation::RecursiveDifference => node.included && !other.included,
    };
    let children = children.merge(&node.children, &other.children);
    if included == node.included && children.ptr_eq(&node.children) {
        level.keep_next();
    } else if included || !children.is_empty() {
        level.replace_next(included, children);
    } else {
        level.drop_next();
    }
}

/// Merges the children of one level's nodes. Siblings that share their children on both sides, as items of
/// one shape do, get one result, shared as well.
struct Children<'s> {
    operation: Operation,
    last: Option<(&'s FieldSet, &'s FieldSet, FieldSet)>,
}

impl<'s> Children<'s> {
    fn merge(&mut self, a: &'s FieldSet, b: &'s FieldSet) -> FieldSet {
        if a.is_empty() && b.is_empty() {
            return FieldSet::default();
        }
        if let Some((last_a, last_b, result)) = &self.last
            && a.ptr_eq(last_a)
            && b.ptr_eq(last_b)
        {
            return result.clone();
        }
        let result = merge(a, b, self.operation);
        self.last = Some((a, b, result.clone()));
        result
    }
}

/// A level in the making from the nodes of another, copied only once it differs.
struct Level<'s> {
    from: &'s FieldSet,
    /// How many nodes of `from` are dealt with.
    next: usize,
    /// The nodes so far, where they are not just the first of `from`.
    nodes: Option<Vec<Node>>,
}

impl<'s> Level<'s> {
    fn of(from: &'s FieldSet) -> Level<'s> {
        Level { from, next: 0, nodes: None }
    }

    /// Leaves the next node as it is.
    fn keep_next(&mut self) {
        if let Some(nodes) = &mut self.nodes {
            nodes.push(self.from.nodes()[self.next].clone());
        }
        self.next += 1;
    }

    /// Leaves the next node out.
    fn drop_next(&mut self) {
        self.own(0);
        self.next += 1;
    }

    /// Puts the next node's element with other content.
    fn replace_next(&mut self, included: bool, children: FieldSet) {
        let element = self.from.nodes()[self.next].element.clone();
        self.own(0).push(Node { element, included, children });
        self.next += 1;
    }

    /// Adds a node before the next one; at most so many more will follow.
    fn add(&mut self, node: Node, more: usize) {
        self.own(more).push(node);
    }

    fn own(&mut self, more: usize) -> &mut Vec<Node> {
        let (from, next) = (self.from, self.next);
        self.nodes.get_or_insert_with(|| {
            let mut nodes = Vec::with_capacity(from.nodes().len() + more);
            nodes.extend_from_slice(&from.nodes()[..next]);
            nodes
        })
    }

    fn finish(self) -> FieldSet {
        match self.nodes {
            None => self.from.clone(),
            Some(nodes) => FieldSet::from_sorted(nodes),
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
    fn each_operation_on_paths_and_what_is_below_them() {
        let a = set(r#"{"f:a":{".":{},"f:x":{}},"f:b":{"f:x":{},"f:y":{}},"f:c":{}}"#);
        let b = set(r#"{"f:a":{},"f:b":{"f:y":{}},"f:c":{"f:z":{}},"f:d":{}}"#);
        let union = r#"{"f:a":{".":{},"f:x":{}},"f:b":{"f:x":{},"f:y":{}},"f:c":{".":{},"f:z":{}},"f:d":{}}"#;
        assert_eq!(a.union(&b), set(union));
        assert_eq!(a.intersection(&b), set(r#"{"f:a":{},"f:b":{"f:y":{}}}"#));
        assert_eq!(a.difference(&b), set(r#"{"f:a":{"f:x":{}},"f:b":{"f:x":{}},"f:c":{}}"#));
        assert_eq!(a.recursive_difference(&b), set(r#"{"f:b":{"f:x":{}},"f:c":{}}"#));
    }

    #[test]
    fn what_the_other_set_does_not_change_is_shared() {
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
    fn subsets_and_disjoint_sets_are_told() {
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
