//! Declarations of variables: the type of their values and how large the values can be. They follow OpenAPI:
//! objects with properties, maps, lists, strings with formats, and bounds on sizes.

use super::{
    Type,
    escape::{escape, is_keyword},
};
use std::{fmt, sync::Arc};
use tenure_value::Text;

/// The size of the largest expected document in bytes, which bounds everything inside it.
pub(crate) const MAX_DOCUMENT_BYTES: u64 = 3 << 20;

/// How the items of a list are identified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListSemantics {
    /// By their position.
    Ordered,
    /// By their values: order does not matter to equality, and `+` is a union.
    Set(Equality),
    /// By the values of these properties: order does not matter to equality, and `+` merges by key.
    Keyed(Box<[Text]>, Equality),
}

/// When a list whose order does not matter equals another of the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equality {
    /// It has every item of the other: `['a', 'b']` equals `['a', 'a']`.
    Covers,
    /// Each has every item of the other.
    Mutual,
}

/// A declared type with bounds on its values.
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
    /// The maximum number of characters, items or entries of a value.
    max_elements: u64,
    /// The minimum size of a value as JSON, in bytes.
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
    /// The name in expressions.
    pub name: Text,
    /// The name in documents.
    pub property: Text,
    pub decl: Decl,
}

impl Decl {
    fn simple(ty: Type, max_elements: u64, min_bytes: u64) -> Decl {
        Decl(Arc::new(Node { kind: Kind::Simple(ty), max_elements, min_bytes }))
    }

    /// Declares a boolean.
    pub fn bool() -> Decl {
        Decl::simple(Type::Bool, 0, 4)
    }

    /// Declares an integer.
    pub fn int() -> Decl {
        Decl::simple(Type::Int, 0, 1)
    }

    /// Declares a floating point number, even if its value is integral.
    pub fn double() -> Decl {
        Decl::simple(Type::Double, 0, 1)
    }

    /// Declares a string.
    pub fn string() -> Decl {
        Decl::simple(Type::String, MAX_DOCUMENT_BYTES - 2, 2)
    }

    /// Declares bytes, encoded as base64 in documents.
    pub fn bytes() -> Decl {
        Decl::simple(Type::Bytes, MAX_DOCUMENT_BYTES - 2, 2)
    }

    /// Declares a timestamp, an RFC 3339 string in documents.
    pub fn timestamp() -> Decl {
        Decl::simple(Type::Timestamp, 32, 21)
    }

    /// Declares a date, which is a timestamp.
    pub fn date() -> Decl {
        Decl::simple(Type::Timestamp, 12, 12)
    }

    /// Declares a duration, a string such as `1h30m` in documents.
    pub fn duration() -> Decl {
        Decl::simple(Type::Duration, 32, 3)
    }

    /// Declares a value that is an integer or a string.
    pub fn int_or_string() -> Decl {
        Decl::simple(Type::Dyn, MAX_DOCUMENT_BYTES - 2, 1)
    }

    /// Declares a value of unknown type.
    pub fn dynamic() -> Decl {
        Decl::simple(Type::Dyn, 0, 1)
    }

    /// Declares a value of a type that does not occur in documents.
    pub fn of(ty: Type) -> Decl {
        Decl::simple(ty, 0, 1)
    }

    /// Declares a list.
    pub fn list(item: Decl) -> Decl {
        let max_elements = (MAX_DOCUMENT_BYTES - 2) / (item.0.min_bytes + 1);
        Decl(Arc::new(Node { kind: Kind::List(item, ListSemantics::Ordered), max_elements, min_bytes: 2 }))
    }

    /// Declares a map with string keys.
    pub fn map(value: Decl) -> Decl {
        // A key has quotes, a colon, a comma and at least two characters.
        let max_elements = (MAX_DOCUMENT_BYTES - 2) / (value.0.min_bytes + 6);
        Decl(Arc::new(Node { kind: Kind::Map(value), max_elements, min_bytes: 2 }))
    }

    /// Declares an object with properties, each with whether it is required. The name is used in messages;
    /// two objects have the same type only if they share a declaration. Expressions use the
    /// [escaped](crate::escape) names of properties; a property whose name cannot be escaped is not
    /// accessible.
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

    /// Limits the length of a string in characters, or of bytes in base64.
    pub fn max_length(self, length: u64) -> Decl {
        self.with(|node| {
            // A character takes up to four bytes.
            let factor = if matches!(node.kind, Kind::Simple(Type::Bytes)) { 1 } else { 4 };
            node.max_elements = length.saturating_mul(factor);
        })
    }

    /// Limits a string to these values.
    pub fn one_of<'t>(self, values: impl IntoIterator<Item = &'t str>) -> Decl {
        let longest = values.into_iter().map(str::len).max().unwrap_or(0);
        self.with(|node| node.max_elements = longest as u64)
    }

    /// Limits the length of a list.
    pub fn max_items(self, count: u64) -> Decl {
        self.with(|node| node.max_elements = count)
    }

    /// Limits the number of entries of a map.
    pub fn max_properties(self, count: u64) -> Decl {
        self.with(|node| node.max_elements = count)
    }

    /// Sets how the items of a list are identified.
    pub fn list_semantics(self, semantics: ListSemantics) -> Decl {
        self.with(|node| {
            if let Kind::List(_, current) = &mut node.kind {
                *current = semantics;
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

    /// Returns how many times a value can occur in one document.
    pub fn max_count(&self) -> u64 {
        MAX_DOCUMENT_BYTES / (self.0.min_bytes + 1)
    }

    /// Returns the maximum number of characters, items or entries of a value.
    pub fn max_elements(&self) -> u64 {
        self.0.max_elements
    }

    /// Returns the declaration of the items of a list or the values of a map.
    pub fn element(&self) -> Option<&Decl> {
        match &self.0.kind {
            Kind::List(inner, _) | Kind::Map(inner) => Some(inner),
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

    /// Returns a field by its name in expressions. After a dot, keywords need no escape.
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

/// Prints the type; of an object, only the names of its fields.
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
