//! Objects as Kubernetes quotes them in errors: its internal types have no names for JSON, so that fields appear under their names in
//! Go, all of them, in the order of the type. The types of a pod template are listed here; of others only the fields that are set are
//! shown.

use tenure_meta::{FieldError, FieldErrorKind};
use tenure_value::{Object, Value};

/// The most bytes of an object that an error shows.
const MOST_BYTES: usize = 16 << 10;

/// The fields of a type in Go, in order; what an absent one shows follows after `=`, and is `null` otherwise.
type Fields = &'static [&'static str];

/// The types inside of a pod template, by the field that has them.
const TYPES: [(&str, Fields); 6] = [
    ("rollingUpdate", &["MaxUnavailable=0", "MaxSurge=0"]),
    ("spec", POD_SPEC),
    ("containers", CONTAINER),
    ("initContainers", CONTAINER),
    ("resources", &["Limits", "Requests", "Claims"]),
    ("securityContext", &["SELinuxOptions", "WindowsOptions", "RunAsUser", "RunAsGroup", "RunAsNonRoot"]),
];

const POD_SPEC: Fields = &[
    "Volumes",
    "InitContainers",
    "Containers",
    "EphemeralContainers",
    "RestartPolicy=\"\"",
    "TerminationGracePeriodSeconds",
    "ActiveDeadlineSeconds",
    "DNSPolicy=\"\"",
    "NodeSelector",
    "ServiceAccountName=\"\"",
    "AutomountServiceAccountToken",
    "NodeName=\"\"",
    "SecurityContext",
    "ImagePullSecrets",
    "Hostname=\"\"",
    "Subdomain=\"\"",
    "SetHostnameAsFQDN",
    "Affinity",
    "SchedulerName=\"\"",
    "Tolerations",
    "HostAliases",
    "PriorityClassName=\"\"",
    "Priority",
    "PreemptionPolicy",
    "DNSConfig",
    "ReadinessGates",
    "RuntimeClassName",
    "Overhead",
    "EnableServiceLinks",
    "TopologySpreadConstraints",
    "OS",
    "SchedulingGates",
    "ResourceClaims",
    "Resources",
    "HostnameOverride",
    "SchedulingGroup",
];

const CONTAINER: Fields = &[
    "Name=\"\"",
    "Image=\"\"",
    "Command",
    "Args",
    "WorkingDir=\"\"",
    "Ports",
    "EnvFrom",
    "Env",
    "Resources={\"Limits\":null,\"Requests\":null,\"Claims\":null}",
    "ResizePolicy",
    "RestartPolicy",
    "RestartPolicyRules",
    "VolumeMounts",
    "VolumeDevices",
    "LivenessProbe",
    "ReadinessProbe",
    "StartupProbe",
    "Lifecycle",
    "TerminationMessagePath=\"\"",
    "TerminationMessagePolicy=\"\"",
    "ImagePullPolicy=\"\"",
    "SecurityContext",
    "Stdin=false",
    "StdinOnce=false",
    "TTY=false",
];

/// Fields whose content has no names of Go.
const KEPT: [&str; 8] = [
    "limits",
    "requests",
    "selector",
    "capacity",
    "allocatedResources",
    "allocatedResourceStatuses",
    "nodeSelector",
    "overhead",
];

const CLAIM_RESOURCES: Fields = &["Limits", "Requests"];

/// A claim of volumes.
const CLAIM: Fields = &[
    "AccessModes",
    "Selector",
    "Resources={\"Limits\":null,\"Requests\":null}",
    "VolumeName=\"\"",
    "StorageClassName",
    "VolumeMode",
    "DataSource",
    "DataSourceRef",
    "VolumeAttributesClassName",
];

const CLAIM_STATUS: Fields = &[
    "Phase=\"\"",
    "AccessModes",
    "Capacity",
    "Conditions",
    "AllocatedResources",
    "AllocatedResourceStatuses",
    "CurrentVolumeAttributesClassName",
    "ModifyVolumeStatus",
    "HealthStatus",
];

const STRATEGY: Fields = &["Type=\"\"", "RollingUpdate"];

/// The security context of a pod, which has fields that the API has in the pod.
const POD_SECURITY: Fields = &[
    "HostNetwork=false",
    "HostPID=false",
    "HostIPC=false",
    "ShareProcessNamespace",
    "HostUsers",
    "SELinuxOptions",
    "WindowsOptions",
    "RunAsUser",
    "RunAsGroup",
    "RunAsNonRoot",
    "SupplementalGroups",
    "SupplementalGroupsPolicy",
    "FSGroup",
    "FSGroupChangePolicy",
    "Sysctls",
    "SeccompProfile",
    "AppArmorProfile",
    "SELinuxChangePolicy",
];

/// The spec of a pod in the order of its type since 1.37, which has the fields of the API.
const FLAT_POD_SPEC: Fields = &[
    "Volumes",
    "InitContainers",
    "Containers",
    "EphemeralContainers",
    "RestartPolicy=\"\"",
    "TerminationGracePeriodSeconds",
    "ActiveDeadlineSeconds",
    "DNSPolicy=\"\"",
    "NodeSelector",
    "ServiceAccountName=\"\"",
    "DeprecatedServiceAccount=\"\"",
    "AutomountServiceAccountToken",
    "NodeName=\"\"",
    "HostNetwork=false",
    "HostPID=false",
    "HostIPC=false",
    "ShareProcessNamespace",
    "SecurityContext",
    "ImagePullSecrets",
    "Hostname=\"\"",
    "Subdomain=\"\"",
    "Affinity",
    "SchedulerName=\"\"",
    "Tolerations",
    "HostAliases",
    "PriorityClassName=\"\"",
    "Priority",
    "DNSConfig",
    "ReadinessGates",
    "RuntimeClassName",
    "EnableServiceLinks",
    "PreemptionPolicy",
    "Overhead",
    "TopologySpreadConstraints",
    "SetHostnameAsFQDN",
    "OS",
    "HostUsers",
    "SchedulingGates",
    "ResourceClaims",
    "Resources",
    "HostnameOverride",
    "SchedulingGroup",
    "EvictionResponders",
];

const FLAT_POD_SECURITY: Fields = &[
    "SELinuxOptions",
    "WindowsOptions",
    "RunAsUser",
    "RunAsGroup",
    "RunAsNonRoot",
    "SupplementalGroups",
    "SupplementalGroupsPolicy",
    "FSGroup",
    "Sysctls",
    "FSGroupChangePolicy",
    "SeccompProfile",
    "AppArmorProfile",
    "SELinuxChangePolicy",
];

/// The type of a pod's spec.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PodLayout {
    /// What the pod shares with its node is in the security context.
    Nested,
    /// As in the API, since 1.37.
    Flat,
}

/// The fields of a pod that are in its security context.
const OF_SECURITY: [&str; 5] = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];

/// Returns the error of a struct, shown as Kubernetes does.
pub fn invalid_struct(path: &str, value: &Value, detail: &str) -> FieldError {
    let message = format!("Invalid value: {}: {detail}", of_struct(value));
    FieldError::with_message(FieldErrorKind::Invalid, path, message)
}

/// Returns a struct as errors show it.
pub(super) fn of_struct(value: &Value) -> String {
    let mut out = String::new();
    any(value, &mut out);
    cut(out)
}

/// Returns the strategy of a deployment or a daemon set, as errors show it.
pub(super) fn of_strategy(value: &Value) -> String {
    let mut out = String::new();
    listed(value, STRATEGY, &mut out);
    out
}

/// Returns the claims of a stateful set, as errors show them.
pub(super) fn of_claims(value: &Value) -> String {
    let claims = value.as_array().map(|claims| claims.items()).unwrap_or_default();
    let shown: Vec<String> = claims.iter().map(of_claim).collect();
    cut(format!("[{}]", shown.join(",")))
}

fn of_claim(claim: &Value) -> String {
    let mut out = String::from("{");
    embedded_metadata(claim, &mut out);
    for (name, fields) in [("Spec", CLAIM), ("Status", CLAIM_STATUS)] {
        out.push_str(&format!("{}\"{name}\":", if name == "Spec" { "" } else { "," }));
        let none = Value::Object(Object::default());
        listed(claim.get(&json_name(name)).unwrap_or(&none), fields, &mut out);
    }
    out.push('}');
    out
}

/// Returns the template of pods, or their spec, as errors show it.
pub(super) fn of_template(value: &Value, layout: PodLayout) -> String {
    let mut out = String::new();
    match (value.get("spec"), value.get("containers")) {
        (None, Some(_)) => pod_spec(value, layout, &mut out),
        (spec, _) => {
            out.push('{');
            embedded_metadata(value, &mut out);
            out.push_str("\"Spec\":");
            pod_spec(spec.unwrap_or(&Value::Null), layout, &mut out);
            out.push('}');
        }
    }
    cut(out)
}

/// Writes metadata, which has names for JSON and is embedded.
fn embedded_metadata(value: &Value, out: &mut String) {
    let metadata = value.get("metadata").and_then(Value::as_object);
    let fields = metadata.map(Object::fields).unwrap_or_default();
    let names =
        ["name", "generateName", "namespace", "labels", "annotations", "ownerReferences", "finalizers"];
    for name in names {
        if let Some((_, part)) = fields.iter().find(|(known, _)| known == name) {
            out.push_str(&format!("\"{name}\":{part},"));
        }
    }
}

fn pod_spec(spec: &Value, layout: PodLayout, out: &mut String) {
    let mut fields = spec.as_object().cloned().unwrap_or_default();
    if layout == PodLayout::Flat {
        return listed(&fields.into(), FLAT_POD_SPEC, out);
    }
    let mut security = spec.get("securityContext").and_then(Value::as_object).cloned().unwrap_or_default();
    for name in OF_SECURITY {
        if let Some(value) = spec.get(name) {
            security = security.with(name, value.clone());
        }
    }
    fields = fields.with("securityContext", security);
    listed(&fields.into(), POD_SPEC, out);
}

fn listed(value: &Value, fields: Fields, out: &mut String) {
    for (at, field) in fields.iter().enumerate() {
        let (go, zero) = field.split_once('=').unwrap_or((field, "null"));
        out.push_str(if at == 0 { "{" } else { "," });
        out.push_str(&format!("\"{go}\":"));
        let name = json_name(go);
        let part_fields = match name.as_str() {
            "securityContext" if fields == POD_SPEC => Some(POD_SECURITY),
            "resources" if fields == CLAIM => Some(CLAIM_RESOURCES),
            "securityContext" if fields == FLAT_POD_SPEC => Some(FLAT_POD_SECURITY),
            name => TYPES.iter().find(|(known, _)| *known == name).map(|(_, fields)| *fields),
        };
        match (value.get(&name).filter(|value| !value.is_null()), part_fields) {
            (None, _) => out.push_str(zero),
            (Some(part), Some(fields)) => each(part, fields, out),
            // Amounts have the names of their resources, and selectors names for JSON.
            (Some(part), None) if KEPT.contains(&name.as_str()) => out.push_str(&part.to_string()),
            (Some(part), None) => any(part, out),
        }
    }
    out.push('}');
}

/// Writes a struct of a type, or the items of a list.
fn each(value: &Value, fields: Fields, out: &mut String) {
    let Some(items) = value.as_array() else { return listed(value, fields, out) };
    for (at, item) in items.iter().enumerate() {
        out.push_str(if at == 0 { "[" } else { "," });
        listed(item, fields, out);
    }
    out.push_str(if items.is_empty() { "[]" } else { "]" });
}

/// Writes a value whose type is not listed.
fn any(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            out.push('{');
            for (at, (name, value)) in fields.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                let name = Value::from(exported(name));
                out.push_str(&format!("{name}:"));
                any(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "[" } else { "," });
                any(item, out);
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        other => out.push_str(&other.to_string()),
    }
}

/// Abbreviations that begin names, which Go writes in capitals.
const ABBREVIATIONS: [&str; 16] = [
    "api", "csi", "dns", "fc", "fs", "http", "ip", "iscsi", "nfs", "os", "rbd", "tcp", "tls", "tty", "uid",
    "url",
];

/// Returns the name in Go of a field in JSON.
fn exported(name: &str) -> String {
    let word = name.bytes().take_while(u8::is_ascii_lowercase).count();
    let (first, rest) =
        name.split_at(if ABBREVIATIONS.contains(&&name[..word]) { word } else { word.min(1) });
    first.to_ascii_uppercase() + rest
}

/// Returns the name of a field in JSON: of several capitals at the beginning the last one starts the second word.
fn json_name(go: &str) -> String {
    let capitals = go.bytes().take_while(u8::is_ascii_uppercase).count();
    let first = if capitals == go.len() { capitals } else { capitals.saturating_sub(1).max(1) };
    go[..first].to_ascii_lowercase() + &go[first..]
}

fn cut(mut text: String) -> String {
    if text.len() > MOST_BYTES {
        let end = (0..=MOST_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_go() {
        for (go, json) in [
            ("DNSPolicy", "dnsPolicy"),
            ("TTY", "tty"),
            ("OS", "os"),
            ("SELinuxOptions", "seLinuxOptions"),
            ("HostPID", "hostPID"),
            ("SetHostnameAsFQDN", "setHostnameAsFQDN"),
        ] {
            assert_eq!(json_name(go), json);
        }
        let value: Value = r#"{"kind":"Role","items":[{"a":1}],"none":[]}"#.parse().unwrap();
        assert_eq!(of_struct(&value), r#"{"Items":[{"A":1}],"Kind":"Role","None":[]}"#);
    }

    #[test]
    fn a_template_shows_every_field() {
        let template = r#"{"metadata":{"labels":{"j":"k"}},"spec":{"containers":[{"name":"c","image":"i"}],"hostNetwork":true}}"#;
        let shown = of_template(&template.parse().unwrap(), PodLayout::Nested);
        assert!(shown.starts_with(r#"{"labels":{"j":"k"},"Spec":{"Volumes":null,"InitContainers":null,"Containers":[{"Name":"c","Image":"i","Command":null"#), "{shown}");
        assert!(shown.contains(r#""SecurityContext":{"HostNetwork":true,"HostPID":false"#), "{shown}");
        assert!(shown.ends_with(r#""HostnameOverride":null,"SchedulingGroup":null}}"#), "{shown}");
        let shown = of_template(&template.parse().unwrap(), PodLayout::Flat);
        assert!(shown.contains(r#""NodeName":"","HostNetwork":true,"HostPID":false"#), "{shown}");
        assert!(shown.ends_with(r#""SchedulingGroup":null,"EvictionResponders":null}}"#), "{shown}");
    }
}
