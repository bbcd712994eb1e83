//! Faults on demand: their effects, the requests that they select, and how often they happen.

use crate::request_info::{RequestInfo, called};
use parking_lot::Mutex;
use std::{fmt, sync::Arc, time::Duration};
use tenure_admission::Stall;
use tenure_catalog::Clock;
use tenure_value::Value;
use tokio::sync::watch;

/// The effect of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// The request waits this long before it is carried out.
    Latency(Duration),
    /// A write is refused with 409, as if another client had written first. Nothing is written.
    Conflict,
    /// The request is refused with 429 and a Retry-After of this many seconds.
    TooManyRequests {
        /// The seconds of the `Retry-After` header.
        retry_after: u32,
    },
    /// The request fails with 500. Nothing is written.
    InternalError,
    /// The request is carried out, and the connection breaks in the middle of the response.
    CutResponse,
    /// A watch breaks after this many events.
    CutWatch {
        /// The events that still arrive.
        after_events: usize,
    },
    /// A watch delivers bookmarks instead of events: the client learns the newest version, and no object.
    BookmarksOnly,
    /// A list is refused with 410, and a watch ends with an error event of that code.
    TooOld,
    /// A webhook does not answer: the call fails when its time limit has passed by the clock of the server.
    WebhookTimeout,
    /// Reads are answered from an earlier state: that of a revision, or of the moment when the fault was injected.
    StaleRead {
        /// The revision; `None` for the moment of injection.
        revision: Option<u64>,
    },
}

impl Effect {
    /// Returns the verbs that are affected where a fault names none; all of them if empty.
    fn verbs(&self) -> &'static [&'static str] {
        match self {
            Effect::Conflict => &["update", "patch"],
            Effect::CutWatch { .. } | Effect::BookmarksOnly => &["watch"],
            Effect::TooOld => &["list", "watch"],
            Effect::StaleRead { .. } => &["get", "list"],
            Effect::CutResponse => {
                &["get", "list", "create", "update", "patch", "delete", "deletecollection"]
            }
            _ => &[],
        }
    }
}

/// A fault: an [`Effect`] on the requests that it selects. By default it selects all of them and stays until it is
/// removed.
///
/// ```
/// use tenure_testing::Fault;
///
/// // The next two updates of this ConfigMap by the manager `website-controller` conflict.
/// let fault = Fault::conflict().kind("ConfigMap").name("blog").manager("website-controller").times(2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub(crate) effect: Effect,
    pub(crate) verbs: Vec<String>,
    pub(crate) kind: Option<String>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) manager: Option<String>,
    pub(crate) times: Option<u64>,
}

impl From<Effect> for Fault {
    fn from(effect: Effect) -> Fault {
        Fault {
            effect,
            verbs: Vec::new(),
            kind: None,
            namespace: None,
            name: None,
            manager: None,
            times: None,
        }
    }
}

impl Fault {
    /// Delays requests.
    pub fn latency(time: Duration) -> Fault {
        Effect::Latency(time).into()
    }

    /// Refuses updates and patches with 409.
    pub fn conflict() -> Fault {
        Effect::Conflict.into()
    }

    /// Refuses requests with 429.
    pub fn too_many_requests() -> Fault {
        Effect::TooManyRequests { retry_after: 1 }.into()
    }

    /// Fails requests with 500.
    pub fn internal_error() -> Fault {
        Effect::InternalError.into()
    }

    /// Carries requests out and breaks the connection in the middle of the response.
    pub fn cut_response() -> Fault {
        Effect::CutResponse.into()
    }

    /// Breaks watches, those that are open and those to come, after a number of events.
    pub fn cut_watch(after_events: usize) -> Fault {
        Effect::CutWatch { after_events }.into()
    }

    /// Replaces the events of watches with bookmarks.
    pub fn bookmarks_only() -> Fault {
        Effect::BookmarksOnly.into()
    }

    /// Answers lists and watches with the error that their version is too old.
    pub fn too_old() -> Fault {
        Effect::TooOld.into()
    }

    /// Leaves calls of webhooks without an answer, so that they fail when their time limit has passed. If the clock of the server is
    /// stopped, the test has to move it: [`InjectedFault::until_hits`] waits for the call.
    pub fn webhook_timeout() -> Fault {
        Effect::WebhookTimeout.into()
    }

    /// Answers reads from the state at the moment of injection.
    pub fn stale_read() -> Fault {
        Effect::StaleRead { revision: None }.into()
    }

    /// Answers reads from the state at a revision.
    pub fn stale_read_at(revision: u64) -> Fault {
        Effect::StaleRead { revision: Some(revision) }.into()
    }

    /// Selects a verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or `apply` for patches that
    /// are server-side applies. May be repeated.
    pub fn verb(mut self, verb: impl Into<String>) -> Fault {
        self.verbs.push(verb.into());
        self
    }

    /// Selects a kind, as `ConfigMap`, `configmaps`, `cm` or `deployments.apps`.
    pub fn kind(mut self, kind: impl Into<String>) -> Fault {
        self.kind = Some(kind.into());
        self
    }

    /// Selects a namespace.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Fault {
        self.namespace = Some(namespace.into());
        self
    }

    /// Selects the name of an object.
    pub fn name(mut self, name: impl Into<String>) -> Fault {
        self.name = Some(name.into());
        self
    }

    /// Selects a field manager; for a request that names none this is its user agent up to the first slash.
    pub fn manager(mut self, manager: impl Into<String>) -> Fault {
        self.manager = Some(manager.into());
        self
    }

    /// Happens once.
    pub fn once(self) -> Fault {
        self.times(1)
    }

    /// Happens this many times.
    pub fn times(mut self, times: u64) -> Fault {
        self.times = Some(times);
        self
    }

    /// Returns the effect.
    pub fn effect(&self) -> &Effect {
        &self.effect
    }

    fn selects(&self, info: &RequestInfo) -> bool {
        let is = |wanted: &Option<String>, given: &str| wanted.as_ref().is_none_or(|wanted| wanted == given);
        let is_verb = |verb: &str| verb == info.verb || verb == "apply" && info.is_apply;
        let verbs = match self.verbs.is_empty() {
            true => self.effect.verbs().is_empty() || self.effect.verbs().iter().any(|verb| is_verb(verb)),
            false => self.verbs.iter().any(|verb| is_verb(verb)),
        };
        let is_kind = |kind: &String| called(&info.kind, &info.resource, &info.group, kind);
        verbs
            && self.kind.as_ref().is_none_or(is_kind)
            && is(&self.namespace, &info.namespace)
            && is(&self.name, &info.name)
            && is(&self.manager, &info.manager)
    }
}

/// How often a fault has happened.
type Hits = Arc<watch::Sender<u64>>;

/// A fault of a server; see [`TestServer::inject`](crate::TestServer::inject). Dropping this leaves the fault in place.
#[derive(Clone)]
pub struct InjectedFault {
    pub(crate) id: u64,
    hits: Hits,
    faults: Faults,
}

impl InjectedFault {
    /// Returns how often the fault has happened.
    pub fn hits(&self) -> u64 {
        *self.hits.borrow()
    }

    /// Waits until the fault has happened this often.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::time::Duration;
    /// use tenure_testing::{Fault, TestServer};
    ///
    /// let server = TestServer::builder().seed(1).start().await?;
    /// let fault = server.inject(Fault::latency(Duration::ZERO));
    /// let request = server.request(http::Method::GET, "/api/v1/namespaces", None);
    /// let (answer, ()) = tokio::join!(request, fault.until_hits(1));
    /// assert_eq!(answer?.0, 200);
    /// # Ok::<(), tenure_testing::TestError>(()) }).unwrap();
    /// ```
    pub async fn until_hits(&self, hits: u64) {
        // The sender is this fault's own.
        let _ = self.hits.subscribe().wait_for(|happened| *happened >= hits).await;
    }

    /// Removes the fault.
    pub fn remove(&self) {
        self.faults.remove(self.id);
    }
}

impl fmt::Debug for InjectedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InjectedFault").field("id", &self.id).field("hits", &self.hits()).finish()
    }
}

/// The faults of one server.
#[derive(Clone)]
pub(crate) struct Faults(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    /// Sent something when a fault is injected or removed, for open watches.
    changes: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    active: Vec<Active>,
    next: u64,
}

struct Active {
    id: u64,
    fault: Fault,
    left: Option<u64>,
    hits: Hits,
}

/// A fault that happens now.
pub(crate) struct Taken {
    pub id: u64,
    pub effect: Effect,
    /// Whether this was its last time.
    pub is_last: bool,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults(Arc::new(Inner { state: Mutex::default(), changes: watch::Sender::new(()) }))
    }
}

impl Faults {
    /// Adds a fault.
    pub fn inject(&self, fault: Fault) -> InjectedFault {
        let hits = Hits::new(watch::Sender::new(0));
        let mut state = self.0.state.lock();
        state.next += 1;
        let id = state.next;
        let left = fault.times;
        if left != Some(0) {
            state.active.push(Active { id, fault, left, hits: hits.clone() });
        }
        drop(state);
        self.0.changes.send_replace(());
        InjectedFault { id, hits, faults: self.clone() }
    }

    /// Removes a fault; returns whether it was there.
    pub fn remove(&self, id: u64) -> bool {
        let mut state = self.0.state.lock();
        let before = state.active.len();
        state.active.retain(|active| active.id != id);
        let is_removed = state.active.len() < before;
        drop(state);
        self.0.changes.send_replace(());
        is_removed
    }

    /// Removes all faults.
    pub fn clear(&self) {
        self.0.state.lock().active.clear();
        self.0.changes.send_replace(());
    }

    /// Returns the numbers of all faults, and how often each has happened.
    pub fn list(&self) -> Vec<(u64, u64, Fault)> {
        let state = self.0.state.lock();
        state.active.iter().map(|active| (active.id, *active.hits.borrow(), active.fault.clone())).collect()
    }

    /// Whether a fault is still there.
    pub fn is_active(&self, id: u64) -> bool {
        self.0.state.lock().active.iter().any(|active| active.id == id)
    }

    /// Whether there is any fault that changes the events of a watch.
    pub fn concern_events(&self) -> bool {
        let concerns = |active: &Active| {
            matches!(active.fault.effect, Effect::BookmarksOnly | Effect::CutWatch { .. } | Effect::TooOld)
        };
        self.0.state.lock().active.iter().any(concerns)
    }

    pub fn is_empty(&self) -> bool {
        self.0.state.lock().active.is_empty()
    }

    /// Returns a channel that signals when faults change.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    /// Counts the first fault with a wanted effect that selects a request; `None` if there is none.
    pub fn take(&self, info: &RequestInfo, is_wanted: impl Fn(&Effect) -> bool) -> Option<Taken> {
        let mut state = self.0.state.lock();
        let selects = |active: &Active| is_wanted(&active.fault.effect) && active.fault.selects(info);
        let at = state.active.iter().position(selects)?;
        Some(state.count(at))
    }

    /// Counts every fault with a wanted effect that selects a request.
    pub fn take_all(&self, info: &RequestInfo, is_wanted: impl Fn(&Effect) -> bool) -> Vec<Taken> {
        let mut state = self.0.state.lock();
        let mut taken = Vec::new();
        let mut at = 0;
        while at < state.active.len() {
            let active = &state.active[at];
            match is_wanted(&active.fault.effect) && active.fault.selects(info) {
                true => {
                    let one = state.count(at);
                    at += usize::from(!one.is_last);
                    taken.push(one);
                }
                false => at += 1,
            }
        }
        taken
    }

    /// Returns the waiting time of a call of a webhook that is not answered.
    pub fn webhook(&self, clock: &Clock, review: &Value, time_limit: Duration) -> Option<Stall> {
        if self.is_empty() {
            return None;
        }
        let start = clock.now();
        self.take(&reviewed(review), |effect| *effect == Effect::WebhookTimeout)?;
        let clock = clock.clone();
        Some(Box::pin(async move { clock.sleep_since(start, time_limit).await }))
    }
}

impl State {
    fn count(&mut self, at: usize) -> Taken {
        let active = &mut self.active[at];
        active.hits.send_modify(|hits| *hits += 1);
        active.left = active.left.map(|left| left - 1);
        let (id, effect, is_last) = (active.id, active.fault.effect.clone(), active.left == Some(0));
        if is_last {
            self.active.remove(at);
        }
        Taken { id, effect, is_last }
    }
}

/// Returns what a webhook is asked about: the request of an admission review, or the objects of a conversion.
fn reviewed(review: &Value) -> RequestInfo {
    let text = |path: &[&str]| {
        let found = review.at(std::iter::once("request").chain(path.iter().copied()));
        found.and_then(Value::as_str).unwrap_or_default().to_string()
    };
    RequestInfo {
        verb: match text(&["operation"]).as_str() {
            "" => "convert".into(),
            operation => operation.to_lowercase(),
        },
        group: text(&["resource", "group"]),
        resource: text(&["resource", "resource"]),
        kind: text(&["kind", "kind"]),
        namespace: text(&["namespace"]),
        name: text(&["name"]),
        manager: text(&["options", "fieldManager"]),
        user: text(&["userInfo", "username"]),
        ..RequestInfo::default()
    }
}
