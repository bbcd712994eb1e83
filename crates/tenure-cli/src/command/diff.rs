//! `tenure diff`: what changed in an object between two moments.

use crate::{
    Error, Outcome, change_text,
    connection::Connection,
    history_source::HistorySource,
    moment::moment,
    past::{Past, text},
    terminal::{Format, Terminal},
};
use clap::Args;
use tenure_client::Cluster;
use tenure_history::{Values, changes};
use tenure_ownership::LiveObject;
use tenure_value::{Object, Value};

/// Show what changed in an object between two revisions or times, or by its last change.
#[derive(Args)]
#[command(after_help = "\
A moment is a revision (a resourceVersion, as `tenure log` shows it), an age such as 10m or 2h, yesterday, or a time such as 14:30 or
2026-01-02T03:04:05Z, in UTC. The exit code is 2 if something changed and 0 if nothing did.

Examples:
  tenure diff deployment/web
  tenure diff deployment/web --from 10m
  tenure diff deployment/web --from 4711
  tenure diff deployment/web --from 2026-01-02T03:04:05Z --to 2026-01-03T03:04:05Z")]
pub struct Options {
    /// The object, as KIND/NAME.
    #[arg(value_name = "KIND/NAME")]
    object: String,
    /// The older moment [default: before the last change].
    #[arg(long, value_name = "REVISION|TIME")]
    from: Option<String>,
    /// The newer moment [default: now].
    #[arg(long, value_name = "REVISION|TIME", requires = "from")]
    to: Option<String>,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    history: HistorySource,
    #[command(flatten)]
    connection: Connection,
}

/// Shows the differences.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let found = options.history.run(&options.connection, async |cluster| {
        let past = Past::of(&cluster, &options.object).await?;
        let ty = past.type_of(&cluster).await?;
        let since = match &options.from {
            Some(from) => moment(from, terminal.now)?,
            None => before_last_change(&past, &cluster).await?,
        };
        let from = past.find_at(&cluster, &since).await?;
        // The newest revision that a number can name is the current one.
        let to = options.to.as_deref().map_or_else(|| Ok(NOW.to_owned()), |to| moment(to, terminal.now))?;
        let to = past.find_at(&cluster, &to).await?;
        let what = past.what();
        match (&from, &to) {
            (Some(_), Some(_)) => {}
            (None, Some(_)) => {
                let then = options.from.as_deref().unwrap_or(&since);
                terminal.note(format_args!("{what} did not exist then ({then})"));
            }
            (Some(_), None) => match &options.to {
                Some(to) => terminal.note(format_args!("{what} did not exist any more ({to})")),
                None => terminal.note(format_args!("{what} does not exist any more")),
            },
            (None, None) => {
                let problem =
                    format!("{what} did not exist at either moment; `tenure log {what}` shows when it did");
                return Err(Error::usage(problem));
            }
        }
        let object = |live: &Option<LiveObject>| live.as_ref().map(|live| live.object.clone());
        Ok(changes(object(&from).as_ref(), object(&to).as_ref(), ty, Values::Kept))
    })?;
    match options.output {
        Format::Text => {
            let mut out = String::new();
            for one in &found {
                let path = one.path.quoted().to_string();
                change_text::change(&path, one.before.as_ref(), one.after.as_ref(), terminal, &mut out);
            }
            terminal.show(&out)?;
        }
        format => {
            let one = |one: &tenure_ownership::Difference| {
                let shown = Object::default().with("path", one.path.quoted().to_string());
                let values = [("from", &one.before), ("to", &one.after)];
                let shown = values.into_iter().fold(shown, |shown, (name, value)| match value {
                    Some(value) => shown.with(name, value.clone()),
                    None => shown,
                });
                Value::from(shown)
            };
            terminal.print_value(&Value::array(found.iter().map(one)), format)?;
        }
    }
    Ok(if found.is_empty() { Outcome::Done } else { Outcome::Changes })
}

/// Returns the revision before the last change of an object.
async fn before_last_change(past: &Past, cluster: &Cluster) -> Result<String, Error> {
    let log = past.log(cluster, None, None, 1).await?;
    let previous =
        log.items.first().map(|last| text(last, "previous")).filter(|previous| !previous.is_empty());
    previous.map(str::to_owned).ok_or_else(|| {
        let what = past.what();
        Error::usage(format!(
            "{what} has not changed since it was created, or since it was recorded; name a moment with --from"
        ))
    })
}

/// The moment of the current version: no revision is newer.
const NOW: &str = "18446744073709551615";
