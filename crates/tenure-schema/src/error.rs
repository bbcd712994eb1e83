//! What can be wrong with a schema. Every message names the place as `type.field[].field`, what is there
//! and what would be right.

use tenure_value::Kind;

/// Why types could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A `x-kubernetes-*` marker that does not exist, or a known one spelled otherwise.
    #[error("{at}: there is no marker {name:?}; {hint}")]
    UnknownMarker {
        /// The type and field.
        at: String,
        /// The marker as written.
        name: String,
        /// What to write instead.
        hint: String,
    },
    /// A marker with a value that it cannot have.
    #[error("{at}: {name} is {found}; {expected}")]
    MarkerValue {
        /// The type and field.
        at: String,
        /// The marker.
        name: &'static str,
        /// The value as JSON.
        found: String,
        /// Which values are right.
        expected: String,
    },
    /// A keyword of OpenAPI whose value is of the wrong shape.
    #[error("{at}: {keyword} is {found}; it should be {expected}")]
    Keyword {
        /// The type and field.
        at: String,
        /// The keyword.
        keyword: &'static str,
        /// What is there.
        found: Kind,
        /// What should be.
        expected: &'static str,
    },
    /// A `type` that OpenAPI does not have.
    #[error("{at}: there is no type {name:?}; types are object, array, string, integer, number and boolean")]
    UnknownType {
        /// The type and field.
        at: String,
        /// The type as written.
        name: String,
    },
    /// A reference to a definition that the document does not hold.
    #[error(
        "{at}: {to:?} refers to nothing; a reference has the form {form:?} and names a definition of the document"
    )]
    UnknownReference {
        /// The type and field.
        at: String,
        /// The reference as written.
        to: String,
        /// The form of a right one.
        form: String,
    },
    /// Definitions that refer to each other and never to a type.
    #[error("{at}: {to:?} refers to itself; one of the definitions on the way must be a type")]
    ReferenceCycle {
        /// The type and field.
        at: String,
        /// The definition.
        to: String,
    },
    /// A list key that the items do not have.
    #[error("{at}: {key:?} is to tell the items apart, but they have no such field")]
    ForeignKey {
        /// The type and field.
        at: String,
        /// The key.
        key: String,
    },
    /// A name that leads nowhere from a place within a type.
    #[error("{at}{}there is no field {name:?}; {hint}", if .at.is_empty() { "" } else { ": " })]
    NoField {
        /// The place; empty for the type itself.
        at: String,
        /// The name.
        name: String,
        /// What may be meant.
        hint: String,
    },
    /// Types nested in each other beyond the limit.
    #[error(
        "{at}: types are nested more than {limit} deep; give the inner ones a definition and refer to it"
    )]
    TooDeep {
        /// The type and field.
        at: String,
        /// How deep types may be nested.
        limit: usize,
    },
    /// A document that holds no schemas where its format has them.
    #[error("{what} has no {place:?}; {expected}")]
    NoSchemas {
        /// The kind of document.
        what: &'static str,
        /// Where schemas should be.
        place: &'static str,
        /// What would be right.
        expected: &'static str,
    },
    /// A definition of custom resources that lacks what names them.
    #[error(
        "{at}: there is no string {name:?}; a definition has spec.group, spec.names.kind and a name for every version"
    )]
    Definition {
        /// Where in the definition.
        at: String,
        /// The field.
        name: &'static str,
    },
    /// A pack that was damaged or written by another version.
    #[error("the pack cannot be read: {what}; write it again with the pack command of this version")]
    Pack {
        /// What is wrong.
        what: String,
    },
}
