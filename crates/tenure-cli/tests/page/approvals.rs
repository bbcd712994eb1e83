//! Plans of agents on the page: a person reads them and decides, the agent is bound by it, and the agent's own token decides nothing.

use crate::{
    accessibility,
    cluster::{TestCluster, sign_in},
    driver::Browser,
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// A change of the deployment that takes the replicas from the manager that scales it.
const WANTED: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {reviewed: "yes"}}
spec: {replicas: 7, template: {metadata: {annotations: {example.com/long: LONG}}}}
"#;

/// An agent that uses `tenure mcp`.
struct Agent {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Agent {
    fn start(cluster: &TestCluster) -> Agent {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.args(["mcp", "--approve", "plan"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = cluster.environment(&mut command).spawn().expect("the server starts");
        let (input, output) = (child.stdin.take().expect("input"), child.stdout.take().expect("output"));
        let mut agent = Agent { child, input, output: BufReader::new(output) };
        let client = json!({"name": "test", "version": "1"});
        agent.request(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}),
        );
        agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        agent
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("the server reads");
    }

    fn request(&mut self, method: &str, parameters: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}));
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Calls a tool and returns its structured result.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        answer["result"]["structuredContent"].clone()
    }

    /// Plans a manifest, in which it takes the replicas, and returns the digest.
    #[track_caller]
    fn plan(&mut self, manifest: &str) -> String {
        // A long value is there as a whole, so that nothing hides at its end.
        let routes: String =
            (1..=60).map(|number| format!("/shop/{number} → cart-{}:8080, ", number % 4)).collect();
        let manifest = manifest.replace("LONG", &format!("{:?}", format!("{routes}the-end")));
        let settle = json!([{"how": "take", "path": ".spec.replicas"}]);
        let plan = self.call("plan", json!({"task": "scale-up", "yaml": manifest, "settle": settle}));
        plan["digest"].as_str().unwrap_or_else(|| panic!("{plan}")).to_owned()
    }

    fn apply(&mut self, digest: &str) -> Value {
        self.call("apply_plan", json!({"digest": digest}))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request as the page does, and returns the code of the response and its text.
fn fetched(browser: &Browser, method: &str, path: &str, body: &Value) -> (i64, String) {
    let body = if body.is_null() { "undefined".to_owned() } else { json!(body.to_string()).to_string() };
    let script = format!(
        "const done = arguments[arguments.length - 1];
         fetch('/ui/api/{path}', {{method: '{method}', headers: {{'tenure-page': '1', 'content-type': 'application/json'}}, body: {body}}})
           .then(async (response) => done([response.status, await response.text()]));"
    );
    let answer = browser.script_that_waits(&script);
    (answer[0].as_i64().unwrap_or_default(), answer[1].as_str().unwrap_or_default().to_owned())
}

#[test]
fn a_person_decides_on_the_page() {
    let cluster = TestCluster::start(&[]);
    cluster.furnish();
    let mut agent = Agent::start(&cluster);
    let digest = agent.plan(WANTED);
    assert_eq!(agent.apply(&digest)["error"]["reason"], "NotApproved");

    let ui = cluster.ui();
    let (browser, page) = (Browser::start(), ui.page());
    sign_in(&browser, &ui.link());
    browser.wait("document.querySelector('nav .waiting-badge')?.innerText.startsWith('1')");
    browser.script("[...document.querySelectorAll('nav a')].find((link) => link.innerText.startsWith('Approvals')).click()");
    browser.wait("document.querySelector('.waiting-plan')?.innerText.includes('agent/scale-up')");
    browser.script("document.querySelector('.waiting-plan').click()");
    // Everything that it does: values, whose fields it takes, who gains and who loses, and the digest that the decision is about.
    browser.wait_for_text(&digest);
    browser.wait("document.querySelector('.taken')?.innerText.includes('.spec.replicas')");
    for part in ["agent/scale-up", "reviewed", "Owners", "from", "kubectl", "8080, the-end"] {
        browser.wait_for_text(part);
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    for scheme in ["light", "dark"] {
        browser.appearance(scheme);
        for (width, height) in [(1400, 860), (420, 800)] {
            browser.resize(width, height);
            let overflow = browser.script("return document.documentElement.scrollWidth - innerWidth");
            assert!(overflow.as_i64().unwrap_or(1) <= 0, "wider than {width}: {overflow}");
            assert_eq!(accessibility::problems(&browser), Vec::<String>::new(), "{scheme}, {width}");
            browser.picture(&folder.join(format!("approvals-{scheme}-{width}.png")));
        }
    }
    browser.resize(1280, 800);
    // Its box scrolls, and a button shows all of it.
    let cut = "const code = document.querySelector('.long .value.after'); return code.scrollHeight - code.clientHeight";
    assert!(browser.script(cut).as_i64().is_some_and(|cut| cut > 100), "{}", browser.script(cut));
    browser.script("document.querySelector('.long .more').click()");
    assert_eq!(browser.script(cut), 0);
    assert_eq!(browser.script("return document.querySelector('.long .more').innerText"), "Show less");

    // Approved, it is carried out once, and leaves the list by itself.
    browser.press("Approve");
    browser.wait_for_text("Approved. The agent can carry it out once");
    assert_eq!(agent.apply(&digest)["result"], "complete");
    let replicas =
        cluster.kubectl(&["-n", "shop", "get", "deploy", "web", "-o", "jsonpath={.spec.replicas}"], "");
    assert_eq!(replicas, "7");
    browser.wait("document.querySelectorAll('.waiting-plan').length === 0");

    // A plan that is refused is not carried out; it appears by itself.
    let second = agent.plan(&WANTED.replace('7', "8"));
    browser.wait("document.querySelectorAll('.waiting-plan').length === 1");
    browser.script("document.querySelector('.waiting-plan').click()");
    browser.wait_for_text(&second);
    browser.press("Refuse");
    browser.wait_for_text("Refused. The agent is told so");
    let refused = agent.apply(&second);
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("refused")), "{refused}");

    // One that no longer holds says so before anyone approves it.
    let third = agent.plan(&WANTED.replace('7', "9"));
    cluster.kubectl(&["-n", "shop", "scale", "deployment/web", "--replicas=2"], "");
    browser.open(&format!("{page}approvals/{third}"));
    browser.wait_for_text("It no longer holds");
    assert_eq!(browser.console(&[]), Vec::<String>::new());
}

#[test]
fn a_token_decides_nothing() {
    let cluster = TestCluster::start(&[]);
    cluster.furnish();
    cluster.kubectl(&["-n", "shop", "create", "serviceaccount", "agent"], "");
    let admin = [
        "create",
        "clusterrolebinding",
        "agents",
        "--clusterrole=cluster-admin",
        "--serviceaccount=shop:agent",
    ];
    cluster.kubectl(&admin, "");
    let token = cluster.kubectl(&["-n", "shop", "create", "token", "agent"], "");
    let mut agent = Agent::start(&cluster);
    let digest = agent.plan(WANTED);
    let decision = json!({"digest": digest, "decision": "approved"});

    let ui = cluster.ui();
    let browser = Browser::start();
    browser.open(&ui.page());
    // Nobody is signed in.
    browser.wait("document.querySelector('sign-in-view')");
    assert_eq!(fetched(&browser, "POST", "approvals/decision", &decision).0, 401);
    browser.fill("sign-in-view input", token.trim());
    browser.press("Sign in");
    browser.wait_for_text("system:serviceaccount:shop:agent");
    browser.wait("!document.querySelector('nav .waiting-badge')");
    let plan = format!("approvals/plan?digest={digest}");
    for (method, path, body) in [
        ("GET", "approvals", &Value::Null),
        ("GET", plan.as_str(), &Value::Null),
        ("POST", "approvals/decision", &decision),
    ] {
        let (code, text) = fetched(&browser, method, path, body);
        assert!(code == 403 && text.contains("a token could be that of an agent"), "{path}: {code} {text}");
    }
    assert_eq!(agent.apply(&digest)["error"]["reason"], "NotApproved");

    // The page of a server has no plans unless it is told where they are.
    sign_in(&browser, &cluster.server.link());
    assert_eq!(fetched(&browser, "GET", "approvals", &Value::Null).0, 404);
    // Who opened the link decides about whole digests, and about plans that wait.
    let person = Browser::start();
    sign_in(&person, &ui.link());
    for (body, code) in [
        (json!({"digest": digest, "decision": "yes"}), 400),
        (json!({"digest": &digest[7..20], "decision": "approved"}), 400),
        (json!({"digest": "../../x", "decision": "approved"}), 400),
        (json!({"digest": digest.replace(&digest[7..11], "0000"), "decision": "approved"}), 404),
    ] {
        assert_eq!(fetched(&person, "POST", "approvals/decision", &body).0, code, "{body}");
    }
    assert_eq!(agent.apply(&digest)["error"]["reason"], "NotApproved");
}

#[test]
fn the_page_of_a_server_shows_the_plans_of_a_directory() {
    let state = tempfile::TempDir::new().expect("a directory");
    let approvals = state.path().join("approvals");
    let cluster = TestCluster::start(&["--approvals", &approvals.display().to_string()]);
    cluster.furnish();
    let (browser, page) = (Browser::start(), cluster.server.page());
    sign_in(&browser, &cluster.server.link());
    // No agent has asked yet: there is nothing in the navigation, and the view says what it is for.
    assert_eq!(browser.script("return document.querySelector('nav .waiting-badge')"), Value::Null);
    browser.open(&format!("{page}approvals"));
    browser.wait_for_text("No plan waits");
    assert_eq!(accessibility::problems(&browser), Vec::<String>::new());
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(["approve", "--approvals"]).arg(&approvals);
    assert!(command.status().expect("it runs").success());
    browser.open(&page);
    browser.wait("document.querySelector('nav .waiting-badge')");
}
