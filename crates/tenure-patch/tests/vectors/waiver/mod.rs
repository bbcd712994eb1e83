//! The rules for lines whose recorded outcome is not reproduced. Each is named after its entry in
//! `docs/differences.md`, recognises the defect in the recording, and checks the guarantee of Tenure instead.

mod calculating;
mod patching;
mod tree;

use crate::{line::Line, outcome::Verdict};
use tenure_schema::Schema;

pub struct Waiver {
    /// The heading of the entry in `docs/differences.md`.
    pub entry: &'static str,
    /// Whether a recorded line shows the defect.
    pub shows: fn(&Line, &Schema) -> bool,
    /// What Tenure promises for such a line.
    pub promise: fn(&Line, &Schema) -> Verdict,
}

pub const WAIVERS: &[Waiver] = &[
    Waiver {
        entry: "Orders of an empty list are ignored",
        shows: patching::nothing_to_order,
        promise: patching::order_ignored,
    },
    Waiver {
        entry: "Orders of unknown lists are dropped",
        shows: patching::unknown_order,
        promise: patching::unknown_order_dropped,
    },
    Waiver {
        entry: "Large integers keep their digits",
        shows: patching::large_integers,
        promise: patching::large_integers_kept,
    },
    Waiver {
        entry: "Null merge keys are errors",
        shows: patching::null_merge_key,
        promise: patching::null_key_refused,
    },
    Waiver {
        entry: "Malformed directives are errors",
        shows: patching::malformed_directive,
        promise: patching::is_an_error,
    },
    Waiver {
        entry: "Malformed directives are errors",
        shows: patching::exceeds_retained,
        promise: patching::retained_checked,
    },
    Waiver {
        entry: "`$patch: replace` in an entry replaces that entry",
        shows: patching::replaced_entry,
        promise: patching::entry_replaced,
    },
    Waiver {
        entry: "Entries with duplicate keys are kept",
        shows: calculating::shared_keys,
        promise: calculating::survivors,
    },
    Waiver {
        entry: "Unknown directive values are errors everywhere",
        shows: patching::unknown_value,
        promise: patching::unknown_value_refused,
    },
    Waiver {
        entry: "Deleted maps are removed",
        shows: patching::deleted_map_left,
        promise: patching::repaired,
    },
    Waiver {
        entry: "Directives and nulls are never stored",
        shows: patching::leaks,
        promise: patching::repaired,
    },
    Waiver {
        entry: "Ambiguous null keys are errors",
        shows: patching::doubtful_null_key,
        promise: patching::is_an_error,
    },
    Waiver {
        entry: "Reordered sets produce a patch",
        shows: calculating::unnoticed_order,
        promise: calculating::leads_there,
    },
    Waiver {
        entry: "Duplicate set items are merged",
        shows: calculating::repeated_items,
        promise: calculating::leads_there,
    },
    Waiver {
        entry: "Setting a union member clears the others",
        shows: calculating::two_members,
        promise: calculating::one_member,
    },
    Waiver {
        entry: "Setting a union member clears the others",
        shows: calculating::added_union,
        promise: calculating::union_retained,
    },
    Waiver {
        entry: "Equal deletions do not conflict",
        shows: calculating::same_deletion,
        promise: calculating::no_internal_error,
    },
    Waiver {
        entry: "Removed maps keep what others added",
        shows: calculating::removed_map,
        promise: calculating::additions_stay,
    },
    Waiver {
        entry: "Conflict checks do not reorder lists",
        shows: calculating::reordered_by_comparing,
        promise: calculating::as_overwriting,
    },
];
