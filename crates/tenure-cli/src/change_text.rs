//! Changes of fields as text, like a diff: the old and the new value.

use crate::terminal::{Ink, Terminal, columns, shortened};
use std::fmt::Write;
use tenure_value::Value;

/// The fewest columns in which a value is shortened.
const LEAST: usize = 24;

/// Appends a changed field: a line for the value before, and one for the value after.
pub fn change(path: &str, from: Option<&Value>, to: Option<&Value>, terminal: &Terminal, out: &mut String) {
    let room = terminal.width.saturating_sub(columns(path) + 8);
    for (sign, value, ink) in [('-', from, Ink::Removed), ('+', to, Ink::Added)] {
        if let Some(value) = value {
            let value = value.to_string();
            let lines = match columns(&value) <= room || room >= LEAST {
                true => vec![format!("{sign} {path}: {}", shortened(&value, room))],
                // Beside a long path there is no room.
                false => vec![
                    format!("{sign} {path}:"),
                    format!("    {}", shortened(&value, terminal.width.saturating_sub(8).max(LEAST))),
                ],
            };
            for line in lines {
                // Writing to a string cannot fail.
                let _ = writeln!(out, "    {}", terminal.paint.ink(ink, line));
            }
        }
    }
}
