//! `tenure watch`: who changes what, now. It follows objects of any cluster and keeps nothing.

use crate::{
    Error, Outcome, change_log,
    connection::Connection,
    past::text,
    targets::Targets,
    terminal::{Format, Ink, Terminal},
};
use clap::Args;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::SystemTime,
};
use tenure_client::{ClientError, Cluster, Resource};
use tenure_fields::Path;
use tenure_history::Rebuilt;
use tenure_ownership::LiveObject;
use tenure_recorder::{
    Follow, RecorderError, Sight, milliseconds, observed_field_item, observed_item, version,
};
use tenure_schema::TypeRef;
use tenure_value::{Object, Value};
use tokio::sync::mpsc;

/// Show who changes an object or a field, as it happens.
#[derive(Args)]
#[command(after_help = "\
Works with every cluster: the manager of a change is what managedFields tell. A write that only removes fields leaves no trace of its
manager there, and is shown with a dash.

Examples:
  tenure watch deployment/web
  tenure watch deployment/web .spec.replicas
  tenure watch deployments -l app=web -A
  tenure watch configmaps -o json")]
pub struct Options {
    #[command(flatten)]
    targets: Targets,
    /// Stop after this many changes.
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// The output format; json prints a line for each change, yaml a document.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    connection: Connection,
}

/// A change as it was seen, with the object that it is of.
struct Seen {
    word: String,
    item: Value,
}

/// Shows changes until it is interrupted.
pub fn run(mut options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let mut fields = options.targets.take_fields();
    if fields.len() > 1 {
        return Err(Error::usage(format!("{}: only one field can be watched", fields[1])));
    }
    let field = fields.pop();
    if options.targets.is_empty() {
        return Err(Error::usage("name what to watch as KIND/NAME, such as deployment/web, or as KIND"));
    }
    options.connection.run(async |cluster| {
        let cluster = Arc::new(cluster);
        let (sender, mut seen) = mpsc::channel(64);
        let followed = options.targets.followed(&cluster).await?;
        let is_one = matches!(followed.as_slice(), [(_, _, selection)] if selection.fields.is_some());
        for (resource, namespace, selection) in followed {
            let ty = cluster.type_of(&resource.api_version(), &resource.kind).await?;
            let watched = Watched { cluster: cluster.clone(), resource, ty, field: field.clone() };
            let follow = Follow::new(cluster.clone(), watched.resource.clone(), namespace, selection, None);
            tokio::spawn(watched.run(follow, sender.clone()));
        }
        drop(sender);
        let mut count = 0;
        while options.limit.is_none_or(|limit| count < limit) {
            let found = tokio::select! {
                found = seen.recv() => found,
                _ = tokio::signal::ctrl_c() => None,
            };
            let found = match found {
                Some(Ok(found)) => found,
                Some(Err(Notice::Note(note))) => {
                    terminal.note(note);
                    continue;
                }
                Some(Err(Notice::End(error))) => return Err(error.into()),
                None => break,
            };
            count += 1;
            let word = if is_one { "" } else { found.word.as_str() };
            terminal.print(match (options.output, &field) {
                (Format::Json, _) => format!("{}\n", found.item),
                (Format::Yaml, _) => format!("---\n{}", Format::Yaml.render(&found.item)),
                (Format::Text, Some(_)) => line(&found.item, word, terminal),
                (Format::Text, None) => {
                    let mut out = String::new();
                    change_log::whole(&found.item, word, terminal, &mut out);
                    out.push('\n');
                    out
                }
            })?;
        }
        Ok(Outcome::Done)
    })
}

/// Returns a change of one field in a line.
fn line(item: &Value, word: &str, terminal: &Terminal) -> String {
    let author = match item.get("gap") {
        Some(_) => "(some changes were missed)".to_owned(),
        None => format!("{} ({})", change_log::or_dash(text(item, "manager")), change_log::operation(item)),
    };
    let space = if word.is_empty() { "" } else { "  " };
    format!(
        "{}  {word}{space}{}  {}\n",
        change_log::date(item),
        terminal.paint.ink(Ink::Manager(0), author),
        change_log::values(item)
    )
}

/// What a follower says besides changes.
enum Notice {
    Note(String),
    End(ClientError),
}

/// A change of an object, of which `key` is the name.
struct Change {
    key: String,
    after: Option<Rebuilt>,
    /// The revision that it left, where it is known.
    revision: Option<u64>,
    /// Whether others may have come between.
    is_gap: bool,
}

impl Change {
    fn new(
        key: String,
        after: Result<Rebuilt, RecorderError>,
        is_gap: bool,
    ) -> Result<Change, RecorderError> {
        after.map(|after| Change { key, revision: Some(after.revision), after: Some(after), is_gap })
    }
}

/// A kind that is watched.
struct Watched {
    cluster: Arc<Cluster>,
    resource: Resource,
    ty: TypeRef<'static>,
    field: Option<String>,
}

impl Watched {
    /// Sends the changes of the followed objects until the receiver is dropped.
    async fn run(self, mut follow: Follow, out: mpsc::Sender<Result<Seen, Notice>>) {
        let mut known: HashMap<String, Rebuilt> = HashMap::new();
        let mut listed: HashSet<String> = HashSet::new();
        let (mut is_first, mut is_told) = (true, false);
        loop {
            let mut found = Vec::new();
            match follow.next().await {
                Sight::ListBegins => listed.clear(),
                Sight::Listed(objects) => {
                    for object in &objects {
                        listed.insert(key(object));
                        match (is_first, version(object)) {
                            (true, Ok(version)) => drop(known.insert(key(object), version)),
                            (_, version) => found.push(Change::new(key(object), version, true)),
                        }
                    }
                }
                Sight::ListEnds(_) => {
                    let gone: Vec<String> =
                        known.keys().filter(|key| !listed.contains(*key)).cloned().collect();
                    found.extend(
                        gone.into_iter()
                            .map(|key| Change { key, after: None, revision: None, is_gap: true })
                            .map(Ok),
                    );
                    if is_first {
                        let what = match known.len() {
                            0 => format!("for {}, of which there are none yet,", self.resource.plural),
                            1 => format!("1 {}", self.resource.word()),
                            count => format!("{count} {}", self.resource.plural),
                        };
                        let note =
                            format!("watching {what} of {}; press Ctrl-C to stop", self.cluster.server());
                        for note in [Some(note), self.lacks_field(&known)].into_iter().flatten() {
                            if out.send(Err(Notice::Note(note))).await.is_err() {
                                return;
                            }
                        }
                    }
                    is_first = false;
                }
                Sight::Changed(object) => found.push(Change::new(key(&object), version(&object), false)),
                Sight::Deleted(object) => {
                    let deleted = Change::new(key(&object), version(&object), false);
                    found.push(deleted.map(|change| Change { after: None, ..change }));
                }
                Sight::Bookmark(_) => is_told = false,
                Sight::Interrupted(error) if is_first => {
                    let _ = out.send(Err(Notice::End(error))).await;
                    return;
                }
                Sight::Interrupted(error) => {
                    let note = format!("{error}; waiting for the server");
                    if !std::mem::replace(&mut is_told, true)
                        && out.send(Err(Notice::Note(note))).await.is_err()
                    {
                        return;
                    }
                }
            }
            for change in found {
                let seen = match change.and_then(|change| self.seen(change, &mut known)) {
                    Ok(Some(seen)) => Ok(seen),
                    Ok(None) => continue,
                    Err(error) => Err(Notice::Note(error.to_string())),
                };
                if out.send(seen).await.is_err() {
                    return;
                }
            }
        }
    }

    /// Returns a change, unless it is empty or does not concern the field.
    fn seen(
        &self,
        change: Change,
        known: &mut HashMap<String, Rebuilt>,
    ) -> Result<Option<Seen>, RecorderError> {
        let Change { key, after, revision, is_gap } = change;
        let before = known.get(&key).cloned();
        let (before, after) = match (before, after) {
            (Some(before), Some(after)) if before.revision == after.revision => return Ok(None),
            (None, None) => return Ok(None),
            versions => versions,
        };
        match &after {
            Some(after) => drop(known.insert(key.clone(), after.clone())),
            None => drop(known.remove(&key)),
        }
        let newest = after.as_ref().or(before.as_ref()).map_or(0, |version| version.revision);
        let revision = revision.unwrap_or(newest);
        let (old, new, now) = (before.as_ref(), after.as_ref(), milliseconds(SystemTime::now()));
        let item = match &self.field {
            None => Some(observed_item(old, new, revision, now, self.ty)?),
            Some(field) => match self.path(field, new.or(old)) {
                Some(path) => observed_field_item(old, new, revision, now, &path, self.ty)?,
                None => None,
            },
        };
        let Some(item) = item.and_then(|item| item.as_object().cloned()) else { return Ok(None) };
        let (namespace, name) = key.split_once('/').unwrap_or(("", &key));
        let object = Value::object([
            ("apiVersion", Value::from(self.resource.api_version())),
            ("kind", Value::from(self.resource.kind.as_str())),
            ("namespace", Value::from(namespace)),
            ("name", Value::from(name)),
        ]);
        let item = item.with("object", object);
        let item = if is_gap { item.with("gap", Object::default()) } else { item };
        Ok(Some(Seen { word: format!("{}/{name}", self.resource.word()), item: item.into() }))
    }

    /// Says that no object has the field, which may be a typo.
    fn lacks_field(&self, known: &HashMap<String, Rebuilt>) -> Option<String> {
        let field = self.field.as_ref()?;
        let mut problem = None;
        for version in known.values() {
            problem = Some(LiveObject::from(version.state.clone()).field(field, self.ty).err()?);
        }
        problem.map(|problem| problem.to_string())
    }

    /// Reads the field of an object, in any notation; one that the object does not have may be one that it gets.
    fn path(&self, field: &str, object: Option<&Rebuilt>) -> Option<Path> {
        let state = object?.state.clone();
        let live = LiveObject::from(state);
        let found = live.field(field, self.ty).ok();
        found.or_else(|| Path::parse_in(field, self.ty, Some(&live.object)).ok())
    }
}

fn key(object: &Value) -> String {
    let text = |name| object.at(["metadata", name]).and_then(Value::as_str).unwrap_or_default();
    match text("namespace") {
        "" => text("name").to_owned(),
        namespace => format!("{namespace}/{}", text("name")),
    }
}
