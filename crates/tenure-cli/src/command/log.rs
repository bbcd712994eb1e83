//! `tenure log`: the changes of an object, or of one field, newest first.

use crate::{
    Error, Outcome, change_text,
    connection::Connection,
    past::{Log, Past, changed, owner_changes, text},
    terminal::{Format, Ink, Terminal, table},
};
use clap::Args;
use std::fmt::Write;
use tenure_apply::Timestamp;
use tenure_transport::did_you_mean;
use tenure_ownership::owner::age;
use tenure_value::Value;

/// Show who changed an object or a field, when, from what to what.
#[derive(Args)]
#[command(after_help = "\
Works for objects that were deleted, too. Values of Secrets are shown as ***, unless the server keeps them.

Examples:
  tenure log deployment/web
  tenure log deployment/web .spec.replicas
  tenure log deployment/web '.spec.template.spec.containers[name=\"app\"].image' --limit 5
  tenure log configmap/gone --output json")]
pub struct Options {
    /// The object, as KIND/NAME.
    #[arg(value_name = "KIND/NAME")]
    object: String,
    /// A field, such as .spec.replicas; all fields by default.
    #[arg(value_name = "FIELD")]
    field: Option<String>,
    /// How many changes to show.
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    limit: usize,
    /// Show only changes by this manager; may be repeated.
    #[arg(long = "manager", value_name = "NAME")]
    managers: Vec<String>,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    connection: Connection,
}

/// Shows the changes.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let mut log = options.connection.run(async |cluster| {
        let past = Past::of(&cluster, &options.object).await?;
        let field = past.field(&cluster, options.field.as_deref()).await?;
        let log = match &field {
            // A field that the object does not have now may have changed before.
            Err(problem) => {
                let log = past.log(&cluster, options.field.as_deref(), None, options.limit).await;
                log.ok().filter(|log| !log.items.is_empty()).ok_or_else(|| Error::Ownership(problem.clone()))?
            }
            Ok(field) => past.log(&cluster, field.as_deref(), None, options.limit).await?,
        };
        let managers = log.items.iter().map(|item| text(item, "manager"));
        let is_known = |name: &&String| log.items.iter().any(|item| text(item, "manager") == name.as_str());
        if let Some(name) = options.managers.iter().find(|name| !is_known(name)) {
            terminal.note(format_args!("no change is by {name:?}{}", did_you_mean(name, managers)));
        }
        Ok(log)
    })?;
    let is_wanted = |item: &Value| options.managers.iter().any(|name| name == text(item, "manager"));
    log.items.retain(|item| options.managers.is_empty() || is_wanted(item));
    match options.output {
        Format::Text => {
            let shown = match &options.field {
                Some(_) => field_text(&log, terminal),
                None => object_text(&log, terminal),
            };
            terminal.show(&shown)?;
        }
        format => terminal.print_value(&Value::array(log.items.iter().cloned()), format)?,
    }
    if let Some(oldest) = log.begins_after {
        terminal.note(format_args!("Changes up to revision {oldest} are no longer kept, or were not recorded."));
    }
    Ok(Outcome::Done)
}

/// Returns the changes of an object, each with its fields.
fn object_text(log: &Log, terminal: &Terminal) -> String {
    let mut out = String::new();
    for item in &log.items {
        if !out.is_empty() {
            out.push('\n');
        }
        let kind = match text(item, "type") {
            "Created" => " (created)",
            "Deleted" => " (deleted)",
            _ if item.get("deletionTimestamp").is_some() => " (marked for deletion)",
            _ => "",
        };
        let revision = format!("revision {}{kind}", text(item, "revision"));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", terminal.paint.ink(Ink::Changed, revision));
        let _ = writeln!(out, "User:    {}", or_dash(text(item, "user")));
        let _ = writeln!(out, "Manager: {} ({})", or_dash(text(item, "manager")), operation(item));
        let _ = writeln!(out, "Date:    {} ({} ago)\n", date(item), since(item, terminal));
        let before = out.len();
        for (path, from, to) in changed(item) {
            change_text::change(path, from, to, terminal, &mut out);
        }
        // Who sets a field that was not there owns it; that needs no second line.
        let is_new = |path: &str| changed(item).any(|(changed, from, _)| changed == path && from.is_none());
        let moved = owner_changes(item).filter(|(_, verb, path)| *verb == "loses" || !is_new(path));
        for (manager, verb, path) in moved {
            let line = format!("{} {manager} {verb} {path}", if verb == "gains" { '→' } else { '←' });
            let _ = writeln!(out, "    {}", terminal.paint.ink(Ink::Faint, line));
        }
        if out.len() == before {
            let _ = writeln!(out, "    {}", terminal.paint.ink(Ink::Faint, "no value changed, only what the server maintains"));
        }
    }
    out
}

/// Returns the values of one field as a table.
fn field_text(log: &Log, terminal: &Terminal) -> String {
    let row = |item: &Value| {
        let (from, to) = changed(item).next().map_or((None, None), |(_, from, to)| (from, to));
        let shown = |value: Option<&Value>| value.map_or_else(|| "(not set)".into(), Value::to_string);
        // Values of a Secret are withheld, so that they do not tell whether they changed.
        let values = match item.get("changed").and_then(Value::as_bool) {
            Some(false) => format!("{} (same value, other owners)", shown(to)),
            _ => format!("{} → {}", shown(from), shown(to)),
        };
        let names = item.get("owners").and_then(Value::as_array).into_iter().flat_map(|owners| owners.iter());
        let names: Vec<&str> = names.map(|owner| text(owner, "manager")).collect();
        [
            text(item, "revision").to_owned(),
            since(item, terminal),
            or_dash(text(item, "manager")).to_owned(),
            operation(item),
            or_dash(text(item, "user")).to_owned(),
            or_dash(&names.join(",")).to_owned(),
            values,
        ]
    };
    let rows: Vec<[String; 7]> = log.items.iter().map(row).collect();
    table(["REVISION", "AGE", "MANAGER", "OPERATION", "USER", "OWNERS", "VALUE"], &rows, terminal)
}

/// Returns a text, or a dash for an empty one.
fn or_dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

fn operation(item: &Value) -> String {
    match text(item, "subresource") {
        "" => text(item, "verb").to_owned(),
        subresource => format!("{}/{subresource}", text(item, "verb")),
    }
}

fn date(item: &Value) -> String {
    Timestamp::parse(text(item, "time")).map_or_else(|| "-".into(), |time| time.to_string())
}

fn since(item: &Value, terminal: &Terminal) -> String {
    age(Timestamp::parse(text(item, "time")), terminal.now)
}
