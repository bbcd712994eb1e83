//! The cost of an apply of a custom resource compared with one of a Deployment: the same content, under the same types, through
//! the same server. The definition is made from the published types of a Deployment, so it is as large as those of real
//! projects. Processor time is measured: `cargo bench -p tenure-server --bench custom`.

use std::{
    ffi::OsString,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
};
use tenure_http::{
    Administrator,
    listener::{bind, serve},
};
use tenure_profile::KubernetesVersion;
use tenure_server::Server;
use tenure_store::MemoryStore;
use tenure_value::{Object, Value};

/// The allocator of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number of rounds, and of requests of a case in each round.
const ROUNDS: usize = 30;
const REQUESTS: usize = 200;

/// Returns a published schema as a structural one: references written out, marks that definitions do not have left out.
fn structural(given: &Value, components: &Value) -> Value {
    const KEPT: [&str; 5] =
        ["default", "format", "required", "x-kubernetes-list-map-keys", "x-kubernetes-list-type"];
    let name = |object: &Value| {
        object.get("$ref").and_then(Value::as_str).and_then(|name| name.rsplit('/').next()).map(String::from)
    };
    let wrapped =
        given.get("allOf").and_then(Value::as_array).and_then(|all| all.iter().next()).and_then(name);
    if let Some(name) = name(given).or(wrapped) {
        return structural(components.get(&name).unwrap_or(&Value::Null), components);
    }
    let mut fields = Object::default();
    if given.get("oneOf").is_some() || given.get("anyOf").is_some() {
        return fields.with("x-kubernetes-int-or-string", true).into();
    }
    for name in KEPT.into_iter().chain(["type", "x-kubernetes-map-type"]) {
        if let Some(value) = given.get(name) {
            fields = fields.with(name, value.clone());
        }
    }
    if let Some(properties) = given.get("properties").and_then(Value::as_object) {
        let properties =
            properties.iter().map(|(name, schema)| (name.clone(), structural(schema, components)));
        fields = fields.with("properties", Value::object(properties));
    }
    for name in ["items", "additionalProperties"] {
        if let Some(below @ Value::Object(_)) = given.get(name) {
            fields = fields.with(name, structural(below, components));
        }
    }
    if fields.get("type").is_none() {
        fields = fields.with("x-kubernetes-preserve-unknown-fields", true);
    }
    fields.into()
}

fn definition() -> String {
    let published = tenure_catalog::openapi::version_3(
        tenure_builtin::registry(),
        KubernetesVersion::DEFAULT,
        "apps",
        "v1",
        &[],
    );
    let components = published.at(["components", "schemas"]).cloned().unwrap_or_default();
    let spec = components.get("io.k8s.api.apps.v1.DeploymentSpec").cloned().unwrap_or_default();
    let text = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"rollouts.example.com"},
        "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"rollouts","singular":"rollout","kind":"Rollout","listKind":"RolloutList"},
        "versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":SPEC,"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}}"#;
    text.replace("SPEC", &structural(&spec, &components).to_string())
}

/// A configuration in which a few fields depend on a number.
fn configuration(api_version: &str, kind: &str, number: usize) -> String {
    let env: Vec<String> =
        (1..7).map(|at| format!(r#"{{"name":"VAR_{at}","value":"{}"}}"#, (number + at) % 97)).collect();
    format!(
        r#"{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{"name":"web","labels":{{"app":"web","tier":"web","rev":"r{}"}}}},
        "spec":{{"replicas":{},"selector":{{"matchLabels":{{"app":"web"}}}},"template":{{"metadata":{{"labels":{{"app":"web"}}}},"spec":{{
        "containers":[{{"name":"main","image":"registry.example/app:{}","ports":[{{"containerPort":8080,"name":"http"}},{{"containerPort":9090,"name":"metrics"}}],
        "env":[{}],"resources":{{"requests":{{"cpu":"100m","memory":"64Mi"}},"limits":{{"memory":"128Mi"}}}},"readinessProbe":{{"httpGet":{{"path":"/ready","port":8080}}}}}},
        {{"name":"sidecar","image":"registry.example/proxy:1.2","args":["--level","info"]}}],"volumes":[{{"name":"config","configMap":{{"name":"app"}}}}]}}}}}}}}"#,
        number % 1000,
        1 + number % 5,
        number % 1000,
        env.join(",")
    )
}

/// A persistent connection.
struct Client(BufReader<TcpStream>);

impl Client {
    fn new(to: SocketAddr) -> Client {
        let stream = TcpStream::connect(to).unwrap();
        stream.set_nodelay(true).unwrap();
        Client(BufReader::new(stream))
    }

    fn send(&mut self, method: &str, path: &str, media_type: &str, body: &str) {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.0.get_mut().write_all(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
        let (mut first, mut length) = (String::new(), 0);
        self.0.read_line(&mut first).unwrap();
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).unwrap();
            let lower = line.to_ascii_lowercase();
            if let Some(number) = lower.strip_prefix("content-length:") {
                length = number.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut response = vec![0; length];
        self.0.read_exact(&mut response).unwrap();
        assert!(first.contains(" 20"), "{first}{}", String::from_utf8_lossy(&response));
    }
}

/// Returns the processor time of all threads but this one, which are the server's, in microseconds.
fn busy() -> f64 {
    let own = fs::read_link("/proc/thread-self").ok().and_then(|path| path.file_name().map(OsString::from));
    let threads = fs::read_dir("/proc/self/task").unwrap().map(|entry| entry.unwrap());
    let times = threads.filter(|thread| Some(thread.file_name()) != own).map(|thread| {
        let schedstat = fs::read_to_string(thread.path().join("schedstat")).unwrap();
        schedstat.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok()).unwrap()
    });
    times.sum::<f64>() / 1e3
}

/// A way to apply, and its least cost so far.
struct Case {
    what: &'static str,
    api_version: &'static str,
    kind: &'static str,
    path: &'static str,
    changes: bool,
    least: f64,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(bind(([127, 0, 0, 1], 0).into())).unwrap();
    let address = listener.local_addr().unwrap();
    let api = runtime.block_on(Server::open(Arc::new(MemoryStore::new()), Administrator::Anyone)).unwrap();
    runtime.spawn(serve(listener, None, api, std::future::pending()));
    let mut client = Client::new(address);
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    client.send("POST", definitions, "application/json", &definition());
    let deployment = ("apps/v1", "Deployment", "/apis/apps/v1/namespaces/default/deployments/web");
    let custom = ("example.com/v1", "Rollout", "/apis/example.com/v1/namespaces/default/rollouts/web");
    let case = |what, (api_version, kind, path), changes| Case {
        what,
        api_version,
        kind,
        path,
        changes,
        least: f64::INFINITY,
    };
    let mut cases = [
        case("a Deployment, changed", deployment, true),
        case("a custom resource, changed", custom, true),
        case("a Deployment, the same", deployment, false),
        case("a custom resource, the same", custom, false),
    ];
    // In turns, so that other load on the machine affects all cases equally.
    let mut number = 0;
    for _ in 0..ROUNDS {
        for case in &mut cases {
            let path = format!("{}?fieldManager=bench&force=true", case.path);
            if !case.changes {
                let body = configuration(case.api_version, case.kind, 0);
                client.send("PATCH", &path, "application/apply-patch+yaml", &body);
            }
            let before = busy();
            for _ in 0..REQUESTS {
                number += usize::from(case.changes);
                let body = configuration(case.api_version, case.kind, if case.changes { number } else { 0 });
                client.send("PATCH", &path, "application/apply-patch+yaml", &body);
            }
            let cost = (busy() - before) / REQUESTS as f64;
            case.least = case.least.min(cost);
        }
    }
    for case in &cases {
        println!("apply of {}: {:.1} µs of the server's processor", case.what, case.least);
    }
}
