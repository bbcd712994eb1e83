//! An object as it lives, split into what it says and who holds it. Every command about ownership starts from one,
//! whether it came from a file or a server.

use tenure_apply::{ApplyError, Managers};
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

    /// Returns its apiVersion; empty where it says none.
    pub fn api_version(&self) -> &str {
        self.text(&["apiVersion"])
    }

    /// Returns its kind; empty where it says none.
    pub fn kind(&self) -> &str {
        self.text(&["kind"])
    }

    /// Returns its name; empty where it says none.
    pub fn name(&self) -> &str {
        self.text(&["metadata", "name"])
    }

    /// Returns its namespace; empty where it has none.
    pub fn namespace(&self) -> &str {
        self.text(&["metadata", "namespace"])
    }

    fn text(&self, path: &[&str]) -> &str {
        self.object.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default()
    }
}

fn without_managers(shown: &Value) -> Value {
    let (Some(object), Some(metadata)) =
        (shown.as_object(), shown.get("metadata").and_then(Value::as_object))
    else {
        return shown.clone();
    };
    Value::Object(Object::with(object, "metadata", metadata.without("managedFields")))
}
