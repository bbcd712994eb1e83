//! `tenure man`: manual pages, generated from the definition of the command line.

use crate::{Error, Outcome, help, terminal::Terminal};
use clap::{Args, Command};
use clap_mangen::Man;
use std::path::PathBuf;

/// Print the manual page of a command, or write all of them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tenure man | man -l -
  tenure man patch three-way | man -l -
  tenure man --dir /usr/local/share/man/man1")]
pub struct Options {
    /// The command [default: tenure itself].
    command: Vec<String>,
    /// Write the pages of all commands into this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    dir: Option<PathBuf>,
}

/// Prints or writes pages.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let program = help::command();
    if let Some(directory) = options.dir {
        let failed = |source| Error::Write { path: directory.clone(), source };
        std::fs::create_dir_all(&directory).map_err(failed)?;
        clap_mangen::generate_to(program, &directory).map_err(failed)?;
        return Ok(Outcome::Done);
    }
    let command = find(program, &options.command)?;
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(Error::output)?;
    terminal.print(page)?;
    Ok(Outcome::Done)
}

/// Returns a command, with the name of its page.
fn find(mut program: Command, names: &[String]) -> Result<Command, Error> {
    program.build();
    let mut command = &program;
    for name in names {
        let below = command.get_subcommands().find(|below| below.get_name() == name);
        command = below.ok_or_else(|| {
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            Error::usage(format!("unknown command {name:?}; the commands are {}", known.join(", ")))
        })?;
    }
    Ok(command.clone())
}
