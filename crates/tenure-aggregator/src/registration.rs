//! The APIServices of what this server serves itself. Those of built-in groups are registered when the server starts; those of custom
//! resources come and go with their definitions.

use crate::{
    ApiService,
    api_service::{AUTOMANAGED, GROUP},
};
use std::collections::{BTreeMap, HashMap};
use tenure_catalog::{Priority, Snapshot};
use tenure_value::{Text, Value};

/// The priorities of built-in groups and versions, as Kubernetes has them: group, version, and the priority of each.
const PRIORITIES: [(&str, &str, i64, i64); 39] = [
    ("", "v1", 18000, 1),
    ("admissionregistration.k8s.io", "v1", 16700, 15),
    ("admissionregistration.k8s.io", "v1alpha1", 16700, 9),
    ("admissionregistration.k8s.io", "v1beta1", 16700, 12),
    ("apiextensions.k8s.io", "v1", 16700, 15),
    ("apps", "v1", 17800, 15),
    ("authentication.k8s.io", "v1", 17700, 15),
    ("authentication.k8s.io", "v1alpha1", 17700, 1),
    ("authentication.k8s.io", "v1beta1", 17700, 9),
    ("authorization.k8s.io", "v1", 17600, 15),
    ("autoscaling", "v1", 17500, 15),
    ("autoscaling", "v2", 17500, 30),
    ("batch", "v1", 17400, 15),
    ("certificates.k8s.io", "v1", 17300, 15),
    ("certificates.k8s.io", "v1alpha1", 17300, 1),
    ("certificates.k8s.io", "v1beta1", 17300, 9),
    ("coordination.k8s.io", "v1", 16500, 15),
    ("coordination.k8s.io", "v1alpha2", 16500, 12),
    ("coordination.k8s.io", "v1beta1", 16500, 13),
    ("discovery.k8s.io", "v1", 16200, 15),
    ("events.k8s.io", "v1", 17750, 15),
    ("flowcontrol.apiserver.k8s.io", "v1", 16100, 21),
    ("internal.apiserver.k8s.io", "v1alpha1", 16000, 9),
    ("networking.k8s.io", "v1", 17200, 15),
    ("networking.k8s.io", "v1beta1", 17200, 9),
    ("node.k8s.io", "v1", 16300, 15),
    ("policy", "v1", 17100, 15),
    ("rbac.authorization.k8s.io", "v1", 17000, 15),
    ("resource.k8s.io", "v1", 16200, 21),
    ("resource.k8s.io", "v1alpha3", 16200, 1),
    ("resource.k8s.io", "v1beta1", 16200, 9),
    ("resource.k8s.io", "v1beta2", 16200, 15),
    ("scheduling.k8s.io", "v1", 16600, 15),
    ("scheduling.k8s.io", "v1alpha2", 16600, 2),
    ("storage.k8s.io", "v1", 16800, 15),
    ("storage.k8s.io", "v1alpha1", 16800, 1),
    ("storage.k8s.io", "v1beta1", 16800, 9),
    ("storagemigration.k8s.io", "v1", 15800, 15),
    ("storagemigration.k8s.io", "v1beta1", 15800, 9),
];

/// The label of APIServices that are registered at the start, and of those that follow their definitions.
const ON_START: &str = "onstart";
const ALWAYS: &str = "true";

/// Returns the priority of a built-in group and version.
pub(crate) fn priority(group: &str, version: &str) -> Option<Priority> {
    let row = PRIORITIES.iter().find(|row| (row.0, row.1) == (group, version))?;
    Some(Priority { group: row.2, version: row.3 })
}

/// Returns the priorities of all built-in groups and versions.
pub(crate) fn priorities() -> HashMap<(Text, Text), Priority> {
    let row = |(group, version, of_group, of_version): (&str, &str, i64, i64)| {
        ((group.into(), version.into()), Priority { group: of_group, version: of_version })
    };
    PRIORITIES.into_iter().map(row).collect()
}

/// When a registration happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The server starts.
    Start,
    /// The server has been running.
    Later,
}

/// A change of the stored APIServices.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RegistrationChange {
    Create(Value),
    /// Replace the spec and the label of one.
    Update(Text, Value),
    Delete(Text),
}

/// An APIService that this server registers.
struct Registration {
    group: Text,
    version: Text,
    priority: Priority,
    label: &'static str,
}

impl Registration {
    fn spec(&self) -> Value {
        let group = (!self.group.is_empty()).then(|| ("group", Value::from(self.group.clone())));
        Value::object(group.into_iter().chain([
            ("version", Value::from(self.version.clone())),
            ("groupPriorityMinimum", self.priority.group.into()),
            ("versionPriority", self.priority.version.into()),
        ]))
    }

    fn object(&self, name: &Text) -> Value {
        let labels = Value::object([(AUTOMANAGED, Value::from(self.label))]);
        Value::object([
            ("apiVersion", Value::from("apiregistration.k8s.io/v1")),
            ("kind", "APIService".into()),
            ("metadata", Value::object([("name", Value::from(name.clone())), ("labels", labels)])),
            ("spec", self.spec()),
        ])
    }

    fn is_stored(&self, stored: &ApiService) -> bool {
        stored.service.is_none()
            && (&stored.group, &stored.version, stored.priority)
                == (&self.group, &self.version, self.priority)
            && stored.automanaged == self.label
    }
}

/// Returns the changes by which the stored APIServices become those of what is served.
pub(crate) fn changes<'a>(
    snapshot: &Snapshot,
    stored: impl Fn(&str) -> Option<&'a ApiService>,
    all: impl Iterator<Item = &'a ApiService>,
    moment: Moment,
) -> Vec<RegistrationChange> {
    let desired = desired(snapshot);
    let mut changes = Vec::new();
    for (name, registration) in &desired {
        let is_due = moment == Moment::Start || registration.label == ALWAYS;
        match stored(name) {
            _ if !is_due => {}
            None => changes.push(RegistrationChange::Create(registration.object(name))),
            Some(live) if is_managed(live, moment) && !registration.is_stored(live) => {
                changes.push(RegistrationChange::Update(name.clone(), registration.object(name)));
            }
            Some(_) => {}
        }
    }
    let unwanted = all.filter(|live| is_managed(live, moment) && !desired.contains_key(&live.name));
    changes.extend(unwanted.map(|live| RegistrationChange::Delete(live.name.clone())));
    changes
}

/// Whether the server maintains a stored APIService: at the start all that it has registered, later those of definitions.
fn is_managed(live: &ApiService, moment: Moment) -> bool {
    live.automanaged == ALWAYS || moment == Moment::Start && live.automanaged == ON_START
}

fn desired(snapshot: &Snapshot) -> BTreeMap<Text, Registration> {
    let builtin = tenure_builtin::registry_at(snapshot.kubernetes());
    let mut desired = BTreeMap::new();
    let mut add = |group: &Text, version: &Text, priority: Priority, label: &'static str| {
        let registration = Registration { group: group.clone(), version: version.clone(), priority, label };
        desired.entry(Text::from(format!("{version}.{group}"))).or_insert(registration);
    };
    for group in builtin.groups().iter().filter(|group| group.name != GROUP) {
        for version in group.versions.iter() {
            if let Some(priority) = priority(&group.name, version) {
                add(&group.name, version, priority, ON_START);
            }
        }
    }
    for (group, version) in snapshot.custom_versions() {
        add(&group, &version, Priority::CUSTOM, ALWAYS);
    }
    desired
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_meta::Registry;
    use tenure_profile::KubernetesVersion;

    #[test]
    fn every_built_in_version_has_a_priority() {
        let served =
            KubernetesVersion::ALL.map(tenure_builtin::registry_at).into_iter().flat_map(Registry::groups);
        for group in served.filter(|group| group.name != GROUP) {
            for version in group.versions.iter() {
                assert!(priority(&group.name, version).is_some(), "{}/{version}", group.name);
            }
        }
    }
}
