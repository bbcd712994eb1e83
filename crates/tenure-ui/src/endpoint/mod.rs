//! The endpoints of the page, one file for each thing that it shows. They read from the cluster, let `tenure-ownership` compute, and
//! return documents.

mod access;
mod apply;
mod approvals;
mod cluster;
mod definition;
mod everything;
mod handover;
mod history;
mod managers;
mod object;
mod objects;
mod overview;
mod plan;
mod types;
mod undo;
mod why;

pub(crate) use apply::apply;
pub(crate) use approvals::ApprovalEndpoint;
pub(crate) use cluster::{kinds, session};
pub(crate) use definition::definition;
pub(crate) use everything::Extent;
pub(crate) use handover::{carry_out, preview};
pub(crate) use history::{difference, history, preview_restore, preview_undo, restore, undo_change, version};
pub(crate) use managers::{managers, owned};
pub(crate) use object::object;
pub(crate) use objects::{ListRef, objects};
pub(crate) use overview::{NOT_EDITED, fights, overview};
pub(crate) use plan::plan;
pub(crate) use types::type_at;
pub(crate) use undo::{steps, undo, undo_file};
pub(crate) use why::{manifest, why};

use crate::{
    PageError,
    request::{Query, text},
    session::Session,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use std::time::{SystemTime, UNIX_EPOCH};
use tenure_apply::Timestamp;
use tenure_client::{Cluster, Found, Past, Resource};
use tenure_ownership::{LiveObject, diagnosis::shell_word};
use tenure_schema::TypeRef;
use tenure_value::{Value, json};

/// A user who acts on a cluster.
#[derive(Clone, Copy)]
pub(crate) struct Acting<'a> {
    pub session: &'a Session,
    pub cluster: &'a Cluster,
}

/// The object that a request is about.
#[derive(Debug)]
pub(crate) struct ObjectRef {
    kind: KindRef,
    namespace: String,
    name: String,
}

/// The kind that a request is about: an apiVersion and the plural name of the resource.
#[derive(Debug)]
pub(crate) struct KindRef {
    api_version: String,
    plural: String,
}

impl KindRef {
    fn from_query(query: &Query) -> Result<KindRef, PageError> {
        Ok(KindRef {
            api_version: query.require("apiVersion")?.to_owned(),
            plural: query.require("resource")?.to_owned(),
        })
    }

    /// Finds the kind on the server. One that is not known yet may be new.
    async fn find(&self, cluster: &Cluster) -> Result<Resource, PageError> {
        for attempt in 0..2 {
            if attempt == 1 {
                cluster.rediscover();
            }
            let kinds = cluster.kinds().await?;
            let found = kinds
                .iter()
                .find(|kind| kind.plural == self.plural && kind.api_version() == self.api_version);
            if let Some(found) = found {
                return Ok(found.clone());
            }
        }
        Err(PageError::NoObject { what: format!("the resource {} of {}", self.plural, self.api_version) })
    }
}

impl ObjectRef {
    pub fn from_query(query: &Query) -> Result<ObjectRef, PageError> {
        let kind = KindRef::from_query(query)?;
        let namespace = query.get("namespace").unwrap_or_default().to_owned();
        Ok(ObjectRef { kind, namespace, name: query.require("name")?.to_owned() })
    }

    fn from_document(document: &Value) -> Result<ObjectRef, PageError> {
        let required = |name: &str| match text(document, name) {
            "" => Err(PageError::bad_request(format!("{name} is missing"))),
            text => Ok(text.to_owned()),
        };
        let kind = KindRef { api_version: required("apiVersion")?, plural: required("resource")? };
        Ok(ObjectRef { kind, namespace: text(document, "namespace").to_owned(), name: required("name")? })
    }

    /// Returns the path of the object, which need not exist.
    async fn path(&self, cluster: &Cluster) -> Result<String, PageError> {
        Ok(self.kind.find(cluster).await?.path(&self.namespace, &self.name))
    }

    /// Returns the past of the object, which need not exist.
    async fn past(&self, cluster: &Cluster) -> Result<Past, PageError> {
        Ok(Past::new(self.kind.find(cluster).await?, &self.namespace, &self.name))
    }

    /// Reads the object.
    async fn read(&self, cluster: &Cluster) -> Result<LiveRef, PageError> {
        let resource = self.kind.find(cluster).await?;
        let shown = cluster.find(&resource.path(&self.namespace, &self.name)).await?;
        let what = || format!("{}/{}", resource.word(), self.name);
        let shown = shown.ok_or_else(|| PageError::NoObject { what: what() })?;
        let found = Found { resource, shown };
        let live = found.read()?;
        let ty = cluster.type_of(live.api_version(), live.kind()).await?;
        Ok(LiveRef { found, live, ty })
    }
}

/// An object as it is now.
struct LiveRef {
    found: Found,
    live: LiveObject,
    ty: TypeRef<'static>,
}

/// Returns the flags by which a command uses the server of a context; none for the current one.
fn server_flags(context: &str) -> String {
    match context {
        "" => String::new(),
        context => format!(" --context {}", shell_word(context)),
    }
}

/// Returns the time.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp::from_unix(since.map_or(0, |since| since.as_secs() as i64))
}

/// Returns a short text that is the same for documents that differ only in times. A request to carry out a plan contains it, so that
/// only the plan that was shown is carried out.
fn digest(document: &Value) -> String {
    let timeless = json::to_vec(&without_times(document));
    let hash = ring::digest::digest(&ring::digest::SHA256, &timeless);
    URL_SAFE_NO_PAD.encode(hash)
}

fn without_times(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let kept = object.iter().filter(|(name, _)| name.as_str() != "time");
            Value::object(kept.map(|(name, value)| (name.clone(), without_times(value))))
        }
        Value::Array(items) => Value::array(items.iter().map(without_times)),
        other => other.clone(),
    }
}

/// Returns a document with another field.
fn with(document: Value, name: &'static str, value: impl Into<Value>) -> Value {
    match document {
        Value::Object(object) => Value::Object(object.with(name, value)),
        other => other,
    }
}

/// Returns a line of a stream: a document with a type.
fn line(kind: &str, document: Value) -> Value {
    with(document, "type", kind)
}
