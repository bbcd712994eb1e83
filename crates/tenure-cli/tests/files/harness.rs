//! The binary run on sample files, and snapshots of what it prints.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};
use tenure_value::{Limits, Value, json};

/// The output and the exit code of a command.
#[derive(Debug)]
pub struct CommandOutput {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
}

impl CommandOutput {
    /// Checks the exit code.
    #[track_caller]
    pub fn exits_with(self, code: i32) -> CommandOutput {
        assert_eq!(self.code, Some(code), "{}{}", self.text(), self.err);
        self
    }

    /// Returns what it printed.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// Returns the JSON that it printed.
    #[track_caller]
    pub fn json(&self) -> Value {
        json::parse(&self.out, &Limits::TRUSTED).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Checks that it printed what it printed when the snapshot was taken; UPDATE_SNAPSHOTS=1 updates it.
    #[track_caller]
    pub fn matches_snapshot(&self, name: &str) {
        let path = folder("snapshots").join(name);
        // Escape sequences are readable in the file.
        let printed = self.text().replace('\u{1b}', "␛");
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            fs::write(&path, &printed).expect("the snapshot");
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            printed == expected,
            "{name} was\n{expected}\nand is (UPDATE_SNAPSHOTS=1 updates it)\n{printed}"
        );
    }
}

/// Runs a command among the sample files, 100 columns wide.
pub fn tenure(line: &[&str]) -> CommandOutput {
    tenure_reading(line, b"")
}

/// Runs a command among the sample files with input.
pub fn tenure_reading(line: &[&str], input: &[u8]) -> CommandOutput {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tenure"))
        .args(line)
        .current_dir(folder("samples"))
        .env("COLUMNS", "100")
        .env("KUBECONFIG", "/nowhere")
        .env_remove("NO_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // A command that does not read its input closes it.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input));
    let output = child.wait_with_output().expect("the command ends");
    CommandOutput {
        code: output.status.code(),
        out: output.stdout,
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Returns the text of a sample.
pub fn sample(name: &str) -> String {
    fs::read_to_string(folder("samples").join(name)).expect("the sample")
}

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}
