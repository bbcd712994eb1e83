//! The past of an object: its changes, those of one field, a version as it was, and the fights of managers. A Tenure server
//! keeps history, or a recorder; without either the page says what to start.

use super::{ObjectRef, object::view};
use crate::PageError;
use tenure_client::{ClientError, Cluster, Found};
use tenure_transport::escaped;
use tenure_value::{Object, Value};

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
            return Ok(available(items, next.is_some()).with("beginsAfter", begins_after).into());
        }
    }
    Ok(available(items, true).with("beginsAfter", Value::Null).into())
}

/// Returns why there are no changes.
fn unavailable(reason: String) -> Value {
    let none = Object::default().with("available", false).with("reason", reason);
    none.with("items", Value::array([])).into()
}

/// Returns the changes that the page shows, and whether there are older ones.
fn available(items: Vec<Value>, has_more: bool) -> Object {
    Object::default().with("available", true).with("items", Value::array(items)).with("hasMore", has_more)
}

/// Returns an object as it was at a revision, with the owners of its lines.
pub(crate) async fn version(cluster: &Cluster, wanted: &ObjectRef, at: &str) -> Result<Value, PageError> {
    let resource = wanted.kind.find(cluster).await?;
    let path = format!("{}/history?at={}", wanted.path(cluster).await?, escaped(at));
    let found = Found { resource, shown: cluster.history(&path).await?.success("read", &path)? };
    let live = found.read()?;
    let ty = cluster.type_of(live.api_version(), live.kind()).await?;
    Ok(view(&live, &found, ty))
}

/// Returns the fights that are not over; none where the server does not tell.
pub(crate) async fn fights(cluster: &Cluster) -> Result<Value, PageError> {
    let items = match cluster.history("/history/fights").await {
        Ok(response) => response.value.get("items").filter(|_| response.code == 200).cloned(),
        Err(ClientError::NoHistory { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(Value::object([("items", items.unwrap_or_else(|| Value::array([])))]))
}
