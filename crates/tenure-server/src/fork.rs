//! Forks of a server: an independent server over a fork of the store. What was read from the store and compiled is shared until one
//! of the two changes it, caches start empty, and no task runs before controllers are started, so that a fork costs microseconds.

use crate::{
    read::{ReadLimits, Reader},
    server::{Server, idlers},
    subresources::Subresources,
};
use std::sync::Arc;
use tenure_admission::{WebhookClient, WebhookInterceptor};
use tenure_catalog::{Catalog, Clock, CollectionSizes, Identifiers, Objects, history::HistoryReader};
use tenure_http::{Metrics, offload::Offload};
use tenure_meta::ApiError;
use tenure_store::Store;

/// What a fork has of its own.
#[non_exhaustive]
pub struct ForkOptions {
    /// The clock.
    pub clock: Clock,
    /// The source of uids and generated names.
    pub identifiers: Identifiers,
    /// Lets calls of webhooks time out, for tests.
    pub webhook_interceptor: Option<Arc<WebhookInterceptor>>,
}

impl ForkOptions {
    /// Returns the options of a fork with a clock and a source of identifiers.
    pub fn new(clock: Clock, identifiers: Identifiers) -> ForkOptions {
        ForkOptions { clock, identifiers, webhook_interceptor: None }
    }
}

impl Server {
    /// Returns a server over a fork of this server's store. Its controllers are not started. The store must have the content that
    /// this server's store has now; [`refresh`](Server::refresh) makes up for one that differs.
    pub fn fork(&self, store: Arc<dyn Store>, options: ForkOptions) -> Arc<Server> {
        let ForkOptions { clock, identifiers, webhook_interceptor } = options;
        let checkpoint = self.checkpoint.fork(store.known());
        let stop = tokio::sync::watch::Sender::new(false);
        let metrics = Arc::new(Metrics::default());
        let authenticator = Arc::new(self.authenticator.fork(store.clone(), clock.clone()));
        let authorizer = self.authorizer.fork(store.clone());
        let catalog = self.catalog.fork(store.clone());
        let aggregator = self.aggregator.fork(store.clone());
        let webhooks = WebhookClient::default().with_interceptor(webhook_interceptor);
        let objects = Objects::new(store.clone(), catalog.clone(), clock, identifiers, webhooks);
        let (memory, offload) = (self.memory.clone(), Arc::new(Offload::default()));
        let sizes = Arc::new(CollectionSizes::new(store.clone()));
        let reader = Reader::new(
            objects.clone(),
            metrics.clone(),
            ReadLimits { memory: memory.clone(), offload: offload.clone(), sizes: sizes.clone() },
            stop.subscribe(),
            self.reader.min_watch,
        );
        let admission = self.writer.admission.fork(objects.clone(), authorizer.clone());
        let writer = self.writer.fork(reader.clone(), admission, authorizer.clone());
        let history =
            HistoryReader::new(objects.clone(), writer.history.clone(), offload.clone(), stop.subscribe());
        let subresources = Subresources::new(writer.clone(), authenticator.clone());
        Arc::new(Server {
            metrics,
            auditor: self.auditor.clone(),
            authenticator,
            authorizer,
            catalog,
            aggregator,
            objects,
            reader,
            writer,
            history,
            subresources,
            default_objects: self.default_objects.clone(),
            controllers: self.controllers,
            idlers: idlers(),
            checkpoint: Arc::new(checkpoint),
            flow_control: self.flow_control.as_ref().map(|control| control.fork(store, sizes)),
            web: None,
            memory,
            offload,
            stop,
        })
    }

    /// Reads definitions, roles and the configuration of admission again.
    pub async fn refresh(&self) -> Result<(), ApiError> {
        self.catalog.refresh().await?;
        self.aggregator.refresh().await?;
        self.authorizer.refresh().await?;
        self.writer.admission.refresh().await
    }

    /// Returns what this server serves.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Returns the objects of this server.
    pub fn objects(&self) -> &Arc<Objects> {
        &self.objects
    }
}
