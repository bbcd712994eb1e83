//! StorageVersionMigrations: every object of a resource is written at the storage version that its resource has now. An object that
//! is stored so already is left alone, so a migration that a restart interrupts continues where it was, and one that runs twice
//! writes nothing the second time.

use super::{Outcome, default_objects};
use crate::write::Writer;
use hyper::{HeaderMap, Method, StatusCode, header};
use tenure_builtin::role::STORAGE_VERSION_MIGRATIONS;
use tenure_catalog::{
    ResourceHandler, Target, Verb,
    object::{Stored, meta_text, seconds},
};
use tenure_http::Request;
use tenure_meta::{ApiError, GroupVersionResource, ValueExt, api_version};
use tenure_value::{Text, Value};

/// The prefix of migrations in the store.
pub(super) const PREFIX: &str = "objects/storagemigration.k8s.io/storageversionmigrations/";
/// The field manager of the status of migrations.
const MANAGER: &str = "storage-version-migrator-controller";
/// After how many objects the status is written.
const PROGRESS: usize = 500;

const RUNNING: &str = "Running";
const SUCCEEDED: &str = "Succeeded";
const FAILED: &str = "Failed";

/// Migrates the objects of the resource that a migration names.
pub(super) async fn migrate(writer: &Writer, name: &str) -> Result<Outcome, ApiError> {
    let GroupVersionResource { group, version, resource } = STORAGE_VERSION_MIGRATIONS;
    let Ok(handler) = writer.objects.catalog.resource(group, version, resource) else {
        // An older version of Kubernetes does not have them.
        return Ok(Outcome::Done);
    };
    let target = target(&handler, "", name, "status");
    let Some(live) = writer.objects.read(&target).await? else { return Ok(Outcome::Done) };
    if [SUCCEEDED, FAILED].iter().any(|kind| holds(&live.object, kind)) {
        return Ok(Outcome::Done);
    }
    let wanted = live.object.at(["spec", "resource"]).cloned().unwrap_or_default();
    let (group, resource) = (wanted.text("group"), wanted.text("resource"));
    let snapshot = writer.objects.catalog.snapshot();
    let Some(migrated) = snapshot.versions_of(&group, &resource).next() else {
        let missing = tenure_meta::qualified(&resource, &group);
        let failed = failed(writer, &format!("resource does not exist in the API server: {missing}"));
        return report(writer, &target, &live, &[failed]).await;
    };
    let objects = writer.objects.read_all(&migrated.resource, "").await?;
    let waiting: Vec<&Stored> = objects.iter().filter(|stored| !is_current(&migrated, stored)).collect();
    let running = |left: usize| {
        let message = format!("{left} of {} objects are to be migrated", objects.len());
        condition(writer, RUNNING, "MigrationRunning", &message)
    };
    report(writer, &target, &live, &[running(waiting.len())]).await?;
    for (at, stored) in waiting.iter().enumerate() {
        if at > 0 && at % PROGRESS == 0 {
            report(writer, &target, &live, &[running(waiting.len() - at)]).await?;
        }
        match rewrite(writer, &migrated, stored).await {
            Err(refusal) if is_final(&refusal) => {
                let [namespace, name] = ["namespace", "name"].map(|field| meta_text(&stored.object, field));
                let failed = failed(writer, &format!("{namespace}/{name}: {}", refusal.message));
                return report(writer, &target, &live, &[running(waiting.len() - at), failed]).await;
            }
            written => written?,
        }
    }
    let succeeded = condition(writer, SUCCEEDED, "StorageVersionMigrationSucceeded", "Migration completed");
    report(writer, &target, &live, &[running(0), succeeded]).await
}

/// Whether an object is stored at the storage version.
fn is_current(handler: &ResourceHandler, stored: &Stored) -> bool {
    let (group, version) = &handler.resource.storage;
    stored.object.get("apiVersion").and_then(Value::as_str) == Some(&api_version(group, version))
}

/// Writes an object as it is, which stores it at the storage version; one that is gone or that another client writes needs nothing.
async fn rewrite(writer: &Writer, handler: &ResourceHandler, stored: &Stored) -> Result<(), ApiError> {
    let (namespace, name) = (meta_text(&stored.object, "namespace"), meta_text(&stored.object, "name"));
    let merge = header::HeaderValue::from_static("application/merge-patch+json");
    let request = Request {
        headers: HeaderMap::from_iter([(header::CONTENT_TYPE, merge)]),
        body: "{}".into(),
        ..Request::internal(Method::PATCH, MANAGER)
    };
    match writer.modify(&target(handler, namespace, name, ""), &request).await {
        Err(failure)
            if [StatusCode::NOT_FOUND, StatusCode::CONFLICT].map(u16::from).contains(&failure.code()) =>
        {
            Ok(())
        }
        written => written.map(drop),
    }
}

/// Writes conditions, and the resource version that the migration began at.
async fn report(
    writer: &Writer,
    target: &Target,
    live: &Stored,
    conditions: &[Value],
) -> Result<Outcome, ApiError> {
    let began = live.object.at(["status", "resourceVersion"]).and_then(Value::as_str);
    let began =
        began.filter(|began| !began.is_empty()).map_or_else(|| live.revision.to_string(), str::to_owned);
    let status = Value::object([
        ("conditions", Value::array(conditions.iter().cloned())),
        ("resourceVersion", Value::from(began)),
    ]);
    let request = default_objects::application(target, &Value::object([("status", status)]), MANAGER)?;
    match writer.modify(target, &request).await {
        Err(failure) if failure.code() == u16::from(StatusCode::NOT_FOUND) => Ok(Outcome::Done),
        done => done.map(|_| Outcome::Done),
    }
}

/// Whether the same write would be refused again.
fn is_final(failure: &ApiError) -> bool {
    (400..500).contains(&failure.code()) && failure.code() != u16::from(StatusCode::TOO_MANY_REQUESTS)
}

fn failed(writer: &Writer, why: &str) -> Value {
    let message = format!("migration encountered unhandled error: {why}");
    condition(writer, FAILED, "StorageVersionMigrationFailed", &message)
}

fn condition(writer: &Writer, kind: &str, reason: &str, message: &str) -> Value {
    Value::object([
        ("type", Value::from(kind)),
        ("status", Value::from("True")),
        ("lastTransitionTime", Value::from(seconds(writer.objects.clock.now()))),
        ("reason", Value::from(reason)),
        ("message", Value::from(message)),
    ])
}

fn holds(migration: &Value, kind: &str) -> bool {
    let status = migration.get("status").unwrap_or(&Value::Null);
    let found = status.items("conditions").iter().find(|condition| condition.text("type") == kind);
    found.is_some_and(|condition| condition.text("status") == "True")
}

fn target(handler: &ResourceHandler, namespace: &str, name: &str, subresource: &str) -> Target {
    Target {
        verb: Verb::Patch,
        handler: handler.clone(),
        namespace: Text::from(namespace),
        name: name.into(),
        subresource: subresource.into(),
    }
}
