//! A live object, split into its content and its managers. Everything about ownership starts from one, whether it comes
//! from a file or from a server.

use tenure_apply::{ApplyError, Managers, State};
use tenure_value::{Object, Value};

/// A live object and its managers.
#[derive(Clone, Debug)]
pub struct LiveObject {
    /// The object, without `managedFields`.
    pub object: Value,
    /// Its managers.
    pub managers: Managers,
}

impl LiveObject {
    /// Splits an object as a server shows it.
    pub fn read(shown: &Value) -> Result<LiveObject, ApplyError> {
        let managers = shown.at(["metadata", "managedFields"]).unwrap_or(&Value::Null);
        Ok(LiveObject { managers: Managers::from_value(managers)?, object: without_managers(shown) })
    }

    /// Returns the object as a server shows it, with `managedFields`.
    pub fn to_value(&self) -> Value {
        let metadata = self.object.get("metadata").and_then(Value::as_object);
        match (self.object.as_object(), metadata) {
            (Some(object), Some(metadata)) if !self.managers.is_empty() => Value::Object(
                object.with("metadata", metadata.with("managedFields", self.managers.to_value())),
            ),
            _ => self.object.clone(),
        }
    }

    /// Returns the apiVersion; empty if missing.
    pub fn api_version(&self) -> &str {
        self.text(&["apiVersion"])
    }

    /// Returns the kind; empty if missing.
    pub fn kind(&self) -> &str {
        self.text(&["kind"])
    }

    /// Returns the name; empty if missing.
    pub fn name(&self) -> &str {
        self.text(&["metadata", "name"])
    }

    /// Returns the namespace; empty if there is none.
    pub fn namespace(&self) -> &str {
        self.text(&["metadata", "namespace"])
    }

    /// Returns the resourceVersion; null if missing.
    pub fn resource_version(&self) -> Value {
        self.object.at(["metadata", "resourceVersion"]).cloned().unwrap_or_default()
    }

    /// Returns the object as the merge engine takes it.
    pub(crate) fn state(&self) -> State {
        State { object: self.object.clone(), managers: self.managers.clone() }
    }

    fn text(&self, path: &[&str]) -> &str {
        self.object.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default()
    }
}

impl From<State> for LiveObject {
    fn from(state: State) -> LiveObject {
        LiveObject { object: state.object, managers: state.managers }
    }
}

/// Returns an object without `managedFields`.
pub fn without_managers(shown: &Value) -> Value {
    let (Some(object), Some(metadata)) =
        (shown.as_object(), shown.get("metadata").and_then(Value::as_object))
    else {
        return shown.clone();
    };
    Value::Object(Object::with(object, "metadata", metadata.without("managedFields")))
}
