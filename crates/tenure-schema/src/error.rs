//! Schema errors. Every message contains the path as `type.field[].field`, what was found and what was
//! expected.

use tenure_value::Kind;

/// Why types cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// An unknown or misspelled `x-kubernetes-*` marker.
    #[error("{at}: unknown marker {name:?}; {hint}")]
    UnknownMarker {
        /// The type and field.
        at: String,
        /// The marker as written.
        name: String,
        /// What to use instead.
        hint: String,
    },
    /// An invalid value of a marker.
    #[error("{at}: {name} is {found}; {expected}")]
    MarkerValue {
        /// The type and field.
        at: String,
        /// The marker.
        name: &'static str,
        /// The value as JSON.
        found: String,
        /// The valid values.
        expected: String,
    },
    /// A keyword of OpenAPI with a value of the wrong type.
    #[error("{at}: {keyword} must be {expected}, got {found}")]
    Keyword {
        /// The type and field.
        at: String,
        /// The keyword.
        keyword: &'static str,
        /// What was found.
        found: Kind,
        /// What was expected.
        expected: &'static str,
    },
    /// An unknown `type`.
    #[error("{at}: unknown type {name:?}; expected object, array, string, integer, number or boolean")]
    UnknownType {
        /// The type and field.
        at: String,
        /// The type as written.
        name: String,
    },
    /// A reference to a definition that does not exist.
    #[error("{at}: reference {to:?} does not exist; expected {form:?} with a definition of the document")]
    UnknownReference {
        /// The type and field.
        at: String,
        /// The reference as written.
        to: String,
        /// The format of a valid reference.
        form: String,
    },
    /// Definitions that only refer to each other.
    #[error("{at}: {to:?} refers to itself; one of the definitions in the cycle must be a type")]
    ReferenceCycle {
        /// The type and field.
        at: String,
        /// The definition.
        to: String,
    },
    /// A list map key that is not a field of the items.
    #[error("{at}: list map key {key:?} is not a field of the items")]
    ForeignKey {
        /// The type and field.
        at: String,
        /// The key.
        key: String,
    },
    /// A field that does not exist.
    #[error("{at}{}unknown field {name:?}; {hint}", if .at.is_empty() { "" } else { ": " })]
    NoField {
        /// The path; empty at the root.
        at: String,
        /// The name.
        name: String,
        /// A suggestion.
        hint: String,
    },
    /// Types nested beyond the limit.
    #[error(
        "{at}: types are nested more than {limit} deep; give the inner ones a definition and refer to it"
    )]
    TooDeep {
        /// The type and field.
        at: String,
        /// The maximum depth.
        limit: usize,
    },
    /// A document without schemas.
    #[error("{what} has no {place:?}; {expected}")]
    NoSchemas {
        /// The kind of document.
        what: &'static str,
        /// Where schemas are expected.
        place: &'static str,
        /// What was expected.
        expected: &'static str,
    },
    /// A CustomResourceDefinition without a required name.
    #[error(
        "{at}: {name} must be a string; a definition needs spec.group, spec.names.kind and a name for every version"
    )]
    Definition {
        /// The path in the definition.
        at: String,
        /// The field.
        name: &'static str,
    },
    /// A pack that is damaged or has another version.
    #[error("invalid schema pack: {what}; generate it again with this version")]
    Pack {
        /// What is wrong.
        what: String,
    },
}
