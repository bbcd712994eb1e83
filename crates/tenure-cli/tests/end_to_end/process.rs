//! A running `tenure serve`, and commands with their output.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// How long anything may take before the test gives up.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// The output and the exit code of a command.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl CommandOutput {
    /// Checks that the command succeeded and printed a text.
    #[track_caller]
    pub fn succeeds_with(self, part: &str) -> CommandOutput {
        assert!(self.code == Some(0) && self.out.contains(part), "{part:?} in {self:#?}");
        self
    }

    /// Checks that the command failed and printed a reason.
    #[track_caller]
    pub fn fails_with(self, part: &str) -> CommandOutput {
        assert!(self.code != Some(0) && self.err.contains(part), "{part:?} in {self:#?}");
        self
    }
}

/// Runs a command with input.
pub fn run(command: &mut Command, input: &str) -> CommandOutput {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    // A command that does not read its input closes it.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("the command ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    CommandOutput { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Returns the command `tenure serve` with arguments.
pub fn serve(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.arg("serve").arg("--data-dir").arg(directory).args(arguments).env_remove("TENURE_LOG");
    command
}

/// A running server; it is killed when dropped.
pub struct Tenure {
    child: Child,
    pub address: String,
    pub banner: String,
    pub directory: PathBuf,
}

impl Tenure {
    /// Starts a server with its data in a directory.
    pub fn start(directory: &Path, arguments: &[&str]) -> Tenure {
        let mut command = serve(directory, arguments);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut banner = String::new();
        for line in lines.by_ref().take(5) {
            banner += &(line.expect("a line") + "\n");
        }
        // Later output must not fill the pipe.
        thread::spawn(move || lines.for_each(drop));
        let address = banner
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("Tenure listens on "))
            .unwrap_or_else(|| panic!("no banner but {banner:?}"))
            .to_string();
        Tenure { child, address, banner, directory: directory.into() }
    }

    /// Starts a server with TLS and a token on a free port.
    pub fn secure(directory: &TempDir) -> Tenure {
        Tenure::start(directory.path(), &["--listen", "127.0.0.1:0"])
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.join("kubeconfig")
    }

    /// Returns the token that the kubeconfig carries.
    pub fn token(&self) -> String {
        let text = std::fs::read_to_string(self.kubeconfig()).expect("a kubeconfig");
        let line = text.lines().find_map(|line| line.trim().strip_prefix("token: "));
        line.expect("a token").trim_matches('"').to_string()
    }

    /// Asks the server to stop and returns how it ended.
    pub fn terminate(mut self) -> ExitStatus {
        signal(&self.child, "TERM");
        self.wait()
    }

    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Waits for the server to end.
    pub fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("its status") {
                return status;
            }
            assert!(start.elapsed() < TIMEOUT, "the server does not stop");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
    assert!(status.is_ok_and(|status| status.success()), "kill -{name}");
}

/// Reads from a stream until a text has arrived, or panics.
pub fn read_until(mut from: impl Read, wanted: &str) -> String {
    let (mut text, mut piece, start) = (String::new(), [0; 4096], Instant::now());
    while !text.contains(wanted) {
        assert!(start.elapsed() < TIMEOUT, "{wanted:?} in {text:?}");
        let count = from.read(&mut piece).expect("the stream goes on");
        assert!(count > 0, "{wanted:?} in {text:?}, which ended");
        text += &String::from_utf8_lossy(&piece[..count]);
    }
    text
}
