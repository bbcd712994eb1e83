//! Types as OpenAPI schemas. Named types become definitions, referred to by name; a type that carries marks of
//! its own place (an atomic use of a named struct) is written inline.

use super::descriptions;
use std::collections::{BTreeMap, HashMap};
use tenure_meta::OpenApiVersion;
use tenure_profile::{Behaviour, KubernetesVersion};
use tenure_schema::{
    Field, List, ListTopology, PatchMarks, Relation, Scalar, ScalarKind, Schema, Slot, Type, TypeId, TypeRef,
    UnknownFields,
};
use tenure_value::{Text, Value};

/// The given schema of a custom kind.
pub struct Component {
    /// The version of the kind.
    pub api_version: Text,
    /// The kind.
    pub kind: Text,
    /// The name of the definition.
    pub name: Text,
    /// The schema.
    pub schema: Value,
}

/// Writes types as schemas and collects the definitions they need.
pub(crate) struct Publisher<'s> {
    dialect: OpenApiVersion,
    schema: &'s Schema,
    names: HashMap<TypeId, &'s Text>,
    kinds: HashMap<TypeId, Vec<Value>>,
    custom: &'s [Component],
    /// Whether the defaults of list items and map values are published.
    has_part_defaults: bool,
    /// Definitions by name; null while one is being written.
    definitions: BTreeMap<Text, Value>,
}

impl<'s> Publisher<'s> {
    pub(crate) fn new(
        schema: &'s Schema,
        kubernetes: KubernetesVersion,
        dialect: OpenApiVersion,
        custom: &'s [Component],
    ) -> Publisher<'s> {
        let has_part_defaults = !kubernetes.has(Behaviour::UnpublishedItemDefaults);
        let mut kinds: HashMap<TypeId, Vec<Value>> = HashMap::new();
        for (name, ty) in schema.kinds() {
            let (api_version, kind) = name.split_once(' ').unwrap_or(("", name));
            kinds.entry(ty.id()).or_default().push(group_version_kind(api_version, kind));
        }
        let names = schema.names().map(|(name, ty)| (ty.id(), name)).collect();
        Publisher { dialect, schema, names, kinds, custom, has_part_defaults, definitions: BTreeMap::new() }
    }

    pub(crate) fn dialect(&self) -> OpenApiVersion {
        self.dialect
    }

    /// Returns the reference to a kind's type, if there is one.
    pub(crate) fn kind(&mut self, api_version: &str, kind: &str) -> Option<Value> {
        if let Some(custom) =
            self.custom.iter().find(|schema| schema.api_version == api_version && schema.kind == kind)
        {
            self.definitions.insert(custom.name.clone(), custom.schema.clone());
            // Custom kinds refer to the metadata of all objects and lists by name.
            for name in ["ObjectMeta", "ListMeta"] {
                if let Some(ty) = self.schema.named(&format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}")) {
                    self.reference(ty);
                }
            }
            return Some(self.link(&custom.name));
        }
        self.schema.kind(api_version, kind).map(|ty| self.reference(ty))
    }

    /// Adds a named type, if there is one.
    pub(crate) fn named(&mut self, name: &str) {
        if let Some(ty) = self.schema.named(name) {
            self.reference(ty);
        }
    }

    /// Adds a definition, unless there is one of that name.
    pub(crate) fn define(&mut self, name: &str, schema: Value) {
        self.definitions.entry(name.into()).or_insert(schema);
    }

    /// Returns what precedes the name in a reference to a definition.
    pub(crate) fn place(&self) -> &'static str {
        match self.dialect {
            OpenApiVersion::V2 => "#/definitions/",
            OpenApiVersion::V3 => "#/components/schemas/",
        }
    }

    /// Writes the reference to a definition.
    fn link(&self, name: &str) -> Value {
        Value::object([("$ref", Value::from(format!("{}{name}", self.place())))])
    }

    /// Returns the collected definitions.
    pub(crate) fn definitions(&self) -> Value {
        Value::object(self.definitions.iter().map(|(name, definition)| (name.clone(), definition.clone())))
    }

    /// Writes a type: a named one as a reference, any other in full.
    pub(crate) fn reference(&mut self, ty: TypeRef<'s>) -> Value {
        let Some(name) = self.names.get(&ty.id()).copied() else {
            return Value::object(self.content(ty));
        };
        if !self.definitions.contains_key(name) {
            self.definitions.insert(name.clone(), Value::Null);
            let mut content = self.content(ty);
            if let Some(kinds) = self.kinds.get(&ty.id()) {
                content.push(("x-kubernetes-group-version-kind".into(), Value::array(kinds.iter().cloned())));
            }
            self.definitions.insert(name.clone(), Value::object(content));
        }
        self.link(name)
    }

    fn content(&mut self, ty: TypeRef<'s>) -> Vec<(Text, Value)> {
        match ty.get() {
            Type::Struct(structure) => {
                let name = self.names.get(&ty.id()).map_or("", |name| name.as_str());
                let mut content = vec![("type".into(), Value::from("object"))];
                let fields: Vec<(Text, Value)> = structure
                    .fields
                    .iter()
                    .map(|field| {
                        (
                            field.name.clone(),
                            descriptions::described(name, &field.name, self.field(ty, field)),
                        )
                    })
                    .collect();
                if !fields.is_empty() {
                    content.push(("properties".into(), Value::object(fields)));
                    if structure.unknown == UnknownFields::Preserved {
                        content.push(("x-kubernetes-preserve-unknown-fields".into(), Value::Bool(true)));
                    }
                }
                let required = structure.fields.iter().filter(|field| field.required);
                let required: Vec<Value> = required.map(|field| Value::from(field.name.clone())).collect();
                if !required.is_empty() {
                    content.push(("required".into(), Value::array(required)));
                }
                if structure.embedded_resource {
                    content.push(("x-kubernetes-embedded-resource".into(), Value::Bool(true)));
                }
                content.extend(relation(structure.relation));
                content
            }
            Type::Map(map) => {
                let mut content = vec![
                    ("type".into(), Value::from("object")),
                    ("additionalProperties".into(), self.part(ty, &map.value)),
                ];
                content.extend(relation(map.relation));
                content
            }
            Type::List(list) => self.list(ty, list),
            Type::Scalar(scalar) => self.scalar(scalar),
            Type::Untyped => Vec::new(),
        }
    }

    fn field(&mut self, ty: TypeRef<'s>, field: &Field) -> Value {
        let written = self.slot(ty, &field.slot);
        let marks = patch_marks(&field.patch);
        match written {
            Value::Object(content) if !marks.is_empty() => {
                Value::object(content.iter().map(|(name, value)| (name.clone(), value.clone())).chain(marks))
            }
            plain => plain,
        }
    }

    /// Writes the type at a position, with its default; a reference with further members is wrapped
    /// in version 3, which ignores members beside `$ref`.
    fn slot(&mut self, ty: TypeRef<'s>, slot: &Slot) -> Value {
        let written = self.reference(ty.slot(slot));
        let mut beside = Vec::new();
        if let Some(default) = &slot.default {
            beside.push((Text::new("default"), default.clone()));
        }
        if slot.nullable {
            beside.push((Text::new("nullable"), Value::Bool(true)));
        }
        let is_reference = written.get("$ref").is_some();
        match (self.dialect, is_reference) {
            (OpenApiVersion::V3, true) => {
                Value::object([(Text::new("allOf"), Value::array([written]))].into_iter().chain(beside))
            }
            (OpenApiVersion::V2, true) => written,
            (_, false) if beside.is_empty() => written,
            (_, false) => {
                let content = written.as_object().cloned().unwrap_or_default();
                Value::object(content.iter().map(|(name, value)| (name.clone(), value.clone())).chain(beside))
            }
        }
    }

    /// Writes the type of the items of a list, or of the values of a map.
    fn part(&mut self, ty: TypeRef<'s>, slot: &Slot) -> Value {
        match self.has_part_defaults || slot.nullable {
            true => self.slot(ty, slot),
            false => self.reference(ty.slot(slot)),
        }
    }

    fn list(&mut self, ty: TypeRef<'s>, list: &List) -> Vec<(Text, Value)> {
        let mut content =
            vec![("type".into(), Value::from("array")), ("items".into(), self.part(ty, &list.item))];
        let kind = match &list.topology {
            ListTopology::Atomic => "atomic",
            ListTopology::Set => "set",
            ListTopology::Keyed(keys) => {
                let names = keys.iter().map(|key| Value::from(key.name.clone()));
                content.push(("x-kubernetes-list-map-keys".into(), Value::array(names)));
                "map"
            }
        };
        content.push(("x-kubernetes-list-type".into(), Value::from(kind)));
        content
    }

    fn scalar(&self, scalar: &Scalar) -> Vec<(Text, Value)> {
        let one_of =
            |kinds: [&str; 2]| Value::array(kinds.map(|kind| Value::object([("type", Value::from(kind))])));
        let mut content: Vec<(Text, Value)> = Vec::new();
        match (scalar.kind, self.dialect) {
            (ScalarKind::Boolean, _) => content.push(("type".into(), "boolean".into())),
            (ScalarKind::Integer, _) => content.push(("type".into(), "integer".into())),
            (ScalarKind::Number, _) => content.push(("type".into(), "number".into())),
            (ScalarKind::String, _)
            | (ScalarKind::IntOrString | ScalarKind::Quantity, OpenApiVersion::V2) => {
                content.push(("type".into(), "string".into()));
            }
            (ScalarKind::IntOrString, OpenApiVersion::V3) => {
                content.push(("oneOf".into(), one_of(["integer", "string"])))
            }
            (ScalarKind::Quantity, OpenApiVersion::V3) => {
                content.push(("oneOf".into(), one_of(["string", "number"])))
            }
        }
        if !scalar.format.is_empty() {
            content.push(("format".into(), Value::from(scalar.format.clone())));
        }
        if !scalar.values.is_empty() {
            content.push(("enum".into(), Value::array(scalar.values.iter().cloned())));
        }
        content
    }
}

fn relation(relation: Relation) -> Option<(Text, Value)> {
    (relation == Relation::Atomic).then(|| ("x-kubernetes-map-type".into(), Value::from("atomic")))
}

fn patch_marks(marks: &PatchMarks) -> Vec<(Text, Value)> {
    let strategy = marks.strategy;
    let words =
        [("merge", strategy.merge), ("replace", strategy.replace), ("retainKeys", strategy.retain_keys)];
    let words: Vec<&str> = words.iter().filter(|(_, set)| *set).map(|(word, _)| *word).collect();
    let mut written = Vec::new();
    if !words.is_empty() {
        written.push((Text::new("x-kubernetes-patch-strategy"), Value::from(words.join(","))));
    }
    if let Some(key) = &marks.merge_key {
        written.push((Text::new("x-kubernetes-patch-merge-key"), Value::from(key.clone())));
    }
    // A list whose merge key identifies its entries recommends that key.
    let merge_key = if strategy.merge { marks.merge_key.as_slice() } else { &[] };
    let recommended = if marks.recommended_keys.is_empty() { merge_key } else { &marks.recommended_keys };
    if !recommended.is_empty() {
        let keys = recommended.iter().map(Text::as_str).collect::<Vec<_>>().join(",");
        written.push((Text::new("x-kubernetes-recommended-patch-merge-key"), Value::from(keys)));
    }
    written
}

/// Returns the object that names a kind in OpenAPI.
pub(crate) fn group_version_kind(api_version: &str, kind: &str) -> Value {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Value::object([
        ("group", Value::from(group)),
        ("version", Value::from(version)),
        ("kind", Value::from(kind)),
    ])
}
