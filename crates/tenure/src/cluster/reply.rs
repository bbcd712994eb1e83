//! What a server answered, and what it says when it refuses. A `Status` of Tenure explains conflicts further than
//! that of other servers; what is common to both is what commands rely on.

use crate::Error;
use tenure_value::Value;

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// The status code.
    pub code: u16,
    /// The body.
    pub value: Value,
    /// What the server warns of.
    pub warnings: Vec<String>,
}

impl Reply {
    /// Whether the server did what was asked.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Returns the body of a success; says what was to be done where the server refused.
    pub fn accepted(self, verb: &str, what: &str) -> Result<Value, Error> {
        if self.is_success() {
            return Ok(self.value);
        }
        Err(self.refusal().into_error(verb, what))
    }

    /// Returns what the server says of its refusal.
    pub fn refusal(&self) -> Refusal {
        let text = |name: &str| self.value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let causes = self.value.at(["details", "causes"]).and_then(Value::as_array);
        let cause = |cause: &Value| {
            let text = |name: &str| cause.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            Cause { reason: text("reason"), field: text("field"), message: text("message") }
        };
        let causes = causes.map(|causes| causes.iter().map(cause).collect()).unwrap_or_default();
        let message = match (&self.value, text("message")) {
            (Value::String(text), _) => text.trim().to_owned(),
            (_, message) => message,
        };
        Refusal { code: self.code, reason: text("reason"), message, causes }
    }
}

/// Why a server did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The status code.
    pub code: u16,
    /// The reason in one word.
    pub reason: String,
    /// The message.
    pub message: String,
    /// Details, field by field.
    pub causes: Vec<Cause>,
}

/// One detail of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The reason in one word.
    pub reason: String,
    /// The field.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

/// The reason of a cause that names a contested field.
const CONTESTED: &str = "FieldManagerConflict";

impl Refusal {
    /// Whether others hold fields that would have changed.
    pub fn is_contested(&self) -> bool {
        self.code == 409 && self.causes.iter().any(|cause| cause.reason == CONTESTED)
    }

    /// Whether the object was changed by someone else in the meantime.
    pub fn is_outdated(&self) -> bool {
        self.code == 409 && self.reason == "Conflict" && !self.is_contested()
    }

    /// Returns the contested fields, each once.
    pub fn contested(&self) -> Vec<&str> {
        let mut fields: Vec<&str> = Vec::new();
        for cause in self.causes.iter().filter(|cause| cause.reason == CONTESTED) {
            if !fields.contains(&cause.field.as_str()) {
                fields.push(&cause.field);
            }
        }
        fields
    }

    /// Returns the error for a person, with what to do next.
    pub fn into_error(self, verb: &str, what: &str) -> Error {
        let next = match self.code {
            401 => "; the server does not know you: check the user of the kubeconfig's context",
            403 => "; ask for the permission, or use another user with --user",
            429 | 503 => "; the server is busy: try again",
            _ => "",
        };
        let message = match self.message.as_str() {
            "" => format!("the server answered with code {}", self.code),
            message => message.to_owned(),
        };
        Error::Refused { verb: verb.to_owned(), what: what.to_owned(), message, next }
    }
}

/// Returns the text of a `Warning` header, which reads `299 - "text"`.
pub(super) fn warning(header: &str) -> String {
    let text = header
        .split_once('"')
        .map_or(header, |(_, text)| text.rsplit_once('"').map_or(text, |(text, _)| text));
    text.replace("\\\"", "\"").replace("\\\\", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_lose_their_code_and_quotes() {
        assert_eq!(warning(r#"299 - "unknown field \"spec.x\"""#), r#"unknown field "spec.x""#);
        assert_eq!(warning("odd"), "odd");
    }

    #[test]
    fn a_contest_is_told_from_a_change_in_the_meantime() {
        let reply = |causes: &str| Reply {
            code: 409,
            value: format!(r#"{{"reason":"Conflict","message":"m","details":{{"causes":[{causes}]}}}}"#)
                .parse()
                .unwrap(),
            warnings: Vec::new(),
        };
        let contest = r#"{"reason":"FieldManagerConflict","field":".a","message":"conflict with \"x\""}"#;
        let contested = reply(&format!("{contest},{contest}")).refusal();
        assert!(contested.is_contested() && !contested.is_outdated());
        assert_eq!(contested.contested(), [".a"]);
        assert!(reply("").refusal().is_outdated());
    }
}
