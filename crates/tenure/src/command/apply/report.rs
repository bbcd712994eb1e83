//! What was done, object by object and in sum.

use crate::{
    Error, Outcome,
    plan::{Plan, live::Mode, render},
    terminal::{Format, Ink, Terminal},
};
use std::fmt::Write;
use tenure_value::{Object, Value};

/// An object and what was done with it.
pub struct Done {
    /// What was planned.
    pub plan: Plan,
    /// What was done.
    pub deed: Deed,
}

/// What was done with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It was applied; its uid.
    Applied(String),
    /// There was nothing to do; its uid.
    Unchanged(String),
    /// It was only looked at.
    Planned,
    /// Others hold what would change.
    Contested,
    /// Others came to hold what would change between the plan and the apply.
    Lost(String),
    /// The server refused the plan.
    Refused,
    /// The server refused the apply.
    Failed(String),
}

impl Done {
    /// Whether the object is as its manifest wants it, or would be.
    pub fn is_well(&self) -> bool {
        matches!(self.deed, Deed::Applied(_) | Deed::Unchanged(_) | Deed::Planned)
    }

    /// Returns the object's uid, where it has one.
    pub fn uid(&self) -> Option<&str> {
        match &self.deed {
            Deed::Applied(uid) | Deed::Unchanged(uid) => Some(uid),
            _ => None,
        }
    }
}

impl Deed {
    fn word(&self) -> &'static str {
        match self {
            Deed::Applied(_) => "applied",
            Deed::Unchanged(_) => "unchanged",
            Deed::Planned => "planned",
            Deed::Contested | Deed::Lost(_) => "conflict",
            Deed::Refused | Deed::Failed(_) => "refused",
        }
    }

    fn is_conflict(&self) -> bool {
        matches!(self, Deed::Contested | Deed::Lost(_))
    }

    fn is_failure(&self) -> bool {
        matches!(self, Deed::Refused | Deed::Failed(_))
    }
}

/// Writes the summary, or everything for programs, and says how it ends.
pub fn finish(
    done: &[Done],
    pruned: &[String],
    mode: Mode,
    format: Format,
    terminal: &Terminal,
) -> Result<Outcome, Error> {
    match format {
        Format::Text => terminal.print(text(done, pruned, mode, terminal))?,
        format => terminal.print_value(&value(done, pruned), format)?,
    }
    let refused = done.iter().filter(|done| done.deed.is_failure()).count();
    if refused > 0 {
        return Err(Error::SomeRefused { number: refused, of: done.len() });
    }
    let contested = done.iter().any(|done| done.deed.is_conflict());
    Ok(if contested { Outcome::Conflicts } else { Outcome::Done })
}

fn text(done: &[Done], pruned: &[String], mode: Mode, terminal: &Terminal) -> String {
    let mut out = String::new();
    for done in done {
        if let Deed::Failed(problem) | Deed::Lost(problem) = &done.deed {
            let line = format!("{}: {problem}", done.plan.target);
            // Writing to a string does not fail.
            let _ = writeln!(out, "{}", terminal.paint.ink(Ink::Problem, line));
        }
    }
    for name in pruned {
        let word = if mode == Mode::DryRun { "to prune" } else { "pruned" };
        let _ = writeln!(out, "{}", terminal.paint.ink(Ink::Removed, format_args!("{name}: {word}")));
    }
    let mut parts = Vec::new();
    for word in ["applied", "planned", "unchanged", "conflict", "refused"] {
        let number = done.iter().filter(|done| done.deed.word() == word).count();
        if number > 0 {
            parts.push(format!("{number} {}", if word == "conflict" { "with conflicts" } else { word }));
        }
    }
    if !pruned.is_empty() {
        parts.push(format!("{} {}", pruned.len(), if mode == Mode::DryRun { "to prune" } else { "pruned" }));
    }
    let objects = if done.len() == 1 { "object" } else { "objects" };
    let _ = writeln!(out, "\n{} {objects}: {}", done.len(), parts.join(", "));
    out
}

fn value(done: &[Done], pruned: &[String]) -> Value {
    let objects = done.iter().map(|done| {
        let plan = render::value(&done.plan).as_object().cloned().unwrap_or_default();
        let object: Object = plan.with("result", done.deed.word());
        Value::Object(match &done.deed {
            Deed::Failed(problem) | Deed::Lost(problem) => object.with("error", problem.as_str()),
            _ => object,
        })
    });
    Value::object([
        ("objects", Value::array(objects)),
        ("pruned", Value::array(pruned.iter().map(|name| Value::from(name.as_str())))),
    ])
}
