//! Checks compiled from data and from the schema: a field of a node is required, has one of some values,
//! matches a format, lies in a range, is unique among its siblings. One traversal of an object runs all of
//! them.

use super::{
    context::Context, format::FORMATS, function::Function, metadata::UpdateSteps, order::Order,
    policy_scope::PolicyScope, update::UpdateRules,
};
use crate::{
    data::{self, DataError, VALIDATION, only_known, valid},
    defaulting::{Condition, Place, Target},
};
use foldhash::fast::RandomState;
use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
    sync::OnceLock,
};
use tenure_meta::{
    ChangedField, Changes, Edit, Endpoint, FieldError, FieldErrorKind, FieldErrors, FieldPath, NameFilter,
    Previous, Registry, Seen, ValueExt,
    codec::{Absent, Shape, ShapeId, Shapes, StructShape, is_absent},
    format::Format,
};
use tenure_value::{Object, Text, Value};

/// All checks. Those of a type, of its rows and those that follow from the schema, are compiled when they are first used.
pub(crate) struct Checks {
    /// Fields that are required in the schema but not checked.
    optional: HashMap<ShapeId, Box<[Text]>>,
    /// Types of the spec that are not checked in a status.
    spec_only: HashSet<ShapeId>,
    pub(crate) updates: UpdateRules,
    pub(crate) status_updates: UpdateRules,
    pub(crate) order: Order,
    /// The errors of checks that Kubernetes generates from declarations, and reports after all others.
    pub(crate) declared: Order,
    pub(crate) steps: UpdateSteps,
    /// The rows of types.
    rows: HashMap<ShapeId, (&'static Text, &'static Value), RandomState>,
    cells: Box<[OnceLock<Box<[Check]>>]>,
}

/// One check at a node.
#[derive(Debug)]
struct Check {
    /// The fields of the node that decide the outcome: it is the same where they are.
    reads: NameFilter,
    at: Place,
    when: Box<[Condition]>,
    test: Test,
    detail: Text,
    /// Whether the check comes from the schema, which does not apply to the status.
    from_schema: bool,
    /// Whether the check runs after those of the parts of the node.
    is_late: bool,
    /// Whether an error of an item is reported at its list.
    at_list: bool,
    /// Whether an item that repeats another one is reported as such, and not its field.
    at_item: bool,
    /// Whether the field is required, so that a zero is missing and in no range.
    is_required: bool,
}

#[derive(Debug)]
enum Test {
    Required,
    Forbidden,
    In(Box<[Value]>),
    Format(Format),
    /// A format that an absent value must have too, as the empty text.
    FormatOfEmpty(Format),
    EachFormat(Format),
    EachIn(Box<[Value]>),
    Keys(Format),
    Values(Format),
    Range(i64, i64),
    /// Items differ in the fields; whether one without them counts as well.
    Unique(Box<[Text]>, bool),
    /// How many of the fields may be set: minimum, maximum.
    Count {
        names: Box<[Text]>,
        least: usize,
        most: usize,
        noun: Text,
    },
    MostItems(usize),
    MostBytes(usize),
    /// Not less than another field.
    AtLeast(Place),
    /// Not greater than another field.
    AtMost(Place),
    Call(Function),
}

impl Test {
    /// Returns the fields of a node that the test of a place reads.
    fn reads(&self, at: &Place) -> NameFilter {
        match self {
            Test::Call(function) => function.reads(),
            Test::Count { names, .. } => names.iter().map(|name| name.as_str()).collect(),
            Test::AtLeast(other) | Test::AtMost(other) => at.reads().or(other.reads()),
            _ => at.reads(),
        }
    }
}

/// The prefixes that rows omit from type names.
const PREFIXES: [&str; 2] = ["io.k8s.api.", "io.k8s.apimachinery.pkg.apis."];

impl Checks {
    /// Compiles the rows of the data, except for those of types.
    pub(crate) fn new(
        shapes: &Shapes,
        registry: &Registry,
        document: &'static Value,
    ) -> Result<Checks, DataError> {
        let find = |name: &str| {
            let full = PREFIXES.iter().map(|prefix| format!("{prefix}{name}"));
            let mut names = full.chain([name.to_string()]);
            let shape = names.find_map(|name| shapes.named(&name));
            shape.ok_or_else(|| DataError::new(VALIDATION, name, "the schema has no such type"))
        };
        let mut optional = HashMap::new();
        for (name, fields) in data::members(VALIDATION, document, "optional")? {
            let shape = find(name)?;
            let fields = fields.as_array().map(|fields| fields.items()).unwrap_or_default().iter();
            let names: Box<[Text]> = fields.filter_map(|name| name.as_str().map(Text::new)).collect();
            optional.insert(shape, names);
        }
        let listed = document.get("specOnly").and_then(Value::as_array);
        let listed =
            listed.ok_or_else(|| DataError::new(VALIDATION, "specOnly", "expected a list of types"))?;
        let types = listed.iter().map(|name| find(name.as_str().unwrap_or_default()));
        let spec_only = types.collect::<Result<_, _>>()?;
        let rows = data::members(VALIDATION, document, "types")?.iter();
        let rows = rows.map(|(name, rows)| Ok((find(name)?, (name, rows))));
        Ok(Checks {
            optional,
            spec_only,
            updates: UpdateRules::new(registry, document, "updates")?,
            status_updates: UpdateRules::new(registry, document, "statusUpdates")?,
            order: Order::new(document, "order", find)?,
            declared: Order::new(document, "declared", find)?,
            steps: UpdateSteps::new(registry, document)?,
            rows: rows.collect::<Result<_, DataError>>()?,
            cells: (0..shapes.count()).map(|_| OnceLock::new()).collect(),
        })
    }

    /// Compiles all rows.
    pub(crate) fn check(&self, shapes: &Shapes) -> Result<(), DataError> {
        for (shape, names) in &self.optional {
            let Shape::Struct(structure) = shapes.get(*shape) else {
                return Err(DataError::new(VALIDATION, shapes.name(*shape), "the type has no fields"));
            };
            if let Some(unknown) = names.iter().find(|name| structure.field(*name).is_none()) {
                let reason = format!("the type has no field {unknown:?}");
                return Err(DataError::new(VALIDATION, shapes.name(*shape), reason));
            }
        }
        self.rows.keys().try_for_each(|shape| self.compile(shapes, *shape).map(drop))
    }

    /// Compiles the rows of a type.
    fn compile(&self, shapes: &Shapes, id: ShapeId) -> Result<Vec<Check>, DataError> {
        let Some((name, rows)) = self.rows.get(&id) else { return Ok(Vec::new()) };
        let Shape::Struct(structure) = shapes.get(id) else {
            return Err(DataError::new(VALIDATION, name, "the type has no fields"));
        };
        let rows = rows.as_array().ok_or_else(|| DataError::new(VALIDATION, name, "expected a list"))?;
        let mut compiled = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let tests = tests(shapes, structure, row);
            compiled
                .extend(tests.map_err(|reason| DataError::new(VALIDATION, format!("{name}[{at}]"), reason))?);
        }
        Ok(compiled)
    }

    fn of(&self, shapes: &Shapes, id: ShapeId, shape: &StructShape) -> &[Check] {
        match self.cells.get(id.0 as usize) {
            Some(cell) => {
                cell.get_or_init(|| self.with_schema(shapes, id, shape, valid(self.compile(shapes, id))))
            }
            None => &[],
        }
    }

    /// Returns the checks of the data and those that follow from the schema.
    fn with_schema(
        &self,
        shapes: &Shapes,
        id: ShapeId,
        shape: &StructShape,
        mut checks: Vec<Check>,
    ) -> Box<[Check]> {
        let name = shapes.name(id);
        // Only types of the groups of the kinds follow the schema; metadata has its own rules.
        if !name.starts_with("io.k8s.api.") {
            return checks.into();
        }
        let optional = self.optional.get(&id).map(|names| &names[..]).unwrap_or_default();
        let has_check = |field: &Text, test: fn(&Test) -> bool, checks: &[Check]| {
            checks
                .iter()
                .any(|check| check.when.is_empty() && *check.at.steps == [field.clone()] && test(&check.test))
        };
        for field in &shape.fields {
            let is_struct = matches!(shapes.get(field.shape), Shape::Struct(_));
            let at = || Place { steps: [field.name.clone()].into(), keeps_zero: field.keeps_zero, is_struct };
            let from_schema = |test| Check {
                reads: NameFilter::of(&field.name),
                at: at(),
                when: Box::default(),
                test,
                detail: Text::default(),
                from_schema: true,
                is_late: false,
                at_list: false,
                at_item: false,
                is_required: false,
            };
            let whole = match shapes.get(field.shape) {
                Shape::Scalar(scalar) => scalar.is_text(),
                Shape::Any => false,
                _ => field.absent != Absent::Struct,
            };
            let waived = optional.contains(&field.name);
            let required = field.required && whole && !waived;
            if required
                && !has_check(
                    &field.name,
                    |test| matches!(test, Test::Required | Test::FormatOfEmpty(_)),
                    &checks,
                )
            {
                checks.push(from_schema(Test::Required));
            }
            if !field.values.is_empty()
                && !waived
                && !has_check(&field.name, |test| matches!(test, Test::In(_)), &checks)
            {
                checks.push(from_schema(Test::In(field.values.clone())));
            }
        }
        checks.into()
    }
}

/// The members of a row.
const MEMBERS: [&str; 27] = [
    "at",
    "atLeast",
    "atItem",
    "atList",
    "atMost",
    "atMostOneOf",
    "countsEmpty",
    "detail",
    "each",
    "eachIn",
    "fn",
    "forbidden",
    "format",
    "in",
    "keys",
    "late",
    "max",
    "min",
    "mostBytes",
    "mostItems",
    "noun",
    "oneOf",
    "required",
    "someOf",
    "uniqueBy",
    "values",
    "when",
];

/// Compiles the checks of a row.
fn tests(shapes: &Shapes, shape: &StructShape, row: &Value) -> Result<Vec<Check>, String> {
    only_known(row, &MEMBERS)?;
    let node = &Target::Struct(shape);
    let place = |path: &str| Place::compile(shapes, node, path);
    let text = |name: &str| match row.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(format!("{name} must be a string, not {other}")),
    };
    let format = |name: &str| {
        let Some(wanted) = text(name)? else { return Ok(None) };
        let found = FORMATS.iter().find(|(known, _)| *known == wanted).map(|(_, format)| *format);
        found.map(Some).ok_or_else(|| format!("there is no format {wanted:?}"))
    };
    let number = |name: &str| match row.get(name) {
        None => Ok(None),
        Some(Value::Int(number)) => Ok(Some(*number)),
        Some(other) => Err(format!("{name} must be an integer, not {other}")),
    };
    let size = |name: &str| -> Result<Option<usize>, String> {
        let number = number(name)?.map(|number| usize::try_from(number).map_err(|error| error.to_string()));
        number.transpose()
    };
    let items = |name: &str| match row.get(name) {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(Box::<[Value]>::from(items.items()))),
        Some(other) => Err(format!("{name} must be a list, not {other}")),
    };
    let names = |name: &str| -> Result<Option<Box<[Text]>>, String> {
        let Some(items) = items(name)? else { return Ok(None) };
        let texts: Box<[Text]> = items.iter().filter_map(|item| item.as_str().map(Text::new)).collect();
        (texts.len() == items.len()).then_some(Some(texts)).ok_or_else(|| format!("{name} must list names"))
    };
    let mut tests = Vec::new();
    if row.flag("required") {
        tests.push(Test::Required);
    }
    if row.flag("forbidden") {
        tests.push(Test::Forbidden);
    }
    tests.extend(items("in")?.map(Test::In));
    tests.extend(items("eachIn")?.map(Test::EachIn));
    tests.extend(format("format")?.map(|format| match row.flag("countsEmpty") {
        true => Test::FormatOfEmpty(format),
        false => Test::Format(format),
    }));
    tests.extend(format("each")?.map(Test::EachFormat));
    tests.extend(format("keys")?.map(Test::Keys));
    tests.extend(format("values")?.map(Test::Values));
    let (min, max) = (number("min")?, number("max")?);
    if min.is_some() || max.is_some() {
        tests.push(Test::Range(min.unwrap_or(i64::MIN), max.unwrap_or(i64::MAX)));
    }
    tests.extend(names("uniqueBy")?.map(|names| Test::Unique(names, row.flag("countsEmpty"))));
    for (name, least, most) in [("oneOf", 1, 1), ("atMostOneOf", 0, 1), ("someOf", 1, usize::MAX)] {
        let Some(names) = names(name)? else { continue };
        if let Some(unknown) = names.iter().find(|name| shape.field(*name).is_none()) {
            return Err(format!("{} has no field {unknown:?}", shape.name));
        }
        let noun = text("noun")?.unwrap_or_default().into();
        tests.push(Test::Count { names, least, most, noun });
    }
    tests.extend(size("mostItems")?.map(Test::MostItems));
    tests.extend(size("mostBytes")?.map(Test::MostBytes));
    if let Some(path) = text("atLeast")? {
        tests.push(Test::AtLeast(place(path)?));
    }
    if let Some(path) = text("atMost")? {
        tests.push(Test::AtMost(place(path)?));
    }
    if let Some(name) = text("fn")? {
        tests
            .push(Test::Call(Function::named(name).ok_or_else(|| format!("there is no function {name:?}"))?));
    }
    if tests.is_empty() {
        return Err("the row checks nothing".into());
    }
    let path = text("at")?.unwrap_or_default();
    let detail = text("detail")?.unwrap_or_default();
    let check = |test: Test| {
        let when = row.items("when").iter().map(|condition| Condition::compile(shapes, node, condition));
        let (at, when) = (place(path)?, when.collect::<Result<Box<[Condition]>, String>>()?);
        Ok(Check {
            reads: when.iter().map(Condition::reads).fold(test.reads(&at), NameFilter::or),
            at,
            when,
            test,
            detail: detail.into(),
            from_schema: false,
            is_late: row.flag("late"),
            at_list: row.flag("atList"),
            at_item: row.flag("atItem"),
            is_required: row.flag("required"),
        })
    };
    tests.into_iter().map(check).collect()
}

/// When the checks of a node run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Before those of its parts.
    First,
    /// After them.
    Last,
}

/// A node of an object.
#[derive(Clone, Copy)]
struct At<'n> {
    fields: &'n Object,
    path: &'n FieldPath<'n>,
    /// The node of the live object.
    before: Previous<'n>,
    /// The fields that differ from those of the live object; all if that is not known.
    changed: NameFilter,
}

/// One traversal of an object.
pub(crate) struct Walk<'w> {
    pub shapes: &'w Shapes,
    pub checks: &'w Checks,
    pub endpoint: Endpoint<'w>,
    pub root: &'w Value,
    pub errors: &'w mut FieldErrors,
    pub scope: OnceCell<PolicyScope>,
}

impl Walk<'_> {
    /// Validates an object: its status at the status endpoint, everything else at other endpoints.
    pub(crate) fn object(&mut self, id: ShapeId, object: &Value, before: Previous<'_>, path: &FieldPath<'_>) {
        let (Shape::Struct(shape), Value::Object(fields)) = (self.shapes.get(id), object) else { return };
        let root = At { fields, path, before, changed: NameFilter::ALL };
        if self.endpoint != Endpoint::Status {
            self.node(id, shape, root, When::First);
        }
        let mut known = shape.steps();
        for (place, (name, value)) in fields.iter().enumerate() {
            let outside = name == "metadata" || (name == "status") != (self.endpoint == Endpoint::Status);
            if let (false, (_, Some(field))) = (outside, known.to(name)) {
                self.value(field.shape, value, before.field(place, name, value), &path.field(name));
            }
        }
        if self.endpoint != Endpoint::Status {
            self.node(id, shape, root, When::Last);
        }
    }

    fn value(&mut self, id: ShapeId, value: &Value, before: Previous<'_>, path: &FieldPath<'_>) {
        if before.is_unchanged(value) || self.errors.is_full() {
            return;
        }
        match (self.shapes.get(id), value) {
            (Shape::Struct(shape), Value::Object(fields)) => {
                let changes = before.changes(fields);
                let changed = changes.as_ref().map_or(NameFilter::ALL, Changes::names);
                let node = At { fields, path, before, changed };
                self.node(id, shape, node, When::First);
                match changes {
                    Some(changes) => {
                        for ChangedField { name, value, before, .. } in changes {
                            if !value.is_scalar()
                                && let Some(field) = shape.field(name)
                            {
                                self.value(field.shape, value, before, &path.field(name));
                            }
                        }
                    }
                    None => self.parts(shape, fields, before, path),
                }
                self.node(id, shape, node, When::Last);
            }
            (Shape::List(item_shape), Value::Array(items)) if self.is_struct(*item_shape) => {
                for (at, item) in items.iter().enumerate() {
                    self.value(*item_shape, item, before.item(at), &path.index(at));
                }
            }
            (Shape::Map(value_shape), Value::Object(entries)) if self.is_struct(*value_shape) => {
                for (place, (name, item)) in entries.iter().enumerate() {
                    self.value(*value_shape, item, before.field(place, name, item), &path.key(name));
                }
            }
            _ => {}
        }
    }

    /// Validates the parts of a node of which it is not known what changed.
    fn parts(&mut self, shape: &StructShape, fields: &Object, before: Previous<'_>, path: &FieldPath<'_>) {
        let mut known = shape.steps();
        let parts = fields.iter().enumerate().filter(|(_, (_, value))| !value.is_scalar());
        for (place, (name, value)) in parts {
            let before = before.field(place, name, value);
            if !before.is_unchanged(value)
                && let (_, Some(field)) = known.to(name)
            {
                self.value(field.shape, value, before, &path.field(name));
            }
        }
    }

    fn is_struct(&self, id: ShapeId) -> bool {
        matches!(self.shapes.get(id), Shape::Struct(_))
    }

    /// Runs the checks of a node that read one of the changed fields; the others have the outcome that they had for the live object,
    /// which is valid.
    fn node(&mut self, id: ShapeId, shape: &StructShape, at: At<'_>, when: When) {
        if self.endpoint == Endpoint::Status && self.checks.spec_only.contains(&id) {
            return;
        }
        let node = Edit::new(at.fields);
        for check in self.checks.of(self.shapes, id, shape) {
            let is_now = check.is_late == (when == When::Last) && check.reads.meets(at.changed);
            if !is_now || check.from_schema && self.endpoint == Endpoint::Status {
                continue;
            }
            if check.when.iter().all(|condition| condition.holds(&node)) {
                self.run(check, at, &node);
            }
        }
    }

    fn run(&mut self, check: &Check, at: At<'_>, node: &Edit<'_>) {
        let At { fields, path, before, .. } = at;
        let found = check.at.find(node);
        let given = found.filter(|value| !is_absent(Some(value), check.at.keeps_zero));
        let report = Report { check, path, errors: self.errors };
        match (&check.test, given) {
            (Test::Call(function), _) => {
                let context = Context { root: self.root, node: fields, path, before, scope: &self.scope };
                function.call(&context, self.errors);
            }
            (Test::Count { names, least, most, noun }, _) => {
                count(names, (*least, *most), noun, fields, report)
            }
            // An empty struct is there.
            (Test::Required, None) if check.at.is_struct && matches!(found, Some(Value::Object(_))) => {}
            (Test::Required, None) => report.fault(FieldErrorKind::Required, &Value::Null, ""),
            (Test::Required, Some(Value::Array(items))) if items.is_empty() => {
                report.fault(FieldErrorKind::Required, &Value::Null, "");
            }
            (Test::FormatOfEmpty(format), value) => {
                let empty = Value::from("");
                let value = value.unwrap_or(&empty);
                let mut report = report;
                for fault in format(value.as_str().unwrap_or_default()) {
                    report.fault_at("", FieldErrorKind::Invalid, value, &fault);
                }
            }
            (Test::Required, Some(_)) | (_, None) => {
                if let (Test::Range(least, most), Some(zero), false) = (&check.test, found, check.is_required)
                {
                    let mut report = report;
                    range(zero, *least, *most, String::new, &mut report);
                }
            }
            (Test::Forbidden, Some(value)) => report.fault(FieldErrorKind::Forbidden, value, ""),
            (Test::In(values), Some(value)) => one_of(values, value, report),
            (Test::Format(format), Some(value)) => {
                // An empty string counts as absent, unless the field distinguishes the two; if that is
                // invalid, the field is required.
                let is_present = |text: &&str| check.at.keeps_zero || !text.is_empty();
                let mut report = report;
                for fault in value.as_str().filter(is_present).map(format).unwrap_or_default() {
                    report.fault_at("", FieldErrorKind::Invalid, value, &fault);
                }
            }
            (Test::EachFormat(format), Some(Value::Array(items))) => each(items, *format, report),
            (Test::EachIn(values), Some(Value::Array(items))) => {
                let mut report = report;
                for (at, item) in items.iter().enumerate().filter(|(_, item)| !values.contains(item)) {
                    let below = if check.at_list { String::new() } else { format!("[{at}]") };
                    let item = if item.is_null() { &Value::from("") } else { item };
                    report.fault_at(&below, FieldErrorKind::NotSupported, item, &supported(values));
                }
            }
            (Test::Keys(format), Some(Value::Object(entries))) => {
                let mut report = report;
                for (key, _) in entries {
                    for fault in format(key) {
                        report.fault_at("", FieldErrorKind::Invalid, &key.clone().into(), &fault);
                    }
                }
            }
            (Test::Values(format), Some(Value::Object(entries))) => {
                let mut report = report;
                for (_, value) in entries {
                    for fault in value.as_str().map(format).unwrap_or_default() {
                        report.fault_at("", FieldErrorKind::Invalid, value, &fault);
                    }
                }
            }
            (Test::Range(least, most), Some(Value::Array(items))) => {
                let mut report = report;
                for (at, item) in items.iter().enumerate() {
                    range(item, *least, *most, || format!("[{at}]"), &mut report);
                }
            }
            (Test::Range(least, most), Some(value)) => {
                let mut report = report;
                range(value, *least, *most, String::new, &mut report);
            }
            (Test::Unique(names, counts_empty), Some(Value::Array(items))) => {
                unique(names, *counts_empty, items, report)
            }
            (Test::MostItems(most), Some(Value::Array(items))) if items.len() > *most => {
                report.fault(
                    FieldErrorKind::TooMany,
                    &Value::from(items.len() as u64),
                    &format!("must have at most {most} items"),
                );
            }
            (Test::MostBytes(most), Some(Value::String(text))) if text.len() > *most => {
                report.fault(
                    FieldErrorKind::TooLong,
                    &Value::Null,
                    &format!("may not be more than {most} bytes"),
                );
            }
            (Test::AtMost(place), Some(value)) => {
                let most = place.find(node).and_then(Value::as_i64).unwrap_or(0);
                if value.as_i64().is_some_and(|number| number > most) {
                    report.fault(FieldErrorKind::Invalid, value, "");
                }
            }
            (Test::AtLeast(place), Some(value)) => {
                let least = place.find(node).and_then(Value::as_i64).unwrap_or(i64::MIN);
                if value.as_i64().is_some_and(|number| number < least) {
                    report.fault(FieldErrorKind::Invalid, value, "");
                }
            }
            _ => {}
        }
    }
}

/// Where the errors of a check are reported.
struct Report<'r, 'e> {
    check: &'r Check,
    path: &'r FieldPath<'r>,
    errors: &'e mut FieldErrors,
}

impl Report<'_, '_> {
    fn fault(mut self, kind: FieldErrorKind, value: &Value, detail: &str) {
        self.fault_at("", kind, value, detail);
    }

    /// Reports an error at a path below the field.
    fn fault_at(&mut self, below: &str, kind: FieldErrorKind, value: &Value, detail: &str) {
        let base = self.path.to_string();
        let at = self.check.at.steps.join(".");
        let path = match (base.as_str(), at.as_str()) {
            ("", at) => format!("{at}{below}"),
            (base, "") => format!("{base}{below}"),
            (base, at) => format!("{base}.{at}{below}"),
        };
        let detail = if self.check.detail.is_empty() { detail } else { &self.check.detail };
        self.errors.push(FieldError::new(kind, &path, value, detail));
    }
}

pub(super) fn supported(values: &[Value]) -> String {
    let list: Vec<String> = values.iter().map(Value::to_string).collect();
    format!("supported values: {}", list.join(", "))
}

fn one_of(values: &[Value], value: &Value, report: Report<'_, '_>) {
    if !values.contains(value) {
        report.fault(FieldErrorKind::NotSupported, value, &supported(values));
    }
}

fn range(value: &Value, least: i64, most: i64, below: impl Fn() -> String, report: &mut Report<'_, '_>) {
    let Some(number) = value.as_i64() else { return };
    let detail = match (least, most) {
        _ if (least..=most).contains(&number) => return,
        (least, i64::MAX) => format!("must be greater than or equal to {least}"),
        (i64::MIN, most) => format!("must be less than or equal to {most}"),
        (least, most) => format!("must be between {least} and {most}, inclusive"),
    };
    report.fault_at(&below(), FieldErrorKind::Invalid, value, &detail);
}

fn each(items: &[Value], format: Format, mut report: Report<'_, '_>) {
    for (at, item) in items.iter().enumerate() {
        for fault in item.as_str().map(format).unwrap_or_default() {
            report.fault_at(&format!("[{at}]"), FieldErrorKind::Invalid, item, &fault);
        }
    }
}

/// Reports items that equal an earlier one, as a whole or in the given fields.
fn unique(names: &[Text], counts_empty: bool, items: &[Value], mut report: Report<'_, '_>) {
    let key = |item: &Value| -> Option<Vec<Value>> {
        match names {
            [] => Some(vec![item.clone()]),
            [name] if counts_empty => Some(vec![item.get(name).cloned().unwrap_or_else(|| "".into())]),
            [name] => {
                item.get(name).filter(|value| !is_absent(Some(value), false)).map(|value| vec![value.clone()])
            }
            names => Some(names.iter().map(|name| item.get(name).cloned().unwrap_or_default()).collect()),
        }
    };
    if items.len() < 2 {
        return;
    }
    let mut seen = Seen::default();
    for (at, item) in items.iter().enumerate() {
        let Some(key) = key(item) else { continue };
        let first = key.first().cloned().unwrap_or_default();
        if !seen.insert(key) {
            let below = match names {
                [name] if !report.check.at_item => format!("[{at}].{name}"),
                _ => format!("[{at}]"),
            };
            report.fault_at(&below, FieldErrorKind::Duplicate, &first, "");
        }
    }
}

/// Checks how many of some fields are there. Kubernetes calls some of them by a noun, and then reports each that is too many.
fn count(
    names: &[Text],
    (least, most): (usize, usize),
    noun: &str,
    fields: &Object,
    mut report: Report<'_, '_>,
) {
    let present: Vec<&Text> =
        names.iter().filter(|name| fields.get(*name).is_some_and(|value| !value.is_null())).collect();
    if present.len() < least {
        let detail = match noun.is_empty() {
            true => format!("must specify one of: {}", names.join(", ")),
            false => format!("must specify a {noun}"),
        };
        report.fault_at("", FieldErrorKind::Required, &Value::Null, &detail);
    }
    let shown = if noun.is_empty() { 1 } else { usize::MAX };
    for extra in present.iter().skip(most).take(shown) {
        let what = if noun.is_empty() { "of these" } else { noun };
        let detail = format!("may not specify more than {most} {what}");
        report.fault_at(&format!(".{extra}"), FieldErrorKind::Forbidden, &Value::Null, &detail);
    }
}
