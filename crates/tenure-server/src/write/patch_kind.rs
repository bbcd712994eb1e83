//! The kinds of patches.

/// The kind of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
}
