//! ServiceCIDRs as they are stored.

use std::net::IpAddr;
use tenure_builtin::{
    allocate::{AddressRange, ServiceNetworks},
    role::{DEFAULT_SERVICE_CIDR, SERVICE_CIDRS},
};
use tenure_catalog::{
    Objects,
    object::{Stored, key, meta_text},
};
use tenure_meta::{ApiError, GroupVersionResource, Resource};
use tenure_store::Revision;
use tenure_value::{Text, Value};

/// A ServiceCIDR: networks of which services get addresses.
#[derive(Clone, Debug)]
pub struct ServiceCidr {
    /// Its name.
    pub name: Text,
    /// Its networks.
    pub ranges: Vec<AddressRange>,
    /// The object.
    pub object: Value,
    revision: Revision,
}

impl ServiceCidr {
    fn read(stored: Stored) -> ServiceCidr {
        let cidrs = stored.object.at(["spec", "cidrs"]).and_then(Value::as_array);
        let cidrs = cidrs.map(|items| items.items()).unwrap_or_default();
        ServiceCidr {
            name: meta_text(&stored.object, "name").into(),
            ranges: cidrs.iter().filter_map(|text| AddressRange::parse(text.as_str()?)).collect(),
            revision: stored.revision,
            object: stored.object,
        }
    }

    /// Whether the ServiceCIDR is being deleted.
    pub fn is_terminating(&self) -> bool {
        self.object.at(["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null())
    }

    /// Whether services get addresses: it is not being deleted, and no controller has set its condition `Ready` to another
    /// status than `True`.
    pub fn is_ready(&self) -> bool {
        !self.is_terminating()
            && self.ready().is_none_or(|ready| ready.get("status").and_then(Value::as_str) == Some("True"))
    }

    /// Returns the condition `Ready`.
    pub fn ready(&self) -> Option<&Value> {
        let conditions = self.object.at(["status", "conditions"]).and_then(Value::as_array)?;
        conditions.iter().find(|condition| condition.get("type").and_then(Value::as_str) == Some("Ready"))
    }

    /// Whether an address can be allocated from one of its networks.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.ranges.iter().any(|range| range.contains(address))
    }

    /// Returns the key and the revision of the object.
    pub(crate) fn version(&self) -> Result<(String, Revision), ApiError> {
        Ok((key(resource(SERVICE_CIDRS)?, "", &self.name), self.revision))
    }
}

/// Returns a built-in resource.
pub(crate) fn resource(
    GroupVersionResource { group, version, resource: name }: GroupVersionResource,
) -> Result<&'static Resource, ApiError> {
    tenure_builtin::registry()
        .find(group, version, name)
        .map(|resource| &**resource)
        .ok_or_else(|| ApiError::internal(format!("{name}.{group} is not a built-in resource")))
}

/// Reads the ServiceCIDRs. The one that the server creates comes first, the others in the order of their names.
pub async fn service_cidrs(objects: &Objects) -> Result<Vec<ServiceCidr>, ApiError> {
    let stored = objects.read_all(resource(SERVICE_CIDRS)?, "").await?;
    let mut cidrs: Vec<ServiceCidr> = stored.into_iter().map(ServiceCidr::read).collect();
    cidrs.sort_by_key(|cidr| cidr.name != DEFAULT_SERVICE_CIDR);
    Ok(cidrs)
}

/// Returns the ServiceCIDR that a server creates, without its status.
pub fn default_service_cidr(networks: ServiceNetworks) -> Value {
    let cidrs = networks.ranges().map(|range| Value::from(range.to_string()));
    Value::object([
        ("apiVersion", Value::from(format!("{}/{}", SERVICE_CIDRS.group, SERVICE_CIDRS.version))),
        ("kind", Value::from("ServiceCIDR")),
        ("metadata", Value::object([("name", Value::from(DEFAULT_SERVICE_CIDR))])),
        ("spec", Value::object([("cidrs", Value::array(cidrs))])),
    ])
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn cidr(text: &str) -> ServiceCidr {
        let object: Value = text.parse().unwrap();
        ServiceCidr::read(Stored { object, managers: Default::default(), revision: Revision::ZERO })
    }

    #[test]
    fn a_service_cidr_is_ready_unless_a_controller_or_its_deletion_says_otherwise() {
        let cases = [
            (r#"{"metadata":{"name":"a"},"spec":{"cidrs":["10.0.0.0/24"]}}"#, true),
            (r#"{"metadata":{"name":"a"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#, true),
            (
                r#"{"metadata":{"name":"a"},"status":{"conditions":[{"type":"Other","status":"False"}]}}"#,
                true,
            ),
            (
                r#"{"metadata":{"name":"a"},"status":{"conditions":[{"type":"Ready","status":"False"}]}}"#,
                false,
            ),
            (
                r#"{"metadata":{"name":"a"},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}"#,
                false,
            ),
            (r#"{"metadata":{"name":"a","deletionTimestamp":"2026-01-01T00:00:00Z"}}"#, false),
        ];
        for (text, ready) in cases {
            assert_eq!(cidr(text).is_ready(), ready, "{text}");
        }
    }

    #[test]
    fn the_default_service_cidr_has_the_range_of_the_server() {
        let object = default_service_cidr(ServiceNetworks::DEFAULT);
        let read = cidr(&object.to_string());
        assert_eq!((read.name.as_str(), read.ranges), ("kubernetes", vec![AddressRange::DEFAULT]));
    }
}
