//! An explanation as text.

use crate::{
    plugin::program,
    terminal::{Ink, Terminal, columns, padded, wrapped},
};
use std::fmt::Write;
use tenure_ownership::{
    Explanation,
    diagnosis::CommandLine,
    owner::{age, operation},
};
use tenure_value::json;

/// The least width of the column of results.
const NARROWEST: usize = 32;

/// Returns an explanation as text.
pub fn text(explanation: &Explanation, terminal: &Terminal) -> String {
    let paint = terminal.paint;
    let title = format!("{}: {}", explanation.target, explanation.path);
    let value = explanation.value.as_ref().map_or_else(|| "(not set)".to_owned(), json::to_string);
    // Writing to a string does not fail.
    let mut out = format!("{}\n\n  {value}\n\n", paint.ink(Ink::Strong, title));
    let heading = |out: &mut String, text: &str| {
        let _ = writeln!(out, "{}", paint.ink(Ink::Strong, text));
    };
    heading(&mut out, "Owned by");
    if explanation.owners.is_empty() {
        let _ = writeln!(out, "  no manager: a default, or written before ownership was tracked");
    }
    for (number, (owner, who)) in explanation.owners.iter().zip(&explanation.who).enumerate() {
        let since = owner.time.map(|time| format!(", since {time}")).unwrap_or_default();
        let name = paint.ink(Ink::Manager(number), &owner.name);
        let is_known = *who != owner.name.as_str() && !who.starts_with(&format!("{} via ", owner.name));
        let who = if is_known { format!(": {who}") } else { String::new() };
        let age = owner.time.map(|time| format!(" ({})", age(Some(time), terminal.now))).unwrap_or_default();
        let _ = writeln!(out, "  {name} by {}{since}{age}{who}", operation(owner));
    }
    for advice in &explanation.advice {
        for line in wrapped(&advice.sentence, terminal.width.saturating_sub(4)) {
            let _ = writeln!(out, "    {line}");
        }
        if let Some(command) = advice.command(&CommandLine { program: program(), ..CommandLine::default() }) {
            let _ = writeln!(out, "      {command}");
        }
    }
    heading(&mut out, "\nType");
    let _ = writeln!(out, "  {}", explanation.type_name());
    for sentence in explanation.rules() {
        for line in wrapped(sentence, terminal.width.saturating_sub(2)) {
            let _ = writeln!(out, "  {line}");
        }
    }
    heading(&mut out, "\nWhat a write would do");
    let width = explanation.effects.iter().map(|effect| columns(&effect.write)).max().unwrap_or_default();
    for effect in &explanation.effects {
        // A result that has too little room beside the write comes below it.
        let is_beside = terminal.width >= width + 4 + NARROWEST;
        let (mut first, indent) = match is_beside {
            true => (padded(&effect.write, width), width + 4),
            false => (effect.write.clone(), 6),
        };
        if !is_beside {
            let _ = writeln!(out, "  {first}");
            first = "    ".to_owned();
        }
        for line in wrapped(&effect.result, terminal.width.saturating_sub(indent)) {
            let _ = writeln!(out, "  {}{line}", padded(&first, indent - 2));
            first.clear();
        }
    }
    out
}
