//! The `Status` with which a server refuses a request. Tenure explains conflicts in more detail than other servers; only
//! what all servers have in common is used here.

use std::collections::HashSet;
use tenure_value::Value;

/// Why a server refused a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status code.
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

/// The reason of a cause that names a conflicting field.
const FIELD_MANAGER_CONFLICT: &str = "FieldManagerConflict";
/// The reason of a cause that names the write of a transaction which was refused.
const REFUSED_WRITE: &str = "RefusedWrite";

impl Refusal {
    /// Reads the body of a response with an error code: a `Status`, or plain text.
    pub fn read(code: u16, body: &Value) -> Refusal {
        let text = |object: &Value, name: &str| {
            object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let causes = body.at(["details", "causes"]).and_then(Value::as_array);
        let cause = |cause: &Value| Cause {
            reason: text(cause, "reason"),
            field: text(cause, "field"),
            message: text(cause, "message"),
        };
        let message = match body {
            Value::String(text) => text.trim().to_owned(),
            body => text(body, "message"),
        };
        Refusal {
            code,
            reason: text(body, "reason"),
            message,
            causes: causes.map(|causes| causes.iter().map(cause).collect()).unwrap_or_default(),
        }
    }

    /// Whether other managers own fields that would have changed.
    pub fn is_conflict(&self) -> bool {
        self.code == 409 && self.causes.iter().any(|cause| cause.reason == FIELD_MANAGER_CONFLICT)
    }

    /// Whether the object was changed since it was read.
    pub fn is_outdated(&self) -> bool {
        self.code == 409 && self.reason == "Conflict" && !self.is_conflict()
    }

    /// Returns the number of the write that was refused; `None` if the transaction as such was.
    pub fn refused_write(&self) -> Option<usize> {
        let cause = self.causes.iter().find(|cause| cause.reason == REFUSED_WRITE)?;
        cause.field.strip_prefix("requests[")?.strip_suffix(']')?.parse().ok()
    }

    /// Returns the conflicting fields, each once.
    pub fn conflicting_fields(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let conflicts = self.causes.iter().filter(|cause| cause.reason == FIELD_MANAGER_CONFLICT);
        conflicts.map(|cause| cause.field.as_str()).filter(|field| seen.insert(*field)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_conflict_differs_from_an_outdated_object() {
        let refusal = |causes: &str| {
            let status =
                format!(r#"{{"reason":"Conflict","message":"m","details":{{"causes":[{causes}]}}}}"#);
            Refusal::read(409, &status.parse().unwrap())
        };
        let cause = r#"{"reason":"FieldManagerConflict","field":".a","message":"conflict with \"x\""}"#;
        let conflict = refusal(&format!("{cause},{cause}"));
        assert!(conflict.is_conflict() && !conflict.is_outdated());
        assert_eq!(conflict.conflicting_fields(), [".a"]);
        assert!(refusal("").is_outdated());
    }

    #[test]
    fn the_refused_write_of_a_transaction_is_named() {
        let status = r#"{"details":{"causes":[{"reason":"Other","field":"requests[1]"},{"reason":"RefusedWrite","field":"requests[12]"}]}}"#;
        assert_eq!(Refusal::read(409, &status.parse().unwrap()).refused_write(), Some(12));
        assert_eq!(Refusal::read(409, &"{}".parse().unwrap()).refused_write(), None);
    }
}
