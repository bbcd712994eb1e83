//! The program `tenure`: parses the command line, runs the command, and prints errors. All output goes through the module `terminal`;
//! the exit code is an `Outcome`. Started as `kube-apiserver` or `etcd`, it acts as that program (module `envtest`).
//!
//! The crate exists because only a program may know terminals, flags and the home directory. It does not know how a write is decided.
//! It is a library so that packages for other languages run the same program; [`run`] is all that they call.
//! Internal: its interface is the command line (`docs/commands.md`).

mod admission_manifests;
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
mod object_identity;
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
mod started;
mod state;
mod targets;
mod terminal;
mod types;
mod undo_files;
mod version;

use clap::{Args, FromArgMatches, Parser};
use error::Error;
use outcome::Outcome;
use std::{ffi::OsString, path::Path};

/// A Kubernetes-compatible control plane, and tools for field ownership in any Kubernetes cluster.
#[derive(Parser)]
#[command(name = "tenure", version, long_version = version::long(), about, propagate_version = true)]
struct Arguments {
    #[command(flatten)]
    appearance: terminal::Appearance,
    #[command(subcommand)]
    command: command::Command,
}

/// Runs the program with its command line, the first word of which is the path that it was started by, and returns the exit code.
pub fn run(command_line: impl IntoIterator<Item = OsString>) -> u8 {
    let mut arguments = command_line.into_iter();
    let name = arguments.next().unwrap_or_default();
    started::remember(&name);
    if let Some(program) = envtest::Program::of_path(Path::new(&name)) {
        return program.run(Path::new(&name), arguments);
    }
    let words = plugin::reordered(arguments.collect(), plugin::Position::AtEnd);
    let words: Vec<OsString> = [name].into_iter().chain(words).collect();
    let alone = words.get(1).and_then(|word| definition_of(word.to_str()?));
    let parsed = alone.and_then(|command| parse(command, &words).ok());
    let arguments = match parsed.map_or_else(|| parse(help::command(), &words), Ok) {
        Ok(arguments) => arguments,
        Err(error) => return explain(&error),
    };
    let terminal = arguments.appearance.terminal();
    match arguments.command.run(&terminal) {
        Ok(outcome) => outcome.exit_code(),
        Err(Error::ClosedOutput) => Outcome::Done.exit_code(),
        Err(error) => {
            terminal.error(&error);
            outcome::FAILED
        }
    }
}

/// Returns the definition of one command alone, if there is one of this name: whatever it parses, the whole definition parses in the same
/// way, which takes longer to make than many commands take to run. It is not for errors and help.
fn definition_of(name: &str) -> Option<clap::Command> {
    let definition = terminal::Appearance::augment_args(clap::Command::new("tenure"));
    command::Command::augment_one(definition, name)
}

fn parse(definition: clap::Command, words: &[OsString]) -> Result<Arguments, clap::Error> {
    Arguments::from_arg_matches(&definition.try_get_matches_from(words)?)
}

/// Prints the help, the version or an error of the command line. The parser's own exit code for errors, 2, means changes here.
fn explain(error: &clap::Error) -> u8 {
    // An error of printing cannot be reported.
    let _ = error.print();
    if error.use_stderr() { outcome::FAILED } else { Outcome::Done.exit_code() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_command_alone_is_defined_as_among_the_others() {
        fn describe(command: &clap::Command) -> String {
            let arguments: Vec<String> =
                command.get_arguments().map(|argument| format!("{argument:?}")).collect();
            let below: Vec<String> = command.get_subcommands().map(describe).collect();
            format!("{} {} {}", command.get_name(), arguments.join("\n"), below.join("\n"))
        }
        let all = Arguments::command();
        for command in all.get_subcommands() {
            let alone = definition_of(command.get_name()).expect("each has a definition of its own");
            let alone: Vec<String> = alone.get_subcommands().map(describe).collect();
            assert_eq!(alone, [describe(command)]);
        }
        assert!(definition_of("nothing").is_none());
    }
}
