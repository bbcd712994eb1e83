//! The patch that `kubectl apply` would send for a manifest: what the manifest changes and what it no longer has, beside what others
//! changed since the last apply.

use crate::Outcome;
use tenure::{
    patch::strategic::{self, DiffOptions, LiveChanges},
    prelude::*,
};

pub fn run() -> Outcome {
    let deployment = Schema::builtin().kind("apps/v1", "Deployment").ok_or("no such kind")?;
    let last_applied: Value = r#"{"spec": {"replicas": 1, "paused": true}}"#.parse()?;
    let manifest: Value = r#"{"spec": {"replicas": 3}}"#.parse()?;
    let live: Value = r#"{"spec": {"replicas": 1, "paused": true, "minReadySeconds": 5}}"#.parse()?;
    let three_way = |live: &Value| {
        let options = DiffOptions::default();
        strategic::three_way(&last_applied, &manifest, live, deployment, LiveChanges::Keep, &options)
    };

    let patch = three_way(&live)?;
    let patched = strategic::apply(&live, &patch, deployment, &Default::default())?;
    println!("{patch}\n{patched}");
    assert_eq!(patched.to_string(), r#"{"spec":{"minReadySeconds":5,"replicas":3}}"#);

    // Somebody has scaled the Deployment since: with `Keep` that is a conflict.
    let scaled: Value = r#"{"spec": {"replicas": 7, "paused": true}}"#.parse()?;
    let error = three_way(&scaled).err().ok_or("a conflict was expected")?;
    for conflict in error.conflicts() {
        println!("{}: {} in the manifest, {} live", conflict.path, conflict.patch, conflict.live);
    }
    assert_eq!(error.conflicts().len(), 1);
    Ok(())
}
