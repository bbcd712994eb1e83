//! The past of an object: its changes, those of one field, a version as it was, two versions side by side, undoing a change, and
//! bringing back a deleted object. A Tenure server keeps history, or a recorder; without
//! either the page says what to start.

use super::{LiveRef, ObjectRef, digest, object::view, with};
use crate::{
    PageError,
    request::{flag, text},
};
use tenure_client::{ClientError, Cluster, Found, Past, PastChange, Restored};
use tenure_history::undo::{self, OnConflict};
use tenure_ownership::{Blame, Change, Difference, SideBySide};
use tenure_transport::escaped;
use tenure_value::{Object, Value, yaml};

/// How many changes the page shows.
const CHANGES: usize = 200;
/// How many pages of the server it reads for that.
const PAGES: usize = 4;

/// Returns the changes of an object, newest first, or those of one field.
pub(crate) async fn history(
    cluster: &Cluster,
    wanted: &ObjectRef,
    field: Option<&str>,
) -> Result<Value, PageError> {
    let mut path = format!("{}/history?limit={CHANGES}", wanted.path(cluster).await?);
    if let Some(field) = field {
        path += &format!("&field={}", escaped(field));
    }
    let (mut items, mut next) = (Vec::new(), None::<String>);
    // A page of the server may end before it has all changes, where values are large.
    for _ in 0..PAGES {
        let page = match &next {
            Some(next) => format!("{path}&continue={}", escaped(next)),
            None => path.clone(),
        };
        let response = match cluster.history(&page).await {
            Ok(response) => response,
            Err(error @ ClientError::NoHistory { .. }) => return Ok(unavailable(error.to_string())),
            Err(error) => return Err(error.into()),
        };
        if response.code != 200 {
            // No permission, or nothing recorded.
            return Ok(unavailable(response.refusal().message));
        }
        let found = response.value.get("items").and_then(Value::as_array).into_iter().flatten();
        items.extend(found.cloned());
        next = response.value.at(["metadata", "continue"]).and_then(Value::as_str).map(str::to_owned);
        if next.is_none() || items.len() >= CHANGES {
            let begins_after = response.value.get("beginsAfter").cloned().unwrap_or_default();
            let exists = response.value.get("exists").cloned().unwrap_or_default();
            let shown = available(items, next.is_some()).with("beginsAfter", begins_after);
            return Ok(shown.with("exists", exists).into());
        }
    }
    Ok(available(items, true).with("beginsAfter", Value::Null).into())
}

/// Returns why there are no changes.
fn unavailable(reason: String) -> Value {
    let none = Object::default().with("available", false).with("reason", reason);
    none.with("items", Value::array([])).into()
}

/// Returns the changes that the page shows, and whether there are older ones. A change by another manager than the one before is marked.
fn available(items: Vec<Value>, has_more: bool) -> Object {
    let writer = |item: &Value| match text(item, "manager") {
        "" => text(item, "user").to_owned(),
        manager => manager.to_owned(),
    };
    let marked: Vec<Value> = items
        .iter()
        .enumerate()
        .map(|(at, item)| {
            let before = items.get(at + 1).map(writer);
            let is_other = before.is_some_and(|before| before != writer(item));
            with(item.clone(), "otherWriter", is_other)
        })
        .collect();
    Object::default().with("available", true).with("items", Value::array(marked)).with("hasMore", has_more)
}

/// Returns an object as it was at a revision.
pub(super) async fn at(cluster: &Cluster, wanted: &ObjectRef, at: &str) -> Result<LiveRef, PageError> {
    let resource = wanted.kind.find(cluster).await?;
    let path = format!("{}/history?at={}", wanted.path(cluster).await?, escaped(at));
    let found = Found { resource, shown: cluster.history(&path).await?.success("read", &path)? };
    let live = found.read()?;
    let ty = cluster.type_of(live.api_version(), live.kind()).await?;
    Ok(LiveRef { found, live, ty })
}

/// Returns an object as it was at a revision, or as it is now if none is given.
async fn at_or_now(
    cluster: &Cluster,
    wanted: &ObjectRef,
    moment: Option<&str>,
) -> Result<LiveRef, PageError> {
    match moment {
        Some(moment) => at(cluster, wanted, moment).await,
        None => wanted.read(cluster).await,
    }
}

/// Returns an object as it was at a revision, with the owners of its lines.
pub(crate) async fn version(cluster: &Cluster, wanted: &ObjectRef, moment: &str) -> Result<Value, PageError> {
    let LiveRef { found, live, ty } = at(cluster, wanted, moment).await?;
    Ok(view(&live, &found, ty))
}

/// Returns two versions of an object side by side; without a revision, the one that is live.
pub(crate) async fn difference(
    cluster: &Cluster,
    wanted: &ObjectRef,
    from: Option<&str>,
    to: Option<&str>,
) -> Result<Value, PageError> {
    let before = at_or_now(cluster, wanted, from).await?;
    let after = at_or_now(cluster, wanted, to).await?;
    let change = Change::between(&before.live, &after.live, &after.found.resource.word(), after.ty);
    let (old, new) = (Blame::of(&before.live, before.ty), Blame::of(&after.live, after.ty));
    Ok(Object::default()
        .with("object", after.found.target().to_value())
        .with("from", before.live.resource_version())
        .with("to", after.live.resource_version())
        .with("rows", SideBySide::of(&old, &new).to_value())
        .with("owners", change.to_value().get("owners").cloned().unwrap_or_default())
        .into())
}

/// Shows what undoing a change would do.
pub(crate) async fn preview_undo(
    cluster: &Cluster,
    wanted: &ObjectRef,
    revision: &str,
) -> Result<Value, PageError> {
    let change = find_change(cluster, wanted, revision).await?;
    let shown = describe(&change.plan(change.past.type_of(cluster).await?, OnConflict::Keep)?);
    let digest = digest(&shown);
    Ok(with(shown, "digest", digest))
}

/// Undoes a change as it was shown.
pub(crate) async fn undo_change(cluster: &Cluster, body: &Value) -> Result<Value, PageError> {
    let change = find_change(cluster, &ObjectRef::from_document(body)?, text(body, "revision")).await?;
    let ty = change.past.type_of(cluster).await?;
    let shown = describe(&change.plan(ty, OnConflict::Keep)?);
    if digest(&shown) != text(body, "digest") {
        return Err(PageError::Changed { what: change.past.what() });
    }
    let on_conflict = if flag(body, "overwrite") { OnConflict::Overwrite } else { OnConflict::Keep };
    change.carry_out(&change.plan(ty, on_conflict)?, cluster).await?;
    Ok(Value::object([("object", Value::from(change.past.what()))]))
}

async fn find_change(cluster: &Cluster, wanted: &ObjectRef, revision: &str) -> Result<PastChange, PageError> {
    let revision = revision
        .parse::<u64>()
        .map_err(|_| PageError::bad_request(format!("{revision:?} is not a revision")))?;
    Ok(PastChange::find(wanted.past(cluster).await?, Some(revision), cluster).await?)
}

fn describe(plan: &undo::Plan) -> Value {
    let side = |shown: Object, name: &'static str, value: &Option<Value>| match value {
        Some(value) => shown.with(name, value.clone()),
        None => shown,
    };
    let path = |path: &tenure_fields::Path| Object::default().with("path", path.quoted().to_string());
    let edit = |edit: &Difference| -> Value {
        side(side(path(&edit.path), "before", &edit.before), "after", &edit.after).into()
    };
    let conflict = |one: &undo::Conflict| -> Value {
        side(side(path(&one.path), "before", &one.found), "after", &one.wanted).into()
    };
    Object::default()
        .with("edits", Value::array(plan.edits.iter().map(edit)))
        .with("conflicts", Value::array(plan.conflicts.iter().map(conflict)))
        .into()
}

/// Shows how a deleted object would be brought back.
pub(crate) async fn preview_restore(cluster: &Cluster, wanted: &ObjectRef) -> Result<Value, PageError> {
    let restored = Restored::find(wanted.past(cluster).await?, None, cluster).await?;
    let notes = restored.notes.iter().map(|note| Value::from(note.as_str()));
    let shown = Object::default()
        .with("manifest", yaml::to_string(&restored.object))
        .with("notes", Value::array(notes));
    let shown = Value::Object(shown);
    let digest = digest(&shown);
    Ok(with(shown, "digest", digest))
}

/// Brings back a deleted object as it was shown.
pub(crate) async fn restore(cluster: &Cluster, body: &Value) -> Result<Value, PageError> {
    let wanted = ObjectRef::from_document(body)?;
    let past: Past = wanted.past(cluster).await?;
    let what = past.what();
    let shown = preview_restore(cluster, &wanted).await?;
    if text(&shown, "digest") != text(body, "digest") {
        return Err(PageError::Changed { what });
    }
    let revision = Restored::find(past, None, cluster).await?.carry_out(cluster).await?;
    Ok(Value::object([("revision", Value::from(revision))]))
}
