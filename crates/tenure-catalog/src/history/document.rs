//! Changes as documents, for servers and recorders alike; versions are given at the version of the API that a request names.

use crate::{Objects, Target, object::Stored};
use tenure_apply::{OwnershipChange, State, ownership_changes};
use tenure_fields::{FieldSet, Path};
use tenure_history::{HistoryError, Rebuilt, Record, TimelineStep, Values, changes, field_change};
use tenure_meta::{
    ApiError, Reason,
    time::{Precision, Timestamp},
};
use tenure_ownership::{Difference, owner};
use tenure_schema::TypeRef;
use tenure_store::Revision;
use tenure_value::{Object, Value};

/// Returns a version as the target's version of the API shows it.
pub(super) async fn converted(
    objects: &Objects,
    target: &Target,
    version: &Rebuilt,
) -> Result<State, ApiError> {
    let State { object, managers } = version.state.clone();
    let stored = Stored { object, managers, revision: Revision::from_number(version.revision) };
    let Stored { object, managers, .. } = objects.convert_one_from_storage(&target.handler, stored).await?;
    Ok(State { object, managers })
}

/// Returns the answer to a request for history that cannot be read.
pub fn refusal(error: HistoryError) -> ApiError {
    match error {
        HistoryError::TooOld { .. } => ApiError::new(Reason::Expired, error.to_string()),
        HistoryError::Absent { .. } => ApiError::new(Reason::NotFound, error.to_string()),
        HistoryError::Path { .. } => ApiError::bad_request(error.to_string()),
        HistoryError::Damaged { .. } => ApiError::internal(error.to_string()),
    }
}

/// Returns a change as a document: who, when and how, and every field that differs.
pub fn item(
    step: &TimelineStep<'_>,
    before: Option<&State>,
    after: Option<&State>,
    ty: TypeRef<'_>,
    values: Values,
) -> Value {
    let (old, new) = (before.map(|state| &state.object), after.map(|state| &state.object));
    let changes = changes(old, new, ty, values);
    let item = header(&step.record, step.revision, step.written_at);
    let marked = |object: Option<&Value>| {
        object.and_then(|object| object.at(["metadata", "deletionTimestamp"])).cloned()
    };
    let item = match (marked(old), marked(new)) {
        (None, Some(time)) => item.with("deletionTimestamp", time),
        _ => item,
    };
    let item = item.with("changes", Value::array(changes.into_iter().map(change)));
    let owners = match (before, after) {
        (Some(before), Some(after)) => owner_changes(before, after, ty),
        _ => Vec::new(),
    };
    match owners.is_empty() {
        true => item.into(),
        false => item.with("ownerChanges", Value::array(owners)).into(),
    }
}

/// Returns what each manager gained and lost by a change.
fn owner_changes(before: &State, after: &State, ty: TypeRef<'_>) -> Vec<Value> {
    let changes = ownership_changes(before, after, ty);
    let paths = |fields: &FieldSet| {
        let leaves = fields.leaves();
        Value::array(leaves.iter().map(|path| Value::from(path.quoted().to_string())))
    };
    let shown = |change: OwnershipChange| {
        Value::object([
            ("manager", Value::from(change.owner.name.clone())),
            ("operation", Value::from(owner::operation(&change.owner))),
            ("gained", paths(&change.gained)),
            ("lost", paths(&change.lost)),
        ])
    };
    let has_moved = |change: &OwnershipChange| !change.gained.is_empty() || !change.lost.is_empty();
    changes.into_iter().filter(has_moved).map(shown).collect()
}

/// Returns a change of one field as a document; `None` if it did not change.
pub fn field_item(
    step: &TimelineStep<'_>,
    before: Option<&State>,
    after: Option<&State>,
    path: &Path,
    ty: TypeRef<'_>,
    values: Values,
) -> Option<Value> {
    let found = field_change(before, after, path, ty, values)?;
    let changed = found.changed;
    let difference = Difference { path: path.clone(), before: found.from, after: found.to };
    let item = header(&step.record, step.revision, step.written_at);
    Some(
        item.with("changes", Value::array([change(difference)]))
            .with("owners", owner::list(&found.owners))
            .with("changed", changed)
            .into(),
    )
}

/// Returns a time in milliseconds since 1970 as documents show it.
pub fn time_text(milliseconds: u64) -> String {
    let time = Timestamp {
        seconds: i64::try_from(milliseconds / 1000).unwrap_or_default(),
        nanos: (milliseconds % 1000) as u32 * 1_000_000,
    };
    time.format(Precision::Micros)
}

fn header(record: &Record<'_>, revision: u64, written_at: u64) -> Object {
    let kind = match (record.previous, record.remains) {
        (None, _) => "Created",
        (Some(_), true) => "Modified",
        (Some(_), false) => "Deleted",
    };
    let mut item = Object::default()
        .with("revision", revision.to_string())
        .with("time", time_text(written_at))
        .with("type", kind)
        .with("verb", record.verb.as_str())
        .with("user", record.user.clone())
        .with("manager", record.manager.clone());
    if !record.subresource.is_empty() {
        item = item.with("subresource", record.subresource.clone());
    }
    if let Some(previous) = record.previous {
        item = item.with("previous", previous.to_string());
    }
    item
}

fn change(difference: Difference) -> Value {
    let mut change = Object::default().with("path", difference.path.quoted().to_string());
    if let Some(from) = difference.before {
        change = change.with("from", from);
    }
    if let Some(to) = difference.after {
        change = change.with("to", to);
    }
    change.into()
}
