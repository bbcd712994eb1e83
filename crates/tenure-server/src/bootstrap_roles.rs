//! The roles and bindings that every server has, created and restored when it opens.

use crate::write::{DeleteOptions, Writer};
use std::sync::Arc;
use tenure_authorization::rbac::{Reconciled, bootstrap_objects, reconcile, split, split_from};
use tenure_builtin::role::RBAC;
use tenure_catalog::{
    Target, Verb,
    object::{Stored, meta_text},
};
use tenure_meta::ApiError;
use tenure_value::{Text, Value};
use tokio::task::JoinSet;

const COMPONENT: &str = "kube-apiserver";

/// Creates missing objects and restores removed parts. The writes share the commits of the store.
pub(crate) async fn restore(writer: &Arc<Writer>) -> Result<(), ApiError> {
    let objects = bootstrap_objects(writer.profile.version())
        .map_err(|error| ApiError::internal(format!("bootstrap roles: {error}")))?;
    for object in &objects {
        if let Some(source) = split_from(object) {
            restore_split(writer, object, source).await?;
        }
    }
    let mut writes = JoinSet::new();
    for object in objects {
        let target = target_of(writer, &object)?;
        let change = missing(writer, &target, &object)?;
        if !matches!(change, Reconciled::Unchanged) {
            let writer = writer.clone();
            writes.spawn(async move { restore_one(&writer, &target, change).await });
        }
    }
    while let Some(ended) = writes.join_next().await {
        ended.map_err(|error| ApiError::internal(format!("bootstrap roles: {error}")))??;
    }
    Ok(())
}

/// Creates a missing binding from the one that it was a part of, if that exists.
async fn restore_split(writer: &Writer, expected: &Value, source: &str) -> Result<(), ApiError> {
    let target = target_of(writer, expected)?;
    if writer.objects.read(&target).await?.is_some() {
        return Ok(());
    }
    let source = Target { name: source.into(), ..target.copy() };
    let Some(source) = writer.objects.read(&source).await? else { return Ok(()) };
    put(writer, &target, &split(expected, &source.shown())).await
}

fn target_of(writer: &Writer, object: &Value) -> Result<Target, ApiError> {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let resource = format!("{}s", kind.to_lowercase());
    Ok(Target {
        verb: Verb::Update,
        handler: writer.objects.catalog.resource(RBAC.0, "v1", &resource)?,
        namespace: meta_text(object, "namespace").into(),
        name: meta_text(object, "name").into(),
        subresource: Text::default(),
    })
}

/// Returns what is missing in the store.
fn missing(writer: &Writer, target: &Target, expected: &Value) -> Result<Reconciled, ApiError> {
    let Some(entry) = writer.objects.store.peek(target.key().as_bytes())? else {
        return Ok(reconcile(expected, None));
    };
    // The managers are part of what is written, and mostly nothing is.
    Ok(match reconcile(expected, Some(&Stored::read_object(&entry)?.object)) {
        Reconciled::Unchanged => Reconciled::Unchanged,
        _ => reconcile(expected, Some(&Stored::read(&entry)?.shown())),
    })
}

async fn restore_one(writer: &Writer, target: &Target, change: Reconciled) -> Result<(), ApiError> {
    let object = match change {
        Reconciled::Unchanged => return Ok(()),
        Reconciled::Create(object) | Reconciled::Update(object) => object,
        Reconciled::Recreate(object) => {
            let request = tenure_http::Request::internal(hyper::Method::DELETE, COMPONENT);
            writer.delete_object(target, &request, &DeleteOptions::default(), &mut Vec::new()).await?;
            object
        }
    };
    put(writer, target, &object).await
}

async fn put(writer: &Writer, target: &Target, object: &Value) -> Result<(), ApiError> {
    match writer.put_own(target, COMPONENT, object).await {
        // Another server over the same store does the same.
        Err(failure) if failure.code() == 409 => Ok(()),
        written => written,
    }
}
