//! The priority of pods that name no class: that of the class for all, of which there is one at most.

use super::{
    Api,
    object::{fields, meta_text},
    target::Target,
};
use crate::Failure;
use tenure_value::Value;

impl Api {
    /// Returns a new pod with the class for all, if it names none and there is one; refuses a second such class.
    pub(crate) async fn with_priority_class(&self, target: &Target, object: Value) -> Result<Value, Failure> {
        let resource = &target.served.resource;
        match (resource.group.as_str(), resource.name.as_str()) {
            ("", "pods") => {
                let named = object.at(["spec", "priorityClassName"]).and_then(Value::as_str);
                if named.is_some_and(|name| !name.is_empty()) {
                    return Ok(object);
                }
                let Some(class) = self.class_for_all().await? else { return Ok(object) };
                let spec = fields(object.get("spec")).with("priorityClassName", meta_text(&class, "name"));
                Ok(fields(Some(&object)).with("spec", spec).into())
            }
            ("scheduling.k8s.io", "priorityclasses") if is_for_all(&object) => {
                let Some(class) = self.class_for_all().await? else { return Ok(object) };
                let why = format!(
                    "PriorityClass {} is already marked as default. Only one default can exist",
                    meta_text(&class, "name")
                );
                let name = meta_text(&object, "name");
                Err(Failure::forbidden(&resource.group, &resource.name, name, &why))
            }
            _ => Ok(object),
        }
    }

    /// Returns the class for all; if an update made another, the one with the lowest priority.
    async fn class_for_all(&self) -> Result<Option<Value>, Failure> {
        let Some(classes) = crate::kinds::registry().find("scheduling.k8s.io", "v1", "priorityclasses")
        else {
            return Ok(None);
        };
        let classes = self.read_all(classes, "").await?;
        let marked = classes.into_iter().map(|class| class.object).filter(is_for_all);
        Ok(marked.min_by_key(|class| class.get("value").and_then(Value::as_i64).unwrap_or(0)))
    }
}

fn is_for_all(class: &Value) -> bool {
    class.get("globalDefault") == Some(&Value::Bool(true))
}
