//! What takes a step back: a list of objects, each with the JSON patch that restores it, which is refused if the object
//! has changed since.

use super::send;
use crate::{
    Error, Outcome,
    cluster::Cluster,
    document::Document,
    live::LiveObject,
    terminal::{Format, Terminal},
};
use std::{
    io::Write,
    path::{Path, PathBuf},
};
use tenure_apply::{Managers, Timestamp};
use tenure_value::{Object, Value};

/// The steps that take something back.
#[derive(Default)]
pub struct UndoFile(Vec<Value>);

impl UndoFile {
    /// Adds the step for an object.
    pub fn add(&mut self, live: &LiveObject, patch: Value) {
        let names = [
            ("apiVersion", live.api_version()),
            ("kind", live.kind()),
            ("namespace", live.namespace()),
            ("name", live.name()),
        ];
        let names = names.into_iter().filter(|(_, text)| !text.is_empty());
        let object = Value::object(names.map(|(name, text)| (name, Value::from(text))));
        self.0.push(Value::Object(Object::default().with("object", object).with("patch", patch)));
    }

    /// Whether there is nothing to take back.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the file, which must not be there yet, and returns its name: the given one, or one made of the time.
    pub fn write(self, given: Option<&Path>, now: Timestamp) -> Result<PathBuf, Error> {
        let text = Format::Json.render(&Value::object([("undo", Value::array(self.0))]));
        let time: String = now.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
        let made = (1..).map(|number| match number {
            1 => PathBuf::from(format!("tenure-undo-{time}.json")),
            more => PathBuf::from(format!("tenure-undo-{time}-{more}.json")),
        });
        let mut names =
            given.map(PathBuf::from).into_iter().chain(made.filter(|_| given.is_none()).take(NAMES));
        loop {
            let file = names.next().unwrap_or_default();
            let created = std::fs::File::create_new(&file);
            let taken =
                created.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists);
            if taken && given.is_none() && !file.as_os_str().is_empty() {
                continue;
            }
            let written = created.and_then(|mut file| file.write_all(text.as_bytes()));
            return written.map(|()| file.clone()).map_err(|source| Error::Write { path: file, source });
        }
    }
}

/// How many steps of one second can leave a file of their own.
const NAMES: usize = 1_000;

/// Takes back what a file tells of, the last step first.
pub async fn take_back(
    document: &Document,
    cluster: &Cluster,
    terminal: &Terminal,
) -> Result<Outcome, Error> {
    let wrong = || Error::document(&document.place, "it is no undo file; such a file has a list called undo");
    let steps = document.value.get("undo").and_then(Value::as_array).ok_or_else(wrong)?;
    for step in steps.iter().rev() {
        let text = |name| step.at(["object", name]).and_then(Value::as_str).unwrap_or_default();
        let patch = step.get("patch").ok_or_else(wrong)?;
        let resource = cluster.kind_of(text("apiVersion"), text("kind")).await?.ok_or_else(wrong)?;
        let what = format!("{}/{}", resource.word(), text("name"));
        let managers = patch.as_array().and_then(|operations| operations.last()?.get("value"));
        let managers = managers.and_then(|managers| Managers::from_value(managers).ok()).ok_or_else(wrong)?;
        let reply = send(&resource.path(text("namespace"), text("name")), patch, &managers, cluster).await?;
        if reply.refusal().is_outdated() {
            return Err(Error::ChangedMeanwhile { what });
        }
        reply.accepted("restore", &what)?;
        terminal.print(format!("{what}: restored\n"))?;
    }
    Ok(Outcome::Done)
}
