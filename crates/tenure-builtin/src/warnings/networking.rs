//! Warnings about services, endpoints and network policies: fields without effect, and addresses.

use super::{
    addresses::{of_address, of_network},
    fields::text,
};
use tenure_meta::ValueExt;
use tenure_value::Value;

/// Whether one of the controllers of Kubernetes writes an object, which writes addresses as they should be.
fn is_managed(object: &Value, label: &str, by: &[&str]) -> bool {
    let manager = object.at(["metadata", "labels", label]).and_then(Value::as_str);
    manager.is_some_and(|manager| by.contains(&manager))
}

pub(super) fn of_endpoints(endpoints: &Value, warnings: &mut Vec<String>) {
    if is_managed(endpoints, "endpoints.kubernetes.io/managed-by", &["endpoint-controller"]) {
        return;
    }
    for (at, subset) in endpoints.items("subsets").iter().enumerate() {
        for list in ["addresses", "notReadyAddresses"] {
            for (index, address) in subset.items(list).iter().enumerate() {
                let path = format_args!("subsets[{at}].{list}[{index}].ip");
                warnings.extend(address.get("ip").and_then(|ip| of_address(path, ip)));
            }
        }
    }
}

pub(super) fn of_slice(slice: &Value, is_new: bool, warnings: &mut Vec<String>) {
    if is_new && text(slice, "addressType") == "FQDN" {
        warnings.push("spec.addressType: FQDN endpoints are deprecated".into());
    }
    let controllers = ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];
    if is_managed(slice, "endpointslice.kubernetes.io/managed-by", &controllers)
        || text(slice, "addressType") == "FQDN"
    {
        return;
    }
    for (at, endpoint) in slice.items("endpoints").iter().enumerate() {
        for (index, address) in endpoint.items("addresses").iter().enumerate() {
            warnings.extend(of_address(format_args!("endpoints[{at}].addresses[{index}]"), address));
        }
    }
}

pub(super) fn of_network_policy(spec: &Value, warnings: &mut Vec<String>) {
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for (at, rule) in spec.items(rules).iter().enumerate() {
            for (index, peer) in rule.items(peers).iter().enumerate() {
                let Some(block) = peer.get("ipBlock") else { continue };
                let path = format!("spec.{rules}[{at}].{peers}[{index}].ipBlock");
                warnings.extend(
                    block.get("cidr").and_then(|range| of_network(format_args!("{path}.cidr"), range)),
                );
                for (number, range) in block.items("except").iter().enumerate() {
                    warnings.extend(of_network(format_args!("{path}.except[{number}]"), range));
                }
            }
        }
    }
}

/// Warns about fields of a service that have no effect.
pub(super) fn of_service(service: &Value, warnings: &mut Vec<String>) {
    let spec = service.get("spec").unwrap_or(&Value::Null);
    let is_external_name = text(spec, "type") == "ExternalName";
    let is_headless = matches!(text(spec, "type"), "" | "ClusterIP") && text(spec, "clusterIP") == "None";
    let has_external = !spec.items("externalIPs").is_empty();
    if service.at(["metadata", "annotations", OLD_HINTS]).is_some() {
        warnings.push(format!(
            "annotation {OLD_HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
    for (at, address) in spec.items("clusterIPs").iter().enumerate() {
        warnings.extend(of_address(format_args!("spec.clusterIPs[{at}]"), address));
    }
    let affinity = text(spec, "sessionAffinity");
    for (field, is_given) in [
        ("loadBalancerIP", !text(spec, "loadBalancerIP").is_empty()),
        ("externalIPs", has_external),
        ("SessionAffinity", !matches!(affinity, "" | "None")),
    ] {
        if is_headless && is_given {
            warnings.push(format!("spec.{field} is ignored for headless services"));
        }
    }
    for (at, address) in spec.items("externalIPs").iter().enumerate() {
        warnings.extend(of_address(format_args!("spec.externalIPs[{at}]"), address));
    }
    if has_external && !is_headless && !is_external_name {
        warnings
            .push("spec.externalIPs is deprecated and may no longer be implemented in some clusters".into());
    }
    if let Some(address) = spec.get("loadBalancerIP") {
        warnings.extend(of_address("spec.loadBalancerIP", address));
    }
    for (at, range) in spec.items("loadBalancerSourceRanges").iter().enumerate() {
        warnings.extend(of_network(format_args!("spec.loadBalancerSourceRanges[{at}]"), range));
    }
    if has_external && is_external_name {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".into());
    }
    if !is_external_name && !text(spec, "externalName").is_empty() {
        warnings.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".into());
    }
    if text(spec, "trafficDistribution") == "PreferClose" {
        warnings
            .push("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"".into());
    }
}

const OLD_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
