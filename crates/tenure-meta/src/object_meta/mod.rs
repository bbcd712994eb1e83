//! The metadata of objects: decoding and validation.

mod decode;
mod owners;
mod validate;

pub use decode::{Canonical, canonical, has_emptied_part};
pub use owners::{one_reference_per_owner, one_reference_per_owner_after_admission};
pub use validate::{
    CRD_CLEANUP_FINALIZER, annotations, check, check_changes, check_embedded, check_update, has_own_rules,
    labels, version_fault,
};
