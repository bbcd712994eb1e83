//! IPAddresses: the object of an address that a service has.

use crate::services::service_cidr::resource;
use std::net::IpAddr;
use tenure_apply::Managers;
use tenure_builtin::role::{IP_ADDRESSES, SERVICES};
use tenure_catalog::{
    Objects,
    object::{key, meta_text, seconds},
};
use tenure_meta::{ApiError, IpFamily};
use tenure_value::Value;

/// The field manager of addresses.
const MANAGER: &str = "tenure-lifecycle";
/// The label with the family of an address.
const FAMILY: &str = "ipaddress.kubernetes.io/ip-family";
/// The label with what allocated an address, and its value for addresses of services.
pub(crate) const MANAGED_BY: (&str, &str) = ("ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io");

/// Returns the key of the IPAddress of an address.
pub(crate) fn address_key(address: IpAddr) -> Result<String, ApiError> {
    Ok(key(resource(IP_ADDRESSES)?, "", &address.to_string()))
}

/// Returns the key of the service that an IPAddress belongs to; `None` if it belongs to something else.
pub fn parent_service(object: &Value) -> Option<String> {
    let parent = object.at(["spec", "parentRef"])?;
    let text = |name: &str| parent.get(name).and_then(Value::as_str).unwrap_or_default();
    let is_service = (text("group"), text("resource")) == (SERVICES.group, SERVICES.resource);
    let resource = resource(SERVICES).ok().filter(|_| is_service)?;
    Some(key(resource, text("namespace"), text("name")))
}

/// Returns the new IPAddress of a service, with its managers.
pub(crate) fn ip_address(
    objects: &Objects,
    address: IpAddr,
    service: &Value,
) -> Result<(Value, Managers), ApiError> {
    let now = seconds(objects.clock.now());
    let name = address.to_string();
    let (namespace, parent) = (meta_text(service, "namespace"), meta_text(service, "name"));
    let uid = objects.identifiers.uuid(&["uid", IP_ADDRESSES.group, IP_ADDRESSES.resource, "", &name]);
    let family = IpFamily::of(address).name();
    let api_version = format!("{}/{}", IP_ADDRESSES.group, IP_ADDRESSES.version);
    let labels = [(FAMILY, Value::from(family)), (MANAGED_BY.0, Value::from(MANAGED_BY.1))];
    let metadata = Value::object([
        ("creationTimestamp", Value::from(now.clone())),
        ("labels", Value::object(labels)),
        ("name", Value::from(name)),
        ("uid", Value::from(uid)),
    ]);
    let reference = Value::object([
        ("name", Value::from(parent)),
        ("namespace", Value::from(namespace)),
        ("resource", Value::from(SERVICES.resource)),
    ]);
    let object = Value::object([
        ("apiVersion", Value::from(api_version.clone())),
        ("kind", Value::from("IPAddress")),
        ("metadata", metadata),
        ("spec", Value::object([("parentRef", reference)])),
    ]);
    let owned = |names: [&str; 2], rest: &[&str]| {
        let fields = names.iter().chain(rest).map(|name| (format!("f:{name}"), Value::object::<&str>([])));
        Value::object(fields.chain([(".".to_owned(), Value::object::<&str>([]))]))
    };
    let fields = Value::object([
        ("f:metadata", Value::object([("f:labels", owned([FAMILY, MANAGED_BY.0], &[]))])),
        ("f:spec", Value::object([("f:parentRef", owned(["name", "namespace"], &["resource"]))])),
    ]);
    let manager = Value::object([
        ("apiVersion", Value::from(api_version)),
        ("fieldsType", Value::from("FieldsV1")),
        ("fieldsV1", fields),
        ("manager", Value::from(MANAGER)),
        ("operation", Value::from("Update")),
        ("time", Value::from(now)),
    ]);
    let managers = Managers::from_value(&Value::array([manager]))
        .map_err(|error| ApiError::internal(format!("managers of an IPAddress: {error}")))?;
    Ok((object, managers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_the_key_of_its_service() {
        let cases = [
            (
                r#"{"resource":"services","namespace":"shop","name":"web"}"#,
                Some("objects/core/services/shop/web"),
            ),
            (
                r#"{"group":"gateway.networking.k8s.io","resource":"gateways","namespace":"a","name":"b"}"#,
                None,
            ),
            (r#"{"group":"example.com","resource":"services","namespace":"a","name":"b"}"#, None),
            ("{}", None),
        ];
        for (parent, expected) in cases {
            let object: Value = format!(r#"{{"spec":{{"parentRef":{parent}}}}}"#).parse().unwrap();
            assert_eq!(parent_service(&object).as_deref(), expected, "{parent}");
        }
        assert_eq!(parent_service(&Value::Null), None);
    }
}
