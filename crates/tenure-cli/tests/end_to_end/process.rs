//! Programs that tests start: servers that run until they are dropped, and commands with their output.

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

/// A running program, and the lines that it printed first. It is killed when dropped.
pub struct Started {
    pub process: Child,
    pub printed: String,
}

impl Started {
    /// Starts a program and reads what it prints, up to a line for which a condition holds.
    pub fn printing(command: &mut Command, is_last: impl FnMut(&str) -> bool) -> Started {
        let mut process = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let printed = read_lines(process.stdout.take(), is_last);
        Started { process, printed }
    }

    /// Starts a program and reads what it reports on standard error, up to a line for which a condition holds.
    pub fn reporting(command: &mut Command, is_last: impl FnMut(&str) -> bool) -> Started {
        let mut process = command.stderr(Stdio::piped()).spawn().expect("the program starts");
        let printed = read_lines(process.stderr.take(), is_last);
        Started { process, printed }
    }

    /// Returns the address that a server listens on, as it printed it.
    pub fn address(&self) -> String {
        let address = self.printed.lines().find_map(|line| line.strip_prefix("Tenure listens on "));
        address.unwrap_or_else(|| panic!("no address in {:?}", self.printed)).to_owned()
    }

    /// Ends the program as a crash does.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.kill();
    }
}

fn read_lines(from: Option<impl Read + Send + 'static>, mut is_last: impl FnMut(&str) -> bool) -> String {
    let mut lines = BufReader::new(from.expect("its output")).lines().map_while(Result::ok);
    let mut read = String::new();
    for line in lines.by_ref() {
        read += &line;
        read.push('\n');
        if is_last(&line) {
            break;
        }
    }
    // Later output must not fill the pipe.
    thread::spawn(move || lines.for_each(drop));
    read
}

/// A running `tenure serve`.
pub struct Tenure {
    started: Started,
    pub address: String,
    pub banner: String,
    pub directory: PathBuf,
}

impl Tenure {
    /// Starts a server with its data in a directory.
    pub fn start(directory: &Path, arguments: &[&str]) -> Tenure {
        let mut lines = 0;
        let started = Started::printing(serve(directory, arguments).stderr(Stdio::null()), |_| {
            lines += 1;
            lines == 5
        });
        Tenure {
            address: started.address(),
            banner: started.printed.clone(),
            directory: directory.into(),
            started,
        }
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
        signal(&self.started.process, "TERM");
        self.wait()
    }

    pub fn signal(&self, name: &str) {
        signal(&self.started.process, name);
    }

    /// Waits for the server to end.
    pub fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.started.process.try_wait().expect("its status") {
                return status;
            }
            assert!(start.elapsed() < TIMEOUT, "the server does not stop");
            thread::sleep(Duration::from_millis(20));
        }
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
