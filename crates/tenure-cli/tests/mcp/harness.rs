//! A cluster, a home directory, and a client that speaks the protocol line by line, so that it can also do what no SDK does.

use crate::{
    etcd_process::Etcd,
    process::{CommandOutput, Tenure, run},
};
use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
};
use tempfile::TempDir;
use tenure_value::{Limits, Object, Value, json};

/// The program.
pub const TENURE: &str = env!("CARGO_BIN_EXE_tenure");

/// A cluster and a home directory.
pub struct TestCluster {
    pub server: Tenure,
    pub home: TempDir,
    _data: TempDir,
}

impl TestCluster {
    pub fn start() -> TestCluster {
        TestCluster::start_with(&["--insecure-http", "--compatibility", "kubernetes"])
    }

    /// Starts a server with all that Tenure has, and with authorization.
    pub fn secure() -> TestCluster {
        TestCluster::start_with(&[])
    }

    /// Starts a server with all that Tenure has, on etcd.
    pub fn on_etcd(etcd: &Etcd) -> TestCluster {
        TestCluster::start_on(&["--store", "etcd", "--etcd-endpoints", &etcd.endpoints().join(",")])
    }

    fn start_with(further: &[&str]) -> TestCluster {
        TestCluster::start_on(&[&["--in-memory"], further].concat())
    }

    fn start_on(store: &[&str]) -> TestCluster {
        let data = TempDir::new().expect("a directory");
        let server = Tenure::start(data.path(), &[&["--listen", "127.0.0.1:0"], store].concat());
        TestCluster { server, home: TempDir::new().expect("a directory"), _data: data }
    }

    /// Sets the environment of a command: the cluster, and the home directory.
    pub fn environment<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        for name in ["NO_COLOR", "TENURE_MANAGER", "TENURE_LOG", "XDG_STATE_HOME"] {
            command.env_remove(name);
        }
        command.env("KUBECONFIG", self.server.kubeconfig()).env("HOME", self.home.path())
    }

    /// Runs the program.
    pub fn tenure(&self, line: &[&str]) -> CommandOutput {
        run(self.environment(Command::new(TENURE).args(line)), "")
    }

    /// Applies a manifest as a person would.
    pub fn apply(&self, manager: &str, manifest: &str) {
        let line = ["apply", "-f", "-", "--manager", manager];
        let output = run(self.environment(Command::new(TENURE).args(line)), manifest);
        assert!(matches!(output.code, Some(0 | 2)), "{output:#?}");
    }

    /// Starts `tenure mcp` with flags, and begins a conversation.
    pub fn agent(&self, flags: &[&str]) -> Agent {
        let mut agent = self.silent_agent(flags);
        agent.begin();
        agent
    }

    /// Starts `tenure mcp` with flags, and begins a conversation in which no time passes.
    pub fn agent_without_time(&self, flags: &[&str]) -> Agent {
        let mut command = Command::new(TENURE);
        command.env("SOURCE_DATE_EPOCH", "1800000000");
        let mut agent = self.started(command, flags);
        agent.begin();
        agent
    }

    /// Starts `tenure mcp` with flags.
    pub fn silent_agent(&self, flags: &[&str]) -> Agent {
        self.started(Command::new(TENURE), flags)
    }

    fn started(&self, mut command: Command, flags: &[&str]) -> Agent {
        command.arg("mcp").args(flags).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = self.environment(&mut command).spawn().expect("the server starts");
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Agent { child, input, output: BufReader::new(output.expect("its output")), number: 0 }
    }
}

/// A client that started its server.
pub struct Agent {
    pub child: Child,
    pub input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    number: i64,
}

impl Agent {
    /// Does the handshake.
    pub fn begin(&mut self) {
        let information = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}"#;
        let result = self.request("initialize", information);
        assert_eq!(result.at(["result", "serverInfo", "name"]), Some(&Value::from("tenure")), "{result}");
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    /// Sends a line.
    pub fn send(&mut self, line: &str) {
        self.send_bytes(line.as_bytes());
    }

    /// Sends a line of any bytes.
    pub fn send_bytes(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("an open input");
        input.write_all(line).and_then(|()| input.write_all(b"\n")).expect("the server reads");
    }

    /// Sends a request and returns its number.
    pub fn ask(&mut self, method: &str, parameters: &str) -> i64 {
        self.number += 1;
        let number = self.number;
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{parameters}}}"#));
        number
    }

    /// Reads the next message.
    pub fn message(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        json::parse(line.as_bytes(), &Limits::TRUSTED).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Sends a request and waits for its response; other messages are passed over.
    pub fn request(&mut self, method: &str, parameters: &str) -> Value {
        let number = self.ask(method, parameters);
        loop {
            let message = self.message();
            if message.get("id").and_then(Value::as_i64) == Some(number) {
                return message;
            }
        }
    }

    /// Calls a tool and returns its structured result.
    pub fn call(&mut self, tool: &str, arguments: &str) -> Value {
        let response = self.request("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#));
        let result = response.at(["result", "structuredContent"]).cloned();
        result.unwrap_or_else(|| panic!("{tool} {arguments}: {response}"))
    }

    /// Calls a tool that fails, and returns the reason and the message.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: &str) -> (String, String) {
        let result = self.call(tool, arguments);
        let text = |name: &str| result.at(["error", name]).and_then(Value::as_str).map(str::to_owned);
        let failure = text("reason").zip(text("message"));
        failure.unwrap_or_else(|| panic!("{tool} {arguments} did not fail: {result}"))
    }

    /// Makes a plan that must be ready, and returns its digest.
    #[track_caller]
    pub fn plan(&mut self, task: &str, manifest: &str) -> String {
        let yaml = Object::default().with("task", task).with("yaml", manifest);
        let plan = self.call("plan", &json::to_string(&Value::Object(yaml)));
        text(&plan, &["digest"])
    }

    /// Closes the input and returns how the server ends.
    pub fn leave(mut self) -> ExitStatus {
        self.input = None;
        self.child.wait().expect("the server ends")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a text of a result.
#[track_caller]
pub fn text(value: &Value, path: &[&str]) -> String {
    let found = value.at(path.iter().copied()).and_then(Value::as_str);
    found.unwrap_or_else(|| panic!("no {path:?} in {value}")).to_owned()
}

/// Returns a manifest of a ConfigMap.
pub fn map(name: &str, colour: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{colour: {colour}}}\n")
}

/// Returns a folder of clients that `scripts/test` installs.
pub fn installed(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the folder of cargo");
    let folder = target.join(name);
    assert!(folder.is_dir(), "{}: not there; scripts/test installs it", folder.display());
    folder
}
