//! The compiler from OpenAPI to types. Definitions are queued and referred to by the id reserved for them, so
//! recursion through references needs no stack; only inline nesting does, and its depth is limited.

use super::{
    custom::{self, CustomResources, Required},
    marks::{self, ListType, ShapeMarks},
    place::Place,
    shape::{Shape, check_placement, is_nullable, object, reference, required, scalar, shape, wrong_keyword},
};
use crate::{
    Field, Key, List, ListTopology, Map, PatchMarks, Relation, Schema, SchemaBuilder, SchemaError, Slot,
    Struct, Type, TypeId, UnknownFields,
};
use std::collections::HashMap;
use tenure_value::{Object, Text, Value};

/// The maximum nesting depth within a definition.
const DEPTH: usize = 128;

/// The definitions that a document refers to.
pub(crate) struct Definitions<'d> {
    schemas: &'d [(Text, Value)],
    prefix: &'static str,
}

impl<'d> Definitions<'d> {
    pub fn new(
        schemas: &'d Value,
        place: &'static str,
        prefix: &'static str,
    ) -> Result<Definitions<'d>, SchemaError> {
        match schemas {
            Value::Object(schemas) => Ok(Definitions { schemas: schemas.fields(), prefix }),
            other => Err(SchemaError::Keyword {
                at: "the document".into(),
                keyword: place,
                found: other.kind(),
                expected: "an object of definitions by name",
            }),
        }
    }

    pub fn none() -> Definitions<'d> {
        Definitions { schemas: &[], prefix: "#/$defs/" }
    }

    /// Finds the target of a reference.
    fn find(&self, reference: &str, place: &Place) -> Result<(&'d Text, &'d Value), SchemaError> {
        let found = reference.strip_prefix(self.prefix).and_then(|name| {
            let at = self.schemas.binary_search_by(|(candidate, _)| candidate.as_str().cmp(name)).ok()?;
            self.schemas.get(at)
        });
        match found {
            Some((name, node)) => Ok((name, node)),
            None => Err(SchemaError::UnknownReference {
                at: place.to_string(),
                to: reference.into(),
                form: format!("{}NAME", self.prefix),
            }),
        }
    }
}

/// A definition with the markers beside the reference to it.
type Referred<'d> = (&'d Text, ShapeMarks);

/// Compiles nodes into the types of one schema.
pub(crate) struct Compiler<'d> {
    definitions: Definitions<'d>,
    builder: SchemaBuilder,
    referred: HashMap<Referred<'d>, TypeId>,
    /// Definitions that are referred to and not compiled yet.
    queue: Vec<(Referred<'d>, &'d Object, TypeId)>,
    /// Unnamed types, deduplicated.
    nameless: HashMap<Type, TypeId>,
    /// The common fields of custom resources, if these are compiled.
    custom: Option<CustomResources>,
    /// Whether a node of a custom resource above the current one preserves unknown fields: then so do all nodes below it.
    preserving: bool,
}

impl<'d> Compiler<'d> {
    pub fn new(definitions: Definitions<'d>) -> Compiler<'d> {
        Compiler {
            definitions,
            builder: SchemaBuilder::default(),
            referred: HashMap::new(),
            queue: Vec::new(),
            nameless: HashMap::new(),
            custom: None,
            preserving: false,
        }
    }

    /// Creates a compiler of custom resources, which have no definitions.
    pub fn of_custom_resources() -> Compiler<'d> {
        let mut compiler = Compiler::new(Definitions::none());
        compiler.custom = Some(CustomResources::new(&mut compiler.builder));
        compiler
    }

    /// Compiles the schema of a custom resource and registers its kind.
    pub fn custom_resource(
        &mut self,
        schema: Option<&'d Value>,
        api_version: &str,
        kind: &str,
    ) -> Result<TypeId, SchemaError> {
        let name = format!("{api_version} {kind}");
        let place = Place::Type(&name);
        let compiled = match schema {
            Some(schema) => {
                let node = object(schema, &place)?;
                self.of(node, ShapeMarks::default(), &place)?
            }
            None => Type::Untyped,
        };
        let mut compiled = match compiled {
            Type::Struct(structure) => structure,
            // Nothing is known about it, or it is a map: all other fields are preserved.
            _ => Struct { unknown: UnknownFields::Preserved, ..Struct::default() },
        };
        if let Some(custom) = &self.custom {
            custom.add_identity(&mut compiled, Required::No);
        }
        // An object is never atomic: its metadata has its own owners.
        compiled.relation = Relation::Granular;
        let id = self.builder.add(Type::Struct(compiled));
        self.builder.kind(api_version, kind, id);
        Ok(id)
    }

    /// Compiles all definitions, and registers their names and kinds.
    pub fn all_definitions(&mut self) -> Result<(), SchemaError> {
        for (name, node) in self.definitions.schemas {
            let place = Place::Type(name);
            let id = self.definition(name, node, ShapeMarks::default(), &place)?;
            self.builder.name(name.clone(), id);
            if let Some(kinds) = node.get(marks::GROUP_VERSION_KIND) {
                self.register_kinds(kinds, id, &place)?;
            }
        }
        self.work_off()
    }

    /// Compiles a node outside of the definitions and returns the id of its type.
    pub fn root(&mut self, node: &'d Value, name: &str) -> Result<TypeId, SchemaError> {
        let slot = self.slot(node, &Place::Type(name))?;
        self.work_off()?;
        Ok(slot.type_id)
    }

    /// Returns the schema.
    pub fn finish(mut self) -> Result<Schema, SchemaError> {
        self.work_off()?;
        Ok(self.builder.finish())
    }

    fn work_off(&mut self) -> Result<(), SchemaError> {
        while let Some(((name, marks), node, id)) = self.queue.pop() {
            let ty = self.of(node, marks, &Place::Type(name))?;
            self.builder.set(id, ty);
        }
        Ok(())
    }

    fn register_kinds(&mut self, kinds: &Value, id: TypeId, place: &Place) -> Result<(), SchemaError> {
        let wrong = || {
            let expected = "it is a list of objects with group, version and kind";
            marks::wrong_value(marks::GROUP_VERSION_KIND, place, kinds, expected)
        };
        for entry in kinds.as_array().ok_or_else(wrong)? {
            let part = |name| entry.get(name).and_then(Value::as_str).ok_or_else(wrong);
            let (group, version, kind) = (part("group")?, part("version")?, part("kind")?);
            match group {
                "" => self.builder.kind(version, kind, id),
                _ => self.builder.kind(&format!("{group}/{version}"), kind, id),
            }
        }
        Ok(())
    }

    /// Returns the id of a definition, compiled now or later; follows definitions that are only references.
    fn definition(
        &mut self,
        name: &'d Text,
        node: &'d Value,
        beside: ShapeMarks,
        place: &Place,
    ) -> Result<TypeId, SchemaError> {
        let (mut name, mut node, mut marks) = (name, object(node, &Place::Type(name))?, beside);
        let mut steps = 0..self.definitions.schemas.len();
        while let Some(reference) = reference(node, &Place::Type(name))? {
            if steps.next().is_none() {
                return Err(SchemaError::ReferenceCycle { at: place.to_string(), to: name.to_string() });
            }
            marks::check_names(node, &Place::Type(name))?;
            marks = marks.over(ShapeMarks::read(node, &Place::Type(name))?);
            let (next, target) = self.definitions.find(reference, &Place::Type(name))?;
            (name, node) = (next, object(target, &Place::Type(next))?);
        }
        let key = (name, marks);
        if let Some(id) = self.referred.get(&key) {
            return Ok(*id);
        }
        let id = self.builder.reserve();
        self.referred.insert(key.clone(), id);
        self.queue.push((key, node, id));
        Ok(id)
    }

    /// Compiles a slot.
    fn slot(&mut self, node: &'d Value, place: &Place) -> Result<Slot, SchemaError> {
        if place.depth() > DEPTH {
            return Err(SchemaError::TooDeep { at: place.to_string(), limit: DEPTH });
        }
        let node = object(node, place)?;
        let mut default = node.get("default");
        let mut nullable = is_nullable(node, place)?;
        let ty = match reference(node, place)? {
            Some(reference) => {
                marks::check_names(node, place)?;
                let (name, target) = self.definitions.find(reference, place)?;
                default = default.or_else(|| target.get("default"));
                nullable |= is_nullable(object(target, &Place::Type(name))?, &Place::Type(name))?;
                self.definition(name, target, ShapeMarks::read(node, place)?, place)?
            }
            None => {
                let ty = self.of(node, ShapeMarks::default(), place)?;
                self.nameless(ty)
            }
        };
        Ok(Slot { type_id: ty, nullable, default: default.filter(|default| !default.is_null()).cloned() })
    }

    /// Returns the id of an unnamed type; equal types have the same id.
    fn nameless(&mut self, ty: Type) -> TypeId {
        let builder = &mut self.builder;
        *self.nameless.entry(ty).or_insert_with_key(|ty| builder.add(ty.clone()))
    }

    /// Compiles a node that is not a reference.
    fn of(&mut self, node: &'d Object, beside: ShapeMarks, place: &Place) -> Result<Type, SchemaError> {
        marks::check_names(node, place)?;
        let marks = beside.over(ShapeMarks::read(node, place)?);
        let shape = shape(node, place)?;
        check_placement(shape, &marks, node, place)?;
        Ok(match shape {
            Shape::Object => self.object(node, &marks, place)?,
            Shape::Array => Type::List(self.list(node, &marks, place)?),
            Shape::Scalar(kind) => Type::Scalar(scalar(kind, node, place)?),
            Shape::Unknown => Type::Untyped,
        })
    }

    fn object(&mut self, node: &'d Object, marks: &ShapeMarks, place: &Place) -> Result<Type, SchemaError> {
        let outer = self.preserving;
        let preserves = outer || marks::flag(node, marks::PRESERVE_UNKNOWN, place)?;
        self.preserving = preserves && self.custom.is_some();
        let ty = self.object_under(node, marks, place, preserves);
        self.preserving = outer;
        ty
    }

    fn object_under(
        &mut self,
        node: &'d Object,
        marks: &ShapeMarks,
        place: &Place,
        preserves: bool,
    ) -> Result<Type, SchemaError> {
        let embedded_resource = marks::flag(node, marks::EMBEDDED_RESOURCE, place)?;
        let properties = match node.get("properties") {
            None => &[],
            Some(Value::Object(properties)) => properties.fields(),
            Some(other) => return Err(wrong_keyword(place, "properties", other, "an object of fields")),
        };
        let additional = match node.get("additionalProperties") {
            None | Some(Value::Bool(false)) => None,
            Some(schema @ (Value::Object(_) | Value::Bool(true))) => Some(schema),
            Some(other) => {
                return Err(wrong_keyword(place, "additionalProperties", other, "a schema or a boolean"));
            }
        };
        if let (Some(schema @ Value::Object(_)), []) = (additional, properties) {
            let relation = marks.relation.unwrap_or_default();
            return Ok(Type::Map(Map { value: self.slot(schema, &Place::MapValue(place))?, relation }));
        }
        // An object without declared fields is only known to be an object. In a custom resource its fields are owned one by one,
        // although pruning removes them; in a built-in kind it is a document of its own.
        let declares_nothing = match self.custom {
            // A resource has its apiVersion, kind and metadata.
            Some(_) => properties.is_empty() && !embedded_resource && !matches!(place, Place::Type(_)),
            None => !node.contains("properties"),
        };
        let opaque = !preserves && additional.is_none() && declares_nothing;
        let is_document = opaque && self.custom.is_none();
        let required = required(node, place)?;
        let fields = properties
            .iter()
            .map(|(name, node)| {
                let required = required.iter().any(|required| required.as_str() == Some(name));
                self.field(name, node, required, place)
            })
            .collect::<Result<_, _>>()?;
        let mut structure = Struct {
            fields,
            relation: marks.relation.unwrap_or(if is_document {
                Relation::Atomic
            } else {
                Relation::Granular
            }),
            unknown: match preserves || additional.is_some() || opaque {
                true => UnknownFields::Preserved,
                false => UnknownFields::Foreign,
            },
            embedded_resource,
        };
        if let (true, Some(custom)) = (embedded_resource, &self.custom) {
            custom.add_identity(&mut structure, Required::Yes);
        }
        Ok(Type::Struct(structure))
    }

    fn field(
        &mut self,
        name: &Text,
        node: &'d Value,
        required: bool,
        above: &Place,
    ) -> Result<Field, SchemaError> {
        let place = Place::Field(above, name);
        let slot = self.slot(node, &place)?;
        let patch = match (&self.custom, self.builder.get(slot.type_id)) {
            (Some(_), Type::List(list)) => custom::patch_marks(&list.topology),
            _ => marks::patch_marks(object(node, &place)?, &place)?,
        };
        Ok(Field { name: name.clone(), slot, required, patch })
    }

    fn list(&mut self, node: &'d Object, marks: &ShapeMarks, place: &Place) -> Result<List, SchemaError> {
        let Some(items) = node.get("items") else {
            let item = Slot { type_id: self.nameless(Type::Untyped), nullable: false, default: None };
            return Ok(List { item, topology: ListTopology::Atomic });
        };
        let item = self.slot(items, &Place::Item(place))?;
        let patch = marks::patch_marks(node, place)?;
        let topology = match (marks.list_type, &marks.list_map_keys) {
            (Some(ListType::Atomic), None) => ListTopology::Atomic,
            (Some(ListType::Set), None) => ListTopology::Set,
            (Some(ListType::Map), Some(keys)) => self.keyed(keys, items, place)?,
            (Some(ListType::Map), None) => {
                let expected = format!("a list of that type has {}", marks::LIST_MAP_KEYS);
                return Err(marks::wrong_value(marks::LIST_TYPE, place, &"map".into(), &expected));
            }
            (_, Some(keys)) => {
                let found = Value::array(keys.iter().cloned().map(Value::from));
                let expected = format!("only a list with {}: map has keys", marks::LIST_TYPE);
                return Err(marks::wrong_value(marks::LIST_MAP_KEYS, place, &found, &expected));
            }
            (None, None) => self.derived_topology(&patch, items, place)?,
        };
        Ok(List { item, topology })
    }

    /// Derives the list type from the markers of strategic merge patch if there are no newer ones.
    fn derived_topology(
        &self,
        patch: &PatchMarks,
        items: &'d Value,
        place: &Place,
    ) -> Result<ListTopology, SchemaError> {
        match (patch.strategy.merge, &patch.merge_key) {
            (true, Some(key)) => self.keyed(std::slice::from_ref(key), items, place),
            (true, None) => {
                let item = self.resolved(items, &Place::Item(place))?;
                // Items that are objects or lists cannot form a set.
                match shape(item, &Place::Item(place))? {
                    Shape::Scalar(_) => Ok(ListTopology::Set),
                    _ => Ok(ListTopology::Atomic),
                }
            }
            (false, _) => Ok(ListTopology::Atomic),
        }
    }

    /// Looks up the keys in the items, to find their defaults.
    fn keyed(&self, keys: &[Text], items: &'d Value, place: &Place) -> Result<ListTopology, SchemaError> {
        let item = self.resolved(items, &Place::Item(place))?;
        let keys = keys.iter().map(|key| self.key(key, item, place));
        Ok(ListTopology::Keyed(keys.collect::<Result<_, _>>()?))
    }

    fn key(&self, key: &Text, item: &'d Object, place: &Place) -> Result<Key, SchemaError> {
        let keeps_unknown = item.contains(marks::PRESERVE_UNKNOWN) || item.contains("additionalProperties");
        let default = match item.get("properties").and_then(|properties| properties.get(key)) {
            Some(field) => match field.get("default") {
                Some(default) => Some(default),
                None => self.resolved(field, &Place::Field(&Place::Item(place), key))?.get("default"),
            },
            None if keeps_unknown => None,
            None => {
                return Err(SchemaError::ForeignKey { at: place.to_string(), key: key.to_string() });
            }
        };
        Ok(Key { name: key.clone(), default: default.filter(|default| !default.is_null()).cloned() })
    }

    /// Follows references to a node that is not one.
    fn resolved(&self, node: &'d Value, place: &Place) -> Result<&'d Object, SchemaError> {
        let mut node = object(node, place)?;
        for _ in 0..=self.definitions.schemas.len() {
            match reference(node, place)? {
                Some(reference) => node = object(self.definitions.find(reference, place)?.1, place)?,
                None => return Ok(node),
            }
        }
        Err(SchemaError::ReferenceCycle { at: place.to_string(), to: "it".into() })
    }
}
