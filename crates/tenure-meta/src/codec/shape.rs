//! The properties of a type that the codec needs, compiled from the schema and the data on first use: for
//! each field whether a zero counts, what is shown if it is absent, and the rules of the type's nodes.

use crate::value_ext::ValueExt;
use foldhash::fast::RandomState;
use std::{
    collections::{HashMap, HashSet},
    sync::OnceLock,
};
use tenure_schema::{ScalarKind, Schema, Type, TypeId, UnknownFields};
use tenure_value::{Object, Text, Value, private::sort_prefix};

/// The index of a shape in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShapeId(pub u32);

/// A type as the codec sees it.
#[derive(Debug)]
pub enum Shape {
    /// A struct with named fields.
    Struct(StructShape),
    /// A map from strings to values of a shape.
    Map(ShapeId),
    /// A list of items of a shape.
    List(ShapeId),
    /// A scalar.
    Scalar(ScalarShape),
    /// Anything.
    Any,
}

/// The scalars that a field accepts, and their canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarShape {
    /// `true` or `false`.
    Boolean,
    /// An integer of 32 bits.
    Int32,
    /// An integer of 64 bits.
    Int64,
    /// A number with a fraction.
    Number,
    /// A string.
    String,
    /// Bytes in base64.
    Bytes,
    /// A timestamp in whole seconds.
    Time,
    /// A timestamp in microseconds.
    MicroTime,
    /// An integer or a string.
    IntOrString,
    /// A quantity.
    Quantity,
}

/// A struct type.
#[derive(Debug)]
pub struct StructShape {
    /// The last part of the definition's name.
    pub name: Text,
    /// The fields, sorted by name.
    pub fields: Box<[FieldShape]>,
    /// The sort prefixes of the names.
    prefixes: Box<[u64]>,
    /// The indices of the fields by the hashes of their names.
    slots: Slots,
    /// The indices of the fields that are shown if absent.
    shown: Box<[usize]>,
    /// How undeclared fields are treated.
    pub unknown: UnknownFields,
}

/// A field of a struct.
#[derive(Debug)]
pub struct FieldShape {
    /// The name.
    pub name: Text,
    /// The shape of the value.
    pub shape: ShapeId,
    /// Whether an explicit zero is kept and counts as a value.
    pub keeps_zero: bool,
    /// What is shown if the field is absent.
    pub absent: Absent,
    /// Whether the quantities of a map keep all digits.
    pub exact: bool,
    /// The default of the schema; zeros are not defaults but [`Absent`] values.
    pub default: Option<Value>,
    /// Whether the schema requires the field.
    pub required: bool,
    /// The allowed values; empty if all are allowed.
    pub values: Box<[Value]>,
}

/// What is shown for an absent field.
#[derive(Debug, PartialEq)]
pub enum Absent {
    /// Nothing.
    Hidden,
    /// `null`.
    Null,
    /// This scalar.
    Value(Value),
    /// A struct that always exists.
    Struct,
}

impl ScalarShape {
    /// Whether values are written as strings.
    pub fn is_text(self) -> bool {
        matches!(self, ScalarShape::String | ScalarShape::Bytes | ScalarShape::Time | ScalarShape::MicroTime)
    }
}

/// Iterates over the fields of a type together with the names of a document.
pub struct Steps<'s> {
    structure: &'s StructShape,
    /// The index after the last name.
    next: usize,
    /// The remaining fields that are shown if absent.
    shown: &'s [usize],
}

impl<'s> Steps<'s> {
    /// Advances to a name, which comes after all names so far: returns its field if there is one, and the
    /// skipped fields that are shown although they are absent.
    pub fn to(&mut self, name: &Text) -> (Shown<'s>, Option<&'s FieldShape>) {
        let place = self.structure.place(self.next, name);
        let end = place.unwrap_or_else(|end| end);
        let passed = self.shown.iter().take_while(|at| **at < end).count();
        let (absent, rest) = self.shown.split_at(passed);
        let found = place.ok().map(|at| &self.structure.fields[at]);
        let is_shown = found.is_some() && rest.first() == Some(&end);
        self.shown = &rest[usize::from(is_shown)..];
        self.next = end + usize::from(found.is_some());
        (Shown { structure: self.structure, places: absent.iter() }, found)
    }

    /// Returns the fields after the last name that are shown.
    pub fn rest(self) -> Shown<'s> {
        Shown { structure: self.structure, places: self.shown.iter() }
    }
}

/// Fields that are shown although they are absent.
pub struct Shown<'s> {
    structure: &'s StructShape,
    places: std::slice::Iter<'s, usize>,
}

impl<'s> Iterator for Shown<'s> {
    type Item = &'s FieldShape;

    fn next(&mut self) -> Option<&'s FieldShape> {
        self.places.next().map(|at| &self.structure.fields[*at])
    }
}

/// Where most fields of a struct are found at once: an index for each hash of a name. Of fields with the same hash only the last one is.
#[derive(Debug)]
struct Slots([u8; 64]);

impl Slots {
    fn of(fields: &[FieldShape]) -> Slots {
        let mut slots = Slots([u8::MAX; 64]);
        for (field, at) in fields.iter().zip(0..u8::MAX) {
            slots.0[Slots::hash(&field.name)] = at;
        }
        slots
    }

    /// Returns the index of the field of that name, if it has one.
    #[inline]
    fn place(&self, name: &str) -> usize {
        usize::from(self.0[Slots::hash(name)])
    }

    #[inline]
    fn hash(name: &str) -> usize {
        let bytes = name.as_bytes();
        let outer = |byte: Option<&u8>| byte.map_or(0, |byte| usize::from(*byte));
        (3 * bytes.len() + 7 * outer(bytes.first()) + 13 * outer(bytes.last())) % 64
    }
}

/// The number of fields that are compared one by one before a binary search.
const NEAR: usize = 4;

impl StructShape {
    /// Starts an iteration over the fields.
    pub fn steps(&self) -> Steps<'_> {
        Steps { structure: self, next: 0, shown: &self.shown }
    }

    /// Returns a field by its name.
    pub fn field<N: AsRef<str> + ?Sized>(&self, name: &N) -> Option<&FieldShape>
    where
        Text: PartialEq<N>,
    {
        self.place(0, name).ok().map(|at| &self.fields[at])
    }

    /// Returns the index of a field, or where it would be, at or after an index.
    fn place<N: AsRef<str> + ?Sized>(&self, from: usize, name: &N) -> Result<usize, usize>
    where
        Text: PartialEq<N>,
    {
        let text = name.as_ref();
        let at = self.slots.place(text);
        if at >= from && self.fields.get(at).is_some_and(|field| field.name == *name) {
            return Ok(at);
        }
        let wanted = sort_prefix(text);
        let rest = &self.prefixes[from..];
        // The fields of a document are mostly close to each other in its type.
        let near = rest.iter().take(NEAR).take_while(|other| **other < wanted).count();
        let far = if near == NEAR { rest[NEAR..].partition_point(|other| *other < wanted) } else { 0 };
        let mut at = from + near + far;
        while self.prefixes.get(at) == Some(&wanted) {
            let field = &self.fields[at].name;
            if field == name {
                return Ok(at);
            }
            if field.as_str() > text {
                break;
            }
            at += 1;
        }
        Err(at)
    }
}

/// The shapes of a schema, each compiled on first use.
pub struct Shapes {
    schema: &'static Schema,
    cells: Box<[OnceLock<Shape>]>,
    /// Whether a list or map that is shown as `null` if absent can occur below a shape.
    nulls: Box<[OnceLock<bool>]>,
    /// The content of an empty struct.
    empties: Box<[OnceLock<Object>]>,
    types: Box<[TypeId]>,
    numbers: HashMap<TypeId, ShapeId, RandomState>,
    names: HashMap<TypeId, &'static Text, RandomState>,
    encoding: &'static Value,
    go_types: GoTypes,
}

/// Returns how Go names the types of fields, by definition: only errors need it.
pub type GoTypes = Box<dyn Fn() -> &'static Value + Send + Sync>;

impl Shapes {
    /// Creates the shapes of a schema; `encoding` says by type how values are encoded, `go_types` how Go names the types of fields
    /// where the schema does not say it.
    pub fn new(schema: &'static Schema, encoding: &'static Value, go_types: GoTypes) -> Shapes {
        let types: Box<[TypeId]> = schema.types().map(|ty| ty.id()).collect();
        Shapes {
            schema,
            cells: types.iter().map(|_| OnceLock::new()).collect(),
            nulls: types.iter().map(|_| OnceLock::new()).collect(),
            empties: types.iter().map(|_| OnceLock::new()).collect(),
            numbers: types.iter().enumerate().map(|(at, id)| (*id, ShapeId(at as u32))).collect(),
            names: schema.names().map(|(name, ty)| (ty.id(), name)).collect(),
            types,
            encoding,
            go_types,
        }
    }

    /// Returns the name of a type's definition; empty if it has none.
    pub fn name(&self, id: ShapeId) -> &str {
        let name = self.types.get(id.0 as usize).and_then(|id| self.names.get(id));
        name.map(|name| name.as_str()).unwrap_or_default()
    }

    /// Returns how Go names the type of a field of a definition, where the schema does not say it.
    pub fn go_type(&self, definition: &str, field: &str) -> Option<&'static str> {
        (self.go_types)().get(definition)?.at(["types", field])?.as_str()
    }

    /// Returns how Go names the types of the fields of a struct.
    pub(super) fn go_types(&self, id: ShapeId) -> Option<&'static Value> {
        (self.go_types)().get(self.name(id))
    }

    /// Returns the shape of the type of a definition.
    pub fn named(&self, name: &str) -> Option<ShapeId> {
        self.schema.named(name).map(|ty| self.number(ty.id()))
    }

    /// Returns the shape of the type of a kind.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<ShapeId> {
        self.schema.kind(api_version, kind).map(|ty| self.number(ty.id()))
    }

    /// Returns the number of shapes.
    pub fn count(&self) -> usize {
        self.cells.len()
    }

    /// Returns a shape.
    pub fn get(&self, id: ShapeId) -> &Shape {
        match self.cells.get(id.0 as usize) {
            Some(cell) => cell.get_or_init(|| self.compile(id)),
            None => &Shape::Any,
        }
    }

    /// Returns the content of an empty struct: the structs in it that always exist.
    pub fn empty(&self, id: ShapeId) -> Object {
        let make = || {
            let Shape::Struct(structure) = self.get(id) else { return Object::default() };
            let existing = structure.fields.iter().filter(|field| field.absent == Absent::Struct);
            Object::from_sorted(
                existing.map(|field| (field.name.clone(), Value::from(self.empty(field.shape)))),
            )
        };
        self.empties.get(id.0 as usize).map(|cell| cell.get_or_init(make).clone()).unwrap_or_default()
    }

    /// Whether a list or map that is shown as `null` if absent can occur below a shape.
    pub fn shows_null_below(&self, id: ShapeId) -> bool {
        let Some(cell) = self.nulls.get(id.0 as usize) else { return false };
        *cell.get_or_init(|| {
            let (mut seen, mut open) = (HashSet::from([id]), vec![id]);
            while let Some(id) = open.pop() {
                let parts: Vec<ShapeId> = match self.get(id) {
                    Shape::Struct(structure)
                        if structure.fields.iter().any(|field| field.absent == Absent::Null) =>
                    {
                        return true;
                    }
                    Shape::Struct(structure) => structure.fields.iter().map(|field| field.shape).collect(),
                    Shape::Map(inner) | Shape::List(inner) => vec![*inner],
                    Shape::Scalar(_) | Shape::Any => Vec::new(),
                };
                open.extend(parts.into_iter().filter(|part| seen.insert(*part)));
            }
            false
        })
    }

    /// Returns the shape of a type.
    pub fn number(&self, id: TypeId) -> ShapeId {
        self.numbers.get(&id).copied().unwrap_or(ShapeId(u32::MAX))
    }

    fn compile(&self, id: ShapeId) -> Shape {
        let type_id = self.types[id.0 as usize];
        match self.schema.at(type_id).get() {
            Type::Untyped => Shape::Any,
            Type::Map(map) => Shape::Map(self.number(map.value.type_id)),
            Type::List(list) => Shape::List(self.number(list.item.type_id)),
            Type::Scalar(scalar_type) => {
                let name = self.names.get(&type_id).map(|name| name.as_str()).unwrap_or_default();
                Shape::Scalar(scalar(scalar_type.kind, &scalar_type.format, name))
            }
            Type::Struct(structure)
                if structure.fields.is_empty() && structure.unknown == UnknownFields::Preserved =>
            {
                Shape::Any
            }
            Type::Struct(structure) => {
                let name = self.names.get(&type_id).map(|name| name.as_str()).unwrap_or_default();
                let encoding = self.encoding.get(name).unwrap_or(&Value::Null);
                let fields: Box<[FieldShape]> =
                    structure.fields.iter().map(|field| self.field(field, encoding)).collect();
                let shown = (0..fields.len()).filter(|at| fields[*at].absent != Absent::Hidden).collect();
                Shape::Struct(StructShape {
                    name: name.rsplit('.').next().map(Text::new).unwrap_or_default(),
                    prefixes: fields.iter().map(|field| sort_prefix(&field.name)).collect(),
                    slots: Slots::of(&fields),
                    shown,
                    fields,
                    unknown: structure.unknown,
                })
            }
        }
    }

    fn field(&self, field: &tenure_schema::Field, encoding: &Value) -> FieldShape {
        let listed = |list: &str| encoding.items(list).iter().any(|name| name.as_str() == Some(&field.name));
        let ty = self.schema.at(field.slot.type_id);
        let always = encoding.get("always").and_then(|always| always.get(&field.name));
        let absent = match (&field.slot.default, always) {
            _ if listed("null") => Absent::Null,
            (_, Some(value)) => Absent::Value(value.clone()),
            (Some(_), _) if listed("omit") => Absent::Hidden,
            (Some(Value::Object(_)), _) if matches!(ty.get(), Type::Struct(_)) => Absent::Struct,
            (Some(value), _) if is_zero(value) && value.is_scalar() => Absent::Value(value.clone()),
            _ => Absent::Hidden,
        };
        let values = match ty.get() {
            Type::Scalar(scalar) => scalar.values.clone(),
            _ => Box::default(),
        };
        FieldShape {
            name: field.name.clone(),
            shape: self.number(field.slot.type_id),
            keeps_zero: listed("keepZero"),
            absent,
            exact: listed("exactQuantities"),
            default: field.slot.default.clone().filter(|value| !is_zero(value)),
            required: field.required,
            values,
        }
    }
}

/// Whether a value is the zero value of its type.
pub fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Int(number) => *number == 0,
        Value::UInt(_) => false,
        Value::Float(number) => number.get() == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

fn scalar(kind: ScalarKind, format: &str, name: &str) -> ScalarShape {
    match (kind, format) {
        (ScalarKind::Boolean, _) => ScalarShape::Boolean,
        (ScalarKind::Integer, "int32") => ScalarShape::Int32,
        (ScalarKind::Integer, _) => ScalarShape::Int64,
        (ScalarKind::Number, _) => ScalarShape::Number,
        (ScalarKind::String, "byte") => ScalarShape::Bytes,
        (ScalarKind::String, "date-time") if name.ends_with("MicroTime") => ScalarShape::MicroTime,
        (ScalarKind::String, "date-time") => ScalarShape::Time,
        (ScalarKind::String, _) => ScalarShape::String,
        (ScalarKind::IntOrString, _) => ScalarShape::IntOrString,
        (ScalarKind::Quantity, _) => ScalarShape::Quantity,
    }
}
