//! An explanation as text.

use crate::terminal::{Ink, Terminal};
use std::fmt::Write;
use tenure_ownership::{
    Explanation,
    owner::{age, operation},
};
use tenure_value::json;

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
    for (number, owner) in explanation.owners.iter().enumerate() {
        let since = owner.time.map(|time| format!(", since {time}")).unwrap_or_default();
        let name = paint.ink(Ink::Manager(number), &owner.name);
        let _ = writeln!(out, "  {name} by {}{since} ({})", operation(owner), age(owner.time, terminal.now));
    }
    heading(&mut out, "\nType");
    let _ = writeln!(out, "  {}", explanation.type_name());
    for sentence in explanation.rules() {
        let _ = writeln!(out, "  {sentence}");
    }
    heading(&mut out, "\nWhat a write would do");
    let width = explanation.effects.iter().map(|effect| effect.write.chars().count()).max().unwrap_or_default();
    for effect in &explanation.effects {
        let _ = writeln!(out, "  {:<width$}  {}", effect.write, effect.result);
    }
    out
}
