//! The scripts of the GitHub Action and the GitLab template, against a stand-in of the two HTTP APIs on this machine.

use crate::{harness::TestCluster, process::run};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
    thread,
};
use tempfile::TempDir;
use tenure_value::{Value, json};

/// The comments of a pull or merge request, as both APIs keep them.
#[derive(Default)]
struct Comments {
    next: u64,
    all: BTreeMap<u64, String>,
    /// Comments that the token may not change.
    foreign: Vec<u64>,
    archive: Vec<u8>,
    tokens: Vec<String>,
}

struct StandIn {
    address: String,
    comments: Arc<Mutex<Comments>>,
}

impl StandIn {
    fn start() -> StandIn {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let comments = Arc::new(Mutex::new(Comments { next: 1, ..Comments::default() }));
        let shared = comments.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(stream, &shared);
            }
        });
        StandIn { address, comments }
    }

    fn bodies(&self) -> Vec<String> {
        self.comments.lock().expect("comments").all.values().cloned().collect()
    }

    fn add(&self, body: &str) -> u64 {
        let mut comments = self.comments.lock().expect("comments");
        let id = comments.next;
        comments.next += 1;
        comments.all.insert(id, body.to_owned());
        id
    }
}

/// Answers one request and closes the connection.
fn serve(mut stream: TcpStream, comments: &Mutex<Comments>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    let (mut first, mut length, mut token) = (String::new(), 0, String::new());
    if reader.read_line(&mut first).unwrap_or(0) == 0 {
        return;
    }
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        let (name, value) = match line.trim().split_once(": ") {
            Some(header) => header,
            None => break,
        };
        match name.to_lowercase().as_str() {
            "content-length" => length = value.parse().expect("a length"),
            "authorization" | "private-token" => token = value.to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut comments = comments.lock().expect("comments");
    comments.tokens.push(token);
    let text = |body: &[u8]| {
        let value: Value = String::from_utf8_lossy(body).parse().expect("JSON");
        value.get("body").and_then(Value::as_str).expect("a body").to_owned()
    };
    let shown =
        |id: u64, body: &str| Value::object([("id", Value::from(id as i64)), ("body", Value::from(body))]);
    let id = || path.rsplit('/').next().and_then(|id| id.parse::<u64>().ok());
    let is_list = path == "/repos/shop/web/issues/7/comments" || path == "/projects/5/merge_requests/7/notes";
    let (code, answer): (u16, Vec<u8>) = match method {
        "GET" if path == "/archive" => (200, comments.archive.clone()),
        "GET" if is_list => {
            let page: usize = query.split("page=").last().and_then(|page| page.parse().ok()).expect("a page");
            let items =
                comments.all.iter().skip((page - 1) * 100).take(100).map(|(id, body)| shown(*id, body));
            (200, json::to_vec(&Value::array(items)))
        }
        "POST" if is_list => {
            let id = comments.next;
            comments.next += 1;
            comments.all.insert(id, text(&body));
            (201, json::to_vec(&shown(id, "")))
        }
        "PATCH" if path.starts_with("/repos/shop/web/issues/comments/") => {
            change(&mut comments, id(), text(&body))
        }
        "PUT" if path.starts_with("/projects/5/merge_requests/7/notes/") => {
            change(&mut comments, id(), text(&body))
        }
        _ => (404, b"{}".to_vec()),
    };
    let head = format!("HTTP/1.1 {code} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", answer.len());
    // A client that went away does not matter.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&answer));
}

fn change(comments: &mut Comments, id: Option<u64>, body: String) -> (u16, Vec<u8>) {
    match id.filter(|id| comments.all.contains_key(id)) {
        Some(id) if comments.foreign.contains(&id) => (403, b"{}".to_vec()),
        Some(id) => {
            comments.all.insert(id, body);
            (200, b"{}".to_vec())
        }
        None => (404, b"{}".to_vec()),
    }
}

fn script(name: &str) -> Command {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../extensions/ci").join(name);
    let mut command = Command::new("sh");
    command.arg(path);
    for name in ["CI_API_V4_URL", "GITHUB_EVENT_PATH", "GITHUB_API_URL", "GITHUB_TOKEN", "TENURE_MANAGER"] {
        command.env_remove(name);
    }
    command
}

/// Returns the script that comments, for one of the two.
fn comment(stand_in: &StandIn, host: &str, directory: &Path, text: &str, key: &str) -> Command {
    let file = directory.join("plan.md");
    fs::write(&file, text).expect("a file");
    let mut command = script("comment.sh");
    command.arg(&file).arg(key);
    match host {
        "gitlab" => command.env("CI_API_V4_URL", &stand_in.address).envs([
            ("CI_PROJECT_ID", "5"),
            ("CI_MERGE_REQUEST_IID", "7"),
            ("TENURE_GITLAB_TOKEN", "secret"),
        ]),
        _ => {
            let event = directory.join("event.json");
            fs::write(&event, r#"{"pull_request":{"number":7}}"#).expect("a file");
            command.env("GITHUB_API_URL", &stand_in.address).env("GITHUB_EVENT_PATH", event);
            command.envs([("GITHUB_REPOSITORY", "shop/web"), ("GITHUB_TOKEN", "secret")])
        }
    };
    command
}

#[test]
fn a_comment_is_written_once_and_updated_then() {
    for (host, token) in [("github", "Bearer secret"), ("gitlab", "secret")] {
        let (stand_in, directory) = (StandIn::start(), TempDir::new().expect("a directory"));
        for number in 0..130 {
            stand_in.add(&format!("talk {number}"));
        }
        let send = |text: &str, key: &str| {
            run(&mut comment(&stand_in, host, directory.path(), text, key), "").exits_with(0)
        };
        send("<!-- tenure-plan -->\nfirst \"quoted\" \\ text\n", "").prints("wrote comment 131");
        send("<!-- tenure-plan -->\nsecond\n", "").prints("updated comment 131");
        send("<!-- tenure-plan -->\nproduction\n", "production").prints("wrote comment 132");
        let bodies = stand_in.bodies();
        assert_eq!(
            bodies[130..],
            ["<!-- tenure-plan -->\nsecond\n", "<!-- tenure-plan production -->\nproduction\n"],
            "{host}"
        );
        assert!(stand_in.comments.lock().unwrap().tokens.iter().all(|sent| sent == token), "{host}");
        // A comment that somebody else wrote is left alone.
        stand_in.comments.lock().unwrap().foreign.push(131);
        send("third\n", "").prints("wrote comment 133");
        assert_eq!(stand_in.bodies()[132], "<!-- tenure-plan -->\nthird\n");
    }
}

#[test]
fn nothing_is_commented_without_a_pull_request_or_a_token() {
    let (stand_in, directory) = (StandIn::start(), TempDir::new().expect("a directory"));
    let mut command = comment(&stand_in, "github", directory.path(), "x", "");
    fs::write(directory.path().join("event.json"), "{}").expect("a file");
    run(&mut command, "").exits_with(1).prints("not about a pull request");
    let mut command = comment(&stand_in, "gitlab", directory.path(), "x", "");
    let code = run(command.env_remove("TENURE_GITLAB_TOKEN"), "").code;
    assert_ne!(code, Some(0));
    assert!(stand_in.bodies().is_empty());
}

#[test]
fn the_program_is_installed_only_with_the_right_checksum() {
    let (stand_in, directory) = (StandIn::start(), TempDir::new().expect("a directory"));
    fs::write(directory.path().join("tenure"), "#!/bin/sh\necho installed\n").expect("a file");
    let archive = directory.path().join("archive.tar.gz");
    run(Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(directory.path()).arg("tenure"), "")
        .exits_with(0);
    stand_in.comments.lock().unwrap().archive = fs::read(&archive).expect("the archive");
    let sum = run(Command::new("sha256sum").arg(&archive), "").out;
    let sum = sum.split(' ').next().expect("a sum");
    let program = directory.path().join("bin/tenure");
    let install = |sum: &str| {
        let mut command = script("install.sh");
        command
            .env("TENURE_VERSION", "0.1.0")
            .env("TENURE_SHA256", sum)
            .env("TENURE_URL", format!("{}/archive", stand_in.address));
        run(command.env("TENURE_DIR", directory.path().join("bin")), "")
    };
    install(&"0".repeat(64)).exits_with(1).prints(&format!("is {sum}, expected 000"));
    assert!(!program.exists());
    install(sum).exits_with(0);
    run(&mut Command::new(program), "").succeeds_with("installed");
}

#[test]
fn the_job_fails_for_what_it_is_told() {
    let cluster = TestCluster::start();
    let map = |value: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{k: {value}}}\n")
    };
    cluster.with(&map("one"), &["apply", "-f", "-", "--manager", "alice"]).exits_with(0);
    cluster.file("manifests/c.yaml", &map("two"));
    let tools = PathBuf::from(env!("CARGO_BIN_EXE_tenure"));
    let path = format!(
        "{}:{}",
        tools.parent().expect("a directory").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    for (manager, fail_on, code) in
        [("bob", "conflicts", 3), ("bob", "nothing", 0), ("alice", "conflicts", 0), ("alice", "changes", 2)]
    {
        let mut command = script("plan.sh");
        command
            .env("PATH", &path)
            .env("KUBECONFIG", cluster.server.kubeconfig())
            .current_dir(cluster.home.path());
        command.envs([
            ("TENURE_MANIFESTS", "manifests"),
            ("TENURE_MANAGER", manager),
            ("TENURE_FAIL_ON", fail_on),
        ]);
        run(&mut command, "").exits_with(code);
        let comment = fs::read_to_string(cluster.home.path().join(".tenure/plan.md")).expect("the comment");
        assert!(comment.contains("configmap/c in default"), "{comment}");
    }
}
