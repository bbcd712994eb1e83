//! Events about managers that fight: one per object and field, which counts the overwrites while the fight continues.

use crate::write::Writer;
use hyper::{HeaderMap, Method, header};
use std::hash::{DefaultHasher, Hash, Hasher};
use tenure_builtin::role::EVENTS;
use tenure_catalog::{
    Target, Verb,
    history::{advice, describe_without_values},
    object::{meta_text, seconds},
};
use tenure_history::Fight;
use tenure_http::{Query, Request};
use tenure_meta::{ApiError, Timestamp};
use tenure_value::{Text, Value};

/// The manager of the events.
const MANAGER: &str = "tenure-history";

/// Recalls the fights of before the start, and writes an event for every report, until the server stops.
pub(crate) async fn follow(writer: &Writer) {
    if let Err(failure) = writer.history.recall(&writer.objects, writer.objects.clock.now()).await {
        tracing::warn!(%failure, "fights of before the start are not known");
    }
    let Some(mut reports) = writer.history.reports() else { return };
    while let Some(fight) = reports.recv().await {
        tracing::warn!(
            object = fight.key,
            path = fight.path,
            overwrites = fight.overwrites,
            "managers fight over a field"
        );
        match report(writer, &fight).await {
            // Its namespace is being deleted.
            Err(failure) if matches!(failure.code(), 403 | 404) => {}
            Err(failure) => tracing::warn!(%failure, "the event about a fight cannot be written"),
            Ok(()) => {}
        }
    }
}

async fn report(writer: &Writer, fight: &Fight) -> Result<(), ApiError> {
    let catalog = &writer.objects.catalog;
    let Some(object) = Target::of_key(catalog, &fight.key) else { return Ok(()) };
    let Some(live) = writer.objects.read(&object).await? else { return Ok(()) };
    let mut hasher = DefaultHasher::new();
    (meta_text(&live.object, "uid"), &fight.path).hash(&mut hasher);
    let name = object.name.get(..object.name.len().min(200)).unwrap_or_default();
    let target = Target {
        verb: Verb::Patch,
        handler: catalog.resource(EVENTS.group, EVENTS.version, EVENTS.resource)?,
        namespace: if object.namespace.is_empty() { "default".into() } else { object.namespace.clone() },
        name: format!("{name}.{:016x}", hasher.finish()).into(),
        subresource: Text::default(),
    };
    let resource = &object.handler.resource;
    let involved = Value::object([
        ("apiVersion", Value::from(resource.api_version.clone())),
        ("kind", Value::from(resource.kind.clone())),
        ("name", Value::from(object.name.clone())),
        ("namespace", Value::from(object.namespace.clone())),
        ("uid", Value::from(meta_text(&live.object, "uid"))),
        ("fieldPath", Value::from(fight.path.as_str())),
    ]);
    let time = |milliseconds: u64| {
        let seconds_of = i64::try_from(milliseconds / 1000).unwrap_or_default();
        Value::from(seconds(Timestamp { seconds: seconds_of, nanos: 0 }))
    };
    let event = Value::object([
        ("apiVersion", Value::from(target.handler.resource.api_version.clone())),
        ("kind", Value::from(target.handler.resource.kind.clone())),
        (
            "metadata",
            Value::object([
                ("name", Value::from(target.name.clone())),
                ("namespace", Value::from(target.namespace.clone())),
            ]),
        ),
        ("involvedObject", involved),
        ("reason", Value::from("FieldFight")),
        // Readers of events may not be permitted to read the object, and events are stored without its encryption.
        ("message", Value::from(format!("{}. {}", describe_without_values(fight), advice(fight)))),
        ("type", Value::from("Warning")),
        ("count", Value::from(i64::try_from(fight.overwrites).unwrap_or(i64::MAX).min(i64::from(i32::MAX)))),
        ("firstTimestamp", time(fight.since)),
        ("lastTimestamp", time(fight.last)),
        ("source", Value::object([("component", Value::from(MANAGER))])),
        ("reportingComponent", Value::from(MANAGER)),
    ]);
    let media_type = header::HeaderValue::from_static("application/apply-patch+yaml");
    let request = Request {
        query: Query::parse(&format!("fieldManager={MANAGER}&force=true"))?,
        headers: HeaderMap::from_iter([(header::CONTENT_TYPE, media_type)]),
        body: event.to_string().into(),
        ..Request::internal(Method::PATCH, MANAGER)
    };
    writer.modify(&target, &request).await.map(drop)
}
