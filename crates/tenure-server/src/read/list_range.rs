//! What a list reads of a collection.

use tenure_store::Revision;

/// What of a collection is listed: the prefix of the keys, the first of them, how many, and at which revision.
pub(super) struct Range {
    pub prefix: String,
    pub from: String,
    pub limit: Option<usize>,
    pub at: Option<Revision>,
}

impl Range {
    /// All entries under a prefix.
    pub fn whole(prefix: String, at: Option<Revision>) -> Range {
        Range { prefix, from: String::new(), limit: None, at }
    }
}
