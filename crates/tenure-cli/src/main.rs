//! The `tenure` binary: parses the command line, runs the command, and prints errors. All output goes through [`terminal`];
//! the exit code is an [`Outcome`]. Started as `kube-apiserver` or `etcd`, it acts as that program ([`envtest`]).
//!
//! The crate exists because only a program may know terminals, flags and the home directory. It does not know how a write is decided.
//! Internal: its interface is the command line (`docs/commands.md`).

mod aggregation;
mod audit;
mod authorization;
mod autoscalers;
mod change_log;
mod change_text;
mod check;
mod clone;
mod command;
mod compatibility;
mod connection;
#[cfg(feature = "etcd")]
mod control;
mod control_plane;
mod controllers;
mod document;
mod encryption;
mod envtest;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
mod feature_gates;
mod field_lines;
mod handover;
mod help;
mod history;
mod history_source;
mod identity;
mod kinds;
mod limits;
mod logging;
mod memory;
mod moment;
mod oidc;
mod outcome;
mod page;
mod past;
mod place;
mod plan_text;
mod plan_view;
mod plugin;
mod recorder_files;
mod recorder_manifest;
mod saved_plan;
mod sign_in;
mod signal;
mod source;
mod targets;
mod terminal;
mod types;
mod undo_files;
mod version;

use clap::{FromArgMatches, Parser};
use error::Error;
use outcome::Outcome;
use std::{path::Path, process::ExitCode};

/// Allocation takes a third of the time of a request with the system's allocator; mimalloc was measured to be faster.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A Kubernetes-compatible control plane, and tools for field ownership in any Kubernetes cluster.
#[derive(Parser)]
#[command(name = "tenure", version, long_version = version::long(), about, propagate_version = true)]
struct Arguments {
    #[command(flatten)]
    appearance: terminal::Appearance,
    #[command(subcommand)]
    command: command::Command,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    if let Some(program) = envtest::Program::of_path(Path::new(&name)) {
        return program.run(arguments);
    }
    let words = plugin::reordered(arguments.collect(), plugin::Position::AtEnd);
    let parsed = help::command().try_get_matches_from([name].into_iter().chain(words));
    let arguments = match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => return explain(&error),
    };
    let terminal = arguments.appearance.terminal();
    match arguments.command.run(&terminal) {
        Ok(outcome) => outcome.into(),
        Err(Error::ClosedOutput) => ExitCode::SUCCESS,
        Err(error) => {
            terminal.error(&error);
            Outcome::of_error(&error)
        }
    }
}

/// Prints the help, the version or an error of the command line. The parser's own exit code for errors, 2, means changes here.
fn explain(error: &clap::Error) -> ExitCode {
    // An error of printing cannot be reported.
    let _ = error.print();
    if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
