//! A controller that renders a Deployment wants to know what an apply would do before it sends one, or in a unit test: the same
//! merge, owners and conflicts as on a server, with the types of `k8s-openapi`.

use crate::Outcome;
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::json;
use tenure::prelude::*;

fn deployment(replicas: i32, image: &str) -> Result<Deployment, serde_json::Error> {
    serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": image}]},
            },
        },
    }))
}

pub fn run() -> Outcome {
    let controller = Applier::new("shop-controller");
    let created = controller.apply(None, &deployment(2, "nginx:1")?)?;
    assert!(created.changed);

    // The same desired state changes nothing, so that a controller need not write.
    let again = controller.apply(&created.object, &deployment(2, "nginx:1")?)?;
    assert!(!again.changed);

    // Another manager that wants other replicas is told whose they are.
    let autoscaler = Applier::new("autoscaler");
    match autoscaler.apply(&created.object, &deployment(5, "nginx:1")?) {
        Err(ApplyError::Conflicts(conflicts)) => println!("{conflicts}"),
        other => return Err(format!("a conflict was expected: {other:?}").into()),
    }
    let forced = autoscaler.force().apply(&created.object, &deployment(5, "nginx:1")?)?;
    assert_eq!(forced.object.spec.and_then(|spec| spec.replicas), Some(5));
    Ok(())
}
