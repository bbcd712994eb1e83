//! The objects that pods and persistent volumes refer to.

use super::Related;
use tenure_value::{Text, Value};

/// Namespace and name of an object; the namespace is empty at the cluster scope.
pub(super) type Name = (Text, Text);

/// The annotation of a pod that a kubelet created for one of its own.
const MIRROR: &str = "kubernetes.io/config.mirror";
/// The volumes of pods that name a secret, and where they name it.
const SECRET_VOLUMES: [(&str, &[&str]); 10] = [
    ("azureFile", &["secretName"]),
    ("cephfs", &["secretRef", "name"]),
    ("cinder", &["secretRef", "name"]),
    ("csi", &["nodePublishSecretRef", "name"]),
    ("flexVolume", &["secretRef", "name"]),
    ("iscsi", &["secretRef", "name"]),
    ("rbd", &["secretRef", "name"]),
    ("scaleIO", &["secretRef", "name"]),
    ("secret", &["secretName"]),
    ("storageos", &["secretRef", "name"]),
];
/// The sources of persistent volumes that refer to a secret, and the members that do so. Controllers use further secrets, which
/// nodes do not.
const SECRET_SOURCES: [(&str, &[&str]); 8] = [
    ("cephfs", &["secretRef"]),
    ("cinder", &["secretRef"]),
    ("csi", &["nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"]),
    ("flexVolume", &["secretRef"]),
    ("iscsi", &["secretRef"]),
    ("rbd", &["secretRef"]),
    ("scaleIO", &["secretRef"]),
    ("storageos", &["secretRef"]),
];
/// The sources whose references to secrets may lack a namespace, which is then that of the claim.
const NAMESPACE_OF_CLAIM: [&str; 5] = ["cephfs", "flexVolume", "iscsi", "rbd", "scaleIO"];

/// Returns the objects that a pod refers to in its namespace, each once.
pub(super) fn of_pod(pod: &Value) -> Vec<(Related, Text)> {
    // A node creates these pods itself, and must not get permissions by them.
    if pod.at(["metadata", "annotations", MIRROR]).is_some() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let mut add = |related: Related, name: Option<&Value>| {
        let name = name.and_then(Value::as_str).filter(|name| !name.is_empty());
        found.extend(name.map(|name| (related, Text::from(name))));
    };
    add(Related::ServiceAccount, spec.get("serviceAccountName"));
    for secret in items(spec, "imagePullSecrets") {
        add(Related::Secret, secret.get("name"));
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in items(spec, list) {
            for from in items(container, "envFrom") {
                add(Related::Secret, from.at(["secretRef", "name"]));
                add(Related::ConfigMap, from.at(["configMapRef", "name"]));
            }
            for variable in items(container, "env") {
                add(Related::Secret, variable.at(["valueFrom", "secretKeyRef", "name"]));
                add(Related::ConfigMap, variable.at(["valueFrom", "configMapKeyRef", "name"]));
            }
        }
    }
    for volume in items(spec, "volumes") {
        for (kind, path) in SECRET_VOLUMES {
            add(Related::Secret, volume.get(kind).and_then(|source| source.at(path.iter().copied())));
        }
        add(Related::ConfigMap, volume.at(["configMap", "name"]));
        for source in volume.get("projected").into_iter().flat_map(|projected| items(projected, "sources")) {
            add(Related::Secret, source.at(["secret", "name"]));
            add(Related::ConfigMap, source.at(["configMap", "name"]));
        }
        add(Related::Claim, volume.at(["persistentVolumeClaim", "claimName"]));
    }
    for name in ephemeral_claims(pod, spec) {
        add(Related::Claim, Some(&Value::from(name)));
    }
    for claim in items(spec, "resourceClaims") {
        add(Related::ResourceClaim, claim.get("resourceClaimName").or_else(|| generated_claim(pod, claim)));
    }
    add(Related::ResourceClaim, pod.at(["status", "extendedResourceClaimStatus", "resourceClaimName"]));
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the names of the claims that are made for ephemeral volumes of a pod.
fn ephemeral_claims<'p>(pod: &'p Value, spec: &'p Value) -> impl Iterator<Item = String> {
    let pod_name = pod.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
    let is_claimed = |volume: &&Value| volume.get("ephemeral").is_some_and(|source| !source.is_null());
    items(spec, "volumes").filter(is_claimed).filter_map(move |volume| {
        let name = volume.get("name").and_then(Value::as_str)?;
        Some(format!("{pod_name}-{name}"))
    })
}

/// Returns the name of the claim that was made from a template for a pod, if it was.
fn generated_claim<'p>(pod: &'p Value, claim: &Value) -> Option<&'p Value> {
    let mut statuses = items(pod.get("status")?, "resourceClaimStatuses");
    statuses.find(|status| status.get("name") == claim.get("name"))?.get("resourceClaimName")
}

/// Returns the claim of a persistent volume and the secrets that nodes need for it, as namespaces and names.
pub(super) fn of_volume(volume: &Value) -> Option<(Name, Vec<Name>)> {
    let spec = volume.get("spec")?;
    let text =
        |value: &Value, field: &str| Text::from(value.get(field).and_then(Value::as_str).unwrap_or_default());
    let claim = spec.get("claimRef").filter(|claim| !claim.is_null())?;
    let claim = (text(claim, "namespace"), text(claim, "name"));
    let mut secrets = Vec::new();
    if let Some(file) = spec.get("azureFile") {
        let namespace = Some(text(file, "secretNamespace")).filter(|namespace| !namespace.is_empty());
        secrets.push((namespace.unwrap_or_else(|| claim.0.clone()), text(file, "secretName")));
    }
    for (source, members) in SECRET_SOURCES {
        for secret in members.iter().filter_map(|member| spec.at([source, member])) {
            let mut namespace = text(secret, "namespace");
            if namespace.is_empty() && NAMESPACE_OF_CLAIM.contains(&source) {
                namespace = claim.0.clone();
            }
            secrets.push((namespace, text(secret, "name")));
        }
    }
    secrets.retain(|(_, name)| !name.is_empty());
    secrets.sort_unstable();
    secrets.dedup();
    Some((claim, secrets))
}

fn items<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    value.get(field).and_then(Value::as_array).into_iter().flat_map(|list| list.iter())
}
