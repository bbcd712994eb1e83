//! One object: its lines with their owners, and every change as it happens, with its manager and the changed fields.

use super::{LiveRef, ObjectRef, access, line, with};
use crate::{PageError, body::Lines};
use tenure_client::{Cluster, Event, Found, Selection};
use tenure_ownership::{
    Blame, Change, LiveObject, Ownership,
    owner::{self, Owner},
};
use tenure_schema::TypeRef;
use tenure_value::{Object, Value};

/// Sends the object and its changes until the page stops reading.
pub(crate) async fn object(cluster: &Cluster, wanted: &ObjectRef, lines: &Lines) -> Result<(), PageError> {
    let LiveRef { found, mut live, ty } = wanted.read(cluster).await?;
    let resource = &found.resource;
    let word = resource.word();
    let access = access::may_patch(cluster, resource, &wanted.namespace, &wanted.name).await?;
    let first = with(view(&live, &found, ty), "patch", access);
    let Ok(()) = lines.send(&line("object", first)).await else { return Ok(()) };
    let namespace = Some(wanted.namespace.as_str()).filter(|_| resource.is_namespaced());
    let selection = Selection::of_name(&wanted.name);
    let mut version = text_of(&live, "resourceVersion");
    loop {
        let mut watch = cluster.watch(resource, namespace, &selection, &version).await?;
        loop {
            let shown = match watch.next().await? {
                // The server ends watches from time to time; the next one continues from there.
                None => break,
                Some(Event::Changed(shown)) => shown,
                Some(Event::Bookmark(newer)) => {
                    version = newer;
                    continue;
                }
                Some(Event::Deleted(_)) => {
                    let Ok(()) = lines.send(&line("deleted", Value::object::<&str>([]))).await else {
                        return Ok(());
                    };
                    continue;
                }
                Some(Event::Failed(refusal)) if refusal.code == 410 => {
                    let again = wanted.read(cluster).await?;
                    version = text_of(&again.live, "resourceVersion");
                    let Ok(()) = changed(&mut live, again.found, ty, &word, lines).await? else {
                        return Ok(());
                    };
                    break;
                }
                Some(Event::Failed(refusal)) => return Err(PageError::bad_request(refusal.message)),
            };
            let found = Found { resource: resource.clone(), shown };
            let Ok(()) = changed(&mut live, found, ty, &word, lines).await? else { return Ok(()) };
            version = text_of(&live, "resourceVersion");
        }
    }
}

/// Sends a new state of the object together with what changed.
async fn changed(
    live: &mut LiveObject,
    found: Found,
    ty: TypeRef<'static>,
    word: &str,
    lines: &Lines,
) -> Result<Result<(), crate::body::Closed>, PageError> {
    let after = found.read()?;
    if text_of(&after, "resourceVersion") == text_of(live, "resourceVersion") {
        return Ok(Ok(()));
    }
    let change = Change::between(live, &after, word, ty);
    let shown = with(view(&after, &found, ty), "change", change.to_value());
    *live = after;
    Ok(lines.send(&line("object", shown)).await)
}

/// Returns the object as the page shows it. Owners are listed once, and lines refer to them by number. A line is its text, its state
/// (`o`wned, `u`nowned or neither), its owners and its path.
pub(super) fn view(live: &LiveObject, found: &Found, ty: TypeRef<'_>) -> Value {
    let blame = Blame::of(live, ty);
    let number = |owner: &Owner| {
        let found = live.managers.iter().position(|manager| manager.identity().is(&owner.identity()));
        Value::from(found.unwrap_or_default() as i64)
    };
    let all: Vec<Owner> = live.managers.iter().map(Owner::from).collect();
    let mut lines = Vec::with_capacity(blame.lines.len());
    for line in &blame.lines {
        let (state, owners) = match &line.ownership {
            Ownership::Owned(owners) => ("o", owners.iter().map(number).collect()),
            Ownership::Unowned => ("u", Vec::new()),
            Ownership::NotOwnable => ("", Vec::new()),
        };
        lines.push(Value::array([
            Value::from(line.text.as_str()),
            Value::from(state),
            Value::array(owners),
            Value::from(line.path.quoted().to_string()),
        ]));
    }
    let absent = blame.absent.iter().map(|(path, owners)| {
        Value::object([("path", Value::from(path.quoted().to_string())), ("owners", owner::list(owners))])
    });
    let absent: Vec<Value> = absent.collect();
    Value::Object(
        Object::default()
            .with("object", found.target().to_value())
            .with("resource", found.resource.plural.as_str())
            .with("resourceVersion", live.resource_version())
            .with("lines", Value::array(lines))
            .with("owners", owner::list(&all))
            .with("absent", Value::array(absent)),
    )
}

fn text_of(live: &LiveObject, name: &str) -> String {
    live.object.at(["metadata", name]).and_then(Value::as_str).unwrap_or_default().to_owned()
}
