//! Validation of services: ports, addresses and policies depend on the type.

use super::{
    context::{Context, text},
    go_form, pod,
};
use crate::allocate::AddressRange;
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, Previous, Seen, format, object_meta};
use tenure_value::Value;

/// Validates the spec of a service.
pub(crate) fn service(context: &Context<'_>, errors: &mut FieldErrors) {
    let kind = context.text("type");
    let headless = context.text("clusterIP") == "None";
    ports(context, headless, errors);
    object_meta::labels(&context.path.field("selector"), context.get("selector"), errors);
    if kind == "ExternalName" {
        external_name(context, errors);
    } else {
        addresses(context, errors);
    }
    for (at, address) in context.items("externalIPs").iter().enumerate() {
        let text = address.as_str().unwrap_or_default();
        context.invalid(&format!("externalIPs[{at}]"), address, format::plain_address(text), errors);
    }
    only_for_type(context, errors);
    if context.text("sessionAffinity") == "ClientIP" {
        let seconds =
            context.at(&["sessionAffinityConfig", "clientIP", "timeoutSeconds"]).and_then(Value::as_i64);
        if let Some(seconds) = seconds.filter(|seconds| !(1..=86_400).contains(seconds)) {
            let path = "sessionAffinityConfig.clientIP.timeoutSeconds";
            errors.push(context.fault(
                path,
                FieldErrorKind::Invalid,
                &seconds.into(),
                "must be greater than 0 and less than 86400",
            ));
        }
    }
}

/// Validates that load balancer fields are only set for load balancers.
pub(crate) fn status(context: &Context<'_>, errors: &mut FieldErrors) {
    let ingress = context.at(&["loadBalancer", "ingress"]).and_then(Value::as_array);
    let kind = context.root.at(["spec", "type"]).and_then(Value::as_str);
    if kind != Some("LoadBalancer") && ingress.is_some_and(|ingress| !ingress.is_empty()) {
        let detail = "may only be used when `spec.type` is \"LoadBalancer\"";
        errors.push(context.fault("loadBalancer.ingress", FieldErrorKind::Forbidden, &Value::Null, detail));
    }
}

fn ports(cx: &Context<'_>, headless: bool, errors: &mut FieldErrors) {
    let ports = cx.items("ports");
    let kind = cx.text("type");
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.push(cx.fault("ports", FieldErrorKind::Required, &Value::Null, ""));
    }
    let (mut names, mut numbers, mut node_ports) = (Seen::default(), Seen::default(), Seen::default());
    let number = |port: &Value, name: &str| port.get(name).and_then(Value::as_i64).unwrap_or(0);
    for (at, port) in ports.iter().enumerate() {
        let below = |name: &str| format!("ports[{at}].{name}");
        let (name, protocol) = (text(port, "name"), text(port, "protocol"));
        let is_new_name = names.insert(name);
        if name.is_empty() {
            if ports.len() > 1 {
                errors.push(cx.fault(&below("name"), FieldErrorKind::Required, &Value::Null, ""));
            }
        } else {
            cx.invalid(&below("name"), &name.into(), format::dns_label(name), errors);
            if !is_new_name {
                errors.push(cx.fault(&below("name"), FieldErrorKind::Duplicate, &name.into(), ""));
            }
        }
        if !(1..=65_535).contains(&number(port, "port")) {
            let detail = "must be between 1 and 65535, inclusive";
            errors.push(cx.fault(
                &below("port"),
                FieldErrorKind::Invalid,
                &number(port, "port").into(),
                detail,
            ));
        }
        if let Some(fields) = port.as_object() {
            let path = cx.path.field("ports");
            let path = path.index(at);
            let context = Context { root: cx.root, node: fields, path: &path, before: Previous::UNKNOWN };
            pod::number_or_name(&context, "targetPort", errors);
        }
        if !numbers.insert((number(port, "port"), protocol)) {
            let message = format!("Duplicate value: {}", go_form::of_struct(port));
            let path = cx.path.field("ports").index(at).to_string();
            errors.push(FieldError::with_message(FieldErrorKind::Duplicate, path, message));
        }
        let node_port = number(port, "nodePort");
        let is_new_node_port = node_ports.insert((node_port, protocol));
        if node_port != 0 && !matches!(kind, "NodePort" | "LoadBalancer") {
            let detail = format!("may not be used when `type` is '{kind}'");
            errors.push(cx.fault(&below("nodePort"), FieldErrorKind::Forbidden, &Value::Null, &detail));
        } else if node_port != 0 && !is_new_node_port {
            errors.push(cx.fault(&below("nodePort"), FieldErrorKind::Duplicate, &node_port.into(), ""));
        }
    }
}

/// Checks the networks of a ServiceCIDR: one, or one of each family.
pub(crate) fn service_cidr(context: &Context<'_>, errors: &mut FieldErrors) {
    let cidrs = context.items("cidrs");
    let value = || context.get("cidrs").cloned().unwrap_or_default();
    if cidrs.is_empty() {
        let detail = "at least one CIDR required";
        return errors.push(context.fault("cidrs", FieldErrorKind::Required, &Value::Null, detail));
    }
    if cidrs.len() > 2 {
        let value = Value::object([("CIDRs", value())]);
        let detail = "may only hold up to 2 values";
        return errors.push(context.fault("cidrs", FieldErrorKind::Invalid, &value, detail));
    }
    let mut families = Vec::new();
    for (at, cidr) in cidrs.iter().enumerate() {
        let text = cidr.as_str().unwrap_or_default();
        let wrong = format::cidr(text).into_iter().next();
        let detail = match (wrong, AddressRange::parse(text).map(|range| range.to_string())) {
            (Some(fault), _) => fault,
            (None, Some(network)) if network != text => match text.eq_ignore_ascii_case(&network) {
                true => format!("must be in canonical form ({network:?})"),
                false => "must not have bits set beyond the prefix length".into(),
            },
            _ => {
                families.push(text.contains(':'));
                continue;
            }
        };
        errors.push(context.fault(&format!("cidrs[{at}]"), FieldErrorKind::Invalid, cidr, &detail));
    }
    if let [first, second] = families[..]
        && first == second
    {
        let detail =
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        errors.push(context.fault("cidrs", FieldErrorKind::Invalid, &value(), detail));
    }
}

fn external_name(context: &Context<'_>, errors: &mut FieldErrors) {
    let name = context.text("externalName").trim_end_matches('.');
    match name.is_empty() {
        true => errors.push(context.fault("externalName", FieldErrorKind::Required, &Value::Null, "")),
        false => context.invalid("externalName", &name.into(), format::dns_subdomain(name), errors),
    }
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if context.get(field).is_some_and(|value| value.as_array().is_none_or(|items| !items.is_empty())) {
            let detail = "may not be set for ExternalName services";
            errors.push(context.fault(field, FieldErrorKind::Forbidden, &Value::Null, detail));
        }
    }
}

fn addresses(context: &Context<'_>, errors: &mut FieldErrors) {
    let list = context.items("clusterIPs");
    let single = context.text("clusterIP");
    let families = context.items("ipFamilies");
    if list.first().and_then(Value::as_str).unwrap_or_default() != single {
        let value = context.get("clusterIPs").cloned().unwrap_or_default();
        errors.push(context.fault(
            "clusterIPs",
            FieldErrorKind::Invalid,
            &value,
            "first value must match `clusterIP`",
        ));
    }
    if list.len() > 2 {
        let value = context.get("clusterIPs").cloned().unwrap_or_default();
        errors.push(context.fault(
            "clusterIPs",
            FieldErrorKind::Invalid,
            &value,
            "may only hold up to 2 values",
        ));
    }
    for (at, address) in list.iter().enumerate() {
        let path = format!("clusterIPs[{at}]");
        let text = address.as_str().unwrap_or_default();
        if text == "None" {
            if list.len() > 1 {
                errors.push(context.fault(
                    &path,
                    FieldErrorKind::Invalid,
                    address,
                    "'None' must be the first and only value",
                ));
            }
            if matches!(context.text("type"), "NodePort" | "LoadBalancer") {
                let detail = format!("may not be set to 'None' for {} services", context.text("type"));
                errors.push(context.fault("clusterIPs[0]", FieldErrorKind::Invalid, address, &detail));
            }
        } else if !format::ip(text).is_empty() {
            context.invalid(&path, address, format::ip(text), errors);
        } else if let Some(family) = families.get(at).and_then(Value::as_str)
            && text.contains(':') != (family == "IPv6")
            // An address of a family that the cluster does not have was not requested.
            && family == "IPv4"
        {
            let detail = format!("expected an {family} value as indicated by `ipFamilies[{at}]`");
            errors.push(context.fault(&path, FieldErrorKind::Invalid, address, &detail));
        }
    }
    families_fit(context, families, errors);
}

/// Checks the address families. A headless service without a selector has no addresses from the server, so it may have families
/// that the cluster does not have.
fn families_fit(context: &Context<'_>, families: &[Value], errors: &mut FieldErrors) {
    let selects =
        context.get("selector").and_then(Value::as_object).is_some_and(|selector| !selector.is_empty());
    let is_free = context.text("clusterIP") == "None" && !selects;
    let policy = context.text("ipFamilyPolicy");
    let mut seen = Seen::default();
    for (at, family) in families.iter().enumerate() {
        let path = format!("ipFamilies[{at}]");
        match family.as_str().unwrap_or_default() {
            "IPv4" => {}
            "IPv6" if is_free => {}
            "IPv6" => {
                let detail = "not configured on this cluster";
                errors.push(context.fault(&path, FieldErrorKind::Invalid, family, detail));
            }
            _ => {
                let detail = "supported values: \"IPv4\", \"IPv6\"";
                errors.push(context.fault(&path, FieldErrorKind::NotSupported, family, detail));
            }
        }
        if !seen.insert(family) {
            errors.push(context.fault(&path, FieldErrorKind::Duplicate, family, ""));
        }
    }
    if policy == "RequireDualStack" && !is_free {
        let detail = "this cluster is not configured for dual-stack services";
        errors.push(context.fault("ipFamilyPolicy", FieldErrorKind::Invalid, &policy.into(), detail));
    }
    if policy == "SingleStack" && families.len() > 1 {
        let detail =
            "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified";
        errors.push(context.fault("ipFamilyPolicy", FieldErrorKind::Invalid, &policy.into(), detail));
    }
}

/// Fields that only some types have.
fn only_for_type(context: &Context<'_>, errors: &mut FieldErrors) {
    let kind = context.text("type");
    let balanced = kind == "LoadBalancer";
    let outside = matches!(kind, "NodePort" | "LoadBalancer")
        || kind == "ClusterIP" && !context.items("externalIPs").is_empty();
    let mut forbid = |field: &str, allowed: bool, detail: &str| {
        let given = context
            .get(field)
            .is_some_and(|value| !matches!(value, Value::Int(0)) && value.as_str() != Some(""));
        if given && !allowed {
            let value = context.get(field).cloned().unwrap_or_default();
            errors.push(context.fault(field, FieldErrorKind::Invalid, &value, detail));
        }
    };
    forbid("externalTrafficPolicy", outside, "may only be set for externally-accessible services");
    forbid("allocateLoadBalancerNodePorts", balanced, "may only be used when `type` is 'LoadBalancer'");
    forbid("loadBalancerClass", balanced, "may only be used when `type` is 'LoadBalancer'");
    let checked = balanced && context.text("externalTrafficPolicy") == "Local";
    forbid(
        "healthCheckNodePort",
        checked,
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
    );
    if let Some(port) = context.number("healthCheckNodePort").filter(|port| *port < 0) {
        let detail = "must be between 1 and 65535, inclusive";
        errors.push(context.fault("healthCheckNodePort", FieldErrorKind::Invalid, &port.into(), detail));
    }
    if !context.items("loadBalancerSourceRanges").is_empty() {
        if !balanced {
            let detail = "may only be used when `type` is 'LoadBalancer'";
            errors.push(context.fault(
                "loadBalancerSourceRanges",
                FieldErrorKind::Forbidden,
                &Value::Null,
                detail,
            ));
        }
        for (at, range) in context.items("loadBalancerSourceRanges").iter().enumerate() {
            for fault in range.as_str().map(|text| format::cidr(text.trim())).unwrap_or_default() {
                errors.push(context.fault(
                    &format!("loadBalancerSourceRanges[{at}]"),
                    FieldErrorKind::Invalid,
                    range,
                    &fault,
                ));
            }
        }
    }
}
