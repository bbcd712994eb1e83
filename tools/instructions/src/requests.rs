//! Whole requests through a server in this process, from the head and the body to the response: authentication, flow control, RBAC,
//! the pipeline of the write, history, a store in memory. Only the connection is missing.

use crate::path::{HotPath, Run};
use bytes::Bytes;
use hyper::{Method, Request, header::CONTENT_TYPE};
use std::{cell::Cell, error::Error, rc::Rc, sync::Arc};
use tempfile::TempDir;
use tenure_audit::{AuditOptions, Auditor, Level, LogOptions, Policy};
use tenure_http::{Administrator, RequestBody};
use tenure_meta::{Timestamp, UserInfo};
use tenure_server::{Clock, Identifiers, Server, ServerOptions};
use tenure_store::MemoryStore;
use tenure_transport::serving::ClientCertificate;
use tokio::runtime::Runtime;

/// When the clock stands still: the first second of 2026.
const NOW: i64 = 1_767_225_600;
/// How many Deployments are applied in turn.
const DEPLOYMENTS: usize = 20;
/// How often a write or a get runs.
const RUNS: usize = 20;
/// The objects of a page.
const PAGE: usize = 500;
/// How often a page is listed.
const LISTS: usize = 2;

const APPLY: &str = "application/apply-patch+yaml";
const JSON: &str = "application/json";
const DEPLOYMENTS_PATH: &str = "/apis/apps/v1/namespaces/default/deployments";
const CONFIG_MAPS_PATH: &str = "/api/v1/namespaces/default/configmaps";

/// A server, and a runtime with one thread.
struct Host {
    runtime: Runtime,
    server: Arc<Server>,
    auditor: Option<Arc<Auditor>>,
    /// Counts requests, so that each of them differs.
    sent: Cell<usize>,
    _folder: TempDir,
}

type Sent = Request<Bytes>;

/// What is applied to a Deployment.
#[derive(Clone, Copy)]
enum Deploy {
    /// Other values each time.
    Changing,
    /// The same values in another text each time.
    Resting,
    /// The same text.
    Repeated,
}

/// Returns the paths of requests.
pub fn paths() -> Result<Vec<HotPath>, Box<dyn Error>> {
    let plain = Rc::new(Host::start(false)?);
    let audited = Rc::new(Host::start(true)?);
    Ok(vec![
        path("request: apply that changes", RUNS, &plain, |host| host.apply(Deploy::Changing)),
        path("request: apply that changes nothing", RUNS, &plain, |host| host.apply(Deploy::Resting)),
        path("request: apply that changes nothing, repeated", RUNS, &plain, |host| {
            host.apply(Deploy::Repeated)
        }),
        path("request: create", RUNS, &plain, |host| host.create()),
        path("request: get", RUNS, &plain, |host| host.get()),
        path("request: a page of 500, again", LISTS, &plain, |host| host.list()),
        path("request: apply that changes, audited", RUNS, &audited, |host| host.apply(Deploy::Changing)),
        path("request: apply that changes nothing, repeated, audited", RUNS, &audited, |host| {
            host.apply(Deploy::Repeated)
        }),
        path("request: get, audited", RUNS, &audited, |host| host.get()),
    ])
}

/// Makes a path of requests.
fn path(
    name: &'static str,
    runs: usize,
    host: &Rc<Host>,
    request: fn(&Host) -> Result<Sent, Box<dyn Error>>,
) -> HotPath {
    let host = host.clone();
    HotPath::prepared(name, runs, move |runs| {
        let requests: Result<Vec<Sent>, Box<dyn Error>> = (0..runs).map(|_| request(&host)).collect();
        let (requests, host) = (requests?, host.clone());
        Ok(Box::new(move || host.send(requests)) as Run<'static>)
    })
}

impl Host {
    /// Starts a server with the objects that the paths read and write.
    fn start(is_audited: bool) -> Result<Host, Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let folder = tempfile::tempdir()?;
        let (server, auditor) = runtime.block_on(async {
            let mut options = ServerOptions::new(Administrator::Token("administrator".to_owned()));
            options.profile = tenure_profile::Profile::tenure();
            options.clock = Clock::new(|| Timestamp { seconds: NOW, nanos: 0 });
            options.identifiers = Identifiers::seeded(1);
            if is_audited {
                let policy = Policy::everything_at(Level::Metadata);
                let log = Some(LogOptions::new(folder.path().join("audit.log")));
                options.auditor = Some(Auditor::start(AuditOptions { policy, log, webhook: None }).await?);
            }
            let auditor = options.auditor.clone();
            let server = Server::with_options(Arc::new(MemoryStore::new()), options).await?;
            server.start_controllers();
            Ok::<_, Box<dyn Error>>((server, auditor))
        })?;
        let host = Host { runtime, server, auditor, sent: Cell::new(0), _folder: folder };
        host.permit()?;
        let page: Result<Vec<Sent>, Box<dyn Error>> = (0..if is_audited { 1 } else { PAGE })
            .map(|number| host.config_map(&format!("page-{number:03}")))
            .collect();
        host.send(page?)?;
        Ok(host)
    }

    /// Lets the user of the requests write everything, by a binding as in a namespace of a team.
    fn permit(&self) -> Result<(), Box<dyn Error>> {
        let binding = r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"team"},
            "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"edit"},
            "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"team"}]}"#;
        let uri = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
        let request = Request::post(uri)
            .header("authorization", "Bearer administrator")
            .header(CONTENT_TYPE, JSON)
            .body(Bytes::from(binding))?;
        self.send(vec![request])
    }

    /// Sends requests one after the other, and waits until the controllers and the audit log have done their part.
    fn send(&self, requests: Vec<Sent>) -> Result<(), Box<dyn Error>> {
        self.runtime.block_on(async {
            for request in requests {
                let response = self.server.clone().respond(request.map(RequestBody::from)).await;
                if !response.code.is_success() {
                    return Err(format!(
                        "a request was answered with {}: {:?}",
                        response.code, response.body
                    )
                    .into());
                }
            }
            self.server.controllers_idle().await;
            if let Some(auditor) = &self.auditor {
                auditor.close().await;
            }
            Ok(())
        })
    }

    /// Makes a request of a user in a group, as one with a client certificate is.
    fn request(
        &self,
        method: Method,
        uri: &str,
        media_type: &str,
        body: String,
    ) -> Result<Sent, Box<dyn Error>> {
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .header("host", "127.0.0.1:6443")
            .header("user-agent", "tenure-instructions")
            .header("accept", JSON);
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, media_type).header("content-length", body.len());
        }
        let mut request = request.body(Bytes::from(body))?;
        let groups = ["team", UserInfo::AUTHENTICATED].map(Into::into).to_vec();
        let user = UserInfo { groups, ..UserInfo::new("jane") };
        request.extensions_mut().insert(ClientCertificate::User { user: Arc::new(user), expires: None });
        Ok(request)
    }

    /// Returns the number of the next request.
    fn next(&self) -> usize {
        self.sent.replace(self.sent.get() + 1)
    }

    /// Applies one of the Deployments in turn.
    fn apply(&self, deploy: Deploy) -> Result<Sent, Box<dyn Error>> {
        let number = self.next();
        let kind = match deploy {
            Deploy::Changing => "changing",
            Deploy::Resting | Deploy::Repeated => "resting",
        };
        let name = format!("{kind}-{}", number % DEPLOYMENTS);
        let uri = format!("{DEPLOYMENTS_PATH}/{name}?fieldManager=m1&force=true");
        let body = match deploy {
            Deploy::Changing => deployment(&name, number),
            Deploy::Resting => deployment(&name, 0) + &blanks(number),
            Deploy::Repeated => deployment(&name, 0),
        };
        self.request(Method::PATCH, &uri, APPLY, body)
    }

    fn create(&self) -> Result<Sent, Box<dyn Error>> {
        self.config_map(&format!("created-{}", self.next()))
    }

    fn config_map(&self, name: &str) -> Result<Sent, Box<dyn Error>> {
        let text = "x".repeat(500);
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","labels":{{"app":"web"}}}},"data":{{"text":"{text}"}}}}"#
        );
        self.request(Method::POST, &format!("{CONFIG_MAPS_PATH}?fieldManager=m1"), JSON, body)
    }

    fn get(&self) -> Result<Sent, Box<dyn Error>> {
        self.request(Method::GET, &format!("{CONFIG_MAPS_PATH}/page-000"), JSON, String::new())
    }

    fn list(&self) -> Result<Sent, Box<dyn Error>> {
        self.request(Method::GET, &format!("{CONFIG_MAPS_PATH}?limit={PAGE}"), JSON, String::new())
    }
}

/// Returns a text of eight blanks that differs from that of other numbers.
fn blanks(number: usize) -> String {
    (0..8).map(|at| [' ', '\n', '\r', '\t'][(number >> (2 * at)) % 4]).collect()
}

/// Returns a Deployment of two containers, in which some fields follow a number.
fn deployment(name: &str, number: usize) -> String {
    let env: Vec<String> =
        (1..7).map(|at| format!(r#"{{"name":"VAR_{at}","value":"{}"}}"#, (number + at) % 97)).collect();
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"{name}","labels":{{"app":"{name}","tier":"web","rev":"r{}"}}}},
        "spec":{{"replicas":{},"selector":{{"matchLabels":{{"app":"{name}"}}}},"template":{{"metadata":{{"labels":{{"app":"{name}"}}}},"spec":{{
        "containers":[{{"name":"main","image":"registry.example/app:{}","ports":[{{"containerPort":8080,"name":"http"}},{{"containerPort":9090,"name":"metrics"}}],
        "env":[{}],"resources":{{"requests":{{"cpu":"100m","memory":"64Mi"}},"limits":{{"memory":"128Mi"}}}},"readinessProbe":{{"httpGet":{{"path":"/ready","port":8080}}}}}},
        {{"name":"sidecar","image":"registry.example/proxy:1.2","args":["--level","info"]}}],"volumes":[{{"name":"config","configMap":{{"name":"app"}}}}]}}}}}}}}"#,
        number % 1000,
        1 + number % 5,
        number % 1000,
        env.join(",")
    )
}
