//! Tenure as a plugin of `kubectl`: started as `kubectl-tenure` it calls itself `kubectl tenure`, and in either case the flags that choose
//! the server may stand before the command, as people are used to.

use crate::{connection::Connection, started};
use clap::Arg;
use std::{
    ffi::{OsStr, OsString},
    path::Path,
    sync::OnceLock,
};

/// Returns how the program is called: `tenure`, or `kubectl tenure`.
pub fn program() -> &'static str {
    static NAME: OnceLock<&str> = OnceLock::new();
    NAME.get_or_init(|| name(started::name()))
}

fn name(started: &OsStr) -> &'static str {
    let file = Path::new(started).file_name().unwrap_or_default().to_string_lossy();
    if file.starts_with("kubectl-tenure") { "kubectl tenure" } else { "tenure" }
}

/// Returns the words of a command line with the flags before the command behind it; `position` says where in the rest they go.
pub fn reordered(words: Vec<OsString>, position: Position) -> Vec<OsString> {
    let flags = Connection::command();
    let (mut kept, mut moved, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        let Some(name) = text.strip_prefix('-').filter(|name| !name.is_empty() && text != "--") else {
            rest.push(word);
            rest.extend(words);
            break;
        };
        let known = flags.get_arguments().find(|flag| is_it(flag, name));
        let takes_next = match known {
            Some(flag) => flag.get_action().takes_values() && is_alone(flag, name),
            None => matches!(name, "-color" | "-width"),
        };
        let into = if known.is_some() { &mut moved } else { &mut kept };
        into.push(word);
        into.extend(words.next_if(|_| takes_next));
    }
    let at = match position {
        Position::AfterCommand => rest.len().min(1),
        Position::AtEnd => rest.iter().position(|word| word == "--").unwrap_or(rest.len()),
    };
    rest.splice(at..at, moved);
    kept.into_iter().chain(rest).collect()
}

/// Where flags go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Directly behind the command.
    AfterCommand,
    /// Behind everything else, but for what follows `--`.
    AtEnd,
}

/// Whether a word without its first dash is a flag, with or without a value.
fn is_it(flag: &Arg, name: &str) -> bool {
    match name.strip_prefix('-') {
        Some(long) => flag.get_long() == Some(long.split('=').next().unwrap_or_default()),
        None => flag.get_short().is_some_and(|short| name.starts_with(short)),
    }
}

/// Whether the value of a flag is the next word.
fn is_alone(flag: &Arg, name: &str) -> bool {
    let is_optional = flag.get_num_args().is_some_and(|number| number.min_values() == 0);
    match name.starts_with('-') {
        true => !name.contains('=') && !is_optional,
        false => name.chars().count() == 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_before_the_command_go_behind_it() {
        for (typed, read) in [
            ("-n shop blame deploy/web", "blame deploy/web -n shop"),
            ("-nshop --context=c blame deploy/web", "blame deploy/web -nshop --context=c"),
            (
                "--color always --context c helm check web -- x",
                "--color always helm check web --context c -- x",
            ),
            ("--insecure-skip-tls-verify plan -f a", "plan -f a --insecure-skip-tls-verify"),
            ("blame -n shop deploy/web", "blame -n shop deploy/web"),
            ("--help", "--help"),
            ("-n", "-n"),
        ] {
            let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
            assert_eq!(reordered(words(typed), Position::AtEnd), words(read), "{typed}");
        }
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(reordered(words("-n shop blame dep"), Position::AfterCommand), words("blame -n shop dep"));
    }

    #[test]
    fn a_plugin_is_called_as_people_call_it() {
        assert_eq!(name(OsStr::new("/usr/local/bin/kubectl-tenure")), "kubectl tenure");
        assert_eq!(name(OsStr::new("tenure")), "tenure");
    }
}
