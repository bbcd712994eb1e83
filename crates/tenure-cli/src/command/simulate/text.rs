//! The comparison as text: a line with the path, and below it the live value and the effect of each method, in columns if
//! they fit and stacked otherwise.

use super::{
    methods::{Attempt, Method},
    table::{Cell, Row, Table},
};
use crate::terminal::{Ink, Terminal, columns as terminal_columns, padded, shortened};
use std::fmt::Write;
use tenure_value::Value;

/// The name of a method must fit into a column.
const NARROWEST: usize = 18;

/// The heading of the live value.
const LIVE: &str = "live";

/// Returns the comparison as text.
pub fn text(table: &Table, attempts: &[Attempt], kind: &str, terminal: &Terminal) -> String {
    let paint = terminal.paint;
    let mut out = String::new();
    let differing = table.rows.iter().filter(|row| row.differs()).count();
    let title = match (table.rows.len(), differing) {
        (0, _) if table.differs() => format!("{kind}: nothing changes, and some methods are refused"),
        (0, _) => format!("{kind}: all four methods leave it unchanged"),
        (changed, 0) => {
            format!("{kind}: {}, with the same result by all four methods", fields(changed, "changed"))
        }
        (changed, differing) => {
            format!("{kind}: {}, {differing} of them with different results (*)", fields(changed, "changed"))
        }
    };
    let _ = writeln!(out, "{}", paint.ink(Ink::Strong, title));
    let column = (terminal.width / (1 + Method::ALL.len())).saturating_sub(1);
    match column >= NARROWEST {
        true => columns(table, column.min(widest(table)), terminal, &mut out),
        false => stacked(table, terminal, &mut out),
    }
    refusals(attempts, terminal, &mut out);
    if !table.rows.is_empty() {
        let _ = writeln!(
            out,
            "\n{}",
            paint.ink(Ink::Faint, "+ added  ~ changed  - removed  ! refused  = unchanged")
        );
    }
    out
}

/// Returns the width that the longest cell needs.
fn widest(table: &Table) -> usize {
    let live = table.rows.iter().map(|row| shown(row.live.as_ref()));
    let effects = table.rows.iter().flat_map(|row| row.cells.iter().map(|cell| effect(cell).0));
    live.chain(effects).map(|text| terminal_columns(&text)).max().unwrap_or_default().max(NARROWEST)
}

fn fields(count: usize, what: &str) -> String {
    if count == 1 { format!("1 field {what}") } else { format!("{count} fields {what}") }
}

fn columns(table: &Table, column: usize, terminal: &Terminal, out: &mut String) {
    if table.rows.is_empty() {
        return;
    }
    let paint = terminal.paint;
    let heads: Vec<String> = std::iter::once(LIVE)
        .chain(Method::ALL.map(Method::name))
        .map(|head| padded(&shortened(head, column), column))
        .collect();
    let _ = writeln!(out, "\n{}", paint.ink(Ink::Faint, heads.join(" ").trim_end()));
    for row in &table.rows {
        path(row, terminal, out);
        let live = shown(row.live.as_ref());
        out.push_str(&padded(&shortened(&live, column), column));
        for cell in &row.cells {
            let (text, ink) = effect(cell);
            let text = padded(&shortened(&text, column), column);
            let _ = write!(out, " {}", paint.ink(ink, text));
        }
        trim(out);
        out.push('\n');
    }
}

fn stacked(table: &Table, terminal: &Terminal, out: &mut String) {
    let paint = terminal.paint;
    let label = Method::ALL.iter().map(|method| method.name().len()).max().unwrap_or_default();
    let room = terminal.width.saturating_sub(label + 4).max(8);
    for row in &table.rows {
        out.push('\n');
        path(row, terminal, out);
        let _ = writeln!(out, "  {LIVE:label$}  {}", shortened(&shown(row.live.as_ref()), room));
        for (method, cell) in Method::ALL.iter().zip(&row.cells) {
            let (text, ink) = effect(cell);
            let _ = writeln!(out, "  {:label$}  {}", method.name(), paint.ink(ink, shortened(&text, room)));
        }
    }
}

fn path(row: &Row, terminal: &Terminal, out: &mut String) {
    let (mark, ink) = if row.differs() { ("* ", Ink::Warning) } else { ("  ", Ink::Strong) };
    let _ = writeln!(out, "{}", terminal.paint.ink(ink, format_args!("{mark}{}", row.path)));
}

/// Removes trailing spaces that are not inside colours.
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

fn effect(cell: &Cell) -> (String, Ink) {
    match cell {
        Cell::Same => ("=".into(), Ink::Faint),
        Cell::Added(value) => (format!("+ {}", shown(Some(value))), Ink::Added),
        Cell::Changed(value) => (format!("~ {}", shown(Some(value))), Ink::Changed),
        Cell::Removed => ("-".into(), Ink::Removed),
        Cell::Conflict(owner) => (format!("! {owner}"), Ink::Problem),
        Cell::Refused => ("!".into(), Ink::Problem),
    }
}

fn refusals(attempts: &[Attempt], terminal: &Terminal, out: &mut String) {
    for attempt in attempts {
        if let Err(refusal) = &attempt.result {
            let _ = writeln!(
                out,
                "\n{}: {}",
                terminal.paint.ink(Ink::Problem, format_args!("{} is refused", attempt.method.name())),
                refusal.message
            );
        }
    }
}
