//! The server on which an apply is rehearsed: the objects of the copy in memory, reached through the API like any other server.

use crate::{
    Error, command::apply::order, document::Document, object_identity::ObjectIdentity, place::Place,
};
use http::Method;
use std::collections::{HashMap, HashSet};
use tenure_client::{Cluster, Draft, Mode};
use tenure_ownership::{Action, ApplyingManager, Manifest, Plan};
use tenure_profile::Profile;
use tenure_testing::{Controllers, Socket, TestServer};
use tenure_transport::ConnectOptions;
use tenure_value::{Object, Value, json};

/// The annotation and the manager of an apply on the client.
const LAST_APPLIED: &str = tenure_apply::LAST_APPLIED;
const CLIENT_SIDE: &str = "kubectl-client-side-apply";

/// Kinds whose servers cannot be reached from a copy: they are named in the report and are not part of it.
const NOT_CALLED: [&str; 3] =
    ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService"];

/// What an apply did, object by object, in the order in which they were applied.
#[derive(Default)]
pub struct Applied {
    /// The plans.
    pub plans: Vec<Plan>,
    /// What was applied.
    pub manifests: Vec<Manifest<'static>>,
    /// Where it was read.
    pub places: Vec<Place>,
}

/// A server in this process with a copy of a cluster.
pub struct Stage {
    cluster: Cluster,
    _socket: Socket,
    _server: TestServer,
    /// The webhooks and aggregated servers that are not called.
    pub not_called: Vec<String>,
    /// Objects of the copy that the server could not take.
    pub left_out: Vec<String>,
    /// The resourceVersions of objects in the cluster that was copied, by their identity.
    versions: HashMap<ObjectIdentity, String>,
    /// For those of manifests with a resourceVersion: the one that stands for it here.
    kept: HashMap<ObjectIdentity, String>,
}

fn version_of(object: &Value) -> &str {
    object.at(["metadata", "resourceVersion"]).and_then(Value::as_str).unwrap_or_default()
}

impl Stage {
    /// Starts a server with objects and a profile.
    pub async fn open(objects: &[Value], namespace: Option<&str>, profile: Profile) -> Result<Stage, Error> {
        let failed = |error: tenure_testing::TestError| Error::Serve(error.into());
        // Objects whose owners are not part of the copy must stay.
        let none = Controllers { garbage_collection: false, namespaces: false, service_cidrs: false };
        let server = TestServer::builder()
            .profile(profile)
            .kubernetes(profile.version())
            .controllers(none)
            .start()
            .await
            .map_err(failed)?;
        let kind = |object: &Value| object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_remote = |object: &&Value| match kind(object).as_str() {
            "APIService" => object.at(["spec", "service"]).is_some_and(|service| !service.is_null()),
            kind => NOT_CALLED.contains(&kind),
        };
        let (remote, local): (Vec<&Value>, Vec<&Value>) = objects.iter().partition(is_remote);
        let local: Vec<Value> =
            local.into_iter().filter(|object| kind(object) != "APIService").cloned().collect();
        let not_called = remote.iter().map(|object| {
            let name = object.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
            format!("{} {name}", kind(object))
        });
        let loaded = server.load(&local).await.map_err(failed)?;
        let socket = server.listen().await.map_err(failed)?;
        let options = ConnectOptions {
            kubeconfig: Some(socket.kubeconfig().to_owned()),
            namespace: namespace.map(str::to_owned),
            ..ConnectOptions::default()
        };
        let cluster = Cluster::connect(&options).await?;
        Ok(Stage {
            cluster,
            _socket: socket,
            _server: server,
            not_called: not_called.collect(),
            left_out: loaded.left_out,
            versions: local
                .iter()
                .map(|object| (ObjectIdentity::of(object), version_of(object).to_owned()))
                .collect(),
            kept: HashMap::new(),
        })
    }

    /// Prepares manifests that name the resourceVersion of an object of the copy: objects have other versions here.
    pub async fn keep_versions(
        &mut self,
        documents: impl IntoIterator<Item = &Document>,
    ) -> Result<(), Error> {
        for document in documents.into_iter().filter(|document| !version_of(&document.value).is_empty()) {
            let draft = document.draft(&self.cluster).await?;
            let Some(path) = draft.path() else { continue };
            if let Some(live) = self.cluster.find(&path).await? {
                self.kept.insert(ObjectIdentity::of(&draft.manifest.config), version_of(&live).to_owned());
            }
        }
        Ok(())
    }

    /// Returns a document as it is applied, with the resourceVersion that stands for the one that it names.
    async fn draft(&self, document: &Document) -> Result<Draft, Error> {
        let mut draft = document.draft(&self.cluster).await?;
        let config = &draft.manifest.config;
        let (identity, version) = (ObjectIdentity::of(config), version_of(config));
        if self.versions.get(&identity).is_some_and(|original| original == version)
            && let (false, Some(kept)) = (version.is_empty(), self.kept.get(&identity))
        {
            let metadata = config.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
            let root = config.as_object().cloned().unwrap_or_default();
            draft.manifest.config =
                Value::Object(root.with("metadata", metadata.with("resourceVersion", kept.as_str())));
        }
        Ok(draft)
    }

    /// Plans and applies documents in order, as the applier; each plan sees what was applied before it. Objects with conflicts are not
    /// applied.
    pub async fn apply(&self, documents: &[Document], applier: &ApplyingManager) -> Result<Applied, Error> {
        let mut applied = Applied::default();
        for phase in order::phases(documents.to_vec()) {
            for document in phase {
                let draft = self.draft(&document).await?;
                applied.plans.push(self.apply_one(&draft, applier).await?);
                applied.manifests.push(draft.manifest);
                applied.places.push(document.place);
            }
        }
        Ok(applied)
    }

    async fn apply_one(&self, draft: &Draft, applier: &ApplyingManager) -> Result<Plan, Error> {
        let applier = applier.for_manifest(&draft.manifest);
        let plan = tenure_client::plan(draft, &[], &applier, &self.cluster).await?;
        if let (Action::Create | Action::Change | Action::Owners, Some(path)) = (plan.action(), draft.path())
        {
            let before = plan.before.as_ref();
            let response =
                tenure_client::apply(draft, &path, before, &applier, Mode::Write, &self.cluster).await?;
            if !response.is_success() {
                let message = response.refusal().message;
                return Ok(Plan::refused(&draft.manifest, &applier, plan.before, message));
            }
            tenure_client::establish(&plan.target, &self.cluster).await?;
        }
        Ok(plan)
    }

    /// Plans documents on what is there now, without applying them.
    pub async fn plans(&self, documents: &[Document], applier: &ApplyingManager) -> Result<Vec<Plan>, Error> {
        let mut plans = Vec::with_capacity(documents.len());
        for phase in order::phases(documents.to_vec()) {
            for document in phase {
                let draft = self.draft(&document).await?;
                let applier = applier.for_manifest(&draft.manifest);
                plans.push(tenure_client::plan(&draft, &[], &applier, &self.cluster).await?);
            }
        }
        Ok(plans)
    }

    /// Creates or merges manifests as `kubectl apply` without `--server-side` does.
    pub async fn apply_client_side(&self, documents: &[Document]) -> Result<(), Error> {
        for phase in order::phases(documents.to_vec()) {
            for document in phase {
                self.apply_on_client(&document).await?;
            }
        }
        Ok(())
    }

    /// Creates an object, or merges it, as `kubectl apply` does: with the manifest in an annotation.
    async fn apply_on_client(&self, document: &Document) -> Result<(), Error> {
        let draft = document.draft(&self.cluster).await?;
        let config = &draft.manifest.config;
        let Some(path) = draft.path() else {
            return Err(Error::document(
                &document.place,
                "the copy does not have this kind; apply its definition first",
            ));
        };
        let metadata = config.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        let annotations = metadata.get("annotations").and_then(Value::as_object).cloned().unwrap_or_default();
        let annotations: Object = annotations.with(LAST_APPLIED, format!("{}\n", json::to_string(config)));
        let root = config.as_object().cloned().unwrap_or_default();
        let object = Value::Object(root.with("metadata", metadata.with("annotations", annotations)));
        let query = format!("?fieldManager={CLIENT_SIDE}");
        let what = draft.manifest.target.to_string();
        let response = match self.cluster.find(&path).await? {
            Some(_) => {
                let patch = format!("{path}{query}");
                self.cluster.patch(&patch, "application/merge-patch+json", &object).await?
            }
            None => {
                let collection = path.rsplit_once('/').map_or(path.as_str(), |(collection, _)| collection);
                let body = Some(("application/json", json::to_vec(&object)));
                self.cluster
                    .send(Method::POST, &format!("{collection}{query}"), "application/json", body)
                    .await?
            }
        };
        response.success("apply", &what)?;
        tenure_client::establish(&draft.manifest.target, &self.cluster).await?;
        Ok(())
    }
}

/// Returns the objects of an old release that the new one does not have.
pub fn gone(old: &[Document], new: &[Document]) -> Vec<String> {
    let identity = |document: &Document| ObjectIdentity::of(&document.value);
    let kept: HashSet<_> = new.iter().map(identity).collect();
    let gone = old.iter().map(identity).filter(|one| !kept.contains(one));
    gone.map(|object| format!("{}/{}", object.kind.to_lowercase(), object.name)).collect()
}
