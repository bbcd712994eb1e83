//! What a change of the status of a resource claim needs beyond the permission to write it: `resourceclaims/binding` for the
//! allocation and the reservations, and `resourceclaims/driver`, by the name of the driver, for the state of devices. A driver on
//! the node of the claim needs the latter for its own node alone.

use std::collections::BTreeSet;
use tenure_meta::{ApiError, Attributes, Cause, FieldError, ResourceAttributes, UserInfo, ValueExt};
use tenure_value::{Text, Value};

/// The name of the resource.
pub const RESOURCE_CLAIMS: &str = "resourceclaims";
/// The attribute of a user that names the node which its service account runs on.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const ASSOCIATED: &str = "associated-node:";
const ARBITRARY: &str = "arbitrary-node:";

/// Checks that a user may make the changes from a claim, if there is one, to another. `attributes` are those of the request.
pub fn check_claim_status(
    user: &UserInfo,
    attributes: &ResourceAttributes,
    (old, new): (Option<&Value>, &Value),
    authorize: impl Fn(&Attributes) -> Result<(), ApiError>,
) -> Result<(), ApiError> {
    let is_claim = attributes.group == "resource.k8s.io" && attributes.resource == RESOURCE_CLAIMS;
    let Some(old) = old.filter(|_| is_claim) else { return Ok(()) };
    match denials(user, attributes, (old, new), authorize) {
        none if none.is_empty() => Ok(()),
        causes => Err(ApiError::invalid(&attributes.group, "ResourceClaim", &attributes.name, causes)),
    }
}

/// Returns the changes that the user is not permitted to make.
fn denials(
    user: &UserInfo,
    attributes: &ResourceAttributes,
    (old, new): (&Value, &Value),
    authorize: impl Fn(&Attributes) -> Result<(), ApiError>,
) -> Vec<Cause> {
    let mut denials = Vec::new();
    let part = |claim: &'_ Value, field: &str| {
        let part = claim.at(["status", field]).cloned().unwrap_or_default();
        // What is empty is the same as what is absent.
        if part.as_array().is_some_and(|list| list.is_empty()) { Value::Null } else { part }
    };
    let asked = |verb: String, subresource: &'static str, namespace: Text, name: Text| {
        Attributes::Resource(ResourceAttributes {
            verb: verb.into(),
            subresource: subresource.into(),
            namespace,
            name,
            ..attributes.clone()
        })
    };
    let verb = &attributes.verb;
    if ["allocation", "reservedFor"].iter().any(|field| part(old, field) != part(new, field)) {
        let binding = asked(verb.to_string(), "binding", Text::default(), Text::default());
        if let Err(why) = authorize(&binding) {
            let detail = format!(
                "changing status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", \
                 verb=\"{verb}\" permission: {why}"
            );
            denials.push(FieldError::forbidden("status.allocation", detail).cause());
        }
    }
    let allocation = part(new, "allocation");
    // The state of devices goes with the allocation.
    if allocation.is_null() {
        return denials;
    }
    let mut verbs = vec![format!("{ARBITRARY}{verb}")];
    if node_of(&allocation).is_some_and(|node| runs_on(user, &node)) {
        verbs.insert(0, format!("{ASSOCIATED}{verb}"));
    }
    for driver in changed_drivers(old, new) {
        let ask = |verb: &String| {
            authorize(&asked(verb.clone(), "driver", attributes.namespace.clone(), driver.clone()))
        };
        let answers: Vec<Result<(), ApiError>> = verbs.iter().map(ask).collect();
        if answers.iter().any(Result::is_ok) {
            continue;
        }
        if let Some(Err(why)) = answers.into_iter().next() {
            let detail = format!(
                "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[{}]\" permission: {why}",
                verbs.join(" ")
            );
            denials.push(FieldError::forbidden("status.devices", detail).cause());
        }
    }
    denials
}

/// Returns the drivers whose devices were added, removed or changed.
fn changed_drivers(old: &Value, new: &Value) -> BTreeSet<Text> {
    let devices = |claim: &Value| {
        claim.get("status").map(|status| status.items("devices").to_vec()).unwrap_or_default()
    };
    let key = |device: &Value| ["driver", "pool", "device", "shareID"].map(|field| device.text(field));
    let by_identity = |list: &[Value]| -> std::collections::HashMap<[Text; 4], Value> {
        list.iter().map(|device| (key(device), device.clone())).collect()
    };
    let (before, after) = (by_identity(&devices(old)), by_identity(&devices(new)));
    let changed = |(key, device): (&[Text; 4], &Value), other: &std::collections::HashMap<_, Value>| {
        (other.get(key) != Some(device)).then(|| key[0].clone())
    };
    let gone = before.iter().filter_map(|entry| changed(entry, &after));
    gone.chain(after.iter().filter_map(|entry| changed(entry, &before))).collect()
}

/// Returns the node of an allocation that is for one node.
fn node_of(allocation: &Value) -> Option<Text> {
    let [term] = allocation.get("nodeSelector")?.items("nodeSelectorTerms") else { return None };
    let ([], [field]) = (term.items("matchExpressions"), term.items("matchFields")) else { return None };
    let [node] = field.items("values") else { return None };
    let is_name = field.text("key") == "metadata.name" && field.text("operator") == "In";
    node.as_str().filter(|node| is_name && !node.is_empty()).map(Text::from)
}

/// Whether a user is a service account that runs on a node.
fn runs_on(user: &UserInfo, node: &str) -> bool {
    let names = user.extra.iter().filter(|(key, _)| key == NODE_NAME).flat_map(|(_, names)| names);
    user.name.starts_with("system:serviceaccount:") && names.collect::<Vec<_>>() == [node]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    /// Returns the fields that may not be changed, if the given actions are permitted.
    fn denied(user: &UserInfo, old: &str, new: &str, permitted: &[&str]) -> Vec<(String, String)> {
        let attributes = ResourceAttributes {
            verb: "update".into(),
            group: "resource.k8s.io".into(),
            resource: "resourceclaims".into(),
            subresource: "status".into(),
            namespace: "ns".into(),
            name: "claim".into(),
            ..Default::default()
        };
        let authorize = |asked: &Attributes| {
            let Attributes::Resource(attributes) = asked else { unreachable!("a claim is a resource") };
            let action = format!(
                "{} {} {}/{}",
                attributes.verb, attributes.subresource, attributes.namespace, attributes.name
            );
            match permitted.contains(&action.as_str()) {
                true => Ok(()),
                false => {
                    let why = asked.denial(user, "");
                    Err(ApiError::forbidden(&attributes.group, &attributes.resource, &attributes.name, &why))
                }
            }
        };
        let claim = |status: &str| value(&format!(r#"{{"status":{status}}}"#));
        let denials = denials(user, &attributes, (&claim(old), &claim(new)), authorize);
        denials.into_iter().map(|denial| (denial.field, denial.message)).collect()
    }

    #[test]
    fn the_allocation_needs_the_permission_to_bind() {
        let user = UserInfo::new("ann");
        let allocated = r#"{"allocation":{"devices":{}},"reservedFor":[{"name":"pod"}]}"#;
        let message = "Forbidden: changing status.allocation or status.reservedFor requires \
                       resource=\"resourceclaims/binding\", verb=\"update\" permission: resourceclaims.resource.k8s.io is \
                       forbidden: User \"ann\" cannot update resource \"resourceclaims/binding\" in API group \
                       \"resource.k8s.io\" at the cluster scope";
        let expected = vec![("status.allocation".to_string(), message.to_string())];
        assert_eq!(denied(&user, "{}", allocated, &[]), expected);
        assert_eq!(denied(&user, allocated, "{}", &[]), expected);
        assert_eq!(denied(&user, "{}", allocated, &["update binding /"]), []);
        assert_eq!(denied(&user, allocated, allocated, &[]), []);
        assert_eq!(denied(&user, "{}", r#"{"reservedFor":[]}"#, &[]), []);
    }

    #[test]
    fn devices_need_the_permission_of_their_driver() {
        let on = |node: &str, devices: &str| {
            format!(
                r#"{{"devices":[{devices}],"allocation":{{"nodeSelector":{{"nodeSelectorTerms":[
                    {{"matchFields":[{{"key":"metadata.name","operator":"In","values":["{node}"]}}]}}]}}}}}}"#
            )
        };
        let (one, other) =
            (r#"{"driver":"d1","pool":"p","device":"a"}"#, r#"{"driver":"d2","pool":"p","device":"b"}"#);
        let (none, both) = (on("n1", ""), on("n1", &format!("{one},{other}")));
        let ann = UserInfo::new("ann");
        let paths =
            |denials: Vec<(String, String)>| denials.into_iter().map(|(path, _)| path).collect::<Vec<_>>();
        assert_eq!(paths(denied(&ann, &none, &both, &[])), ["status.devices", "status.devices"]);
        assert_eq!(
            paths(denied(&ann, &both, &none, &["update driver ns/d1"])),
            ["status.devices", "status.devices"]
        );
        let arbitrary = ["arbitrary-node:update driver ns/d1", "arbitrary-node:update driver ns/d2"];
        assert_eq!(denied(&ann, &none, &both, &arbitrary), []);
        assert_eq!(paths(denied(&ann, &none, &both, &arbitrary[..1])), ["status.devices"]);
        // What has not changed needs no permission.
        assert_eq!(denied(&ann, &on("n1", one), &both, &arbitrary[1..]), []);
        // Without an allocation the devices are dropped.
        assert_eq!(denied(&ann, &format!(r#"{{"devices":[{one}]}}"#), "{}", &[]), []);

        let mut driver = UserInfo::service_account("kube-system", "driver");
        driver.extra = vec![(NODE_NAME.into(), vec!["n1".into()])];
        let associated = ["associated-node:update driver ns/d1"];
        assert_eq!(denied(&driver, &none, &on("n1", one), &associated), []);
        assert_eq!(paths(denied(&driver, &on("n2", ""), &on("n2", one), &associated)), ["status.devices"]);
        assert_eq!(paths(denied(&ann, &none, &on("n1", one), &associated)), ["status.devices"]);
    }
}
