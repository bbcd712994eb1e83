//! The node ports of a service, and the port of its health checks. A new service has one node port for all of its ports with the same
//! number; later writes allocate one for each port that has none.

use super::{Spec, carried, node_port};
use crate::allocate::PortRange;
use std::collections::{BTreeSet, HashMap};
use tenure_meta::{ApiError, CreateContext, FieldError, Seen};
use tenure_value::{Object, Value};

const HEALTH_CHECK: &str = "healthCheckNodePort";

/// Whether the service needs a port for health checks that it did not need before.
fn needs_health_check(old: Option<Spec<'_>>, new: Spec<'_>) -> bool {
    new.has_health_check() && !old.is_some_and(Spec::has_health_check)
}

fn port_number(port: &Value) -> i64 {
    port.get("port").and_then(Value::as_i64).unwrap_or(0)
}

/// Returns the node port that a client asks for, by the number of the port.
fn requested(ports: &[Value]) -> HashMap<i64, i64> {
    let given = ports.iter().filter(|port| node_port(port) != 0);
    given.rev().map(|port| (port_number(port), node_port(port))).collect()
}

/// Returns the spec of a service with the node ports that it needs.
pub(super) fn allotted(old: Option<Spec<'_>>, spec: Object, context: &mut dyn CreateContext) -> Object {
    let new = Spec::new(&spec);
    let mut result = spec.clone();
    if new.allocates_node_ports() {
        let mut shared = match old {
            None => requested(new.ports()),
            Some(_) => HashMap::new(),
        };
        let ports = tenure_meta::map_items(new.ports(), |_, port| {
            let open = (node_port(port) == 0).then(|| port.as_object())??;
            let number = match shared.get(&port_number(port)) {
                Some(known) => *known,
                None => i64::from(context.node_port()?),
            };
            if old.is_none() {
                shared.insert(port_number(port), number);
            }
            Some(open.with("nodePort", number).into())
        });
        if let Some(ports) = ports {
            result = result.with("ports", ports);
        }
    }
    if needs_health_check(old, new)
        && new.number(HEALTH_CHECK) == 0
        && let Some(port) = context.node_port()
    {
        result = result.with(HEALTH_CHECK, i64::from(port));
    }
    result
}

/// Returns how many node ports a service may need that its client did not name.
pub fn count(service: &Value) -> usize {
    let spec = Spec::of(service);
    let ports = if spec.allocates_node_ports() { spec.ports().len() } else { 0 };
    ports + usize::from(spec.has_health_check())
}

/// Returns the ports that a service asks for and that the old one does not have.
pub fn added(old: Option<&Value>, new: &Value) -> BTreeSet<u16> {
    let numbers = |service: &Value| -> BTreeSet<i64> {
        let spec = Spec::of(service);
        spec.ports().iter().map(node_port).chain([spec.number(HEALTH_CHECK)]).collect()
    };
    let had = old.map(numbers).unwrap_or_default();
    let numbers = numbers(&carried(old, new));
    numbers.difference(&had).filter_map(|port| u16::try_from(*port).ok()).filter(|port| *port != 0).collect()
}

/// Why a service does not get its ports.
#[derive(Debug)]
pub enum Refusal {
    /// A field is wrong.
    Field(FieldError),
    /// Something else.
    Failure(ApiError),
}

/// The ports that one write allocates.
struct Allocation<'a> {
    range: Option<PortRange>,
    is_taken: &'a dyn Fn(u16) -> bool,
    allocated: Seen<i64>,
}

impl Allocation<'_> {
    fn allocate(&mut self, port: i64) -> Result<(), String> {
        let known = u16::try_from(port).ok();
        match self.range {
            Some(range) if !known.is_some_and(|port| range.contains(port)) => Err(format!(
                "provided port is not in the valid range. The range of valid ports is {}-{}",
                range.first, range.last
            )),
            _ if known.is_some_and(self.is_taken) || !self.allocated.insert(port) => {
                Err("provided port is already allocated".into())
            }
            _ => Ok(()),
        }
    }
}

/// Checks the ports that a service asks for. A dry run has no `range`: it accepts any port.
pub fn check(
    old: Option<&Value>,
    new: &Value,
    range: Option<PortRange>,
    is_taken: &dyn Fn(u16) -> bool,
) -> Result<(), Refusal> {
    let carried = carried(old, new);
    let (old, new) = (old.map(Spec::of), Spec::of(&carried));
    let mut allocation = Allocation { range, is_taken, allocated: Seen::default() };
    if new.has_node_ports() {
        match old {
            None => check_new(new, &mut allocation)?,
            Some(old) => check_changed(old, new, &mut allocation)?,
        }
    }
    let health = new.number(HEALTH_CHECK);
    if needs_health_check(old, new) && health != 0 {
        allocation.allocate(health).map_err(|why| {
            let message = format!("failed to allocate requested HealthCheck NodePort {health}: {why}");
            Refusal::Failure(ApiError::internal_error(message))
        })?;
    }
    Ok(())
}

fn refused(at: usize, port: i64, why: &str) -> Refusal {
    Refusal::Field(FieldError::invalid(format!("spec.ports[{at}].nodePort"), &Value::from(port), why))
}

fn check_new(new: Spec<'_>, allocation: &mut Allocation<'_>) -> Result<(), Refusal> {
    let requested = requested(new.ports());
    let mut shared: HashMap<i64, i64> = HashMap::new();
    for (at, port) in new.ports().iter().enumerate() {
        let (number, given) = (port_number(port), node_port(port));
        if given == 0 && !new.allocates_node_ports() {
            continue;
        }
        match shared.get(&number) {
            Some(known) if given == 0 || given == *known => {}
            Some(_) => allocation.allocate(given).map_err(|why| refused(at, given, &why))?,
            None => {
                let Some(wanted) = requested.get(&number) else { continue };
                allocation.allocate(*wanted).map_err(|why| refused(at, *wanted, &why))?;
                shared.insert(number, *wanted);
            }
        }
    }
    Ok(())
}

fn check_changed(old: Spec<'_>, new: Spec<'_>, allocation: &mut Allocation<'_>) -> Result<(), Refusal> {
    let had: Seen<i64> = old.ports().iter().map(node_port).collect();
    let (mut added, mut used) = (Seen::default(), Seen::default());
    for (at, port) in new.ports().iter().enumerate() {
        let given = node_port(port);
        if given == 0 {
            continue;
        }
        if !had.contains(&given) && added.insert(given) {
            allocation.allocate(given).map_err(|why| refused(at, given, &why))?;
        }
        let protocol = port.get("protocol").and_then(Value::as_str).unwrap_or_default();
        if !used.insert((protocol, given)) {
            let message = format!("duplicate nodePort: {{{protocol} {given}}}");
            return Err(Refusal::Failure(ApiError::unclassified(message)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(kind: &str, ports: &str) -> Value {
        format!(r#"{{"spec":{{"type":"{kind}","ports":[{ports}]}}}}"#).parse().unwrap()
    }

    fn checked(old: Option<&Value>, new: &Value) -> String {
        match check(old, new, Some(PortRange::DEFAULT), &|port| port == 30_009) {
            Ok(()) => String::new(),
            Err(Refusal::Field(error)) => error.to_string(),
            Err(Refusal::Failure(error)) => error.to_string(),
        }
    }

    #[test]
    fn a_port_is_requested_once() {
        let none = None::<&Value>;
        let two = |first: i64, second: i64| {
            format!(
                r#"{{"port":53,"protocol":"TCP","nodePort":{first}}},{{"port":53,"protocol":"UDP","nodePort":{second}}}"#
            )
        };
        let allocated = "provided port is already allocated";
        let old = service("NodePort", r#"{"port":80,"protocol":"TCP","nodePort":30009}"#);
        // The service before, after, and the error.
        let cases = [
            (none, service("NodePort", &two(30_001, 30_001)), String::new()),
            (none, service("NodePort", &two(30_001, 30_002)), String::new()),
            (none, service("NodePort", &two(0, 30_002)), String::new()),
            (none, service("ClusterIP", &two(1, 30_009)), String::new()),
            (
                none,
                service("NodePort", &two(30_001, 30_009)),
                format!("spec.ports[1].nodePort: Invalid value: 30009: {allocated}"),
            ),
            (
                none,
                service("NodePort", r#"{"port":1,"nodePort":30001},{"port":2,"nodePort":30001}"#),
                format!("spec.ports[1].nodePort: Invalid value: 30001: {allocated}"),
            ),
            (
                none,
                service("NodePort", r#"{"port":1,"nodePort":80}"#),
                "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767".into(),
            ),
            (Some(&old), service("NodePort", r#"{"port":81,"protocol":"UDP","nodePort":30009}"#), String::new()),
            (
                Some(&old),
                service("NodePort", r#"{"port":1,"protocol":"TCP","nodePort":30009},{"port":2,"protocol":"TCP","nodePort":30009}"#),
                "duplicate nodePort: {TCP 30009}".into(),
            ),
        ];
        for (old, new, expected) in cases {
            let found = checked(old, &new);
            assert!(
                found == expected || !expected.is_empty() && found.ends_with(&expected),
                "{new}: {found}"
            );
        }
    }
}
