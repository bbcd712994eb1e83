//! The defaulting rules by type, compiled when a type is first met.

use super::rule::Rule;
use std::{collections::HashMap, sync::OnceLock};
use tenure_meta::{
    CreateContext, Edit, Row,
    codec::{NodeRules, Shape, ShapeId, Shapes},
};
use tenure_value::Value;

/// The rules of all types.
pub(crate) struct Rules {
    rows: HashMap<&'static str, Vec<&'static Value>>,
    /// The rules of the default phase.
    default: Box<[OnceLock<Box<[Rule]>>]>,
    /// The rules of the phases that run at the root of a created object.
    create: Box<[OnceLock<CreateRules>]>,
}

/// What runs at the root of an object that is created.
#[derive(Default)]
pub(crate) struct CreateRules {
    pub(crate) admission: Vec<Rule>,
    pub(crate) create: Vec<Rule>,
}

impl Rules {
    pub(crate) fn new(shapes: &Shapes, data: &'static Value) -> Rules {
        let mut rows: HashMap<_, Vec<_>> = HashMap::new();
        for row in data.items("rules") {
            if let Some(name) = row.get("type").and_then(Value::as_str) {
                rows.entry(name).or_default().push(row);
            }
        }
        Rules {
            rows,
            default: (0..shapes.len()).map(|_| OnceLock::new()).collect(),
            create: (0..shapes.len()).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Returns the rules of the default phase: what the schema gives as default, then those of the data.
    fn default_of(&self, shapes: &Shapes, shape: ShapeId) -> &[Rule] {
        let Some(cell) = self.default.get(shape.0 as usize) else { return &[] };
        cell.get_or_init(|| {
            let Shape::Struct(of) = shapes.get(shape) else { return Box::default() };
            let rows = self.rows_of(shapes, shape).iter().filter(|row| row.text("phase") == "default");
            let from_schema = of.fields.iter().filter_map(Rule::of_schema);
            from_schema.chain(rows.filter_map(|row| Rule::compile(shapes, of, row))).collect()
        })
    }

    /// Returns the rules that run when an object is created.
    pub(crate) fn create_of(&self, shapes: &Shapes, shape: ShapeId) -> Option<&CreateRules> {
        let cell = self.create.get(shape.0 as usize)?;
        Some(cell.get_or_init(|| {
            let mut rules = CreateRules::default();
            let Shape::Struct(of) = shapes.get(shape) else { return rules };
            for row in self.rows_of(shapes, shape) {
                let list = match row.text("phase").as_str() {
                    "admission" => &mut rules.admission,
                    "create" => &mut rules.create,
                    _ => continue,
                };
                list.extend(Rule::compile(shapes, of, row));
            }
            rules
        }))
    }

    fn rows_of(&self, shapes: &Shapes, shape: ShapeId) -> &[&'static Value] {
        self.rows.get(shapes.name(shape)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the rules of the default phase with what they take from outside.
    pub(crate) fn with<'r>(
        &'r self,
        shapes: &'r Shapes,
        around: &'r mut dyn CreateContext,
    ) -> impl NodeRules + 'r {
        DefaultRules { rules: self, shapes, around }
    }
}

struct DefaultRules<'r> {
    rules: &'r Rules,
    shapes: &'r Shapes,
    around: &'r mut dyn CreateContext,
}

impl NodeRules for DefaultRules<'_> {
    fn run(&mut self, shape: ShapeId, node: &mut Edit<'_>) {
        for rule in self.rules.default_of(self.shapes, shape) {
            rule.run(node, self.around);
        }
    }
}
