//! What happens to servers, connections, disks and clocks: no version that was delivered is lost or gets another author, and what was missed is
//! reported where it is.

use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::{Value as Json, json};
use std::{
    collections::BTreeSet,
    io,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicI64, Ordering::SeqCst},
    },
    time::{Duration, SystemTime},
};
use tempfile::TempDir;
use tenure_client::{Cluster, Selection};
use tenure_http::{
    BodyStream, GuardedRequest, Response,
    listener::{self, Handler},
};
use tenure_recorder::{
    Access, Archive, ArchiveOptions, AuditEndpoint, Follow, HistoryEndpoint, Recorder, RecorderOptions, Sight,
};
use tenure_store::{
    EmbeddedOptions,
    embedded::{Disk, DiskOperation},
};
use tenure_testing::{Fault, Socket, TestServer};
use tenure_transport::{ConnectOptions, HistoryServer, serving};
use tenure_value::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A server, a recorder of its config maps, and the history that it serves.
struct World {
    server: TestServer,
    socket: Socket,
    directory: TempDir,
    /// Every write: the object, its manager, and what the server answered; `None` for a deletion.
    written: Mutex<Vec<(String, String, Option<Json>)>>,
}

/// A recorder that runs until it is dropped.
struct Running {
    archive: Arc<Archive>,
    history: Cluster,
    recording: tokio::task::JoinHandle<()>,
    serving: tokio::task::JoinHandle<()>,
}

impl World {
    async fn new() -> World {
        let server = TestServer::start().await.unwrap();
        let socket = server.listen().await.unwrap();
        World { server, socket, directory: TempDir::new().unwrap(), written: Mutex::default() }
    }

    fn options(&self, history: Option<HistoryServer>) -> ConnectOptions {
        let kubeconfig = Some(self.socket.kubeconfig().to_owned());
        ConnectOptions { kubeconfig, history, ..ConnectOptions::default() }
    }

    async fn cluster(&self) -> Arc<Cluster> {
        Arc::new(Cluster::connect(&self.options(None)).await.unwrap())
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    async fn record(&self, options: ArchiveOptions) -> Running {
        self.record_from(self.cluster().await, options).await
    }

    async fn record_from(&self, cluster: Arc<Cluster>, options: ArchiveOptions) -> Running {
        let archive = Arc::new(Archive::open(self.path(), options).unwrap());
        let socket = listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        let endpoint = HistoryEndpoint::new(archive.clone(), cluster.clone(), Access::Token("t".into()));
        let serving = tokio::spawn(listener::serve(socket, None, endpoint, std::future::pending()));
        let kinds = vec!["configmaps".to_owned()];
        let recorder =
            Recorder::new(cluster, archive.clone(), RecorderOptions { kinds, ..RecorderOptions::default() });
        let recording = tokio::spawn(recorder.clone().run());
        assert_eq!(recorder.settled().await, (1, Vec::new()));
        let server = HistoryServer { url, token: Some("t".into()), certificate_authority: None };
        let history = Cluster::connect(&self.options(Some(server))).await.unwrap();
        Running { archive, history, recording, serving }
    }

    /// Applies a config map as a manager; returns its revision.
    async fn apply(&self, name: &str, manager: &str, data: Json) -> u64 {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "default"}, "data": data});
        let applied = self.server.apply_as(manager, object).await.unwrap();
        let revision = applied["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        self.written.lock().unwrap().push((name.to_owned(), manager.to_owned(), Some(applied)));
        revision
    }

    async fn delete(&self, name: &str) {
        let path = format!("{MAPS}/{name}");
        self.server.request(http::Method::DELETE, &path, None).await.unwrap();
        self.written.lock().unwrap().push((name.to_owned(), String::new(), None));
    }

    /// Waits until the recorder has every write of an object, and checks that each has its manager and its version.
    async fn check_all(&self, running: &Running, name: &str) {
        let written: Vec<_> =
            self.written.lock().unwrap().iter().rev().filter(|write| write.0 == name).cloned().collect();
        let page = running.until(name, |items| items.len() >= written.len()).await;
        assert_eq!(items(&page).len(), written.len(), "{page}");
        assert!(page.get("beginsAfter").is_none(), "{page}");
        for (item, (_, manager, version)) in items(&page).iter().zip(&written) {
            let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
            assert_eq!((text("manager"), item.get("gap")), (manager.as_str(), None), "{item}");
            let Some(version) = version else {
                assert_eq!(text("type"), "Deleted", "{item}");
                continue;
            };
            let path = format!("{MAPS}/{name}/history?at={}", text("revision"));
            let rebuilt = running.history.history(&path).await.unwrap().value.to_string();
            assert_eq!(&serde_json::from_str::<Json>(&rebuilt).unwrap(), version);
        }
    }
}

impl Running {
    /// Waits until the changes of an object are as wanted; there is at least one.
    async fn until(&self, name: &str, is_wanted: impl Fn(&[Value]) -> bool) -> Value {
        let path = format!("{MAPS}/{name}/history?limit=1000");
        let found = async {
            loop {
                let page = self.history.history(&path).await.unwrap().value;
                if !items(&page).is_empty() && is_wanted(&items(&page)) {
                    return page;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), found).await.expect("the changes arrive")
    }

    /// Ends the recorder, whatever it does.
    async fn end(self) {
        let Running { archive, history, recording, serving } = self;
        drop(history);
        recording.abort();
        serving.abort();
        let _ = recording.await;
        let _ = serving.await;
        // Tasks of the recorder end with it; the directory is free when the last has.
        while Arc::strong_count(&archive) > 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

fn items(page: &Value) -> Vec<Value> {
    page.get("items")
        .and_then(Value::as_array)
        .map(|items| items.iter().cloned().collect())
        .unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_missed_is_a_gap_exactly_where_it_is() {
    let world = World::new().await;
    world.apply("kept", "alice", json!({"a": "1"})).await;
    world.apply("deleted", "alice", json!({"a": "1"})).await;
    world.apply("quiet", "alice", json!({"a": "1"})).await;
    let running = world.record(ArchiveOptions::default()).await;
    let before = world.apply("kept", "alice", json!({"a": "2"})).await;
    running.until("kept", |items| items.len() == 1).await;
    running.end().await;
    let missed = world.apply("kept", "bob", json!({"b": "1"})).await;
    let after = world.apply("kept", "carol", json!({"c": "1"})).await;
    world.apply("new", "alice", json!({"a": "1"})).await;
    world.delete("deleted").await;
    // The server no longer knows the revision that the recorder had reached.
    world.server.inject(Fault::too_old().verb("watch").kind("ConfigMap").once());
    let running = world.record(ArchiveOptions::default()).await;
    let page = running.until("kept", |items| items.len() == 2).await;
    let gap = items(&page)[0].clone();
    let text = |name: &str| gap.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    assert_eq!((text("revision"), text("previous")), (after.to_string(), before.to_string()));
    assert_eq!(text("manager"), "", "no single manager wrote it");
    assert_eq!(gap.at(["gap", "writes"]).and_then(Value::as_i64), Some(2), "{gap}");
    let managers = gap.at(["gap", "managers"]).unwrap().to_string();
    assert!(
        managers.contains("bob") && managers.contains("carol") && !managers.contains("alice"),
        "{managers}"
    );
    let between = running.history.history(&format!("{MAPS}/kept/history?at={missed}")).await.unwrap();
    assert_eq!(between.code, 410, "the version in between is not known, and no other is shown in its place");
    for revision in [before, after] {
        let known = running.history.history(&format!("{MAPS}/kept/history?at={revision}")).await.unwrap();
        assert_eq!(known.code, 200, "{}", known.value);
    }
    for (name, kind) in [("deleted", "Deleted"), ("new", "Created")] {
        let page = running.until(name, |items| !items.is_empty()).await;
        let item = items(&page)[0].clone();
        assert_eq!(item.get("type").and_then(Value::as_str), Some(kind), "{item}");
        assert!(item.get("gap").is_some(), "{item}");
    }
    let quiet = running.history.history(&format!("{MAPS}/quiet/history")).await.unwrap().value;
    assert!(items(&quiet).is_empty(), "nothing happened to it: {quiet}");
    // From here on nothing is missing again.
    world.apply("kept", "dora", json!({"d": "1"})).await;
    let page = running.until("kept", |items| items.len() == 3).await;
    assert!(items(&page)[0].get("gap").is_none(), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_that_is_cut_anywhere_goes_on_where_it_was() {
    let world = World::new().await;
    let running = world.record(ArchiveOptions::default()).await;
    let managers = ["alice", "bob", "carol"];
    for events in 0..6 {
        world.server.inject(Fault::cut_watch(events).kind("ConfigMap").once());
        for write in 0..5 {
            let manager = managers[(events + write) % managers.len()];
            world.apply("cut", manager, json!({"k": format!("{events}-{write}")})).await;
        }
    }
    world.delete("cut").await;
    world.apply("cut", "alice", json!({"k": "again"})).await;
    world.check_all(&running, "cut").await;
}

#[tokio::test]
async fn a_list_that_grows_old_is_read_again_whole() {
    let world = World::new().await;
    for number in 0..510 {
        world.apply(&format!("m{number}"), "alice", json!({})).await;
    }
    let older = OlderServer::start(&world, REFUSALS[0]).await;
    let resource = older.cluster.kind_named("configmaps").await.unwrap();
    let mut follow = Follow::new(older.cluster.clone(), resource, None, Selection::default(), None);
    assert!(matches!(follow.next().await, Sight::ListBegins));
    assert!(matches!(follow.next().await, Sight::Listed(page) if page.len() == 500));
    world.server.inject(Fault::too_old().verb("list").once());
    assert!(matches!(follow.next().await, Sight::ListBegins), "the list starts over");
    let Sight::Listed(objects) = follow.next().await else { panic!("objects") };
    assert!(objects.len() >= 510, "{}", objects.len());
    assert!(matches!(follow.next().await, Sight::ListEnds(_)));
}

/// Reads a list to its end; returns the names of its objects, each once.
async fn listed(follow: &mut Follow) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    loop {
        match follow.next().await {
            Sight::ListBegins => names.clear(),
            Sight::Listed(objects) => names.extend(objects.iter().map(name_of)),
            Sight::ListEnds(_) => return names,
            other => panic!("{other:?}"),
        }
    }
}

fn name_of(object: &Value) -> String {
    object.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_list_is_streamed_by_the_watch_that_follows_it() {
    let world = World::new().await;
    for number in 0..1100 {
        world.apply(&format!("m{number}"), "alice", json!({})).await;
    }
    let cluster = world.cluster().await;
    let resource = cluster.kind_named("configmaps").await.unwrap();
    let no_lists = world.server.inject(Fault::internal_error().verb("list"));
    let only_one = world.server.inject(Fault::latency(Duration::ZERO).verb("watch"));
    let mut follow = Follow::new(cluster, resource, Some("default".into()), Selection::default(), None);
    let names = listed(&mut follow).await;
    assert!((0..1100).all(|number| names.contains(&format!("m{number}"))), "{}", names.len());
    let revision = world.apply("later", "bob", json!({})).await;
    let Sight::Changed(later) = follow.next().await else { panic!("a change") };
    let version = later.at(["metadata", "resourceVersion"]).and_then(Value::as_str);
    assert_eq!((name_of(&later), version), ("later".to_owned(), Some(revision.to_string().as_str())));
    assert_eq!((no_lists.hits(), only_one.hits()), (0, 1));
}

/// How servers answer that cannot stream lists: without the feature, with an etcd that is too old, and without an idea of it.
const REFUSALS: [(u16, &str); 3] = [
    (
        422,
        r#"{"kind":"Status","code":422,"message":"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"}"#,
    ),
    (
        200,
        "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":500,\"message\":\"RequestWatchProgress is disabled\"}}\n",
    ),
    (200, ""),
];

/// A server that cannot stream lists.
struct OlderServer {
    cluster: Arc<Cluster>,
    handler: Arc<Older>,
    _directory: TempDir,
    serving: tokio::task::JoinHandle<()>,
}

struct Older {
    server: TestServer,
    /// The same server, for what is streamed.
    streams: Arc<Cluster>,
    refusal: (u16, &'static str),
    /// Whether the next page after the first is gone.
    has_lost_page: AtomicBool,
}

impl Handler for Older {
    async fn handle(self: Arc<Self>, request: GuardedRequest) -> Response {
        let (head, _) = request.into_parts();
        let uri = head.uri.to_string();
        if uri.contains("sendInitialEvents") {
            return Response::text(http::StatusCode::from_u16(self.refusal.0).unwrap(), self.refusal.1);
        }
        if uri.contains("continue=") && self.has_lost_page.swap(false, SeqCst) {
            let gone = r#"{"kind":"Status","code":410,"reason":"Expired","message":"the provided continue parameter is too old"}"#;
            return Response::text(http::StatusCode::GONE, gone);
        }
        if uri.contains("watch=true") {
            let request = http::Request::get(&uri).body(Bytes::new()).unwrap();
            let mut body = self.streams.forward(request).await.unwrap().into_body();
            return Response::stream(
                "application/json",
                BodyStream::new(async move |sender| {
                    while let Some(Ok(frame)) = body.frame().await {
                        sender.send(frame.into_data().unwrap_or_default()).await;
                    }
                }),
            );
        }
        let (code, answer) = self.server.request(head.method.clone(), &uri, None).await.unwrap();
        Response::text(code, answer.to_string())
    }
}

impl OlderServer {
    async fn start(world: &World, refusal: (u16, &'static str)) -> OlderServer {
        let socket = listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let directory = TempDir::new().unwrap();
        let kubeconfig =
            serving::write_insecure_kubeconfig(directory.path(), socket.local_addr().unwrap()).unwrap();
        let handler = Arc::new(Older {
            server: world.server.clone(),
            streams: world.cluster().await,
            refusal,
            has_lost_page: AtomicBool::new(false),
        });
        let serving = tokio::spawn(listener::serve(socket, None, handler.clone(), std::future::pending()));
        let options = ConnectOptions { kubeconfig: Some(kubeconfig), ..ConnectOptions::default() };
        let cluster = Arc::new(Cluster::connect(&options).await.unwrap());
        OlderServer { cluster, handler, _directory: directory, serving }
    }
}

impl Drop for OlderServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

#[tokio::test]
async fn a_server_without_streamed_lists_is_read_in_pages() {
    let world = World::new().await;
    world.apply("a", "alice", json!({})).await;
    for refusal in REFUSALS {
        let older = OlderServer::start(&world, refusal).await;
        let resource = older.cluster.kind_named("configmaps").await.unwrap();
        let lists = world.server.inject(Fault::latency(Duration::ZERO).verb("list").kind("ConfigMap"));
        let mut follow =
            Follow::new(older.cluster.clone(), resource, Some("default".into()), Selection::default(), None);
        assert!(listed(&mut follow).await.contains("a"), "{refusal:?}");
        assert_eq!(lists.hits(), 1, "{refusal:?}");
        lists.remove();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_is_gone_loses_nothing_and_adds_no_gap() {
    let world = World::new().await;
    for number in 0..510 {
        world.apply(&format!("m{number}"), "alice", json!({"a": "1"})).await;
    }
    let older = OlderServer::start(&world, REFUSALS[0]).await;
    let running = world.record_from(older.cluster.clone(), ArchiveOptions::default()).await;
    // The first and the last object of a list, which is read in two pages.
    for name in ["m0", "m99"] {
        world.apply(name, "alice", json!({"a": "2"})).await;
        running.until(name, |items| items.len() == 1).await;
    }
    running.end().await;
    for name in ["m0", "m99"] {
        world.apply(name, "bob", json!({"b": "1"})).await;
    }
    world.delete("m1").await;
    world.apply("m999", "alice", json!({})).await;
    world.server.inject(Fault::too_old().verb("watch").kind("ConfigMap").once());
    older.handler.has_lost_page.store(true, SeqCst);
    let running = world.record_from(older.cluster.clone(), ArchiveOptions::default()).await;
    for (name, kinds) in [
        ("m0", &["Modified", "Modified"][..]),
        ("m99", &["Modified", "Modified"]),
        ("m1", &["Deleted"]),
        ("m999", &["Created"]),
    ] {
        let page = running.until(name, |items| items.len() >= kinds.len()).await;
        let found: Vec<_> = items(&page)
            .iter()
            .map(|item| {
                (item.get("type").and_then(Value::as_str).unwrap().to_owned(), item.get("gap").is_some())
            })
            .collect();
        let wanted: Vec<_> =
            kinds.iter().enumerate().map(|(at, kind)| ((*kind).to_owned(), at == 0)).collect();
        assert_eq!(found, wanted, "{name}: {page}");
    }
    assert!(!older.handler.has_lost_page.load(SeqCst), "the second page was asked for");
    let quiet = running.history.history(&format!("{MAPS}/m5/history")).await.unwrap().value;
    assert!(items(&quiet).is_empty(), "{quiet}");
    // The watch goes on after the list.
    world.apply("m0", "carol", json!({"c": "1"})).await;
    let page = running.until("m0", |items| items.len() == 3).await;
    assert_eq!(items(&page)[0].get("manager").and_then(Value::as_str), Some("carol"));
}

/// Returns an audit event of a write.
fn event(verb: &str, name: &str, user: &str, answer: Json) -> Value {
    let (name, query) = name.split_once('?').unwrap_or((name, "fieldManager=agent"));
    let uri = format!("{MAPS}/{name}?{query}");
    let event = json!({"kind": "Event", "stage": "ResponseComplete", "verb": verb, "requestURI": uri,
        "user": {"username": user}, "sourceIPs": ["10.0.0.9"], "userAgent": "agent/1",
        "objectRef": {"resource": "configmaps", "namespace": "default", "name": name},
        "responseStatus": {"code": 200}, "responseObject": answer});
    tenure_value::json::parse(event.to_string().as_bytes(), &tenure_value::Limits::default()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audit_events_tell_who_wrote_and_who_deleted() {
    let world = World::new().await;
    let running = world.record(ArchiveOptions::default()).await;
    let mut events = Vec::new();
    for (name, verb) in [("one", "delete"), ("many", "deletecollection")] {
        world.apply(name, "agent", json!({"k": "v"})).await;
        let applied = world.written.lock().unwrap().last().unwrap().2.clone().unwrap();
        world.delete(name).await;
        // Dry runs make nothing.
        events.push(event("patch", &format!("{name}?dryRun=All"), "bob", applied.clone()));
        events.push(event("patch", name, "ann", applied.clone()));
        // An apply that changes nothing is answered with the same revision, and is not who made it.
        events.push(event("patch", name, "bob", applied.clone()));
        events.push(match verb {
            "delete" => {
                let details = json!({"name": name, "kind": "configmaps", "uid": applied["metadata"]["uid"]});
                event(verb, name, "eve", json!({"kind": "Status", "status": "Success", "details": details}))
            }
            _ => event(verb, "", "eve", json!({"kind": "ConfigMapList", "items": [applied]})),
        });
    }
    // Also if they come again, in any batch.
    running.archive.note_audit_events(&events[..2]).await.unwrap();
    running.archive.note_audit_events(&events).await.unwrap();
    for name in ["one", "many"] {
        let page = running.until(name, |items| items.len() == 2).await;
        let shown: Vec<[String; 2]> = items(&page)
            .iter()
            .map(|item| {
                ["type", "user"].map(|name| item.get(name).and_then(Value::as_str).unwrap_or_default().into())
            })
            .collect();
        assert_eq!(shown, [["Deleted", "eve"], ["Created", "ann"]], "{name}");
    }
}

#[tokio::test]
async fn a_webhook_that_sends_no_credentials_has_the_token_in_its_path() {
    let directory = TempDir::new().unwrap();
    let archive = Arc::new(Archive::open(directory.path(), ArchiveOptions::default()).unwrap());
    let socket = listener::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let address = socket.local_addr().unwrap();
    let endpoint = AuditEndpoint::new(archive, "secret".into());
    let serving = tokio::spawn(listener::serve(socket, None, endpoint, std::future::pending()));
    for (path, header, code) in [
        ("/secret?timeout=30s", "", "200"),
        ("/?timeout=30s", "Authorization: Bearer secret\r\n", "200"),
        ("/?timeout=30s", "", "401"),
        ("/secre", "", "401"),
        ("/", "Authorization: Bearer secre\r\n", "401"),
    ] {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\n{header}Content-Type: application/json\r\nContent-Length: 12\r\nConnection: close\r\n\r\n{{\"items\":[]}}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer.split(' ').nth(1), Some(code), "{path} {header}: {answer}");
    }
    serving.abort();
}

/// A disk that is full while a flag is set.
#[derive(Debug, Default)]
struct FullDisk {
    is_full: AtomicBool,
    has_failed: tokio::sync::Notify,
}

impl Disk for FullDisk {
    fn perform(&self, _: DiskOperation, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        if !self.is_full.load(SeqCst) {
            return act();
        }
        self.has_failed.notify_one();
        Err(io::Error::from(io::ErrorKind::StorageFull))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_delays_changes_and_loses_none() {
    let world = World::new().await;
    let disk = Arc::new(FullDisk::default());
    let store = EmbeddedOptions { disk: disk.clone(), ..EmbeddedOptions::default() };
    let running = world.record(ArchiveOptions { store, ..ArchiveOptions::default() }).await;
    world.apply("a", "alice", json!({"k": "1"})).await;
    running.until("a", |items| items.len() == 1).await;
    disk.is_full.store(true, SeqCst);
    for number in 2..6 {
        world.apply("a", "bob", json!({"k": number.to_string()})).await;
    }
    disk.has_failed.notified().await;
    disk.is_full.store(false, SeqCst);
    world.check_all(&running, "a").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clock_of_the_recorder_does_not_move_changes() {
    let world = World::new().await;
    let ahead = Arc::new(AtomicI64::new(0));
    let now = {
        let ahead = ahead.clone();
        Arc::new(move || {
            let offset = Duration::from_secs(ahead.load(SeqCst).unsigned_abs());
            match ahead.load(SeqCst) < 0 {
                true => SystemTime::now() - offset,
                false => SystemTime::now() + offset,
            }
        })
    };
    let running = world.record(ArchiveOptions { now, ..ArchiveOptions::default() }).await;
    for (number, offset) in [0, 86_400, -86_400, 0].into_iter().enumerate() {
        ahead.store(offset, SeqCst);
        // Another manager each time, since times of managers have whole seconds.
        world.apply("a", &format!("m{number}"), json!({format!("k{number}"): "1"})).await;
        let page = running.until("a", |items| items.len() == number + 1).await;
        let time = items(&page)[0].get("time").and_then(Value::as_str).unwrap().to_owned();
        let time = tenure_meta::time::Timestamp::parse(&time, tenure_meta::time::Precision::Micros).unwrap();
        let real = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        assert!(real.abs_diff(time.seconds as u64) < 600, "offset {offset}: {time:?}");
    }
    world.check_all(&running, "a").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorder_that_ends_anywhere_goes_on_where_it_was() {
    let world = World::new().await;
    for round in 0..6 {
        let running = world.record(ArchiveOptions::default()).await;
        for write in 0..5 {
            let value = format!("{round}-{write}");
            world.apply("a", ["alice", "bob"][write % 2], json!({"k": value})).await;
        }
        // Some of the writes are recorded, some are not.
        if round % 2 == 0 {
            running.until("a", |items| items.len() > 5 * round).await;
        }
        running.end().await;
    }
    let running = world.record(ArchiveOptions::default()).await;
    world.check_all(&running, "a").await;
}
