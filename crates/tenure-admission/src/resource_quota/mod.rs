//! ResourceQuota: what an object uses, which quotas count it, and whether it still fits.
//!
//! The status of a quota is kept by the caller, in the transaction that writes the object.

mod limited;
mod pod;
mod scope;
mod usage;

pub use limited::QuotaConfig;
pub(crate) use pod::requests as pod_requests;
pub use usage::usage_of;

use std::collections::BTreeMap;
use tenure_meta::Quantity;
use tenure_value::{Text, Value};

/// Amounts by the names of limits.
pub type Usage = BTreeMap<Text, Quantity>;

/// A quota of a namespace.
#[derive(Clone, Debug)]
pub struct Quota<'v> {
    name: &'v str,
    spec: &'v Value,
    hard: Usage,
}

/// The resource that an object is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupResource<'r> {
    /// The API group; empty for the core group.
    pub group: &'r str,
    /// The resource.
    pub resource: &'r str,
}

impl GroupResource<'_> {
    fn is_pod(self) -> bool {
        self.group.is_empty() && self.resource == "pods"
    }
}

impl<'v> Quota<'v> {
    /// Reads a ResourceQuota.
    pub fn read(quota: &'v Value) -> Quota<'v> {
        let name = quota.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
        let spec = quota.get("spec").unwrap_or(&Value::Null);
        Quota { name, spec, hard: amounts(spec.get("hard")) }
    }

    /// Returns the limits.
    pub fn hard(&self) -> &Usage {
        &self.hard
    }

    /// Returns the part of an object's usage that the quota counts; empty if its scopes leave the object out.
    pub fn counted(&self, resource: GroupResource<'_>, object: &Value) -> Usage {
        if !scope::matches(self.spec, resource, object) {
            return Usage::new();
        }
        usage_of(resource, object).into_iter().filter(|(name, _)| self.hard.contains_key(name)).collect()
    }

    /// Returns why a new pod cannot be counted: quotas on cpu and memory need every container to declare them.
    pub fn missing_constraints(&self, group_resource: GroupResource<'_>, object: &Value) -> Option<String> {
        if !group_resource.is_pod() || !scope::matches(self.spec, group_resource, object) {
            return None;
        }
        let missing = pod::undeclared(object, self.hard.keys());
        if missing.is_empty() {
            return None;
        }
        let listed =
            missing.iter().map(|(resource, containers)| format!("{resource} for: {}", containers.join(",")));
        let listed = listed.collect::<Vec<_>>().join("; ");
        Some(format!("failed quota: {}: must specify {listed}", self.name))
    }

    /// Adds a change to what is used; the error says which limits it exceeds. What only shrinks always fits.
    pub fn charge(&self, used: &Usage, change: &Usage) -> Result<Usage, String> {
        let mut exceeded = Vec::new();
        for (name, amount) in change {
            let Some(hard) = self.hard.get(name) else { continue };
            let before = used.get(name).copied().unwrap_or(Quantity::ZERO);
            let sum = before.plus(*amount);
            if *amount > Quantity::ZERO && sum > *hard {
                exceeded.push((name, *amount, before, *hard));
            }
        }
        if exceeded.is_empty() {
            return Ok(self.adjust(used, change));
        }
        let list = |amount: fn(&(&Text, Quantity, Quantity, Quantity)) -> Quantity| {
            let each = exceeded.iter().map(|row| format!("{}={}", row.0, amount(row).canonical()));
            each.collect::<Vec<_>>().join(",")
        };
        let (requested, used, limited) = (list(|row| row.1), list(|row| row.2), list(|row| row.3));
        Err(format!(
            "exceeded quota: {}, requested: {requested}, used: {used}, limited: {limited}",
            self.name
        ))
    }

    /// Adds a change to what is used without a check; no usage falls below zero.
    pub fn adjust(&self, used: &Usage, change: &Usage) -> Usage {
        let mut after = used.clone();
        for (name, amount) in change.iter().filter(|(name, _)| self.hard.contains_key(*name)) {
            let sum = used.get(name).copied().unwrap_or(Quantity::ZERO).plus(*amount);
            after.insert(name.clone(), if sum < Quantity::ZERO { Quantity::ZERO } else { sum });
        }
        after
    }

    /// Whether the quota may count objects of a resource.
    pub fn concerns(&self, resource: GroupResource<'_>) -> bool {
        self.hard.keys().any(|limit| usage::may_count(resource, limit))
    }

    /// Adds what an object counts for to a usage.
    pub fn count(&self, used: &mut Usage, resource: GroupResource<'_>, object: &Value) {
        add(used, self.counted(resource, object));
    }

    /// Returns the usage of all objects of the namespace, with a zero for each limit that none of them counts against.
    pub fn recount<'o>(&self, objects: impl IntoIterator<Item = (GroupResource<'o>, &'o Value)>) -> Usage {
        let mut used: Usage = self.hard.keys().map(|name| (name.clone(), Quantity::ZERO)).collect();
        for (resource, object) in objects {
            self.count(&mut used, resource, object);
        }
        used
    }
}

/// Returns by how much a usage grows.
pub fn growth(before: &Usage, after: &Usage) -> Usage {
    let names = before.keys().chain(after.keys());
    let amount = |usage: &Usage, name: &Text| usage.get(name).copied().unwrap_or(Quantity::ZERO);
    let changes = names.map(|name| (name.clone(), amount(after, name).minus(amount(before, name))));
    changes.filter(|(_, change)| *change != Quantity::ZERO).collect()
}

/// Reads a map of amounts; what is not an amount is left to validation.
pub fn amounts(map: Option<&Value>) -> Usage {
    let fields = map.and_then(Value::as_object).into_iter().flat_map(|map| map.iter());
    fields.filter_map(|(name, amount)| Some((name.clone(), Quantity::parse(amount.as_str()?)?))).collect()
}

fn add(sum: &mut BTreeMap<Text, Quantity>, more: Usage) {
    for (name, amount) in more {
        let before = sum.get(&name).copied().unwrap_or(Quantity::ZERO);
        sum.insert(name, before.plus(amount));
    }
}
