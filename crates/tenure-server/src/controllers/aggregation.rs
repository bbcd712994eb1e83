//! Aggregated cluster roles: their rules are those of the cluster roles that they select by label.

use super::Outcome;
use crate::{authorization::RBAC_PREFIX, write::Writer};
use std::collections::BTreeMap;
use tenure_auth::rbac::{PolicyRule, aggregate_rules};
use tenure_builtin::role::CLUSTER_ROLES;
use tenure_catalog::{
    Target, Verb,
    object::{Stored, meta_text},
};
use tenure_meta::{ApiError, LabelSelector};
use tenure_value::{Text, Value};

const COMPONENT: &str = "clusterrole-aggregation-controller";

/// Whether a key is that of a cluster role.
pub(super) fn concerns(key: &[u8]) -> bool {
    key.strip_prefix(RBAC_PREFIX.as_bytes()).is_some_and(|rest| rest.starts_with(CLUSTER_ROLES.2.as_bytes()))
}

/// Writes the rules of every aggregated cluster role that has others.
pub(crate) async fn aggregate(writer: &Writer) -> Result<Outcome, ApiError> {
    let (group, version, name) = CLUSTER_ROLES;
    let handler = writer.objects.catalog.resource(group, version, name)?;
    let stored = writer.objects.read_all(&handler.resource, "").await?;
    let roles: BTreeMap<&str, &Stored> =
        stored.iter().map(|stored| (meta_text(&stored.object, "name"), stored)).collect();
    // A role may aggregate aggregated roles, whose rules are written first or seen in the next round.
    for (name, role) in &roles {
        let Some(selectors) =
            role.object.at(["aggregationRule", "clusterRoleSelectors"]).and_then(Value::as_array)
        else {
            continue;
        };
        let rules = collect(selectors, name, &roles);
        if PolicyRule::list(role.object.get("rules")) == rules {
            continue;
        }
        let list = Value::array(rules.iter().map(PolicyRule::to_value));
        let object = role.shown().as_object().cloned().unwrap_or_default().with("rules", list);
        let target = Target {
            verb: Verb::Update,
            handler: handler.clone(),
            namespace: Text::default(),
            name: (*name).into(),
            subresource: Text::default(),
        };
        match writer.put_own(&target, COMPONENT, &Value::Object(object)).await {
            // Someone else wrote it, which starts another round.
            Err(failure) if failure.code() == 409 => return Ok(Outcome::Later),
            written => written?,
        }
    }
    Ok(Outcome::Done)
}

/// Returns the rules of the selected roles, in the order of the selectors and then by name.
fn collect(selectors: &[Value], own: &str, roles: &BTreeMap<&str, &Stored>) -> Vec<PolicyRule> {
    let mut lists = Vec::new();
    for selector in selectors {
        let Ok(selector) = LabelSelector::of_object(selector) else { continue };
        for (name, role) in roles {
            if *name != own && selector.matches(role.object.at(["metadata", "labels"])) {
                lists.push(PolicyRule::list(role.object.get("rules")));
            }
        }
    }
    aggregate_rules(lists.iter().map(Vec::as_slice))
}
