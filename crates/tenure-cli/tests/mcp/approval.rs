//! Plans that a person approves at a terminal, and that an agent cannot approve.

use crate::{
    harness::{TENURE, TestCluster, map},
    process::{CommandOutput, run},
};
use std::{fs, process::Command};

/// Runs a command on a terminal, and types a line when it asks.
const TERMINAL: &str = r#"
import os, pty, sys
line, arguments = sys.argv[1], sys.argv[2:]
typed = False
def read(master):
    global typed
    data = os.read(master, 4096)
    if b"Type " in data and not typed:
        typed = True
        os.write(master, line.encode() + b"\n")
    return data
code = pty.spawn(arguments, read, lambda fd: b"")
sys.exit(os.waitstatus_to_exitcode(code))
"#;

fn at_terminal(cluster: &TestCluster, typed: &str, line: &[&str]) -> CommandOutput {
    let mut command = Command::new("python3");
    command.args(["-c", TERMINAL, typed, TENURE]).args(line);
    run(cluster.environment(&mut command), "")
}

#[test]
fn a_plan_is_carried_out_only_after_a_person_approved_it() {
    let cluster = TestCluster::start();
    let mut agent = cluster.agent(&["--approve", "plan"]);
    let digest = agent.plan("paint", &map("settings", "red"));
    let apply = format!(r#"{{"digest":"{digest}"}}"#);
    let (reason, message) = agent.refused("apply_plan", &apply);
    assert_eq!(reason, "NotApproved", "{message}");
    // No tool approves, and the command needs a person.
    assert!(
        agent
            .request("tools/call", &format!(r#"{{"name":"approve","arguments":{apply}}}"#))
            .get("error")
            .is_some()
    );
    cluster.tenure(&["approve", &digest]).fails_with("by a person at a terminal");
    cluster.tenure(&["approve"]).succeeds_with("waits");
    let listed = cluster.tenure(&["approve", "-o", "json"]).succeeds_with(&digest);
    assert!(listed.out.contains(r#""name": "settings""#), "{listed:#?}");
    // Another digest, or another answer, approves nothing.
    at_terminal(&cluster, "y", &["approve", &digest]).succeeds_with("nothing was decided");
    assert_eq!(agent.refused("apply_plan", &apply).0, "NotApproved");
    let (short, digits) = (&digest[7..19], &digest[7..13]);
    let shown = at_terminal(&cluster, digits, &["approve", short]).succeeds_with("approved sha256:");
    assert!(shown.out.contains("configmap/settings") && shown.out.contains("red"), "{shown:#?}");
    let done = agent.call("apply_plan", &apply);
    assert!(done.to_string().contains("complete"), "{done}");
    // The approval is used.
    cluster.tenure(&["approve"]).succeeds_with("No plan waits.");
    // Every other plan needs its own, also an undo.
    let undo = agent.call("undo", &apply);
    let second = crate::harness::text(&undo, &["digest"]);
    assert_eq!(agent.refused("apply_plan", &format!(r#"{{"digest":"{second}"}}"#)).0, "NotApproved");
    cluster.tenure(&["approve", "--refuse", &second]).succeeds_with("refused sha256:");
    let (reason, message) = agent.refused("apply_plan", &format!(r#"{{"digest":"{second}"}}"#));
    assert!(reason == "NotApproved" && message.contains("refused"), "{message}");
}

#[test]
fn a_terminal_obeys_nothing_of_a_plan() {
    let cluster = TestCluster::start();
    let definition = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: notes.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: notes, singular: note, kind: Note}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"#;
    cluster.apply("person", definition);
    let mut agent = cluster.agent(&["--approve", "plan"]);
    // A key and a value that would hide what follows, move the cursor, and turn the text around.
    let hidden = r#"
apiVersion: example.com/v1
kind: Note
metadata: {name: note}
spec: {"key\u001b[8m\u009b2J": "value\u001b[8m\u009b1A\u202e", last: "shown", long: "LONG"}
"#;
    let hidden = &hidden.replace("LONG", &format!("{}the end", "x".repeat(3000)));
    let digest = agent.plan("hide", hidden);
    let shown = at_terminal(&cluster, "no", &["approve", &digest]).succeeds_with("nothing was decided");
    // The colours of the program itself, and nothing else that a terminal obeys.
    let own = shown.out.split("\u{1b}[").skip(1);
    for sequence in own {
        let code = sequence.split('m').next().unwrap_or_default();
        assert!(["0", "1", "2", "31", "32", "33", "1;31"].contains(&code), "{code:?} in {shown:#?}");
    }
    assert!(!shown.out.contains(['\u{9b}', '\u{202e}']), "{shown:#?}");
    for part in [r"key\u001b[8m", r"\u{9b}1A\u{202e}", "shown", "xthe end"] {
        assert!(shown.out.contains(part), "{part} is missing in {}", shown.out);
    }
}

#[test]
fn an_approval_of_another_plan_or_by_another_way_does_not_count() {
    let cluster = TestCluster::start();
    let mut agent = cluster.agent(&["--approve", "plan"]);
    let (one, other) = (agent.plan("paint", &map("one", "red")), agent.plan("paint", &map("other", "red")));
    at_terminal(&cluster, &one[7..13], &["approve", &one]).succeeds_with("approved");
    let directory = cluster.home.path().join(".local/state/tenure/approvals");
    let file = |digest: &str| directory.join(format!("{}.decision.json", &digest[7..]));
    // The decision about one plan under the name of another.
    fs::copy(file(&one), file(&other)).expect("a copy");
    assert_eq!(agent.refused("apply_plan", &format!(r#"{{"digest":"{other}"}}"#)).0, "Unavailable");
    fs::remove_file(file(&other)).expect("the copy");
    // A plan that was changed while it waited is not shown, and so not approved.
    let waiting = directory.join(format!("{}.plan.json", &other[7..]));
    let text = fs::read_to_string(&waiting).expect("the plan");
    fs::write(&waiting, text.replace("red", "blue")).expect("the plan");
    cluster.tenure(&["approve", &other]).fails_with("changed after it was made");
    // An approved plan that no longer holds is refused.
    cluster.apply("alice", &map("one", "green"));
    let (reason, message) = agent.refused("apply_plan", &format!(r#"{{"digest":"{one}"}}"#));
    assert!(reason == "Stale" && message.contains("alice"), "{message}");
}
