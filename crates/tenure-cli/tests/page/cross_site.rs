//! Pages of other sites in a real browser, against a server without authentication: they send all that a page can send, and
//! nothing of it is written or read.

use crate::{driver::Browser, process::Started};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};
use tempfile::TempDir;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// All that a page can send to another site. Each creates an object of another name, or changes or deletes one.
const ATTACKS: &str = r#"
const url = TARGET + "/api/v1/namespaces/default/configmaps";
const body = (name) => JSON.stringify({apiVersion: "v1", kind: "ConfigMap", metadata: {name}});
const quietly = (promise) => promise.then((response) => response.text()).catch(() => "refused");
const submit = (name, enctype) => new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.name = name;
  document.body.append(frame);
  const form = document.createElement("form");
  Object.assign(form, {method: "POST", action: url, enctype, target: name});
  const field = document.createElement("input");
  // With text/plain the body is name=value, which is JSON if it is put together so.
  const [before, after] = body(name).slice(0, -1).concat(',"data":{"a":"=b"}}').split("=");
  Object.assign(field, {name: before, value: after});
  form.append(field);
  document.body.append(form);
  frame.addEventListener("load", () => frame.contentWindow && setTimeout(done, 0));
  form.submit();
});
const send = (options) => quietly(fetch(url, {method: "POST", mode: "no-cors", ...options}));
const json = {"Content-Type": "application/json"};
const binary = (name) => new TextEncoder().encode(body(name));
window.attack = Promise.all([
  submit("form-text", "text/plain"),
  submit("form-urlencoded", "application/x-www-form-urlencoded"),
  submit("form-multipart", "multipart/form-data"),
  send({body: body("fetch-text")}),
  send({body: new Blob([body("fetch-blob")])}),
  send({body: binary("fetch-bytes")}),
  send({body: new URLSearchParams({[body("fetch-parameters")]: ""})}),
  send({body: binary("fetch-keepalive"), keepalive: true}),
  send({body: body("fetch-credentials"), credentials: "include"}),
  send({body: body("fetch-referrer"), referrerPolicy: "no-referrer"}),
  send({mode: "cors", headers: json, body: body("fetch-json")}),
  quietly(fetch(url + "/victim", {method: "DELETE"})),
  quietly(fetch(url + "/victim", {method: "PUT", headers: json, body: body("victim")})),
  quietly(fetch(url + "/victim", {method: "PATCH", headers: {"Content-Type": "application/merge-patch+json"}, body: '{"data":{"a":"changed"}}'})),
  quietly(fetch(url + "/victim")),
  quietly(fetch(url + "/victim", {mode: "no-cors"})),
]).then((responses) => { window.responses = responses; });
"#;

/// A server of the attacker: it serves an empty page for everything and records what it is sent.
struct Recorder {
    port: u16,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    fn start() -> Recorder {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let recorded = bodies.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let recorded = recorded.clone();
                thread::spawn(move || respond(stream, &recorded));
            }
        });
        Recorder { port, bodies }
    }
}

fn respond(stream: TcpStream, recorded: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    recorded.lock().ok()?.push(String::from_utf8_lossy(&body).into_owned());
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\nConnection: close\r\n\r\n<!doctype html>";
    (&stream).write_all(page.as_bytes()).ok()
}

/// A server without authentication.
struct Target {
    _started: Started,
    address: String,
    _data: TempDir,
}

impl Target {
    fn start() -> Target {
        let data = TempDir::new().expect("a directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command
            .args(["serve", "--insecure-http", "--in-memory", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(data.path())
            .env_remove("TENURE_LOG")
            .stderr(Stdio::null());
        let started = Started::printing(&mut command, |line| line.starts_with("Tenure listens on "));
        let address = started.address().trim_start_matches("http://").to_owned();
        Target { _started: started, address, _data: data }
    }

    fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap_or_default()
    }

    /// Sends a request as a command on the same machine does.
    fn send(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("the server listens");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all((head + body).as_bytes()).expect("the server reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        response
    }

    /// Checks that there is the one object that was there before, unchanged.
    fn check_unchanged(&self, after: &str) {
        let list = self.send("GET", MAPS, "");
        assert_eq!(list.matches(r#""uid":"#).count(), 1, "{after}: {list}");
        assert!(list.contains(r#""data":{"a":"original"}"#), "{after}: {list}");
    }
}

/// Runs the attacks from the page that is open, and returns what it could read.
fn attack(browser: &Browser, target: &str) -> String {
    browser.script(&ATTACKS.replace("TARGET", &format!("{target:?}")));
    browser.wait("window.responses");
    browser.script("return JSON.stringify(window.responses)").as_str().unwrap_or_default().to_owned()
}

#[test]
fn pages_of_other_sites_write_and_read_nothing() {
    let (target, recorder, other) = (Target::start(), Recorder::start(), Recorder::start());
    let created = target.send(
        "POST",
        MAPS,
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"victim"},"data":{"a":"original"}}"#,
    );
    assert!(created.starts_with("HTTP/1.1 201"), "{created}");
    // Names of the attacker lead to this machine.
    let browser = Browser::with_arguments(&["--host-resolver-rules=MAP *.example.com 127.0.0.1"]);
    for page in [
        format!("http://127.0.0.1:{}/", recorder.port),
        format!("http://localhost:{}/", recorder.port),
        format!("http://attacker.example.com:{}/", recorder.port),
    ] {
        browser.open(&page);
        // The browser sends what the attacks ask for: a server that takes anything gets it.
        attack(&browser, &format!("http://127.0.0.1:{}", other.port));
        let taken = std::mem::take(&mut *other.bodies.lock().expect("the bodies")).join("\n");
        for name in
            ["form-text", "form-urlencoded", "form-multipart", "fetch-text", "fetch-blob", "fetch-bytes"]
        {
            assert!(taken.contains(name), "{page}: {name} was not sent: {taken}");
        }
        for host in ["127.0.0.1", "localhost"] {
            browser.open(&page);
            let responses = attack(&browser, &format!("http://{host}:{}", target.port()));
            assert!(!responses.contains("original"), "{page} read from {host}: {responses}");
            target.check_unchanged(&format!("{page} to {host}"));
        }
    }
    // With DNS rebinding the page has the origin of the server, and the browser lets it read and write.
    let rebound = format!("http://rebind.example.com:{}", target.port());
    browser.open(&format!("{rebound}{MAPS}/victim"));
    assert!(!browser.script("return document.documentElement.innerText").to_string().contains("original"));
    let responses = attack(&browser, &rebound);
    assert!(!responses.contains("original"), "{responses}");
    target.check_unchanged("DNS rebinding");
    // Nor does the page, which would sign in anyone, exist under that name.
    browser.open(&format!("{rebound}/ui/"));
    assert!(!browser.script("return document.documentElement.innerHTML").to_string().contains("sign-in"));
    browser.script(
        r#"window.answers = undefined;
        const headers = {"Tenure-Page": "1", "Content-Type": "application/json"};
        const session = (options) => fetch("/ui/api/session", {headers, ...options}).then((answer) => answer.status);
        Promise.all([session({}), session({method: "POST", body: '{"token":"any"}'}), fetch("/ui/api/kinds", {headers}).then((answer) => answer.status)])
          .then((answers) => { window.answers = answers.join(); });"#,
    );
    browser.wait("window.answers");
    assert_eq!(browser.script("return window.answers"), "403,403,403");
    // A page of the server itself may do what it wants, which shows that the attacks are not broken.
    browser.open(&format!("http://{}/version", target.address));
    let responses = attack(&browser, &format!("http://{}", target.address));
    assert!(target.send("GET", MAPS, "").contains("fetch-json"), "{responses}");
}
