//! The path of a field, as messages write it: `spec.containers[0].ports[1].name`, `metadata.labels[a b]`. It
//! lives on the stack of the walk and costs nothing until it is printed.

use std::fmt::{self, Write};

/// The path from the root of an object to one of its fields.
#[derive(Clone, Copy)]
pub struct FieldPath<'p> {
    parent: Option<&'p FieldPath<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Field(&'p str),
    Index(usize),
    Key(&'p str),
}

impl<'p> FieldPath<'p> {
    /// Returns the path of the object itself.
    pub const fn root() -> FieldPath<'p> {
        FieldPath { parent: None, step: Step::Root }
    }

    /// Returns the path of a field.
    pub fn field<'c>(&'c self, name: &'c str) -> FieldPath<'c> {
        FieldPath { parent: Some(self), step: Step::Field(name) }
    }

    /// Returns the path of an item of a list.
    pub fn index<'c>(&'c self, at: usize) -> FieldPath<'c> {
        FieldPath { parent: Some(self), step: Step::Index(at) }
    }

    /// Returns the path of an entry of a map, written in brackets.
    pub fn key<'c>(&'c self, key: &'c str) -> FieldPath<'c> {
        FieldPath { parent: Some(self), step: Step::Key(key) }
    }
}

impl<'p> FieldPath<'p> {
    /// Returns the place of an item in its list; `None` if the path does not end with one.
    pub fn last_index(&self) -> Option<usize> {
        match self.step {
            Step::Index(at) => Some(at),
            _ => None,
        }
    }

    /// Returns the names on the path, from the root; `None` stands for the index of an item.
    pub fn names(&self) -> Vec<Option<&'p str>> {
        let mut names = self.parent.map(|parent| parent.names()).unwrap_or_default();
        match self.step {
            Step::Root => {}
            Step::Field(name) | Step::Key(name) => names.push(Some(name)),
            Step::Index(_) => names.push(None),
        }
        names
    }
}

impl FieldPath<'_> {
    /// How many bytes of a path are printed: names can be as long as a body, and errors many.
    pub const MAX_PRINTED_BYTES: usize = 4096;

    fn print(&self, out: &mut Printer<'_, '_>) -> fmt::Result {
        let Some(parent) = self.parent else { return Ok(()) };
        parent.print(out)?;
        match self.step {
            Step::Root => Ok(()),
            Step::Field(name) if parent.parent.is_none() => out.write_str(name),
            Step::Field(name) => write!(out, ".{name}"),
            Step::Index(at) => write!(out, "[{at}]"),
            Step::Key(key) => write!(out, "[{key}]"),
        }
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(&mut Printer { out: f, left: FieldPath::MAX_PRINTED_BYTES })
    }
}

/// Prints the beginning of a path, and an ellipsis for the rest.
struct Printer<'o, 'f> {
    out: &'o mut fmt::Formatter<'f>,
    left: usize,
}

impl fmt::Write for Printer<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.left == 0 {
            return Ok(());
        }
        if text.len() <= self.left {
            self.left -= text.len();
            return self.out.write_str(text);
        }
        let end = (0..=self.left).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        self.left = 0;
        self.out.write_str(&text[..end])?;
        self.out.write_str("…")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_with_dots_and_brackets() {
        let root = FieldPath::root();
        let ports = root.field("spec");
        let ports = ports.field("ports");
        assert_eq!(ports.index(1).field("name").to_string(), "spec.ports[1].name");
        assert_eq!(root.field("data").key("a b").to_string(), "data[a b]");
        assert_eq!(root.to_string(), "");
    }

    #[test]
    fn a_long_path_is_cut() {
        let (root, long) = (FieldPath::root(), "ä".repeat(5000));
        let path = root.field(&long);
        let printed = path.field("below").to_string();
        assert!(printed.len() < FieldPath::MAX_PRINTED_BYTES + 4 && printed.ends_with("ä…"), "{printed}");
    }
}
