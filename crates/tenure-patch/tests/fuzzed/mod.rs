//! Properties for any bytes: the body of the fuzz target, which an ordinary test runs too.

use tenure_patch::strategic::Profile;
use tenure_patch::{json, lint, merge, strategic};
use tenure_schema::Schema;
use tenure_value::{Limits, Value, json as text};

const KINDS: [(&str, &str); 4] =
    [("v1", "Pod"), ("v1", "Service"), ("apps/v1", "Deployment"), ("v1", "Node")];

/// Reads a live document and a patch from two lines and applies every kind of patch. Nothing panics; a strategic merge
/// patch that can be applied stores no directive; a patch that is calculated from the result can be applied.
pub fn patch(bytes: &[u8]) {
    let mut lines = bytes.splitn(2, |byte| *byte == b'\n');
    let mut next = || text::parse(lines.next().unwrap_or_default(), &Limits::default()).ok();
    let (Some(live), Some(patch)) = (next(), next()) else { return };
    let _ = merge::apply(&live, &patch);
    let _ = json::apply(&live, &patch, &json::Options::default());
    let delta = json::diff(&live, &patch);
    let standard = json::Options::default()
        .dialect(json::Dialect::Standard)
        .max_operations(usize::MAX)
        .max_copied_bytes(0);
    assert_eq!(json::apply(&live, &delta, &standard).as_ref(), Ok(&patch));
    for (version, kind) in KINDS {
        let ty = Schema::builtin().kind(version, kind).unwrap();
        let kubernetes = strategic::ApplyOptions::default().profile(Profile::kubernetes());
        let _ = strategic::apply(&live, &patch, ty, &kubernetes);
        let kubernetes = strategic::DiffOptions::default().profile(Profile::kubernetes());
        let _ = strategic::two_way(&live, &patch, ty, &kubernetes);
        let _ = lint::lint(&patch, ty, lint::Subject::Patch);
        let options = strategic::ApplyOptions::default().profile(Profile::tenure());
        let Ok((result, _)) = strategic::apply_explained(&live, &patch, ty, &options) else { continue };
        assert_eq!(strategic::apply(&live, &patch, ty, &options).as_ref(), Ok(&result));
        if !has_directive(&live) {
            assert!(!has_directive(&result), "{live}\n{patch}\n{result}");
        }
        let options = strategic::DiffOptions::default().profile(Profile::tenure());
        for live_changes in [strategic::LiveChanges::Overwrite, strategic::LiveChanges::Keep] {
            if let Ok(patch) = strategic::three_way(&live, &result, &live, ty, live_changes, &options) {
                let _ = strategic::apply(
                    &live,
                    &patch,
                    ty,
                    &strategic::ApplyOptions::default().profile(Profile::tenure()),
                );
            }
        }
    }
}

/// Whether a document contains a directive; other `$` fields are data.
fn has_directive(value: &Value) -> bool {
    let known = |name: &str| {
        ["$patch", "$retainKeys", "$patchMergeKey"].contains(&name)
            || name.starts_with("$setElementOrder")
            || name.starts_with("$deleteFromPrimitiveList")
    };
    match value {
        Value::Object(fields) => fields.iter().any(|(name, field)| known(name) || has_directive(field)),
        Value::Array(items) => items.iter().any(has_directive),
        _ => false,
    }
}
