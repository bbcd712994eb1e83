//! `tenure completions`: shell completions, generated from the definition of the command line.

use crate::{Arguments, Error, Outcome, terminal::Terminal};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Print shell completions.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tenure completions bash > /etc/bash_completion.d/tenure
  tenure completions zsh > \"${fpath[1]}/_tenure\"
  tenure completions fish > ~/.config/fish/completions/tenure.fish")]
pub struct Options {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the completions.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "tenure", &mut script);
    terminal.print(script)?;
    Ok(Outcome::Done)
}
