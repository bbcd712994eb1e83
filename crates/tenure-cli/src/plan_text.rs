//! Plans as text. Every line is complete by itself: what happens, where, and which managers are affected.

use crate::{
    Outcome,
    plugin::program,
    terminal::{Ink, Terminal, columns, command_lines, visible, wrapped},
};
use std::fmt::{Display, Write};
use tenure_apply::OwnershipChange;
use tenure_fields::{FieldSet, Path};
use tenure_ownership::{
    Action, Difference, Plan, Target, Verdict,
    diagnosis::{CommandLine, RemedyKind, shell_word},
    owner::{Owner, describe_all, owners_of},
    plan::{CLIENT_SIDE_MANAGERS, Lingering},
};
use tenure_value::{Value, json};

fn ink(action: Action) -> Ink {
    match action {
        Action::Unchanged => Ink::Faint,
        Action::Create => Ink::Added,
        Action::Owners | Action::Change => Ink::Changed,
        Action::Delete => Ink::Removed,
        Action::Conflict | Action::Refused => Ink::Problem,
    }
}

/// Returns the exit code of a command that found this.
pub fn outcome(action: Action) -> Outcome {
    match action {
        Action::Unchanged | Action::Refused => Outcome::Done,
        Action::Create | Action::Owners | Action::Change | Action::Delete => Outcome::Changes,
        Action::Conflict => Outcome::Conflicts,
    }
}

/// What was typed, so that the commands that settle conflicts can be pasted.
#[derive(Default)]
pub struct Typed {
    /// The apply of the same manifests.
    pub apply: String,
    /// The flags of the apply that name the manifests.
    pub files: String,
    /// The flags that choose the server.
    pub server: String,
    /// The flag by which fields move to the manager that applies.
    pub to: String,
}

impl Typed {
    /// Returns how commands are written.
    pub fn line(&self) -> CommandLine<'_> {
        CommandLine { program: program(), files: &self.files, server: &self.server }
    }
}

/// Returns the word before a remedy.
pub fn label(kind: RemedyKind) -> &'static str {
    match kind {
        RemedyKind::LeaveOut => "leave it out",
        RemedyKind::Share => "share it",
        RemedyKind::Transfer => "hand it over",
        RemedyKind::Adopt => "adopt all",
        RemedyKind::Migrate => "migrate",
        RemedyKind::Take => "take it",
    }
}

/// Which plans are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// All.
    All,
    /// Where there are many, only those that change something or have a warning.
    Relevant,
}

/// How many plans are shown whatever they say.
const FEW: usize = 20;

/// Returns plans as text.
pub fn all<'p>(
    plans: impl ExactSizeIterator<Item = &'p Plan>,
    shown: Shown,
    typed: &Typed,
    terminal: &Terminal,
) -> String {
    let few = plans.len() <= FEW || shown == Shown::All;
    let says_something = |plan: &&Plan| few || plan.action() != Action::Unchanged || has_findings(plan);
    plans.filter(says_something).map(|plan| text(plan, typed, terminal)).collect()
}

fn has_findings(plan: &Plan) -> bool {
    !plan.zeros.is_empty() || !plan.lingering.is_empty() || !plan.warnings.is_empty()
}

/// Returns a plan as text.
fn text(plan: &Plan, typed: &Typed, terminal: &Terminal) -> String {
    let action = plan.action();
    let paint = terminal.paint;
    let mut out =
        format!("{}: {}\n", paint.ink(Ink::Strong, &plan.target), paint.ink(ink(action), action.word()));
    let mut page = Page { terminal, out: &mut out };
    match &plan.verdict {
        Verdict::Refused(problem) => page.line('✗', Ink::Problem, problem),
        // What force would change is shown after the conflicts are resolved.
        Verdict::Conflicts(..) => page.conflicts(plan, typed),
        Verdict::Applied(_) => {
            page.values(plan);
            page.owners(plan);
        }
        Verdict::Deleted => page.deletion(plan),
    }
    page.findings(plan, typed);
    out
}

struct Page<'a> {
    terminal: &'a Terminal,
    out: &'a mut String,
}

impl Page<'_> {
    fn line(&mut self, mark: char, ink: Ink, text: impl Display) {
        let text = text.to_string();
        let indent = 4 + (text.len() - text.trim_start().len());
        let lines = wrapped(&text, self.terminal.width.saturating_sub(indent).max(20));
        for (at, line) in lines.iter().enumerate() {
            let mark = if at == 0 { mark } else { ' ' };
            let line = format!("{mark} {:1$}{line}", "", indent - 4);
            // Writing to a string does not fail.
            let _ = writeln!(self.out, "  {}", self.terminal.paint.ink(ink, line));
        }
    }

    /// Adds a command that can be pasted.
    fn command(&mut self, label: &str, command: &str) {
        self.labelled(label, command_lines(command, self.room()));
    }

    /// Adds what is to be done by hand.
    fn remedy(&mut self, label: &str, effect: &str) {
        self.labelled(label, wrapped(effect, self.room()));
    }

    /// Returns the columns of what stands after a label.
    fn room(&self) -> usize {
        self.terminal.width.saturating_sub(21).max(20)
    }

    fn labelled(&mut self, label: &str, lines: Vec<String>) {
        for (at, line) in lines.iter().enumerate() {
            let label = format!("{:<14}", if at == 0 { label } else { "" });
            let label = self.terminal.paint.ink(Ink::Faint, label);
            // Writing to a string does not fail.
            let _ = writeln!(self.out, "      {label} {}", visible(line));
        }
    }

    fn values(&mut self, plan: &Plan) {
        let mut defaults = 0;
        for difference in plan.shown_values() {
            if plan.before.is_none() && !is_declared(&plan.declared, &difference.path) {
                defaults += 1;
                continue;
            }
            self.value(&difference);
        }
        if defaults > 0 {
            self.line('·', Ink::Faint, format_args!("{} set by the server", count(defaults, "field")));
        }
    }

    fn value(&mut self, difference: &Difference) {
        let path = &difference.path;
        match (&difference.before, &difference.after) {
            (None, Some(after)) => self.line('+', Ink::Added, format_args!("{path}: {}", shown(after))),
            (Some(before), None) => self.line('-', Ink::Removed, format_args!("{path}: {}", shown(before))),
            (Some(before), Some(after)) => {
                let (before, after) = (shown(before), shown(after));
                let length = columns(&path.to_string()) + columns(&before) + columns(&after);
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

    fn deletion(&mut self, plan: &Plan) {
        let managers = plan.before.iter().flat_map(|before| before.managers.iter());
        let owners: Vec<Owner> = managers.map(Owner::from).collect();
        let owners = describe_all(&owners, self.terminal.now);
        self.line('-', Ink::Removed, format_args!("the whole object, written by {owners}"));
    }

    fn conflicts(&mut self, plan: &Plan, typed: &Typed) {
        let conflicts = plan.shown_conflicts();
        for conflict in &conflicts {
            let side = |value: &Option<Value>| value.as_ref().map_or_else(|| "(not set)".to_owned(), shown);
            let (live, proposed) = (side(&conflict.live), side(&conflict.proposed));
            self.line('!', Ink::Problem, format_args!("{}: {live} → {proposed}", conflict.path));
            let owners = describe_all(&conflict.owners, self.terminal.now);
            self.line(' ', Ink::Faint, format_args!("  owned by {owners}"));
        }
        for cause in &plan.causes {
            self.line(' ', Ink::Strong, &cause.sentence);
            for remedy in &cause.remedies {
                let label = label(remedy.kind);
                match remedy.command(&typed.line()) {
                    Some(command) => self.command(label, &command),
                    None => self.remedy(label, &remedy.effect),
                }
            }
        }
        if !conflicts.is_empty() {
            self.command("one by one", &format!("{} --interactive", typed.apply));
        }
    }

    fn owners(&mut self, plan: &Plan) {
        let Some(after) = plan.after() else { return };
        for change in &plan.owners {
            let name = &change.owner.name;
            if plan.before.is_none() {
                let fields = count(change.gained.leaves().len(), "field");
                self.line('→', Ink::Faint, format_args!("{name} owns {fields}"));
                continue;
            }
            for path in change.gained.leaves().iter() {
                if change.shared.has(&path) {
                    let others = others(change, owners_of(&after.managers, &path));
                    let others = describe_all(&others, self.terminal.now);
                    self.line('→', Ink::Faint, format_args!("{name} shares {path} with {others}"));
                } else {
                    self.line('→', Ink::Faint, format_args!("{name} gains {path}"));
                }
            }
            for path in change.lost.leaves().iter() {
                let owners = describe_all(&owners_of(&after.managers, &path), self.terminal.now);
                self.line('←', Ink::Faint, format_args!("{name} loses {path}, now owned by {owners}"));
            }
            for path in change.removed.leaves().iter() {
                self.line('←', Ink::Faint, format_args!("{name} loses {path}, which is removed"));
            }
        }
    }

    fn findings(&mut self, plan: &Plan, typed: &Typed) {
        for zero in &plan.zeros {
            let text = format!(
                "{}: the apply would own the zero value {}; remove it from the manifest unless it is intended",
                zero.path,
                json::to_string(&zero.value)
            );
            self.line('?', Ink::Warning, text);
        }
        let mut commands: Vec<(&str, String)> = Vec::new();
        for lingering in &plan.lingering {
            let owners = describe_all(&lingering.owners, self.terminal.now);
            let text = format!("{} is not in the manifest but stays: owned by {owners}", lingering.path);
            self.line('=', Ink::Warning, text);
            let command = removable(lingering, &plan.target, typed);
            commands.extend(command.filter(|command| !commands.contains(command)));
        }
        for (label, command) in commands {
            self.command(label, &command);
        }
        for warning in &plan.warnings {
            self.line('?', Ink::Warning, warning);
        }
    }
}

/// Returns the command after which an apply removes what the manifest leaves out, and the word before it.
fn removable(lingering: &Lingering, target: &Target, typed: &Typed) -> Option<(&'static str, String)> {
    let is_client_side = |owner: &Owner| CLIENT_SIDE_MANAGERS.contains(&owner.name.as_str());
    let owner = lingering.owners.first()?;
    let namespace = match target.namespace.as_str() {
        "" => String::new(),
        namespace => format!(" -n {namespace}"),
    };
    let line = |command: &str, from: &str| {
        let (word, name, Typed { to, server, .. }) = (&target.word, &target.name, typed);
        format!("{} {command} {word}/{name}{namespace}{from}{to}{server}", program())
    };
    Some(match lingering.owners.iter().any(is_client_side) {
        true => ("migrate", line("migrate", "")),
        false => ("adopt it", line("adopt", &format!(" --from {}", shell_word(&owner.name)))),
    })
}

fn others(change: &OwnershipChange, owners: Vec<Owner>) -> Vec<Owner> {
    owners.into_iter().filter(|owner| !owner.identity().is(&change.owner.identity())).collect()
}

/// Whether a leaf is in the manifest, by itself or inside an atomic value.
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

/// Returns a number of things in words.
pub fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Returns the number of objects per action, in one line.
pub fn summary(plans: &[Plan]) -> String {
    let words = [
        (Action::Create, "to create"),
        (Action::Change, "to change"),
        (Action::Owners, "with changed owners"),
        (Action::Delete, "to delete"),
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
