//! Rules of single kinds that compare several of their fields.

use super::{
    context::{Context, items, text},
    go_form, pod,
};
use std::net::Ipv6Addr;
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, Seen, format};
use tenure_value::{Object, Value};

const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

/// A field that is a number or a percentage.
#[derive(Clone, Copy)]
struct Share {
    number: i64,
    is_percent: bool,
}

impl Share {
    /// Reads a value, and says what is wrong with it.
    fn read(value: &Value) -> (Share, Option<&'static str>) {
        let plain = |number| Share { number, is_percent: false };
        match value {
            Value::Int(number) if *number >= 0 => (plain(*number), None),
            Value::Int(number) => (plain(*number), Some("must be greater than or equal to 0")),
            Value::String(text) => match text.strip_suffix('%').filter(|digits| is_number(digits)) {
                // What has too many digits counts as zero.
                Some(digits) => (Share { number: digits.parse().unwrap_or(0), is_percent: true }, None),
                None => (plain(text.parse().unwrap_or(0)), Some(PERCENT)),
            },
            _ => (plain(0), Some("must be an integer or percentage (e.g '5%')")),
        }
    }

    fn is_too_much(self) -> bool {
        self.is_percent && self.number > 100
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Validates the form of a field that is a number or a percentage, and returns it; an absent one is zero.
fn share(context: &Context<'_>, below: &str, value: Option<&Value>, errors: &mut FieldErrors) -> Share {
    let zero = Value::Int(0);
    let value = value.filter(|value| !value.is_null()).unwrap_or(&zero);
    let (share, fault) = Share::read(value);
    context.invalid(below, value, Vec::from_iter(fault.map(String::from)), errors);
    share
}

/// Validates that a percentage is not more than the whole.
fn no_more_than_all(
    context: &Context<'_>,
    below: &str,
    (value, share): (Option<&Value>, Share),
    errors: &mut FieldErrors,
) {
    if share.is_too_much() {
        let value = value.cloned().unwrap_or_default();
        errors.push(context.fault(below, FieldErrorKind::Invalid, &value, "must not be greater than 100%"));
    }
}

/// Validates the strategy of a deployment.
pub(crate) fn rolling_update(context: &Context<'_>, errors: &mut FieldErrors) {
    let update = context.at(&["strategy", "rollingUpdate"]).filter(|value| !value.is_null());
    match (context.at(&["strategy", "type"]).and_then(Value::as_str), update) {
        (Some("Recreate"), None) => {}
        (Some("Recreate"), Some(_)) => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            errors.push(context.fault(
                "strategy.rollingUpdate",
                FieldErrorKind::Forbidden,
                &Value::Null,
                detail,
            ));
        }
        (Some("RollingUpdate"), None) => {
            let detail = "this should be defaulted and never be nil";
            errors.push(context.required("strategy.rollingUpdate", detail));
        }
        (Some("RollingUpdate"), Some(update)) => {
            let (most, surge) = ("strategy.rollingUpdate.maxUnavailable", "strategy.rollingUpdate.maxSurge");
            let value = update.get("maxUnavailable");
            let down = share(context, most, value, errors);
            let up = share(context, surge, update.get("maxSurge"), errors);
            if (down.number, up.number) == (0, 0) {
                let detail = "may not be 0 when `maxSurge` is 0";
                let shown = value.cloned().unwrap_or(0.into());
                errors.push(context.fault(most, FieldErrorKind::Invalid, &shown, detail));
            }
            no_more_than_all(context, most, (value, down), errors);
        }
        _ => {
            let kinds = ["Recreate", "RollingUpdate"];
            errors.push(unknown_strategy(context, "strategy", kinds));
        }
    }
    if let (Some(deadline), ready) =
        (context.number("progressDeadlineSeconds"), context.number("minReadySeconds").unwrap_or(0))
        && deadline <= ready
    {
        let detail = "must be greater than minReadySeconds";
        errors.push(context.fault(
            "progressDeadlineSeconds",
            FieldErrorKind::Invalid,
            &deadline.into(),
            detail,
        ));
    }
}

/// Returns the error of a strategy of another type, which is shown as a whole.
fn unknown_strategy(context: &Context<'_>, field: &str, kinds: [&str; 2]) -> FieldError {
    let shown = go_form::of_strategy(context.get(field).unwrap_or(&Value::Null));
    let [first, second] = kinds;
    let message = format!("Unsupported value: {shown}: supported values: \"{first}\", \"{second}\"");
    FieldError::with_message(FieldErrorKind::NotSupported, context.path_to(field), message)
}

/// Validates the update strategy of a daemon set.
pub(crate) fn daemon_update(context: &Context<'_>, errors: &mut FieldErrors) {
    match context.at(&["updateStrategy", "type"]).and_then(Value::as_str) {
        Some("OnDelete") => return,
        Some("RollingUpdate") => {}
        _ => return errors.push(unknown_strategy(context, "updateStrategy", ["RollingUpdate", "OnDelete"])),
    }
    let update = context.at(&["updateStrategy", "rollingUpdate"]).filter(|value| !value.is_null());
    let Some(update) = update else {
        return errors.push(context.required("updateStrategy.rollingUpdate", ""));
    };
    let (most, surge) =
        ("updateStrategy.rollingUpdate.maxUnavailable", "updateStrategy.rollingUpdate.maxSurge");
    let (value, surge_value) = (update.get("maxUnavailable"), update.get("maxSurge"));
    let down = share(context, most, value, errors);
    let up = share(context, surge, surge_value, errors);
    no_more_than_all(context, most, (value, down), errors);
    no_more_than_all(context, surge, (surge_value, up), errors);
    match (down.number != 0, up.number != 0) {
        (true, true) => {
            let shown = surge_value.cloned().unwrap_or(0.into());
            let detail = "may not be set when maxUnavailable is non-zero";
            errors.push(context.fault(surge, FieldErrorKind::Invalid, &shown, detail));
        }
        (false, false) => errors.push(context.required(most, "cannot be 0 when maxSurge is 0")),
        _ => {}
    }
}

/// Checks a new stateful set: the name of its service never changes, so that an update tolerates the one that is stored.
pub(crate) fn new_stateful_set(set: &Value, errors: &mut FieldErrors) {
    let name = set.at(["spec", "serviceName"]).and_then(Value::as_str).unwrap_or_default();
    for fault in Some(name).filter(|name| !name.is_empty()).map(format::dns_label).unwrap_or_default() {
        errors.push(FieldError::invalid("spec.serviceName", &name.into(), fault));
    }
}

/// Validates the names of the claims of a stateful set, which are those of volumes of its pods.
pub(crate) fn stateful_claims(context: &Context<'_>, errors: &mut FieldErrors) {
    for (at, claim) in context.items("volumeClaimTemplates").iter().enumerate() {
        let path = format!("template.spec.volumes[{at}].name");
        let name = claim.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() {
            let claim = format!("template.spec.volumes[{at}].persistentVolumeClaim.claimName");
            errors.push(context.fault(&claim, FieldErrorKind::Required, &Value::Null, ""));
            errors.push(context.fault(&path, FieldErrorKind::Required, &Value::Null, ""));
        } else {
            context.invalid(&path, &name.into(), format::dns_label(name), errors);
        }
    }
}

/// Validates the update strategy of a stateful set, and how it manages its pods.
pub(crate) fn stateful_update(context: &Context<'_>, errors: &mut FieldErrors) {
    match context.text("podManagementPolicy") {
        "OrderedReady" | "Parallel" => {}
        "" => errors.push(context.required("podManagementPolicy", "")),
        other => {
            let detail = "must be 'OrderedReady' or 'Parallel'";
            context.invalid("podManagementPolicy", &other.into(), vec![detail.into()], errors);
        }
    }
    let update = context.at(&["updateStrategy", "rollingUpdate"]).filter(|value| !value.is_null());
    let kind = context.at(&["updateStrategy", "type"]).and_then(Value::as_str);
    match (kind, update) {
        (Some("OnDelete"), Some(value)) => {
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            errors.push(context.fault_of_struct("updateStrategy.rollingUpdate", value, detail));
        }
        (Some(other), _) if !matches!(other, "OnDelete" | "RollingUpdate") => {
            let value = context.get("updateStrategy").cloned().unwrap_or_default();
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            errors.push(context.fault_of_struct("updateStrategy", &value, detail));
        }
        (Some("RollingUpdate"), Some(update)) => {
            let path = "updateStrategy.rollingUpdate.maxUnavailable";
            if let Some(value) = update.get("maxUnavailable").filter(|value| !value.is_null()) {
                let down = share(context, path, Some(value), errors);
                if down.number == 0 {
                    errors.push(context.fault(path, FieldErrorKind::Invalid, value, "cannot be 0"));
                }
                no_more_than_all(context, path, (Some(value), down), errors);
            }
        }
        _ => {}
    }
}

/// Validates a pod disruption budget.
pub(crate) fn budget(context: &Context<'_>, errors: &mut FieldErrors) {
    if context.get("minAvailable").is_some() && context.get("maxUnavailable").is_some() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(context.fault("", FieldErrorKind::Invalid, &Value::Object(Object::default()), detail));
    }
    for name in ["minAvailable", "maxUnavailable"] {
        if let Some(value) = context.get(name) {
            let part = share(context, name, Some(value), errors);
            no_more_than_all(context, name, (Some(value), part), errors);
        }
    }
}

/// Validates that an ingress sends requests somewhere.
pub(crate) fn ingress_content(context: &Context<'_>, errors: &mut FieldErrors) {
    if context.items("rules").is_empty() && context.get("defaultBackend").is_none() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        let rules = context.get("rules").cloned().unwrap_or_default();
        errors.push(context.fault("", FieldErrorKind::Invalid, &rules, detail));
    }
}

/// Validates a rule of a role.
pub(crate) fn policy_rule(context: &Context<'_>, errors: &mut FieldErrors) {
    let namespaced = context.root.get("kind").and_then(Value::as_str) == Some("Role");
    let mixed =
        ["apiGroups", "resources", "resourceNames"].iter().any(|name| !context.items(name).is_empty());
    if !context.items("nonResourceURLs").is_empty() {
        let value = context.get("nonResourceURLs").cloned().unwrap_or_default();
        let faults = [
            (namespaced, "namespaced rules cannot apply to non-resource URLs"),
            (mixed, "rules cannot apply to both regular resources and non-resource URLs"),
        ];
        let faults = faults.iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, detail)| detail.to_string());
        context.invalid("nonResourceURLs", &value, faults.collect(), errors);
        return;
    }
    for (name, what) in [
        ("apiGroups", "resource rules must supply at least one api group"),
        ("resources", "resource rules must supply at least one resource"),
    ] {
        if context.items(name).is_empty() {
            errors.push(context.fault(name, FieldErrorKind::Required, &Value::Null, what));
        }
    }
}

/// Validates the subjects of a binding.
pub(crate) fn subject(context: &Context<'_>, errors: &mut FieldErrors) {
    let group = context.text("apiGroup");
    let expected = match context.text("kind") {
        "ServiceAccount" => "",
        "User" | "Group" => "rbac.authorization.k8s.io",
        other => {
            let detail = "supported values: \"ServiceAccount\", \"User\", \"Group\"";
            errors.push(context.fault("kind", FieldErrorKind::NotSupported, &other.into(), detail));
            return;
        }
    };
    if group != expected {
        let detail = format!("supported values: \"{expected}\"");
        errors.push(context.fault("apiGroup", FieldErrorKind::NotSupported, &group.into(), &detail));
    }
    let name = Some(context.text("name"))
        .filter(|name| context.text("kind") == "ServiceAccount" && !name.is_empty());
    for fault in name.map(format::dns_subdomain).unwrap_or_default() {
        errors.push(context.fault("name", FieldErrorKind::Invalid, &context.text("name").into(), &fault));
    }
}

/// Validates the kind of role that a binding refers to.
pub(crate) fn role_ref(context: &Context<'_>, errors: &mut FieldErrors) {
    let kinds: &[&str] = match context.root.get("kind").and_then(Value::as_str) {
        Some("ClusterRoleBinding") => &["ClusterRole"],
        _ => &["Role", "ClusterRole"],
    };
    let kind = context.at(&["roleRef", "kind"]).and_then(Value::as_str).unwrap_or_default();
    if !kinds.contains(&kind) {
        let listed: Vec<String> = kinds.iter().map(|kind| format!("{kind:?}")).collect();
        let detail = format!("supported values: {}", listed.join(", "));
        errors.push(context.fault("roleRef.kind", FieldErrorKind::NotSupported, &kind.into(), &detail));
    }
}

/// Validates the port of the service of an ingress.
pub(crate) fn ingress_backend(context: &Context<'_>, errors: &mut FieldErrors) {
    let is_given = |name: &str| {
        let part = context.at(&["service", "port", name]);
        part.is_some_and(|value| !matches!(value, Value::Null | Value::Int(0)) && value.as_str() != Some(""))
    };
    let has_service = context.get("service").is_some();
    if !has_service && context.get("resource").is_none() {
        let detail = "resource or service backend is required";
        errors.push(context.fault("", FieldErrorKind::Invalid, &"".into(), detail));
    }
    match (has_service, is_given("name"), is_given("number")) {
        (true, false, false) => {
            let detail = "port name or number is required";
            errors.push(context.fault("", FieldErrorKind::Required, &Value::Null, detail));
        }
        (true, true, true) => {
            let detail = "cannot set both port name & port number";
            errors.push(context.fault("", FieldErrorKind::Invalid, &"".into(), detail));
        }
        _ => {}
    }
}

/// Validates the taints of a node, which are reported as parts of its metadata.
pub(crate) fn node_taints(context: &Context<'_>, errors: &mut FieldErrors) {
    let spec = Value::Object(context.node.clone());
    errors.extend(taints(&spec));
}

/// Validates the taints of an updated node again.
pub(crate) fn updated_taints(_: &Value, new: &Value) -> Vec<FieldError> {
    taints(new.get("spec").unwrap_or(&Value::Null))
}

const EFFECTS: &str = "supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"";

fn taints(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen = Seen::default();
    for (at, taint) in items(spec.get("taints")).iter().enumerate() {
        let path = format!("metadata.taints[{at}]");
        let (key, value, effect) = (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        for fault in format::qualified_name(key) {
            errors.push(FieldError::invalid(format!("{path}.key"), &key.into(), fault));
        }
        for fault in format::label_value(value) {
            errors.push(FieldError::invalid(format!("{path}.value"), &value.into(), fault));
        }
        let at = format!("{path}.effect");
        match effect {
            "NoSchedule" | "PreferNoSchedule" | "NoExecute" => {}
            "" => errors.push(FieldError::required(at, "")),
            other => {
                errors.push(FieldError::new(FieldErrorKind::NotSupported, at, &other.into(), EFFECTS));
            }
        }
        if !seen.insert((key, effect)) {
            let message = format!(
                "Duplicate value: {}: taints must be unique by key and effect pair",
                go_form::of_struct(taint)
            );
            errors.push(FieldError::with_message(FieldErrorKind::Duplicate, path, message));
        }
    }
    errors
}

/// Validates that service accounts of a cluster role binding have a namespace.
pub(crate) fn account_namespace(context: &Context<'_>, errors: &mut FieldErrors) {
    for (at, subject) in context.items("subjects").iter().enumerate() {
        let text = |name: &str| subject.get(name).and_then(Value::as_str).unwrap_or_default();
        if text("kind") == "ServiceAccount" && text("namespace").is_empty() {
            errors.push(context.fault(
                &format!("subjects[{at}].namespace"),
                FieldErrorKind::Required,
                &Value::Null,
                "",
            ));
        }
    }
}

/// Validates the port of a network policy.
pub(crate) fn network_port(context: &Context<'_>, errors: &mut FieldErrors) {
    let port = context.get("port");
    if port.is_some() {
        pod::number_or_name(context, "port", errors);
    }
    if let Some(end) = context.number("endPort") {
        let detail = match port {
            None => "must be set together with port",
            Some(Value::Int(port)) if end < *port => "must be greater than or equal to `port`",
            Some(Value::String(_)) => "may not be specified when `port` is non-numeric",
            _ if !(1..=65_535).contains(&end) => "must be between 1 and 65535, inclusive",
            _ => return,
        };
        errors.push(context.fault("endPort", FieldErrorKind::Invalid, &end.into(), detail));
    }
}

/// Validates that the exceptions of an IP block are inside of it.
pub(crate) fn network_block(context: &Context<'_>, errors: &mut FieldErrors) {
    let whole = format::network(context.text("cidr"));
    for (at, part) in context.items("except").iter().enumerate() {
        let (Some(whole), Some(part_of)) = (whole, part.as_str().and_then(format::network)) else { continue };
        if !part_of.is_strictly_within(whole) {
            let detail = "must be a strict subset of `cidr`";
            errors.push(context.fault(&format!("except[{at}]"), FieldErrorKind::Invalid, part, detail));
        }
    }
}

/// Validates that each of several ports has a name.
pub(crate) fn endpoint_ports(context: &Context<'_>, errors: &mut FieldErrors) {
    let ports = context.items("ports");
    for (at, port) in ports.iter().enumerate().filter(|_| ports.len() > 1) {
        if port.get("name").and_then(Value::as_str).unwrap_or_default().is_empty() {
            errors.push(context.fault(
                &format!("ports[{at}].name"),
                FieldErrorKind::Required,
                &Value::Null,
                "",
            ));
        }
    }
}

/// Validates that a namespace is terminating only if it is being deleted.
pub(crate) fn namespace_phase(context: &Context<'_>, errors: &mut FieldErrors) {
    let deleted = context.root.at(["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null());
    let (expected, when) = if deleted { ("Terminating", "is not empty") } else { ("Active", "is empty") };
    let phase = context.text("phase");
    if !phase.is_empty() && phase != expected {
        let detail = format!("may only be '{expected}' if `deletionTimestamp` {when}");
        errors.push(context.fault("Phase", FieldErrorKind::Invalid, &phase.into(), &detail));
    }
}

/// The maximum priority outside of system priority classes.
const MOST_PRIORITY: i64 = 1_000_000_000;
const SYSTEM_CLASSES: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// Validates a priority class.
pub(crate) fn priority_class(context: &Context<'_>, errors: &mut FieldErrors) {
    match context.get("preemptionPolicy").and_then(Value::as_str) {
        None | Some("PreemptLowerPriority" | "Never") => {}
        Some("") => errors.push(context.required("preemptionPolicy", "")),
        Some(other) => {
            errors.push(context.not_supported("preemptionPolicy", other, &["PreemptLowerPriority", "Never"]));
        }
    }
    let name = context.at(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
    let value = context.number("value").unwrap_or(0);
    if name.starts_with("system-") {
        let known = SYSTEM_CLASSES.iter().find(|(known, _)| *known == name);
        let why = match known {
            None => Some(format!("{name} is not a known system priority class")),
            Some((_, right)) if *right != value => {
                Some(format!("value of {name} PriorityClass must be {right}"))
            }
            Some(_) if context.get("globalDefault") == Some(&Value::Bool(true)) => {
                Some(format!("globalDefault of {name} PriorityClass must be false"))
            }
            Some(_) => None,
        };
        if let Some(why) = why {
            let detail = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            );
            errors.push(context.fault("metadata.name", FieldErrorKind::Forbidden, &Value::Null, &detail));
        }
    } else if value > MOST_PRIORITY {
        let detail = format!("maximum allowed value of a user defined priority is {MOST_PRIORITY}");
        errors.push(context.fault("value", FieldErrorKind::Forbidden, &Value::Null, &detail));
    }
}

/// Validates that the addresses of an endpoint slice match its address type.
pub(crate) fn slice_addresses(context: &Context<'_>, errors: &mut FieldErrors) {
    let kind = context.text("addressType");
    for (at, endpoint) in context.items("endpoints").iter().enumerate() {
        let list =
            endpoint.get("addresses").and_then(Value::as_array).map(|list| list.items()).unwrap_or_default();
        for (number, address) in list.iter().enumerate() {
            let text = address.as_str().unwrap_or_default();
            let path = format!("endpoints[{at}].addresses[{number}]");
            let fault = match kind {
                "FQDN" => format::fully_qualified_name(text),
                "IPv4" | "IPv6" => {
                    // Kubernetes names the list here.
                    if format::ip(text).is_empty() && text.contains(':') != (kind == "IPv6") {
                        let list = format!("endpoints[{at}].addresses");
                        context.invalid(&list, address, vec![format!("must be an {kind} address")], errors);
                    }
                    let faults = format::plain_address(text);
                    let canonical = text.parse::<Ipv6Addr>().map(|address| address.to_string());
                    match canonical {
                        Ok(canonical) if faults.is_empty() && canonical != text => {
                            vec![format!("must be in canonical form ({canonical:?})")]
                        }
                        _ => faults,
                    }
                }
                _ => Vec::new(),
            };
            context.invalid(&path, address, fault, errors);
        }
    }
}
