//! Changes of fields as text, like a diff: the old and the new value.

use crate::terminal::{Ink, Terminal, columns, shortened};
use std::fmt::Write;
use tenure_value::Value;

/// Appends a changed field: a line for the value before, and one for the value after.
pub fn change(path: &str, from: Option<&Value>, to: Option<&Value>, terminal: &Terminal, out: &mut String) {
    let width = terminal.width.saturating_sub(columns(path) + 8).max(24);
    for (sign, value, ink) in [('-', from, Ink::Removed), ('+', to, Ink::Added)] {
        if let Some(value) = value {
            let line = format!("{sign} {path}: {}", shortened(&value.to_string(), width));
            // Writing to a string cannot fail.
            let _ = writeln!(out, "    {}", terminal.paint.ink(ink, line));
        }
    }
}
