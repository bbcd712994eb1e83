//! Plans as one comment on a pull request: what changes, whose fields are taken, conflicts with causes, and what stays although it left
//! the manifests. Conflicts come first; long parts are folded, and what exceeds the size of a comment is counted.

use super::{PlacedPlan, count};
use std::fmt::Write;
use tenure_apply::Timestamp;
use tenure_ownership::{Action, Plan, Verdict, diagnosis::CommandLine, owner::describe_all};
use tenure_value::{Value, json};

/// The first line, by which the comment is found again.
pub const MARK: &str = "<!-- tenure-plan -->";

/// The most bytes of a comment; code hosts take 65,536 characters.
const LIMIT: usize = 60_000;

/// The most lines of one part of an object.
const ROWS: usize = 40;

/// The most characters of a value.
const VALUE: usize = 120;

/// Returns plans as a comment; `gone` are objects that left the manifests.
pub fn markdown(plans: &[PlacedPlan<'_>], gone: &[String], line: &CommandLine<'_>, now: Timestamp) -> String {
    let mut out = format!("{MARK}\n### {}\n\n", heading(plans));
    let mut shown: Vec<&PlacedPlan<'_>> = plans.iter().filter(|placed| says_something(placed.plan)).collect();
    shown.sort_by_key(|placed| std::cmp::Reverse(rank(placed.plan.action())));
    let mut left = 0;
    for placed in &shown {
        let part = object(placed, line, now);
        if out.len() + part.len() > LIMIT {
            left += 1;
        } else {
            out.push_str(&part);
        }
    }
    // Writing to a string does not fail.
    if left > 0 {
        let _ = writeln!(
            out,
            "\n{} not shown: the comment would be too long. The log of the job has everything.\n",
            count(left, "object")
        );
    }
    let mut names = String::new();
    for name in gone.iter().take(ROWS) {
        let _ = writeln!(names, "- {}", code(name));
    }
    if !gone.is_empty() {
        let more = gone.len().saturating_sub(ROWS);
        let more = if more > 0 { format!("- and {more} more\n") } else { String::new() };
        let _ = writeln!(
            out,
            "\n{} left the manifests; an apply does not delete them:\n\n{names}{more}",
            count(gone.len(), "object")
        );
    }
    if shown.is_empty() && gone.is_empty() {
        out.push_str("Nothing changes.\n");
    }
    out
}

fn heading(plans: &[PlacedPlan<'_>]) -> String {
    let words = [
        (Action::Conflict, "with conflicts"),
        (Action::Refused, "refused"),
        (Action::Delete, "to delete"),
        (Action::Change, "to change"),
        (Action::Create, "to create"),
        (Action::Owners, "with changed owners"),
        (Action::Unchanged, "unchanged"),
    ];
    let part = |(action, word): (Action, &str)| {
        let number = plans.iter().filter(|placed| placed.plan.action() == action).count();
        (number > 0).then(|| format!("{number} {word}"))
    };
    let parts: Vec<String> = words.into_iter().filter_map(part).collect();
    match parts.is_empty() {
        true => "Plan: no objects".to_owned(),
        false => format!("Plan: {}: {}", count(plans.len(), "object"), parts.join(", ")),
    }
}

fn rank(action: Action) -> usize {
    match action {
        Action::Conflict => 6,
        Action::Refused => 5,
        Action::Delete => 4,
        Action::Change => 3,
        Action::Create => 2,
        Action::Owners => 1,
        Action::Unchanged => 0,
    }
}

fn says_something(plan: &Plan) -> bool {
    plan.action() != Action::Unchanged || !plan.lingering.is_empty() || !plan.warnings.is_empty()
}

/// Returns an object; open if a person has to decide, else folded.
fn object(placed: &PlacedPlan<'_>, line: &CommandLine<'_>, now: Timestamp) -> String {
    let plan = placed.plan;
    let action = plan.action();
    let open = if matches!(action, Action::Conflict | Action::Refused) { " open" } else { "" };
    let mut out = format!(
        "<details{open}><summary><b>{}</b>: {}</summary>\n\n{}\n\n",
        html(&plan.target.to_string()),
        action.word(),
        code(&format!("{}:{}", placed.file, placed.line))
    );
    if let Verdict::Refused(problem) = &plan.verdict {
        let _ = writeln!(out, "The server refuses it: {}\n", code(problem));
    }
    conflicts(plan, line, now, &mut out);
    if matches!(plan.verdict, Verdict::Applied(_)) {
        changes(plan, &mut out);
        owners(plan, &mut out);
    }
    let stays = plan.lingering.iter().map(|field| {
        format!(
            "- {} left the manifest but stays: owned by {}\n",
            code(&field.path.quoted().to_string()),
            code(&describe_all(&field.owners, now))
        )
    });
    rows(stays, &mut out);
    let zeros = plan.zeros.iter().map(|zero| {
        format!(
            "- the apply would own the zero value {} of {}\n",
            value(&zero.value),
            code(&zero.path.quoted().to_string())
        )
    });
    rows(zeros, &mut out);
    rows(
        plan.warnings.iter().map(|warning| format!("- warning of the server: {}\n", code(warning))),
        &mut out,
    );
    out.push_str("\n</details>\n");
    out
}

fn conflicts(plan: &Plan, line: &CommandLine<'_>, now: Timestamp, out: &mut String) {
    let conflicts = plan.shown_conflicts();
    if conflicts.is_empty() {
        return;
    }
    out.push_str("| conflict | live | manifest | owned by |\n|---|---|---|---|\n");
    let side = |side: &Option<Value>| side.as_ref().map_or_else(|| "not set".to_owned(), value);
    let row = |one: &tenure_ownership::Conflict| {
        let path = code(&one.path.quoted().to_string());
        let owners = code(&describe_all(&one.owners, now));
        format!(
            "| {} | {} | {} | {} |\n",
            cell(&path),
            cell(&side(&one.live)),
            cell(&side(&one.proposed)),
            cell(&owners)
        )
    };
    rows(conflicts.iter().map(row), out);
    for cause in &plan.causes {
        let _ = writeln!(out, "\n**{}**: {}\n", cause.cause.title(), escaped(&cause.sentence));
        for remedy in &cause.remedies {
            let _ = match remedy.command(line) {
                Some(command) => writeln!(out, "- {}: {}", escaped(&remedy.effect), code(&command)),
                None => writeln!(out, "- {}", escaped(&remedy.effect)),
            };
        }
    }
    out.push('\n');
}

fn changes(plan: &Plan, out: &mut String) {
    let declared = |path: &tenure_fields::Path| plan.before.is_some() || plan.declared.has(path);
    let values = plan.shown_values();
    let shown = values.iter().filter(|one| declared(&one.path)).map(|one| {
        let side = |side: &Option<Value>| side.as_ref().map_or_else(String::new, json::to_string);
        let path = one.path.quoted();
        match (&one.before, &one.after) {
            (None, _) => format!("+ {path}: {}\n", cut(&side(&one.after))),
            (_, None) => format!("- {path}: {}\n", cut(&side(&one.before))),
            _ => format!("- {path}: {}\n+ {path}: {}\n", cut(&side(&one.before)), cut(&side(&one.after))),
        }
    });
    let mut text = String::new();
    rows(shown, &mut text);
    if !text.is_empty() {
        let fence = fence(&text);
        let _ = writeln!(out, "{fence}diff\n{text}{fence}\n");
    }
}

fn owners(plan: &Plan, out: &mut String) {
    if plan.before.is_none() {
        return;
    }
    let taken = plan.owners.iter().flat_map(|change| {
        let owner = code(&change.owner.name);
        change
            .lost
            .leaves()
            .iter()
            .map(move |path| format!("- {owner} loses {}\n", code(&path.quoted().to_string())))
            .collect::<Vec<_>>()
    });
    rows(taken, out);
}

/// Adds rows, and how many there are beyond the limit.
fn rows(rows: impl Iterator<Item = String>, out: &mut String) {
    let mut left = 0;
    for (at, row) in rows.enumerate() {
        if at < ROWS {
            out.push_str(&row);
        } else {
            left += 1;
        }
    }
    if left > 0 {
        let _ = writeln!(out, "… and {left} more");
    }
}

fn value(value: &Value) -> String {
    code(&cut(&json::to_string(value)))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(VALUE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Returns a fence that the text does not contain.
fn fence(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(longest.max(2) + 1)
}

/// Writes text as code, whatever it contains, so that an `@name` in it mentions no user.
fn code(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    match longest {
        0 => format!("{fence}{text}{fence}"),
        _ => format!("{fence} {text} {fence}"),
    }
}

/// Writes code into a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Writes text between tags of HTML.
fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('@', "&#64;")
}

/// Writes text into a paragraph, so that nothing in it is markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("&#64;"),
            '*' | '_' | '`' | '[' | ']' | '#' | '\\' | '|' | '!' => {
                out.push('\\');
                out.push(letter);
            }
            '\n' | '\r' => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_out() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a`b\nc"), "`` a`b c ``");
        assert_eq!(fence("x ``` y"), "````");
        assert_eq!(escaped("<b>@team *x*"), "&lt;b&gt;&#64;team \\*x\\*");
        assert_eq!(cell(&code("a|b")), "`a\\|b`");
    }
}
