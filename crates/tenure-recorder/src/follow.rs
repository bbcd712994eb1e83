//! The objects of a kind as they are and as they change: a list, then a watch from it on, again and again. The list is streamed by the
//! watch itself where the server can do that, and read in pages where it cannot. When a watch ends, the server
//! is unreachable or credentials are refused, it waits and tries again; when the server no longer has the revision, it lists again.
//! Changes come in the order of the server, and none between two lists is left out.

use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};
use tenure_client::{ClientError, Cluster, Event, Initial, Resource, Selection, Watch};
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

/// The codes of failures that pass.
const BUSY: [u16; 4] = [GONE, 429, 503, 504];
/// How long the next object of a streamed list is waited for. A server that does not know such lists never tells their end.
const STREAM_PAUSE: Duration = Duration::from_secs(10);
/// The most objects of a streamed list that are seen together.
const STREAMED: usize = 500;

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
    /// Whether lists are streamed; not any more if the server refused one, or never told its end.
    is_streamed: bool,
}

enum Phase {
    /// A list is to be begun.
    List,
    /// A streamed list is to be begun.
    Stream,
    /// The objects of a streamed list come.
    Streaming(Box<Watch>),
    /// A streamed list has ended, and something that came after its objects is seen next.
    Streamed(Box<Watch>, Sight),
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
        Follow {
            cluster,
            resource,
            namespace,
            selection,
            phase,
            failures: 0,
            is_slow: false,
            is_streamed: true,
        }
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
        match &mut self.phase {
            Phase::List => {
                self.phase = if self.is_streamed { Phase::Stream } else { Phase::Page(None) };
                Ok(Some(Sight::ListBegins))
            }
            Phase::Stream => self.stream().await,
            Phase::Streaming(_) | Phase::Streamed(..) => self.streamed().await,
            Phase::Page(_) => self.page().await,
            Phase::Ended(version) => {
                let version = std::mem::take(version);
                self.phase = Phase::Begin(version.clone());
                Ok(Some(Sight::ListEnds(version)))
            }
            Phase::Begin(_) => self.begin().await,
            Phase::Watching(..) => self.watched().await,
        }
    }

    /// Begins a streamed list. From then on lists are read in pages if the server does not have streamed ones for this kind.
    async fn stream(&mut self) -> Result<Option<Sight>, ClientError> {
        let (namespace, selection) = (self.namespace.as_deref(), &self.selection);
        match self.cluster.watch_list(&self.resource, namespace, selection, WATCH_SECONDS).await {
            Ok(watch) => self.phase = Phase::Streaming(Box::new(watch)),
            Err(error) if code(&error).is_some_and(|code| [400, 405, 406, 422].contains(&code)) => {
                self.is_streamed = false;
                self.phase = Phase::Page(None);
            }
            Err(error) => return Err(error),
        }
        Ok(None)
    }

    /// Reads a page. A list whose pages expired is read again in one piece.
    async fn page(&mut self) -> Result<Option<Sight>, ClientError> {
        let Phase::Page(token) = &self.phase else { return Ok(None) };
        let (namespace, selection) = (self.namespace.as_deref(), &self.selection);
        let page = match (self.is_slow, token) {
            (true, None) => self.cluster.whole(&self.resource, namespace, selection).await,
            (_, token) => self.cluster.page(&self.resource, namespace, selection, token.as_deref()).await,
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

    /// Begins a watch, or a list if the revision is no longer known.
    async fn begin(&mut self) -> Result<Option<Sight>, ClientError> {
        let Phase::Begin(version) = &mut self.phase else { return Ok(None) };
        let (namespace, selection) = (self.namespace.as_deref(), &self.selection);
        match self.cluster.watch_for(&self.resource, namespace, selection, version, WATCH_SECONDS).await {
            Ok(watch) => self.phase = Phase::Watching(Box::new(watch), std::mem::take(version)),
            Err(error) if code(&error) == Some(GONE) => self.phase = Phase::List,
            Err(error) => return Err(error),
        }
        Ok(None)
    }

    /// Returns the next change of a watch.
    async fn watched(&mut self) -> Result<Option<Sight>, ClientError> {
        let Phase::Watching(watch, version) = &mut self.phase else { return Ok(None) };
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
                return Err(refused(&self.resource, refusal.code, refusal.message));
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

    /// Returns what is seen next of a streamed list. The watch that showed it goes on after its end.
    async fn streamed(&mut self) -> Result<Option<Sight>, ClientError> {
        let mut objects = Vec::new();
        loop {
            let Phase::Streaming(watch) = &mut self.phase else {
                let Phase::Streamed(watch, sight) = std::mem::replace(&mut self.phase, Phase::List) else {
                    return Ok(None);
                };
                self.phase = match &sight {
                    Sight::ListEnds(version) => Phase::Watching(watch, version.clone()),
                    _ => Phase::Streaming(watch),
                };
                return Ok(Some(sight));
            };
            // Only the first object is waited for, so that none is lost if this future is dropped.
            let next = match objects.is_empty() {
                true => timeout(STREAM_PAUSE, watch.next_initial()).await.unwrap_or(Ok(None)),
                false => match now_or_never(watch.next_initial()).await {
                    Some(next) => next,
                    None => return Ok(Some(Sight::Listed(objects))),
                },
            };
            let sight = match next {
                Ok(Some(Initial::Listed(object))) => {
                    objects.push(object);
                    match objects.len() < STREAMED {
                        true => continue,
                        false => return Ok(Some(Sight::Listed(objects))),
                    }
                }
                Ok(Some(Initial::Ended(version))) => Sight::ListEnds(version),
                Ok(Some(Initial::Event(Event::Changed(object)))) => Sight::Changed(object),
                Ok(Some(Initial::Event(Event::Deleted(object)))) => Sight::Deleted(object),
                Ok(Some(Initial::Event(Event::Failed(refusal)))) if BUSY.contains(&refusal.code) => {
                    self.phase = Phase::List;
                    return Err(refused(&self.resource, refusal.code, refusal.message));
                }
                Err(error) => {
                    self.phase = Phase::List;
                    return Err(error);
                }
                // A server whose etcd is too old for it fails; one that does not know such lists never tells the end.
                Ok(Some(Initial::Event(Event::Failed(_) | Event::Bookmark(_))) | None) => {
                    self.is_streamed = false;
                    self.phase = Phase::List;
                    return Ok(None);
                }
            };
            // What came before it is seen before it.
            if let Phase::Streaming(watch) = std::mem::replace(&mut self.phase, Phase::List) {
                self.phase = Phase::Streamed(watch, sight);
            }
            if !objects.is_empty() {
                return Ok(Some(Sight::Listed(objects)));
            }
        }
    }

    /// Starts over after a revision: what was seen since is seen again.
    pub fn rewind(&mut self, position: Option<String>) {
        self.phase = position.map_or(Phase::List, Phase::Begin);
        self.failures = self.failures.max(1);
    }
}

fn refused(resource: &Resource, code: u16, message: String) -> ClientError {
    ClientError::Refused { verb: "watch".into(), what: resource.plural.clone(), code, message, advice: "" }
}

/// Returns what a future has at once.
pub(crate) async fn now_or_never<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(ready) => Poll::Ready(Some(ready)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Returns the code with which the server refused a request.
pub(crate) fn code(error: &ClientError) -> Option<u16> {
    match error {
        ClientError::Refused { code, .. } => Some(*code),
        _ => None,
    }
}
