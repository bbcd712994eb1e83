//! The start of the page: what deserves attention now. What the server keeps in memory comes at once; what all objects must be read
//! for follows with its progress.

use super::{
    everything::{Extent, every_object},
    line, now, with,
};
use crate::{PageError, body::Lines, request::text};
use tenure_apply::Timestamp;
use tenure_client::{ClientError, Cluster};
use tenure_ownership::{LiveObject, Overview};
use tenure_transport::escaped;
use tenure_value::{Object, Value, json};

/// Since when the growth of managed fields is shown, in seconds.
const GROWTH_SECONDS: i64 = 24 * 3600;
/// How many writers are shown.
const WRITERS: usize = 8;
/// Writers that are part of the server, which write most when it starts.
const OF_SERVER: [&str; 7] = [
    "kube-apiserver",
    "tenure",
    "tenure-lifecycle",
    "service-cidr-controller",
    "clusterrole-aggregation-controller",
    "api-priority-and-fairness-config-producer-v1",
    "api-priority-and-fairness-config-consumer-v1",
];
/// Kinds that report on other objects and that people do not edit.
pub(crate) const NOT_EDITED: &[&str] = &["events", "leases", "endpointslices"];

/// Sends what is known at once, then the overview of all objects.
pub(crate) async fn overview(cluster: &Cluster, extent: &Extent, lines: &Lines) -> Result<(), PageError> {
    let (fights, has_history) = lately(cluster, "/history/fights").await?;
    // A recorder sees no request that was refused.
    let (conflicts, are_known) = lately(cluster, "/history/conflicts").await?;
    let conflicts = if are_known { conflicts } else { Value::Null };
    let path = format!("/history/writers?limit={}", WRITERS + OF_SERVER.len());
    let (answer, _) = document(cluster, &path).await?;
    let writers = answer.get("writers").and_then(Value::as_array);
    let writers = writers.into_iter().flatten().filter(|one| !OF_SERVER.contains(&text(one, "manager")));
    let writers: Vec<Value> = writers.take(WRITERS).cloned().collect();
    let first = Object::default()
        .with("fights", with_resources(cluster, fights).await?)
        .with("conflicts", conflicts)
        .with("writers", Value::array(writers))
        .with("hasHistory", has_history);
    let Ok(()) = lines.send(&line("now", first.into())).await else { return Ok(()) };
    let mut overview = Overview::default();
    let read = every_object(cluster, extent, lines, |kind, ty, page| {
        for found in page {
            if let Ok(live) = found.read() {
                overview.add(&live, &found.target(), &kind.plural, ty);
            }
        }
    });
    let Some(hidden) = read.await? else { return Ok(()) };
    let mut shown = overview.to_value(now());
    if has_history {
        shown = with_growth(cluster, shown).await?;
    }
    let _ = lines.send(&line("overview", hidden.tell(shown))).await;
    Ok(())
}

/// Returns the fights that are not over; none where the server does not tell.
pub(crate) async fn fights(cluster: &Cluster) -> Result<Value, PageError> {
    let (items, _) = lately(cluster, "/history/fights").await?;
    Ok(Value::object([("items", with_resources(cluster, items).await?)]))
}

/// Returns the items of a document of history, and whether the server has it and the user may read it.
async fn lately(cluster: &Cluster, path: &str) -> Result<(Value, bool), PageError> {
    let (document, is_known) = document(cluster, path).await?;
    Ok((document.get("items").cloned().unwrap_or_else(|| Value::array([])), is_known))
}

/// Returns a document of history, and whether there is one that the user may read.
async fn document(cluster: &Cluster, path: &str) -> Result<(Value, bool), PageError> {
    match cluster.history(path).await {
        Ok(response) if response.code == 200 => Ok((response.value, true)),
        Ok(_) | Err(ClientError::NoHistory { .. }) => Ok((Value::Null, false)),
        Err(error) => Err(error.into()),
    }
}

/// Adds the plural name of its resource to the object of each item, which addresses need.
async fn with_resources(cluster: &Cluster, items: Value) -> Result<Value, PageError> {
    let mut named = Vec::new();
    for item in items.as_array().into_iter().flatten() {
        let object = item.get("object").cloned().unwrap_or_default();
        let kind = cluster.kind_of(text(&object, "apiVersion"), text(&object, "kind")).await?;
        let object = match kind {
            Some(kind) => with(object, "resource", kind.plural),
            None => object,
        };
        named.push(with(item.clone(), "object", object));
    }
    Ok(Value::array(named))
}

/// Adds to the largest objects how large their managed fields were a day ago.
async fn with_growth(cluster: &Cluster, overview: Value) -> Result<Value, PageError> {
    let then = Timestamp::from_unix(now().unix() - GROWTH_SECONDS).to_string();
    let mut largest = Vec::new();
    for item in overview.get("largest").and_then(Value::as_array).into_iter().flatten() {
        let Some(kind) = cluster.kind_of(text(item, "apiVersion"), text(item, "kind")).await? else {
            continue;
        };
        let object = kind.path(text(item, "namespace"), text(item, "name"));
        let path = format!("{object}/history?at={}", escaped(&then));
        let response = cluster.history(&path).await?;
        let before = Some(&response.value).filter(|_| response.code == 200);
        let before = before.and_then(|shown| LiveObject::read(shown).ok());
        // An object that is younger than a day began without any.
        let before = match (&before, response.code) {
            (Some(live), _) => Some(json::to_vec(&live.managers.to_value()).len() as i64),
            (None, 404) => Some(0),
            _ => None,
        };
        largest.push(match before {
            Some(before) => with(item.clone(), "dayAgo", before),
            None => item.clone(),
        });
    }
    Ok(with(overview, "largest", Value::array(largest)))
}
