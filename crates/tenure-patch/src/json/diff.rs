//! The JSON patch between two documents. Fields and items are compared in step; equal items at both ends of two lists
//! are skipped. The operations apply in the order in which they are written.

use crate::pointer::escape;
use tenure_value::{Array, Object, Value};

/// Returns the JSON patch that leads from one document to another.
///
/// ```
/// use tenure_patch::json;
/// use tenure_value::Value;
///
/// let (original, modified): (Value, Value) = ("[1, 2, 3]".parse().unwrap(), "[1, 3]".parse().unwrap());
/// let patch = json::diff(&original, &modified);
/// assert_eq!(patch.to_string(), r#"[{"op":"remove","path":"/1"}]"#);
/// ```
pub fn diff(original: &Value, modified: &Value) -> Value {
    let mut operations = Vec::new();
    values(original, modified, &mut String::new(), &mut operations);
    Value::array(operations)
}

fn values(original: &Value, modified: &Value, path: &mut String, operations: &mut Vec<Value>) {
    match (original, modified) {
        _ if original == modified => {}
        (Value::Object(original), Value::Object(modified)) => objects(original, modified, path, operations),
        (Value::Array(original), Value::Array(modified)) => arrays(original, modified, path, operations),
        (_, modified) => operations.push(operation("replace", path, Some(modified))),
    }
}

fn objects(original: &Object, modified: &Object, path: &mut String, operations: &mut Vec<Value>) {
    for (name, value) in original {
        below(path, &escape(name), |path| match modified.get(name) {
            Some(other) => values(value, other, path, operations),
            None => operations.push(operation("remove", path, None)),
        });
    }
    for (name, value) in modified {
        if !original.contains(name) {
            below(path, &escape(name), |path| operations.push(operation("add", path, Some(value))));
        }
    }
}

fn arrays(original: &Array, modified: &Array, path: &mut String, operations: &mut Vec<Value>) {
    let front = original.iter().zip(modified).take_while(|(item, other)| item == other).count();
    let back = original[front..]
        .iter()
        .rev()
        .zip(modified[front..].iter().rev())
        .take_while(|(item, other)| item == other)
        .count();
    let (removed, added) = (&original[front..original.len() - back], &modified[front..modified.len() - back]);
    for (at, (item, other)) in removed.iter().zip(added).enumerate() {
        below(path, &(front + at).to_string(), |path| values(item, other, path, operations));
    }
    // From the end, so that the indexes of the others do not change.
    for at in (added.len()..removed.len()).rev() {
        below(path, &(front + at).to_string(), |path| operations.push(operation("remove", path, None)));
    }
    for (at, item) in added.iter().enumerate().skip(removed.len()) {
        below(path, &(front + at).to_string(), |path| operations.push(operation("add", path, Some(item))));
    }
}

fn below(path: &mut String, token: &str, visit: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push('/');
    path.push_str(token);
    visit(path);
    path.truncate(length);
}

fn operation(name: &str, path: &str, value: Option<&Value>) -> Value {
    let fields = [("op", Value::from(name)), ("path", Value::from(path))];
    Value::object(fields.into_iter().chain(value.map(|value| ("value", value.clone()))))
}
