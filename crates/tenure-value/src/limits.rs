//! Bounds on what a parser accepts. They are set where input enters; everything behind a parser may
//! rely on them, recursion over the tree (dropping it included) above all.

/// How large and how deep a document may be, and how many values it may have.
///
/// ```
/// use tenure_value::{Limits, yaml};
///
/// let limits = Limits { bytes: 100, ..Limits::default() };
/// let bomb = b"a: &a xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nb: [*a, *a, *a]\n";
/// let error = yaml::parse(bomb, &limits).unwrap_err();
/// assert_eq!(error.to_string(), "line 2, column 9: aliases expand the document to more than 100 bytes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest text, in bytes; also the most bytes that names and scalars may have once YAML aliases are expanded.
    pub bytes: usize,
    /// How many lists and objects may be inside one another.
    pub depth: usize,
    /// How many values there may be, each item and field counted, as are the copies made by YAML aliases.
    pub nodes: usize,
}

impl Limits {
    /// The deepest nesting that every recursive walk in this workspace is held to.
    pub const DEPTH: usize = 256;

    /// For documents that are part of the program or its configuration: bounded in depth alone.
    pub const TRUSTED: Limits = Limits { bytes: usize::MAX, depth: Limits::DEPTH, nodes: usize::MAX };
}

/// What one request may carry.
impl Default for Limits {
    fn default() -> Limits {
        Limits { bytes: 3 << 20, depth: Limits::DEPTH, nodes: 1_000_000 }
    }
}
