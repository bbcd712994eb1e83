//! What a pod counts for: its effective requests and limits.

use super::{Usage, add, amounts};
use std::collections::BTreeMap;
use tenure_meta::Quantity;
use tenure_value::{Text, Value};

/// The limits that every container has to declare once a quota has them.
const DECLARED: [&str; 6] =
    ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];
/// Resources that a quota limits without a prefix too, meaning requests.
const UNPREFIXED: [&str; 3] = ["cpu", "ephemeral-storage", "memory"];

/// Returns what a pod counts for beside `count/pods`; a pod that has ended counts for nothing else.
pub(super) fn usage(pod: &Value) -> Usage {
    if matches!(pod.at(["status", "phase"]).and_then(Value::as_str), Some("Succeeded" | "Failed")) {
        return Usage::new();
    }
    let mut usage = Usage::from([("pods".into(), Quantity::ONE)]);
    for (name, amount) in effective(pod, "requests") {
        if UNPREFIXED.contains(&name.as_str()) || name.starts_with("hugepages-") {
            usage.insert(name.clone(), amount);
        }
        usage.insert(format!("requests.{name}").into(), amount);
    }
    for (name, amount) in effective(pod, "limits") {
        if UNPREFIXED.contains(&name.as_str()) {
            usage.insert(format!("limits.{name}").into(), amount);
        }
    }
    usage
}

/// Returns the effective requests of a pod.
pub(crate) fn requests(pod: &Value) -> Usage {
    effective(pod, "requests")
}

/// Returns the requests or limits of a pod: containers run together and add up; init containers run one after the
/// other, each beside the sidecars that started before it, so that the largest counts.
fn effective(pod: &Value, kind: &str) -> Usage {
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let mut running = Usage::new();
    for container in containers(spec, "containers") {
        add(&mut running, declared(container, kind));
    }
    let (mut sidecars, mut peak) = (Usage::new(), Usage::new());
    for container in containers(spec, "initContainers") {
        let own = declared(container, kind);
        if container.get("restartPolicy").and_then(Value::as_str) == Some("Always") {
            add(&mut running, own.clone());
            add(&mut sidecars, own);
            raise(&mut peak, &sidecars);
        } else {
            let mut together = sidecars.clone();
            add(&mut together, own);
            raise(&mut peak, &together);
        }
    }
    raise(&mut running, &peak);
    // What the pod declares as a whole takes the place of the sum.
    running.extend(amounts(spec.at(["resources", kind])));
    let overhead = amounts(spec.get("overhead"));
    let counted = overhead.into_iter().filter(|(name, _)| kind == "requests" || running.contains_key(name));
    let counted: Usage = counted.collect();
    add(&mut running, counted);
    running
}

/// Returns the limits of a quota that containers do not declare, with the names of the containers.
pub(super) fn undeclared<'n>(
    pod: &'n Value,
    limits: impl Iterator<Item = &'n Text>,
) -> BTreeMap<&'n str, Vec<&'n str>> {
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let limits: Vec<&str> = limits.map(Text::as_str).filter(|limit| DECLARED.contains(limit)).collect();
    let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let of_pod = |kind: &str, resource: &str| spec.at(["resources", kind, resource]).is_some();
    for container in containers(spec, "containers").chain(containers(spec, "initContainers")) {
        let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
        for &limit in &limits {
            let (kind, resource) = limit.split_once('.').unwrap_or(("requests", limit));
            if container.at(["resources", kind, resource]).is_none() && !of_pod(kind, resource) {
                missing.entry(limit).or_default().push(name);
            }
        }
    }
    for names in missing.values_mut() {
        names.sort_unstable();
    }
    missing
}

/// Whether no container asks for cpu or memory.
pub(super) fn is_best_effort(pod: &Value) -> bool {
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let asks = |owner: &Value| {
        ["requests", "limits"].into_iter().any(|kind| {
            let amounts = amounts(owner.at(["resources", kind]));
            ["cpu", "memory"]
                .into_iter()
                .any(|name| amounts.get(name).is_some_and(|amount| *amount > Quantity::ZERO))
        })
    };
    !asks(spec) && !containers(spec, "containers").chain(containers(spec, "initContainers")).any(asks)
}

fn containers<'v>(spec: &'v Value, list: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    spec.get(list).and_then(Value::as_array).into_iter().flat_map(|list| list.iter())
}

fn declared(container: &Value, kind: &str) -> Usage {
    amounts(container.at(["resources", kind]))
}

fn raise(sum: &mut Usage, to: &Usage) {
    for (name, amount) in to {
        let known = sum.entry(name.clone()).or_insert(*amount);
        if *amount > *known {
            *known = *amount;
        }
    }
}
