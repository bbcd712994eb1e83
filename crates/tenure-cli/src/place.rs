//! Where a document was read, for messages.

use std::{fmt, path::Path, sync::Arc};

/// The name that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// Where a document was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    file: Arc<Path>,
    number: Option<usize>,
    item: Option<usize>,
}

impl Place {
    /// Returns the place of a whole file; `-` is standard input.
    pub fn of(file: &Path) -> Place {
        Place { file: Arc::from(file), number: None, item: None }
    }

    /// Returns the place of a document of the file, counted from 1.
    pub fn document(&self, number: usize) -> Place {
        Place { number: Some(number), ..self.clone() }
    }

    /// Returns the place of an item of a list, counted from 0.
    pub fn item(&self, at: usize) -> Place {
        Place { item: Some(at), ..self.clone() }
    }

    /// Returns the file; `-` for standard input.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file.as_os_str() == STANDARD_INPUT {
            true => f.write_str("standard input")?,
            false => write!(f, "{}", self.file.display())?,
        }
        if let Some(number) = self.number {
            write!(f, ", document {number}")?;
        }
        match self.item {
            Some(item) => write!(f, ", items[{item}]"),
            None => Ok(()),
        }
    }
}
