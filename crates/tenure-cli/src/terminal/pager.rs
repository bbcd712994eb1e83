//! A pager for output that is longer than the terminal: `PAGER`, or `less` as git calls it.

use crate::Error;
use std::{
    io::{ErrorKind, Write},
    process::{Command, Stdio},
};

/// The pager if PAGER is not set. It ends at once where the text fits, keeps colours, and leaves the text on the screen.
const DEFAULT: &str = "less";
const LESS: &str = "FRX";

/// The pager of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pager {
    /// The lines of the terminal.
    pub height: usize,
}

impl Pager {
    /// Whether a text is longer than the terminal.
    pub fn is_for(&self, text: &str) -> bool {
        text.lines().count() >= self.height
    }

    /// Shows a text, and waits until it was read. Where there is no pager the text is printed.
    pub fn show(&self, text: &str) -> Result<(), Error> {
        let chosen = std::env::var("PAGER").ok().filter(|pager| !pager.trim().is_empty());
        let chosen = chosen.unwrap_or_else(|| DEFAULT.to_owned());
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("exec {chosen}")).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", LESS);
        }
        let program = chosen.split(' ').next().unwrap_or_default();
        let mut find = Command::new("sh");
        find.args(["-c", "command -v \"$0\"", program]).stdout(Stdio::null());
        let is_found = find.status().is_ok_and(|status| status.success());
        let mut child = match is_found.then(|| command.spawn()) {
            Some(Ok(child)) => child,
            _ => return print(text),
        };
        if let Some(mut input) = child.stdin.take() {
            match input.write_all(text.as_bytes()) {
                // The reader has seen enough.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(error) => return Err(Error::Output(error)),
                Ok(()) => {}
            }
        }
        child.wait().map(drop).map_err(Error::Output)
    }
}

fn print(text: &str) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Error::output)
}
