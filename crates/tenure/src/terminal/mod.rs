//! The terminal as commands see it: whether it has colours, how wide it is, whether someone sits there. Nothing else
//! asks the environment, so the same [`Terminal`] gives the same output.

mod format;
mod paint;
mod progress;
mod words;

pub use format::Format;
pub use paint::{Ink, Paint};
pub use progress::Progress;
pub use words::{age, shortened};

use crate::Error;
use clap::{Args, ValueEnum};
use std::{
    fmt::Display,
    io::{BufRead, IsTerminal, Write},
    time::{SystemTime, UNIX_EPOCH},
};
use tenure_apply::Timestamp;
use tenure_value::Value;

/// How wide output is where nothing says.
const WIDTH: usize = 100;

/// When output has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Flags of every command that say how output looks.
#[derive(Args)]
pub struct Appearance {
    /// When to use colours.
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_possible_values = true
    )]
    #[arg(help = "When to use colours: auto, always or never")]
    color: Colour,
    /// How wide output is, in characters; the terminal's width where nothing is said.
    #[arg(
        long,
        global = true,
        value_name = "COLUMNS",
        env = "COLUMNS",
        hide_env = true,
        hide_short_help = true
    )]
    width: Option<usize>,
}

impl Appearance {
    /// Returns the terminal that these flags and the environment describe.
    pub fn terminal(&self) -> Terminal {
        let shown = std::io::stdout().is_terminal();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colours = match self.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => shown && !plain,
        };
        let found = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = self.width.or_else(found).filter(|width| *width > 0).unwrap_or(WIDTH);
        let someone = shown && std::io::stdin().is_terminal();
        Terminal {
            paint: if colours { Paint::Colours } else { Paint::Plain },
            width,
            audience: if someone { Audience::Person } else { Audience::Program },
            now: now(),
        }
    }
}

/// Returns the time, or the one that SOURCE_DATE_EPOCH gives so that output can be made twice the same.
fn now() -> Timestamp {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    Timestamp::from_unix(given.unwrap_or_else(clock))
}

/// Who reads the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Someone at a terminal, who can be asked.
    Person,
    /// A file, a pipe, another program.
    Program,
}

/// Where output goes and how it should look.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Whether text has colours.
    pub paint: Paint,
    /// How many characters fit on a line.
    pub width: usize,
    /// Who reads it.
    pub audience: Audience,
    /// The time from which ages are counted.
    pub now: Timestamp,
}

impl Terminal {
    /// Writes text to standard output.
    pub fn print(&self, text: impl AsRef<[u8]>) -> Result<(), Error> {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_ref()).and_then(|()| out.flush()).map_err(Error::output)
    }

    /// Writes a document to standard output in one of the formats for programs.
    pub fn print_value(&self, value: &Value, format: Format) -> Result<(), Error> {
        self.print(format.render(value))
    }

    /// Writes a line about the work, not part of its result, to standard error.
    pub fn note(&self, text: impl Display) {
        // There is nobody to tell where this fails.
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    /// Asks a question on standard error and reads the line that answers it; nothing where the input has ended.
    pub fn ask(&self, question: &str) -> Result<Option<String>, Error> {
        let mut error = std::io::stderr();
        // Whoever does not see the question still may answer it.
        let _ = write!(error, "{question}").and_then(|()| error.flush());
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer).map_err(Error::Input)?;
        Ok((read > 0).then(|| answer.trim().to_owned()))
    }

    /// Writes what went wrong to standard error.
    pub fn complain(&self, error: &Error) {
        self.note(format_args!("tenure: {error}"));
    }
}
