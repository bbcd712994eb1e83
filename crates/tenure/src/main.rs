//! The `tenure` binary: reads the command line, runs the command, and turns what went wrong into one clear line.
//! Whatever reaches the terminal goes through [`terminal`]; how a command ends is an [`Outcome`].

mod cluster;
mod command;
#[cfg(feature = "etcd")]
mod control;
mod document;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
mod handover;
mod holder;
mod kinds;
mod live;
mod outcome;
mod plan;
mod terminal;
mod types;

use clap::Parser;
use error::Error;
use outcome::Outcome;
use std::process::ExitCode;

/// Allocation is a third of a request's cost with the system's allocator; this one was measured to be faster.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A control plane for declarative objects that knows who holds every field.
#[derive(Parser)]
#[command(name = "tenure", version, about, propagate_version = true)]
struct Arguments {
    #[command(flatten)]
    appearance: terminal::Appearance,
    #[command(subcommand)]
    command: command::Command,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(said) => return explain(&said),
    };
    let terminal = arguments.appearance.terminal();
    match arguments.command.run(&terminal) {
        Ok(outcome) => outcome.into(),
        Err(Error::ClosedOutput) => ExitCode::SUCCESS,
        Err(error) => {
            terminal.complain(&error);
            Outcome::of_error(&error)
        }
    }
}

/// Prints help, the version or what is wrong with the command line. The parser's own code for the latter is what
/// `plan` says when there are changes.
fn explain(said: &clap::Error) -> ExitCode {
    // There is nobody to tell where printing fails.
    let _ = said.print();
    if said.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }
}
