//! Changes of objects as text: each with its author, its time and its fields, or one field in a row of a table.

use crate::{
    change_text,
    past::{changed, owner_changes, text},
    terminal::{Ink, Terminal, wrapped},
};
use std::fmt::Write;
use tenure_apply::Timestamp;
use tenure_ownership::owner::age;
use tenure_value::Value;

/// Appends a change with all its fields; `object` names the object where there are several.
pub fn whole(item: &Value, object: &str, terminal: &Terminal, out: &mut String) {
    let kind = match text(item, "type") {
        "Created" => " (created)",
        "Deleted" => " (deleted)",
        _ if item.get("deletionTimestamp").is_some() => " (marked for deletion)",
        _ => "",
    };
    let space = if object.is_empty() { "" } else { " " };
    let revision = format!("{object}{space}revision {}{kind}", text(item, "revision"));
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{}", terminal.paint.ink(Ink::Changed, revision));
    match item.get("gap") {
        Some(gap) => missed(item, gap, terminal, out),
        None => {
            let user = format!("{}{}", or_dash(text(item, "user")), client(item));
            // A recorder without audit events knows no user.
            if user != or_dash("") {
                let _ = writeln!(out, "User:    {user}");
            }
            let _ = writeln!(out, "Manager: {} ({})", or_dash(text(item, "manager")), operation(item));
            let _ = writeln!(out, "Date:    {} ({} ago)\n", date(item), since(item, terminal));
        }
    }
    let before = out.len();
    for (path, from, to) in changed(item) {
        change_text::change(path, from, to, terminal, out);
    }
    // Who sets a field that was not there owns it; that needs no second line.
    let is_new = |path: &str| changed(item).any(|(changed, from, _)| changed == path && from.is_none());
    let moved = owner_changes(item).filter(|(_, verb, path)| *verb == "loses" || !is_new(path));
    for (manager, verb, path) in moved {
        let line = format!("{} {manager} {verb} {path}", if verb == "gains" { '→' } else { '←' });
        for (at, line) in wrapped(&line, terminal.width.saturating_sub(6)).into_iter().enumerate() {
            let indent = if at == 0 { "    " } else { "      " };
            let _ = writeln!(out, "{indent}{}", terminal.paint.ink(Ink::Faint, line));
        }
    }
    if out.len() == before {
        let line = "no value changed, only what the server maintains";
        let _ = writeln!(out, "    {}", terminal.paint.ink(Ink::Faint, line));
    }
}

/// Returns the program and the address of the user, where audit events told them.
fn client(item: &Value) -> String {
    let part = |word: &str, name: &str| match text(item, name) {
        "" => String::new(),
        value => format!(" {word} {value}"),
    };
    part("with", "userAgent") + &part("from", "sourceIP")
}

/// Appends what is known about changes that were missed.
fn missed(item: &Value, gap: &Value, terminal: &Terminal, out: &mut String) {
    let time = |name: &str| Timestamp::parse(text(gap, name)).map(|time| time.to_string());
    let until = time("until").unwrap_or_else(|| date(item));
    let when = match time("since") {
        Some(since) => format!("between {since} and {until}"),
        None => format!("before {until}"),
    };
    let writes = gap.get("writes").and_then(Value::as_i64).unwrap_or(1);
    let plural = if writes == 1 { "write was" } else { "writes were" };
    let line = format!("Gap:     at least {writes} {plural} not seen {when}");
    let _ = writeln!(out, "{}", terminal.paint.ink(Ink::Problem, line));
    let managers = gap.get("managers").and_then(Value::as_array).into_iter().flatten();
    let manager = |manager: &Value| match text(manager, "time") {
        "" => text(manager, "manager").to_owned(),
        time => format!("{} at {time}", text(manager, "manager")),
    };
    let managers: Vec<String> = managers.map(manager).collect();
    let _ = writeln!(out, "Wrote:   {}\n", or_dash(&managers.join(", ")));
}

/// Returns what a change did to one field: revision, age, manager, operation, user, owners and values.
pub fn row(item: &Value, terminal: &Terminal) -> [String; 7] {
    let names = item.get("owners").and_then(Value::as_array).into_iter().flat_map(|owners| owners.iter());
    let names: Vec<&str> = names.map(|owner| text(owner, "manager")).collect();
    let (manager, operation) = match item.get("gap") {
        Some(_) => ("(gap)".to_owned(), "-".to_owned()),
        None => (or_dash(text(item, "manager")).to_owned(), operation(item)),
    };
    [
        text(item, "revision").to_owned(),
        since(item, terminal),
        manager,
        operation,
        or_dash(text(item, "user")).to_owned(),
        or_dash(&names.join(",")).to_owned(),
        values(item),
    ]
}

/// Returns the values of one field before and after a change.
pub fn values(item: &Value) -> String {
    let (from, to) = changed(item).next().map_or((None, None), |(_, from, to)| (from, to));
    let shown = |value: Option<&Value>| value.map_or_else(|| "(not set)".into(), Value::to_string);
    // Values of a Secret are withheld, so that they do not tell whether they changed.
    match item.get("changed").and_then(Value::as_bool) {
        Some(false) => format!("{} (other owners)", shown(to)),
        _ => format!("{} → {}", shown(from), shown(to)),
    }
}

/// Returns a text, or a dash for an empty one.
pub fn or_dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

/// Returns how a change was written.
pub fn operation(item: &Value) -> String {
    match text(item, "subresource") {
        "" => text(item, "verb").to_owned(),
        subresource => format!("{}/{subresource}", text(item, "verb")),
    }
}

/// Returns when a change was made.
pub fn date(item: &Value) -> String {
    Timestamp::parse(text(item, "time")).map_or_else(|| "-".into(), |time| time.to_string())
}

fn since(item: &Value, terminal: &Terminal) -> String {
    age(Timestamp::parse(text(item, "time")), terminal.now)
}
