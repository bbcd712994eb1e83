//! Values of Secrets, which leave the server only if a flag says so. Objects are masked before anything is computed from them, so that no
//! result can have what it was not given.

use crate::guard::Guard;
use tenure_client::Resource;
use tenure_history::secret::{Values, WITHHELD, redact};
use tenure_ownership::LiveObject;
use tenure_value::{Object, Value};

/// Whether the values of a kind are secret.
pub fn is_secret(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.plural == "secrets"
}

/// Returns a live object as it may be shown.
pub fn shown(live: LiveObject, resource: &Resource, guard: &Guard) -> LiveObject {
    if guard.show_secrets || !is_secret(resource) {
        return live;
    }
    LiveObject { object: redact(&live.object, Values::Withheld), managers: live.managers }
}

/// Returns a change of a Secret, or a fight about one, without values: those of members that name a side of it, or tell it.
pub fn without_sides(item: &Value) -> Value {
    match item {
        Value::Object(object) => {
            let side = |name: &str| matches!(name, "from" | "to" | "before" | "after" | "value" | "message");
            let fields = object.iter().map(|(name, value)| match side(name) && !value.is_null() {
                true => (name.clone(), Value::from(WITHHELD)),
                false => (name.clone(), without_sides(value)),
            });
            Value::Object(Object::from_sorted(fields.collect::<Vec<_>>()))
        }
        Value::Array(items) => Value::array(items.iter().map(without_sides)),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_secret_is_left() {
        let object: Value = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","annotations":
            {"kubectl.kubernetes.io/last-applied-configuration":"hunter2","note":"x"}},
            "data":{"password":"hunter2"},"stringData":{"user":"hunter2"},"type":"Opaque"}"#
            .parse()
            .unwrap();
        let shown = redact(&object, Values::Withheld).to_string();
        assert!(
            !shown.contains("hunter2") && shown.contains("password") && shown.contains("note"),
            "{shown}"
        );
        let change: Value =
            r#"{"manager":"m","changes":[{"path":".data.a","from":"hunter2","to":{"x":"hunter2"}},{"path":".b","to":null}]}"#.parse().unwrap();
        let shown = without_sides(&change).to_string();
        assert!(!shown.contains("hunter2") && shown.contains(".data.a") && shown.contains("null"), "{shown}");
    }
}
