//! The sheet as text: the gutter with the holders, a bar, the line. The columns are as wide as what is in them, but
//! the names take no more than a third of the terminal.

use super::sheet::{Line, Sheet, Tenure};
use crate::{
    holder::operation,
    terminal::{Ink, Paint, Terminal, age, shortened},
};
use std::fmt::Write;
use tenure_apply::Owner;

/// Before the second and further holders of a line.
const ALSO: &str = "& ";

/// In the place of holders where there are none.
const NOBODY: &str = "(nobody)";

/// Returns the sheet as text.
pub fn render(sheet: &Sheet, terminal: &Terminal) -> String {
    let gutter = Gutter::of(sheet, terminal);
    let mut out = String::new();
    for line in &sheet.lines {
        gutter.line(line, &mut out);
    }
    gutter.absent(sheet, &mut out);
    out
}

struct Gutter<'a> {
    sheet: &'a Sheet,
    terminal: &'a Terminal,
    /// How wide the columns are.
    name: usize,
    operation: usize,
    age: usize,
}

impl<'a> Gutter<'a> {
    fn of(sheet: &'a Sheet, terminal: &'a Terminal) -> Gutter<'a> {
        let mut gutter = Gutter { sheet, terminal, name: NOBODY.len(), operation: 0, age: 0 };
        for line in &sheet.lines {
            let Tenure::Held(holders) = &line.tenure else { continue };
            for (at, holder) in holders.iter().enumerate() {
                let lead = if at > 0 { ALSO.len() } else { 0 };
                gutter.name = gutter.name.max(lead + holder.name.chars().count());
                gutter.operation = gutter.operation.max(operation(holder).len());
                gutter.age = gutter.age.max(age(holder.time, terminal.now).len());
            }
        }
        gutter.name = gutter.name.min((terminal.width / 3).max(NOBODY.len()));
        gutter
    }

    fn line(&self, line: &Line, out: &mut String) {
        match &line.tenure {
            Tenure::Held(holders) => {
                for (at, holder) in holders.iter().enumerate() {
                    let ink = self.ink(holder);
                    let text = if at == 0 { line.text.as_str() } else { "" };
                    self.row(&self.cells(holder, at), ink, text, Some(ink), out);
                }
            }
            Tenure::Unheld => self.row(&self.blank(NOBODY), Ink::Faint, &line.text, Some(Ink::Faint), out),
            Tenure::Nobodys => self.row(&self.blank(""), Ink::Faint, &line.text, None, out),
        }
    }

    fn row(&self, cells: &str, ink: Ink, text: &str, text_ink: Option<Ink>, out: &mut String) {
        let paint = self.terminal.paint;
        let bar = paint.ink(Ink::Faint, "│");
        let cells = if cells.trim().is_empty() { cells.to_owned() } else { paint.ink(ink, cells).to_string() };
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

    fn cells(&self, holder: &Owner, at: usize) -> String {
        let lead = if at > 0 { ALSO } else { "" };
        let name = shortened(&holder.name, self.name.saturating_sub(lead.len()));
        let name = format!("{lead}{name}");
        let (operation, age) = (operation(holder), age(holder.time, self.terminal.now));
        format!("{name:<0$} {operation:<1$} {age:>2$}", self.name, self.operation, self.age)
    }

    fn blank(&self, word: &str) -> String {
        format!("{word:<0$} {1:<2$} {1:>3$}", self.name, "", self.operation, self.age)
    }

    fn ink(&self, holder: &Owner) -> Ink {
        let number = self.sheet.names.iter().position(|name| *name == holder.name.as_str());
        Ink::Manager(number.unwrap_or_default())
    }

    fn absent(&self, sheet: &Sheet, out: &mut String) {
        if sheet.absent.is_empty() {
            return;
        }
        let _ = writeln!(out, "\nHeld, but not in the object:");
        for (path, holders) in &sheet.absent {
            let holders: Vec<String> = holders
                .iter()
                .map(|holder| {
                    let name = self.terminal.paint.ink(self.ink(holder), &holder.name);
                    format!("{name} ({}, {})", operation(holder), holder.api_version)
                })
                .collect();
            let _ = writeln!(out, "  {path}  {}", holders.join(", "));
        }
    }
}
