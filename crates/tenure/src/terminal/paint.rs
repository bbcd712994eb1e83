//! Colours by what they mean, not by how they look: the palette is one table, and text without colours says the same.

use std::fmt::{self, Display};

/// Whether text has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Escape sequences around what has a colour.
    Colours,
    /// The text alone.
    Plain,
}

/// What a piece of text is, and so how it is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The work of a manager, told apart from that of others by its number.
    Manager(usize),
    /// Something that comes to be.
    Added,
    /// Something that goes.
    Removed,
    /// Something that becomes something else.
    Changed,
    /// Something to look at before going on.
    Warning,
    /// Something that must be solved.
    Problem,
    /// Something of no importance here.
    Faint,
    /// A heading.
    Strong,
}

/// Colours that are readable on dark and on light ground; managers take them in turn.
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
    /// Returns text that prints in its colour.
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
            Paint::Plain => self.text.fmt(f),
            Paint::Colours => {
                write!(f, "\x1b[{}m", self.ink.code())?;
                self.text.fmt(f)?;
                f.write_str("\x1b[0m")
            }
        }
    }
}
