//! The versions of OpenAPI in which a server publishes its types.

/// A version of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenApiVersion {
    /// Swagger 2.0.
    V2,
    /// OpenAPI 3.0.
    V3,
}
