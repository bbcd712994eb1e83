//! `tenure log`: the changes of an object, or of one field, newest first.

use crate::{
    Error, Outcome, change_log,
    connection::Connection,
    history_source::HistorySource,
    past::{Log, Past, text},
    terminal::{Format, Terminal, table},
};
use clap::Args;
use tenure_transport::did_you_mean;
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
    /// The object as KIND/NAME, then a field, such as .spec.replicas; all fields by default.
    #[arg(value_name = "KIND/NAME FIELD", required = true, num_args = 1..=3)]
    words: Vec<String>,
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
    history: HistorySource,
    #[command(flatten)]
    connection: Connection,
}

/// Returns the object and the field that words name; the kind and the name may be two words.
fn subject(words: &[String]) -> Result<(String, Option<&str>), Error> {
    let (object, rest) = match words {
        [kind, name, rest @ ..] if !kind.contains('/') => (format!("{kind}/{name}"), rest),
        [object, rest @ ..] => (object.clone(), rest),
        [] => (String::new(), words),
    };
    match rest {
        [] => Ok((object, None)),
        [field] => Ok((object, Some(field))),
        [_, other, ..] => Err(Error::usage(format!("{other}: name one object and one field"))),
    }
}

/// Shows the changes.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let (object, wanted) = subject(&options.words)?;
    let mut log = options.history.run(&options.connection, async |cluster| {
        let past = Past::of(&cluster, &object).await?;
        let field = past.field(&cluster, wanted).await?;
        let log = match &field {
            // A field that the object does not have now may have changed before.
            Err(problem) => {
                let log = past.log(&cluster, wanted, None, options.limit).await;
                log.ok()
                    .filter(|log| !log.items.is_empty())
                    .ok_or_else(|| Error::Ownership(problem.clone()))?
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
            let shown = match wanted {
                Some(_) => field_text(&log, terminal),
                None => object_text(&log, terminal),
            };
            terminal.show(&shown)?;
        }
        format => terminal.print_value(&Value::array(log.items.iter().cloned()), format)?,
    }
    if let Some(oldest) = log.begins_after {
        terminal
            .note(format_args!("Changes up to revision {oldest} are no longer kept, or were not recorded."));
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
        change_log::whole(item, "", terminal, &mut out);
    }
    out
}

/// Returns the values of one field as a table.
fn field_text(log: &Log, terminal: &Terminal) -> String {
    let rows: Vec<[String; 7]> = log.items.iter().map(|item| change_log::row(item, terminal)).collect();
    let heads = ["REVISION", "AGE", "MANAGER", "OPERATION", "USER", "OWNERS", "VALUE"];
    // A recorder without audit events knows no user.
    if log.items.iter().any(|item| !text(item, "user").is_empty()) {
        return table(heads, &rows, terminal);
    }
    let without = |[revision, age, manager, operation, _, owners, value]: [String; 7]| {
        [revision, age, manager, operation, owners, value]
    };
    let [revision, age, manager, operation, _, owners, value] = heads;
    let rows: Vec<[String; 6]> = rows.into_iter().map(without).collect();
    table([revision, age, manager, operation, owners, value], &rows, terminal)
}
