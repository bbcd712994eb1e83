//! The terminal: colours, width, the clock, and whether a person can be asked. Nothing else reads the environment, so the
//! same [`Terminal`] gives the same output.

mod format;
mod pager;
mod paint;
mod progress;
mod quoted;
mod table;
mod visible;
mod wrap;

pub use format::Format;
pub use pager::Pager;
pub use paint::{Ink, Paint};
pub use progress::Progress;
pub use quoted::{command_lines, quoted, set_variable};
pub use table::table;
pub use visible::visible;
pub use wrap::{columns, padded, shortened, wrapped};

use crate::Error;
use clap::{Args, ValueEnum};
use std::{
    fmt::Display,
    io::{BufRead, IsTerminal, Write},
    time::{SystemTime, UNIX_EPOCH},
};
use tenure_apply::Timestamp;
use tenure_value::Value;

/// The width of a terminal that does not tell it.
const WIDTH: usize = 100;

/// The width of a file or a pipe, which get whole values.
const UNLIMITED: usize = 1 << 20;

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

/// The flags of every command for the appearance of output.
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
    /// The width of output in columns [default: that of the terminal; without one, lines are not cut].
    #[arg(
        long,
        global = true,
        value_name = "COLUMNS",
        env = "COLUMNS",
        hide_env = true,
        hide_short_help = true
    )]
    width: Option<usize>,
    /// Do not show long output in a pager.
    #[arg(long, global = true, hide_short_help = true)]
    no_pager: bool,
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
        let size = terminal_size::terminal_size_of(std::io::stdout());
        let found = || match shown {
            true => size.map_or(WIDTH, |(width, _)| usize::from(width.0)),
            false => UNLIMITED,
        };
        let width = self.width.filter(|width| *width > 0).unwrap_or_else(found);
        let interactive = shown && std::io::stdin().is_terminal();
        Terminal {
            paint: if colours { Paint::Colours } else { Paint::Plain },
            width,
            audience: if interactive { Audience::Person } else { Audience::Program },
            now: now(),
            pager: (shown && !self.no_pager)
                .then(|| Pager { height: size.map_or(24, |(_, height)| usize::from(height.0)) }),
        }
    }
}

/// Returns the time; SOURCE_DATE_EPOCH overrides it, so that output is reproducible.
pub fn now() -> Timestamp {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    Timestamp::from_unix(given.unwrap_or_else(clock))
}

/// Who reads the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A person at a terminal, who can be asked.
    Person,
    /// A file, a pipe or another program.
    Program,
}

/// How output should look.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Whether text has colours.
    pub paint: Paint,
    /// The number of columns of a line.
    pub width: usize,
    /// Who reads it.
    pub audience: Audience,
    /// The current time.
    pub now: Timestamp,
    /// How long output is shown page by page, on a terminal.
    pub pager: Option<Pager>,
}

impl Terminal {
    /// Writes the result of a command to standard output: in a pager, if it is longer than the terminal.
    pub fn show(&self, text: &str) -> Result<(), Error> {
        match &self.pager {
            Some(pager) if pager.is_for(text) => pager.show(text),
            _ => self.print(text),
        }
    }

    /// Writes text to standard output.
    pub fn print(&self, text: impl AsRef<[u8]>) -> Result<(), Error> {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_ref()).and_then(|()| out.flush()).map_err(Error::output)
    }

    /// Writes a document to standard output.
    pub fn print_value(&self, value: &Value, format: Format) -> Result<(), Error> {
        self.print(format.render(value))
    }

    /// Writes a line that is not part of the result to standard error.
    pub fn note(&self, text: impl Display) {
        // An error of writing to standard error cannot be reported.
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    /// Asks a question on standard error and reads one line; `None` at the end of input. Connections are kept while a person thinks.
    pub async fn ask(&self, question: String) -> Result<Option<String>, Error> {
        let answer = tokio::task::spawn_blocking(move || {
            let mut error = std::io::stderr();
            // A question that cannot be shown can still be answered.
            let _ = write!(error, "{question}").and_then(|()| error.flush());
            let mut answer = String::new();
            let read = std::io::stdin().lock().read_line(&mut answer)?;
            Ok((read > 0).then(|| answer.trim().to_owned()))
        });
        answer.await.unwrap_or_else(|error| Err(std::io::Error::other(error))).map_err(Error::Input)
    }

    /// Writes an error to standard error, wrapped for a terminal.
    pub fn error(&self, error: &Error) {
        let text = format!("tenure: {error}");
        let size = terminal_size::terminal_size_of(std::io::stderr());
        match size.filter(|_| std::io::stderr().is_terminal()) {
            Some((width, _)) => self.note(wrapped(&text, usize::from(width.0)).join("\n")),
            None => self.note(text),
        }
    }
}
