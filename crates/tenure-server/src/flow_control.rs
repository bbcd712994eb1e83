//! Priority and fairness: each request gets a seat of its priority level, waits in the queue of its flow, or is refused with
//! 429. `tenure-flowcontrol` decides; here requests wait, and the configuration follows the stored objects.

use crate::write::Writer;
use hyper::{
    Method,
    header::{self, HeaderName, HeaderValue},
};
use parking_lot::{Mutex, RwLock};
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tenure_authorization::selected_name;
use tenure_builtin::{registry, role::FLOW_CONTROL};
use tenure_catalog::{
    CollectionSize, CollectionSizes, Target, Verb,
    object::{Stored, meta_text, seconds},
    read_all_objects,
};
use tenure_flowcontrol::{
    Arrival, Config, Flow, ListEstimate, Scheduler, Ticket, bootstrap, dangling_conditions,
};
use tenure_http::{Query, Request, Response};
use tenure_meta::{ApiError, Attributes, UserInfo};
use tenure_store::{ListRequest, Revision, Signal, Store, Watch, WatchRequest};
use tenure_value::{Text, Value};
use tokio::{
    sync::{oneshot, watch},
    task::JoinSet,
    time::{sleep, timeout},
};

const GROUP: &str = FLOW_CONTROL.0;
/// The prefix of the keys of flow schemas and priority levels in the store.
const PREFIX: &str = "objects/flowcontrol.apiserver.k8s.io/";
const COMPONENT: &str = "api-priority-and-fairness-config-producer-v1";
/// The manager of the status of flow schemas.
const STATUS_COMPONENT: &str = "api-priority-and-fairness-config-consumer-v1";
const SCHEMA_HEADER: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const LEVEL_HEADER: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");
/// How long a request may wait in its queue.
const QUEUE_TIME: Duration = Duration::from_secs(15);
/// How long to wait before the configuration is followed again after an error.
const RETRY_TIME: Duration = Duration::from_secs(1);

/// Decides when requests start.
pub(crate) struct FlowController {
    store: Arc<dyn Store>,
    loaded: RwLock<Arc<Loaded>>,
    state: Mutex<State>,
    seats: u32,
    sizes: Arc<CollectionSizes>,
    /// The revision up to which the stored configuration is in force and has its status; `None` while that is not so.
    settled_at: watch::Sender<Option<Revision>>,
}

/// The configuration, and the headers of the responses to the requests of each schema.
struct Loaded {
    config: Config,
    headers: Vec<Arc<FlowHeaders>>,
    /// The headers of administrators, whose schema comes first.
    exempt: Arc<FlowHeaders>,
}

struct State {
    scheduler: Scheduler,
    /// The requests that wait, by their numbers.
    waiting: HashMap<u64, oneshot::Sender<()>>,
}

/// The headers that name the schema and the level of a request.
pub(crate) struct FlowHeaders {
    schema: HeaderValue,
    level: HeaderValue,
}

/// The seat of a request, which is free again when this is dropped.
pub(crate) struct Seat {
    controller: Arc<FlowController>,
    ticket: Ticket,
    start: Instant,
    is_running: bool,
}

impl FlowController {
    /// Reads the stored configuration.
    pub async fn open(
        store: Arc<dyn Store>,
        sizes: Arc<CollectionSizes>,
        seats: u32,
    ) -> Result<Arc<FlowController>, ApiError> {
        let config = Config::default();
        let scheduler = Scheduler::new(&config, seats);
        let controller = FlowController {
            store,
            loaded: RwLock::new(Arc::new(Loaded::new(config))),
            state: Mutex::new(State { scheduler, waiting: HashMap::new() }),
            seats,
            sizes,
            settled_at: watch::Sender::new(None),
        };
        controller.refresh().await?;
        Ok(Arc::new(controller))
    }

    /// Returns the flow control of a fork: the same configuration, and all seats free.
    pub fn fork(&self, store: Arc<dyn Store>, sizes: Arc<CollectionSizes>) -> Arc<FlowController> {
        let loaded = self.loaded.read().clone();
        let scheduler = Scheduler::new(&loaded.config, self.seats);
        let state = Mutex::new(State { scheduler, waiting: HashMap::new() });
        // What was settled after the fork is not true of it.
        let at = store.known();
        let settled_at = watch::Sender::new(self.settled_at.borrow().filter(|settled| *settled <= at));
        let (loaded, seats) = (RwLock::new(loaded), self.seats);
        Arc::new(FlowController { store, loaded, state, seats, sizes, settled_at })
    }

    /// Creates the objects that every server has, and restores those that it cannot do without.
    pub async fn restore(&self, writer: &Arc<Writer>) -> Result<(), ApiError> {
        let mut writes = JoinSet::new();
        for object in bootstrap::objects() {
            let writer = writer.clone();
            writes.spawn(async move {
                let target = target_of(&writer, &object.object)?;
                let stored = writer.objects.read(&target).await?.map(|stored| stored.shown());
                let Some(object) = object.reconcile(stored.as_ref()) else { return Ok(()) };
                let written = match stored {
                    Some(_) => writer.put_own(&target, COMPONENT, &object).await,
                    None => create(&writer, target, &object).await,
                };
                match written {
                    // Another server over the same store does the same.
                    Err(failure) if failure.code() == 409 => Ok(()),
                    written => written,
                }
            });
        }
        while let Some(ended) = writes.join_next().await {
            ended.map_err(|error| ApiError::internal(format!("flow control: {error}")))??;
        }
        self.refresh().await.map(drop)
    }

    /// Reads all flow schemas and priority levels again, and returns them.
    async fn refresh(&self) -> Result<[Vec<Value>; 2], ApiError> {
        let mut objects: [Vec<Value>; 2] = Default::default();
        for (name, objects) in FLOW_CONTROL.1.iter().zip(&mut objects) {
            let Some(resource) = registry().find(GROUP, "v1", name) else { continue };
            let stored = read_all_objects(&*self.store, resource, "").await?;
            *objects = stored.into_iter().map(|Stored { object, .. }| object).collect();
        }
        let config = Config::read(&objects[0], &objects[1]);
        // Both change together: a request is classified by the configuration that the scheduler has.
        let mut state = self.state.lock();
        let started = state.scheduler.reconfigure(&config);
        *self.loaded.write() = Arc::new(Loaded::new(config));
        state.wake(started);
        Ok(objects)
    }

    /// Follows the stored configuration and keeps the status of flow schemas until the server stops.
    pub async fn follow(
        self: Arc<Self>,
        writer: Arc<Writer>,
        mut stopping: tokio::sync::watch::Receiver<bool>,
    ) {
        tokio::select! {
            () = async {
                loop {
                    if let Err(failure) = self.follow_changes(&writer).await {
                        tracing::warn!(%failure, "flow control configuration cannot be read, retrying");
                    }
                    sleep(RETRY_TIME).await;
                    self.settled_at.send_replace(None);
                }
            } => {}
            _ = stopping.changed() => {}
        }
    }

    async fn follow_changes(&self, writer: &Writer) -> Result<(), ApiError> {
        loop {
            let mut watch = match self.resume().await {
                Some(watch) => watch,
                None => {
                    let after = self.store.revision().await?;
                    let objects = self.refresh().await?;
                    let written = self.write_status(writer, &objects).await;
                    // Nobody waits for the next attempt.
                    self.settled_at.send_replace(Some(after));
                    written?;
                    // What changed meanwhile, such as the status of all flow schemas after the first start, is read together.
                    self.store.watch(WatchRequest::prefix(PREFIX).after(after)).await?
                }
            };
            self.settled_at.send_replace(Some(watch.progress()));
            while !matches!(watch.next().await?, Signal::Changes(_)) {}
            self.settled_at.send_replace(None);
        }
    }

    /// Returns the changes since the configuration was settled, in this server or in the one that it is a fork of.
    async fn resume(&self) -> Option<Watch> {
        let settled_at = (*self.settled_at.borrow())?;
        self.store.watch(WatchRequest::prefix(PREFIX).after(settled_at)).await.ok()
    }

    /// Waits until the stored configuration is in force and every flow schema has its status.
    pub async fn settled(&self) {
        let (mut settled_at, mut before) = (self.settled_at.subscribe(), None);
        loop {
            let listed = self.store.list(ListRequest::prefix(PREFIX)).await;
            let latest = listed.ok().and_then(|list| list.entries.iter().map(|entry| entry.modified).max());
            if before == Some(latest) {
                return;
            }
            // The sender lives as long as this controller.
            let _ = settled_at.wait_for(|at| at.is_some() && *at >= latest).await;
            before = Some(latest);
        }
    }

    /// Writes the condition of each flow schema that does not tell whether its level exists.
    async fn write_status(
        &self,
        writer: &Writer,
        [schemas, levels]: &[Vec<Value>; 2],
    ) -> Result<(), ApiError> {
        if !self.store.leads() {
            return Ok(());
        }
        for (name, condition) in dangling_conditions(schemas, levels) {
            let now = seconds(writer.objects.clock.now());
            let condition =
                condition.as_object().cloned().unwrap_or_default().with("lastTransitionTime", now);
            let conditions = Value::object([("conditions", Value::array([condition.into()]))]);
            let object = Value::object([
                ("apiVersion", Value::from(bootstrap::API_VERSION)),
                ("kind", Value::from(bootstrap::FLOW_SCHEMA)),
                ("metadata", Value::object([("name", Value::from(name))])),
                ("status", conditions),
            ]);
            let target = target_of(writer, &object)?;
            let target = Target { verb: Verb::Patch, subresource: "status".into(), ..target };
            let mut request = Request::internal(Method::PATCH, STATUS_COMPONENT);
            request.query = Query::parse(&format!("fieldManager={STATUS_COMPONENT}&force=true"))?;
            let apply = HeaderValue::from_static("application/apply-patch+yaml");
            request.headers.insert(header::CONTENT_TYPE, apply);
            request.body = object.to_string().into();
            match writer.modify(&target, &request).await {
                // It was deleted meanwhile.
                Err(failure) if failure.code() == 404 => {}
                written => drop(written?),
            }
        }
        Ok(())
    }

    /// Returns how many seats a request takes.
    pub async fn width(&self, target: &Target, query: &Query) -> u32 {
        let sends_objects = match target.verb {
            Verb::List => true,
            Verb::Watch => query.flag("sendInitialEvents"),
            _ => false,
        };
        if !sends_objects {
            return 1;
        }
        let CollectionSize { objects, object_bytes } = self.sizes.of(&target.handler.resource).await;
        let limit = query.integer("limit").ok().flatten().and_then(|limit| u64::try_from(limit).ok());
        let is_single = !selected_name(query).is_empty();
        ListEstimate { objects, object_bytes, limit, is_single }.seats()
    }

    /// Returns the flow of an administrator's request, which never waits.
    pub fn exempt(self: &Arc<Self>) -> RequestFlow {
        RequestFlow { headers: self.loaded.read().exempt.clone(), waits_for: None }
    }

    /// Returns the flow of a request.
    pub fn classify(self: &Arc<Self>, user: &UserInfo, request: &Attributes) -> RequestFlow {
        let loaded = self.loaded.read().clone();
        let flow = loaded.config.classify(user, request);
        RequestFlow {
            headers: loaded.headers[flow.schema].clone(),
            waits_for: Some((self.clone(), loaded, flow)),
        }
    }

    fn seat(self: &Arc<Self>, ticket: Ticket, is_running: bool) -> Seat {
        Seat { controller: self.clone(), ticket, start: Instant::now(), is_running }
    }
}

/// The flow of a request.
pub(crate) struct RequestFlow {
    /// The headers of the response.
    pub headers: Arc<FlowHeaders>,
    /// `None` if the request starts at once.
    waits_for: Option<(Arc<FlowController>, Arc<Loaded>, Flow)>,
}

impl RequestFlow {
    /// Waits for a seat. Returns the response that refuses the request if there is none; `None` is the seat of a request that
    /// needs none.
    pub async fn seat(self, target: &Target, query: &Query) -> Result<Option<Seat>, Response> {
        let width = match &self.waits_for {
            Some((controller, ..)) => controller.width(target, query).await,
            None => return Ok(None),
        };
        self.seats(width).await
    }

    /// Waits for a number of seats.
    pub async fn seats(self, width: u32) -> Result<Option<Seat>, Response> {
        let Some((controller, loaded, flow)) = self.waits_for else { return Ok(None) };
        let (mut seat, waiting) = {
            let mut state = controller.state.lock();
            // The configuration may have changed since: levels are found by their names.
            let current = controller.loaded.read().clone();
            let level = match Arc::ptr_eq(&current, &loaded) {
                true => flow.level,
                false => current.config.place_of(&loaded.config.level(&flow).name),
            };
            match state.scheduler.arrive(&Flow { level, ..flow }, width) {
                Arrival::Started(ticket) => return Ok(Some(controller.seat(ticket, true))),
                Arrival::Queued(ticket) => {
                    let (sender, receiver) = oneshot::channel();
                    state.waiting.insert(ticket.id, sender);
                    (controller.seat(ticket, false), receiver)
                }
                Arrival::Rejected(_) => return Err(too_many_requests()),
            }
        };
        // A request that waits too long, or whose client disconnects, leaves its queue when the seat is dropped.
        match timeout(QUEUE_TIME, waiting).await {
            Ok(Ok(())) => {
                (seat.start, seat.is_running) = (Instant::now(), true);
                Ok(Some(seat))
            }
            _ => Err(too_many_requests()),
        }
    }
}

/// Returns the response of Kubernetes to a request without a free seat.
fn too_many_requests() -> Response {
    Response::busy("Too many requests, please try again later.")
}

/// Creates an object by a POST.
async fn create(writer: &Writer, target: Target, object: &Value) -> Result<(), ApiError> {
    let mut request = Request::internal(Method::POST, COMPONENT);
    request.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    request.body = object.to_string().into();
    let target = Target { verb: Verb::Create, name: Text::default(), ..target };
    writer.create(&target, &request).await.map(drop)
}

fn target_of(writer: &Writer, object: &Value) -> Result<Target, ApiError> {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    Ok(Target {
        verb: Verb::Update,
        handler: writer.objects.catalog.resource(GROUP, "v1", &format!("{}s", kind.to_lowercase()))?,
        namespace: Text::default(),
        name: meta_text(object, "name").into(),
        subresource: Text::default(),
    })
}

impl Loaded {
    fn new(config: Config) -> Loaded {
        // A uid is always a valid header.
        let value = |uid: &Text| HeaderValue::from_str(uid).unwrap_or(HeaderValue::from_static(""));
        let headers: Vec<Arc<FlowHeaders>> = config
            .schemas()
            .iter()
            .map(|schema| {
                let level = value(&config.levels()[schema.level].uid);
                Arc::new(FlowHeaders { schema: value(&schema.uid), level })
            })
            .collect();
        let exempt = config.schemas().iter().position(|schema| schema.name == "exempt").unwrap_or(0);
        Loaded { exempt: headers[exempt].clone(), config, headers }
    }
}

impl State {
    /// Starts requests that have a seat now.
    fn wake(&mut self, started: Vec<u64>) {
        for id in started {
            if let Some(sender) = self.waiting.remove(&id) {
                // A cancelled request releases its seat by itself.
                let _ = sender.send(());
            }
        }
    }
}

impl FlowHeaders {
    /// Adds the headers to a response.
    pub fn add_to(&self, response: &mut Response) {
        response.headers.insert(SCHEMA_HEADER, self.schema.clone());
        response.headers.insert(LEVEL_HEADER, self.level.clone());
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.controller.state.lock();
        if !self.is_running {
            state.waiting.remove(&self.ticket.id);
        }
        // A request that gave up waiting may have been started at the same moment.
        if self.is_running || !state.scheduler.abandon(&self.ticket) {
            let started = state.scheduler.finish(&self.ticket, self.start.elapsed());
            state.wake(started);
        }
    }
}
