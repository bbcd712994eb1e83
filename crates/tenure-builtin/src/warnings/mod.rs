//! Warnings about deprecated resources, and about objects that are valid but rarely intended.

mod addresses;
mod byte_amounts;
mod fields;
mod networking;
mod node_labels;
mod overlapping_paths;
mod pod_template;
mod volume_sources;

use crate::role::{ADMISSION_GROUP, REVIEWS};
use addresses::of_network;
use fields::{is_missing, of_annotations, text};
use networking::{of_endpoints, of_network_policy, of_service, of_slice};
use pod_template::of_template;
use tenure_meta::{FieldError, Resource, Seen, ValueExt, format};
use tenure_profile::{Behaviour, KubernetesVersion};
use tenure_value::{Value, base64};
use volume_sources::{VOLUMES, source_name};

/// The deprecated resources by apiVersion and name, and the warnings about them.
const DEPRECATED: [(&str, &str, &str); 2] = [
    ("v1", "componentstatuses", "v1 ComponentStatus is deprecated in v1.19+"),
    ("v1", "endpoints", "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
];

/// Where the template of a kind is, and how warnings say so.
const TEMPLATES: [(&str, &[&str], &str); 8] = [
    ("PodTemplate", &["template"], "template."),
    ("ReplicationController", &["spec", "template"], "spec.template."),
    ("ReplicaSet", &["spec", "template"], "spec.template."),
    ("Deployment", &["spec", "template"], "spec.template."),
    ("DaemonSet", &["spec", "template"], "spec.template."),
    ("StatefulSet", &["spec", "template"], "spec.template."),
    ("Job", &["spec", "template"], "spec.template."),
    ("CronJob", &["spec", "jobTemplate", "spec", "template"], "spec.jobTemplate.spec.template."),
];

/// An annotation of service accounts, and the warning about it.
const MOUNTABLE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";
const MOUNTABLE_SECRETS_TEXT: &str =
    "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets";

/// Those of them that persistent volumes have.
const PERSISTENT: [&str; 6] = ["cephfs", "photonPersistentDisk", "rbd", "scaleIO", "storageOS", "glusterfs"];

/// Returns what is wrong with a certificate or its key at first sight: they are not in PEM.
fn key_pair_warning(data: &Value) -> Option<String> {
    for (name, what) in [("tls.crt", "certificate"), ("tls.key", "key")] {
        let pem = base64::decode(text(data, name)).unwrap_or_default();
        if !pem.windows(BEGIN.len()).any(|part| part == BEGIN) {
            return Some(format!("tls: failed to find any PEM data in {what} input"));
        }
    }
    None
}

/// How a part of a PEM file begins.
const BEGIN: &[u8] = b"-----BEGIN ";

/// Returns the warning about every request for a resource; empty if it is not deprecated.
pub(crate) fn of_resource(resource: &Resource) -> &'static str {
    let is = |row: &&(&str, &str, &str)| resource.api_version == row.0 && resource.name == row.1;
    DEPRECATED.iter().find(is).map_or("", |row| row.2)
}

const TOKENS_IN_ATTRIBUTES: &str = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to \
     prevent possible logging of tokens in volume attributes";

/// How the names of webhooks and policies of files end.
const MANIFEST_SUFFIX: &str = ".static.k8s.io";

/// Returns the name of an object that only a manifest of admission may have, and what is said about it.
fn manifest_name(resource: &Resource, object: &Value) -> Option<(String, String)> {
    if resource.group != ADMISSION_GROUP {
        return None;
    }
    let name = object.at(["metadata", "name"]).and_then(Value::as_str)?;
    let text = || {
        format!(
            "names ending with {MANIFEST_SUFFIX:?} are reserved for static manifest-based configurations and cannot be managed via the API"
        )
    };
    name.ends_with(MANIFEST_SUFFIX).then(|| (name.to_owned(), text()))
}

/// Returns the error of a new object whose name only a manifest of admission may have.
pub(crate) fn manifest_name_fault(
    resource: &Resource,
    object: &Value,
    version: KubernetesVersion,
) -> Option<FieldError> {
    if !version.has(Behaviour::AdmissionManifests) {
        return None;
    }
    let (name, text) = manifest_name(resource, object)?;
    Some(FieldError::invalid("metadata.name", &name.into(), text))
}

/// Returns the warnings about rules of webhooks for what webhooks do not see.
fn of_hidden_reviews(object: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    for (at, webhook) in object.items("webhooks").iter().enumerate() {
        for (index, rule) in webhook.items("rules").iter().enumerate() {
            let (groups, resources) = (rule.texts("apiGroups"), rule.texts("resources"));
            if groups.iter().chain(&resources).any(|named| named == "*") {
                continue;
            }
            let mut seen = Seen::default();
            for group in groups.iter().filter(|group| seen.insert(group.as_str())) {
                for (hidden, resource) in REVIEWS.iter().filter(|(hidden, _)| group == hidden) {
                    if resources.iter().any(|named| named == resource) {
                        warnings.push(format!(
                            "webhooks[{at}].rules[{index}]: {resource}.{hidden} is excluded from admission webhooks; this rule will have no effect"
                        ));
                    }
                }
            }
        }
    }
    warnings
}

/// Returns the warnings about a new object, or about one whose desired state has changed.
pub(crate) fn of_object(
    resource: &Resource,
    object: &Value,
    old: Option<&Value>,
    version: KubernetesVersion,
) -> Vec<String> {
    let kind = resource.kind.as_str();
    let mut warnings = Vec::new();
    if resource.group == ADMISSION_GROUP && (old.is_some() || !version.has(Behaviour::AdmissionManifests)) {
        warnings.extend(manifest_name(resource, object).map(|(_, text)| format!("metadata.name: {text}")));
    }
    if resource.group == ADMISSION_GROUP && version.has(Behaviour::ReviewsHiddenFromWebhooks) {
        warnings.extend(of_hidden_reviews(object));
    }
    // Pods are updated by programs, and often.
    if kind == "Pod" && old.is_none() {
        of_name(object, "the Pod's hostname", &mut warnings);
        of_template(object, "", &mut warnings);
    }
    if NAMED_AFTER.contains(&kind) && old.is_none() {
        of_name(object, "Pod names and hostnames", &mut warnings);
    }
    let has = |account: &Value| account.at(["metadata", "annotations", MOUNTABLE_SECRETS]).is_some();
    if kind == "ServiceAccount" && has(object) && !old.is_some_and(has) {
        warnings.push(format!("metadata.annotations[{MOUNTABLE_SECRETS}]: {MOUNTABLE_SECRETS_TEXT}"));
    }
    let spec = object.get("spec").unwrap_or(&Value::Null);
    match kind {
        "PersistentVolumeClaim" => {
            of_annotations(object, &VOLUME_ANNOTATIONS[..1], "", &mut warnings);
            byte_amounts::of_claim(spec, "spec", &mut warnings);
        }
        "PersistentVolume" => {
            of_annotations(object, &VOLUME_ANNOTATIONS, "", &mut warnings);
            if text(spec, "persistentVolumeReclaimPolicy") == "Recycle" {
                warnings.push(format!("spec.persistentVolumeReclaimPolicy: {RECYCLE}"));
            }
            if let Some(required) = spec.at(["nodeAffinity", "required"]) {
                node_labels::of_terms(required, "spec.nodeAffinity.required", &mut warnings);
            }
        }
        "StorageClass" => of_topologies(object, &mut warnings),
        "CSIStorageCapacity" => {
            if let Some(topology) = object.get("nodeTopology") {
                node_labels::of_label_selector(topology, "nodeTopology", &mut warnings);
            }
        }
        "RuntimeClass" => {
            let path = |_: &str| "scheduling.nodeSelector".to_string();
            node_labels::of_selector(object.at(["scheduling", "nodeSelector"]), path, &mut warnings);
        }
        "Node" => of_node(spec, &mut warnings),
        "Ingress"
            if old.is_none()
                && object.at(["metadata", "annotations", INGRESS_CLASS]).is_some()
                && is_missing(spec, "ingressClassName") =>
        {
            warnings.push(format!(
                "annotation {INGRESS_CLASS:?} is deprecated, please use 'spec.ingressClassName' instead"
            ));
        }
        "Endpoints" => of_endpoints(object, &mut warnings),
        "EndpointSlice" => of_slice(object, old.is_none(), &mut warnings),
        "NetworkPolicy" => of_network_policy(spec, &mut warnings),
        _ => {}
    }
    if kind == "PersistentVolume" {
        for (name, text) in
            PERSISTENT.iter().filter_map(|name| VOLUMES.iter().find(|(known, _)| known == name))
        {
            if object.at(["spec", source_name(name)]).is_some_and(|source| !source.is_null()) {
                warnings.push(format!("spec.{name}: {text}"));
            }
        }
    }
    if kind == "Service" {
        of_service(object, &mut warnings);
    }
    let requests =
        |of: &Value| of.get("spec").map(|spec| spec.items("tokenRequests").to_vec()).unwrap_or_default();
    if kind == "CSIDriver"
        && !requests(object).is_empty()
        && object.at(["spec", "serviceAccountTokenInSecrets"]).is_none_or(Value::is_null)
        && old.is_none_or(|old| requests(old) != requests(object))
    {
        warnings.push(TOKENS_IN_ATTRIBUTES.into());
    }
    if kind == "Secret" && text(object, "type") == "kubernetes.io/tls" {
        warnings.extend(key_pair_warning(object.get("data").unwrap_or(&Value::Null)));
    }
    if let Some((_, path, at)) = TEMPLATES.iter().find(|(known, ..)| *known == kind) {
        let template_of = |object: &'_ Value| object.at(path.iter().copied()).cloned();
        let is_changed = |old: &Value| match kind {
            "DaemonSet" => template_of(old) != template_of(object),
            _ => old.at(["metadata", "generation"]) != object.at(["metadata", "generation"]),
        };
        if old.is_none_or(is_changed) {
            if matches!(kind, "Job" | "CronJob") {
                of_job(object, path, at, &mut warnings);
            }
            // Kubernetes warns of the template that a replication controller had.
            let shown = old.filter(|_| kind == "ReplicationController").unwrap_or(object);
            if let Some(template) = shown.at(path.iter().copied()) {
                of_template(template, at, &mut warnings);
            }
        }
    }
    if kind == "StatefulSet" {
        of_stateful_set(spec, old.is_some(), &mut warnings);
    }
    warnings
}

/// The kinds whose pods are named after them, beside jobs.
const NAMED_AFTER: [&str; 5] = ["Deployment", "ReplicaSet", "ReplicationController", "Job", "CronJob"];

/// Warns of a name that is no label of a host name.
fn of_name(object: &Value, used_in: &str, warnings: &mut Vec<String>) {
    let name = object.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
    let faults = format::dns_label(name);
    if !faults.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in {used_in}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            faults.join(" ")
        ));
    }
}

const RECYCLE: &str = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";
const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";

/// Annotations of volumes that became fields; claims have the first.
const VOLUME_ANNOTATIONS: [(&str, &str); 2] = [
    (
        "volume.beta.kubernetes.io/storage-class",
        "deprecated since v1.8; use \"storageClassName\" attribute instead",
    ),
    (
        "volume.beta.kubernetes.io/mount-options",
        "deprecated since v1.31; use \"mountOptions\" attribute instead",
    ),
];

fn of_topologies(class: &Value, warnings: &mut Vec<String>) {
    for (at, topology) in class.items("allowedTopologies").iter().enumerate() {
        for (index, expression) in topology.items("matchLabelExpressions").iter().enumerate() {
            let path = || format!("allowedTopologies[{at}].matchLabelExpressions[{index}].key");
            node_labels::of_topology(text(expression, "key"), path, warnings);
        }
    }
}

fn of_node(spec: &Value, warnings: &mut Vec<String>) {
    if !is_missing(spec, "configSource") {
        warnings.push("spec.configSource: the feature is removed".into());
    }
    if !text(spec, "externalID").is_empty() {
        warnings.push("spec.externalID: this field is deprecated, and is unused by Kubernetes".into());
    }
    for (at, range) in spec.items("podCIDRs").iter().enumerate() {
        warnings.extend(of_network(format_args!("spec.podCIDRs[{at}]"), range));
    }
}

/// The most completions, and the most pods at a time, of an indexed job whose failures can be recorded for certain.
const INDEXED: (i64, i64) = (100_000, 10_000);

/// Warns of an indexed job with very many indexes.
fn of_job(object: &Value, template: &[&str], at: &str, warnings: &mut Vec<String>) {
    let Some((_, path)) = template.split_last() else { return };
    let spec = object.at(path.iter().copied()).unwrap_or(&Value::Null);
    let number = |name: &str| spec.get(name).and_then(Value::as_i64).unwrap_or(0);
    if text(spec, "completionMode") == "Indexed"
        && number("completions") > INDEXED.0
        && number("parallelism") > INDEXED.1
    {
        let path = at.strip_suffix(".template.").unwrap_or(at);
        warnings.push(format!(
            "{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        ));
    }
}

fn of_stateful_set(spec: &Value, is_update: bool, warnings: &mut Vec<String>) {
    for (at, claim) in spec.items("volumeClaimTemplates").iter().enumerate() {
        // In an update Kubernetes names the field of its own type too.
        let below = if is_update { ".Spec" } else { "" };
        if let Some(claim) = claim.get("spec") {
            byte_amounts::of_claim(claim, &format!("spec.volumeClaimTemplates[{at}]{below}"), warnings);
        }
    }
    if spec.get("revisionHistoryLimit").and_then(Value::as_i64).is_some_and(|limit| limit < 0) {
        warnings.push(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
                .into(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry_at;

    /// Returns the warnings about an object of a kind in 1.36.
    fn of_object(kind: &str, object: &Value, old: Option<&Value>) -> Vec<String> {
        let version = KubernetesVersion::V1_36;
        let api_version = if kind == "Deployment" { "apps/v1" } else { "v1" };
        super::of_object(registry_at(version).of_kind(api_version, kind).unwrap(), object, old, version)
    }

    #[test]
    fn names_of_manifests_and_rules_without_effect_depend_on_the_version() {
        let object: Value = r#"{"metadata":{"name":"a.static.k8s.io"},"webhooks":[{"rules":[
            {"apiGroups":["","authentication.k8s.io","authentication.k8s.io"],"resources":["pods","tokenreviews"]},
            {"apiGroups":["authorization.k8s.io"],"resources":["*"]}]}]}"#
            .parse()
            .unwrap();
        let of = |version: KubernetesVersion| {
            let resource = registry_at(version)
                .of_kind("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration");
            let resource = resource.unwrap();
            let warnings = |old| super::of_object(resource, &object, old, version);
            let fault = manifest_name_fault(resource, &object, version).map(|fault| fault.path);
            (warnings(None), warnings(Some(&object)), fault)
        };
        let name = "metadata.name: names ending with \".static.k8s.io\" are reserved for static manifest-based configurations \
            and cannot be managed via the API";
        let rule = "webhooks[0].rules[0]: tokenreviews.authentication.k8s.io is excluded from admission webhooks; this rule will \
            have no effect";
        let text = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        assert_eq!(of(KubernetesVersion::V1_36), (text(&[name]), text(&[name]), None));
        let fault = Some("metadata.name".to_owned());
        assert_eq!(of(KubernetesVersion::V1_37), (text(&[rule]), text(&[name, rule]), fault));
    }

    #[test]
    fn entries_that_hide_each_other_are_named() {
        let pod: Value = r#"{"metadata":{"name":"p"},"spec":{"imagePullSecrets":[{"name":"s"},{"name":"s"}],"containers":[
            {"name":"c","env":[{"name":"A","value":"1"},{"name":"A","value":"2"},{"name":"A","value":"$(A)x"}],
             "ports":[{"containerPort":80,"protocol":"TCP","name":"http"},{"containerPort":80,"protocol":"TCP","name":"http"}]}]}}"#
            .parse()
            .unwrap();
        assert_eq!(
            of_object("Pod", &pod, None),
            [
                "spec.imagePullSecrets[1].name: duplicate name \"s\"",
                "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply",
                "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
                "spec.containers[0].ports[1]: duplicate port name \"http\" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]",
            ]
        );
        assert!(of_object("Pod", &pod, Some(&pod)).is_empty());
        let named = Value::object([("name", Value::from("d"))]);
        let deployment = Value::object([("metadata", named), ("spec", Value::object([("template", pod)]))]);
        let warnings = of_object("Deployment", &deployment, None);
        assert!(warnings[0].starts_with("spec.template.spec.imagePullSecrets[1]"), "{warnings:?}");
        assert!(of_object("Deployment", &deployment, Some(&deployment)).is_empty());
        let account: Value =
            r#"{"metadata":{"annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}}}"#.parse().unwrap();
        assert_eq!(of_object("ServiceAccount", &account, None).len(), 1);
        assert!(of_object("ServiceAccount", &account, Some(&account)).is_empty());
    }

    #[test]
    fn warnings_about_ports_grow_with_their_number() {
        let warnings = |count: usize| {
            let port = Value::object([("containerPort", Value::from(80)), ("protocol", Value::from("TCP"))]);
            let container = Value::object([("ports", Value::array((0..count).map(|_| port.clone())))]);
            let spec = Value::object([("containers", Value::array([container]))]);
            let metadata = Value::object([("name", Value::from("p"))]);
            of_object("Pod", &Value::object([("metadata", metadata), ("spec", spec)]), None).len()
        };
        assert_eq!(
            warnings(pod_template::COMPARED_PORTS),
            pod_template::COMPARED_PORTS * (pod_template::COMPARED_PORTS - 1) / 2
        );
        assert_eq!(warnings(400) - warnings(200), 200 * pod_template::COMPARED_PORTS);
    }
}
