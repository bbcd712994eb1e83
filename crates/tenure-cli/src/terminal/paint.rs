//! Colours by meaning. Text without colours says the same. What is painted is [`visible`]: it brings no commands for the terminal.

use super::visible;
use std::{
    borrow::Cow,
    fmt::{self, Display},
};

/// Whether text has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// With escape sequences.
    Colours,
    /// Without.
    Plain,
}

/// The meaning of a piece of text, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// A manager, by number.
    Manager(usize),
    /// An addition.
    Added,
    /// A removal.
    Removed,
    /// A change.
    Changed,
    /// A warning.
    Warning,
    /// A problem.
    Problem,
    /// Something less important.
    Faint,
    /// A heading.
    Strong,
}

/// The colours of managers, readable on dark and light backgrounds.
const MANAGERS: [&str; 6] = ["36", "33", "35", "32", "34", "31"];

impl Ink {
    fn code(self) -> &'static str {
        match self {
            Ink::Manager(number) => MANAGERS[number % MANAGERS.len()],
            Ink::Added => "32",
            Ink::Removed => "31",
            Ink::Changed => "33",
            Ink::Warning => "33",
            Ink::Problem => "1;31",
            Ink::Faint => "2",
            Ink::Strong => "1",
        }
    }
}

impl Paint {
    /// Returns text that is printed in its colour.
    pub fn ink<T: Display>(self, ink: Ink, text: T) -> Painted<T> {
        Painted { paint: self, ink, text }
    }
}

/// Text with its colour; widths and alignments are those of the text.
pub struct Painted<T> {
    paint: Paint,
    ink: Ink,
    text: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.paint {
            Paint::Plain => self.shown(f),
            Paint::Colours => {
                write!(f, "\x1b[{}m", self.ink.code())?;
                self.shown(f)?;
                f.write_str("\x1b[0m")
            }
        }
    }
}

impl<T: Display> Painted<T> {
    fn shown(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match visible(&self.text.to_string()) {
            // As it is, with its own alignment.
            Cow::Borrowed(_) => self.text.fmt(f),
            Cow::Owned(text) => f.pad(&text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_end_its_colour_or_begin_another() {
        let hidden = "name\u{1b}[0m\u{1b}[8m";
        assert_eq!(
            Paint::Colours.ink(Ink::Strong, hidden).to_string(),
            "\x1b[1mname\\u{1b}[0m\\u{1b}[8m\x1b[0m"
        );
        assert_eq!(Paint::Plain.ink(Ink::Strong, hidden).to_string(), "name\\u{1b}[0m\\u{1b}[8m");
        assert_eq!(format!("{:>4}", Paint::Plain.ink(Ink::Faint, 7)), "   7");
    }
}
