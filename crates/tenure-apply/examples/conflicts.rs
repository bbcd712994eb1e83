//! Two managers apply one Deployment: they share what they agree on, conflict over the rest, and one takes over.
//!
//! Run it with `cargo run -p tenure-apply --example conflicts`.

use tenure_apply::Profile;
use tenure_apply::{Applier, ApplyError, extract, ownership};
use tenure_schema::Schema;
use tenure_value::Value;

fn deployment(replicas: i64, image: &str) -> Value {
    let spec = Value::object([
        ("replicas", Value::from(replicas)),
        (
            "template",
            Value::object([("spec", Value::object([("containers", Value::array([container(image)]))]))]),
        ),
    ]);
    Value::object([
        ("apiVersion", Value::from("apps/v1")),
        ("kind", Value::from("Deployment")),
        ("metadata", Value::object([("name", Value::from("web"))])),
        ("spec", spec),
    ])
}

fn container(image: &str) -> Value {
    Value::object([("name", Value::from("web")), ("image", Value::from(image))])
}

/// Runs the example.
pub fn main() -> Result<(), ApplyError> {
    let live = Applier::new("ci").apply(None, &deployment(1, "web:1"))?.object;

    let autoscaler = Applier::new("autoscaler").profile(Profile::kubernetes());
    let Err(ApplyError::Conflicts(conflicts)) = autoscaler.apply(&live, &deployment(3, "web:1")) else {
        panic!("ci owns the replicas");
    };
    for conflict in &conflicts {
        println!("{} is {:?}, proposed {:?}", conflict.path, conflict.live, conflict.proposed);
    }

    let taken = autoscaler.force().apply(&live, &deployment(3, "web:1"))?;
    let Some(ty) = Schema::builtin().kind("apps/v1", "Deployment") else { panic!("a built-in kind") };
    for field in ownership(&taken.object, &taken.managers, ty) {
        let owners: Vec<&str> = field.owners.iter().map(|owner| owner.name.as_str()).collect();
        println!("{}: {}", field.path, owners.join(", "));
    }
    // The configuration of `ci` without the replicas.
    let ci = taken.managers.iter().find(|manager| manager.name == "ci").map(|manager| &manager.fields);
    let declared = ci.map(|fields| extract(&taken.object, fields, ty));
    assert_eq!(declared.as_ref().and_then(|declared| declared.at(["spec", "replicas"])), None);
    Ok(())
}
