//! The headers in which a front proxy names the user of a request.

/// The names of the headers. Names are compared without regard to case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestHeaderNames {
    /// The headers of the name, of which the first that is present counts.
    pub username: Vec<String>,
    /// The headers of the groups.
    pub group: Vec<String>,
    /// The beginnings of the headers of further attributes.
    pub extra_prefix: Vec<String>,
    /// The headers of the uid, of which the first that is present counts.
    pub uid: Vec<String>,
}
