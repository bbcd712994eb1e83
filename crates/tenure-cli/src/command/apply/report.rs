//! The results of an apply, object by object and in total.

use crate::{
    Error, Outcome,
    terminal::{Format, Ink, Terminal},
};
use std::fmt::Write;
use tenure_client::Mode;
use tenure_ownership::Plan;
use tenure_value::{Object, Value};

/// An object and its result.
pub struct Applied {
    /// The plan.
    pub plan: Plan,
    /// The result.
    pub status: Status,
}

/// The result of an apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was applied; the uid of the object.
    Applied(String),
    /// Nothing changed; the uid of the object.
    Unchanged(String),
    /// It was planned only.
    Planned,
    /// The plan has conflicts.
    Conflict,
    /// Another manager took a field between the plan and the apply.
    LateConflict(String),
    /// The server refused the plan.
    Refused,
    /// The server refused the apply.
    Failed(String),
    /// The command was stopped before.
    NotWritten,
}

impl Applied {
    /// Whether the object is, or would be, as the manifest describes it.
    pub fn is_success(&self) -> bool {
        matches!(self.status, Status::Applied(_) | Status::Unchanged(_) | Status::Planned)
    }

    /// Returns the uid of the object, if it is known.
    pub fn uid(&self) -> Option<&str> {
        match &self.status {
            Status::Applied(uid) | Status::Unchanged(uid) => Some(uid),
            _ => None,
        }
    }
}

impl Status {
    fn word(&self) -> &'static str {
        match self {
            Status::Applied(_) => "applied",
            Status::Unchanged(_) => "unchanged",
            Status::Planned => "planned",
            Status::Conflict | Status::LateConflict(_) => "conflict",
            Status::Refused | Status::Failed(_) => "refused",
            Status::NotWritten => "not written",
        }
    }

    fn is_conflict(&self) -> bool {
        matches!(self, Status::Conflict | Status::LateConflict(_))
    }

    fn is_failure(&self) -> bool {
        matches!(self, Status::Refused | Status::Failed(_))
    }
}

/// Prints the summary, or everything for programs, and returns the exit code.
pub fn finish(
    done: &[Applied],
    pruned: &[String],
    mode: Mode,
    format: Format,
    terminal: &Terminal,
) -> Result<Outcome, Error> {
    match format {
        Format::Text => terminal.print(text(done, pruned, mode, terminal))?,
        format => terminal.print_value(&value(done, pruned), format)?,
    }
    let left = done.iter().filter(|done| done.status == Status::NotWritten).count();
    if left > 0 {
        return Err(Error::Stopped { left, all: done.len() });
    }
    let refused = done.iter().filter(|done| done.status.is_failure()).count();
    if refused > 0 {
        return Err(Error::SomeRefused { number: refused, total: done.len() });
    }
    let contested = done.iter().any(|done| done.status.is_conflict());
    Ok(if contested { Outcome::Conflicts } else { Outcome::Done })
}

fn text(done: &[Applied], pruned: &[String], mode: Mode, terminal: &Terminal) -> String {
    let mut out = String::new();
    for done in done {
        if let Status::Failed(problem) | Status::LateConflict(problem) = &done.status {
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
    for word in ["applied", "planned", "unchanged", "conflict", "refused", "not written"] {
        let number = done.iter().filter(|done| done.status.word() == word).count();
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

fn value(done: &[Applied], pruned: &[String]) -> Value {
    let objects = done.iter().map(|done| {
        let plan = done.plan.to_value().as_object().cloned().unwrap_or_default();
        let object: Object = plan.with("result", done.status.word());
        Value::Object(match &done.status {
            Status::Failed(problem) | Status::LateConflict(problem) => object.with("error", problem.as_str()),
            _ => object,
        })
    });
    Value::object([
        ("objects", Value::array(objects)),
        ("pruned", Value::array(pruned.iter().map(|name| Value::from(name.as_str())))),
    ])
}
