//! The page, whose sign-in needs no credentials: large, slow and expensive bodies, guesses, and requests that another site sends.

use super::server::{Attack, HealthProbe, JSON, Target};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    process::Command,
    thread,
    time::{Duration, Instant},
};

const SESSION: &str = "/ui/api/session";

/// Returns a sign-in with a body.
fn sign_in(host: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {SESSION} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nTenure-Page: 1\r\nContent-Type: {JSON}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[test]
fn withheld_sign_ins_occupy_no_more_than_their_budget() {
    let target = Target::in_memory();
    let health = HealthProbe::start(target.address.clone());
    let before = target.resident();
    let piece = vec![b' '; 60_000];
    // The length is not announced, so that only what arrives tells how large a body is.
    let head = format!(
        "POST {SESSION} HTTP/1.1\r\nHost: localhost\r\nTenure-Page: 1\r\nContent-Type: {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let begin = Instant::now();
    let open: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = target.connect();
            stream.set_write_timeout(Some(Duration::from_secs(5))).expect("a timeout");
            let _ = stream.write_all(head.as_bytes());
            for _ in 0..16 {
                let _ = write!(stream, "{:x}\r\n", piece.len())
                    .and_then(|()| stream.write_all(&piece))
                    .and_then(|()| stream.write_all(b"\r\n"));
            }
            stream
        })
        .collect();
    let grown = target.resident().saturating_sub(before);
    assert!(grown < 160 << 20, "{} MiB for 100 sign-ins", grown >> 20);
    // None of them lasts: those that did not fit were refused at once, the others when nothing more came.
    for mut stream in open {
        let mut head = [0; 12];
        stream.read_exact(&mut head).expect("an answer");
        let code = String::from_utf8_lossy(&head[9..]).into_owned();
        assert!(["400", "413", "429"].contains(&code.as_str()), "{code}");
    }
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    assert_eq!(health.stop(), Vec::<String>::new());
}

#[test]
fn a_kubeconfig_of_a_stranger_is_small_and_parsed_elsewhere() {
    let target = Target::in_memory();
    let users: Vec<String> =
        (0..6_000).map(|at| format!("- name: user-{at}\n  user: {{token: \"{at:032}\"}}\n")).collect();
    let config = |count: usize| {
        let config = format!("current-context: none\nusers:\n{}", users[..count].concat());
        json!({"kubeconfig": config}).to_string()
    };
    let too_large = json!({"kubeconfig": "x".repeat(1_200_000)}).to_string();
    let (code, text) = target.send(&sign_in("localhost", &too_large)).expect("an answer");
    assert_eq!(code, 413, "{text}");
    let health = HealthProbe::start(target.address.clone());
    let request = sign_in("localhost", &config(6_000));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..3 {
                    let (code, text) = target.send(&request).expect("an answer");
                    assert!([400, 429].contains(&code), "{text}");
                }
            });
        }
    });
    assert_eq!(health.stop(), Vec::<String>::new());
}

#[test]
fn the_page_is_not_served_to_other_hosts_and_sites() {
    let target = Target::in_memory();
    let paths = ["/ui/", "/ui/api/kinds", "/ui/api/session", "/ui/assets/app.js", "/"];
    for (header, value) in
        [("Host", "evil.example"), ("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site")]
    {
        for path in paths {
            let host = if header == "Host" { String::new() } else { "Host: localhost\r\n".into() };
            let request = format!(
                "GET {path} HTTP/1.1\r\n{host}{header}: {value}\r\nAccept: text/html\r\nTenure-Page: 1\r\nConnection: close\r\n\r\n"
            );
            let (code, text) = target.send(request.as_bytes()).expect("an answer");
            assert_eq!(code, 403, "{path}, {header}: {text}");
        }
    }
    let (code, text) = target.send(&sign_in("evil.example", r#"{"token":"any"}"#)).expect("an answer");
    assert_eq!(code, 403, "{text}");
    let (code, _) = target.send(&sign_in("localhost", r#"{"token":"any"}"#)).expect("an answer");
    assert_eq!(code, 200, "the page itself signs in");
}

#[test]
fn the_sign_in_link_is_private_and_works_once() {
    let target = Target::in_memory();
    assert!(!target.started.printed.contains("code="), "{}", target.started.printed);
    let file = target.directory().join("sign-in-link");
    assert_eq!(fs::metadata(&file).expect("the file").permissions().mode() & 0o777, 0o600);
    let link = fs::read_to_string(&file).expect("the link");
    let code = link.trim().split("#code=").nth(1).expect("a code").to_owned();
    let body = json!({"code": code}).to_string();
    assert_eq!(target.send(&sign_in("localhost", &body)).expect("an answer").0, 200);
    assert_eq!(target.send(&sign_in("localhost", &body)).expect("an answer").0, 401);
}

/// Returns the events of an audit log about a path, once there is one.
fn events(log: &std::path::Path, path: &str) -> Vec<Value> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let text = fs::read_to_string(log).unwrap_or_default();
        let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let found: Vec<Value> = events.filter(|event| event["requestURI"] == path).collect();
        if !found.is_empty() || Instant::now() > deadline {
            return found;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn guesses_at_the_page_are_audited_with_their_address() {
    let directory = tempfile::TempDir::new().expect("a directory");
    let log = directory.path().join("audit.log");
    let target = Target::with(&["--in-memory", "--audit-log-path", log.to_str().expect("a path")]);
    // Another address of this machine.
    let guess = Command::new("curl")
        .args(["-s", "-o", "/dev/null", "-w", "%{http_code}", "--interface", "127.0.0.2", "--data"])
        .arg(r#"{"code":"guess"}"#)
        .args(["-H", "Tenure-Page: 1", "-H", "Content-Type: application/json"])
        .arg(format!("http://{}{SESSION}", target.address))
        .output()
        .expect("curl runs");
    assert_eq!(String::from_utf8_lossy(&guess.stdout), "401");
    let events = events(&log, SESSION);
    let [event] = &*events else { panic!("{events:?}") };
    assert_eq!(event["responseStatus"]["code"], 401, "{event}");
    assert_eq!(event["sourceIPs"], json!(["127.0.0.2"]), "{event}");
    assert_eq!(event["user"]["username"], "system:anonymous", "{event}");
    // The bodies of the page are in no event.
    assert!(!fs::read_to_string(&log).expect("the log").contains("guess"));
}

/// Returns hostile requests to the page and to history, for the table of all.
pub fn attacks() -> Vec<Attack> {
    let map = "/api/v1/namespaces/default/configmaps/victim/history";
    let mut attacks = Vec::new();
    for (name, body) in [
        ("deep", "[".repeat(200_000)),
        ("keys", format!("{{{}}}", super::bodies::list(30_000, |at| format!("\"k{at}\":1")))),
        (
            "kubeconfig of aliases",
            json!({"kubeconfig": format!("a: &a [{}]\nb: [{}]", "x,".repeat(20_000), "*a,".repeat(20_000))})
                .to_string(),
        ),
        ("kubeconfig of questions", json!({"kubeconfig": "? ".repeat(50_000)}).to_string()),
        ("token", json!({"token": "x".repeat(60_000)}).to_string()),
        ("code", json!({"code": "x".repeat(60_000)}).to_string()),
    ] {
        attacks.push(Attack::new(format!("page: {name}"), ("POST", SESSION), JSON, body));
    }
    for query in [
        "limit=-1",
        "limit=99999999999999999999",
        "limit=1000&field=.data",
        "continue=x",
        "at=18446744073709551615",
        "at=0001-01-01T00:00:00Z",
        "field=%5B%3D1e999999%5D",
        "field=.data.%ff",
    ] {
        attacks.push(Attack::new(format!("history: {query}"), ("GET", &format!("{map}?{query}")), JSON, ""));
    }
    attacks
}
