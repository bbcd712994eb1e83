//! One object of a server: waiting for it, its owners, and deleting it.

use crate::{
    AssertionError, TestError, manifest,
    request_info::find_resource,
    requests::path_of,
    server::TestServer,
    write_log::{listed, subject},
};
use http::Method;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::{sync::Arc, time::Duration};
use tenure_apply::Timestamp;
use tenure_catalog::{
    ResourceHandler, Target, Verb,
    object::{Stored, key},
};
use tenure_ownership::{Explanation, LiveObject, owner};
use tenure_server::Server;
use tenure_store::{Store, WatchRequest};
use tenure_value::{Text, Value, yaml};
use tokio::time::{Instant, timeout_at};

/// How long to wait by default.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many of the last writes an error shows.
const SHOWN_WRITES: usize = 10;

/// An object of a [`TestServer`], which may not exist.
#[derive(Clone, Debug)]
pub struct ObjectHandle {
    server: TestServer,
    kind: String,
    namespace: String,
    name: String,
    patience: Duration,
}

impl TestServer {
    /// Returns a handle of an object. The kind is one such as `ConfigMap`, `configmaps`, `cm` or `deployments.apps`; the namespace of a
    /// cluster-scoped object is empty.
    pub fn object(&self, kind: &str, namespace: &str, name: &str) -> ObjectHandle {
        ObjectHandle {
            server: self.clone(),
            kind: kind.to_string(),
            namespace: namespace.to_string(),
            name: name.to_string(),
            patience: PATIENCE,
        }
    }
}

/// An object that was read.
struct Live {
    server: Arc<Server>,
    handler: ResourceHandler,
    stored: Option<Stored>,
}

impl ObjectHandle {
    /// Waits at most this long, of real time; by default five seconds.
    pub fn within(mut self, patience: Duration) -> ObjectHandle {
        self.patience = patience;
        self
    }

    /// Reads the object; `None` if it does not exist. Faults do not affect this.
    pub async fn get(&self) -> Result<Option<Json>, TestError> {
        Ok(self.read().await?.stored.map(|stored| manifest::to_json(&stored.shown())))
    }

    /// Deletes the object, in the background.
    pub async fn delete(&self) -> Result<(), TestError> {
        let path = path_of(&self.handler()?, &self.namespace, &self.name);
        self.server.call(Method::DELETE, &path, None).await?;
        Ok(())
    }

    /// Changes the object by a merge patch.
    pub async fn merge(&self, patch: Json) -> Result<Json, TestError> {
        self.patch("", patch).await
    }

    /// Changes the status of the object by a merge patch.
    pub async fn merge_status(&self, status: Json) -> Result<Json, TestError> {
        self.patch("/status", serde_json::json!({ "status": status })).await
    }

    async fn patch(&self, subresource: &str, patch: Json) -> Result<Json, TestError> {
        let path = path_of(&self.handler()?, &self.namespace, &self.name);
        let uri = format!("{path}{subresource}?fieldManager=tenure-testing");
        let body = ("application/merge-patch+json", &manifest::from_json(&patch));
        Ok(manifest::to_json(&self.server.call(Method::PATCH, &uri, Some(body)).await?))
    }

    fn handler(&self) -> Result<ResourceHandler, TestError> {
        let found = find_resource(self.server.server().catalog(), &self.kind);
        found.ok_or_else(|| TestError::UnknownKind { kind: self.kind.clone() })
    }

    async fn read(&self) -> Result<Live, TestError> {
        // What is waited for may be work of the server's controllers.
        self.server.inner.start_controllers(&self.server.inner.running());
        let (server, handler) = (self.server.server(), self.handler()?);
        let target = Target {
            verb: Verb::Get,
            handler: handler.clone(),
            namespace: self.namespace.as_str().into(),
            name: self.name.as_str().into(),
            subresource: Text::default(),
        };
        let stored = server.objects().read(&target).await?;
        Ok(Live { server, handler, stored })
    }

    /// Waits until the object exists and satisfies a condition, and returns it. The error shows its last state and the
    /// writes to it.
    pub async fn until(&self, condition: impl Fn(&Json) -> bool) -> Result<Json, AssertionError> {
        self.wait("did not satisfy the condition", |object| {
            object.filter(|object| condition(object)).cloned()
        })
        .await
    }

    /// The same with a type, such as one of `k8s-openapi`.
    pub async fn until_typed<T: DeserializeOwned>(
        &self,
        condition: impl Fn(&T) -> bool,
    ) -> Result<T, AssertionError> {
        let typed = |object: Option<&Json>| {
            let object: T = serde_json::from_value(object?.clone()).ok()?;
            condition(&object).then_some(object)
        };
        self.wait("did not satisfy the condition", typed).await
    }

    /// Waits until the object does not exist.
    pub async fn until_gone(&self) -> Result<(), AssertionError> {
        self.wait("still exists", |object| object.is_none().then_some(())).await
    }

    async fn wait<T>(
        &self,
        complaint: &str,
        met: impl Fn(Option<&Json>) -> Option<T>,
    ) -> Result<T, AssertionError> {
        let failed = |error: TestError| AssertionError::new(format!("{}: {error}", self.subject()));
        let deadline = Instant::now() + self.patience;
        loop {
            // The watch begins before the object is read, so that no change is missed.
            let handler = self.handler().map_err(failed)?;
            let store = self.server.inner.running().store.clone();
            let request = WatchRequest::prefix(key(&handler.resource, &self.namespace, &self.name));
            let mut watch = store.watch(request).await.map_err(|error| failed(error.into()))?;
            let object = self.get().await.map_err(failed)?;
            if let Some(found) = met(object.as_ref()) {
                return Ok(found);
            }
            // A watch that ends belongs to a state that was replaced: look again.
            if timeout_at(deadline, watch.next()).await.is_err() {
                return Err(self.unmet(complaint, object.as_ref()));
            }
        }
    }

    fn unmet(&self, complaint: &str, object: Option<&Json>) -> AssertionError {
        let mut text = format!("{} {complaint} within {:?}", self.subject(), self.patience);
        match object {
            None => text.push_str("\nit does not exist"),
            Some(object) => {
                text.push_str("\nit last looked like this:\n");
                let lines = yaml::to_string(&without_managers(manifest::from_json(object)));
                lines.lines().for_each(|line| text.push_str(&format!("  {line}\n")));
                text.truncate(text.trim_end().len());
            }
        }
        let is_own = |write: &crate::Write| {
            (write.namespace.as_str(), write.name.as_str()) == (&*self.namespace, &*self.name)
                && find_resource(self.server.server().catalog(), &self.kind)
                    .is_some_and(|handler| handler.resource.kind == write.kind)
        };
        let mut writes: Vec<crate::Write> = self.server.writes().into_iter().filter(is_own).collect();
        let last = writes.split_off(writes.len().saturating_sub(SHOWN_WRITES));
        match last.as_slice() {
            [] => text.push_str("\nnothing has written it"),
            last => text.push_str(&format!("\nit was written by:\n{}", listed(last))),
        }
        AssertionError::new(text)
    }

    /// Returns the names of the managers that own a field, such as `.spec.replicas` or `.spec.template.spec.containers[name="web"].image`.
    pub async fn owners(&self, path: &str) -> Result<Vec<String>, AssertionError> {
        let explanation = self.explain(path).await?;
        Ok(explanation.owners.iter().map(|owner| owner.name.to_string()).collect())
    }

    /// Checks that a manager owns a field, alone or with others; the error names the owners.
    pub async fn expect_owner(&self, path: &str, manager: &str) -> Result<(), AssertionError> {
        let explanation = self.explain(path).await?;
        if explanation.owners.iter().any(|owner| owner.name == manager) {
            return Ok(());
        }
        let now = Timestamp::from_unix(self.server.server().objects().clock.now().seconds);
        let value = explanation.value.as_ref().map(manifest::to_json);
        Err(AssertionError::new(format!(
            "{}: expected {manager} to own {path}, which is owned by {}; its value is {}",
            self.subject(),
            owner::describe_all(&explanation.owners, now),
            crate::write_log::Shown(&value)
        )))
    }

    async fn explain(&self, path: &str) -> Result<Explanation, AssertionError> {
        let failed = |why: String| AssertionError::new(format!("{}: {why}", self.subject()));
        let Live { server, handler, stored } =
            self.read().await.map_err(|error| failed(error.to_string()))?;
        let stored = stored.ok_or_else(|| failed("it does not exist".into()))?;
        let live = LiveObject { object: stored.object, managers: stored.managers };
        let target = tenure_ownership::Target::of(&live, self.kind.clone());
        let now = Timestamp::from_unix(server.objects().clock.now().seconds);
        let profile = server.objects().catalog.profile();
        Explanation::of(&live, target, path, handler.type_ref(), profile, now)
            .map_err(|error| failed(error.to_string()))
    }

    fn subject(&self) -> String {
        subject(&self.kind, &self.namespace, &self.name)
    }
}

/// Returns an object without `managedFields`, which hide everything else.
fn without_managers(object: Value) -> Value {
    LiveObject::read(&object).map(|live| live.object).unwrap_or(object)
}
