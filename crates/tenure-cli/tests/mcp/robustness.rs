//! Clients that misbehave: no message ends the server, and a client that disappears leaves nothing behind.

use crate::harness::{Agent, TestCluster, map, text};
use std::process::Command;
use tenure_value::Value;

/// A generator of the same numbers in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }
}

fn works(agent: &mut Agent) {
    let shown = agent.call("get", r#"{"object":{"kind":"cm","name":"settings"},"fields":[".data.colour"]}"#);
    assert!(shown.to_string().contains("blue"), "{shown}");
}

#[test]
fn a_thousand_malformed_messages_end_nothing() {
    let cluster = TestCluster::start();
    cluster.apply("alice", &map("settings", "blue"));
    let mut agent = cluster.agent(&[]);
    let good = [
        r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"get","arguments":{"object":{"kind":"cm","name":"settings"}}}}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"plan","arguments":{"task":"a","yaml":"kind: [","settle":[{"path":".a","how":"take"}]}}}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"resources/read","params":{"uri":"tenure://object/cm/default/settings"}}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"prompts/get","params":{"name":"explain_conflict","arguments":{"kind":"cm","name":"a"}}}"#,
    ];
    let pieces: [&[u8]; 12] = [
        b"{",
        b"}",
        b"[",
        b"\"",
        b"null",
        b"\\u0000",
        b"\xff",
        b"-1e999",
        b"{}",
        b"[[[[[[[[",
        b"\0",
        b"\"params\":",
    ];
    let mut numbers = Numbers(4711);
    for number in 0..1_000 {
        let mut line = good[numbers.next(good.len())].as_bytes().to_vec();
        for _ in 0..=numbers.next(4) {
            let at = numbers.next(line.len());
            match numbers.next(4) {
                0 => line.truncate(at),
                1 => drop(line.splice(at..at, pieces[numbers.next(pieces.len())].iter().copied())),
                2 => drop(line.drain(at..(at + numbers.next(9)).min(line.len()))),
                _ => line.iter_mut().skip(at).take(1).for_each(|byte| *byte = byte.wrapping_add(1)),
            }
        }
        line.retain(|byte| *byte != b'\n');
        agent.send_bytes(&line);
        if number % 100 == 0 {
            works(&mut agent);
        }
    }
    // Well-formed messages that mean nothing.
    for line in [
        "{}",
        "[]",
        "null",
        "0",
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
    ] {
        agent.send(line);
    }
    agent.send(&"[".repeat(100_000));
    works(&mut agent);
    assert!(agent.leave().success());
}

#[test]
fn messages_of_ten_megabytes_are_answered_and_larger_ones_dropped() {
    let cluster = TestCluster::start();
    cluster.apply("alice", &map("settings", "blue"));
    let mut agent = cluster.agent(&[]);
    let large = "x".repeat(10 << 20);
    let (reason, message) = agent.refused("plan", &format!(r#"{{"task":"a","yaml":"{large}"}}"#));
    assert!(reason == "InvalidArguments" && message.contains("yaml must have at most"), "{message}");
    assert_eq!(
        agent.refused("get", &format!(r#"{{"object":{{"kind":"{large}","name":"a"}}}}"#)).0,
        "InvalidArguments"
    );
    agent.send(&format!(r#"{{"jsonrpc":"2.0","id":"x","method":"{}"}}"#, "x".repeat(40 << 20)));
    works(&mut agent);
}

#[test]
fn a_client_that_disappears_leaves_no_process_and_no_half_of_a_plan() {
    let cluster = TestCluster::start();
    // Before the handshake, and with requests that are not answered yet.
    assert!(cluster.silent_agent(&[]).leave().success());
    let mut agent = cluster.agent(&[]);
    for _ in 0..50 {
        agent.ask("tools/call", r#"{"name":"list","arguments":{"kind":"cm"}}"#);
    }
    assert!(agent.leave().success());
    // In the middle of a plan: all of it is written.
    let mut agent = cluster.agent(&[]);
    let manifests: Vec<String> = (0..40).map(|number| map(&format!("many-{number}"), "red")).collect();
    let digest = agent.plan("many", &manifests.join("---\n"));
    agent.ask("tools/call", &format!(r#"{{"name":"apply_plan","arguments":{{"digest":"{digest}"}}}}"#));
    // The server has read the request when it answers the next one.
    agent.request("ping", "{}");
    assert!(agent.leave().success());
    let mut agent = cluster.agent(&[]);
    let found = agent.call("list", r#"{"kind":"cm","fields":[".data.colour"],"limit":100}"#);
    let items = found.get("items").and_then(Value::as_array).expect("items");
    let written = items.iter().filter(|item| text(item, &["target", "name"]).starts_with("many-")).count();
    assert!(written == 40 || written == 0, "{written}");
    // A signal ends it, too.
    let status = Command::new("kill").arg(agent.child.id().to_string()).status();
    assert!(status.is_ok_and(|status| status.success()));
    assert!(agent.child.wait().expect("the server ends").success());
}
