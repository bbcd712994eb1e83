//! The endpoints of `tenure test-server`: forks, snapshots, the clock and faults over a socket, for tests in any language. Each fork
//! has a socket of its own.

mod fault_document;
mod field;

use crate::{
    Snapshot, TestError, TestServer,
    fault::Fault,
    fight::Fight,
    request_info::find_resource,
    socket::{self, Socket},
    write_log::Write,
};
use field::{Fields, Problem};
use http::{Method, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::Full;
use hyper::body::Bytes;
use parking_lot::Mutex;
use serde_json::{Map, Value as Json, json};
use std::{collections::BTreeMap, net::SocketAddr, sync::Arc};
use tenure_http::{GuardedRequest, MemoryBudget, Query};
use tenure_meta::ApiError;
use tokio::{net::TcpListener, task::JoinHandle};

/// The most bytes of a request.
const BODY_BYTES: usize = 1 << 20;
/// The server that requests are about which name none.
const MAIN: &str = "main";

/// The endpoints below `/testing` on a loopback port of their own. They close when this is dropped, and so do the forks that were
/// made through them.
pub struct ControlSocket {
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl ControlSocket {
    /// Serves the endpoints for a server and its socket.
    pub async fn open(
        server: TestServer,
        socket: Socket,
        address: SocketAddr,
    ) -> Result<ControlSocket, TestError> {
        let listener = socket::bind(address).await?;
        let address = listener.local_addr().map_err(TestError::Listen)?;
        let servers = BTreeMap::from([(MAIN.to_string(), Served { server, socket })]);
        let state = State { servers, snapshots: BTreeMap::new(), forks: 0, taken: 0 };
        let control = Arc::new(Control { state: Mutex::new(state), memory: MemoryBudget::default() });
        Ok(ControlSocket { address, accepting: tokio::spawn(accept(listener, control)) })
    }

    /// Returns the base URL of the endpoints, such as `http://127.0.0.1:40123/testing`.
    pub fn url(&self) -> String {
        format!("http://{}/testing", self.address)
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, control: Arc<Control>) {
    socket::accept(listener, move |request| {
        let control = control.clone();
        async move { control.respond(request).await }
    })
    .await;
}

struct Control {
    state: Mutex<State>,
    /// The memory of requests in flight.
    memory: MemoryBudget,
}

struct State {
    servers: BTreeMap<String, Served>,
    snapshots: BTreeMap<String, Snapshot>,
    /// How many forks and snapshots were made, for their names.
    forks: u64,
    taken: u64,
}

/// A server and the socket that clients reach it by.
struct Served {
    server: TestServer,
    socket: Socket,
}

impl Served {
    fn to_json(&self, name: &str) -> Json {
        let (url, kubeconfig) = (self.socket.url(), self.socket.kubeconfig().display().to_string());
        json!({"server": name, "url": url, "kubeconfig": kubeconfig, "revision": self.server.revision()})
    }
}

/// Returns the problem of a request that is refused before it is looked at.
fn refused(refusal: ApiError) -> Problem {
    let code = StatusCode::from_u16(refusal.code()).unwrap_or(StatusCode::BAD_REQUEST);
    Problem { code, message: refusal.to_string() }
}

impl Control {
    async fn respond(&self, request: Result<GuardedRequest, ApiError>) -> Response<Full<Bytes>> {
        let (code, document) = match self.answer(request).await {
            Ok(document) => (StatusCode::OK, document),
            Err(Problem { code, message }) => (code, json!({"message": message})),
        };
        let mut response = Response::new(Full::new(Bytes::from(format!("{document}\n"))));
        *response.status_mut() = code;
        response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
        response
    }

    async fn answer(&self, request: Result<GuardedRequest, ApiError>) -> Result<Json, Problem> {
        let (head, body) = request.map_err(refused)?.into_parts();
        let (body, _) = body.read(BODY_BYTES, &self.memory).await.map_err(refused)?;
        let query = Query::parse(head.uri.query().unwrap_or_default())
            .map_err(|error| Problem::bad(error.to_string()))?;
        let mut fields = Fields::read(&body, &query)?;
        let name = fields.text("server")?.unwrap_or_else(|| MAIN.to_string());
        let path: Vec<&str> = head.uri.path().trim_matches('/').split('/').collect();
        let Some(("testing", path)) = path.split_first().map(|(first, rest)| (*first, rest)) else {
            return Err(no_such_path());
        };
        match (&head.method, path) {
            (&Method::GET, []) => Ok(self.list()),
            (&Method::POST, ["fork"]) => {
                fields.end()?;
                let fork = self.server(&name)?.fork();
                self.serve("fork", fork).await
            }
            (&Method::POST, ["at"]) => {
                let revision =
                    fields.number("revision")?.ok_or_else(|| Problem::missing("revision", "42"))?;
                fields.end()?;
                let view = self
                    .server(&name)?
                    .at(revision)
                    .await
                    .map_err(|error| Problem::bad(error.to_string()))?;
                self.serve("view", view).await
            }
            (&Method::DELETE, ["servers", name]) => self.close(name),
            (&Method::POST, ["snapshot"]) => {
                fields.end()?;
                Ok(self.keep(self.server(&name)?.snapshot()))
            }
            (&Method::DELETE, ["snapshots", id]) => match self.state.lock().snapshots.remove(*id) {
                Some(_) => Ok(json!({"snapshot": id})),
                None => Err(no_such_snapshot(id)),
            },
            (&Method::POST, ["restore"]) => {
                let id =
                    fields.text("snapshot")?.ok_or_else(|| Problem::missing("snapshot", "\"snapshot-1\""))?;
                fields.end()?;
                self.restore(&name, &id)
            }
            (&Method::GET | &Method::POST, ["clock"]) => {
                let server = self.server(&name)?;
                if head.method == Method::POST {
                    move_clock(&server, &mut fields)?;
                }
                Ok(json!({"server": name, "now": server.clock().text()}))
            }
            (&Method::POST, ["settle"]) => {
                fields.end()?;
                let server = self.server(&name)?;
                server.settle().await;
                Ok(json!({"server": name, "revision": server.revision()}))
            }
            (&Method::POST, ["faults"]) => {
                let server = self.server(&name)?;
                let fault = read_fault(&server, &mut fields)?;
                Ok(json!({"server": name, "fault": server.inject(fault).id}))
            }
            (&Method::GET, ["faults"]) => {
                Ok(json!({"server": name, "faults": faults_document(&self.server(&name)?)}))
            }
            (&Method::DELETE, ["faults"]) => {
                self.server(&name)?.clear_faults();
                Ok(json!({"server": name}))
            }
            (&Method::DELETE, ["faults", id]) => {
                let server = self.server(&name);
                match id.parse().is_ok_and(|id| server.is_ok_and(|server| server.inner.faults.remove(id))) {
                    true => Ok(json!({"server": name})),
                    false => Err(Problem::absent(format!(
                        "server {name:?} has no fault {id}; GET /testing/faults lists them"
                    ))),
                }
            }
            (&Method::GET, ["writes"]) => {
                let since = fields.number("since")?.unwrap_or(0);
                Ok(json!({"server": name, "writes": writes_document(&self.server(&name)?, since)}))
            }
            (&Method::GET, ["fights"]) => {
                let since = fields.number("since")?.unwrap_or(0);
                Ok(json!({"server": name, "fights": fights_document(&self.server(&name)?, since)}))
            }
            _ => Err(no_such_path()),
        }
    }

    fn list(&self) -> Json {
        let state = self.state.lock();
        let servers: Vec<Json> = state.servers.iter().map(|(name, server)| server.to_json(name)).collect();
        let snapshot = |(name, snapshot): (&String, &Snapshot)| json!({"snapshot": name, "revision": snapshot.revision()});
        let snapshots: Vec<Json> = state.snapshots.iter().map(snapshot).collect();
        json!({"servers": servers, "snapshots": snapshots})
    }

    /// Keeps a snapshot under a name of its own.
    fn keep(&self, snapshot: Snapshot) -> Json {
        let mut state = self.state.lock();
        state.taken += 1;
        let (id, revision) = (format!("snapshot-{}", state.taken), snapshot.revision());
        state.snapshots.insert(id.clone(), snapshot);
        json!({"snapshot": id, "revision": revision})
    }

    fn restore(&self, name: &str, id: &str) -> Result<Json, Problem> {
        let server = self.server(name)?;
        let state = self.state.lock();
        server.restore(state.snapshots.get(id).ok_or_else(|| no_such_snapshot(id))?);
        Ok(json!({"server": name, "revision": server.revision()}))
    }

    fn server(&self, name: &str) -> Result<TestServer, Problem> {
        let state = self.state.lock();
        let served = state.servers.get(name);
        served.map(|served| served.server.clone()).ok_or_else(|| no_such_server(name))
    }

    /// Opens a socket for a fork or a view.
    async fn serve(&self, word: &str, server: TestServer) -> Result<Json, Problem> {
        let socket = server.listen().await.map_err(|error| Problem::internal(error.to_string()))?;
        let mut state = self.state.lock();
        state.forks += 1;
        let name = format!("{word}-{}", state.forks);
        let served = Served { server, socket };
        let document = served.to_json(&name);
        state.servers.insert(name, served);
        Ok(document)
    }

    fn close(&self, name: &str) -> Result<Json, Problem> {
        if name == MAIN {
            return Err(Problem::bad(
                "the main server ends with the process; only forks and views can be closed",
            ));
        }
        match self.state.lock().servers.remove(name) {
            Some(_) => Ok(json!({"server": name})),
            None => Err(no_such_server(name)),
        }
    }
}

fn move_clock(server: &TestServer, fields: &mut Fields) -> Result<(), Problem> {
    let (advance, stop) = (fields.duration("advance")?, fields.flag("stop")?);
    fields.end()?;
    if advance.is_none() && !stop {
        return Err(Problem::missing("advance", "\"90m\""));
    }
    if stop {
        server.clock().stop();
    }
    if let Some(by) = advance {
        server.advance(by);
    }
    Ok(())
}

/// Reads a fault. One of a kind that is not served is an error: it would never happen.
fn read_fault(server: &TestServer, fields: &mut Fields) -> Result<Fault, Problem> {
    let fault = fault_document::read(fields)?;
    fields.end()?;
    if let Some(kind) = &fault.kind
        && find_resource(server.server().catalog(), kind).is_none()
    {
        return Err(Problem::bad(TestError::UnknownKind { kind: kind.clone() }.to_string()));
    }
    Ok(fault)
}

impl TestServer {
    /// Reads a fault from a document such as `{"effect": "conflict", "kind": "ConfigMap", "times": 2}`, as `POST /testing/faults` takes
    /// it; the error says what is wrong.
    pub fn fault_of(&self, document: &Json) -> Result<Fault, String> {
        let mut fields = Fields::of(document).map_err(|problem| problem.message)?;
        read_fault(self, &mut fields).map_err(|problem| problem.message)
    }
}

fn faults_document(server: &TestServer) -> Vec<Map<String, Json>> {
    let shown = |(id, hits, fault): (u64, u64, Fault)| {
        let mut shown = fault_document::write(&fault);
        shown.insert("fault".into(), json!(id));
        shown.insert("hits".into(), json!(hits));
        shown
    };
    server.inner.faults.list().into_iter().map(shown).collect()
}

/// Returns the writes since a revision as a document, as `GET /testing/writes` shows them.
pub fn writes_document(server: &TestServer, since: u64) -> Json {
    server.writes_since(since).iter().map(shown).collect()
}

/// Returns the fights since a revision as a document, as `GET /testing/fights` shows them.
pub fn fights_document(server: &TestServer, since: u64) -> Json {
    let shown = |fight: &Fight| {
        let rounds = fight.rounds.iter().map(
            |(revision, manager, value)| json!({"revision": revision, "manager": manager, "value": value}),
        );
        json!({"subject": fight.subject, "path": fight.path, "rounds": rounds.collect::<Vec<_>>()})
    };
    server.fights_since(since).iter().map(shown).collect()
}

fn shown(write: &Write) -> Json {
    let changes = write.changes.iter();
    let changes =
        changes.map(|change| json!({"path": change.path, "before": change.before, "after": change.after}));
    json!({
        "revision": write.revision, "verb": write.verb, "manager": write.manager, "user": write.user,
        "kind": write.kind, "namespace": write.namespace, "name": write.name,
        "before": write.before, "after": write.after, "changes": changes.collect::<Vec<_>>(),
    })
}

fn no_such_path() -> Problem {
    Problem::absent(
        "no such endpoint; there are GET /testing, POST /testing/{fork,at,snapshot,restore,clock,settle,faults}, GET /testing/{clock,faults,writes,fights}, DELETE /testing/faults, /testing/faults/NUMBER, /testing/servers/NAME and /testing/snapshots/NAME",
    )
}

fn no_such_snapshot(name: &str) -> Problem {
    Problem::absent(format!(
        "no snapshot {name:?}; POST /testing/snapshot takes one, GET /testing lists them"
    ))
}

fn no_such_server(name: &str) -> Problem {
    Problem::absent(format!("no server {name:?}; GET /testing lists them"))
}
