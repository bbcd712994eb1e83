//! Services are the only kind with allocated values that later writes may omit: cluster IPs and node ports.
//! An update keeps omitted ones, and drops those that its type does not use.

use std::collections::HashMap;
use tenure_meta::Seen;
use tenure_value::{Object, Value};

/// The spec of a service, with questions about its type.
struct Spec<'o>(Option<&'o Object>);

impl<'o> Spec<'o> {
    fn of(service: &'o Value) -> Spec<'o> {
        Spec(service.get("spec").and_then(Value::as_object))
    }

    fn get(&self, name: &str) -> Option<&'o Value> {
        self.0.and_then(|spec| spec.get(name))
    }

    fn text(&self, name: &str) -> &'o str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn has_address(&self) -> bool {
        self.text("type") != "ExternalName"
    }

    fn has_node_ports(&self) -> bool {
        matches!(self.text("type"), "NodePort" | "LoadBalancer")
    }

    /// Whether ports without a node port get one.
    fn allocates_node_ports(&self) -> bool {
        let is_disabled = self.get("allocateLoadBalancerNodePorts") == Some(&Value::Bool(false));
        self.has_node_ports() && !(self.is_balanced() && is_disabled)
    }

    fn is_balanced(&self) -> bool {
        self.text("type") == "LoadBalancer"
    }

    fn has_health_check(&self) -> bool {
        self.is_balanced() && self.text("externalTrafficPolicy") == "Local"
    }

    fn is_reached_from_outside(&self) -> bool {
        let addresses =
            self.get("externalIPs").and_then(Value::as_array).is_some_and(|items| !items.is_empty());
        self.has_node_ports() || self.text("type") == "ClusterIP" && addresses
    }

    fn ports(&self) -> &'o [Value] {
        self.get("ports").and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
    }
}

fn node_port(port: &Value) -> i64 {
    port.get("nodePort").and_then(Value::as_i64).unwrap_or(0)
}

fn is_empty(value: Option<&Value>) -> bool {
    value.is_none_or(|value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Int(number) => *number == 0,
        _ => false,
    })
}

fn with_spec(service: &Value, spec: Object) -> Value {
    match service.as_object() {
        Some(fields) => fields.with("spec", spec).into(),
        None => service.clone(),
    }
}

fn put(spec: &Object, name: &str, value: Option<&Value>) -> Object {
    match value {
        Some(value) if spec.get(name) == Some(value) => spec.clone(),
        Some(value) => spec.with(name, value.clone()),
        None => spec.without(name),
    }
}

/// Carries over allocated values that the new service omits.
pub(crate) fn carry_allocated(old: &Value, new: &Value) -> Value {
    let Some(given) = new.get("spec").and_then(Value::as_object) else { return new.clone() };
    let (before, after) = (Spec::of(old), Spec::of(new));
    let mut spec = given.clone();
    let (old_list, new_list) = (before.get("clusterIPs"), after.get("clusterIPs"));
    let same_address = before.text("clusterIP") == after.text("clusterIP");
    if same_address && is_empty(new_list) && !is_empty(old_list) {
        spec = put(&spec, "clusterIPs", old_list);
    }
    if !same_address && old_list == new_list {
        // A client that only knows `clusterIP` changed or cleared it.
        let address = after.get("clusterIP").filter(|address| !is_empty(Some(address)));
        spec = put(&spec, "clusterIPs", address.map(|address| Value::array([address.clone()])).as_ref());
    }
    if before.has_address() && after.has_address() {
        if after.text("clusterIP").is_empty() {
            spec = put(&spec, "clusterIP", before.get("clusterIP"));
        }
        if is_empty(spec.get("clusterIPs")) && spec.get("clusterIP") == before.get("clusterIP") {
            spec = put(&spec, "clusterIPs", old_list);
        }
    }
    if after.has_address() {
        if after.get("ipFamilyPolicy").is_none_or(Value::is_null) && !is_empty(before.get("ipFamilyPolicy")) {
            spec = put(&spec, "ipFamilyPolicy", before.get("ipFamilyPolicy"));
        }
        // A request for one family is unambiguous, regardless of the families of the old service.
        if let (Some("SingleStack"), Some(Value::Array(families)), true) = (
            spec.get("ipFamilyPolicy").and_then(Value::as_str),
            after.get("ipFamilies"),
            after.get("ipFamilies") == before.get("ipFamilies"),
        ) && let [first, _, ..] = families.items()
        {
            spec = put(&spec, "ipFamilies", Some(&Value::array([first.clone()])));
        }
    }
    if before.allocates_node_ports() && after.allocates_node_ports() {
        spec = put(&spec, "ports", carried_ports(&before, &after).as_ref().or(after.get("ports")));
    }
    if before.has_health_check() && after.has_health_check() && is_empty(after.get("healthCheckNodePort")) {
        spec = put(&spec, "healthCheckNodePort", before.get("healthCheckNodePort"));
    }
    if spec.ptr_eq(given) { new.clone() } else { with_spec(new, spec) }
}

/// Carries over the node port of each port of the same name, unless another port uses it.
fn carried_ports(before: &Spec<'_>, after: &Spec<'_>) -> Option<Value> {
    let mut used: Seen<i64> = after.ports().iter().map(node_port).filter(|port| *port != 0).collect();
    let name = |port: &'_ Value| port.get("name").and_then(Value::as_str).unwrap_or_default().to_string();
    let old_ports: HashMap<String, i64> =
        before.ports().iter().map(|old| (name(old), node_port(old))).filter(|(_, old)| *old != 0).collect();
    tenure_meta::map_items(after.ports(), |_, port| {
        let old = *old_ports.get(&name(port))?;
        let open = node_port(port) == 0 && used.insert(old);
        open.then(|| port.as_object().map(|fields| fields.with("nodePort", old).into()))?
    })
}

/// Drops allocated values that the new type does not use, if they are unchanged from the old type.
pub(crate) fn drop_foreign(old: &Value, new: &Value) -> Value {
    let Some(given) = new.get("spec").and_then(Value::as_object) else { return new.clone() };
    let (before, after) = (Spec::of(old), Spec::of(new));
    let lost = |had: bool, has: bool| had && !has;
    let mut foreign: Vec<&str> = Vec::new();
    if lost(before.has_address(), after.has_address()) {
        foreign.extend(["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]);
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
    let untouched = |name: &&str| before.get(name) == after.get(name);
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
