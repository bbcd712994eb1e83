//! What Kubernetes says about a configuration that does not fit its type. Its own check collects all errors, and quotes values as
//! Go prints them; ours stops at the first one. This walk runs only after ours has failed.

use crate::document::{granularity::below, items};
use std::{
    collections::BTreeSet,
    fmt::{Display, Write},
};
use tenure_fields::PathElement;
use tenure_schema::{ListTopology, Scalar, ScalarKind, Type, TypeRef, UnknownFields};
use tenure_value::{Value, go_text};

/// Returns the errors of a configuration, as Kubernetes words them; `None` if it has none there.
///
/// ```
/// use tenure_apply::kubernetes_type_errors;
/// use tenure_schema::Schema;
/// use tenure_value::Value;
///
/// let map = Schema::builtin().kind("v1", "ConfigMap").unwrap();
/// let config: Value = r#"{"data": {"a": 1}}"#.parse().unwrap();
/// let text = ".data.a: expected string, got &value.valueUnstructured{Value:1}";
/// assert_eq!(kubernetes_type_errors(&config, map).as_deref(), Some(text));
/// ```
pub fn kubernetes_type_errors(config: &Value, ty: TypeRef<'_>) -> Option<String> {
    walk(config, ty, Duplicates::Refused)
}

/// Returns what keeps Kubernetes from comparing the fields of a stored object, which may repeat items; `None` for most objects.
pub(crate) fn malformed(object: &Value, ty: TypeRef<'_>) -> Option<String> {
    walk(object, ty, Duplicates::Allowed)
}

/// Whether a list may have an item twice.
#[derive(Clone, Copy, PartialEq)]
enum Duplicates {
    Allowed,
    Refused,
}

fn walk(object: &Value, ty: TypeRef<'_>, duplicates: Duplicates) -> Option<String> {
    let mut walk = ErrorWalk { path: String::new(), errors: Vec::new(), duplicates };
    walk.value(object, ty);
    match walk.errors.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("errors:\n  {}", several.join("\n  "))),
    }
}

struct ErrorWalk {
    /// Where the walk is.
    path: String,
    errors: Vec<String>,
    duplicates: Duplicates,
}

impl ErrorWalk {
    fn value(&mut self, value: &Value, ty: TypeRef<'_>) {
        match (ty.get(), value) {
            (_, Value::Null) | (Type::Untyped, _) => {}
            (Type::Struct(structure), Value::Object(object)) => {
                for (name, value) in object {
                    match structure.field(name) {
                        Some(_) => self.below(PathElement::Field(name.clone()), value, below(ty, name)),
                        None if structure.unknown == UnknownFields::Preserved => {}
                        // The rest of the object is not looked at.
                        None => {
                            let end = self.path.len();
                            let _ = write!(self.path, ".{name}");
                            self.error("field not declared in schema");
                            self.path.truncate(end);
                            return;
                        }
                    }
                }
            }
            (Type::Map(map), Value::Object(object)) => {
                for (name, value) in object {
                    self.below(PathElement::Field(name.clone()), value, ty.slot(&map.value));
                }
            }
            (Type::List(list), Value::Array(array)) => self.list(array, &list.topology, ty.slot(&list.item)),
            (Type::Struct(_) | Type::Map(_), value) => {
                self.error(format_args!("expected map, got {}", pointer(value)));
            }
            (Type::List(_), value) => self.error(format_args!("expected list, got {}", pointer(value))),
            (Type::Scalar(scalar), value) => self.scalar(scalar, value),
        }
    }

    fn list(&mut self, array: &[Value], topology: &ListTopology, item_type: TypeRef<'_>) {
        let mut seen = BTreeSet::new();
        for (index, item) in array.iter().enumerate() {
            let element = match items::element(item, topology, index) {
                Ok(element) => element,
                Err(_) => {
                    return self.error(format_args!("element {index}: {}", unidentified(item, topology)));
                }
            };
            let is_checked = *topology != ListTopology::Atomic && self.duplicates == Duplicates::Refused;
            if is_checked && !seen.insert(element.clone()) {
                self.error(format_args!("duplicate entries for key {element}"));
            }
            self.below(element, item, item_type);
        }
    }

    fn scalar(&mut self, kind: &Scalar, value: &Value) {
        match expected(kind) {
            Expected::Anything => {}
            Expected::Boolean if !matches!(value, Value::Bool(_)) => {
                self.error(format_args!("expected boolean, got {}", pointer(value)));
            }
            Expected::Number if !matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_)) => {
                let found = go_text::type_name(value);
                self.error(format_args!("expected numeric (int or float), got {found}"));
            }
            Expected::String if value.as_str().is_none() => {
                let found = go_text::Syntax(value);
                self.error(format_args!("expected string, got &value.valueUnstructured{{Value:{found}}}"));
            }
            Expected::Scalar if !value.is_scalar() => {
                self.error(format_args!("expected any scalar, got {}", pointer(value)));
            }
            _ => {}
        }
    }

    fn below(&mut self, element: PathElement, value: &Value, ty: TypeRef<'_>) {
        let end = self.path.len();
        let _ = write!(self.path, "{element}");
        self.value(value, ty);
        self.path.truncate(end);
    }

    fn error(&mut self, what: impl Display) {
        let path = &self.path;
        self.errors.push(if path.is_empty() { what.to_string() } else { format!("{path}: {what}") });
    }
}

/// What Kubernetes expects of a scalar when it compares fields.
enum Expected {
    Boolean,
    Number,
    String,
    Scalar,
    Anything,
}

fn expected(scalar: &Scalar) -> Expected {
    match scalar.kind {
        ScalarKind::Boolean => Expected::Boolean,
        ScalarKind::Integer | ScalarKind::Number => Expected::Number,
        ScalarKind::String if matches!(scalar.format.as_str(), "" | "byte") => Expected::String,
        ScalarKind::String | ScalarKind::Quantity => Expected::Scalar,
        ScalarKind::IntOrString => Expected::Anything,
    }
}

/// Why an item of a keyed list or a set cannot be told from others.
fn unidentified(item: &Value, topology: &ListTopology) -> String {
    match (topology, item) {
        (ListTopology::Keyed(_), Value::Null) => {
            "associative list with keys may not have a null element".into()
        }
        (ListTopology::Keyed(keys), Value::Object(_)) => {
            let names: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
            format!(
                "associative list with keys has an element that omits all key fields {} \
                 (and doesn't have default values for any key fields)",
                go_text::QuotedList(&names)
            )
        }
        (ListTopology::Keyed(_), _) => "associative list with keys may not have non-map elements".into(),
        (_, Value::Object(_)) => "associative list without keys has an element that's a map type".into(),
        (_, Value::Array(_)) => "not supported: associative list with lists as elements".into(),
        _ => "associative list without keys has an element that's an explicit null".into(),
    }
}

/// Returns a value as Go prints the pointer to what wraps it.
fn pointer(value: &Value) -> String {
    format!("&{{{}}}", go_text::Plain(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_schema::Schema;

    #[test]
    fn errors_are_worded_and_collected_as_in_kubernetes() {
        let pod = Schema::builtin().kind("v1", "Pod").expect("a built-in kind");
        for (config, expected) in [
            (r#"{"spec":{"hostNetwork":"x"}}"#, Some(".spec.hostNetwork: expected boolean, got &{x}")),
            (
                r#"{"spec":{"priority":[]}}"#,
                Some(".spec.priority: expected numeric (int or float), got []interface {}"),
            ),
            (r#"{"spec":{"priority":1.5}}"#, None),
            (
                r#"{"spec":{"containers":{"name":"c"}}}"#,
                Some(".spec.containers: expected list, got &{map[name:c]}"),
            ),
            (
                r#"{"spec":{"containers":[{"name":"c","image":[true]},{"name":"c","image":{}}]}}"#,
                Some(concat!(
                    "errors:\n",
                    "  .spec.containers[name=\"c\"].image: expected string, ",
                    "got &value.valueUnstructured{Value:[]interface {}{true}}\n",
                    "  .spec.containers: duplicate entries for key [name=\"c\"]\n",
                    "  .spec.containers[name=\"c\"].image: expected string, ",
                    "got &value.valueUnstructured{Value:map[string]interface {}{}}",
                )),
            ),
            (
                r#"{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":[]}}}]}}"#,
                Some(".spec.containers[name=\"c\"].resources.limits.cpu: expected any scalar, got &{[]}"),
            ),
            // The key of this list has a default.
            (r#"{"spec":{"containers":[{"image":"c"}]}}"#, None),
        ] {
            let config: Value = config.parse().expect("JSON");
            assert_eq!(kubernetes_type_errors(&config, pod).as_deref(), expected, "{config}");
        }
    }
}
