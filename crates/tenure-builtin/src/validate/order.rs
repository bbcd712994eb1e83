//! The order of errors. Checks run type by type; Kubernetes reports the fields of a type in an order of its own, which the data
//! lists (`order`). Errors are sorted by it, stably, and only where there are several.

use crate::data::{self, DataError, VALIDATION};
use std::collections::HashMap;
use tenure_meta::{
    FieldError, ValueExt,
    codec::{Shape, ShapeId, Shapes},
};
use tenure_value::{Text, Value};

/// The order of the fields of types. An entry is a field; the node itself, if it is empty; a field and a kind of error, such as
/// `name Duplicate value`, or the end of its message, where that comes later (what Kubernetes generates from tags comes after what it
/// checks by hand); or the whole path of an error below the node, such as `template.metadata.labels`.
pub(crate) struct Order(HashMap<ShapeId, Box<[Text]>>);

/// A step of the path of an error.
enum Step<'p> {
    /// A name, and the path from it on.
    Name(&'p str, &'p str),
    /// An index or a key in brackets.
    Part(&'p str),
}

impl Order {
    /// Compiles the rows of a section of the data.
    pub(crate) fn new(
        document: &Value,
        section: &str,
        find: impl Fn(&str) -> Result<ShapeId, DataError>,
    ) -> Result<Order, DataError> {
        let rows = data::members(VALIDATION, document, section)?;
        let rows = rows.iter().map(|(name, _)| Ok((find(name)?, rows_of(rows, name))));
        Ok(Order(rows.collect::<Result<_, DataError>>()?))
    }

    /// Sorts the errors of an object of a shape.
    pub(crate) fn sort(&self, shapes: &Shapes, root: ShapeId, errors: &mut [FieldError]) {
        if errors.len() > 1 {
            errors.sort_by_cached_key(|error| self.key(shapes, root, error));
        }
    }

    /// Returns the places of the fields on the path of an error, and of its items.
    fn key(&self, shapes: &Shapes, root: ShapeId, error: &FieldError) -> Vec<usize> {
        let (mut key, mut shape) = (Vec::new(), Some(root));
        let steps = steps(&error.path);
        for (at, step) in steps.iter().enumerate() {
            let Some(id) = shape else { break };
            match (shapes.get(id), step) {
                (Shape::Struct(structure), Step::Name(name, rest)) => {
                    let message = (at + 1 == steps.len()).then_some(error.message.as_str());
                    key.push(self.rank(id, name, rest, message));
                    shape = structure.field(*name).map(|field| field.shape);
                }
                (Shape::List(item), Step::Part(index)) => {
                    key.push(index.parse().unwrap_or(usize::MAX));
                    shape = Some(*item);
                }
                (Shape::Map(value), _) => shape = Some(*value),
                _ => shape = None,
            }
        }
        if let Some(id) = shape {
            key.push(self.rank(id, "", "", None));
        }
        key
    }

    /// Whether an error is of a field that a type lists: of the last type on its path, and in the way that the entry says.
    pub(crate) fn has(&self, shapes: &Shapes, root: ShapeId, error: &FieldError) -> bool {
        let (mut shape, mut listed) = (Some(root), None);
        for step in steps(&error.path) {
            let Some(id) = shape else { break };
            (shape, listed) = match (shapes.get(id), step) {
                (Shape::Struct(structure), Step::Name(name, _)) => {
                    (structure.field(name).map(|field| field.shape), Some((id, name)))
                }
                (Shape::List(inner) | Shape::Map(inner), _) => (Some(*inner), None),
                _ => (None, None),
            };
        }
        listed.is_some_and(|(id, field)| {
            let order = self.0.get(&id).map(|order| &order[..]).unwrap_or_default();
            order.iter().any(|entry| entry == field) || told_apart(order, field, &error.message).is_some()
        })
    }

    fn rank(&self, id: ShapeId, field: &str, path: &str, message: Option<&str>) -> usize {
        let Some(order) = self.0.get(&id) else { return 0 };
        let place = |wanted: &str| order.iter().position(|entry| entry == wanted);
        let told_apart = message.and_then(|message| told_apart(order, field, message));
        let known = told_apart.or_else(|| place(path)).or_else(|| place(field));
        known.unwrap_or(if field.is_empty() { 0 } else { order.len() })
    }
}

/// Returns the place of the entry for a field and a kind of error, or the end of its message.
fn told_apart(order: &[Text], field: &str, message: &str) -> Option<usize> {
    let kind = message.split(": ").next().unwrap_or_default();
    order.iter().position(|entry| {
        let rest = entry.strip_prefix(field).and_then(|rest| rest.strip_prefix(' '));
        rest.is_some_and(|rest| rest == kind || message.ends_with(rest))
    })
}

fn rows_of(rows: &tenure_value::Object, name: &str) -> Box<[Text]> {
    Value::Object(rows.clone()).texts(name)
}

/// Splits a path into its names, and what is in brackets.
fn steps(path: &str) -> Vec<Step<'_>> {
    let (mut steps, mut rest) = (Vec::new(), path);
    while !rest.is_empty() {
        if let Some(part) = rest.strip_prefix('[') {
            let end = part.find(']').unwrap_or(part.len());
            steps.push(Step::Part(&part[..end]));
            rest = part.get(end + 1..).unwrap_or_default();
        } else {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            steps.push(Step::Name(&rest[..end], rest));
            rest = &rest[end..];
        }
    }
    steps
}
