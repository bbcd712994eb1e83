//! Server-side apply of typed objects, as a kube-rs controller has them.
//!
//! Run it with `cargo run -p tenure-apply --features k8s-openapi --example typed`.

use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use tenure_apply::{Applier, ApplyError, Managers};

fn config(level: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some("settings".into()), ..ObjectMeta::default() },
        data: Some([("level".to_owned(), level.to_owned())].into()),
        ..ConfigMap::default()
    }
}

/// Runs the example.
pub fn main() -> Result<(), ApplyError> {
    let live = Applier::new("operator").apply(None, &config("info"))?.object;
    let desired = config("debug");

    let outcome = Applier::new("my-controller").apply(&live, &desired);
    let Err(ApplyError::Conflicts(conflicts)) = outcome else { panic!("the operator owns the level") };
    println!("{conflicts}");

    let applied = Applier::new("my-controller").force().apply(&live, &desired)?;
    let entries = applied.object.metadata.managed_fields.unwrap_or_default();
    assert_eq!(Managers::from_entries(&entries)?, applied.managers);
    assert_eq!(
        entries.iter().filter_map(|entry| entry.manager.as_deref()).collect::<Vec<_>>(),
        ["my-controller"]
    );
    Ok(())
}
