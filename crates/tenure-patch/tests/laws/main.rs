//! Laws that hold for every document: a calculated patch leads to the modified document, applying twice equals applying
//! once, and ordering a list neither loses nor adds an item.

mod documents;

use documents::{Chance, KINDS, Unique, changed, document, valid};
use proptest::prelude::*;
use tenure_patch::strategic::{Improvement, Profile};
use tenure_patch::{
    json, lint, merge,
    strategic::{self, ApplyOptions, DiffOptions, Keys, LiveChanges},
};
use tenure_schema::{Schema, TypeRef};
use tenure_value::Value;

/// Every improvement, also the one that servers leave off.
const IMPROVED: Profile = Profile::tenure().with(Improvement::RejectUnknownPatchValues);

/// Generates an original, a modified and a live document of one kind.
fn documents(seed: u64, kind: usize, unique: Unique) -> (TypeRef<'static>, [Value; 3]) {
    let (version, name) = KINDS[kind % KINDS.len()];
    let ty = Schema::builtin().kind(version, name).unwrap();
    let mut chance = Chance::new(seed);
    let made = [0; 3].map(|_| document(ty, &mut chance));
    let original = valid(&made[0], ty, unique, &mut chance);
    let mut derive = |other: &Value| {
        let changed = changed(&original, other, &mut chance);
        valid(&changed, ty, unique, &mut chance)
    };
    let (modified, live) = (derive(&made[1]), derive(&made[2]));
    (ty, [original, modified, live])
}

fn apply(live: &Value, patch: &Value, ty: TypeRef<'_>) -> Value {
    strategic::apply(live, patch, ty, &ApplyOptions::default().profile(IMPROVED))
        .unwrap_or_else(|error| panic!("{error}\nlive  {live}\npatch {patch}"))
}

fn two_way(original: &Value, modified: &Value, ty: TypeRef<'_>, keys: Keys) -> Value {
    let options = DiffOptions::default().profile(IMPROVED).keys(keys);
    strategic::two_way(original, modified, ty, &options)
        .unwrap_or_else(|error| panic!("{error}\noriginal {original}\nmodified {modified}"))
}

fn three_way(original: &Value, modified: &Value, live: &Value, ty: TypeRef<'_>, keys: Keys) -> Value {
    let options = DiffOptions::default().profile(IMPROVED).keys(keys);
    strategic::three_way(original, modified, live, ty, LiveChanges::Overwrite, &options)
        .unwrap_or_else(|error| panic!("{error}\noriginal {original}\nmodified {modified}\nlive {live}"))
}

/// Removes a directive everywhere, as a server that does not know it does.
fn without(value: &Value, directive: &str) -> Value {
    match value {
        Value::Object(fields) => Value::object(
            fields
                .iter()
                .filter(|(name, _)| name.as_str() != directive)
                .map(|(name, field)| (name.clone(), without(field, directive))),
        ),
        Value::Array(items) => Value::array(items.iter().map(|item| without(item, directive))),
        scalar => scalar.clone(),
    }
}

fn has_directive(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            fields.iter().any(|(name, field)| name.starts_with('$') || has_directive(field))
        }
        Value::Array(items) => items.iter().any(has_directive),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_two_way_patch_leads_to_the_modified_document(seed: u64, kind in 0..KINDS.len()) {
        for (unique, keys) in [
            (Unique::MergeKey, Keys::Merge),
            (Unique::Recommended, Keys::Merge),
            (Unique::Recommended, Keys::Recommended),
        ] {
            let (ty, [original, modified, _]) = documents(seed, kind, unique);
            let patch = two_way(&original, &modified, ty, keys);
            prop_assert_eq!(apply(&original, &patch, ty), modified, "original {}\npatch {}", original, patch);
        }
    }

    #[test]
    fn a_three_way_patch_leads_to_the_manifest_without_other_writers(seed: u64, kind in 0..KINDS.len()) {
        for (unique, keys) in [
            (Unique::MergeKey, Keys::Merge),
            (Unique::Recommended, Keys::Recommended),
        ] {
            let (ty, [original, modified, _]) = documents(seed, kind, unique);
            let patch = three_way(&original, &modified, &original.clone(), ty, keys);
            prop_assert_eq!(apply(&original, &patch, ty), modified, "original {}\npatch {}", original, patch);
        }
    }

    #[test]
    fn lint_accepts_calculated_patches(seed: u64, kind in 0..KINDS.len()) {
        // A new list whose merge key repeats is reported: its patch is ambiguous when it is applied again.
        for (unique, keys) in [(Unique::MergeKey, Keys::Merge), (Unique::Recommended, Keys::Recommended)] {
            let (ty, [original, modified, live]) = documents(seed, kind, unique);
            for patch in
                [two_way(&original, &modified, ty, keys), three_way(&original, &modified, &live, ty, keys)]
            {
                let findings = lint::lint(&patch, ty, lint::Subject::Patch);
                prop_assert!(findings.is_empty(), "{}\n{:?}", patch, findings);
            }
        }
    }

    #[test]
    fn applying_twice_equals_applying_once(seed: u64, kind in 0..KINDS.len()) {
        for (unique, keys) in [
            (Unique::MergeKey, Keys::Merge),
            (Unique::Recommended, Keys::Recommended),
        ] {
            let (ty, [original, modified, live]) = documents(seed, kind, unique);
            for patch in [
                two_way(&original, &modified, ty, keys),
                three_way(&original, &modified, &live, ty, keys),
                modified.clone(),
            ] {
                if unique == Unique::Recommended && patch == modified {
                    // Without the keys that distinguish its entries, the patch is ambiguous.
                    continue;
                }
                let Ok(once) = strategic::apply(&live, &patch, ty, &ApplyOptions::default().profile(IMPROVED)) else { continue };
                let twice = apply(&once, &patch, ty);
                prop_assert_eq!(&twice, &once, "live {}\npatch {}", live, patch);
                prop_assert!(!has_directive(&once), "{} contains a directive", once);
            }
        }
    }

    #[test]
    fn a_three_way_patch_applies_to_the_live_document(seed: u64, kind in 0..KINDS.len()) {
        for (unique, keys) in [
            (Unique::MergeKey, Keys::Merge),
            (Unique::Recommended, Keys::Merge),
            (Unique::Recommended, Keys::Recommended),
        ] {
            let (ty, [original, modified, live]) = documents(seed, kind, unique);
            let patch = three_way(&original, &modified, &live, ty, keys);
            let result = apply(&live, &patch, ty);
            let again = three_way(&modified, &modified, &result, ty, keys);
            let settled = apply(&result, &again, ty);
            // An order list alone is ambiguous for several equal entries; the first counts.
            if unique == Unique::MergeKey {
                prop_assert_eq!(settled, result, "live {}\npatch {}", live, patch);
            }
        }
    }

    #[test]
    fn a_server_without_patch_merge_key_gives_the_same_result_if_the_merge_key_is_unique(
        seed: u64,
        kind in 0..KINDS.len(),
    ) {
        let (ty, [original, modified, _]) = documents(seed, kind, Unique::MergeKey);
        let patch = two_way(&original, &modified, ty, Keys::Recommended);
        let older = without(&patch, "$patchMergeKey");
        prop_assert_eq!(apply(&original, &older, ty), modified, "original {}\npatch {}", original, patch);
    }

    #[test]
    fn an_order_neither_loses_nor_adds_an_item(
        live in proptest::collection::vec(0u8..12, 1..16),
        order in proptest::collection::vec(0u8..12, 1..16),
    ) {
        let ty = Schema::builtin().kind("v1", "Pod").unwrap();
        let names = |list: &[u8]| Value::array(list.iter().map(|name| Value::from(format!("n{name}"))));
        let entries = |list: &[u8]| Value::array(
            list.iter().map(|name| Value::object([("name", Value::from(format!("n{name}")))])),
        );
        let pod = |finalizers: Value, containers: Value| Value::object([
            ("metadata", Value::object([("finalizers", finalizers)])),
            ("spec", Value::object([("containers", containers)])),
        ]);
        let patch = Value::object([
            ("metadata", Value::object([("$setElementOrder/finalizers", names(&order))])),
            ("spec", Value::object([("$setElementOrder/containers", entries(&order))])),
        ]);
        let before = pod(names(&live), entries(&live));
        for live_only in [strategic::LiveOnly::InPlace, strategic::LiveOnly::InFront] {
            let options = ApplyOptions::default().profile(IMPROVED).live_only(live_only);
            let after = strategic::apply(&before, &patch, ty, &options).unwrap();
            for path in [["metadata", "finalizers"], ["spec", "containers"]] {
                let sorted = |document: &Value| {
                    let mut items = document.at(path).and_then(Value::as_array).unwrap().to_vec();
                    items.sort();
                    items
                };
                prop_assert_eq!(sorted(&before), sorted(&after));
            }
        }
    }

    #[test]
    fn the_standard_patches_lead_to_the_modified_document(seed: u64, kind in 0..KINDS.len()) {
        let (_, [original, modified, live]) = documents(seed, kind, Unique::MergeKey);
        prop_assert_eq!(&merge::apply(&original, &merge::diff(&original, &modified)), &modified);
        let options = json::Options::default().dialect(json::Dialect::Standard);
        let patch = json::diff(&original, &modified);
        prop_assert_eq!(&json::apply(&original, &patch, &options).unwrap(), &modified);
        let untyped = strategic::apply(&live, &modified, TypeRef::untyped(), &ApplyOptions::default().profile(IMPROVED)).unwrap();
        prop_assert_eq!(untyped, merge::apply(&live, &modified));
    }
}
