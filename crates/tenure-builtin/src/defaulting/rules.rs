//! The defaulting rules by type.

use super::rule::Rule;
use crate::data::{self, DEFAULTS, DataError, valid};
use foldhash::fast::RandomState;
use std::{collections::HashMap, sync::OnceLock};
use tenure_meta::{
    CreateContext, Edit, NameFilter, ValueExt,
    codec::{NodeRules, Shape, ShapeId, Shapes},
};
use tenure_value::Value;

/// The rules of all types. Those of a type are compiled when they are first used.
pub(crate) struct Rules {
    rows: HashMap<ShapeId, Rows, RandomState>,
    /// The rules of the default phase: the defaults of the schema, then those of the data.
    default: Box<[OnceLock<Box<[Rule]>>]>,
}

/// The rows of a type.
#[derive(Default)]
struct Rows {
    /// With their places in the file.
    rows: Vec<(usize, &'static Value)>,
    create: OnceLock<CreateRules>,
}

/// The rules that run at the root of a new object.
#[derive(Default)]
pub(crate) struct CreateRules {
    pub(crate) admission: Vec<Rule>,
    pub(crate) create: Vec<Rule>,
}

const PHASES: [&str; 3] = ["default", "admission", "create"];

impl Rules {
    /// Sorts the rows of the data by type.
    pub(crate) fn new(shapes: &Shapes, document: &'static Value) -> Result<Rules, DataError> {
        let mut by_type: HashMap<ShapeId, Rows, RandomState> = HashMap::default();
        for (at, row) in data::rows(DEFAULTS, document, "rules")?.iter().enumerate() {
            let shape = row.get("type").and_then(Value::as_str).and_then(|name| shapes.named(name));
            let shape = shape.ok_or_else(|| invalid(at, row, "the schema has no such type".into()))?;
            by_type.entry(shape).or_default().rows.push((at, row));
        }
        Ok(Rules { rows: by_type, default: (0..shapes.count()).map(|_| OnceLock::new()).collect() })
    }

    /// Compiles all rows.
    pub(crate) fn check(&self, shapes: &Shapes) -> Result<(), DataError> {
        for (shape, rows) in &self.rows {
            for (at, row) in &rows.rows {
                if !PHASES.contains(&row.text("phase").as_str()) {
                    let reason =
                        format!("unknown phase {:?}; known are {}", row.text("phase"), PHASES.join(", "));
                    return Err(invalid(*at, row, reason));
                }
            }
            PHASES.iter().try_for_each(|phase| self.compile(shapes, *shape, phase).map(drop))?;
        }
        Ok(())
    }

    /// Compiles the rows of a phase of a type.
    fn compile(&self, shapes: &Shapes, shape: ShapeId, phase: &str) -> Result<Vec<Rule>, DataError> {
        let Some(rows) = self.rows.get(&shape) else { return Ok(Vec::new()) };
        let rows =
            rows.rows.iter().filter(|(_, row)| row.get("phase").and_then(Value::as_str) == Some(phase));
        let compile = |(at, row): &(usize, &Value)| {
            let compiled = match shapes.get(shape) {
                Shape::Struct(structure) => Rule::compile(shapes, structure, row),
                _ => Err("the type has no fields".into()),
            };
            compiled.map_err(|reason| invalid(*at, row, reason))
        };
        rows.map(compile).collect()
    }

    /// Returns the rules of the default phase.
    fn default_of(&self, shapes: &Shapes, shape: ShapeId) -> &[Rule] {
        let Some(cell) = self.default.get(shape.0 as usize) else { return &[] };
        cell.get_or_init(|| {
            of_schema(shapes, shape).chain(valid(self.compile(shapes, shape, "default"))).collect()
        })
    }

    /// Returns the rules that run on create.
    pub(crate) fn create_of(&self, shapes: &Shapes, shape: ShapeId) -> Option<&CreateRules> {
        let compile = |phase| valid(self.compile(shapes, shape, phase));
        let make = || CreateRules { admission: compile("admission"), create: compile("create") };
        Some(self.rows.get(&shape)?.create.get_or_init(make))
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

/// Returns the error of a row.
fn invalid(at: usize, row: &Value, reason: String) -> DataError {
    DataError::new(DEFAULTS, format!("rules[{at}] ({} {})", row.text("type"), row.text("path")), reason)
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
