//! DenyServiceExternalIPs: no service gets further external addresses. Those that it has stay.

use crate::{AdmissionAttributes, ObjectPlugin, Operation, ResourceRule};
use tenure_meta::ApiError;
use tenure_value::Value;

/// Refuses new external addresses of services.
pub(crate) const DENY_SERVICE_EXTERNAL_IPS: ObjectPlugin = ObjectPlugin::validating(
    &[ResourceRule::new(&[Operation::Create, Operation::Update], "", "services")],
    check,
);

fn check(attributes: &AdmissionAttributes) -> Result<(), ApiError> {
    match adds_addresses(&attributes.old_object, &attributes.object) {
        true => Err(attributes.forbidden("Use of external IPs is denied by admission control.")),
        false => Ok(()),
    }
}

/// Whether a service has an external address that it did not have.
fn adds_addresses(old: &Value, new: &Value) -> bool {
    let addresses = |service: &'_ Value| -> Vec<Value> {
        let items = service.at(["spec", "externalIPs"]).and_then(Value::as_array);
        items.map(|items| items.items().to_vec()).unwrap_or_default()
    };
    let had: tenure_meta::Seen<Value> = addresses(old).into_iter().collect();
    addresses(new).iter().any(|address| !had.contains(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_be_kept_and_removed() {
        let two = r#"{"spec":{"externalIPs":["192.0.2.1","192.0.2.2"]}}"#;
        let one = r#"{"spec":{"externalIPs":["192.0.2.2"]}}"#;
        for (old, new, adds) in [("{}", "{}", false), ("{}", one, true), (two, one, false), (one, two, true)]
        {
            assert_eq!(adds_addresses(&old.parse().unwrap(), &new.parse().unwrap()), adds, "{old} {new}");
        }
    }
}
