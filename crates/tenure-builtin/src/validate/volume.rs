//! Validation of volumes: names of iSCSI targets, disks and registries, sources of claims, and the placement of a volume.

use super::{
    context::{Context, text},
    go_form,
};
use tenure_meta::{
    FieldError, FieldErrorKind, FieldErrors,
    format::{self, Verdict},
};
use tenure_value::{Object, Value};

/// Validates the name of the driver of a storage class, which counts in lower case.
pub(crate) fn provisioner(context: &Context<'_>, errors: &mut FieldErrors) {
    let name = context.text("provisioner").to_lowercase();
    if !name.is_empty() {
        context.invalid("provisioner", &name.as_str().into(), format::qualified_name(&name), errors);
    }
}

/// Validates the name of the driver of a class of attributes, in the same way.
pub(crate) fn driver_name(context: &Context<'_>, errors: &mut FieldErrors) {
    let name = context.text("driverName").to_lowercase();
    if !name.is_empty() {
        context.invalid("driverName", &name.as_str().into(), format::qualified_name(&name), errors);
    }
}

/// Validates that a volume of a Fibre Channel has one kind of names.
pub(crate) fn fibre_channel(context: &Context<'_>, errors: &mut FieldErrors) {
    let detail = "must specify either targetWWNs or wwids, but not both";
    match (context.items("targetWWNs").is_empty(), context.items("wwids").is_empty()) {
        (true, true) => errors.push(context.required("targetWWNs", detail)),
        (false, false) => {
            let value = context.get("targetWWNs").cloned().unwrap_or_default();
            context.invalid("targetWWNs", &value, vec![detail.into()], errors);
        }
        _ => {}
    }
}

/// The forms of names of iSCSI targets and initiators that have a fixed number of letters and digits after the prefix.
const ISCSI_NUMBERS: [(&str, usize); 2] = [("eui", 16), ("naa", 32)];

/// Returns the error in the name of an iSCSI target or initiator.
pub(crate) fn iscsi_name(text: &str) -> Verdict {
    let number = ISCSI_NUMBERS.iter().find(|(prefix, _)| text.starts_with(prefix));
    let is_valid = match number {
        Some((prefix, digits)) => {
            let rest: Vec<char> = text[prefix.len()..].chars().skip(1).collect();
            rest.len() == *digits && rest.iter().all(char::is_ascii_alphanumeric)
        }
        None if text.starts_with("iqn") => text.strip_prefix("iqn.").is_some_and(is_qualified),
        None => return vec!["must be valid format starting with iqn, eui, or naa".into()],
    };
    Vec::from_iter((!is_valid).then(|| "must be valid format".into()))
}

/// Whether a name without its prefix has a year and a month, a reversed domain, and a name after a colon.
fn is_qualified(text: &str) -> bool {
    let Some((domain, name)) = text.split_once(':') else { return false };
    let (date, domain) = domain.split_at_checked("yyyy-mm.".len()).unwrap_or_default();
    let is_date = date.bytes().zip(*b"0000-00.").all(|(byte, form)| match form {
        b'0' => byte.is_ascii_digit(),
        separator => byte == separator,
    });
    let in_domain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    let in_name = |letter: char| !",;*&$|".contains(letter) && !letter.is_ascii_whitespace();
    !date.is_empty()
        && is_date
        && !domain.is_empty()
        && domain.bytes().all(in_domain)
        && !name.is_empty()
        && name.chars().all(in_name)
}

/// Validates that the URI of an Azure disk is that of its kind.
pub(crate) fn azure_disk(context: &Context<'_>, errors: &mut FieldErrors) {
    let (uri, kind) = (context.text("diskURI"), context.text("kind"));
    let (start, form) = match kind {
        "" => return,
        "Managed" => (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
        ),
        _ => ("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"),
    };
    if !uri.starts_with(start) {
        let detail = format!("supported values: \"{form}\"");
        errors.push(context.fault("diskURI", FieldErrorKind::NotSupported, &uri.into(), &detail));
    }
}

/// Validates that the registry of a Quobyte volume consists of hosts with ports.
pub(crate) fn quobyte(context: &Context<'_>, errors: &mut FieldErrors) {
    let registry = context.text("registry");
    let has_port = |pair: &str| match pair.rsplit_once(':') {
        Some((host, _)) if host.starts_with('[') => host.ends_with(']'),
        Some((host, _)) => !host.contains(':'),
        None => false,
    };
    if !registry.is_empty() && !registry.split(',').all(has_port) {
        let detail = "must be a host:port pair or multiple pairs separated by commas";
        errors.push(context.fault("registry", FieldErrorKind::Invalid, &registry.into(), detail));
    }
}

/// Validates the sources of a claim: without a group they are claims, and if both are given, they name the same.
pub(crate) fn claim_sources(context: &Context<'_>, errors: &mut FieldErrors) {
    for name in ["dataSource", "dataSourceRef"] {
        let Some(source) = context.get(name) else { continue };
        let (kind, group) = (text(source, "kind"), text(source, "apiGroup"));
        if group.is_empty() && kind != "PersistentVolumeClaim" {
            let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            errors.push(context.fault(name, FieldErrorKind::Invalid, &kind.into(), detail));
        }
        let fault = if group.is_empty() { Verdict::new() } else { format::dns_subdomain(group) };
        context.invalid(&format!("{name}.apiGroup"), &group.into(), fault, errors);
        let namespace = text(source, "namespace");
        let fault = if namespace.is_empty() { Verdict::new() } else { format::dns_label(namespace) };
        context.invalid(&format!("{name}.namespace"), &namespace.into(), fault, errors);
    }
    let (Some(source), Some(reference)) = (context.get("dataSource"), context.get("dataSourceRef")) else {
        return;
    };
    let detail = match () {
        () if !text(reference, "namespace").is_empty() => {
            "may not be specified when dataSourceRef.namespace is specified"
        }
        () if ["apiGroup", "kind", "name"].iter().any(|name| text(source, name) != text(reference, name)) => {
            "must match dataSourceRef"
        }
        () => return,
    };
    errors.push(context.fault("", FieldErrorKind::Invalid, &Value::Object(Object::default()), detail));
}

/// Validates that a volume is attached that has a name, or is given.
pub(crate) fn attachment_source(context: &Context<'_>, errors: &mut FieldErrors) {
    let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (context.get("persistentVolumeName"), context.get("inlineVolumeSpec")) {
        (None, None) => errors.push(context.required("", detail)),
        (Some(_), Some(_)) => {
            errors.push(context.fault("", FieldErrorKind::Forbidden, &Value::Null, detail));
        }
        (Some(name), None) if name.as_str() == Some("") => {
            errors.push(
                context.required("persistentVolumeName", "must specify non empty persistentVolumeName"),
            );
        }
        _ => {}
    }
}

/// The states of the resizing of a claim.
const RESIZE_STATUSES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizePending",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
];

/// Returns the error in the state of the resizing of a claim.
pub(crate) fn resize_status(text: &str) -> Verdict {
    let list = || RESIZE_STATUSES.map(|status| format!("\"{status}\"")).join(", ");
    Vec::from_iter((!RESIZE_STATUSES.contains(&text)).then(|| format!("supported values: {}", list())))
}

/// Returns the error in the name of a resource of a claim: storage is the only one without a domain, or of `kubernetes.io`.
pub(crate) fn claim_resource(text: &str) -> Verdict {
    let is_native = match text.split_once('/') {
        Some((domain, _)) => domain.ends_with("kubernetes.io"),
        None => true,
    };
    match format::qualified_name(text) {
        verdict if verdict.is_empty() && is_native && text != "storage" => {
            vec!["supported values: \"storage\"".into()]
        }
        verdict => verdict,
    }
}

/// Labels of nodes that were renamed, and their names now.
const RENAMED_LABELS: [(&str, &str); 5] = [
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
];

/// The nodes that a volume can be used from stay the same; only labels that were renamed may be replaced by their new names.
pub(crate) fn node_affinity(old: &Value, new: &Value) -> Vec<FieldError> {
    let find = |volume: &Value| volume.at(["spec", "nodeAffinity"]).filter(|value| !value.is_null()).cloned();
    let Some(was) = find(old) else { return Vec::new() };
    let is = find(new).unwrap_or_default();
    if is_same(&was, &is) {
        return Vec::new();
    }
    let detail = "field is immutable, except for updating from beta label to GA";
    let shown = match &is {
        Value::Null => "null".into(),
        is => {
            let required = is.get("required").filter(|required| !required.is_null());
            format!("{{\"Required\":{}}}", required.map_or("null".into(), go_form::of_struct))
        }
    };
    let message = format!("Invalid value: {shown}: {detail}");
    vec![FieldError::with_message(FieldErrorKind::Invalid, "nodeAffinity", message)]
}

/// Whether a value is the same but for labels that were renamed.
fn is_same(was: &Value, is: &Value) -> bool {
    match (was, is) {
        (Value::Object(was), Value::Object(is)) => {
            was.len() == is.len()
                && was.iter().zip(is.iter()).all(|((name, was), (other, is))| {
                    name == other && (is_same(was, is) || name == "key" && is_renamed(was, is))
                })
        }
        (Value::Array(was), Value::Array(is)) => {
            was.len() == is.len() && was.iter().zip(is.iter()).all(|(was, is)| is_same(was, is))
        }
        (was, is) => was == is,
    }
}

fn is_renamed(was: &Value, is: &Value) -> bool {
    RENAMED_LABELS.iter().any(|(former, now)| was.as_str() == Some(former) && is.as_str() == Some(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_iscsi_targets_have_one_of_three_forms() {
        let long = format!("naa.{}", "0".repeat(32));
        for right in ["iqn.2001-04.com.example:storage.disk2", "eui.02004567A425678D", &long] {
            assert_eq!(iscsi_name(right), Vec::<String>::new(), "{right}");
        }
        for wrong in [
            "",
            "x",
            "iqn",
            "iqn.2001-04.com.example",
            "iqn.2001-4.com:a",
            "iqn.2001-04.:a",
            "iqn.2001-04.c:a b",
            "eui.1",
            "naa.é",
        ] {
            assert!(!iscsi_name(wrong).is_empty(), "{wrong}");
        }
    }

    #[test]
    fn labels_may_take_their_new_names() {
        let volume = |key: &str| -> Value {
            format!(r#"{{"spec":{{"nodeAffinity":{{"required":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":"{key}","operator":"Exists"}}]}}]}}}}}}}}"#)
                .parse()
                .unwrap()
        };
        let (beta, stable) = (volume("beta.kubernetes.io/os"), volume("kubernetes.io/os"));
        assert!(node_affinity(&beta, &stable).is_empty());
        assert!(node_affinity(&Value::Null, &stable).is_empty());
        assert_eq!(node_affinity(&stable, &beta).len(), 1);
        assert_eq!(node_affinity(&stable, &Value::Null).len(), 1);
    }
}
