//! The defaulting rules by type.

use super::rule::Rule;
use crate::data::{self, DEFAULTS, DataError};
use std::{collections::HashMap, sync::OnceLock};
use tenure_meta::{
    CreateContext, Edit, NameFilter, ValueExt,
    codec::{NodeRules, Shape, ShapeId, Shapes},
};
use tenure_value::Value;

/// The rules of all types.
pub(crate) struct Rules {
    /// The rules of the default phase. Those of types without rows follow from the schema and are created on
    /// first use.
    default: Box<[OnceLock<Box<[Rule]>>]>,
    /// The rules of the phases that run at the root of a new object.
    create: HashMap<ShapeId, CreateRules>,
}

/// The rules that run at the root of a new object.
#[derive(Default)]
pub(crate) struct CreateRules {
    pub(crate) admission: Vec<Rule>,
    pub(crate) create: Vec<Rule>,
}

impl Rules {
    /// Compiles the rows of the data.
    pub(crate) fn new(shapes: &Shapes, document: &Value) -> Result<Rules, DataError> {
        let default: Box<[OnceLock<Box<[Rule]>>]> = (0..shapes.count()).map(|_| OnceLock::new()).collect();
        let mut by_type: HashMap<ShapeId, Vec<Rule>> = HashMap::new();
        let mut create: HashMap<ShapeId, CreateRules> = HashMap::new();
        for (at, row) in data::rows(DEFAULTS, document, "rules")?.iter().enumerate() {
            let (name, path) = (row.text("type"), row.text("path"));
            let wrong =
                |reason: String| DataError::new(DEFAULTS, format!("rules[{at}] ({name} {path})"), reason);
            let shape = shapes.named(&name).ok_or_else(|| wrong("the schema has no such type".into()))?;
            let Shape::Struct(structure) = shapes.get(shape) else {
                return Err(wrong("the type has no fields".into()));
            };
            let rule = Rule::compile(shapes, structure, row).map_err(wrong)?;
            match row.text("phase").as_str() {
                "default" => by_type.entry(shape).or_default().push(rule),
                "admission" => create.entry(shape).or_default().admission.push(rule),
                "create" => create.entry(shape).or_default().create.push(rule),
                other => {
                    return Err(wrong(format!(
                        "unknown phase {other:?}; known are default, admission, create"
                    )));
                }
            }
        }
        for (shape, rules) in by_type {
            if let Some(cell) = default.get(shape.0 as usize) {
                let _ = cell.set(of_schema(shapes, shape).chain(rules).collect());
            }
        }
        Ok(Rules { default, create })
    }

    /// Returns the rules of the default phase: the defaults of the schema, then those of the data.
    fn default_of(&self, shapes: &Shapes, shape: ShapeId) -> &[Rule] {
        let Some(cell) = self.default.get(shape.0 as usize) else { return &[] };
        cell.get_or_init(|| of_schema(shapes, shape).collect())
    }

    /// Returns the rules that run on create.
    pub(crate) fn create_of(&self, shape: ShapeId) -> Option<&CreateRules> {
        self.create.get(&shape)
    }

    /// Returns the rules of the default phase with their context.
    pub(crate) fn with<'r>(
        &'r self,
        shapes: &'r Shapes,
        context: &'r mut dyn CreateContext,
    ) -> impl NodeRules + 'r {
        DefaultRules { rules: self, shapes, context }
    }
}

/// Returns the rules for the defaults of the schema.
fn of_schema(shapes: &Shapes, shape: ShapeId) -> impl Iterator<Item = Rule> {
    let fields = match shapes.get(shape) {
        Shape::Struct(structure) => &structure.fields[..],
        _ => &[],
    };
    fields.iter().filter_map(Rule::of_schema)
}

struct DefaultRules<'r> {
    rules: &'r Rules,
    shapes: &'r Shapes,
    context: &'r mut dyn CreateContext,
}

impl NodeRules for DefaultRules<'_> {
    fn run(&mut self, shape: ShapeId, node: &mut Edit<'_>, mut changed: NameFilter) {
        for rule in self.rules.default_of(self.shapes, shape) {
            if rule.reads.meets(changed) {
                rule.run(node, self.context);
                // What a rule changes, others may read.
                changed = if node.is_changed() { NameFilter::ALL } else { changed };
            }
        }
    }
}
