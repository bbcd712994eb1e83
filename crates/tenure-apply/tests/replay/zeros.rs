//! Recognizes the one difference that occurs in random conversations: if two appliers declare the same zero,
//! the recorded server reports a conflict or takes the field by force, and Tenure shares it. Anything else is
//! an ordinary difference.

use crate::recording::is_zero;
use tenure_apply::{ApplyError, Identity, Live, Managers, Operation, State};
use tenure_fields::{FieldSet, Path};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// The name of the difference.
pub const ENTRY: &str = "Equal zero values are shared";

/// Returns the paths that other appliers own, that are absent from the object, and that the configuration
/// sets to a zero.
pub fn shared(live: Live<'_>, config: &Value, writer: &Identity<'_>, ty: TypeRef<'_>) -> FieldSet {
    let mut shared = FieldSet::default();
    let others = live
        .managers
        .iter()
        .filter(|manager| manager.operation == Operation::Apply && !manager.identity().is(writer));
    for manager in others {
        for path in manager.fields.iter() {
            let proposed = path.resolve(config, ty);
            if path.resolve(live.object, ty).is_none() && proposed.is_some_and(is_zero) {
                shared.insert(path.elements());
            }
        }
    }
    shared
}

/// Whether the recorded conflicts are ours plus those over shared zeros.
pub fn explain_conflicts(zeros: &FieldSet, answer: &Value, outcome: Result<State, ApplyError>) -> bool {
    let ours: Vec<(String, String)> = match outcome {
        Ok(_) => Vec::new(),
        Err(ApplyError::Conflicts(conflicts)) => {
            conflicts.causes().into_iter().map(|cause| (cause.field, cause.message)).collect()
        }
        Err(_) => return false,
    };
    let zeros: Vec<String> = zeros.iter().map(|path: Path| path.to_string()).collect();
    let text =
        |cause: &Value, name: &str| cause.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(causes) = answer.at(["details", "causes"]).and_then(Value::as_array) else { return false };
    let recorded = causes.iter().map(|cause| (text(cause, "field"), text(cause, "message")));
    let mut recorded: Vec<_> = recorded.filter(|(field, _)| !zeros.contains(field)).collect();
    let mut ours = ours;
    recorded.sort();
    ours.sort();
    recorded == ours && recorded.len() < causes.len()
}

/// Returns the managers without the zeros that the recorded server took from them, if that is the only
/// difference.
pub fn explain_managers(zeros: &FieldSet, ours: &Managers, recorded: &Managers) -> Option<Managers> {
    let mut differs = false;
    let after = ours.iter().filter_map(|manager| {
        let theirs =
            recorded.get(&manager.identity()).map(|manager| manager.fields.clone()).unwrap_or_default();
        let kept = manager.fields.difference(&theirs).intersection(zeros);
        differs |= !kept.is_empty();
        let fields = manager.fields.difference(&kept);
        (!fields.is_empty()).then(|| manager.with_fields(fields))
    });
    let after: Managers = after.collect();
    differs.then_some(after)
}
