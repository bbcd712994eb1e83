//! No escalation: who writes a role or a binding must have the permissions that it grants, or the permission to grant others.

use crate::{
    Authorizer,
    rbac::{GrantedRule, PolicyRule, Role, RoleRef, Uncovered, uncovered},
};
use tenure_builtin::role::ROLES;
use tenure_catalog::object::{metadata, with_metadata};
use tenure_meta::{ApiError, Attributes, FieldError, ResourceAttributes, UserInfo};
use tenure_value::{Text, Value, go_text};

impl Authorizer {
    /// Checks that a user who writes a role or a binding does not grant more than it has. `object` is the new state and
    /// `old` the stored one, if there is one.
    pub fn check_escalation(
        &self,
        user: &UserInfo,
        attributes: &ResourceAttributes,
        old: Option<&Value>,
        object: &Value,
    ) -> Result<(), ApiError> {
        if !self.decides() || user.is_in(UserInfo::MASTERS) {
            return Ok(());
        }
        // Garbage collection and finalizers must be able to let go of a role or binding.
        if old.is_some_and(|old| without_collection_fields(old) == without_collection_fields(object)) {
            return Ok(());
        }
        let name = Text::from(object.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default());
        let namespace = attributes.namespace.as_str();
        let is_allowed = |verb: &str, resource: &str, name: &Text| {
            let asked = ResourceAttributes {
                verb: verb.into(),
                resource: resource.into(),
                subresource: Text::default(),
                name: name.clone(),
                ..attributes.clone()
            };
            self.decide_blocking(user, &Attributes::Resource(asked)).is_allowed()
        };
        let is_role = ROLES.contains(&attributes.resource.as_str());
        let bound = match is_role {
            true => None,
            false => match object.get("roleRef").and_then(RoleRef::read) {
                Some(role) => Some(role),
                None => return Err(unsupported_role(&attributes.group, object)),
            },
        };
        let is_permitted = match &bound {
            // A new object has no name in its path, so that names in a rule do not match it.
            None => is_allowed("escalate", &attributes.resource, &attributes.name),
            Some(role) => is_allowed("bind", role.resource(), role.parts().1),
        };
        if is_permitted {
            return Ok(());
        }
        let (policy, written) = (self.policy(), Role::read(object));
        let (owned, errors) = policy.rules_of(user, namespace);
        let rules: Vec<GrantedRule<'_>> = match &bound {
            None => {
                let has_selectors =
                    |role: &Value| role.get("aggregationRule").is_some_and(|rule| !rule.is_null());
                let is_aggregated = has_selectors(object) || old.is_some_and(has_selectors);
                let everything = PolicyRule::everything();
                let everything: Vec<_> = everything.iter().map(GrantedRule::unlimited).collect();
                // An aggregated role can collect any rule.
                if is_aggregated && uncovered(&owned, &everything).is_some() {
                    let why = "must have cluster-admin privileges to use the aggregationRule";
                    return Err(ApiError::forbidden(&attributes.group, &attributes.resource, &name, why));
                }
                written.granted().collect()
            }
            Some(role) => match policy.rules_of_role(role, namespace) {
                Some(rules) => rules,
                None => {
                    let name = role.parts().1;
                    return Err(ApiError::not_found(&attributes.group, &attributes.resource, name));
                }
            },
        };
        let refuse = |why: String| {
            let named = object.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
            Err(ApiError::forbidden(&attributes.group, &attributes.resource, named, &why))
        };
        let (name, groups) = (go_text::Quoted(&user.name), go_text::QuotedList(&user.groups));
        let who = format!("user {name} (groups={groups})");
        match uncovered(&owned, &rules) {
            None => Ok(()),
            Some(Uncovered::TooMany) => refuse(format!(
                "{who} is attempting to grant rules with too many combinations to compare; split the rules"
            )),
            Some(Uncovered::Rules { rules, limits }) => {
                let listed: Vec<String> = rules.iter().map(PolicyRule::to_string).collect();
                let mut why = format!(
                    "{who} is attempting to grant RBAC permissions not currently held:\n{}",
                    listed.join("\n")
                );
                if !limits.is_empty() {
                    why.push_str(&format!("\nheld only for {}", limits.join("; ")));
                }
                if !errors.is_empty() {
                    why.push_str(&format!("; resolution errors: [{errors}]"));
                }
                refuse(why)
            }
        }
    }
}

/// Refuses a binding to what is not a role: Kubernetes does so before it validates the binding.
fn unsupported_role(group: &str, binding: &Value) -> ApiError {
    let text = |path: [&str; 2]| binding.at(path).and_then(Value::as_str).unwrap_or_default();
    let (kind, supported) = (text(["roleRef", "kind"]), ["ClusterRole", "Role"].map(Value::from));
    let cause = FieldError::not_supported("roleRef.kind", &Value::from(kind), &supported).cause();
    let binding_kind = binding.get("kind").and_then(Value::as_str).unwrap_or_default();
    let answer = format!("unsupported role reference kind: {}", go_text::Quoted(kind));
    ApiError::invalid(group, binding_kind, text(["metadata", "name"]), vec![cause])
        .or_in_kubernetes(ApiError::unclassified(answer))
}

/// Returns a role or binding without the fields that garbage collection uses.
fn without_collection_fields(object: &Value) -> Value {
    let metadata = metadata(object).without("finalizers").without("ownerReferences");
    with_metadata(object, metadata)
}
