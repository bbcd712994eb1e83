//! Warnings about deprecated resources, and about pods and pod templates that are valid but rarely intended: entries that hide each
//! other, selectors that match nothing, fields and annotations without effect.

use std::{collections::HashMap, fmt, net::IpAddr};
use tenure_meta::{FieldError, Resource, Seen, ValueExt};
use tenure_profile::{Behaviour, KubernetesVersion};
use tenure_value::{Object, Value, base64};

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

/// Annotations without effect, and the warnings about them.
const ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

/// An annotation of service accounts, and the warning about it.
const MOUNTABLE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";
const MOUNTABLE_SECRETS_TEXT: &str =
    "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets";

/// Volume sources without effect, and the warnings about them.
const VOLUMES: [(&str, &str); 9] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Those of them that persistent volumes have.
const PERSISTENT: [&str; 6] = ["cephfs", "photonPersistentDisk", "rbd", "scaleIO", "storageOS", "glusterfs"];

/// Returns the name of a volume source in the API.
fn source_name<'n>(name: &'n &'static str) -> &'n str {
    if *name == "storageOS" { "storageos" } else { name }
}

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

/// How many earlier ports of the same number a port is compared with: comparing all pairs would take quadratic time.
const COMPARED_PORTS: usize = 16;

/// Returns the warning about every request for a resource; empty if it is not deprecated.
pub(crate) fn of_resource(resource: &Resource) -> &'static str {
    let is = |row: &&(&str, &str, &str)| resource.api_version == row.0 && resource.name == row.1;
    DEPRECATED.iter().find(is).map_or("", |row| row.2)
}

const TOKENS_IN_ATTRIBUTES: &str = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to \
     prevent possible logging of tokens in volume attributes";

/// How the names of webhooks and policies of files end.
const MANIFEST_SUFFIX: &str = ".static.k8s.io";

/// The group of webhooks and policies.
const ADMISSION: &str = "admissionregistration.k8s.io";

/// The reviews that webhooks do not see since Kubernetes 1.37.
const HIDDEN_REVIEWS: [(&str, &str); 6] = [
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
];

/// Returns the name of an object that only a manifest of admission may have, and what is said about it.
fn manifest_name(resource: &Resource, object: &Value) -> Option<(String, String)> {
    if resource.group != ADMISSION {
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
            for group in &groups {
                for (hidden, resource) in HIDDEN_REVIEWS.iter().filter(|(hidden, _)| group == hidden) {
                    if resources.iter().any(|named| named == resource) && seen.insert((*hidden, *resource)) {
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
    if resource.group == ADMISSION && (old.is_some() || !version.has(Behaviour::AdmissionManifests)) {
        warnings.extend(manifest_name(resource, object).map(|(_, text)| format!("metadata.name: {text}")));
    }
    if resource.group == ADMISSION && version.has(Behaviour::ReviewsHiddenFromWebhooks) {
        warnings.extend(of_hidden_reviews(object));
    }
    // Pods are updated by programs, and often.
    if kind == "Pod" && old.is_none() {
        of_template(object, "", &mut warnings);
    }
    let has = |account: &Value| account.at(["metadata", "annotations", MOUNTABLE_SECRETS]).is_some();
    if kind == "ServiceAccount" && has(object) && !old.is_some_and(has) {
        warnings.push(format!("metadata.annotations[{MOUNTABLE_SECRETS}]: {MOUNTABLE_SECRETS_TEXT}"));
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
    if let Some((_, path, at)) = TEMPLATES.iter().find(|(known, ..)| *known == kind)
        && let Some(template) = object.at(path.iter().copied())
        && old.is_none_or(|old| old.at(path.iter().copied()) != Some(template))
    {
        of_template(template, at, &mut warnings);
    }
    warnings
}

/// Warns about fields of a service that have no effect.
fn of_service(service: &Value, warnings: &mut Vec<String>) {
    let spec = service.get("spec").unwrap_or(&Value::Null);
    let is_external_name = text(spec, "type") == "ExternalName";
    let is_headless = matches!(text(spec, "type"), "" | "ClusterIP") && text(spec, "clusterIP") == "None";
    let has_external = !spec.items("externalIPs").is_empty();
    if service.at(["metadata", "annotations", OLD_HINTS]).is_some() {
        warnings.push(format!(
            "annotation {OLD_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
    for (at, address) in spec.items("clusterIPs").iter().enumerate() {
        warnings.extend(of_address(&format!("spec.clusterIPs[{at}]"), address));
    }
    let affinity = text(spec, "sessionAffinity");
    for (field, is_given) in [
        ("loadBalancerIP", !text(spec, "loadBalancerIP").is_empty()),
        ("externalIPs", has_external),
        ("SessionAffinity", !matches!(affinity, "" | "None")),
    ] {
        if is_headless && is_given {
            warnings.push(format!("spec.{field} is ignored for headless services"));
        }
    }
    for (at, address) in spec.items("externalIPs").iter().enumerate() {
        warnings.extend(of_address(&format!("spec.externalIPs[{at}]"), address));
    }
    if has_external && !is_headless && !is_external_name {
        warnings
            .push("spec.externalIPs is deprecated and may no longer be implemented in some clusters".into());
    }
    if let Some(address) = spec.get("loadBalancerIP") {
        warnings.extend(of_address("spec.loadBalancerIP", address));
    }
    for (at, range) in spec.items("loadBalancerSourceRanges").iter().enumerate() {
        warnings.extend(of_network(&format!("spec.loadBalancerSourceRanges[{at}]"), range));
    }
    if has_external && is_external_name {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".into());
    }
    if !is_external_name && !text(spec, "externalName").is_empty() {
        warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".into());
    }
    if text(spec, "trafficDistribution") == "PreferClose" {
        warnings
            .push("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".into());
    }
}

/// Warns of an IPv6 address that is not written as all programs write it.
fn of_address(path: &str, address: &Value) -> Option<String> {
    let given = address.as_str()?;
    let canonical = given.parse::<IpAddr>().ok().filter(IpAddr::is_ipv6)?.to_string();
    (canonical != given).then(|| {
        format!("{path}: IPv6 address {given:?} should be in RFC 5952 canonical format ({canonical:?})")
    })
}

/// Warns of a block of IPv6 addresses that is not written as all programs write it.
fn of_network(path: &str, range: &Value) -> Option<String> {
    let given = range.as_str()?;
    let (address, bits) = given.trim().split_once('/')?;
    let address = address.parse::<IpAddr>().ok().filter(IpAddr::is_ipv6)?;
    let canonical = format!("{address}/{}", bits.parse::<u8>().ok()?);
    (canonical != given).then(|| {
        format!("{path}: IPv6 CIDR value {given:?} should be in RFC 5952 canonical format ({canonical:?})")
    })
}

const OLD_HINTS: &str = "service.kubernetes.io/topology-aware-hints";

fn of_template(template: &Value, at: &str, warnings: &mut Vec<String>) {
    let spec = template.get("spec").unwrap_or(&Value::Null);
    for (index, constraint) in spec.items("topologySpreadConstraints").iter().enumerate() {
        if is_missing(constraint, "labelSelector") {
            let path = format!("{at}spec.topologySpreadConstraints[{index}].labelSelector");
            warnings.push(format!("{path}: {NULL_SELECTOR}"));
        }
    }
    let annotations = template.at(["metadata", "annotations"]).unwrap_or(&Value::Null);
    for (name, text) in ANNOTATIONS.iter().filter(|(name, _)| annotations.get(name).is_some()) {
        warnings.push(format!("{at}metadata.annotations[{name}]: {text}"));
    }
    for (index, volume) in spec.items("volumes").iter().enumerate() {
        for (name, text) in VOLUMES.iter().filter(|(name, _)| !is_missing(volume, source_name(name))) {
            warnings.push(format!("{at}spec.volumes[{index}].{name}: {text}"));
        }
        let projected = volume.get("projected").map(|volume| volume.items("sources")).unwrap_or_default();
        for _ in projected.iter().filter(|source| source.as_object().is_none_or(Object::is_empty)) {
            let name = text(volume, "name");
            warnings.push(format!("volume {name:?} (Projected) has no sources provided"));
        }
    }
    repeated(spec, at, "hostAliases", "ip", warnings);
    repeated(spec, at, "imagePullSecrets", "name", warnings);
    for (index, secret) in spec.items("imagePullSecrets").iter().enumerate() {
        if text(secret, "name").is_empty() {
            warnings.push(format!("{at}spec.imagePullSecrets[{index}].name: invalid empty name \"\""));
        }
    }
    for container in containers(spec, at) {
        hidden_variables(&container, warnings);
    }
    ports(containers(spec, at), warnings);
    if spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds < 0) {
        let text = "must be >= 0; negative values are invalid and will be treated as 1";
        warnings.push(format!("{at}spec.terminationGracePeriodSeconds: {text}"));
    }
    for name in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = spec.at(["affinity", name]) else { continue };
        let path = format!("{at}spec.affinity.{name}");
        affinity_terms(affinity, "requiredDuringSchedulingIgnoredDuringExecution", None, &path, warnings);
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        affinity_terms(affinity, preferred, Some("podAffinityTerm"), &path, warnings);
    }
}

const NULL_SELECTOR: &str = "a null labelSelector results in matching no pod";

fn is_missing(value: &Value, name: &str) -> bool {
    value.get(name).is_none_or(Value::is_null)
}

/// Returns a string member; empty if absent.
fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Warns of entries of a list that repeat a name.
fn repeated(spec: &Value, at: &str, list: &str, key: &str, warnings: &mut Vec<String>) {
    let items = spec.items(list);
    let mut seen = Seen::default();
    for (index, item) in items.iter().enumerate() {
        let name = text(item, key);
        if !seen.insert(name) {
            warnings.push(format!("{at}spec.{list}[{index}].{key}: duplicate {key} {name:?}"));
        }
    }
}

/// A container of a pod, or a port of it. Its path is only written into warnings, which are rare.
#[derive(Clone, Copy)]
struct Part<'v> {
    at: &'v str,
    list: &'static str,
    container: usize,
    port: Option<usize>,
    value: &'v Value,
}

impl fmt::Display for Part<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}spec.{}[{}]", self.at, self.list, self.container)?;
        self.port.map_or(Ok(()), |port| write!(formatter, ".ports[{port}]"))
    }
}

/// Returns the containers of a pod.
fn containers<'v>(spec: &'v Value, at: &'v str) -> impl Iterator<Item = Part<'v>> {
    ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(move |list| {
        let numbered = spec.items(list).iter().enumerate();
        numbered.map(move |(container, value)| Part { at, list, container, port: None, value })
    })
}

/// Warns of a variable that replaces an earlier one of the same name without referring to it.
fn hidden_variables(container: &Part<'_>, warnings: &mut Vec<String>) {
    let variables = container.value.items("env");
    let mut seen = Seen::default();
    for (index, variable) in variables.iter().enumerate() {
        let name = text(variable, "name");
        if seen.insert(name) {
            continue;
        }
        let (value, reference) = (text(variable, "value"), format!("$({name})"));
        let extends = value.contains(&reference) && value != reference && is_missing(variable, "valueFrom");
        if !extends {
            warnings.push(format!(
                "{container}.env[{index}]: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
}

/// Warns of ports that are defined more than once in a pod, and of names that several ports have.
fn ports<'v>(containers: impl Iterator<Item = Part<'v>>, warnings: &mut Vec<String>) {
    let ports = containers.flat_map(|container| {
        let numbered = container.value.items("ports").iter().enumerate();
        numbered.map(move |(port, value)| Part { port: Some(port), value, ..container })
    });
    let ports: Vec<Part<'_>> = ports.collect();
    for port in &ports {
        let (number, host_ip) = (
            |name: &str| port.value.get(name).and_then(Value::as_i64).unwrap_or(0),
            text(port.value, "hostIP"),
        );
        if !host_ip.is_empty() && number("hostPort") == 0 {
            warnings.push(format!(
                "{port}: hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{} Protocol:{} HostIP:{host_ip}}}",
                text(port.value, "name"),
                number("containerPort"),
                text(port.value, "protocol"),
            ));
        }
    }
    overlapping_ports(&ports, warnings);
    repeated_port_names(&ports, warnings);
}

fn overlapping_ports<'v>(ports: &[Part<'v>], warnings: &mut Vec<String>) {
    let number = |port: &Value, name: &str| port.get(name).and_then(Value::as_i64).unwrap_or(0);
    let key = |port: &Part<'v>| (number(port.value, "containerPort"), text(port.value, "protocol"));
    let mut seen = Seen::default();
    if ports.iter().all(|port| seen.insert(key(port))) {
        return;
    }
    let mut known: HashMap<(i64, &str), Vec<Part<'_>>> = HashMap::new();
    for port in ports {
        let others = known.entry(key(port)).or_default();
        for other in others.iter() {
            let (host, other_host) = (number(port.value, "hostPort"), number(other.value, "hostPort"));
            let (ip, other_ip) = (text(port.value, "hostIP"), text(other.value, "hostIP"));
            let what = match host == other_host {
                true if ip == other_ip => "duplicate",
                _ if host == 0 || other_host == 0 => "overlapping",
                true if ip.is_empty() != other_ip.is_empty() => "dangerously ambiguous",
                _ => continue,
            };
            warnings.push(format!("{port}: {what} port definition with {other}"));
        }
        if others.len() < COMPARED_PORTS {
            others.push(*port);
        }
    }
}

fn repeated_port_names(ports: &[Part<'_>], warnings: &mut Vec<String>) {
    let named = ports.iter().map(|port| (text(port.value, "name"), port));
    let named = named.filter(|(name, _)| !name.is_empty());
    let mut seen = Seen::default();
    if named.clone().all(|(name, _)| seen.insert(name)) {
        return;
    }
    let mut known: HashMap<&str, &Part<'_>> = HashMap::new();
    for (name, port) in named {
        match known.get(name) {
            Some(other) => warnings.push(format!(
                "{port}: duplicate port name {name:?} with {other}, services and probes that select ports by name will use {other}"
            )),
            None => drop(known.insert(name, port)),
        }
    }
}

fn affinity_terms(affinity: &Value, list: &str, inner: Option<&str>, at: &str, warnings: &mut Vec<String>) {
    for (index, term) in affinity.items(list).iter().enumerate() {
        let (term, below) = match inner {
            Some(inner) => (term.get(inner).unwrap_or(&Value::Null), format!(".{inner}")),
            None => (term, String::new()),
        };
        if is_missing(term, "labelSelector") {
            warnings.push(format!("{at}.{list}[{index}]{below}.labelSelector: {NULL_SELECTOR}"));
        }
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
        let pod: Value = r#"{"metadata":{},"spec":{"imagePullSecrets":[{"name":"s"},{"name":"s"}],"containers":[
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
        let deployment = Value::object([("spec", Value::object([("template", pod)]))]);
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
            of_object("Pod", &Value::object([("spec", spec)]), None).len()
        };
        assert_eq!(warnings(COMPARED_PORTS), COMPARED_PORTS * (COMPARED_PORTS - 1) / 2);
        assert_eq!(warnings(400) - warnings(200), 200 * COMPARED_PORTS);
    }
}
