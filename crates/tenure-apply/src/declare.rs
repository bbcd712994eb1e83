//! What a configuration declares: the set of fields its author claims by writing them, found while the
//! configuration is checked against its type. The author's last set is walked in step: where it says the
//! same, it is shared, so that applying the same thing again allocates nothing.

use crate::{
    error::{Fault, FaultKind},
    items,
    shape::{Shape, below, is_bare, names, shape},
};
use tenure_fields::{FieldSet, Node, PathElement};
use tenure_schema::{ListTopology, ScalarKind, Type, TypeRef, UnknownFields};
use tenure_value::{Object, Value};

/// Returns the fields that a configuration declares.
pub(crate) fn declared(config: &Value, ty: TypeRef<'_>, last: &FieldSet) -> Result<FieldSet, Box<Fault>> {
    contents(config, ty, last)
}

/// Returns what is declared inside a value.
fn contents(value: &Value, ty: TypeRef<'_>, last: &FieldSet) -> Result<FieldSet, Box<Fault>> {
    match (shape(ty), value) {
        (_, Value::Null) => Ok(FieldSet::default()),
        (Shape::Granular | Shape::Deduced, Value::Object(object)) => fields(object, ty, last),
        (Shape::Items(topology, item), Value::Array(array)) => list(array, topology, item, last),
        _ => check(value, ty).map(|()| FieldSet::default()),
    }
}

fn fields(object: &Object, ty: TypeRef<'_>, last: &FieldSet) -> Result<FieldSet, Box<Fault>> {
    let mut level = Level::new(last);
    for (name, value) in object {
        let step = || PathElement::Field(name.clone());
        let Some(child) = ty.below(name) else {
            return Err(Box::<Fault>::from(FaultKind::UnknownField).under(step()));
        };
        let known = level.expect(|element| matches!(element, PathElement::Field(field) if field == name));
        let below = match known.map(|at| &last.nodes()[at].children) {
            Some(last) => contents(value, child, last),
            None => contents(value, child, &FieldSet::default()),
        }
        .map_err(|fault| fault.under(step()))?;
        let included = leaf(value, child) || !names(ty, name);
        if included || !below.is_empty() {
            level.push(known, step, included, below);
        }
    }
    Ok(level.finish())
}

/// Whether a value that stands in a named field is declared by itself, not only by its parts.
fn leaf(value: &Value, ty: TypeRef<'_>) -> bool {
    match shape(ty) {
        Shape::Leaf => true,
        Shape::Granular => is_bare(value),
        Shape::Items(..) => value.is_null(),
        Shape::Deduced => is_bare(value) || !matches!(value, Value::Object(_)),
    }
}

fn list(
    array: &[Value],
    topology: &ListTopology,
    of: TypeRef<'_>,
    last: &FieldSet,
) -> Result<FieldSet, Box<Fault>> {
    if let Some(same) = list_as_before(array, topology, of, last)? {
        return Ok(same);
    }
    let mut nodes = Vec::with_capacity(array.len());
    for (index, item) in array.iter().enumerate() {
        let element = items::element(item, topology, index).map_err(Box::<Fault>::from)?;
        let last = last.children(&element);
        let children = contents(item, of, &last).map_err(|fault| fault.under(element.clone()))?;
        nodes.push((index, Node { element, included: true, children }));
    }
    if !nodes.is_sorted_by(|(_, a), (_, b)| a.element < b.element) {
        nodes.sort_by(|(_, a), (_, b)| a.element.cmp(&b.element));
        if let Some(pair) = nodes.windows(2).find(|pair| pair[0].1.element == pair[1].1.element) {
            let (first, second) = (pair[0].0.min(pair[1].0), pair[0].0.max(pair[1].0));
            let element = pair[0].1.element.clone();
            return Err(FaultKind::Duplicate { element, first, second }.into());
        }
    }
    Ok(FieldSet::from_sorted(nodes.into_iter().map(|(_, node)| node).collect()))
}

/// Returns the last set of a list, if the list still declares exactly that.
fn list_as_before(
    array: &[Value],
    topology: &ListTopology,
    of: TypeRef<'_>,
    last: &FieldSet,
) -> Result<Option<FieldSet>, Box<Fault>> {
    let nodes = last.nodes();
    if nodes.len() != array.len() || nodes.is_empty() {
        return Ok(None);
    }
    let mut seen = vec![false; nodes.len()];
    for item in array {
        let Ok(Some(at)) = items::find(nodes, item, topology) else { return Ok(None) };
        let node = &nodes[at];
        if std::mem::replace(&mut seen[at], true) || !node.included {
            return Ok(None);
        }
        let children =
            contents(item, of, &node.children).map_err(|fault| fault.under(node.element.clone()))?;
        if !children.ptr_eq(&node.children) {
            return Ok(None);
        }
    }
    Ok(Some(last.clone()))
}

/// One level under construction; stays a reference to the last set's level for as long as they agree.
struct Level<'a> {
    last: &'a FieldSet,
    agreed: usize,
    own: Option<Vec<Node>>,
}

impl<'a> Level<'a> {
    fn new(last: &'a FieldSet) -> Level<'a> {
        Level { last, agreed: 0, own: None }
    }

    /// Returns where the last set has the element that comes next.
    fn expect(&self, is_it: impl Fn(&PathElement) -> bool) -> Option<usize> {
        let nodes = self.last.nodes();
        if self.own.is_none() {
            return nodes.get(self.agreed).filter(|node| is_it(&node.element)).map(|_| self.agreed);
        }
        nodes.iter().position(|node| is_it(&node.element))
    }

    fn push(
        &mut self,
        known: Option<usize>,
        step: impl FnOnce() -> PathElement,
        included: bool,
        children: FieldSet,
    ) {
        let nodes = self.last.nodes();
        let own = match (&mut self.own, known) {
            (None, Some(at)) if nodes[at].included == included && nodes[at].children.ptr_eq(&children) => {
                self.agreed += 1;
                return;
            }
            (Some(own), _) => own,
            (own, _) => own.insert(nodes[..self.agreed].to_vec()),
        };
        let element = known.map_or_else(step, |at| nodes[at].element.clone());
        own.push(Node { element, included, children });
    }

    fn finish(self) -> FieldSet {
        match self.own {
            Some(nodes) => FieldSet::from_sorted(nodes),
            None if self.agreed == self.last.nodes().len() => self.last.clone(),
            None => FieldSet::from_sorted(self.last.nodes()[..self.agreed].to_vec()),
        }
    }
}

/// Checks a value whose parts nobody holds on their own, and everything inside it.
fn check(value: &Value, ty: TypeRef<'_>) -> Result<(), Box<Fault>> {
    match (ty.get(), value) {
        (_, Value::Null) | (Type::Untyped, _) => Ok(()),
        (Type::Struct(of), Value::Object(object)) => object.iter().try_for_each(|(name, value)| {
            let step = || PathElement::Field(name.clone());
            match of.field(name) {
                Some(_) => check(value, below(ty, name)).map_err(|fault| fault.under(step())),
                None if of.unknown == UnknownFields::Preserved => Ok(()),
                None => Err(Box::<Fault>::from(FaultKind::UnknownField).under(step())),
            }
        }),
        (Type::Map(of), Value::Object(object)) => object.iter().try_for_each(|(name, value)| {
            check(value, ty.slot(&of.value)).map_err(|fault| fault.under(PathElement::Field(name.clone())))
        }),
        (Type::List(of), Value::Array(array)) => array.iter().enumerate().try_for_each(|(index, item)| {
            check(item, ty.slot(&of.item)).map_err(|fault| fault.under(PathElement::Index(index as i64)))
        }),
        (Type::Scalar(of), value) if fits(of.kind, value) => Ok(()),
        (of, value) => Err(FaultKind::WrongType { expected: expected(of), found: value.kind() }.into()),
    }
}

/// Whether a scalar may stand in a field. Kinds that take more than one form take any scalar here: which of
/// them is meant is for validation, once it is known who asked.
fn fits(kind: ScalarKind, value: &Value) -> bool {
    match kind {
        ScalarKind::Boolean => matches!(value, Value::Bool(_)),
        ScalarKind::Integer => match value {
            Value::Float(number) => number.fract() == 0.0,
            other => matches!(other, Value::Int(_) | Value::UInt(_)),
        },
        ScalarKind::Number => matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_)),
        ScalarKind::String => matches!(value, Value::String(_)),
        ScalarKind::IntOrString | ScalarKind::Quantity => value.is_scalar(),
    }
}

fn expected(of: &Type) -> &'static str {
    match of {
        Type::Struct(_) | Type::Map(_) => "an object",
        Type::List(_) => "a list",
        Type::Scalar(of) => match of.kind {
            ScalarKind::Boolean => "a boolean",
            ScalarKind::Integer => "an integer",
            ScalarKind::Number => "a number",
            ScalarKind::String => "a string",
            ScalarKind::IntOrString => "an integer or a string",
            ScalarKind::Quantity => "a quantity, as a string or a number",
        },
        Type::Untyped => "anything",
    }
}
