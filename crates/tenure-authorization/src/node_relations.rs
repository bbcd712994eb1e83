//! The relations between nodes and objects, kept in step with the store: one task per resource reads its objects once and follows
//! their changes.

use crate::node::{NodeGraph, RELATING, Related, Relations};
use parking_lot::RwLock;
use std::{collections::HashSet, sync::Arc, time::Duration};
use tenure_catalog::object::{Stored, meta_text, prefix};
use tenure_meta::{ApiError, GroupVersionResource, Resource};
use tenure_store::{Entry, ListRequest, Revision, Signal, Store, WatchRequest};
use tenure_value::Text;
use tokio::task::JoinSet;

/// How long to wait before objects are read again whose changes could not be followed.
const RETRY: Duration = Duration::from_secs(1);

/// The relations of the objects of a store. The tasks end with it.
#[derive(Default)]
pub(crate) struct NodeRelations {
    graph: Arc<RwLock<NodeGraph>>,
    tasks: JoinSet<()>,
}

impl NodeRelations {
    /// Reads the objects that relate others to nodes, and follows their changes.
    pub async fn open(store: &Arc<dyn Store>) -> Result<NodeRelations, ApiError> {
        let mut relations = NodeRelations::default();
        for follower in relations.followers(store) {
            let revision = follower.read().await?;
            relations.tasks.spawn(follower.run(Some(revision)));
        }
        Ok(relations)
    }

    /// Follows the objects of a fork of a store, which are read in the background.
    pub fn follow(store: &Arc<dyn Store>) -> NodeRelations {
        let mut relations = NodeRelations::default();
        for follower in relations.followers(store) {
            relations.tasks.spawn(follower.run(None));
        }
        relations
    }

    fn followers(&self, store: &Arc<dyn Store>) -> Vec<Follower> {
        let find = |name: GroupVersionResource| {
            tenure_builtin::registry().find(name.group, name.version, name.resource).cloned()
        };
        let follow = |resource| Follower { graph: self.graph.clone(), store: store.clone(), resource };
        RELATING.into_iter().filter_map(find).map(follow).collect()
    }

    /// Whether an object is related to a node.
    pub fn relates(&self, node: &str, related: Related, namespace: &str, name: &str) -> bool {
        self.graph.read().relates(node, related, namespace, name)
    }
}

/// Keeps the relations of the objects of one resource.
struct Follower {
    graph: Arc<RwLock<NodeGraph>>,
    store: Arc<dyn Store>,
    resource: Arc<Resource>,
}

impl Follower {
    async fn run(self, mut after: Option<Revision>) {
        loop {
            // Whatever ends this, an error of the store or a compacted history, a restart begins with the current state.
            if let Err(failure) = self.follow(after.take()).await {
                tracing::warn!(%failure, resource = %self.resource.name, "node authorizer reads objects again");
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn follow(&self, after: Option<Revision>) -> Result<(), ApiError> {
        let after = match after {
            Some(after) => after,
            None => self.read().await?,
        };
        let request = WatchRequest::prefix(prefix(&self.resource, "")).after(after);
        let mut watch = self.store.watch(request).await?;
        loop {
            let Signal::Changes(changes) = watch.next().await? else { continue };
            for change in &changes {
                match &change.current {
                    Some(entry) => drop(self.see(entry)),
                    None => self.forget(&change.key),
                }
            }
        }
    }

    /// Reads all objects, and returns the revision that they were read at.
    async fn read(&self) -> Result<Revision, ApiError> {
        let listing = self.store.list(ListRequest::prefix(prefix(&self.resource, ""))).await?;
        let mut names = HashSet::new();
        for entry in &listing.entries {
            names.extend(self.see(entry));
        }
        let keep = |namespace: &str, name: &str| names.contains(&(Text::from(namespace), Text::from(name)));
        self.graph.write().retain(&self.resource.name, keep);
        Ok(listing.revision)
    }

    /// Records what an object relates, and returns its namespace and name. Most changes do not change that.
    fn see(&self, entry: &Entry) -> Option<(Text, Text)> {
        let object = match Stored::read_object(entry) {
            Ok(stored) => stored.object,
            Err(failure) => {
                tracing::warn!(%failure, resource = %self.resource.name, "node authorizer cannot read an object");
                return None;
            }
        };
        let relations = Relations::of_object(&self.resource.name, &object)?;
        if !self.graph.read().has(&relations) {
            self.graph.write().set(relations);
        }
        Some((meta_text(&object, "namespace").into(), meta_text(&object, "name").into()))
    }

    fn forget(&self, key: &[u8]) {
        let path =
            std::str::from_utf8(key).ok().and_then(|key| key.strip_prefix(&prefix(&self.resource, "")));
        let Some(path) = path else { return };
        let (namespace, name) = path.split_once('/').unwrap_or(("", path));
        if let Some(relations) = Relations::of_deleted(&self.resource.name, namespace, name) {
            self.graph.write().set(relations);
        }
    }
}
