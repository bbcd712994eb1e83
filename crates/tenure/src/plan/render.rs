//! Plans as people and programs read them. Every line stands for itself: what happens, where, and who is concerned.

use super::{Action, Contest, Difference, Plan, Verdict, holders_of};
use crate::{
    Outcome, holder,
    terminal::{Ink, Terminal},
};
use std::fmt::Write;
use tenure_apply::{Owner, OwnershipChange};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_value::{Object, Value, json};

impl Action {
    /// Returns the word for what happens.
    pub fn word(self) -> &'static str {
        match self {
            Action::Unchanged => "unchanged",
            Action::Create => "create",
            Action::Holders => "holders change",
            Action::Change => "change",
            Action::Conflict => "conflict",
            Action::Refused => "refused",
        }
    }

    fn ink(self) -> Ink {
        match self {
            Action::Unchanged => Ink::Faint,
            Action::Create => Ink::Added,
            Action::Holders | Action::Change => Ink::Changed,
            Action::Conflict | Action::Refused => Ink::Problem,
        }
    }

    /// Returns how a command ends that found this.
    pub fn outcome(self) -> Outcome {
        match self {
            Action::Unchanged | Action::Refused => Outcome::Done,
            Action::Create | Action::Holders | Action::Change => Outcome::Changes,
            Action::Conflict => Outcome::Conflicts,
        }
    }
}

/// Returns a plan as text.
pub fn text(plan: &Plan, terminal: &Terminal) -> String {
    let action = plan.action();
    let paint = terminal.paint;
    let mut out =
        format!("{}: {}\n", paint.ink(Ink::Strong, &plan.target), paint.ink(action.ink(), action.word()));
    let mut page = Page { terminal, out: &mut out };
    match &plan.verdict {
        Verdict::Refused(problem) => page.line('✗', Ink::Problem, problem),
        Verdict::Contested(contests, _) => page.contests(&discreet_contests(plan, contests)),
        Verdict::Applied(_) => {}
    }
    // What force would do to the rest is of no interest before the conflicts are solved.
    if let Verdict::Applied(_) = plan.verdict {
        page.values(plan);
        page.holders(plan);
    }
    page.findings(plan);
    out
}

struct Page<'a> {
    terminal: &'a Terminal,
    out: &'a mut String,
}

impl Page<'_> {
    fn line(&mut self, mark: char, ink: Ink, text: impl std::fmt::Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.out, "  {}", self.terminal.paint.ink(ink, format_args!("{mark} {text}")));
    }

    fn values(&mut self, plan: &Plan) {
        let mut filled_in = 0;
        for difference in discreet_values(plan) {
            if plan.before.is_none() && !is_declared(&plan.declared, &difference.path) {
                filled_in += 1;
                continue;
            }
            self.value(&difference);
        }
        if filled_in > 0 {
            self.line(
                '·',
                Ink::Faint,
                format_args!("{} that the server fills in", count(filled_in, "field")),
            );
        }
    }

    fn value(&mut self, difference: &Difference) {
        let path = &difference.path;
        match (&difference.before, &difference.after) {
            (None, Some(after)) => self.line('+', Ink::Added, format_args!("{path}: {}", shown(after))),
            (Some(before), None) => self.line('-', Ink::Removed, format_args!("{path}: {}", shown(before))),
            (Some(before), Some(after)) => {
                let (before, after) = (shown(before), shown(after));
                let length =
                    path.to_string().chars().count() + before.chars().count() + after.chars().count();
                if length + 10 <= self.terminal.width {
                    self.line('~', Ink::Changed, format_args!("{path}: {before} → {after}"));
                } else {
                    self.line('~', Ink::Changed, format_args!("{path}:"));
                    self.line(' ', Ink::Removed, format_args!("  - {before}"));
                    self.line(' ', Ink::Added, format_args!("  + {after}"));
                }
            }
            (None, None) => {}
        }
    }

    fn contests(&mut self, contests: &[Contest]) {
        for contest in contests {
            let side = |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), shown);
            let (live, proposed) = (side(&contest.live), side(&contest.proposed));
            self.line('!', Ink::Problem, format_args!("{}: {live} → {proposed}", contest.path));
            let holders = holder::describe_all(&contest.holders, self.terminal.now);
            self.line(' ', Ink::Faint, format_args!("  held by {holders}"));
        }
        if !contests.is_empty() {
            self.line(
                ' ',
                Ink::Faint,
                "take single fields with `tenure apply --force-path PATH`, decide one by one with --interactive, \
                 or leave them out",
            );
        }
    }

    fn holders(&mut self, plan: &Plan) {
        let Some(after) = plan.after() else { return };
        for change in plan.holders() {
            let name = &change.owner.name;
            if plan.before.is_none() {
                let fields = count(change.gained.leaves().len(), "field");
                self.line('→', Ink::Faint, format_args!("{name} comes to hold {fields}"));
                continue;
            }
            for path in change.gained.leaves().iter() {
                if change.shared.has(&path) {
                    let others = others(&change, holders_of(&after.managers, &path));
                    let others = holder::describe_all(&others, self.terminal.now);
                    self.line('→', Ink::Faint, format_args!("{name} shares {path} with {others}"));
                } else {
                    self.line('→', Ink::Faint, format_args!("{name} gains {path}"));
                }
            }
            for path in change.lost.leaves().iter() {
                let left = holder::describe_all(&holders_of(&after.managers, &path), self.terminal.now);
                self.line('←', Ink::Faint, format_args!("{name} gives up {path}, now held by {left}"));
            }
            for path in change.removed.leaves().iter() {
                self.line('←', Ink::Faint, format_args!("{name} no longer holds {path}, which goes"));
            }
        }
    }

    fn findings(&mut self, plan: &Plan) {
        for zero in &plan.zeros {
            let text = format!(
                "{}: {} would be claimed; leave it out unless it is meant",
                zero.path,
                json::to_string(&zero.value)
            );
            self.line('?', Ink::Warning, text);
        }
        for lingering in &plan.lingering {
            let holders = holder::describe_all(&lingering.holders, self.terminal.now);
            let old = |held: &&Owner| super::CLIENT_SIDE.contains(&held.name.as_str());
            let (word, name) = (&plan.target.word, &plan.target.name);
            let next = match (lingering.holders.iter().find(old), lingering.holders.first()) {
                (Some(_), _) => format!("; `tenure migrate {word}/{name}` lets it go"),
                (None, Some(held)) => {
                    format!("; `tenure adopt {word}/{name} --from {}` takes it over", held.name)
                }
                (None, None) => String::new(),
            };
            self.line(
                '=',
                Ink::Warning,
                format_args!("{} is left out, but stays: held by {holders}{next}", lingering.path),
            );
        }
        for warning in &plan.warnings {
            self.line('?', Ink::Warning, warning);
        }
    }
}

/// Returns what becomes of the values, without those that are not for every eye.
fn discreet_values(plan: &Plan) -> Vec<Difference> {
    let veiled = |mut difference: Difference| {
        if is_secret(plan, &difference.path) {
            difference.before = difference.before.map(|_| Value::from("*** (before)"));
            difference.after = difference.after.map(|_| Value::from("*** (after)"));
        }
        difference
    };
    plan.values().into_iter().map(veiled).collect()
}

fn discreet_contests(plan: &Plan, contests: &[Contest]) -> Vec<Contest> {
    let veiled = |contest: &Contest| {
        let mut contest = contest.clone();
        if is_secret(plan, &contest.path) {
            contest.live = contest.live.map(|_| Value::from("*** (theirs)"));
            contest.proposed = contest.proposed.map(|_| Value::from("*** (mine)"));
        }
        contest
    };
    contests.iter().map(veiled).collect()
}

/// Whether what stands at a path is a secret.
fn is_secret(plan: &Plan, path: &Path) -> bool {
    let held = |name: &str| path.first() == Some(&PathElement::field(name));
    plan.target.word == "secret" && (held("data") || held("stringData"))
}

fn others(change: &OwnershipChange, holders: Vec<Owner>) -> Vec<Owner> {
    holders.into_iter().filter(|holder| !holder.identity().is(&change.owner.identity())).collect()
}

/// Whether a leaf is in a manifest, by itself or as a part of something declared as one.
fn is_declared(declared: &FieldSet, path: &Path) -> bool {
    (1..=path.len()).any(|end| {
        let part = path.get(..end).unwrap_or_default();
        declared
            .node_at(part)
            .is_some_and(|node| node.included && (node.children.is_empty() || end == path.len()))
    })
}

fn shown(value: &Value) -> String {
    json::to_string(value)
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Returns how many objects there are of each action, in one line.
pub fn summary(plans: &[Plan]) -> String {
    let words = [
        (Action::Create, "to create"),
        (Action::Change, "to change"),
        (Action::Holders, "with other holders"),
        (Action::Unchanged, "unchanged"),
        (Action::Conflict, "with conflicts"),
        (Action::Refused, "refused"),
    ];
    let parts = words.into_iter().filter_map(|(action, word)| {
        let number = plans.iter().filter(|plan| plan.action() == action).count();
        (number > 0).then(|| format!("{number} {word}"))
    });
    let parts: Vec<String> = parts.collect();
    format!("{}: {}\n", count(plans.len(), "object"), parts.join(", "))
}

/// Returns a plan as a document for programs.
pub fn value(plan: &Plan) -> Value {
    let paths =
        |set: &FieldSet| Value::array(set.leaves().iter().map(|path| Value::from(path.quoted().to_string())));
    let place = |path: &Path| Object::default().with("path", path.quoted().to_string());
    let put = |object: Object, name: &'static str, value: &Option<Value>| match value {
        Some(value) => object.with(name, value.clone()),
        None => object,
    };
    let values = discreet_values(plan).into_iter().map(|difference| {
        let object = put(place(&difference.path), "before", &difference.before);
        Value::Object(put(object, "after", &difference.after))
    });
    let holders = plan.holders().into_iter().map(|change| {
        let who = holder::to_value(&change.owner).as_object().cloned().unwrap_or_default();
        Value::Object(
            who.with("gained", paths(&change.gained))
                .with("lost", paths(&change.lost))
                .with("removed", paths(&change.removed))
                .with("shared", paths(&change.shared)),
        )
    });
    let contests: &[Contest] = match &plan.verdict {
        Verdict::Contested(contests, _) => contests,
        _ => &[],
    };
    let contests = discreet_contests(plan, contests);
    let conflicts = contests.iter().map(|contest| {
        let object = put(place(&contest.path), "live", &contest.live);
        let object = put(object, "proposed", &contest.proposed);
        Value::Object(object.with("holders", holder::list(&contest.holders)))
    });
    let zeros =
        plan.zeros.iter().map(|zero| Value::Object(place(&zero.path).with("value", zero.value.clone())));
    let lingering = plan.lingering.iter().map(|lingering| {
        Value::Object(place(&lingering.path).with("holders", holder::list(&lingering.holders)))
    });
    let mut object = Object::default()
        .with("object", plan.target.to_value())
        .with("action", plan.action().word())
        .with("values", Value::array(values))
        .with("holders", Value::array(holders))
        .with("conflicts", Value::array(conflicts))
        .with("zeros", Value::array(zeros))
        .with("lingering", Value::array(lingering))
        .with("warnings", Value::array(plan.warnings.iter().map(|text| Value::from(text.as_str()))));
    if let Verdict::Refused(problem) = &plan.verdict {
        object = object.with("error", problem.as_str());
    }
    Value::Object(object)
}
