//! Duplicate owner references.

use crate::Seen;
use tenure_value::{Object, Value};

/// Removes references to an owner that equal another, and returns a warning if there were any.
pub fn one_reference_per_owner(object: Value) -> (Value, Vec<String>) {
    deduplicated(object, "")
}

/// Removes references to an owner that equal another that admission added, and returns a warning if there were any.
pub fn one_reference_per_owner_after_admission(object: Value) -> (Value, Vec<String>) {
    deduplicated(object, " after mutating admission happens")
}

fn deduplicated(object: Value, when: &str) -> (Value, Vec<String>) {
    let owners = object.at(["metadata", "ownerReferences"]).and_then(Value::as_array);
    let (Some(owners), Some(fields)) = (owners, object.as_object()) else { return (object, Vec::new()) };
    let uid = |owner: &'_ Value| owner.get("uid").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut owned: Seen<String> = Seen::default();
    if owners.iter().all(|owner| owned.insert(uid(owner))) {
        return (object, Vec::new());
    }
    let mut seen = Seen::default();
    let mut kept: Vec<&Value> = Vec::new();
    let mut repeated: Vec<String> = Vec::new();
    for owner in owners {
        match seen.insert(owner.to_string()) {
            true => kept.push(owner),
            false => repeated.push(uid(owner)),
        }
    }
    if repeated.is_empty() {
        return (object, Vec::new());
    }
    let warning = format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and \
         may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
        repeated.join(", ")
    );
    let metadata = fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let metadata: Object = metadata.with("ownerReferences", Value::array(kept.into_iter().cloned()));
    (fields.with("metadata", metadata).into(), vec![warning])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_owner_references_are_removed() {
        let object: Value = r#"{"metadata":{"ownerReferences":[{"uid":"1","name":"a"},{"uid":"2"},{"uid":"1","name":"b"},{"uid":"1","name":"a"}]}}"#.parse().unwrap();
        let (repaired, warnings) = one_reference_per_owner(object);
        assert_eq!(
            repaired,
            r#"{"metadata":{"ownerReferences":[{"uid":"1","name":"a"},{"uid":"2"},{"uid":"1","name":"b"}]}}"#
                .parse()
                .unwrap()
        );
        assert!(warnings[0].ends_with("duplicate UID(s) observed: 1"));
        let (same, none) = one_reference_per_owner(repaired.clone());
        assert!(same.ptr_eq(&repaired) && none.is_empty());
        let doubled = r#"{"metadata":{"ownerReferences":[{"uid":"1"},{"uid":"1"}]}}"#.parse().unwrap();
        let (_, warnings) = one_reference_per_owner_after_admission(doubled);
        assert!(warnings[0].starts_with(
            ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server"
        ));
    }
}
