//! The table as text: a line with the place, and under it what lives there and what each way makes of it, in columns
//! where they fit and one below the other where they do not.

use super::{
    table::{Cell, Row, Table},
    ways::{Ending, Way},
};
use crate::terminal::{Ink, Terminal, shortened};
use std::fmt::Write;
use tenure_value::Value;

/// A column must hold the name of a way.
const NARROWEST: usize = 18;

/// The heading of what lives.
const LIVE: &str = "live";

/// Returns the table as text.
pub fn render(table: &Table, endings: &[Ending], kind: &str, terminal: &Terminal) -> String {
    let paint = terminal.paint;
    let mut out = String::new();
    let differing = table.rows.iter().filter(|row| row.differs()).count();
    let title = match (table.rows.len(), differing) {
        (0, _) if table.ways_differ() => format!("{kind}: nothing changes, and some ways are refused"),
        (0, _) => format!("{kind}: all four ways leave it as it is"),
        (changed, 0) => format!("{kind}: {} in the same way by all four", places(changed, "changed")),
        (changed, differing) => {
            format!("{kind}: {}, {differing} of them not in the same way (*)", places(changed, "changed"))
        }
    };
    let _ = writeln!(out, "{}", paint.ink(Ink::Strong, title));
    let column = (terminal.width / (1 + Way::ALL.len())).saturating_sub(1);
    match column >= NARROWEST {
        true => columns(table, column, terminal, &mut out),
        false => stacked(table, terminal, &mut out),
    }
    refusals(endings, terminal, &mut out);
    if !table.rows.is_empty() {
        let _ = writeln!(out, "\n{}", paint.ink(Ink::Faint, "+ added  ~ changed  - removed  ! refused  = as it lives"));
    }
    out
}

fn places(count: usize, what: &str) -> String {
    if count == 1 { format!("1 place {what}") } else { format!("{count} places {what}") }
}

fn columns(table: &Table, column: usize, terminal: &Terminal, out: &mut String) {
    if table.rows.is_empty() {
        return;
    }
    let paint = terminal.paint;
    let heads: Vec<String> = std::iter::once(LIVE)
        .chain(Way::ALL.map(Way::name))
        .map(|head| format!("{:column$}", shortened(head, column)))
        .collect();
    let _ = writeln!(out, "\n{}", paint.ink(Ink::Faint, heads.join(" ").trim_end()));
    for row in &table.rows {
        place(row, terminal, out);
        let live = shown(row.live.as_ref());
        let _ = write!(out, "{:column$}", shortened(&live, column));
        for cell in &row.cells {
            let (text, ink) = told(cell);
            let text = format!("{:column$}", shortened(&text, column));
            let _ = write!(out, " {}", paint.ink(ink, text));
        }
        trim(out);
        out.push('\n');
    }
}

fn stacked(table: &Table, terminal: &Terminal, out: &mut String) {
    let paint = terminal.paint;
    let label = Way::ALL.iter().map(|way| way.name().len()).max().unwrap_or_default();
    let room = terminal.width.saturating_sub(label + 4).max(8);
    for row in &table.rows {
        out.push('\n');
        place(row, terminal, out);
        let _ = writeln!(out, "  {LIVE:label$}  {}", shortened(&shown(row.live.as_ref()), room));
        for (way, cell) in Way::ALL.iter().zip(&row.cells) {
            let (text, ink) = told(cell);
            let _ = writeln!(out, "  {:label$}  {}", way.name(), paint.ink(ink, shortened(&text, room)));
        }
    }
}

fn place(row: &Row, terminal: &Terminal, out: &mut String) {
    let (mark, ink) = if row.differs() { ("* ", Ink::Warning) } else { ("  ", Ink::Strong) };
    let _ = writeln!(out, "{}", terminal.paint.ink(ink, format_args!("{mark}{}", row.place)));
}

/// Removes the blanks that fill the last column, where nothing is painted behind them.
fn trim(out: &mut String) {
    out.truncate(out.trim_end_matches(' ').len());
}

fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) if !text.is_empty() && !text.contains(['\n', '"']) => text.to_string(),
        Some(value) => value.to_string(),
        None => "(none)".into(),
    }
}

fn told(cell: &Cell) -> (String, Ink) {
    match cell {
        Cell::Same => ("=".into(), Ink::Faint),
        Cell::Added(value) => (format!("+ {}", shown(Some(value))), Ink::Added),
        Cell::Changed(value) => (format!("~ {}", shown(Some(value))), Ink::Changed),
        Cell::Removed => ("-".into(), Ink::Removed),
        Cell::Contested(holder) => (format!("! {holder}"), Ink::Problem),
        Cell::Refused => ("!".into(), Ink::Problem),
    }
}

fn refusals(endings: &[Ending], terminal: &Terminal, out: &mut String) {
    for ending in endings {
        if let Err(refusal) = &ending.result {
            let _ = writeln!(
                out,
                "\n{}: {}",
                terminal.paint.ink(Ink::Problem, format_args!("{} is refused", ending.way.name())),
                refusal.message
            );
        }
    }
}
