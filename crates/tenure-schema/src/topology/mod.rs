//! Types as data: the parts of OpenAPI that merging, ownership, defaulting and validation need. Fields are
//! sorted by name, like the fields of a document, so that both can be traversed together.

mod fields;

pub use fields::Fields;

use tenure_value::{Text, Value};

/// The id of a type within its [`Schema`](crate::Schema).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub(crate) u32);

/// The type of a part of a document, and how it merges.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// An object with declared fields.
    Struct(Struct),
    /// An object with arbitrary names and values of one type.
    Map(Map),
    /// A list with items of one type.
    List(List),
    /// A boolean, number or string.
    Scalar(Scalar),
    /// Unknown: the topology follows from the value. An object is granular with untyped fields; a list is
    /// atomic; anything else is a scalar.
    Untyped,
}

impl Type {
    /// Visits the slots of this type.
    pub(crate) fn for_each_slot(&mut self, mut visit: impl FnMut(&mut Slot)) {
        match self {
            Type::Struct(structure) => structure.fields.iter_mut().for_each(|field| visit(&mut field.slot)),
            Type::Map(map) => visit(&mut map.value),
            Type::List(list) => visit(&mut list.item),
            Type::Scalar(_) | Type::Untyped => {}
        }
    }
}

/// Whether the parts of an object are owned individually.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Relation {
    /// Parts are owned and merged individually.
    #[default]
    Granular,
    /// The object is owned and replaced as a whole.
    Atomic,
}

/// How undeclared fields of a struct are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UnknownFields {
    /// As errors, or dropped, as the caller decides.
    #[default]
    Foreign,
    /// Preserved as untyped values. This applies with `x-kubernetes-preserve-unknown-fields`, with
    /// `additionalProperties` beside `properties`, and to built-in objects declared only as `type: object`
    /// (`RawExtension`, `FieldsV1`). The latter are atomic: kube-apiserver records the manager of a
    /// ControllerRevision's `data` as `f:data` with nothing below it.
    Preserved,
}

/// An object with declared fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Struct {
    /// The fields, sorted by name.
    pub fields: Fields,
    /// Whether the fields are owned individually.
    pub relation: Relation,
    /// How undeclared fields are treated.
    pub unknown: UnknownFields,
    /// Whether this is an embedded object with apiVersion, kind and metadata.
    pub embedded_resource: bool,
}

impl Struct {
    /// Returns the field of that name.
    #[inline]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.find(name)
    }
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The field's name.
    pub name: Text,
    /// The type and default of its value.
    pub slot: Slot,
    /// Whether the field is required.
    pub required: bool,
    /// How strategic merge patch treats it.
    pub patch: PatchMarks,
}

/// A place for a value: a field of a struct, an item of a list, a value of a map.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The type of the value.
    pub type_id: TypeId,
    /// Whether `null` is a value here rather than the absence of one.
    pub nullable: bool,
    /// The default value.
    pub default: Option<Value>,
}

/// An object with arbitrary names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Map {
    /// The values.
    pub value: Slot,
    /// Whether the entries are owned individually.
    pub relation: Relation,
}

/// A list of items.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct List {
    /// The items.
    pub item: Slot,
    /// How items are identified.
    pub topology: ListTopology,
}

/// How the items of a list are identified, and so whether they are owned individually.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListTopology {
    /// They are not: the list is replaced as a whole.
    Atomic,
    /// By their value.
    Set,
    /// By some of their fields, in the order the type declares them.
    Keyed(Box<[Key]>),
}

/// A field that identifies the items of a keyed list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The field's name.
    pub name: Text,
    /// The default of the field, for items without it.
    pub default: Option<Value>,
}

/// A boolean, number or string.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scalar {
    /// The kind of values.
    pub kind: ScalarKind,
    /// The `format` of OpenAPI, such as `int32`, `date-time` or `byte`; empty if there is none.
    pub format: Text,
    /// The allowed values; empty if all are allowed.
    pub values: Box<[Value]>,
}

/// Kinds of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarKind {
    /// `true` or `false`.
    Boolean,
    /// An integer.
    Integer,
    /// Any number.
    Number,
    /// A string.
    String,
    /// An integer or a string.
    IntOrString,
    /// A string or any number (resource quantities).
    Quantity,
}

/// How strategic merge patch treats a field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PatchMarks {
    /// How a patch treats the field.
    pub strategy: PatchStrategy,
    /// The field by which list items are matched.
    pub merge_key: Option<Text>,
    /// The fields by which a client that supports `$patchMergeKey` should match items, starting with the
    /// merge key; empty if the merge key suffices or there is none.
    pub recommended_keys: Box<[Text]>,
}

/// The value of `x-kubernetes-patch-strategy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PatchStrategy {
    /// Lists merge instead of being replaced.
    pub merge: bool,
    /// A map is replaced instead of being merged (an explicit `replace`).
    pub replace: bool,
    /// Calculated patches contain `$retainKeys`.
    pub retain_keys: bool,
}
