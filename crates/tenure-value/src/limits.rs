//! Limits of the parsers. They are set where input enters; all code that processes documents relies on them, recursive
//! traversals (including drop) in particular.

/// The maximum size, depth and number of values of a document.
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
    /// The maximum length of the text in bytes, and of all names and scalars after expansion of YAML aliases.
    pub bytes: usize,
    /// The maximum nesting depth of lists and objects.
    pub depth: usize,
    /// The maximum number of values. Each item and field counts, and so do the copies made by YAML aliases.
    pub nodes: usize,
}

impl Limits {
    /// The depth that every recursive traversal in this workspace supports.
    pub const DEPTH: usize = 256;

    /// Limits for documents that are part of the program or its configuration: only the depth is limited.
    pub const TRUSTED: Limits = Limits { bytes: usize::MAX, depth: Limits::DEPTH, nodes: usize::MAX };
}

/// The limits of a request body.
impl Default for Limits {
    fn default() -> Limits {
        Limits { bytes: 3 << 20, depth: Limits::DEPTH, nodes: 1_000_000 }
    }
}
