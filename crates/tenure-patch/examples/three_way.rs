//! Calculates the patch that `kubectl apply` sends, applies it, and shows a conflict.

use tenure_patch::strategic::{self, DiffOptions, LiveChanges};
use tenure_schema::Schema;
use tenure_value::Value;

/// Runs the example.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let deployment = Schema::builtin().kind("apps/v1", "Deployment").ok_or("no such kind")?;
    let last_applied: Value = r#"{"spec": {"replicas": 1, "paused": true}}"#.parse()?;
    let manifest: Value = r#"{"spec": {"replicas": 3}}"#.parse()?;
    let live: Value = r#"{"spec": {"replicas": 1, "paused": true, "minReadySeconds": 5}}"#.parse()?;
    let options = DiffOptions::default();

    let patch =
        strategic::three_way(&last_applied, &manifest, &live, deployment, LiveChanges::Keep, &options)?;
    println!("patch:  {patch}");
    let patched = strategic::apply(&live, &patch, deployment, &Default::default())?;
    println!("result: {patched}");
    assert_eq!(patched.to_string(), r#"{"spec":{"minReadySeconds":5,"replicas":3}}"#);

    // Another client has scaled the Deployment since the last apply.
    let scaled: Value = r#"{"spec": {"replicas": 7, "paused": true}}"#.parse()?;
    let outcome =
        strategic::three_way(&last_applied, &manifest, &scaled, deployment, LiveChanges::Keep, &options);
    let error = outcome.err().ok_or("the patch overwrites a live change")?;
    for conflict in error.conflicts() {
        println!("conflict: {}: {} in the manifest, {} live", conflict.path, conflict.patch, conflict.live);
    }
    assert_eq!(error.conflicts().len(), 1);
    Ok(())
}
