//! A server with a client that uses only protobuf.

#[path = "../../tenure-codec/tests/protobuf/fuzzed/mod.rs"]
#[allow(dead_code)]
mod fuzzed;

use fuzzed::{document, wrap};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};
use tenure_http::{Administrator, listener};
use tenure_profile::Profile;
use tenure_server::{Server, ServerOptions};
use tenure_store::MemoryStore;
use tenure_value::{Limits, Value};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Starts a server that ends with the runtime.
fn start() -> (tokio::runtime::Runtime, SocketAddr) {
    start_with(ServerOptions::new(Administrator::Anyone))
}

fn start_with(options: ServerOptions) -> (tokio::runtime::Runtime, SocketAddr) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let address = runtime.block_on(async {
        let listener = listener::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let api = Server::with_options(Arc::new(MemoryStore::new()), options).await.unwrap();
        tokio::spawn(listener::serve(listener, None, api, std::future::pending()));
        address
    });
    (runtime, address)
}

struct Response {
    code: u16,
    content_type: String,
    body: Vec<u8>,
}

impl Response {
    fn object(&self) -> Value {
        assert_eq!(self.content_type, PROTOBUF, "{:?}", String::from_utf8_lossy(&self.body));
        tenure_codec::protobuf::decode(&self.body, &Limits::default()).unwrap()
    }
}

fn open(
    address: SocketAddr,
    method: &str,
    path: &str,
    accept: &str,
    content_type: &str,
    body: &[u8],
) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: {accept}\r\n\
         Content-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    stream
}

fn request(address: SocketAddr, method: &str, path: &str, accept: &str, body: &[u8]) -> Response {
    let mut stream = open(address, method, path, accept, PROTOBUF, body);
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let header = |name: &str| {
        head.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_string()
    };
    Response {
        code: head.split(' ').nth(1).unwrap().parse().unwrap(),
        content_type: header("content-type:"),
        body: bytes[end + 4..].to_vec(),
    }
}

fn send(address: SocketAddr, method: &str, path: &str, object: &str) -> Response {
    let body = if object.is_empty() {
        Default::default()
    } else {
        tenure_codec::protobuf::encode(&object.parse().unwrap()).unwrap()
    };
    request(address, method, path, PROTOBUF, &body)
}

#[test]
fn objects_are_created_read_listed_changed_and_deleted_in_protobuf() {
    let (_runtime, address) = start();
    let pod = r#"{"name":"c","image":"nginx:1.25"}"#;
    for (path, object) in [
        (
            CONFIG_MAPS,
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#.to_string(),
        ),
        (
            "/api/v1/namespaces/default/pods",
            format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a"}},"spec":{{"containers":[{pod}]}}}}"#
            ),
        ),
        (
            "/apis/apps/v1/namespaces/default/deployments",
            format!(
                r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"a"}},"spec":{{"replicas":0,
                "selector":{{"matchLabels":{{"app":"x"}}}},"template":{{"metadata":{{"labels":{{"app":"x"}}}},
                "spec":{{"containers":[{pod}]}}}}}}}}"#
            ),
        ),
    ] {
        let created = send(address, "POST", path, &object);
        assert_eq!(created.code, 201, "{path} {:?}", String::from_utf8_lossy(&created.body));
        let one = format!("{path}/a");
        let read = send(address, "GET", &one, "").object();
        assert_eq!(read, created.object());
        // The object equals the one that the same JSON creates.
        let json = request(address, "GET", &one, "application/json", &[]);
        assert_eq!(String::from_utf8_lossy(&json.body).parse::<Value>().unwrap(), read);
        assert_eq!(read.at(["spec", "replicas"]).is_some(), path.ends_with("deployments"));

        let listed = send(address, "GET", path, "").object();
        let first = listed.get("items").and_then(Value::as_array).and_then(|items| items.first().cloned());
        assert_eq!(first.unwrap().at(["metadata", "uid"]), read.at(["metadata", "uid"]));
        let metadata = format!("{PROTOBUF};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io");
        let partial = request(address, "GET", path, &metadata, &[]).object();
        assert_eq!(partial.get("kind"), Some(&Value::from("PartialObjectMetadataList")));

        let labels = Value::object([("tier", Value::from("y"))]);
        let changed =
            read.as_object().unwrap().get("metadata").unwrap().as_object().unwrap().with("labels", labels);
        let changed = Value::Object(read.as_object().unwrap().with("metadata", changed));
        let put = send(address, "PUT", &one, &changed.to_string());
        assert_eq!(put.code, 200, "{:?}", String::from_utf8_lossy(&put.body));
        assert_eq!(put.object().at(["metadata", "labels", "tier"]), Some(&Value::from("y")));

        let options = r#"{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0,"preconditions":{"uid":"other"}}"#;
        let refused = send(address, "DELETE", &one, options);
        assert_eq!((refused.code, refused.object().get("reason")), (409, Some(&Value::from("Conflict"))));
        let options = r#"{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0,"propagationPolicy":"Background"}"#;
        assert_eq!(send(address, "DELETE", &one, options).code, 200);
        let gone = send(address, "GET", &one, "");
        assert_eq!((gone.code, gone.object().get("kind")), (404, Some(&Value::from("Status"))));
    }
}

#[test]
fn a_watch_in_protobuf_is_a_stream_of_frames() {
    let (_runtime, address) = start();
    let accept = format!("{PROTOBUF};stream=watch");
    // Wait for the head of the response: writes before the watch began are not events of it.
    let (head, mut frames) =
        Frames::of(open(address, "GET", &format!("{CONFIG_MAPS}?watch=true"), &accept, "", &[]));
    assert!(head.contains(&format!("content-type: {accept}")), "{head}");
    let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"w"},"data":{"k":"v"}}"#;
    assert_eq!(send(address, "POST", CONFIG_MAPS, object).code, 201);
    assert_eq!(send(address, "DELETE", &format!("{CONFIG_MAPS}/w"), "").code, 200);
    for word in ["ADDED", "DELETED"] {
        let event = document("v1", "WatchEvent", &frames.next());
        let event = tenure_codec::protobuf::decode(&event, &Limits::default()).unwrap();
        let text = |path: &[&str]| event.at(path.iter().copied()).and_then(Value::as_str);
        let seen = (text(&["type"]), text(&["object", "kind"]), text(&["object", "data", "k"]));
        assert_eq!(seen, (Some(word), Some("ConfigMap"), Some("v")));
    }
}

/// The frames of a watch, extracted from the chunks of the body.
struct Frames {
    stream: BufReader<TcpStream>,
    content: Vec<u8>,
}

impl Frames {
    /// Waits for the head of the response and returns it in lower case, with the frames that follow.
    fn of(stream: TcpStream) -> (String, Self) {
        let mut frames = Self { stream: BufReader::new(stream), content: Vec::new() };
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(frames.stream.read_line(&mut head).unwrap(), 0, "{head}");
        }
        (head.to_ascii_lowercase(), frames)
    }

    /// Waits for the next frame and returns its content.
    fn next(&mut self) -> Vec<u8> {
        loop {
            if let Some((length, rest)) = self.content.split_first_chunk::<4>()
                && let Some((frame, after)) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)
            {
                let frame = frame.to_vec();
                self.content = after.to_vec();
                return frame;
            }
            let mut length = String::new();
            self.stream.read_line(&mut length).unwrap();
            let length = usize::from_str_radix(length.trim_end(), 16).unwrap();
            let mut chunk = vec![0; length + 2];
            self.stream.read_exact(&mut chunk).unwrap();
            self.content.extend_from_slice(&chunk[..length]);
        }
    }
}

#[test]
fn protobuf_errors_are_returned_in_protobuf() {
    let (_runtime, address) = start();
    for (bytes, about) in [
        (b"{}".to_vec(), "expected prefix [107 56 115 0]"),
        (document("v1", "Pod", &[]), "Pod"),
        (document("v1", "ConfigMap", &wrap(1, &[0x0a, 0x7f])), "metadata: the value is truncated"),
    ] {
        let refused = request(address, "POST", CONFIG_MAPS, PROTOBUF, &bytes);
        let message = refused.object().get("message").and_then(Value::as_str).unwrap().to_string();
        assert!(refused.code == 400 && message.contains(about), "{} {message}", refused.code);
    }
    let mut options = ServerOptions::new(Administrator::Anyone);
    options.profile = Profile::tenure();
    let (_runtime_of_improved, improved) = start_with(options);
    let refused = request(improved, "POST", CONFIG_MAPS, PROTOBUF, b"{}").object();
    let message = refused.get("message").and_then(Value::as_str).unwrap();
    assert!(message.contains("does not start with"), "{message}");
    // A table has no protobuf encoding: the next accepted format is used, or else the request is refused.
    let table = format!("{PROTOBUF};as=Table;v=v1;g=meta.k8s.io");
    assert_eq!(request(address, "GET", CONFIG_MAPS, &table, &[]).code, 406);
    let json = format!("{table},application/json;as=Table;v=v1;g=meta.k8s.io");
    assert_eq!(request(address, "GET", CONFIG_MAPS, &json, &[]).content_type, "application/json");
    assert_eq!(send(address, "GET", "/api", "").object().get("kind"), Some(&Value::from("APIVersions")));
    assert_eq!(
        send(address, "GET", "/apis/apps/v1", "").object().get("kind"),
        Some(&Value::from("APIResourceList"))
    );
}
