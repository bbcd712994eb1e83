//! The definition of the command line as help, manual pages and completions show it. Paragraphs are wrapped once, for the width at which
//! they are read.

use crate::{Arguments, plugin};
use clap::{Command, CommandFactory, builder::StyledStr};

/// The widest help; longer lines are hard to read.
const WIDEST: usize = 110;

/// Returns the definition of all commands.
pub fn command() -> Command {
    prepared(Arguments::command().max_term_width(WIDEST).bin_name(plugin::program()))
}

fn prepared(command: Command) -> Command {
    let after = command.get_after_help().map(|text| called(unwrapped(&text.to_string()), plugin::program()));
    let command = match after {
        Some(text) => command.after_help(StyledStr::from(text)),
        None => command,
    };
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| command.mut_subcommand(name, prepared))
}

/// Writes examples as the program is called.
fn called(text: String, program: &str) -> String {
    match program {
        "tenure" => text,
        program => text
            .replace("  tenure ", &format!("  {program} "))
            .replace("| tenure ", &format!("| {program} "))
            .replace("`tenure ", &format!("`{program} ")),
    }
}

/// Joins the lines of paragraphs, which are wrapped in the source; examples and lists stay as they are.
fn unwrapped(text: &str) -> String {
    let paragraph = |paragraph: &str| {
        let mut lines: Vec<String> = Vec::new();
        for line in paragraph.lines() {
            let continues = !line.starts_with([' ', '-']) && !lines.is_empty();
            match lines.last_mut() {
                Some(last) if continues && !last.starts_with(' ') && !last.ends_with(':') => {
                    *last += &format!(" {line}")
                }
                _ => lines.push(line.to_owned()),
            }
        }
        lines.join("\n")
    };
    text.split("\n\n").map(paragraph).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_one_line_and_examples_stay() {
        let text = "One sentence\nthat goes on.\n\nAnother.\n\nExamples:\n  tenure blame x\n  tenure blame y";
        let wanted =
            "One sentence that goes on.\n\nAnother.\n\nExamples:\n  tenure blame x\n  tenure blame y";
        assert_eq!(unwrapped(text), wanted);
    }

    #[test]
    fn every_command_has_two_examples() {
        fn check(command: &Command, name: &str) {
            let below: Vec<&Command> =
                command.get_subcommands().filter(|below| !below.is_hide_set()).collect();
            if below.is_empty() {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                let examples = help.split("Examples:").nth(1).unwrap_or_default();
                let count = examples.lines().filter(|line| line.contains(name)).count();
                assert!(count >= 2, "{name} has {count} examples:\n{help}");
                // One that a terminal of 100 columns breaks cannot be pasted.
                let long: Vec<&str> = examples.lines().filter(|line| line.len() > 100).collect();
                assert!(long.is_empty(), "{name}: {long:?}");
            }
            for below in below {
                check(below, &format!("{name} {}", below.get_name()));
            }
        }
        check(&command(), "tenure");
    }
}
