//! A plan beside busy controllers. Between the moment at which the live object was read and that of the dry run, others may have written;
//! what they did is not part of the plan. It keeps a change if the manager of the apply wrote the field, or if nobody owns it, as a
//! default that follows from the apply.

use super::{Plan, Verdict};
use crate::LiveObject;
use tenure_apply::{Manager, Operation};
use tenure_fields::FieldSet;

impl Plan {
    /// Leaves out what others changed, for a plan whose two states are not of the same version.
    pub fn without_others(mut self, manager: &str) -> Plan {
        let is_own = |one: &&Manager| one.name == manager && one.operation == Operation::Apply;
        let states = || self.before.iter().chain(self.after()).flat_map(|live| live.managers.iter());
        let union = |fields: FieldSet, one: &Manager| fields.union(&one.fields);
        let own = states().filter(is_own).fold(self.declared.clone(), union);
        let others = states().filter(|one| !is_own(one)).fold(FieldSet::default(), union);
        self.values.retain(|difference| {
            let path = difference.path.elements();
            own.has(path) || others.node_at(path).is_none()
        });
        // An apply takes fields from others; it never gives them any.
        for change in &mut self.owners {
            if change.owner.name == manager && change.owner.operation == Operation::Apply {
                continue;
            }
            change.gained = FieldSet::default();
            change.lost = change.lost.intersection(&own);
            change.removed = change.removed.intersection(&own);
        }
        self.owners.retain(|change| !change.is_empty());
        if let (Verdict::Applied(after), Some(before)) = (&mut self.verdict, &self.before)
            && self.values.is_empty()
            && self.owners.is_empty()
        {
            *after = LiveObject::clone(before);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        ApplyingManager, ForcedFields, LiveObject, Manifest,
        plan::{Action, DryRun, from_dry_run},
    };
    use tenure_apply::Timestamp;
    use tenure_schema::Schema;
    use tenure_value::Value;

    /// Two controllers that write one status, and the manager of the manifest.
    fn deployment(replicas: u8, status: &str, writers: [(&str, &str); 2], applied: &str) -> LiveObject {
        let entry = |manager: &str, operation: &str, at: &str, fields: &str| {
            let at = if at.is_empty() { String::new() } else { format!(r#","subresource":"{at}""#) };
            format!(
                r#"{{"manager":"{manager}","operation":"{operation}","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{fields}{at}}}"#
            )
        };
        let entries = [
            entry("ci", "Apply", "", applied),
            entry(writers[0].0, "Update", "status", writers[0].1),
            entry(writers[1].0, "Update", "status", writers[1].1),
        ];
        let text = format!(
            r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web","managedFields":[{}]}},
                "spec":{{"replicas":{replicas}}},"status":{status}}}"#,
            entries.join(",")
        );
        LiveObject::read(&text.parse().unwrap()).unwrap()
    }

    fn plan(config: &str, before: LiveObject, after: LiveObject) -> (Action, Vec<String>, Vec<String>) {
        let ty = Schema::builtin().kind("apps/v1", "Deployment").unwrap();
        let manifest = Manifest::new(config.parse::<Value>().unwrap(), "web.yaml", ty);
        let applier =
            ApplyingManager { manager: "ci".into(), force: ForcedFields::None, now: Timestamp::from_unix(0) };
        let plan =
            from_dry_run(&manifest, Some(before), DryRun::Applied(after), &applier).without_others("ci");
        let values = plan.values.iter().map(|value| value.path.to_string()).collect();
        (plan.action(), values, plan.owners.iter().map(|change| change.owner.name.to_string()).collect())
    }

    #[test]
    fn what_others_write_meanwhile_is_not_planned() {
        const REPLICAS: &str = r#"{"f:spec":{"f:replicas":{}}}"#;
        let both =
            [("a", r#"{"f:status":{"f:replicas":{}}}"#), ("b", r#"{"f:status":{"f:readyReplicas":{}}}"#)];
        let swapped =
            [("a", r#"{"f:status":{"f:readyReplicas":{}}}"#), ("b", r#"{"f:status":{"f:replicas":{}}}"#)];
        let config = |replicas: u8| {
            format!(
                r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web"}},"spec":{{"replicas":{replicas}}}}}"#
            )
        };
        let before = || deployment(2, r#"{"replicas":1,"readyReplicas":1}"#, both, REPLICAS);
        // Values and owners of the status changed, also between the two controllers, and nothing of the manifest.
        let after = deployment(2, r#"{"replicas":7,"readyReplicas":3}"#, swapped, REPLICAS);
        assert_eq!(plan(&config(2), before(), after), (Action::Unchanged, vec![], vec![]));
        // The change of the manifest remains, and so does a default that nobody owns.
        let after =
            deployment(3, r#"{"replicas":7,"readyReplicas":3,"terminatingReplicas":0}"#, swapped, REPLICAS);
        let shown = vec![".spec.replicas".to_owned(), ".status.terminatingReplicas".to_owned()];
        assert_eq!(plan(&config(3), before(), after), (Action::Change, shown, vec![]));
        // A field that is taken from another is lost by it.
        const NONE: &str = "{}";
        let owning = [("a", r#"{"f:spec":{"f:replicas":{}},"f:status":{"f:replicas":{}}}"#), both[1]];
        let before = deployment(2, r#"{"replicas":1,"readyReplicas":1}"#, owning, NONE);
        let after = deployment(3, r#"{"replicas":7,"readyReplicas":1}"#, both, REPLICAS);
        let owners = vec!["ci".to_owned(), "a".to_owned()];
        assert_eq!(
            plan(&config(3), before, after),
            (Action::Change, vec![".spec.replicas".to_owned()], owners)
        );
    }
}
