//! The protection of ServiceCIDRs: one that is deleted stays while services have addresses of it that no other ServiceCIDR
//! contains.

use crate::services::{
    ip_address::MANAGED_BY,
    service_cidr::{ServiceCidr, resource},
};
use std::{collections::HashSet, net::IpAddr};
use tenure_builtin::role::{IP_ADDRESSES, SERVICE_CIDR_FINALIZER};
use tenure_catalog::{Objects, object::meta_text};
use tenure_meta::ApiError;
use tenure_value::Value;

/// Reads the addresses of services that only ServiceCIDRs contain that are being deleted. Addresses of other owners do not keep a
/// ServiceCIDR.
pub async fn orphaned_addresses(
    objects: &Objects,
    cidrs: &[ServiceCidr],
) -> Result<HashSet<IpAddr>, ApiError> {
    let stored = objects.read_all(resource(IP_ADDRESSES)?, "").await?;
    let label = |object: &Value| {
        object.at(["metadata", "labels", MANAGED_BY.0]).and_then(Value::as_str) == Some(MANAGED_BY.1)
    };
    let ours = stored.iter().map(|stored| &stored.object).filter(|object| label(object));
    let in_use = ours.filter_map(|object| meta_text(object, "name").parse().ok());
    Ok(without_other(in_use, cidrs))
}

/// Returns the addresses that no ServiceCIDR contains that stays.
fn without_other(in_use: impl Iterator<Item = IpAddr>, cidrs: &[ServiceCidr]) -> HashSet<IpAddr> {
    let staying: Vec<&ServiceCidr> = cidrs.iter().filter(|cidr| !cidr.is_terminating()).collect();
    in_use.filter(|address| !staying.iter().any(|cidr| cidr.contains(*address))).collect()
}

/// What is to be done about a ServiceCIDR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// It gets the finalizer and the condition `Ready`.
    Protect,
    /// It is being deleted, and has to wait.
    Wait,
    /// It is being deleted, and its finalizer can go.
    Release,
}

/// Returns what is to be done about a ServiceCIDR, given the [`orphaned_addresses`].
pub fn protection(cidr: &ServiceCidr, orphans: &HashSet<IpAddr>) -> Protection {
    match cidr.is_terminating() {
        false => Protection::Protect,
        true if orphans.iter().any(|address| cidr.contains(*address)) => Protection::Wait,
        true => Protection::Release,
    }
}

/// Returns the condition `Ready` that a ServiceCIDR should have: its status, reason and message. `None` if it has it.
pub fn condition(cidr: &ServiceCidr, protection: Protection) -> Option<[&'static str; 3]> {
    let wanted = match protection {
        Protection::Protect => ["True", "", "Kubernetes Service CIDR is ready"],
        Protection::Wait => [
            "False",
            "Terminating",
            "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
        ],
        Protection::Release => return None,
    };
    let has = |name: &str, value: &str| {
        cidr.ready().is_some_and(|ready| ready.get(name).and_then(Value::as_str).unwrap_or_default() == value)
    };
    let [status, reason, message] = wanted;
    (!has("status", status) || !has("reason", reason) || !has("message", message)).then_some(wanted)
}

impl ServiceCidr {
    /// Whether the ServiceCIDR has the finalizer.
    pub fn is_protected(&self) -> bool {
        let finalizers = self.object.at(["metadata", "finalizers"]).and_then(Value::as_array);
        finalizers.is_some_and(|list| list.iter().any(|name| name.as_str() == Some(SERVICE_CIDR_FINALIZER)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::services::service_cidr::tests::cidr;

    fn going(name: &str, range: &str) -> ServiceCidr {
        cidr(&format!(
            r#"{{"metadata":{{"name":"{name}","deletionTimestamp":"2026-01-01T00:00:00Z"}},"spec":{{"cidrs":["{range}"]}}}}"#
        ))
    }

    fn staying(name: &str, range: &str) -> ServiceCidr {
        cidr(&format!(r#"{{"metadata":{{"name":"{name}"}},"spec":{{"cidrs":["{range}"]}}}}"#))
    }

    #[test]
    fn a_service_cidr_waits_for_addresses_that_no_other_contains() {
        let a = || going("a", "10.1.0.0/24");
        // The others, the addresses in use, and what is to be done about `a`.
        let cases: [(Vec<ServiceCidr>, &[&str], Protection); 8] = [
            (vec![], &[], Protection::Release),
            (vec![], &["10.1.0.7"], Protection::Wait),
            (vec![], &["10.2.0.7", "10.1.0.0", "10.1.0.255"], Protection::Release),
            (vec![staying("b", "10.1.0.0/16")], &["10.1.0.7"], Protection::Release),
            (vec![staying("b", "10.1.0.0/24")], &["10.1.0.7"], Protection::Release),
            (vec![going("b", "10.1.0.0/24")], &["10.1.0.7"], Protection::Wait),
            (vec![staying("b", "10.1.0.0/28")], &["10.1.0.7"], Protection::Release),
            (vec![staying("b", "10.1.0.0/28")], &["10.1.0.7", "10.1.0.99"], Protection::Wait),
        ];
        for (others, in_use, expected) in cases {
            let all: Vec<ServiceCidr> = others.into_iter().chain([a()]).collect();
            let orphans = without_other(in_use.iter().map(|text| text.parse().unwrap()), &all);
            assert_eq!(protection(&a(), &orphans), expected, "{all:?} {in_use:?}");
        }
        assert_eq!(protection(&staying("a", "10.1.0.0/24"), &HashSet::new()), Protection::Protect);
    }

    #[test]
    fn a_condition_is_written_once() {
        let fresh = staying("a", "10.1.0.0/24");
        let [status, reason, message] = condition(&fresh, Protection::Protect).unwrap();
        let ready = cidr(&format!(
            r#"{{"metadata":{{"name":"a"}},"status":{{"conditions":[{{"type":"Ready","status":"{status}","reason":"{reason}","message":"{message}"}}]}}}}"#
        ));
        assert_eq!(condition(&ready, Protection::Protect), None);
        assert_eq!(condition(&ready, Protection::Wait).unwrap()[0], "False");
        assert_eq!(condition(&ready, Protection::Release), None);
        assert!(!fresh.is_protected());
        assert!(
            cidr(r#"{"metadata":{"name":"a","finalizers":["networking.k8s.io/service-cidr-finalizer"]}}"#)
                .is_protected()
        );
    }
}
