//! What an update keeps of a service that the client omitted, and what it drops that the new type does not use.

use super::{Spec, is_empty, node_port, put, with_spec};
use std::collections::HashMap;
use tenure_meta::Seen;
use tenure_value::{Object, Value};

/// Returns a new service whose list has the one address that its client gave.
pub(super) fn normalized(new: &Value) -> Value {
    let Some(given) = new.get("spec").and_then(Value::as_object) else { return new.clone() };
    let spec = Spec::new(given);
    match spec.get("clusterIP").filter(|address| !is_empty(Some(address))) {
        Some(address) if spec.items("clusterIPs").is_empty() => {
            with_spec(new, given.with("clusterIPs", Value::array([address.clone()])))
        }
        _ => new.clone(),
    }
}

/// Carries over allocated values that the new service omits.
pub(super) fn carry_allocated(old: &Value, new: &Value) -> Value {
    let Some(given) = new.get("spec").and_then(Value::as_object) else { return new.clone() };
    let (before, after) = (Spec::of(old), Spec::of(new));
    let mut spec = given.clone();
    if before.has_address() && after.has_address() {
        if after.text("clusterIP").is_empty() {
            spec = put(&spec, "clusterIP", before.get("clusterIP"));
        }
        if after.items("clusterIPs").is_empty() && !before.items("clusterIPs").is_empty() {
            spec = put(&spec, "clusterIPs", before.get("clusterIPs"));
        }
    }
    if before.allocates_node_ports() && after.allocates_node_ports() {
        spec = put(&spec, "ports", carried_ports(&before, &after).as_ref().or(after.get("ports")));
    }
    if before.has_health_check() && after.has_health_check() && is_empty(after.get("healthCheckNodePort")) {
        spec = put(&spec, "healthCheckNodePort", before.get("healthCheckNodePort"));
    }
    spec = with_matching_addresses(&before, spec);
    if spec.ptr_eq(given) { new.clone() } else { with_spec(new, spec) }
}

/// Returns a spec whose list of addresses follows a client that only knows `clusterIP`.
fn with_matching_addresses(before: &Spec<'_>, spec: Object) -> Object {
    let after = Spec::new(&spec);
    let (was, is) = (before.text("clusterIP"), after.text("clusterIP"));
    let (old_list, new_list) = (before.items("clusterIPs"), after.items("clusterIPs"));
    if was == is {
        let is_omitted = !old_list.is_empty() && new_list.is_empty();
        return if is_omitted { put(&spec, "clusterIPs", before.get("clusterIPs")) } else { spec };
    }
    match (old_list == new_list, is.is_empty()) {
        (false, _) => spec,
        (true, true) => spec.without("clusterIPs"),
        (true, false) => spec.with("clusterIPs", Value::array([Value::from(is)])),
    }
}

/// Carries over the node port of each port of the same name, unless another port uses it.
fn carried_ports(before: &Spec<'_>, after: &Spec<'_>) -> Option<Value> {
    let used: Seen<i64> = after.ports().iter().map(node_port).filter(|port| *port != 0).collect();
    let name = |port: &'_ Value| port.get("name").and_then(Value::as_str).unwrap_or_default().to_string();
    let old_ports: HashMap<String, i64> =
        before.ports().iter().map(|old| (name(old), node_port(old))).filter(|(_, old)| *old != 0).collect();
    tenure_meta::map_items(after.ports(), |_, port| {
        let old = *old_ports.get(&name(port))?;
        let open = node_port(port) == 0 && !used.contains(&old);
        open.then(|| port.as_object().map(|fields| fields.with("nodePort", old).into()))?
    })
}

/// Drops allocated values that the new type does not use, if they are unchanged from the old type.
pub(crate) fn drop_foreign(old: &Value, new: &Value) -> Value {
    let Some(given) = new.get("spec").and_then(Value::as_object) else { return new.clone() };
    let (before, after) = (Spec::of(old), Spec::of(new));
    let lost = |had: bool, has: bool| had && !has;
    let untouched = |name: &&str| before.get(name) == after.get(name);
    let mut foreign: Vec<&str> = Vec::new();
    if lost(before.has_address(), after.has_address()) {
        foreign.extend(["ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]);
        if before.text("clusterIP") == after.text("clusterIP")
            && before.items("clusterIPs") == after.items("clusterIPs")
        {
            foreign.extend(["clusterIP", "clusterIPs"]);
        }
    }
    if lost(before.has_health_check(), after.has_health_check()) {
        foreign.push("healthCheckNodePort");
    }
    if lost(before.is_balanced(), after.is_balanced()) {
        foreign.extend(["allocateLoadBalancerNodePorts", "loadBalancerClass"]);
    }
    if lost(before.is_reached_from_outside(), after.is_reached_from_outside()) {
        foreign.push("externalTrafficPolicy");
    }
    let mut spec = foreign.into_iter().filter(untouched).fold(given.clone(), |spec, name| spec.without(name));
    if lost(before.has_node_ports(), after.has_node_ports()) {
        // Ports may change together with the type, as long as no node port is requested explicitly.
        let had: Seen<i64> = before.ports().iter().map(node_port).collect();
        if after.ports().iter().map(node_port).all(|port| port == 0 || had.contains(&port)) {
            let bare = tenure_meta::map_items(after.ports(), |_, port| {
                let fields = port.as_object()?;
                fields.contains("nodePort").then(|| fields.without("nodePort").into())
            });
            spec = put(&spec, "ports", bare.as_ref().or(after.get("ports")));
        }
    }
    if spec.ptr_eq(given) { new.clone() } else { with_spec(new, spec) }
}

/// Returns a service without the status of a balancer that it does not have.
pub(crate) fn without_foreign_status(service: Value) -> Value {
    let balancer = service.at(["status", "loadBalancer"]).and_then(Value::as_object);
    if Spec::of(&service).is_balanced() || balancer.is_none_or(Object::is_empty) {
        return service;
    }
    let (Some(fields), Some(status)) =
        (service.as_object(), service.get("status").and_then(Value::as_object))
    else {
        return service;
    };
    fields.with("status", status.with("loadBalancer", Object::default())).into()
}
