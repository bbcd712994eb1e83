//! A live list: the objects of a kind with their owners in numbers, page by page, then every change.

use super::{KindRef, access, everything::is_forbidden, line};
use crate::{PageError, body::Lines, request::Query};
use tenure_client::{Cluster, Event, Found, Resource, Selection};
use tenure_ownership::{LiveObject, Summary};
use tenure_schema::TypeRef;
use tenure_value::{Object, Value};

/// The list that a request is about.
#[derive(Debug)]
pub(crate) struct ListRef {
    kind: KindRef,
    namespace: Option<String>,
    selection: Selection,
}

impl ListRef {
    pub fn read(query: &Query) -> Result<ListRef, PageError> {
        let selection =
            Selection { labels: query.get("labelSelector").map(str::to_owned), ..Selection::default() };
        let namespace = query.get("namespace").map(str::to_owned);
        Ok(ListRef { kind: KindRef::from_query(query)?, namespace, selection })
    }
}

/// Sends the list and its changes until the page stops reading. When a watch can no longer follow, the list is sent again. A user who
/// may not list all namespaces gets the list of their first namespace, and a line that says so.
pub(crate) async fn objects(
    cluster: &Cluster,
    user: &str,
    mut list: ListRef,
    lines: &Lines,
) -> Result<(), PageError> {
    let resource = list.kind.find(cluster).await?;
    let ty = cluster.type_of(&resource.api_version(), &resource.kind).await?;
    if list.namespace.is_none() && resource.is_namespaced() {
        let all = cluster.page(&resource, None, &list.selection, None).await;
        if let Err(error) = all.map(drop)
            && is_forbidden(&error)
        {
            let home = access::home(cluster, user);
            let scope = Object::default().with("namespace", home.as_str()).with("reason", error.to_string());
            let Ok(()) = lines.send(&line("scope", scope.into())).await else { return Ok(()) };
            list.namespace = Some(home);
        }
    }
    let (list, namespace) = (&list, list.namespace.as_deref());
    loop {
        let Ok(()) = lines.send(&line("begin", Value::object::<&str>([]))).await else { return Ok(()) };
        let mut token = None;
        let mut version;
        loop {
            let page = cluster.page(&resource, namespace, &list.selection, token.as_deref()).await?;
            version = page.resource_version;
            let rows: Vec<Value> = page.objects.iter().map(|found| row(&found.shown, ty)).collect();
            let rows = Value::object([("rows", Value::array(rows))]);
            let Ok(()) = lines.send(&line("rows", rows)).await else { return Ok(()) };
            match page.next {
                Some(next) => token = Some(next),
                None => break,
            }
        }
        let Ok(()) = lines.send(&line("synced", Value::object::<&str>([]))).await else { return Ok(()) };
        match follow(cluster, list, &resource, ty, version, lines).await? {
            Followed::Outdated => continue,
            Followed::Closed => return Ok(()),
        }
    }
}

/// How a watch ended for good.
enum Followed {
    /// The list must be read again.
    Outdated,
    /// The page no longer reads.
    Closed,
}

async fn follow(
    cluster: &Cluster,
    list: &ListRef,
    resource: &Resource,
    ty: TypeRef<'static>,
    mut version: String,
    lines: &Lines,
) -> Result<Followed, PageError> {
    loop {
        let mut watch = cluster.watch(resource, list.namespace.as_deref(), &list.selection, &version).await?;
        while let Some(event) = watch.next().await? {
            let (kind, object) = match event {
                Event::Changed(object) => ("changed", object),
                Event::Deleted(object) => ("deleted", object),
                Event::Bookmark(newer) => {
                    version = newer;
                    continue;
                }
                Event::Failed(refusal) if refusal.code == 410 => return Ok(Followed::Outdated),
                Event::Failed(refusal) => return Err(PageError::bad_request(refusal.message)),
            };
            if let Some(newer) = object.at(["metadata", "resourceVersion"]).and_then(Value::as_str) {
                version = newer.to_owned();
            }
            if lines.send(&line(kind, Value::object([("row", row(&object, ty))]))).await.is_err() {
                return Ok(Followed::Closed);
            }
        }
    }
}

/// Returns an object as a row of the list.
fn row(shown: &Value, ty: TypeRef<'_>) -> Value {
    let metadata = |name: &str| shown.at(["metadata", name]).cloned();
    // Managed fields that cannot be read make an object that no manager owns; the view of the object shows the reason.
    let summary = match LiveObject::read(shown) {
        Ok(live) => Summary::of(&live, ty).to_value(),
        Err(_) => Value::object([("managers", Value::array([]))]),
    };
    let mut row = summary.as_object().cloned().unwrap_or_default();
    for (name, field) in
        [("name", "name"), ("namespace", "namespace"), ("created", "creationTimestamp"), ("labels", "labels")]
    {
        if let Some(value) = metadata(field) {
            row = Object::with(&row, name, value);
        }
    }
    Value::Object(row)
}

/// Returns the live objects of a page of a list; those whose managed fields cannot be read are left out.
pub(super) fn live_objects(found: &[Found]) -> impl Iterator<Item = LiveObject> {
    found.iter().filter_map(|found| found.read().ok())
}
