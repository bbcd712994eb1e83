//! A blame as text: owners, a bar, the line. The columns are as wide as their content, but names take at most a third of the
//! terminal.

use crate::terminal::{Ink, Paint, Terminal, shortened};
use std::fmt::Write;
use tenure_ownership::{
    Blame, Line, Ownership,
    owner::{Owner, age, operation},
};

/// The prefix of further owners of a line.
const ALSO: &str = "& ";

/// The text for fields without an owner.
const UNOWNED: &str = "(unowned)";

/// Returns a blame as text.
pub fn text(blame: &Blame, terminal: &Terminal) -> String {
    let gutter = Gutter::of(blame, terminal);
    let mut out = String::new();
    for line in &blame.lines {
        gutter.line(line, &mut out);
    }
    gutter.absent(&mut out);
    out
}

struct Gutter<'a> {
    blame: &'a Blame,
    terminal: &'a Terminal,
    /// The widths of the columns.
    name: usize,
    operation: usize,
    age: usize,
}

impl<'a> Gutter<'a> {
    fn of(blame: &'a Blame, terminal: &'a Terminal) -> Gutter<'a> {
        let mut gutter = Gutter { blame, terminal, name: UNOWNED.len(), operation: 0, age: 0 };
        for line in &blame.lines {
            let Ownership::Owned(owners) = &line.ownership else { continue };
            for (at, owner) in owners.iter().enumerate() {
                let prefix = if at > 0 { ALSO.len() } else { 0 };
                gutter.name = gutter.name.max(prefix + owner.name.chars().count());
                gutter.operation = gutter.operation.max(operation(owner).len());
                gutter.age = gutter.age.max(age(owner.time, terminal.now).len());
            }
        }
        gutter.name = gutter.name.min((terminal.width / 3).max(UNOWNED.len()));
        gutter
    }

    fn line(&self, line: &Line, out: &mut String) {
        match &line.ownership {
            Ownership::Owned(owners) => {
                for (at, owner) in owners.iter().enumerate() {
                    let ink = self.ink(owner);
                    let text = if at == 0 { line.text.as_str() } else { "" };
                    self.row(&self.cells(owner, at), ink, text, Some(ink), out);
                }
            }
            Ownership::Unowned => {
                self.row(&self.blank(UNOWNED), Ink::Faint, &line.text, Some(Ink::Faint), out);
            }
            Ownership::NotOwnable => self.row(&self.blank(""), Ink::Faint, &line.text, None, out),
        }
    }

    fn row(&self, cells: &str, ink: Ink, text: &str, text_ink: Option<Ink>, out: &mut String) {
        let paint = self.terminal.paint;
        let bar = paint.ink(Ink::Faint, "│");
        let cells =
            if cells.trim().is_empty() { cells.to_owned() } else { paint.ink(ink, cells).to_string() };
        let text = match text_ink {
            Some(ink) if paint == Paint::Colours && !text.is_empty() => paint.ink(ink, text).to_string(),
            _ => text.to_owned(),
        };
        // Writing to a string does not fail.
        let _ = match text.is_empty() {
            true => writeln!(out, "{cells} {bar}"),
            false => writeln!(out, "{cells} {bar} {text}"),
        };
    }

    fn cells(&self, owner: &Owner, at: usize) -> String {
        let prefix = if at > 0 { ALSO } else { "" };
        let name = shortened(&owner.name, self.name.saturating_sub(prefix.len()));
        let name = format!("{prefix}{name}");
        let (operation, age) = (operation(owner), age(owner.time, self.terminal.now));
        format!("{name:<0$} {operation:<1$} {age:>2$}", self.name, self.operation, self.age)
    }

    fn blank(&self, word: &str) -> String {
        format!("{word:<0$} {1:<2$} {1:>3$}", self.name, "", self.operation, self.age)
    }

    fn ink(&self, owner: &Owner) -> Ink {
        let number = self.blame.managers.iter().position(|name| *name == owner.name.as_str());
        Ink::Manager(number.unwrap_or_default())
    }

    fn absent(&self, out: &mut String) {
        if self.blame.absent.is_empty() {
            return;
        }
        let _ = writeln!(out, "\nOwned, but not in the object:");
        for (path, owners) in &self.blame.absent {
            let owners: Vec<String> = owners
                .iter()
                .map(|owner| {
                    let name = self.terminal.paint.ink(self.ink(owner), &owner.name);
                    format!("{name} ({}, {})", operation(owner), owner.api_version)
                })
                .collect();
            let _ = writeln!(out, "  {path}  {}", owners.join(", "));
        }
    }
}
