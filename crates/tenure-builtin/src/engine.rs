//! The engine: one handle on the registry and on everything compiled from the data. Kinds are compiled when
//! first used, so that starting costs nothing for kinds nobody asks for.

use crate::{
    object::{Rule, Rules},
    pack::{DEFAULTS, VALIDATION},
    registry,
    validate::Checks,
};
use std::sync::LazyLock;
use tenure_meta::{
    CreateContext, DecodeError, Decoded, Edit, Previous, Registry, Resource, Timestamp,
    codec::{EmptyLists, Encoder, NoRules, ShapeId, Shapes, Walk, decode},
    object_meta::one_reference_per_owner,
};
use tenure_schema::Schema;
use tenure_value::{Text, Value};

/// The built-in kinds: which there are, and what becomes of their objects.
pub struct Kinds {
    registry: &'static Registry,
    shapes: Shapes,
    rules: Rules,
    checks: Checks,
}

impl Kinds {
    /// Returns the built-in kinds.
    pub fn builtin() -> &'static Kinds {
        static BUILTIN: LazyLock<Kinds> = LazyLock::new(|| {
            let encoding = DEFAULTS.get("encoding").unwrap_or(&Value::Null);
            let shapes = Shapes::new(Schema::builtin(), encoding);
            let rules = Rules::new(&shapes, &DEFAULTS);
            let checks = Checks::new(&shapes, &VALIDATION);
            Kinds { registry: registry(), shapes, rules, checks }
        });
        &BUILTIN
    }

    /// Returns the resources.
    pub fn registry(&self) -> &'static Registry {
        self.registry
    }

    pub(crate) fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    pub(crate) fn checks(&self) -> &Checks {
        &self.checks
    }

    /// Returns the shape of a resource's objects.
    pub(crate) fn shape_of(&self, resource: &Resource) -> Option<ShapeId> {
        resource.of.map(|of| self.shapes.number(of))
    }

    /// Reads a body, or the result of a patch, as an object of a resource: checked against the type,
    /// defaulted, and in the form in which the API shows it. The memory of the body is shared wherever
    /// nothing changes, so that a result equal to a stored object is found by looking at an address.
    pub fn complete(
        &self,
        resource: &Resource,
        body: &Value,
        now: Timestamp,
    ) -> Result<Decoded, Box<DecodeError>> {
        self.complete_after(resource, body, Previous::UNKNOWN, now)
    }

    /// Does the same where some of it may be as it was before.
    pub fn complete_after(
        &self,
        resource: &Resource,
        body: &Value,
        before: Previous<'_>,
        now: Timestamp,
    ) -> Result<Decoded, Box<DecodeError>> {
        let Some(shape) = self.shape_of(resource) else {
            return Ok(Decoded { value: body.clone(), strict_errors: Vec::new(), warnings: Vec::new() });
        };
        let decoded = decode(&self.shapes, shape, body, before)?;
        let (value, warnings) = one_reference_per_owner(named(resource, decoded.value));
        let value = self.walk(shape, value, before, Walk::RulesAndEncode, &mut OnlyTime(now));
        Ok(Decoded { value, warnings, ..decoded })
    }

    /// Returns what becomes of a completed object when it is created: what admission and the strategy of
    /// its resource fill in. Name, namespace and uid stand in its metadata already.
    pub fn create(&self, resource: &Resource, object: &Value, around: &mut dyn CreateContext) -> Value {
        let Some(shape) = self.shape_of(resource) else { return object.clone() };
        let Some(rules) = self.rules.create_of(&self.shapes, shape) else { return object.clone() };
        let all = rules.admission.iter().chain(&rules.create);
        let value = all.fold(object.clone(), |value, rule| run(rule, value, around));
        self.walk(shape, value, Previous::UNKNOWN, Walk::RulesAndEncode, around)
    }

    /// Returns the form in which an object that the API shows comes back once stored: lists that are shown as
    /// `null` when absent are `null` when empty too.
    pub fn stored(&self, resource: &Resource, object: &Value) -> Value {
        self.stored_after(resource, object, Previous::UNKNOWN)
    }

    /// Does the same where some of it may be as it was before, in stored form.
    pub fn stored_after(&self, resource: &Resource, object: &Value, before: Previous<'_>) -> Value {
        self.encode_with(resource, object, before, EmptyLists::Null)
    }

    /// Returns the object of a resource in which nothing is set, as the API would show it.
    pub fn empty(&self, resource: &Resource) -> Value {
        let kind = [("apiVersion", resource.api_version.clone()), ("kind", resource.kind.clone())];
        self.encode(resource, &Value::object(kind.map(|(name, text)| (name, Value::from(text)))))
    }

    /// Returns an object in the form in which the API shows it.
    pub(crate) fn encode(&self, resource: &Resource, object: &Value) -> Value {
        self.encode_with(resource, object, Previous::UNKNOWN, EmptyLists::AsGiven)
    }

    fn encode_with(
        &self,
        resource: &Resource,
        object: &Value,
        before: Previous<'_>,
        empty_lists: EmptyLists,
    ) -> Value {
        let Some(shape) = self.shape_of(resource) else { return object.clone() };
        let rules = &mut NoRules;
        let mut encoder = Encoder { shapes: &self.shapes, walk: Walk::Encode, empty_lists, rules };
        encoder.value(shape, object, before).unwrap_or_else(|| object.clone())
    }

    /// Fills in again what was filled in at creation, but for the status.
    pub(crate) fn refill(
        &self,
        resource: &Resource,
        object: &Value,
        around: &mut dyn CreateContext,
    ) -> Value {
        let Some(shape) = self.shape_of(resource) else { return object.clone() };
        let Some(rules) = self.rules.create_of(&self.shapes, shape) else { return object.clone() };
        rules
            .create
            .iter()
            .filter(|rule| !rule.is_forced())
            .fold(object.clone(), |value, rule| run(rule, value, around))
    }

    /// Adds again what admission adds to every object of a kind.
    pub(crate) fn readmit(
        &self,
        resource: &Resource,
        object: &Value,
        around: &mut dyn CreateContext,
    ) -> Value {
        let Some(shape) = self.shape_of(resource) else { return object.clone() };
        let Some(rules) = self.rules.create_of(&self.shapes, shape) else { return object.clone() };
        rules.admission.iter().fold(object.clone(), |value, rule| run(rule, value, around))
    }

    fn walk(
        &self,
        shape: ShapeId,
        value: Value,
        before: Previous<'_>,
        walk: Walk,
        around: &mut dyn CreateContext,
    ) -> Value {
        let rules = &mut self.rules.with(&self.shapes, around);
        let mut encoder = Encoder { shapes: &self.shapes, walk, empty_lists: EmptyLists::AsGiven, rules };
        encoder.value(shape, &value, before).unwrap_or(value)
    }
}

/// Gives an object the names of its kind, whatever the body says: what it was read as, it is.
fn named(resource: &Resource, object: Value) -> Value {
    let Some(fields) = object.as_object() else { return object };
    let has = |name: &str, text: &Text| fields.get(name).and_then(Value::as_str) == Some(text);
    if has("apiVersion", &resource.api_version) && has("kind", &resource.kind) {
        return object;
    }
    let named = fields.with("apiVersion", resource.api_version.clone());
    named.with("kind", resource.kind.clone()).into()
}

fn run(rule: &Rule, value: Value, around: &mut dyn CreateContext) -> Value {
    let Some(fields) = value.as_object() else { return value };
    let mut edit = Edit::new(fields);
    rule.run(&mut edit, around);
    edit.finish().map(Value::from).unwrap_or(value)
}

/// What default rules may ask for.
struct OnlyTime(Timestamp);

impl CreateContext for OnlyTime {
    fn now(&self) -> Timestamp {
        self.0
    }

    fn uid(&self) -> Text {
        Text::default()
    }

    fn priority_class(&self, _: &str) -> Option<(i64, Text)> {
        None
    }

    fn cluster_ip(&mut self) -> Option<Text> {
        None
    }

    fn node_port(&mut self) -> Option<u16> {
        None
    }

    fn requester(&self) -> (Text, Text, Vec<Text>) {
        Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_meta::Row;

    /// Returns a value with a change at every place of it, one at a time, of one kind after the other: gone, another
    /// value, `null`, one more field.
    fn changed(value: &Value, turn: &mut usize) -> Vec<Value> {
        let mut all = Vec::new();
        match value {
            Value::Object(fields) => {
                for (name, part) in fields {
                    all.extend(
                        changed(part, turn).into_iter().map(|part| fields.with(name.clone(), part).into()),
                    );
                    *turn += 1;
                    all.push(match *turn % 4 {
                        0 => fields.without(name).into(),
                        1 => fields.with(name.clone(), Value::Null).into(),
                        2 => fields.with(format!("{name}z"), "new").into(),
                        // Equal, and elsewhere in memory.
                        _ => fields.with(name.clone(), part.to_string().parse::<Value>().unwrap()).into(),
                    });
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    let with = |item: Value| {
                        let mut items = items.to_vec();
                        items[at] = item;
                        Value::array(items)
                    };
                    all.extend(changed(item, turn).into_iter().map(with));
                }
                all.push(Value::array(items.iter().skip(1).cloned()));
            }
            Value::String(text) => all.push(format!("{text}x").into()),
            Value::Int(number) => all.push((number + 1).into()),
            Value::Bool(flag) => all.push((!flag).into()),
            _ => {}
        }
        all
    }

    #[test]
    fn what_stood_before_changes_the_cost_and_nothing_else() {
        let facts: Value = include_str!("../tests/facts/defaults-examples.json").parse().unwrap();
        let (kinds, now, mut turn, mut compared) = (Kinds::builtin(), Timestamp::default(), 0, 0);
        for example in facts.items("examples") {
            let input = example.get("input").unwrap();
            let (version, kind) = (input.text("apiVersion"), input.text("kind"));
            let Some(resource) = kinds.registry().of_kind(&version, &kind) else { continue };
            let live = kinds.stored(resource, &kinds.complete(resource, input, now).unwrap().value);
            let before = || Previous::of(&live);
            for object in changed(&live, &mut turn) {
                let whole = kinds.complete(resource, &object, now);
                let known = kinds.complete_after(resource, &object, before(), now);
                assert_eq!(known.as_ref().ok(), whole.as_ref().ok(), "{object} after {live}");
                assert_eq!(known.is_ok(), whole.is_ok());
                let Ok(Decoded { value, .. }) = whole else { continue };
                let stored = kinds.stored(resource, &value);
                assert_eq!(kinds.stored_after(resource, &value, before()), stored, "{value} after {live}");
                compared += 1;
            }
        }
        assert!(compared > 10_000, "{compared}");
    }
}
