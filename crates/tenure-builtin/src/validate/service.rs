//! Validation of services and ServiceCIDRs: ports, addresses and policies depend on the type.

use super::{
    context::{Context, text},
    go_form, pod,
};
use crate::{
    allocate::AddressRange,
    service::{HEADLESS, Spec, related_fields},
};
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, Previous, Seen, format, object_meta};
use tenure_value::Value;

const ONLY_BALANCED: &str = "may only be used when `type` is 'LoadBalancer'";
const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const MODE: &str = "service.kubernetes.io/topology-mode";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// Validates the spec of a service, in the order of Kubernetes.
pub(crate) fn service(context: &Context<'_>, errors: &mut FieldErrors) {
    let (kind, spec) = (context.text("type"), Spec::new(context.node));
    let headless = spec.is_headless() && spec.items("clusterIPs").len() == 1;
    topology(context, errors);
    if context.items("ports").is_empty() && !headless && kind != "ExternalName" {
        errors.push(context.fault("ports", FieldErrorKind::Required, &Value::Null, ""));
    }
    if headless && spec.has_node_ports() {
        let detail = format!("may not be set to 'None' for {kind} services");
        errors.push(context.fault("clusterIPs[0]", FieldErrorKind::Invalid, &HEADLESS.into(), &detail));
    }
    if kind == "ExternalName" {
        external_name(context, errors);
    }
    ports(context, errors);
    object_meta::labels(&context.path.field("selector"), context.get("selector"), errors);
    affinity(context, errors);
    // What is unchanged was valid.
    let former = context.before.at(&["clusterIPs"]);
    let is_former = context.get("clusterIPs").is_some_and(|addresses| former.is_unchanged(addresses));
    let former = if is_former { context.items("clusterIPs") } else { &[] };
    related_fields(spec, former).into_iter().for_each(|error| errors.push(error));
    for (at, address) in context.items("externalIPs").iter().enumerate() {
        let text = address.as_str().unwrap_or_default();
        context.invalid(&format!("externalIPs[{at}]"), address, format::plain_address(text), errors);
    }
    node_ports(context, errors);
    only_for_type(context, errors);
}

/// Two annotations say the same, of which one is deprecated.
fn topology(context: &Context<'_>, errors: &mut FieldErrors) {
    let annotation = |name: &str| context.root.at(["metadata", "annotations", name]);
    if let (Some(mode), Some(hints)) = (annotation(MODE), annotation(HINTS))
        && mode != hints
    {
        let detail = format!("must match annotations[{HINTS}] when both are specified");
        errors.push(FieldError::invalid(format!("metadata.annotations[{MODE}]"), mode, detail));
    }
}

/// Validates the part of a balancer in the status of a service.
pub(crate) fn status(context: &Context<'_>, errors: &mut FieldErrors) {
    let ingress = context.at(&["loadBalancer", "ingress"]).and_then(Value::as_array);
    let kind = context.root.at(["spec", "type"]).and_then(Value::as_str);
    if kind != Some("LoadBalancer") && ingress.is_some_and(|ingress| !ingress.is_empty()) {
        let detail = "may only be used when `spec.type` is 'LoadBalancer'";
        errors.push(context.fault("loadBalancer.ingress", FieldErrorKind::Forbidden, &Value::Null, detail));
    }
}

fn number(port: &Value, name: &str) -> i64 {
    port.get(name).and_then(Value::as_i64).unwrap_or(0)
}

fn ports(context: &Context<'_>, errors: &mut FieldErrors) {
    let ports = context.items("ports");
    let mut names = Seen::default();
    for (at, port) in ports.iter().enumerate() {
        let below = |name: &str| format!("ports[{at}].{name}");
        let name = text(port, "name");
        let is_new_name = names.insert(name);
        if name.is_empty() {
            if ports.len() > 1 {
                errors.push(context.fault(&below("name"), FieldErrorKind::Required, &Value::Null, ""));
            }
        } else {
            context.invalid(&below("name"), &name.into(), format::dns_label(name), errors);
            if !is_new_name {
                errors.push(context.fault(&below("name"), FieldErrorKind::Duplicate, &name.into(), ""));
            }
        }
        let port_number = number(port, "port");
        if !(1..=65_535).contains(&port_number) {
            let detail = "must be between 1 and 65535, inclusive";
            errors.push(context.fault(&below("port"), FieldErrorKind::Invalid, &port_number.into(), detail));
        }
        if let Some(fields) = port.as_object() {
            let path = context.path.field("ports");
            let path = path.index(at);
            let context = Context { node: fields, path: &path, before: Previous::UNKNOWN, ..*context };
            pod::number_or_name(&context, "targetPort", errors);
        }
    }
}

/// Node ports need a type, and neither ports nor node ports repeat for a protocol.
fn node_ports(context: &Context<'_>, errors: &mut FieldErrors) {
    let ports = context.items("ports");
    let below = |at: usize| format!("ports[{at}].nodePort");
    if context.text("type") == "ClusterIP" {
        for at in (0..ports.len()).filter(|at| number(&ports[*at], "nodePort") != 0) {
            let detail = "may not be used when `type` is 'ClusterIP'";
            errors.push(context.fault(&below(at), FieldErrorKind::Forbidden, &Value::Null, detail));
        }
    }
    let (mut seen, mut seen_ports) = (Seen::default(), Seen::default());
    for (at, port) in ports.iter().enumerate() {
        let node_port = number(port, "nodePort");
        if node_port != 0 && !seen.insert((node_port, text(port, "protocol"))) {
            errors.push(context.fault(&below(at), FieldErrorKind::Duplicate, &node_port.into(), ""));
        }
    }
    for (at, port) in ports.iter().enumerate() {
        if !seen_ports.insert((number(port, "port"), text(port, "protocol"))) {
            let message = format!("Duplicate value: {}", go_form::of_struct(port));
            let path = context.path.field("ports").index(at).to_string();
            errors.push(FieldError::with_message(FieldErrorKind::Duplicate, path, message));
        }
    }
}

fn affinity(context: &Context<'_>, errors: &mut FieldErrors) {
    if context.text("sessionAffinity") != "ClientIP" {
        return;
    }
    let seconds =
        context.at(&["sessionAffinityConfig", "clientIP", "timeoutSeconds"]).and_then(Value::as_i64);
    if let Some(seconds) = seconds.filter(|seconds| !(1..=86_400).contains(seconds)) {
        let (path, detail) =
            ("sessionAffinityConfig.clientIP.timeoutSeconds", "must be greater than 0 and less than 86400");
        errors.push(context.fault(path, FieldErrorKind::Invalid, &seconds.into(), detail));
    }
}

/// Checks the networks of a ServiceCIDR: one, or one of each family.
pub(crate) fn service_cidr(context: &Context<'_>, errors: &mut FieldErrors) {
    networks(context.items("cidrs")).into_iter().for_each(|error| errors.push(error));
}

/// Returns what is wrong with the networks of a ServiceCIDR.
pub(crate) fn networks(cidrs: &[Value]) -> Vec<FieldError> {
    const PATH: &str = "spec.cidrs";
    let value = || Value::array(cidrs.iter().cloned());
    if cidrs.is_empty() {
        return vec![FieldError::required(PATH, "at least one CIDR required")];
    }
    if cidrs.len() > 2 {
        let value = Value::object([("CIDRs", value())]);
        return vec![FieldError::invalid(PATH, &value, "may only hold up to 2 values")];
    }
    let mut errors = Vec::new();
    for (at, cidr) in cidrs.iter().enumerate() {
        let text = cidr.as_str().unwrap_or_default();
        let wrong = format::cidr(text).into_iter().next();
        let detail = match (wrong, AddressRange::parse(text).map(|range| range.to_string())) {
            (Some(fault), _) => fault,
            (None, Some(network)) if network != text => format!("must be in canonical form ({network:?})"),
            _ => continue,
        };
        errors.push(FieldError::invalid(format!("{PATH}[{at}]"), cidr, detail));
    }
    let families =
        cidrs.iter().filter_map(|cidr| AddressRange::parse(cidr.as_str()?)).map(AddressRange::family);
    if let [first, second] = families.collect::<Vec<_>>()[..]
        && first == second
    {
        let detail =
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        errors.push(FieldError::invalid(PATH, &value(), detail));
    }
    errors
}

/// Returns where Kubernetes reports an error in a service: node ports, their duplicates and those of ports come after the type, and
/// before what only some types have.
pub(crate) fn service_error_rank(error: &FieldError) -> usize {
    const LATE: [&str; 7] = [
        "LoadBalancerSourceRanges",
        "allocateLoadBalancerNodePorts",
        "loadBalancerClass",
        "externalTrafficPolicy",
        "healthCheckNodePort",
        "internalTrafficPolicy",
        "trafficDistribution",
    ];
    let Some(path) = error.path.strip_prefix("spec.") else { return 0 };
    match (path.starts_with("ports["), error.kind) {
        (true, FieldErrorKind::Forbidden) if path.ends_with("].nodePort") => 1,
        (true, FieldErrorKind::Duplicate) if path.ends_with("].nodePort") => 2,
        (true, FieldErrorKind::Duplicate) if path.ends_with(']') => 3,
        _ if LATE.iter().any(|field| path.starts_with(field)) => 4,
        _ => 0,
    }
}

fn external_name(context: &Context<'_>, errors: &mut FieldErrors) {
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if context.get(field).is_some_and(|value| value.as_array().is_none_or(|items| !items.is_empty())) {
            let detail = "may not be set for ExternalName services";
            errors.push(context.fault(field, FieldErrorKind::Forbidden, &Value::Null, detail));
        }
    }
    let name = context.text("externalName");
    let name = name.strip_suffix('.').unwrap_or(name);
    match name.is_empty() {
        true => errors.push(context.fault("externalName", FieldErrorKind::Required, &Value::Null, "")),
        false => context.invalid("externalName", &name.into(), format::dns_subdomain(name), errors),
    }
}

/// The networks from which a balancer takes connections, as a field or as an annotation.
fn source_ranges(context: &Context<'_>, errors: &mut FieldErrors) {
    // The path is spelt as in Kubernetes.
    const FIELD: &str = "LoadBalancerSourceRanges";
    let (ranges, balanced) =
        (context.items("loadBalancerSourceRanges"), context.text("type") == "LoadBalancer");
    if !ranges.is_empty() {
        if !balanced {
            errors.push(context.fault(FIELD, FieldErrorKind::Forbidden, &Value::Null, ONLY_BALANCED));
        }
        for (at, range) in ranges.iter().enumerate() {
            let text = range.as_str().unwrap_or_default().trim();
            context.invalid(&format!("{FIELD}[{at}]"), &text.into(), format::cidr(text), errors);
        }
        return;
    }
    let Some(annotation) = context.root.at(["metadata", "annotations", SOURCE_RANGES]) else { return };
    let path = format!("metadata.annotations[{SOURCE_RANGES}]");
    if !balanced {
        errors.push(FieldError::forbidden(&path, ONLY_BALANCED));
    }
    let text = annotation.as_str().unwrap_or_default().trim();
    for range in text.split(',').map(str::trim).filter(|_| !text.is_empty()) {
        for fault in format::cidr(range) {
            errors.push(FieldError::invalid(&path, &range.into(), fault));
        }
    }
}

/// Fields that only some types have.
fn only_for_type(context: &Context<'_>, errors: &mut FieldErrors) {
    let spec = Spec::new(context.node);
    source_ranges(context, errors);
    for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
        if context.get(field).is_some() && !spec.is_balanced() {
            errors.push(context.fault(field, FieldErrorKind::Forbidden, &Value::Null, ONLY_BALANCED));
        }
    }
    if spec.is_balanced() && context.get("loadBalancerClass").is_some() {
        let class = context.text("loadBalancerClass");
        context.invalid("loadBalancerClass", &class.into(), format::qualified_name(class), errors);
    }
    let policy = context.text("externalTrafficPolicy");
    if !spec.is_reached_from_outside() && !policy.is_empty() {
        let detail = "may only be set for externally-accessible services";
        errors.push(context.fault("externalTrafficPolicy", FieldErrorKind::Invalid, &policy.into(), detail));
    }
    let port = spec.number("healthCheckNodePort");
    let detail = match spec.has_health_check() {
        false if port != 0 => {
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        }
        true if port != 0 && !(1..=65_535).contains(&port) => "must be between 1 and 65535, inclusive",
        _ => return,
    };
    errors.push(context.fault("healthCheckNodePort", FieldErrorKind::Invalid, &port.into(), detail));
}

/// Returns what is wrong with a change of addresses and families: both may get a second one or lose it, and the first stays.
pub(crate) fn changed_addresses(old: &Value, new: &Value) -> Vec<FieldError> {
    let (before, after) = (Spec::of(old), Spec::of(new));
    let mut errors = Vec::new();
    if !before.has_address() || !after.has_address() {
        return errors;
    }
    let headless = |spec: Spec<'_>| spec.is_headless() && spec.items("clusterIPs").len() == 1;
    let [had, has] = [before, after].map(|spec| spec.items("clusterIPs"));
    let is_single = after.text("ipFamilyPolicy") == "SingleStack";
    let policy = || after.get("ipFamilyPolicy").cloned().unwrap_or_default();
    let list = |items: &[Value]| Value::array(items.iter().cloned());
    if !(headless(before) && headless(after)) {
        let changed = |at: usize| {
            FieldError::invalid(format!("spec.clusterIPs[{at}]"), &list(has), "may not change once set")
        };
        if had.len() == has.len() {
            let pairs = had.iter().zip(has).enumerate();
            errors.extend(pairs.filter(|(_, (had, has))| had != has).map(|(at, _)| changed(at)));
        } else {
            if has.is_empty() {
                let detail = "primary clusterIP can not be unset";
                errors.push(FieldError::invalid("spec.clusterIPs[0]", &list(has), detail));
            }
            if let (Some(first), Some(now)) = (had.first(), has.first())
                && first != now
            {
                errors.push(changed(0));
            }
            if had.len() > has.len() && has.len() == 1 && !is_single {
                let detail = "must be set to 'SingleStack' when releasing the secondary clusterIP";
                errors.push(FieldError::invalid("spec.ipFamilyPolicy", &policy(), detail));
            }
        }
    }
    if headless(before) || headless(after) {
        return errors;
    }
    let [had, families] = [before, after].map(|spec| spec.items("ipFamilies"));
    let changed =
        |shown: &[Value]| FieldError::invalid("spec.ipFamilies[0]", &list(shown), "may not change once set");
    if had.len() == families.len() {
        let pairs = had.iter().zip(families);
        errors.extend(pairs.filter(|(had, now)| had != now).map(|_| changed(families)));
        return errors;
    }
    if had.len() > families.len() && has.is_empty() {
        let detail = "primary ipFamily can not be unset";
        errors.push(FieldError::invalid("spec.ipFamilies[0]", &list(families), detail));
    }
    if let (Some(first), Some(now)) = (had.first(), families.first())
        && first != now
    {
        errors.push(changed(has));
    }
    if had.len() > families.len() && families.len() == 1 && !is_single {
        let detail = "must be set to 'SingleStack' when releasing the secondary ipFamily";
        errors.push(FieldError::invalid("spec.ipFamilyPolicy", &policy(), detail));
    }
    errors
}
