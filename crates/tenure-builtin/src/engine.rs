//! The engine: a handle on the registry and on everything compiled from the data. Types are compiled on first
//! use, so unused kinds cost nothing at start-up.

use crate::{
    convert::{Conversions, without_reserved},
    data::{DEFAULTS, Data, DataError, GO_TYPES, PerVersion, members, only_known, per_version, valid},
    defaulting::{Rule, Rules},
    registry::try_registry,
    service,
    table::{Table, Tables},
    validate::Checks,
};
use std::sync::OnceLock;
use tenure_meta::{
    CreateContext, DecodeError, Decoded, Edit, IpFamily, Previous, Refills, Registry, Resource, Timestamp,
    ValueExt,
    codec::{EmptyLists, Encoder, NoRules, Shape, ShapeId, Shapes, Walk, decode},
    object_meta::one_reference_per_owner,
};
use tenure_profile::KubernetesVersion;
use tenure_schema::Schema;
use tenure_value::{Object, Text, Value};

/// The built-in kinds and the processing of their objects.
pub struct Kinds {
    pub(crate) version: KubernetesVersion,
    registry: &'static Registry,
    data: &'static Data,
    shapes: Shapes,
    rules: Rules,
    checks: Checks,
    tables: OnceLock<Result<Tables, DataError>>,
    conversions: OnceLock<Result<Conversions, DataError>>,
}

impl Kinds {
    /// Returns the built-in kinds of the default version of Kubernetes.
    ///
    /// # Panics
    ///
    /// If the data files of this crate are invalid; [`Kinds::check`] returns an error instead.
    pub fn builtin() -> &'static Kinds {
        Kinds::at(KubernetesVersion::DEFAULT)
    }

    /// Returns the built-in kinds of a version of Kubernetes.
    ///
    /// # Panics
    ///
    /// If the data files of this crate are invalid; [`Kinds::check`] returns an error instead. The same goes for whatever compiles a
    /// row when it is first used.
    pub fn at(version: KubernetesVersion) -> &'static Kinds {
        static BUILTIN: PerVersion<Kinds> = per_version();
        let open = || Kinds::open(Data::at(version), version);
        BUILTIN[version as usize].get_or_init(|| valid(open()))
    }

    /// Compiles all rows of the data files for a version. Tests do, since the files are part of the program; a server compiles those that
    /// it needs.
    pub fn check(version: KubernetesVersion) -> Result<(), DataError> {
        Kinds::open(Data::at(version), version)?.compile()
    }

    /// Returns kinds without a compiled row.
    fn open(data: &'static Data, version: KubernetesVersion) -> Result<Kinds, DataError> {
        let registry = try_registry(version)?;
        let defaults = data.defaults.document()?;
        members(DEFAULTS, defaults, "encoding")?;
        let encoding = defaults.get("encoding").unwrap_or(&Value::Null);
        let go_types = || valid(data.go_types.document());
        let shapes = Shapes::new(Schema::builtin_at(version), encoding, Box::new(go_types));
        Ok(Kinds {
            version,
            registry,
            data,
            rules: Rules::new(&shapes, defaults)?,
            checks: Checks::new(&shapes, registry, data.validation.document()?)?,
            tables: OnceLock::new(),
            conversions: OnceLock::new(),
            shapes,
        })
    }

    fn compile(&self) -> Result<(), DataError> {
        check_encoding(&self.shapes, self.data.defaults.document()?)?;
        check_go_types(&self.shapes, self.data.go_types.document()?)?;
        self.rules.check(&self.shapes)?;
        self.checks.check(&self.shapes)?;
        self.tables()?;
        self.conversions()?;
        Ok(())
    }

    fn tables(&self) -> Result<&Tables, DataError> {
        let compile = || Tables::new(self.registry, self.data.tables.document()?);
        self.tables.get_or_init(compile).as_ref().map_err(DataError::clone)
    }

    fn conversions(&self) -> Result<&Conversions, DataError> {
        let compile = || Conversions::new(self.registry, self.data.conversions.document()?);
        self.conversions.get_or_init(compile).as_ref().map_err(DataError::clone)
    }

    /// Returns the resources.
    pub fn registry(&self) -> &'static Registry {
        self.registry
    }

    /// Returns how Go names the type of a field of a definition, such as `v1.Protocol`, where the schema does not say it.
    pub fn go_type(&self, definition: &str, field: &str) -> Option<&'static str> {
        self.shapes.go_type(definition, field)
    }

    /// Returns the table of a resource.
    pub fn table(&self, resource: &Resource) -> &Table {
        valid(self.tables()).of(resource)
    }

    /// Converts an object of one resource to another version of the same kind.
    pub fn convert(&self, object: &Value, from: &Resource, to: &Resource) -> Result<Value, String> {
        if from.api_version == to.api_version && from.kind == to.kind {
            return Ok(object.clone());
        }
        let fields = object.as_object().ok_or("an object is converted, not a list or a scalar")?;
        Ok(self.encode(to, &valid(self.conversions()).convert(fields, from, to)?.into()))
    }

    /// Returns an object in the version of storage, with its resource, if the two versions differ in more than names: Kubernetes
    /// decodes, prepares and validates objects in one form for all versions.
    pub(crate) fn in_hub(&self, resource: &Resource, object: &Value) -> Option<(&'static Resource, Value)> {
        if resource.storage.0 == resource.group && resource.storage.1 == resource.version {
            return None;
        }
        let conversions = valid(self.conversions());
        let hub = self.registry.storage_of(resource).filter(|hub| conversions.reshapes(resource, hub))?;
        Some((hub, self.convert(object, resource, hub).ok()?))
    }

    /// Returns an object that was processed in the version of storage, in its own version.
    pub(crate) fn out_of_hub(&self, object: Value, hub: &Resource, resource: &Resource) -> Value {
        self.convert(&object, hub, resource).unwrap_or(object)
    }

    pub(crate) fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    pub(crate) fn checks(&self) -> &Checks {
        &self.checks
    }

    /// Returns the shape of the objects of a resource.
    pub(crate) fn shape_of(&self, resource: &Resource) -> Option<ShapeId> {
        resource.type_id.map(|ty| self.shapes.number(ty))
    }

    /// Decodes a body, or the result of a patch, as an object of a resource: checked against the type,
    /// defaulted and encoded. The memory of the body is shared where nothing changes, so equality with a
    /// stored object is detected by its address.
    pub fn complete(
        &self,
        resource: &Resource,
        body: &Value,
        now: Timestamp,
    ) -> Result<Decoded, Box<DecodeError>> {
        self.complete_after(resource, body, Previous::UNKNOWN, now)
    }

    /// Like [`Kinds::complete`], and skips parts that are unchanged since `before`.
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
        let value = match self.in_hub(resource, &value) {
            Some((hub, converted)) => self.out_of_hub(converted, hub, resource),
            None if resource.kind == "HorizontalPodAutoscaler" => without_reserved(value),
            None => value,
        };
        Ok(Decoded { value, warnings, ..decoded })
    }

    /// Decodes a document as a value of a definition that no resource has, such as options.
    pub fn decode_as(&self, definition: &str, document: &Value) -> Result<Decoded, Box<DecodeError>> {
        self.decode_in(self.shapes.named(definition), document)
    }

    /// Decodes a document of a kind that is posted to a subresource, such as a binding.
    pub fn decode_kind(
        &self,
        (api_version, kind): (&str, &str),
        document: &Value,
    ) -> Result<Decoded, Box<DecodeError>> {
        self.decode_in(self.shapes.of_kind(api_version, kind), document)
    }

    fn decode_in(&self, shape: Option<ShapeId>, document: &Value) -> Result<Decoded, Box<DecodeError>> {
        match shape {
            Some(shape) => decode(&self.shapes, shape, document, Previous::UNKNOWN),
            None => Ok(Decoded { value: document.clone(), strict_errors: Vec::new(), warnings: Vec::new() }),
        }
    }

    /// Applies the admission and create rules of its resource to a completed object. Name, namespace and uid
    /// are already in its metadata.
    pub fn create(&self, resource: &Resource, object: &Value, around: &mut dyn CreateContext) -> Value {
        if let Some((hub, converted)) = self.in_hub(resource, object) {
            return self.out_of_hub(self.create(hub, &converted, around), hub, resource);
        }
        let Some(shape) = self.shape_of(resource) else { return object.clone() };
        let rules = self.rules.create_of(&self.shapes, shape).into_iter();
        let rules = rules.flat_map(|rules| rules.admission.iter().chain(&rules.create));
        let object = match resource.strategy.refills {
            Refills::Allotted => service::created(object, around),
            _ => object.clone(),
        };
        let value = rules.fold(object, |value, rule| run(rule, value, around));
        self.walk(shape, value, Previous::UNKNOWN, Walk::RulesAndEncode, around)
    }

    /// Returns an encoded object as it reads after being stored: lists that are shown as `null` if absent are
    /// also `null` if empty.
    pub fn stored(&self, resource: &Resource, object: &Value) -> Value {
        self.stored_after(resource, object, Previous::UNKNOWN)
    }

    /// Like [`Kinds::stored`], and skips parts that are unchanged since `before`, in stored form.
    pub fn stored_after(&self, resource: &Resource, object: &Value, before: Previous<'_>) -> Value {
        self.encode_with(resource, object, before, EmptyLists::Null)
    }

    /// Returns the encoded empty object of a resource.
    pub fn empty(&self, resource: &Resource) -> Value {
        let kind = [("apiVersion", resource.api_version.clone()), ("kind", resource.kind.clone())];
        self.encode(resource, &Value::object(kind.map(|(name, text)| (name, Value::from(text)))))
    }

    /// Returns an encoded object.
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

    /// Applies the create rules again, except for those of the status.
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

    /// Applies the admission rules again.
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

/// Checks that the rows about encoding refer to existing types and fields.
fn check_encoding(shapes: &Shapes, document: &Value) -> Result<(), DataError> {
    const MEMBERS: [&str; 5] = ["always", "exactQuantities", "keepZero", "null", "omit"];
    for (name, row) in members(DEFAULTS, document, "encoding")? {
        let wrong = |reason: String| DataError::new(DEFAULTS, name, reason);
        only_known(row, &MEMBERS).map_err(wrong)?;
        let shape = shapes.named(name).ok_or_else(|| wrong("the schema has no such type".into()))?;
        let Shape::Struct(structure) = shapes.get(shape) else {
            return Err(wrong("the type has no fields".into()));
        };
        let always = row.get("always").and_then(Value::as_object).map(Object::fields).unwrap_or_default();
        let always = always.iter().map(|(name, _)| name.clone());
        let lists = MEMBERS.iter().flat_map(|list| row.texts(list));
        if let Some(unknown) = always.chain(lists).find(|field| structure.field(field).is_none()) {
            return Err(wrong(format!("the type has no field {unknown:?}")));
        }
    }
    Ok(())
}

/// Checks that the rows about the types of Go refer to existing types and fields.
fn check_go_types(shapes: &Shapes, document: &Value) -> Result<(), DataError> {
    fn fields<'v>(row: &'v Value, member: &str) -> &'v [(Text, Value)] {
        row.get(member).and_then(Value::as_object).map(Object::fields).unwrap_or_default()
    }
    for (name, row) in document.as_object().map(Object::fields).unwrap_or_default() {
        let wrong = |reason: String| DataError::new(GO_TYPES, name, reason);
        only_known(row, &["inlined", "types"]).map_err(wrong)?;
        let shape = shapes.named(name).ok_or_else(|| wrong("the schema has no such type".into()))?;
        let Shape::Struct(structure) = shapes.get(shape) else {
            return Err(wrong("the type has no fields".into()));
        };
        let inlined = row.get("inlined").unwrap_or(&Value::Null);
        let inlined = fields(row, "inlined").iter().flat_map(|(embedded, _)| inlined.texts(embedded));
        let typed = fields(row, "types").iter().map(|(field, _)| field.clone());
        if let Some(unknown) = typed.chain(inlined).find(|field| structure.field(field).is_none()) {
            return Err(wrong(format!("the type has no field {unknown:?}")));
        }
    }
    Ok(())
}

/// Sets the apiVersion and kind of an object to those of its resource.
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

/// The context of defaulting rules, which only provides the time.
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

    fn cluster_ip(&mut self, _: IpFamily) -> Option<Text> {
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
    use crate::data::DataFile;

    /// Returns a value with one change at each of its positions, alternating between kinds of changes:
    /// removed, replaced, `null`, one more field.
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
                        // Equal, at another address.
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
    fn skipping_unchanged_parts_does_not_change_the_result() {
        let facts: Value = include_str!("../tests/facts/defaults-examples.json").parse().unwrap();
        let (kinds, now, mut turn, mut compared) =
            (Kinds::at(KubernetesVersion::V1_36), Timestamp::default(), 0, 0);
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

    /// Returns the data files with one of them replaced.
    fn data(file: &str, document: &str) -> &'static Data {
        let builtin = Data::at(KubernetesVersion::DEFAULT);
        let rows = |builtin: &DataFile| builtin.with(file, document);
        Box::leak(Box::new(Data {
            defaults: rows(&builtin.defaults),
            validation: rows(&builtin.validation),
            tables: rows(&builtin.tables),
            conversions: rows(&builtin.conversions),
            go_types: rows(&builtin.go_types),
        }))
    }

    #[test]
    fn every_invalid_row_is_an_error_with_its_name() {
        KubernetesVersion::ALL.into_iter().for_each(|version| Kinds::check(version).unwrap());
        let rule = |row: &str| format!(r#"{{"encoding":{{}},"rules":[{row}]}}"#);
        let pod = r#""type":"io.k8s.api.core.v1.PodSpec","phase":"default""#;
        let check = |row: &str| {
            format!(
                r#"{{"optional":{{}},"order":{{}},"declared":{{}},"updateSteps":{{}},"specOnly":[],"statusUpdates":{{}},"updates":{{}},"types":{{"core.v1.PodSpec":[{row}]}}}}"#
            )
        };
        let change = |row: &str| {
            format!(
                r#"{{"optional":{{}},"order":{{}},"declared":{{}},"updateSteps":{{}},"specOnly":[],"statusUpdates":{{}},"types":{{}},"updates":{{"v1 Pod":[{row}]}}}}"#
            )
        };
        let cell = |row: &str| format!(r#"{{"tables":{{}},"plain":[{{"name":"A","cell":{row}}}]}}"#);
        let conversion = |row: &str| format!(r#"{{"conversions":[{row}]}}"#);
        let cases = [
            (DEFAULTS, r#"{"encoding":{}}"#.into(), "rules: expected a list"),
            (DEFAULTS, r#"{"encoding":{"a.B":{}},"rules":[]}"#.into(), "a.B: the schema has no such type"),
            (
                DEFAULTS,
                r#"{"encoding":{"io.k8s.api.core.v1.PodSpec":{"keepZero":["nope"]}},"rules":[]}"#.into(),
                "the type has no field \"nope\"",
            ),
            (DEFAULTS, rule(r#"{"type":"a.B","phase":"default","path":"a","value":1}"#), "no such type"),
            (
                DEFAULTS,
                rule(&format!(r#"{{{pod},"path":"nope","value":1}}"#)),
                "PodSpec has no field \"nope\"",
            ),
            (DEFAULTS, rule(&format!(r#"{{{pod},"path":"hostname"}}"#)), "does not say what to do"),
            (DEFAULTS, rule(&format!(r#"{{{pod},"path":"hostname","fn":"nope"}}"#)), "no function \"nope\""),
            (
                DEFAULTS,
                rule(&format!(r#"{{{pod},"path":"hostname","valeu":1}}"#)),
                "unknown member \"valeu\"",
            ),
            (
                DEFAULTS,
                rule(&format!(r#"{{{pod},"path":"hostname","value":1,"when":[["is","hostname",1]]}}"#)),
                "unknown condition \"is\"",
            ),
            (
                DEFAULTS,
                rule(&format!(
                    r#"{{{pod},"path":"tolerations","append":{{}},"unless":"it tolerates this"}}"#
                )),
                "unknown unless",
            ),
            (
                "validation.json",
                check(r#"{"at":"nope","required":true}"#),
                "PodSpec[0]: PodSpec has no field",
            ),
            ("validation.json", check(r#"{"at":"hostname"}"#), "the row checks nothing"),
            ("validation.json", check(r#"{"at":"hostname","format":"nope"}"#), "there is no format \"nope\""),
            ("validation.json", check(r#"{"at":"hostname","fn":"nope"}"#), "there is no function \"nope\""),
            ("validation.json", check(r#"{"at":"hostname","min":"1"}"#), "min must be an integer"),
            (
                "validation.json",
                check(r#"{"at":"hostname","required":true,"when":[["eq","hostname"]]}"#),
                "\"eq\" needs a value",
            ),
            (
                "validation.json",
                change(r#"{"at":"spec","when":[["was","spec"]]}"#),
                "unknown condition \"was\"",
            ),
            ("validation.json", change(r#"{"detail":"x"}"#), "the row names no field"),
            ("validation.json", change("{}").replace("[],", r#"["core.v1.Nope"],"#), "no such type"),
            ("validation.json", change("{}").replace("[],", "{},"), "specOnly: expected a list of types"),
            ("tables.json", cell("{}"), "plain[0]: the cell shows nothing"),
            ("tables.json", cell(r#"{"fn":"nope"}"#), "there is no function \"nope\""),
            ("tables.json", cell(r#"{"template":"{a"}"#), "no closing brace"),
            ("conversions.json", conversion(r#"{"between":["v1 Pod"]}"#), "between must name two kinds"),
            (
                "conversions.json",
                conversion(r#"{"between":["v1 Pod","v2 Pod"]}"#),
                "no kind \"v2 Pod\" is served",
            ),
            (GO_TYPES, r#"{"a.B":{}}"#.into(), "a.B: the schema has no such type"),
            (
                GO_TYPES,
                r#"{"io.k8s.api.core.v1.PodSpec":{"types":{"nope":"v1.Nope"}}}"#.into(),
                "the type has no field \"nope\"",
            ),
        ];
        for (file, document, reason) in cases {
            let kinds = Kinds::open(data(file, &document), KubernetesVersion::DEFAULT);
            let error = kinds.and_then(|kinds| kinds.compile()).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("data/{file}: ")) && error.contains(reason),
                "{document}: {error}"
            );
        }
    }
}
