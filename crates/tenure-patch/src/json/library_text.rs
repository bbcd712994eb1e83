//! What Kubernetes says about a JSON patch that cannot be applied, where it shows the reason: webhooks and policies. The texts are
//! those of the library that applies such patches there, which names the operation, the pointer and the token that leads nowhere.

use super::draft::Missing;
use crate::{
    ErrorKind, PatchError,
    pointer::{Dialect, Pointer},
};
use tenure_value::Value;

impl PatchError {
    /// Returns how Kubernetes reports a JSON patch that cannot be applied, where it shows the reason: in admission.
    pub fn json_in_kubernetes(&self) -> String {
        match self.kind() {
            ErrorKind::NoSuchTarget { in_kubernetes, .. } => in_kubernetes.to_string(),
            ErrorKind::TestFailed { pointer, .. } => test_failed(pointer),
            ErrorKind::BadOperation { value, .. } => bad_operation(value),
            _ => self.to_string(),
        }
    }
}

/// Which pointer of an operation has no target.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Path,
    From,
}

/// What is missing, and what every such text ends with.
const MISSING: &str = "missing value";

/// Returns the text about a target that does not exist.
pub(super) fn missing(operation: &str, target: Target, pointer: &str, missing: Missing) -> String {
    if !missing.has_parent {
        let path = match (operation, target) {
            ("add" | "remove", _) => format!("doc is missing path: \"{pointer}\""),
            ("move" | "copy", Target::From) => format!("doc is missing from path: {pointer}"),
            ("move" | "copy", Target::Path) => format!("doc is missing destination path: {pointer}"),
            ("test", _) => format!("is missing path: {pointer}"),
            _ => format!("doc is missing path: {pointer}"),
        };
        return format!("{operation} operation does not apply: {path}: {MISSING}");
    }
    if operation == "replace" {
        return format!("replace operation does not apply: doc is missing key: {pointer}: {MISSING}");
    }
    let tokens = Pointer::read(pointer, Dialect::Kubernetes);
    let last = tokens.as_ref().ok().and_then(|pointer| pointer.split()).map_or("", |(_, last)| last.as_str());
    let adds = operation == "add" || target == Target::Path && operation != "remove";
    let why = match index_fault(last) {
        _ if missing == super::draft::ABSENT => {
            format!("Unable to remove nonexistent key: {last}: {MISSING}")
        }
        Some(fault) if adds => format!("value was not a proper array index: '{last}': {fault}"),
        Some(fault) => fault,
        None => {
            // The library reads the sign and the digits, and shows the number.
            let number: i64 = last.parse().unwrap_or_default();
            format!("Unable to access invalid index: {number}: invalid index referenced")
        }
    };
    match (operation, target) {
        ("copy", Target::Path) => format!("error while adding value during copy: {why}"),
        ("copy", Target::From) => format!("error in copy for from: '{pointer}': {why}"),
        ("move", Target::From) => format!("error in move for path: '{last}': {why}"),
        _ => format!("error in {operation} for path: '{pointer}': {why}"),
    }
}

/// Returns the text about a test that fails.
fn test_failed(pointer: &str) -> String {
    format!("testing value {pointer} failed: test failed")
}

/// Returns the text about an operation that is unknown or lacks a member.
fn bad_operation(operation: &Value) -> String {
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let name = text("op").unwrap_or("unknown");
    let pointer = match (name, text("from")) {
        ("add" | "remove" | "replace" | "test", _) => "path",
        ("move" | "copy", None) => "from",
        ("move" | "copy", Some(_)) => "path",
        _ => return format!("Unexpected kind: {name}"),
    };
    match text(pointer) {
        None => format!("{name} operation failed to decode {pointer}: {MISSING}"),
        // A pointer without a slash leads nowhere.
        Some(given) => {
            let nowhere = Missing { why: "", has_parent: false };
            let target = if pointer == "from" { Target::From } else { Target::Path };
            missing(name, target, given, nowhere)
        }
    }
}

/// Returns what is wrong with a token as a number; `None` if it is one.
fn index_fault(token: &str) -> Option<String> {
    let digits = token.strip_prefix(['+', '-']).unwrap_or(token);
    let fault = match !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true if token.parse::<i64>().is_ok() => return None,
        true => "value out of range",
        false => "invalid syntax",
    };
    Some(format!("strconv.Atoi: parsing {}: {fault}", tenure_value::go_text::Quoted(token)))
}

#[cfg(test)]
mod tests {
    use crate::json::{Options, apply};

    #[test]
    fn every_failure_has_the_words_of_the_library() {
        let live = r#"{"a":1,"list":["x"],"map":{}}"#.parse().unwrap();
        for (patch, expected) in [
            (
                r#"{"op":"add","path":"/b/c","value":1}"#,
                r#"add operation does not apply: doc is missing path: "/b/c": missing value"#,
            ),
            (
                r#"{"op":"add","path":"/a/c","value":1}"#,
                r#"add operation does not apply: doc is missing path: "/a/c": missing value"#,
            ),
            (
                r#"{"op":"add","path":"","value":1}"#,
                r#"add operation does not apply: doc is missing path: "": missing value"#,
            ),
            (
                r#"{"op":"add","path":"/list/z","value":1}"#,
                r#"error in add for path: '/list/z': value was not a proper array index: 'z': strconv.Atoi: parsing "z": invalid syntax"#,
            ),
            (
                r#"{"op":"add","path":"/list/7","value":1}"#,
                "error in add for path: '/list/7': Unable to access invalid index: 7: invalid index referenced",
            ),
            (
                r#"{"op":"remove","path":"/map/k"}"#,
                "error in remove for path: '/map/k': Unable to remove nonexistent key: k: missing value",
            ),
            (
                r#"{"op":"remove","path":"/list/-"}"#,
                r#"error in remove for path: '/list/-': strconv.Atoi: parsing "-": invalid syntax"#,
            ),
            (
                r#"{"op":"replace","path":"/b/c","value":1}"#,
                "replace operation does not apply: doc is missing path: /b/c: missing value",
            ),
            (
                r#"{"op":"replace","path":"/list/7","value":1}"#,
                "replace operation does not apply: doc is missing key: /list/7: missing value",
            ),
            (
                r#"{"op":"move","from":"/b/c","path":"/d"}"#,
                "move operation does not apply: doc is missing from path: /b/c: missing value",
            ),
            (
                r#"{"op":"move","from":"/map/k","path":"/d"}"#,
                "error in move for path: 'k': Unable to remove nonexistent key: k: missing value",
            ),
            (
                r#"{"op":"move","from":"/a","path":"/b/c"}"#,
                "move operation does not apply: doc is missing destination path: /b/c: missing value",
            ),
            (
                r#"{"op":"copy","from":"/list/7","path":"/d"}"#,
                "error in copy for from: '/list/7': Unable to access invalid index: 7: invalid index referenced",
            ),
            (
                r#"{"op":"copy","from":"/a","path":"/list/7"}"#,
                "error while adding value during copy: Unable to access invalid index: 7: invalid index referenced",
            ),
            (r#"{"op":"test","path":"/a","value":2}"#, "testing value /a failed: test failed"),
            (
                r#"{"op":"test","path":"/b/c","value":2}"#,
                "test operation does not apply: is missing path: /b/c: missing value",
            ),
            (r#"{"op":"jump","path":"/a"}"#, "Unexpected kind: jump"),
            (r#"{"op":"copy","path":"/a"}"#, "copy operation failed to decode from: missing value"),
            (
                r#"{"op":"add","path":"a","value":1}"#,
                r#"add operation does not apply: doc is missing path: "a": missing value"#,
            ),
        ] {
            let error =
                apply(&live, &format!("[{patch}]").parse().unwrap(), &Options::default()).unwrap_err();
            assert_eq!(error.json_in_kubernetes(), expected, "{patch}");
        }
    }
}
