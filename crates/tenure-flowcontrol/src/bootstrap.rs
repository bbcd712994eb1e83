//! The flow schemas and priority levels that every server has. The spec of a mandatory one is always restored. A suggested one
//! is created if it is missing, and its spec is updated as long as its annotation allows it.

use tenure_value::{Limits, Object, Value, json};

const DATA: &str = include_str!("../data/bootstrap.json");
/// The kind of flow schemas.
pub const FLOW_SCHEMA: &str = "FlowSchema";
/// The API version of the objects.
pub const API_VERSION: &str = "flowcontrol.apiserver.k8s.io/v1";
/// The annotation that lets the server update the spec of a suggested object.
const AUTOUPDATE: &str = "apf.kubernetes.io/autoupdate-spec";

/// An object that every server has.
#[derive(Clone, Debug, PartialEq)]
pub struct BootstrapObject {
    /// The object.
    pub object: Value,
    /// Whether it is mandatory.
    pub is_mandatory: bool,
}

/// Returns the objects that every server has, the priority levels first.
pub fn objects() -> Vec<BootstrapObject> {
    let rows = json::parse(DATA.as_bytes(), &Limits::TRUSTED).unwrap_or_default();
    let rows = rows.as_array().cloned().unwrap_or_default();
    rows.iter()
        .map(|row| {
            let field = |name: &str| row.get(name).cloned().unwrap_or_default();
            let annotations = Value::object([(AUTOUPDATE, Value::from("true"))]);
            let metadata = Value::object([("annotations", annotations), ("name", field("name"))]);
            BootstrapObject {
                object: Value::object([
                    ("apiVersion", Value::from(API_VERSION)),
                    ("kind", field("kind")),
                    ("metadata", metadata),
                    ("spec", field("spec")),
                ]),
                is_mandatory: field("mandatory") == Value::Bool(true),
            }
        })
        .collect()
}

impl BootstrapObject {
    /// Returns the object to write, given the stored one; `None` if nothing has to be written.
    pub fn reconcile(&self, stored: Option<&Value>) -> Option<Value> {
        let Some(stored) = stored.and_then(Value::as_object) else { return Some(self.object.clone()) };
        let metadata = stored.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        let annotations = metadata.get("annotations").and_then(Value::as_object).cloned().unwrap_or_default();
        let allowed = annotations.get(AUTOUPDATE).and_then(Value::as_str);
        // Without the annotation, an object that was never changed is still the server's.
        let is_original = || metadata.get("generation").and_then(Value::as_i64) == Some(1);
        if !self.is_mandatory && allowed != Some("true") && !(allowed.is_none() && is_original()) {
            return None;
        }
        let wanted: Object = annotations.with(AUTOUPDATE, "true");
        let spec = self.object.get("spec").cloned().unwrap_or_default();
        if contains(stored.get("spec").unwrap_or(&Value::Null), &spec) && wanted == annotations {
            return None;
        }
        Some(stored.with("metadata", metadata.with("annotations", wanted)).with("spec", spec).into())
    }
}

/// Whether a stored value contains the wanted one; fields that the server set are not compared.
fn contains(stored: &Value, wanted: &Value) -> bool {
    match (stored, wanted) {
        (Value::Object(stored), Value::Object(wanted)) => wanted
            .iter()
            .all(|(name, wanted)| stored.get(name).is_some_and(|stored| contains(stored, wanted))),
        (Value::Array(stored), Value::Array(wanted)) => {
            stored.len() == wanted.len() && stored.iter().zip(wanted.iter()).all(|(a, b)| contains(a, b))
        }
        _ => stored == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(kind: &str, name: &str) -> BootstrapObject {
        let is_it = |object: &BootstrapObject| {
            object.object.get("kind") == Some(&kind.into())
                && object.object.at(["metadata", "name"]) == Some(&name.into())
        };
        objects().into_iter().find(is_it).unwrap()
    }

    #[test]
    fn there_are_eight_levels_and_eleven_schemas() {
        let count = |kind: &str| {
            objects().iter().filter(|object| object.object.get("kind") == Some(&kind.into())).count()
        };
        assert_eq!((count("PriorityLevelConfiguration"), count("FlowSchema")), (8, 11));
        assert_eq!(objects().iter().filter(|object| object.is_mandatory).count(), 4);
    }

    #[test]
    fn mandatory_objects_are_restored_and_suggested_ones_only_if_they_allow_it() {
        let changed = |object: &BootstrapObject, annotation: &str| -> Value {
            let text = object.object.to_string().replace("\"Limited\"", "\"Other\"");
            text.replace("\"autoupdate-spec\":\"true\"", annotation)
                .replace("autoupdate-spec\":\"true\"", &format!("autoupdate-spec\":\"{annotation}\""))
                .parse()
                .unwrap()
        };
        let (catch_all, system) =
            (named("PriorityLevelConfiguration", "catch-all"), named("PriorityLevelConfiguration", "system"));
        assert_eq!(catch_all.reconcile(None), Some(catch_all.object.clone()));
        assert_eq!(catch_all.reconcile(Some(&catch_all.object)), None);
        for annotation in ["true", "false"] {
            assert_eq!(
                catch_all.reconcile(Some(&changed(&catch_all, annotation))),
                Some(catch_all.object.clone()),
                "{annotation}"
            );
        }
        assert_eq!(system.reconcile(Some(&changed(&system, "true"))), Some(system.object.clone()));
        assert_eq!(system.reconcile(Some(&changed(&system, "false"))), None);
    }

    #[test]
    fn fields_that_were_filled_in_are_not_a_change() {
        let system = named("PriorityLevelConfiguration", "system");
        let text = system.object.to_string().replace("\"handSize\"", "\"filled\":1,\"handSize\"");
        assert_eq!(system.reconcile(Some(&text.parse().unwrap())), None);
    }
}
