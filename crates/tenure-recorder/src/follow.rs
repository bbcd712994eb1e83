//! The objects of a kind as they are and as they change: a list, then a watch from it on, again and again. Ends of watches, servers
//! that are away and refused credentials are waited for; a revision that the server no longer has leads to another list. What is
//! seen comes in the order of the server, and nothing between two lists is left out.

use std::{sync::Arc, time::Duration};
use tenure_client::{ClientError, Cluster, Event, Resource, Selection, Watch};
use tenure_value::Value;
use tokio::time::{sleep, timeout};

/// The code of a revision that the server no longer has.
const GONE: u16 = 410;
/// The first pause after a failure; every further one is twice as long, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long a watch lasts, in seconds, and how much longer than that its end is waited for: a connection may be dead without a sign.
const WATCH_SECONDS: u64 = 300;
const GRACE: Duration = Duration::from_secs(30);

/// What a [`Follow`] sees.
#[derive(Debug)]
pub enum Sight {
    /// A list begins: objects that it does not have do not exist any more.
    ListBegins,
    /// Objects of the list.
    Listed(Vec<Value>),
    /// The list has ended; it is of this resourceVersion.
    ListEnds(String),
    /// An object was created or changed.
    Changed(Value),
    /// An object was deleted; this is its last state, with the revision of the deletion.
    Deleted(Value),
    /// Nothing changed up to this resourceVersion.
    Bookmark(String),
    /// The server cannot be followed now; the next sight comes after a pause.
    Interrupted(ClientError),
}

/// Follows the selected objects of a kind.
pub struct Follow {
    cluster: Arc<Cluster>,
    resource: Resource,
    namespace: Option<String>,
    selection: Selection,
    phase: Phase,
    /// How many failures came since the last sight.
    failures: u32,
    /// Whether a page of a list was no longer there: the next list is read whole.
    is_slow: bool,
}

enum Phase {
    /// A list is to be begun.
    List,
    /// The next page of a list is to be read; the first has no token.
    Page(Option<String>),
    /// The list of a revision has ended.
    Ended(String),
    /// A watch is to be begun after a revision.
    Begin(String),
    Watching(Box<Watch>, String),
}

impl Follow {
    /// Follows from a resourceVersion on, or from a list.
    pub fn new(
        cluster: Arc<Cluster>,
        resource: Resource,
        namespace: Option<String>,
        selection: Selection,
        position: Option<String>,
    ) -> Follow {
        let phase = position.map_or(Phase::List, Phase::Begin);
        Follow { cluster, resource, namespace, selection, phase, failures: 0, is_slow: false }
    }

    /// Returns what is seen next. Dropping the future loses nothing: the same is seen again.
    pub async fn next(&mut self) -> Sight {
        if self.failures > 0 {
            let factor = 1_u32 << (self.failures - 1).min(16);
            sleep(FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE)).await;
        }
        loop {
            match self.step().await {
                Ok(Some(sight)) => {
                    self.failures = 0;
                    return sight;
                }
                Ok(None) => {}
                Err(error) => {
                    self.failures += 1;
                    return Sight::Interrupted(error);
                }
            }
        }
    }

    /// Makes a step, with or without something to see.
    async fn step(&mut self) -> Result<Option<Sight>, ClientError> {
        let namespace = self.namespace.as_deref();
        match &mut self.phase {
            Phase::List => {
                self.phase = Phase::Page(None);
                Ok(Some(Sight::ListBegins))
            }
            Phase::Page(token) => {
                let page = match (self.is_slow, &token) {
                    (true, None) => self.cluster.whole(&self.resource, namespace, &self.selection).await,
                    _ => {
                        let token = token.as_deref();
                        self.cluster.page(&self.resource, namespace, &self.selection, token).await
                    }
                };
                let page = match page {
                    Ok(page) => page,
                    Err(error) if code(&error) == Some(GONE) && token.is_some() => {
                        self.is_slow = true;
                        self.phase = Phase::List;
                        return Ok(None);
                    }
                    Err(error) => return Err(error),
                };
                if let Some(next) = page.next {
                    self.phase = Phase::Page(Some(next));
                } else {
                    self.is_slow = false;
                    // The objects of the last page come first, then the end of the list.
                    self.phase = Phase::Ended(page.resource_version);
                }
                Ok(Some(Sight::Listed(page.objects.into_iter().map(|found| found.shown).collect())))
            }
            Phase::Ended(version) => {
                let version = std::mem::take(version);
                self.phase = Phase::Begin(version.clone());
                Ok(Some(Sight::ListEnds(version)))
            }
            Phase::Begin(version) => {
                let selection = &self.selection;
                let begun = self
                    .cluster
                    .watch_for(&self.resource, namespace, selection, version, WATCH_SECONDS)
                    .await;
                match begun {
                    Ok(watch) => {
                        let version = std::mem::take(version);
                        self.phase = Phase::Watching(Box::new(watch), version);
                        Ok(None)
                    }
                    Err(error) if code(&error) == Some(GONE) => {
                        self.phase = Phase::List;
                        Ok(None)
                    }
                    Err(error) => Err(error),
                }
            }
            Phase::Watching(watch, version) => {
                let limit = Duration::from_secs(WATCH_SECONDS) + GRACE;
                let event = match timeout(limit, watch.next()).await {
                    Ok(Ok(event)) => event,
                    // The watch goes on where it was cut; what was sent in part is sent again.
                    Ok(Err(error)) => {
                        self.phase = Phase::Begin(std::mem::take(version));
                        return Err(error);
                    }
                    Err(_) => None,
                };
                let sight = match event {
                    None => {
                        self.phase = Phase::Begin(std::mem::take(version));
                        // A server that ends watches at once is not asked without a pause.
                        sleep(FIRST_PAUSE).await;
                        return Ok(None);
                    }
                    Some(Event::Failed(refusal)) if refusal.code == GONE => {
                        self.phase = Phase::List;
                        return Ok(None);
                    }
                    Some(Event::Failed(refusal)) => {
                        self.phase = Phase::Begin(std::mem::take(version));
                        return Err(ClientError::Refused {
                            verb: "watch".into(),
                            what: self.resource.plural.clone(),
                            code: refusal.code,
                            message: refusal.message,
                            advice: "",
                        });
                    }
                    Some(Event::Changed(object)) => Sight::Changed(object),
                    Some(Event::Deleted(object)) => Sight::Deleted(object),
                    Some(Event::Bookmark(version)) => Sight::Bookmark(version),
                };
                let reached = match &sight {
                    Sight::Bookmark(reached) => Some(reached.as_str()),
                    Sight::Changed(object) | Sight::Deleted(object) => {
                        object.at(["metadata", "resourceVersion"]).and_then(Value::as_str)
                    }
                    _ => None,
                };
                if let Some(reached) = reached.filter(|reached| !reached.is_empty()) {
                    reached.clone_into(version);
                }
                Ok(Some(sight))
            }
        }
    }

    /// Starts over after a revision: what was seen since is seen again.
    pub fn rewind(&mut self, position: Option<String>) {
        self.phase = position.map_or(Phase::List, Phase::Begin);
        self.failures = self.failures.max(1);
    }
}

/// Returns the code with which the server refused a request.
pub(crate) fn code(error: &ClientError) -> Option<u16> {
    match error {
        ClientError::Refused { code, .. } => Some(*code),
        _ => None,
    }
}
