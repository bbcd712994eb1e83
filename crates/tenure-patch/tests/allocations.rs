//! The allocations of an apply grow with the parts that the patch changes, not with the document.

use tenure_patch::strategic::Profile;
use tenure_patch::strategic::{self, ApplyOptions};
use tenure_schema::Schema;
use tenure_value::Value;

const ORIGINAL: &str = include_str!("../../../bench/inputs/smp/deployment-big.original.json");
const PATCH: &str = include_str!("../../../bench/inputs/smp/deployment-big.patch.json");
const RESULT: &str = include_str!("../../../bench/inputs/smp/deployment-big.result.json");

/// Counts the allocations of an apply from tree to tree.
fn count(live: &Value, patch: &Value) -> u64 {
    let ty = Schema::builtin().kind("apps/v1", "Deployment").unwrap();
    // Types are decoded when they are first used; that is not part of an apply.
    strategic::apply(live, patch, ty, &ApplyOptions::default().profile(Profile::tenure())).unwrap();
    let apply = || {
        drop(strategic::apply(live, patch, ty, &ApplyOptions::default().profile(Profile::tenure())).unwrap())
    };
    allocation_counter::measure(apply).count_total
}

#[test]
fn patching_a_big_deployment_takes_few_allocations() {
    let (live, patch): (Value, Value) = (ORIGINAL.parse().unwrap(), PATCH.parse().unwrap());
    let ty = Schema::builtin().kind("apps/v1", "Deployment").unwrap();
    let expected: Value = RESULT.parse().unwrap();
    assert_eq!(
        strategic::apply(&live, &patch, ty, &ApplyOptions::default().profile(Profile::tenure())).unwrap(),
        expected
    );
    let allocations = count(&live, &patch);
    println!("{allocations} allocations");
    assert!(allocations <= 1_500, "{allocations} allocations");
}

#[test]
fn a_patch_of_one_field_takes_as_many_allocations_as_there_are_maps_around_it() {
    let live: Value = ORIGINAL.parse().unwrap();
    let patch: Value = r#"{"spec": {"replicas": 77}}"#.parse().unwrap();
    let allocations = count(&live, &patch);
    assert!(allocations <= 5, "{allocations} allocations");
}
