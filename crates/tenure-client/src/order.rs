//! The order in which objects are written. Kinds that others depend on come first, kinds that affect all writes come last. After a
//! definition the next phase waits until its kind is served.

use crate::{ClientError, Cluster};
use std::time::{Duration, Instant};
use tenure_ownership::Target;
use tenure_value::Value;

/// The kinds of the first phases; the phase after them has all other kinds.
const FIRST: [&[&str]; 2] = [&["Namespace", DEFINITION, "PriorityClass", "StorageClass"], USED_BY_PODS];

const DEFINITION: &str = "CustomResourceDefinition";

/// The kinds that pods refer to.
const USED_BY_PODS: &[&str] = &[
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ClusterRole",
    "Role",
    "ClusterRoleBinding",
    "RoleBinding",
    "ResourceQuota",
    "LimitRange",
    "Service",
];

/// The kinds that affect writes of other objects.
const LAST: &[&str] = &[
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
];

/// How many phases there are.
pub const PHASES: usize = FIRST.len() + 2;

/// How long to wait until the kind of a new definition is served, and how often to check.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// Returns the phase in which objects of a kind are written; they depend only on objects of earlier phases.
pub fn phase(kind: &str) -> usize {
    let first = FIRST.iter().position(|kinds| kinds.contains(&kind));
    first.unwrap_or(if LAST.contains(&kind) { FIRST.len() + 1 } else { FIRST.len() })
}

/// Waits until the kind of a definition that was written is served; returns at once for other objects.
pub async fn establish(target: &Target, cluster: &Cluster) -> Result<(), ClientError> {
    if target.kind != DEFINITION {
        return Ok(());
    }
    let path = format!("/apis/{}/customresourcedefinitions/{}", target.api_version, target.name);
    let start = Instant::now();
    while !is_established(cluster.find(&path).await?.as_ref()) && start.elapsed() < ESTABLISHED_WITHIN {
        tokio::time::sleep(CHECK_EVERY).await;
    }
    cluster.rediscover();
    Ok(())
}

fn is_established(definition: Option<&Value>) -> bool {
    let conditions = definition.and_then(|definition| definition.at(["status", "conditions"])?.as_array());
    conditions.is_some_and(|conditions| {
        conditions.iter().any(|condition| {
            let text = |name| condition.get(name).and_then(Value::as_str);
            text("type") == Some("Established") && text("status") == Some("True")
        })
    })
}
