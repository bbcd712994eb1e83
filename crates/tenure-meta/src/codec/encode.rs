//! Runs the default rules of every node, parents first, and encodes the object: fields that are always shown
//! are added, zeros and empty lists and maps are dropped.

use super::shape::{Absent, FieldShape, ScalarShape, Shape, ShapeId, Shapes, Shown, StructShape, is_zero};
use crate::{ChangedField, Changes, Edit, NameFilter, Previous, Rebuild, map_items};
use tenure_value::{Object, Value};

/// Rules that run at every struct of an object, parents before children.
pub trait NodeRules {
    /// Changes a node. The fields with these names differ from those of the live object, to which all rules were applied: a rule
    /// that reads no such field has nothing to do.
    fn run(&mut self, shape: ShapeId, node: &mut Edit<'_>, changed: NameFilter);
}

/// No rules.
pub struct NoRules;

impl NodeRules for NoRules {
    fn run(&mut self, _: ShapeId, _: &mut Edit<'_>, _: NameFilter) {}
}

/// What a traversal does at every node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// Runs the default rules without encoding.
    Rules,
    /// Runs the default rules and encodes.
    RulesAndEncode,
    /// Encodes only.
    Encode,
}

/// How an empty list is encoded if an absent one is `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyLists {
    /// As it was given.
    AsGiven,
    /// As `null`: it does not survive being stored. The rest is already encoded.
    Null,
}

/// A traversal of an object.
pub struct Encoder<'s> {
    /// The shapes.
    pub shapes: &'s Shapes,
    /// What happens at every node.
    pub walk: Walk,
    /// How empty lists are encoded.
    pub empty_lists: EmptyLists,
    /// The rules that run at every struct.
    pub rules: &'s mut dyn NodeRules,
}

impl Encoder<'_> {
    /// Returns the changed value; `None` if nothing changes.
    pub fn value(&mut self, shape: ShapeId, value: &Value, before: Previous<'_>) -> Option<Value> {
        if before.is_unchanged(value) {
            return None;
        }
        let shapes = self.shapes;
        if self.empty_lists == EmptyLists::Null && !shapes.shows_null_below(shape) {
            return None;
        }
        match (shapes.get(shape), value) {
            (Shape::Struct(structure), Value::Object(fields)) => {
                self.node(shape, structure, fields, before).map(Value::from)
            }
            (Shape::List(item_shape), Value::Array(items)) if has_parts(shapes, *item_shape) => {
                map_items(items.items(), |at, item| self.value(*item_shape, item, before.item(at)))
            }
            (Shape::Map(value_shape), Value::Object(entries)) if has_parts(shapes, *value_shape) => {
                let mut walk = Rebuild::new(entries.fields());
                while let Some((name, value)) = walk.next() {
                    let before = before.field(walk.place(), name, value);
                    walk.replace_if(self.value(*value_shape, value, before));
                }
                walk.finish().map(Value::from)
            }
            _ => None,
        }
    }

    fn node(
        &mut self,
        shape: ShapeId,
        structure: &StructShape,
        fields: &Object,
        before: Previous<'_>,
    ) -> Option<Object> {
        let changes = before.changes(fields);
        if self.walk != Walk::Encode {
            let mut edit = Edit::new(fields);
            let changed = changes.as_ref().map_or(NameFilter::ALL, Changes::names);
            self.rules.run(shape, &mut edit, changed);
            if let Some(ruled) = edit.finish() {
                let changed = self.parts(structure, &ruled, before, before.changes(&ruled));
                return changed.or(Some(ruled));
            }
        }
        self.parts(structure, fields, before, changes)
    }

    /// Traverses the children of a node together with the type.
    fn parts(
        &mut self,
        shape: &StructShape,
        fields: &Object,
        before: Previous<'_>,
        changes: Option<Changes<'_, '_>>,
    ) -> Option<Object> {
        let mut walk = Rebuild::new(fields.fields());
        if let Some(changes) = changes {
            for ChangedField { place, name, value, before } in changes {
                if let Some(field) = shape.field(name) {
                    walk.keep_to(place);
                    self.field(field, value, before, &mut walk);
                }
            }
            return walk.finish();
        }
        let mut known = shape.steps();
        while let Some((name, value)) = walk.next() {
            let (passed, field) = known.to(name);
            self.absent(passed, &mut walk);
            match field {
                Some(field) => {
                    let before = before.field(walk.place(), name, value);
                    self.field(field, value, before, &mut walk);
                }
                None => walk.keep(),
            }
        }
        self.absent(known.rest(), &mut walk);
        walk.finish()
    }

    fn field(&mut self, field: &FieldShape, value: &Value, before: Previous<'_>, walk: &mut Rebuild<'_>) {
        let changed = self.value(field.shape, value, before);
        if self.walk == Walk::Rules {
            return walk.replace_if(changed);
        }
        let shown = changed.as_ref().unwrap_or(value);
        if !self.is_empty(field, shown) {
            return walk.replace_if(changed);
        }
        match &field.absent {
            Absent::Hidden => walk.skip(),
            Absent::Null if shown.is_null() => walk.keep(),
            Absent::Null if shown.is_scalar() || self.empty_lists == EmptyLists::Null => {
                walk.replace(Value::Null)
            }
            Absent::Null => walk.keep(),
            Absent::Value(default) if default == shown => walk.keep(),
            Absent::Value(default) => walk.replace(default.clone()),
            Absent::Struct => walk.keep(),
        }
    }

    /// Whether a value is equivalent to an absent one.
    fn is_empty(&self, field: &FieldShape, value: &Value) -> bool {
        match self.shapes.get(field.shape) {
            Shape::Struct(_) | Shape::Any => value.is_null(),
            Shape::Scalar(ScalarShape::Quantity) if !field.keeps_zero => {
                is_absent(Some(value), false) || value.as_str() == Some("0")
            }
            // The empty text is a name, and wrong, where a number is always shown.
            Shape::Scalar(ScalarShape::IntOrString) if matches!(field.absent, Absent::Value(_)) => {
                value.is_null()
            }
            Shape::Scalar(_) | Shape::List(_) => is_absent(Some(value), field.keeps_zero),
            Shape::Map(_) => is_absent(Some(value), false),
        }
    }

    /// Adds absent fields that are always shown.
    fn absent(&mut self, fields: Shown<'_>, walk: &mut Rebuild<'_>) {
        if self.walk == Walk::Rules {
            return;
        }
        for field in fields {
            match &field.absent {
                Absent::Hidden => {}
                Absent::Null => walk.insert(&field.name, Value::Null),
                Absent::Value(value) => walk.insert(&field.name, value.clone()),
                Absent::Struct => {
                    let empty = Value::from(self.shapes.empty(field.shape));
                    let shown = self.value(field.shape, &empty, Previous::UNKNOWN).unwrap_or(empty);
                    walk.insert(&field.name, shown);
                }
            }
        }
    }
}

/// Whether anything can change below a node of this shape.
fn has_parts(shapes: &Shapes, shape: ShapeId) -> bool {
    matches!(shapes.get(shape), Shape::Struct(_) | Shape::List(_) | Shape::Map(_))
}

/// Whether a field counts as absent.
pub fn is_absent(value: Option<&Value>, keeps_zero: bool) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(value) => !keeps_zero && is_zero(value),
    }
}
