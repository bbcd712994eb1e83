//! Aggregated cluster roles: their rules are those of the cluster roles that they select by label.

use super::Outcome;
use crate::write::Writer;
use std::collections::BTreeMap;
use tenure_authorization::{
    RBAC_PREFIX,
    rbac::{PolicyRule, aggregate_rules},
};
use tenure_builtin::role::CLUSTER_ROLES;
use tenure_catalog::{
    Target, Verb,
    object::{Stored, meta_text},
    read_all_objects,
};
use tenure_meta::{ApiError, GroupVersionResource, LabelSelector};
use tenure_value::{Text, Value};

const COMPONENT: &str = "clusterrole-aggregation-controller";

/// Whether a key is that of a cluster role.
pub(super) fn concerns(key: &[u8]) -> bool {
    key.strip_prefix(RBAC_PREFIX.as_bytes())
        .is_some_and(|rest| rest.starts_with(CLUSTER_ROLES.resource.as_bytes()))
}

/// Writes the rules of every aggregated cluster role whose rules differ.
pub(crate) async fn aggregate(writer: &Writer) -> Result<Outcome, ApiError> {
    let GroupVersionResource { group, version, resource: name } = CLUSTER_ROLES;
    let handler = writer.objects.catalog.resource(group, version, name)?;
    let stored = read_all_objects(&*writer.objects.store, &handler.resource, "").await?;
    let roles: BTreeMap<&str, &Stored> =
        stored.iter().map(|stored| (meta_text(&stored.object, "name"), stored)).collect();
    for (name, rules) in aggregated_rules(&roles) {
        let role = roles[name];
        let list = Value::array(rules.iter().map(PolicyRule::to_value));
        let target = Target {
            verb: Verb::Update,
            handler: handler.clone(),
            namespace: Text::default(),
            name: name.into(),
            subresource: Text::default(),
        };
        // What is written has its managers.
        let live = writer.objects.peek(&target).await?.filter(|live| live.revision == role.revision);
        let Some(role) = live else { return Ok(Outcome::Later) };
        let object = role.shown().as_object().cloned().unwrap_or_default().with("rules", list);
        match writer.put_own(&target, COMPONENT, &Value::Object(object)).await {
            // Another client wrote it, which starts another round.
            Err(failure) if failure.code() == 409 => return Ok(Outcome::Later),
            written => written?,
        }
    }
    Ok(Outcome::Done)
}

/// Returns the aggregated roles whose rules change, with their new rules. A role may aggregate aggregated roles.
fn aggregated_rules<'a>(roles: &BTreeMap<&'a str, &Stored>) -> Vec<(&'a str, Vec<PolicyRule>)> {
    let selected: Vec<(&str, Vec<&str>)> =
        roles.iter().filter_map(|(name, role)| Some((*name, selected_roles(name, role, roles)?))).collect();
    let stored: BTreeMap<&str, Vec<PolicyRule>> =
        roles.iter().map(|(name, role)| (*name, PolicyRule::list(role.object.get("rules")))).collect();
    let mut rules = stored.clone();
    // One round for each level of aggregation; roles that aggregate each other must not loop forever.
    for _ in 0..=selected.len() {
        let mut changed = false;
        for (name, from) in &selected {
            let collected = aggregate_rules(from.iter().map(|name| rules[name].as_slice()));
            if rules[name] != collected {
                rules.insert(name, collected);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let changes = selected.iter().filter(|(name, _)| rules[name] != stored[name]);
    changes.map(|(name, _)| (*name, rules[name].clone())).collect()
}

/// Returns the names of the roles that a role aggregates, in the order of its selectors and then by name; `None` if it is not
/// an aggregated role.
fn selected_roles<'a>(own: &str, role: &Stored, roles: &BTreeMap<&'a str, &Stored>) -> Option<Vec<&'a str>> {
    let selectors = role.object.at(["aggregationRule", "clusterRoleSelectors"]).and_then(Value::as_array)?;
    let mut names = Vec::new();
    for selector in selectors.iter().filter_map(|selector| LabelSelector::of_object(selector).ok()) {
        let is_selected = |role: &Stored| selector.matches(role.object.at(["metadata", "labels"]));
        names.extend(
            roles.iter().filter(|(name, role)| **name != own && is_selected(role)).map(|(name, _)| *name),
        );
    }
    Some(names)
}
