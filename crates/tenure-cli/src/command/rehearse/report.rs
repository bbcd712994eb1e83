//! The result of a rehearsal: as text, as a document, and in the formats of reviews.

use super::stage::{Applied, Stage};
use crate::{
    Error, Outcome,
    command::plan::PlanFormat,
    plan_text::{self, Shown, Typed},
    plan_view::{self, PlacedPlan},
    terminal::{Format, Terminal},
};
use std::fmt::Write;
use tenure_ownership::{Action, Plan};
use tenure_value::{Object, Value};

/// How many objects a comment names.
const NAMED: usize = 20;

/// What a rehearsal found.
pub struct Report {
    /// What bringing the old release onto the copy did.
    pub old: Vec<Plan>,
    /// The objects of the old release that the new one does not have.
    pub gone: Vec<String>,
    /// What the apply does, object by object.
    pub first: Applied,
    /// What a second apply would do.
    pub second: Vec<Plan>,
    not_called: Vec<String>,
    left_out: Vec<String>,
}

impl Report {
    /// Begins the report of a rehearsal.
    pub fn new(stage: &Stage) -> Report {
        Report {
            old: Vec::new(),
            gone: Vec::new(),
            first: Applied::default(),
            second: Vec::new(),
            not_called: stage.not_called.clone(),
            left_out: stage.left_out.clone(),
        }
    }

    /// Returns the plans of a second apply that would change something although the first one succeeded.
    fn unstable(&self) -> impl Iterator<Item = &Plan> {
        self.second
            .iter()
            .filter(|plan| !matches!(plan.action(), Action::Unchanged | Action::Conflict | Action::Refused))
    }

    /// Prints the report and returns the exit code.
    pub fn show(
        &self,
        format: PlanFormat,
        which: Shown,
        typed: &Typed,
        terminal: &Terminal,
    ) -> Result<Outcome, Error> {
        let line = typed.line();
        let Applied { plans, manifests, places } = &self.first;
        let placed = || PlacedPlan::all(plans, manifests, places);
        match format {
            PlanFormat::Text => terminal.show(&self.text(which, typed, terminal))?,
            PlanFormat::Json => terminal.print_value(&self.to_value(), Format::Json)?,
            PlanFormat::Yaml => terminal.print_value(&self.to_value(), Format::Yaml)?,
            PlanFormat::Markdown => {
                let comment = plan_view::markdown(&placed(), &self.gone, &line, terminal.now);
                terminal.print(format!("{comment}{}", self.notes()))?;
            }
            PlanFormat::Sarif => {
                terminal.print_value(&plan_view::sarif(&placed(), &line, terminal.now), Format::Json)?
            }
            PlanFormat::Junit => terminal.print(plan_view::junit(&placed(), &line))?,
        }
        let refused = plans.iter().filter(|plan| plan.action() == Action::Refused).count();
        if refused > 0 {
            return Err(Error::SomeRefused { number: refused, total: plans.len() });
        }
        Ok(plans.iter().map(|plan| plan_text::outcome(plan.action())).max().unwrap_or_default())
    }

    fn text(&self, which: Shown, typed: &Typed, terminal: &Terminal) -> String {
        let mut out = plan_text::all(self.first.plans.iter(), which, typed, terminal);
        let _ = write!(out, "\n{}", plan_text::summary(&self.first.plans));
        // Writing to a string does not fail.
        let _ = match self.unstable().count() {
            0 => writeln!(out, "A second apply would change nothing."),
            _ => {
                let unstable: Vec<&Plan> = self.unstable().collect();
                let shown = plan_text::all(unstable.iter().copied(), Shown::All, typed, terminal);
                writeln!(out, "A second apply would change something again:\n{shown}")
            }
        };
        for (what, list) in [
            ("The new release no longer has", &self.gone),
            ("Not called, because a copy cannot reach them", &self.not_called),
            ("Not part of the copy", &self.left_out),
        ] {
            if !list.is_empty() {
                let _ = writeln!(out, "{what}: {}.", list.join(", "));
            }
        }
        let old = self.old.iter().filter(|plan| plan.action() == Action::Conflict).count();
        if old > 0 {
            let _ = writeln!(
                out,
                "{old} objects of the old release have conflicts on the copy and were left as they are."
            );
        }
        out
    }

    /// Returns what a comment says beyond the plans: what a second apply would do, and what the copy lacks.
    fn notes(&self) -> String {
        let named = |names: &mut dyn Iterator<Item = String>| {
            let names: Vec<String> = names.collect();
            let more = names.len().saturating_sub(NAMED);
            let first = names
                .iter()
                .take(NAMED)
                .map(|name| format!("`{}`", name.replace('`', "'")))
                .collect::<Vec<_>>();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}", first.join(", "))
        };
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = match self.unstable().count() {
            0 => writeln!(out, "\nRehearsed on a copy. A second apply would change nothing."),
            _ => writeln!(
                out,
                "\nRehearsed on a copy. **A second apply would change something again**: {}.",
                named(&mut self.unstable().map(|plan| plan.target.to_string()))
            ),
        };
        for (what, list) in [("Not called", &self.not_called), ("Not part of the copy", &self.left_out)] {
            if !list.is_empty() {
                let _ = writeln!(out, "{what}: {}.", named(&mut list.iter().cloned()));
            }
        }
        out
    }

    /// Returns the report as a document.
    pub fn to_value(&self) -> Value {
        let texts = |list: &[String]| Value::array(list.iter().map(|text| Value::from(text.as_str())));
        let plans = |plans: &[Plan]| Value::array(plans.iter().map(Plan::to_value));
        let unstable: Vec<Plan> = self.unstable().cloned().collect();
        Value::Object(
            Object::default()
                .with("plans", plans(&self.first.plans))
                .with("second", plans(&unstable))
                .with("old", plans(&self.old))
                .with("gone", texts(&self.gone))
                .with("notCalled", texts(&self.not_called))
                .with("leftOut", texts(&self.left_out)),
        )
    }
}
