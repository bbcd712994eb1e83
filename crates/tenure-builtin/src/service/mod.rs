//! Services are the only kind with values that are allocated and that later writes may omit: cluster IPs and node ports. A write fills
//! in what the client omitted (`carry`), decides the families of the addresses (`families`), and allocates (`addresses`, `ports`).
//! What Kubernetes refuses while it allocates comes before all that it validates: [`refusals`] and [`ports::check`].

mod addresses;
mod carry;
mod families;
pub mod ports;

use std::net::IpAddr;
use tenure_meta::{CreateContext, FieldError, IpFamily};
use tenure_value::{Object, Text, Value};

pub(crate) use carry::{drop_foreign, without_foreign_status};
pub(crate) use families::related_fields;

/// The value of `clusterIP` of a service without an address.
pub(crate) const HEADLESS: &str = "None";

/// The spec of a service, with questions about its type.
#[derive(Clone, Copy)]
pub(crate) struct Spec<'o>(Option<&'o Object>);

impl<'o> Spec<'o> {
    pub fn of(service: &'o Value) -> Spec<'o> {
        Spec(service.get("spec").and_then(Value::as_object))
    }

    pub fn new(spec: &'o Object) -> Spec<'o> {
        Spec(Some(spec))
    }

    pub fn get(self, name: &str) -> Option<&'o Value> {
        self.0.and_then(|spec| spec.get(name))
    }

    pub fn text(self, name: &str) -> &'o str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn items(self, name: &str) -> &'o [Value] {
        self.get(name).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
    }

    pub fn has_address(self) -> bool {
        self.text("type") != "ExternalName"
    }

    /// Whether the service was created without an address.
    pub fn is_headless(self) -> bool {
        self.items("clusterIPs").first().and_then(Value::as_str) == Some(HEADLESS)
    }

    /// Whether the service has no address and selects no pods, so that its endpoints may have any family.
    pub fn is_free(self) -> bool {
        let selects =
            self.get("selector").and_then(Value::as_object).is_some_and(|selector| !selector.is_empty());
        self.text("clusterIP") == HEADLESS && !selects
    }

    pub fn has_node_ports(self) -> bool {
        matches!(self.text("type"), "NodePort" | "LoadBalancer")
    }

    /// Whether ports without a node port get one.
    pub fn allocates_node_ports(self) -> bool {
        let is_disabled = self.get("allocateLoadBalancerNodePorts") == Some(&Value::Bool(false));
        self.has_node_ports() && !(self.is_balanced() && is_disabled)
    }

    pub fn is_balanced(self) -> bool {
        self.text("type") == "LoadBalancer"
    }

    pub fn has_health_check(self) -> bool {
        self.is_balanced() && self.text("externalTrafficPolicy") == "Local"
    }

    pub fn is_reached_from_outside(self) -> bool {
        self.has_node_ports() || self.text("type") == "ClusterIP" && !self.items("externalIPs").is_empty()
    }

    pub fn ports(self) -> &'o [Value] {
        self.items("ports")
    }

    pub fn number(self, name: &str) -> i64 {
        self.get(name).and_then(Value::as_i64).unwrap_or(0)
    }
}

/// Returns a new service with its families, addresses and node ports.
pub(crate) fn created(service: &Value, context: &mut dyn CreateContext) -> Value {
    match context.allocates() {
        true => prepared(None, service, context),
        false => service.clone(),
    }
}

/// Returns an updated service with what it keeps of the old one, and what it gets.
pub(crate) fn updated(old: &Value, new: &Value, context: &mut dyn CreateContext) -> Value {
    prepared(Some(old), new, context)
}

fn prepared(old: Option<&Value>, new: &Value, context: &mut dyn CreateContext) -> Value {
    let carried = carried(old, new);
    let families = context.ip_families().to_vec();
    let old = old.map(Spec::of);
    // What is refused is not stored.
    let Ok(spec) = families::initialized(old, Spec::of(&carried), &families) else { return carried };
    let spec = addresses::allotted(old, spec, context);
    with_spec(&carried, ports::allotted(old, spec, context))
}

/// Returns a service with what the client omitted and the old service has.
pub(crate) fn carried(old: Option<&Value>, new: &Value) -> Value {
    match old {
        Some(old) => carry::carry_allocated(old, new),
        None => carry::normalized(new),
    }
}

/// Returns why a service is refused for the families and addresses that its client gave, in a cluster of some families.
pub fn refusals(old: Option<&Value>, new: &Value, cluster: &[IpFamily]) -> Vec<FieldError> {
    let carried = carried(old, new);
    families::initialized(old.map(Spec::of), Spec::of(&carried), cluster).err().unwrap_or_default()
}

/// The addresses that a service asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestedAddresses {
    /// Those that it did not have before, and how its client wrote them.
    pub added: Vec<(IpAddr, Text)>,
    /// Whether it gets any that it did not have.
    pub is_allocating: bool,
    /// The list that has them, as errors show it: what is not allocated yet is empty.
    pub shown: Value,
}

/// Returns the addresses that a service asks for which is not refused.
pub fn requested_addresses(old: Option<&Value>, new: &Value, cluster: &[IpFamily]) -> RequestedAddresses {
    let carried = carried(old, new);
    let old = old.map(Spec::of);
    let Ok(spec) = families::initialized(old, Spec::of(&carried), cluster) else {
        return RequestedAddresses::default();
    };
    addresses::requested(old, Spec::of(&with_spec(&carried, spec)))
}

fn with_spec(service: &Value, spec: Object) -> Value {
    match (service.as_object(), service.get("spec").and_then(Value::as_object)) {
        (Some(_), Some(given)) if given.ptr_eq(&spec) => service.clone(),
        (Some(fields), _) => fields.with("spec", spec).into(),
        (None, _) => service.clone(),
    }
}

/// Returns a spec with a field that has a value or none.
fn put(spec: &Object, name: &str, value: Option<&Value>) -> Object {
    match value {
        Some(value) if spec.get(name) == Some(value) => spec.clone(),
        Some(value) => spec.with(name, value.clone()),
        None => spec.without(name),
    }
}

fn family_of(text: &str) -> Option<IpFamily> {
    text.parse().ok().map(IpFamily::of)
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
