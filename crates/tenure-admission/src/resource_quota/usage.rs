//! What one object counts for, by the names of limits.

use super::{GroupResource, Usage, pod};
use tenure_meta::Quantity;
use tenure_value::Value;

/// Resources of the core group that have a limit of their own name beside `count/RESOURCE`.
const PLAIN_NAMES: [&str; 6] = [
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
];

/// Returns what an object counts for.
pub fn usage_of(group_resource: GroupResource<'_>, object: &Value) -> Usage {
    let count = match group_resource.group {
        "" => format!("count/{}", group_resource.resource),
        group => format!("count/{}.{group}", group_resource.resource),
    };
    let mut usage = Usage::from([(count.into(), Quantity::ONE)]);
    if !group_resource.group.is_empty() {
        return usage;
    }
    if PLAIN_NAMES.contains(&group_resource.resource) {
        usage.insert(group_resource.resource.into(), Quantity::ONE);
    }
    match group_resource.resource {
        "pods" => usage.extend(pod::usage(object)),
        "services" => usage.extend(service(object)),
        "persistentvolumeclaims" => usage.extend(claim(object)),
        _ => {}
    }
    usage
}

/// Whether objects of a resource may count against a limit; false for most resources, so that they are not read.
pub(super) fn may_count(group_resource: GroupResource<'_>, limit: &str) -> bool {
    if let Some(counted) = limit.strip_prefix("count/") {
        return match counted.split_once('.') {
            Some((resource, group)) => (resource, group) == (group_resource.resource, group_resource.group),
            None => group_resource.group.is_empty() && counted == group_resource.resource,
        };
    }
    group_resource.group.is_empty()
        && match group_resource.resource {
            "pods" => {
                matches!(limit, "pods" | "cpu" | "memory" | "ephemeral-storage")
                    || ["requests.", "limits.", "hugepages-"].iter().any(|prefix| limit.starts_with(prefix))
            }
            "services" => limit == "services" || limit.starts_with("services."),
            "persistentvolumeclaims" => {
                matches!(limit, "persistentvolumeclaims" | "requests.storage")
                    || limit.contains(".storageclass.storage.k8s.io/")
            }
            resource => limit == resource,
        }
}

fn service(object: &Value) -> Usage {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default();
    let ports = spec.get("ports").and_then(Value::as_array);
    let ports = || ports.into_iter().flat_map(|ports| ports.iter());
    let allocates = spec.get("allocateLoadBalancerNodePorts").and_then(Value::as_bool) != Some(false);
    let node_ports = match kind {
        "NodePort" => ports().count(),
        "LoadBalancer" if allocates => ports().count(),
        "LoadBalancer" => {
            ports().filter(|port| port.get("nodePort").and_then(Value::as_i64).unwrap_or(0) != 0).count()
        }
        _ => 0,
    };
    Usage::from([
        ("services.loadbalancers".into(), Quantity::whole(i64::from(kind == "LoadBalancer"))),
        ("services.nodeports".into(), Quantity::whole(node_ports as i64)),
    ])
}

fn claim(object: &Value) -> Usage {
    let amount = |path: [&str; 4]| object.at(path.into_iter().filter(|step| !step.is_empty()))?.as_str();
    let amount = |path| amount(path).and_then(Quantity::parse);
    let requested = amount(["spec", "resources", "requests", "storage"]).unwrap_or(Quantity::ZERO);
    // A claim that shrinks again still has what was allocated for it.
    let allocated = amount(["status", "allocatedResources", "storage", ""]).unwrap_or(Quantity::ZERO);
    let storage = if allocated > requested { allocated } else { requested };
    let mut usage = Usage::from([("requests.storage".into(), storage)]);
    let annotation = object.at(["metadata", "annotations", "volume.beta.kubernetes.io/storage-class"]);
    let class = annotation.or_else(|| object.at(["spec", "storageClassName"])).and_then(Value::as_str);
    if let Some(class) = class.filter(|class| !class.is_empty()) {
        let prefix = format!("{class}.storageclass.storage.k8s.io");
        usage.insert(format!("{prefix}/persistentvolumeclaims").into(), Quantity::ONE);
        usage.insert(format!("{prefix}/requests.storage").into(), storage);
    }
    usage
}
