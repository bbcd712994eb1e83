//! Commands beside slow people and slow servers: questions that wait, servers that never answer, Ctrl-C.

use crate::{
    harness::{TestCluster, tenure},
    process::read_until,
    proxy::Proxy,
};
use std::{
    fmt::Write as _,
    io::{Read, Write},
    net::TcpListener,
    process::{Command, Stdio},
    thread,
};

fn map(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{k: {value}}}\n---\n")
}

#[test]
fn a_question_may_wait_until_every_connection_is_closed() {
    let cluster = TestCluster::start();
    cluster
        .with(&(map("a", "theirs") + &map("b", "theirs")), &["apply", "-f", "-", "--manager", "alice"])
        .exits_with(0);
    let file = cluster.file("mine.yaml", &(map("a", "mine") + &map("b", "mine")));
    let proxy = Proxy::start(&cluster.server.address);
    let line = ["apply", "-f", &file, "--manager", "bob", "--interactive", "--server", &proxy.address];
    let mut child = tenure(&line)
        .env("KUBECONFIG", cluster.server.kubeconfig())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let (mut input, mut questions) =
        (child.stdin.take().expect("stdin"), child.stderr.take().expect("stderr"));
    read_until(&mut questions, "configmap/a in default: .data.k");
    proxy.close_all();
    input.write_all(b"m\n").expect("an answer");
    read_until(&mut questions, "configmap/b in default: .data.k");
    let value = |name: &str| {
        let live = cluster.get(&format!("/api/v1/namespaces/default/configmaps/{name}"));
        live.at(["data", "k"]).map(ToString::to_string)
    };
    assert_eq!(value("a"), Some("\"theirs\"".into()), "nothing is written before the last answer");
    proxy.close_all();
    input.write_all(b"t\n").expect("an answer");
    drop(input);
    let thread = thread::spawn(move || {
        let mut text = String::new();
        questions.read_to_string(&mut text).map(|_| text)
    });
    let output = child.wait_with_output().expect("it ends");
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && out.contains("2 objects: 1 applied, 1 unchanged"),
        "{out} {:?}",
        thread.join()
    );
    assert_eq!(value("a"), Some("\"mine\"".into()));
}

#[test]
fn ctrl_c_at_a_question_writes_nothing_and_says_so() {
    let cluster = TestCluster::start();
    cluster.with(&map("a", "theirs"), &["apply", "-f", "-", "--manager", "alice"]).exits_with(0);
    let file = cluster.file("mine.yaml", &(map("a", "mine") + &map("b", "mine")));
    let mut child = tenure(&["apply", "-f", &file, "--manager", "bob", "--interactive"])
        .env("KUBECONFIG", cluster.server.kubeconfig())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut questions = child.stderr.take().expect("stderr");
    read_until(&mut questions, "configmap/a in default: .data.k");
    let stopped = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(stopped.is_ok_and(|status| status.success()));
    let mut rest = String::new();
    questions.read_to_string(&mut rest).expect("the output");
    assert!(rest.contains("nothing was written"), "{rest}");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(cluster.request("GET", "/api/v1/namespaces/default/configmaps/b", "", "").0, 404);
}

#[test]
fn one_answer_decides_all_conflicts_like_it() {
    let cluster = TestCluster::start();
    let all = |value: &str| ["a", "b", "c"].map(|name| map(name, value)).concat();
    cluster.with(&all("theirs"), &["apply", "-f", "-", "--manager", "alice"]).exits_with(0);
    let file = cluster.file("mine.yaml", &all("mine"));
    let output =
        cluster.with("M\n", &["apply", "-f", &file, "--manager", "bob", "--interactive"]).exits_with(0);
    assert_eq!(output.err.matches("m  mine").count(), 1, "{}", output.err);
    output.prints("3 objects: 3 applied");
}

#[test]
fn theirs_for_everything_owns_nothing() {
    let cluster = TestCluster::start();
    cluster.with(&map("a", "theirs"), &["apply", "-f", "-", "--manager", "alice"]).exits_with(0);
    let file = cluster.file("mine.yaml", &map("a", "mine"));
    cluster.with("t\n", &["apply", "-f", &file, "--manager", "bob", "--interactive"]).exits_with(0);
    assert_eq!(cluster.managers("/api/v1/namespaces/default/configmaps/a"), ["alice Apply"]);
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = format!("http://{}", listener.local_addr().expect("an address"));
    thread::spawn(move || {
        let kept: Vec<_> = listener.incoming().collect();
        drop(kept);
    });
    let output = crate::process::run(
        &mut tenure(&["blame", "cm/x", "--server", &server, "--request-timeout", "1s"]),
        "",
    );
    output.fails_with("no response within 1 seconds").fails_with("--request-timeout");
    // On a terminal a word comes after two seconds.
    let typed = format!("{} blame cm/x --server {server} --request-timeout 3s", env!("CARGO_BIN_EXE_tenure"));
    let mut command = Command::new("script");
    let output = crate::process::run(command.args(["-qec", &typed, "/dev/null"]), "");
    assert!(output.out.contains(&format!("waiting for {server}")), "{output:?}");
}

#[test]
fn ctrl_c_ends_with_a_summary_that_is_true() {
    let cluster = TestCluster::start();
    let mut all = String::new();
    for number in 0..200 {
        let _ = write!(all, "{}", map(&format!("m{number}"), "v"));
    }
    let file = cluster.file("all.yaml", &all);
    let proxy = Proxy::start(&cluster.server.address);
    let reached = proxy.hold_after(40);
    let child = tenure(&["apply", "-f", &file, "--server", &proxy.address])
        .env("KUBECONFIG", cluster.server.kubeconfig())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    reached.recv().expect("the writes begin");
    let stopped = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(stopped.is_ok_and(|status| status.success()));
    // The signal must arrive before the writes that wait are let through.
    let status = format!("/proc/{}/status", child.id());
    let is_pending = || {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let pending = text.lines().filter(|line| line.starts_with("SigPnd:") || line.starts_with("ShdPnd:"));
        pending
            .filter_map(|line| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok())
            .any(|set| set & 2 != 0)
    };
    while is_pending() {
        thread::yield_now();
    }
    proxy.release();
    let output = child.wait_with_output().expect("it ends");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let summary =
        out.lines().find(|line| line.starts_with("200 objects: ")).unwrap_or_else(|| panic!("{out} {err}"));
    let number = |word: &str| {
        let part = summary.split([':', ',']).find_map(|part| part.trim().strip_suffix(word));
        part.and_then(|number| number.trim().parse::<usize>().ok()).unwrap_or_default()
    };
    let (_, list) = cluster.request("GET", "/api/v1/namespaces/default/configmaps", "", "");
    let written = list
        .get("items")
        .and_then(|items| items.as_array())
        .map(|items| items.iter().len())
        .unwrap_or_default();
    let ours = list.to_string().matches("\"name\":\"m").count();
    assert!((40..200).contains(&ours), "{ours} of {written}: {summary}");
    assert_eq!((number("applied"), number("not written")), (ours, 200 - ours), "{summary}");
    assert!(err.contains("were not written") && output.status.code() == Some(1), "{err}");
}
