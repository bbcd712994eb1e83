//! The set of fields that a configuration declares, found while it is checked against its type. The manager's last set
//! is walked along: equal parts of it are shared, so that applying the same fields again allocates little.

use crate::{
    document::check::check_declared,
    document::field_nodes::FieldNodes,
    document::items::{self, Places},
    error::{Mismatch, MismatchKind},
};
use tenure_fields::{FieldSet, Node, PathElement};
use tenure_schema::{ListTopology, Relation, Type, TypeRef, UnknownFields};
use tenure_value::{Object, Value};

/// Returns the fields that a configuration declares.
pub(super) fn declared(config: &Value, ty: TypeRef<'_>, last: &FieldSet) -> Result<FieldSet, Box<Mismatch>> {
    Declaration { nodes: Vec::new() }.value(config, ty, last).map(|declared| declared.below)
}

/// The fields that a value declares.
struct Declared {
    /// Whether a named field with this value is itself owned.
    whole: bool,
    below: FieldSet,
}

impl Declared {
    const WHOLE: Declared = Declared { whole: true, below: FieldSet::EMPTY };
}

struct Declaration {
    /// The nodes of all levels that are being made, the innermost last.
    nodes: Vec<Node>,
}

impl Declaration {
    fn value(&mut self, value: &Value, ty: TypeRef<'_>, last: &FieldSet) -> Result<Declared, Box<Mismatch>> {
        match (ty.get(), value) {
            (_, Value::Null) => Ok(Declared::WHOLE),
            (Type::Struct(structure), Value::Object(object)) if structure.relation == Relation::Granular => {
                self.object(
                    object,
                    |name| {
                        let field = structure.field(name);
                        match field {
                            Some(field) => Some((ty.slot(&field.slot), Membership::Named)),
                            None if structure.unknown == UnknownFields::Preserved => {
                                Some((TypeRef::untyped(), Membership::Entry))
                            }
                            None => None,
                        }
                    },
                    last,
                )
            }
            (Type::Map(map), Value::Object(object)) if map.relation == Relation::Granular => {
                let entry = ty.slot(&map.value);
                self.object(object, |_| Some((entry, Membership::Entry)), last)
            }
            (Type::Untyped, Value::Object(object)) => {
                self.object(object, |_| Some((TypeRef::untyped(), Membership::Entry)), last)
            }
            (Type::List(list), Value::Array(array)) if list.topology != ListTopology::Atomic => {
                let below = self.list(array, &list.topology, ty.slot(&list.item), last)?;
                Ok(Declared { whole: false, below })
            }
            _ => check_declared(value, ty).map(|()| Declared::WHOLE),
        }
    }

    fn object<'s>(
        &mut self,
        object: &Object,
        type_of: impl Fn(&str) -> Option<(TypeRef<'s>, Membership)>,
        last: &FieldSet,
    ) -> Result<Declared, Box<Mismatch>> {
        if object.is_empty() {
            return Ok(Declared::WHOLE);
        }
        let (base, before) = (self.nodes.len(), last.nodes());
        let mut level = Level { before, fields: FieldNodes::new(last), agreed: Some(0) };
        for (name, value) in object {
            let step = || PathElement::Field(name.clone());
            let Some((child, standing)) = type_of(name) else {
                return Err(Box::<Mismatch>::from(MismatchKind::UnknownField).under(step()));
            };
            let known = level.fields.seek(name);
            let last = known.map_or(&FieldSet::EMPTY, |node| &node.children);
            let declared = self.value(value, child, last).map_err(|mismatch| mismatch.under(step()))?;
            let included = declared.whole || standing == Membership::Entry;
            if !included && declared.below.is_empty() || level.agrees(known, included, &declared.below) {
                continue;
            }
            let element = known.map_or_else(step, |node| node.element.clone());
            level.push(Node { element, included, children: declared.below }, &mut self.nodes);
        }
        let below = match level.agreed {
            Some(all) if all == before.len() => last.clone(),
            Some(some) => FieldSet::from_nodes(before[..some].iter().cloned()),
            None => FieldSet::from_nodes(self.nodes.drain(base..)),
        };
        Ok(Declared { whole: false, below })
    }

    fn list(
        &mut self,
        array: &[Value],
        topology: &ListTopology,
        ty: TypeRef<'_>,
        last: &FieldSet,
    ) -> Result<FieldSet, Box<Mismatch>> {
        // Every item is read once: its result serves whether or not the list declares its last set again.
        let mut nodes = Places::new(last.nodes());
        let mut declared: Vec<(PathElement, usize, FieldSet)> = Vec::with_capacity(array.len());
        let mut as_before = last.nodes().len() == array.len();
        for (index, item) in array.iter().enumerate() {
            let node = nodes.take(item, topology);
            let element = match node {
                Some(node) => node.element.clone(),
                None => items::element(item, topology, index).map_err(Box::<Mismatch>::from)?,
            };
            let known = node.or_else(|| last.node(&element));
            let last = known.map_or(&FieldSet::EMPTY, |node| &node.children);
            let children = match self.value(item, ty, last) {
                Ok(declared) => declared.below,
                Err(mismatch) => return Err(mismatch.under(element)),
            };
            as_before &= node.is_some_and(|node| node.included && children.ptr_eq(&node.children));
            declared.push((element, index, children));
        }
        if as_before {
            return Ok(last.clone());
        }
        if !declared.is_sorted_by(|(a, ..), (b, ..)| a < b) {
            declared.sort_by(|(a, first, _), (b, second, _)| a.cmp(b).then(first.cmp(second)));
            if let Some(pair) = declared.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let (element, first, second) = (pair[0].0.clone(), pair[0].1, pair[1].1);
                return Err(MismatchKind::Duplicate { element, first, second }.into());
            }
        }
        let node = |(element, _, children)| Node { element, included: true, children };
        Ok(FieldSet::from_nodes(declared.into_iter().map(node)))
    }
}

/// Whether a field is declared by its struct. Owning a part of a declared field does not imply owning the field.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Membership {
    Named,
    Entry,
}

/// One level of a set under construction; nodes are made at the first difference from the last set.
struct Level<'a> {
    before: &'a [Node],
    fields: FieldNodes<'a>,
    /// How many of those before are all that is declared so far.
    agreed: Option<usize>,
}

impl Level<'_> {
    /// Whether a field is declared as in the last set, and so are all before it.
    fn agrees(&mut self, known: Option<&Node>, included: bool, children: &FieldSet) -> bool {
        let Some((agreed, known)) = self.agreed.zip(known) else { return false };
        let as_before =
            agreed == self.fields.passed() && known.included == included && known.children.ptr_eq(children);
        if as_before {
            self.agreed = Some(agreed + 1);
        }
        as_before
    }

    /// Adds the node of a field that does not agree.
    fn push(&mut self, node: Node, nodes: &mut Vec<Node>) {
        if let Some(agreed) = self.agreed.take() {
            nodes.extend_from_slice(&self.before[..agreed]);
        }
        nodes.push(node);
    }
}
