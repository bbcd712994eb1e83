//! The types themselves, as data: what OpenAPI says of a type, reduced to what merging, ownership,
//! defaulting and validation need. Fields are sorted by name, as the fields of a document are, so that
//! type and document are walked in step.

use crate::Fields;
use tenure_value::{Text, Value};

/// The number of a type within its [`Schema`](crate::Schema).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub(crate) u32);

/// The shape of a part of a document, and how it merges.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Named fields, each of its own type.
    Struct(Struct),
    /// Any names, values of one type.
    Map(Map),
    /// Items of one type.
    List(List),
    /// A boolean, number or string.
    Scalar(Scalar),
    /// Nothing is known: the topology is deduced from the value. An object is granular, each of its
    /// fields untyped in turn; a list is atomic; anything else is a scalar.
    Untyped,
}

impl Type {
    /// Visits the positions within this type.
    pub(crate) fn for_each_slot(&mut self, mut visit: impl FnMut(&mut Slot)) {
        match self {
            Type::Struct(of) => of.fields.iter_mut().for_each(|field| visit(&mut field.slot)),
            Type::Map(of) => visit(&mut of.value),
            Type::List(of) => visit(&mut of.item),
            Type::Scalar(_) | Type::Untyped => {}
        }
    }
}

/// Whether the parts of an object have owners of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Relation {
    /// Each part is owned and merged on its own.
    #[default]
    Granular,
    /// The whole is owned and replaced as one.
    Atomic,
}

/// What becomes of fields that a struct does not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UnknownFields {
    /// They are errors or are dropped, as the caller decides.
    #[default]
    Foreign,
    /// They are kept, as untyped values. So it is under `x-kubernetes-preserve-unknown-fields`, where
    /// `additionalProperties` stands beside `properties`, and in a built-in object of which nothing but
    /// `type: object` is known (`RawExtension`, `FieldsV1`). The latter is atomic: a kube-apiserver records
    /// the manager of a ControllerRevision's `data` as `f:data` with nothing below it.
    Preserved,
}

/// An object with named fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Struct {
    /// The fields, sorted by name.
    pub fields: Fields,
    /// Whether the fields have owners of their own.
    pub relation: Relation,
    /// What becomes of fields not named here.
    pub unknown: UnknownFields,
    /// Whether this is a whole object with apiVersion, kind and metadata inside another.
    pub embedded_resource: bool,
}

impl Struct {
    /// Returns the field of that name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.find(name)
    }
}

/// A named position in a struct.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The field's name.
    pub name: Text,
    /// What stands there.
    pub slot: Slot,
    /// Whether the field must be there.
    pub required: bool,
    /// How strategic merge patch treats it.
    pub patch: PatchMarks,
}

/// A position that holds a value: a struct's field, a list's item, a map's value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The type of the value.
    pub of: TypeId,
    /// Whether `null` is a value here rather than an absence.
    pub nullable: bool,
    /// What stands here when nothing was given.
    pub default: Option<Value>,
}

/// An object with arbitrary names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Map {
    /// What each name holds.
    pub value: Slot,
    /// Whether the entries have owners of their own.
    pub relation: Relation,
}

/// A list of items.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct List {
    /// What each place holds.
    pub item: Slot,
    /// How items are told apart.
    pub topology: ListTopology,
}

/// How the items of a list are told apart, and so whether they have owners of their own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListTopology {
    /// They are not: the list is replaced as one.
    Atomic,
    /// By their value.
    Set,
    /// By some of their fields, in the order the type declares them.
    Keyed(Box<[Key]>),
}

/// A field that tells the items of a keyed list apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The field's name.
    pub name: Text,
    /// What an item without the field counts as.
    pub default: Option<Value>,
}

/// A value without parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scalar {
    /// Which values are meant.
    pub kind: ScalarKind,
    /// OpenAPI's `format`, such as `int32`, `date-time` or `byte`; empty when there is none.
    pub format: Text,
    /// The values allowed; empty when all are.
    pub values: Box<[Value]>,
}

/// The kinds of scalar that schemas tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarKind {
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// A string.
    String,
    /// A whole number or a string.
    IntOrString,
    /// A string or any number (resource quantities).
    Quantity,
}

/// How strategic merge patch treats a field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PatchMarks {
    /// What a patch does with the field.
    pub strategy: PatchStrategy,
    /// The field by which list items are matched.
    pub merge_key: Option<Text>,
    /// The fields by which a client that knows `$patchMergeKey` should match items, the merge key first;
    /// empty where the merge key says enough or there is none.
    pub recommended_keys: Box<[Text]>,
}

/// The value of `x-kubernetes-patch-strategy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PatchStrategy {
    /// Lists merge instead of being replaced.
    pub merge: bool,
    /// A map is replaced instead of being merged (`replace` written out).
    pub replace: bool,
    /// Calculated patches carry `$retainKeys`.
    pub retain_keys: bool,
}
