//! Flags in the syntax of Go programs, which differs from that of Tenure's own commands: a switch takes its value after
//! `=` only, a flag may be repeated, and a flag that is not known is an error in Go's words.

use std::collections::BTreeMap;

/// How a flag is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `--name`, `--name=true` or `--name=false`.
    Switch,
    /// `--name=value` or `--name value`.
    Value,
}

/// The syntax of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Two dashes, or one before a single letter; underscores are dashes. The syntax of kube-apiserver.
    Posix,
    /// One dash or two. The syntax of etcd.
    Go,
}

/// What is wrong with a command line, in the words of Go's flag libraries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// The program has no such flag.
    #[error("unknown flag: --{0}")]
    Unknown(String),
    /// The program has no flag of this letter.
    #[error("unknown shorthand flag: '{letter}' in {argument}")]
    UnknownShorthand {
        /// The letter.
        letter: char,
        /// The argument that contains it.
        argument: String,
    },
    /// The value of a flag is missing.
    #[error("flag needs an argument: --{0}")]
    NeedsArgument(String),
    /// The value of a flag is wrong.
    #[error("invalid argument {value:?} for \"--{flag}\" flag: {reason}")]
    Invalid {
        /// The flag.
        flag: String,
        /// Its value.
        value: String,
        /// What would be right.
        reason: String,
    },
    /// The flag exists in Kubernetes and needs something that Tenure does not have.
    #[error("flag not supported by Tenure: --{flag}: {reason}")]
    Unsupported {
        /// The flag.
        flag: String,
        /// What is missing.
        reason: &'static str,
    },
    /// An argument that does not begin with a dash.
    #[error("unexpected argument {0:?}: all settings are flags")]
    Positional(String),
}

/// The flags of a command line with their values, in the order in which they were given.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Flags(BTreeMap<String, Vec<String>>);

impl Flags {
    /// Reads a command line. `kind` knows the flags of the program.
    pub fn parse(
        arguments: &[String],
        syntax: Syntax,
        kind: impl Fn(&str) -> Option<Kind>,
    ) -> Result<Flags, FlagError> {
        let mut flags = Flags::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let Some((name, given)) = split(argument, syntax, &kind)? else {
                // Everything behind `--` is positional.
                match arguments.next() {
                    Some(argument) => return Err(FlagError::Positional(argument.clone())),
                    None => break,
                }
            };
            let value = match (kind(&name), given) {
                (None, _) => return Err(FlagError::Unknown(name)),
                (Some(Kind::Switch), given) => switch(&name, given.unwrap_or("true"))?.to_string(),
                (Some(Kind::Value), Some(value)) => value.to_owned(),
                (Some(Kind::Value), None) => {
                    arguments.next().ok_or_else(|| FlagError::NeedsArgument(name.clone()))?.clone()
                }
            };
            flags.0.entry(name).or_default().push(value);
        }
        Ok(flags)
    }

    /// Returns the last value of a flag.
    pub fn last(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.last().map(String::as_str)
    }

    /// Returns all values of a flag, each as it was given.
    pub fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the entries of a flag that takes a list; `None` if it was not given.
    pub fn list(&self, name: &str) -> Option<Vec<String>> {
        let values = self.0.get(name)?;
        let entries = values.iter().flat_map(|value| value.split(','));
        Some(entries.map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect())
    }

    /// Returns the value of a switch.
    pub fn switch(&self, name: &str) -> Option<bool> {
        self.last(name).map(|value| value == "true")
    }

    /// Returns the last value of a flag as a type that can be parsed; `expected` describes it.
    pub fn parsed<T: std::str::FromStr>(
        &self,
        name: &str,
        expected: &'static str,
    ) -> Result<Option<T>, FlagError> {
        let parse = |value: &str| value.parse().map_err(|_| invalid(name, value, expected));
        self.last(name).map(parse).transpose()
    }

    /// Returns the names of the flags that were given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Returns the error of a wrong value.
pub fn invalid(flag: &str, value: &str, reason: impl Into<String>) -> FlagError {
    FlagError::Invalid { flag: flag.to_owned(), value: value.to_owned(), reason: reason.into() }
}

/// Splits an argument into the name of a flag and the value behind `=`; `None` for `--`.
fn split(
    argument: &str,
    syntax: Syntax,
    kind: impl Fn(&str) -> Option<Kind>,
) -> Result<Option<(String, Option<&str>)>, FlagError> {
    let (body, short) = match (argument.strip_prefix("--"), argument.strip_prefix('-')) {
        (Some(""), _) => return Ok(None),
        (Some(body), _) => (body, false),
        (None, Some(body)) if !body.is_empty() => (body, syntax == Syntax::Posix),
        _ => return Err(FlagError::Positional(argument.to_owned())),
    };
    if short {
        // One letter, whose value may follow without `=`.
        let letter = body.chars().next().unwrap_or_default();
        let name = letter.to_string();
        let rest = &body[letter.len_utf8()..];
        return match (kind(&name), rest) {
            (None, _) => Err(FlagError::UnknownShorthand { letter, argument: argument.to_owned() }),
            (Some(_), "") => Ok(Some((name, None))),
            (Some(_), rest) => Ok(Some((name, Some(rest.strip_prefix('=').unwrap_or(rest))))),
        };
    }
    let (name, value) = match body.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (body, None),
    };
    let name = if syntax == Syntax::Posix { name.replace('_', "-") } else { name.to_owned() };
    Ok(Some((name, value)))
}

fn switch(name: &str, value: &str) -> Result<bool, FlagError> {
    match value {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(invalid(name, value, "expected true or false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str, syntax: Syntax) -> Result<Flags, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let kind = |name: &str| match name {
            "on" | "h" => Some(Kind::Switch),
            "bind-address" | "names" | "v" => Some(Kind::Value),
            _ => None,
        };
        Flags::parse(&arguments, syntax, kind).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_read_in_every_form() {
        for (line, name, values) in [
            ("--bind-address=a", "bind-address", &["a"][..]),
            ("--bind-address a", "bind-address", &["a"]),
            ("--bind-address=", "bind-address", &[""]),
            ("--bind-address=a=b", "bind-address", &["a=b"]),
            ("--bind_address a --bind-address=b", "bind-address", &["a", "b"]),
            ("--bind-address --on", "bind-address", &["--on"]),
            ("--on", "on", &["true"]),
            ("--on=F", "on", &["false"]),
            ("-v 4", "v", &["4"]),
            ("-v4", "v", &["4"]),
            ("-v=4", "v", &["4"]),
            ("--v=4", "v", &["4"]),
            ("--on --", "on", &["true"]),
        ] {
            assert_eq!(parse(line, Syntax::Posix).unwrap().all(name), values, "{line}");
        }
        for line in ["-bind-address a", "--bind-address a", "-bind-address=a", "--bind-address=a"] {
            assert_eq!(parse(line, Syntax::Go).unwrap().last("bind-address"), Some("a"), "{line}");
        }
        let flags = parse("--names=a,b --names= --names c", Syntax::Posix).unwrap();
        assert_eq!(flags.list("names").unwrap(), ["a", "b", "c"]);
        assert_eq!(parse("--names=", Syntax::Posix).unwrap().list("names"), Some(Vec::new()));
        assert_eq!(parse("", Syntax::Posix).unwrap().list("names"), None);
    }

    #[test]
    fn errors_name_what_is_wrong() {
        for (line, error) in [
            ("--nope", "unknown flag: --nope"),
            ("--nope=1", "unknown flag: --nope"),
            ("-x", "unknown shorthand flag: 'x' in -x"),
            ("-é", "unknown shorthand flag: 'é' in -é"),
            ("--bind-address", "flag needs an argument: --bind-address"),
            ("--on=maybe", r#"invalid argument "maybe" for "--on" flag: expected true or false"#),
            ("--on true", r#"unexpected argument "true": all settings are flags"#),
            ("extra", r#"unexpected argument "extra": all settings are flags"#),
            ("-- --on", r#"unexpected argument "--on": all settings are flags"#),
            ("-", r#"unexpected argument "-": all settings are flags"#),
        ] {
            assert_eq!(parse(line, Syntax::Posix).unwrap_err(), error, "{line}");
        }
        assert_eq!(parse("-nope", Syntax::Go).unwrap_err(), "unknown flag: --nope");
    }
}
