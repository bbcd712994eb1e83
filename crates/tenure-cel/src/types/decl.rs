//! Declarations: what the values of a variable look like, and how large they can be. They follow the terms of OpenAPI:
//! objects with properties, maps, lists, texts with formats, and bounds on sizes.

use super::{
    Type,
    escape::{escape, is_keyword},
};
use std::{fmt, sync::Arc};
use tenure_value::Text;

/// The largest document that is expected, in bytes: nothing in it can be larger.
pub(crate) const MAX_DOCUMENT_BYTES: u64 = 3 << 20;

/// How the items of a list are told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListSemantics {
    /// By their position.
    Ordered,
    /// By their values: order does not matter to equality, and `+` is a union.
    Set,
    /// By the values of these properties: order does not matter to equality, and `+` merges by key.
    Keyed(Box<[Text]>),
}

/// A declared type with the bounds of its values.
///
/// ```
/// use tenure_cel::{Decl, Type};
///
/// let port = Decl::object("self.port", [("name", Decl::string().max_length(63), true), ("number", Decl::int(), true)]);
/// let ports = Decl::list(port).max_items(16);
/// assert_eq!(ports.ty().to_string(), "list(self.port)");
/// ```
#[derive(Clone)]
pub struct Decl(Arc<Node>);

#[derive(Clone)]
struct Node {
    kind: Kind,
    /// How many characters, items or entries a value has at most.
    max_elements: u64,
    /// How many bytes a value takes at least as JSON.
    min_bytes: u64,
}

#[derive(Clone)]
enum Kind {
    Simple(Type),
    List(Decl, ListSemantics),
    Map(Decl),
    Object { name: Text, fields: Box<[DeclField]> },
}

/// A field of an object.
#[derive(Clone)]
pub(crate) struct DeclField {
    /// The name as expressions write it.
    pub name: Text,
    /// The name in documents.
    pub property: Text,
    pub decl: Decl,
}

impl Decl {
    fn simple(ty: Type, max_elements: u64, min_bytes: u64) -> Decl {
        Decl(Arc::new(Node { kind: Kind::Simple(ty), max_elements, min_bytes }))
    }

    /// Declares `true` or `false`.
    pub fn bool() -> Decl {
        Decl::simple(Type::Bool, 0, 4)
    }

    /// Declares integers.
    pub fn int() -> Decl {
        Decl::simple(Type::Int, 0, 1)
    }

    /// Declares numbers; whole ones too are floating point numbers.
    pub fn double() -> Decl {
        Decl::simple(Type::Double, 0, 1)
    }

    /// Declares texts.
    pub fn string() -> Decl {
        Decl::simple(Type::String, MAX_DOCUMENT_BYTES - 2, 2)
    }

    /// Declares bytes, which documents hold in base64.
    pub fn bytes() -> Decl {
        Decl::simple(Type::Bytes, MAX_DOCUMENT_BYTES - 2, 2)
    }

    /// Declares points in time, which documents hold as texts of RFC 3339.
    pub fn timestamp() -> Decl {
        Decl::simple(Type::Timestamp, 32, 21)
    }

    /// Declares days, which are points in time.
    pub fn date() -> Decl {
        Decl::simple(Type::Timestamp, 12, 12)
    }

    /// Declares lengths of time, which documents hold as texts such as `1h30m`.
    pub fn duration() -> Decl {
        Decl::simple(Type::Duration, 32, 3)
    }

    /// Declares values that are integers or texts.
    pub fn int_or_string() -> Decl {
        Decl::simple(Type::Dyn, MAX_DOCUMENT_BYTES - 2, 1)
    }

    /// Declares values of which nothing is known.
    pub fn dynamic() -> Decl {
        Decl::simple(Type::Dyn, 0, 1)
    }

    /// Declares values of a type that documents do not hold.
    pub fn of(ty: Type) -> Decl {
        Decl::simple(ty, 0, 1)
    }

    /// Declares a list.
    pub fn list(item: Decl) -> Decl {
        let max_elements = (MAX_DOCUMENT_BYTES - 2) / (item.0.min_bytes + 1);
        Decl(Arc::new(Node { kind: Kind::List(item, ListSemantics::Ordered), max_elements, min_bytes: 2 }))
    }

    /// Declares a map from names to values.
    pub fn map(value: Decl) -> Decl {
        // A key takes its quotes, a colon, a comma and at least two characters.
        let max_elements = (MAX_DOCUMENT_BYTES - 2) / (value.0.min_bytes + 6);
        Decl(Arc::new(Node { kind: Kind::Map(value), max_elements, min_bytes: 2 }))
    }

    /// Declares an object of properties, each with whether it must be there. The name stands in messages; two objects
    /// are of one type only if they come from one declaration. Expressions write the names of properties [escaped](crate::escape); those that cannot be are hidden.
    pub fn object<N: Into<Text>>(
        name: impl Into<Text>,
        properties: impl IntoIterator<Item = (N, Decl, bool)>,
    ) -> Decl {
        let mut min_bytes = 2;
        let mut fields = Vec::new();
        for (property, decl, required) in properties {
            let property: Text = property.into();
            if required {
                min_bytes += property.len() as u64 + decl.0.min_bytes + 4;
            }
            if let Some(name) = escape(&property) {
                fields.push(DeclField { name, property, decl });
            }
        }
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        fields.dedup_by(|a, b| a.name == b.name);
        let kind = Kind::Object { name: name.into(), fields: fields.into() };
        Decl(Arc::new(Node { kind, max_elements: 0, min_bytes }))
    }

    fn with(mut self, change: impl FnOnce(&mut Node)) -> Decl {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Bounds a text by its length in characters, bytes by theirs in base64.
    pub fn max_length(self, length: u64) -> Decl {
        self.with(|node| {
            // A character of a text takes up to four bytes.
            let factor = if matches!(node.kind, Kind::Simple(Type::Bytes)) { 1 } else { 4 };
            node.max_elements = length.saturating_mul(factor);
        })
    }

    /// Bounds a text by the values that it may have.
    pub fn one_of<'t>(self, values: impl IntoIterator<Item = &'t str>) -> Decl {
        let longest = values.into_iter().map(str::len).max().unwrap_or(0);
        self.with(|node| node.max_elements = longest as u64)
    }

    /// Bounds a list by its length.
    pub fn max_items(self, count: u64) -> Decl {
        self.with(|node| node.max_elements = count)
    }

    /// Bounds a map by the number of its entries.
    pub fn max_properties(self, count: u64) -> Decl {
        self.with(|node| node.max_elements = count)
    }

    /// Says how the items of a list are told apart.
    pub fn list_semantics(self, semantics: ListSemantics) -> Decl {
        self.with(|node| {
            if let Kind::List(_, of) = &mut node.kind {
                *of = semantics;
            }
        })
    }

    /// Returns the type of the values.
    pub fn ty(&self) -> Type {
        match &self.0.kind {
            Kind::Simple(ty) => ty.clone(),
            Kind::List(item, _) => Type::list(item.ty()),
            Kind::Map(value) => Type::map(Type::String, value.ty()),
            Kind::Object { .. } => Type::Object(self.clone()),
        }
    }

    /// Returns how many times a value can be there in one document, whatever holds it.
    pub fn max_count(&self) -> u64 {
        MAX_DOCUMENT_BYTES / (self.0.min_bytes + 1)
    }

    /// Returns how many characters, items or entries a value has at most.
    pub fn max_elements(&self) -> u64 {
        self.0.max_elements
    }

    /// Returns what the items of a list, or the values of a map, are.
    pub fn element(&self) -> Option<&Decl> {
        match &self.0.kind {
            Kind::List(of, _) | Kind::Map(of) => Some(of),
            _ => None,
        }
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.0.kind, Kind::Map(_))
    }

    pub(crate) fn semantics(&self) -> Option<&ListSemantics> {
        match &self.0.kind {
            Kind::List(_, semantics) => Some(semantics),
            _ => None,
        }
    }

    pub(crate) fn simple_type(&self) -> Option<&Type> {
        match &self.0.kind {
            Kind::Simple(ty) => Some(ty),
            _ => None,
        }
    }

    pub(crate) fn object_name(&self) -> Option<&str> {
        match &self.0.kind {
            Kind::Object { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Returns a field by the name that expressions write; behind a dot, keywords need no escape.
    pub(crate) fn field(&self, name: &str) -> Option<&DeclField> {
        let fields = self.fields();
        let find = |name: &str| fields.binary_search_by(|field| field.name.as_str().cmp(name)).ok();
        let at = find(name).or_else(|| is_keyword(name).then(|| find(&format!("__{name}__")))?)?;
        fields.get(at)
    }

    pub(crate) fn fields(&self) -> &[DeclField] {
        match &self.0.kind {
            Kind::Object { fields, .. } => fields,
            _ => &[],
        }
    }

    pub(crate) fn ptr_eq(&self, other: &Decl) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Prints the type without what is below the fields of an object.
impl fmt::Debug for Decl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            Kind::Object { name, fields } => f
                .debug_struct(name)
                .field("fields", &fields.iter().map(|field| &field.name).collect::<Vec<_>>())
                .finish(),
            _ => write!(f, "{}", self.ty()),
        }
    }
}
