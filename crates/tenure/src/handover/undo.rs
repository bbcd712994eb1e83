//! What takes a step back: a list of objects, each with the JSON patch that restores it. The patches are plain, so that
//! `kubectl patch --type=json` can send them too, and each is refused if its object has changed since.

use crate::{
    Error, Outcome,
    cluster::{Cluster, JSON_PATCH},
    document::Document,
    live::LiveObject,
    terminal::{Format, Terminal},
};
use std::path::{Path, PathBuf};
use tenure_apply::Timestamp;
use tenure_value::{Object, Value};

/// The steps that take something back.
#[derive(Default)]
pub struct UndoFile(Vec<Value>);

impl UndoFile {
    /// Returns the name of a file for a step taken now.
    pub fn name(now: Timestamp) -> PathBuf {
        let time: String = now.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
        PathBuf::from(format!("tenure-undo-{time}.json"))
    }

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

    /// Writes the file, which must not be there yet.
    pub fn write(self, file: &Path) -> Result<(), Error> {
        use std::io::Write;
        let text = Format::Json.render(&Value::object([("undo", Value::array(self.0))]));
        let created = std::fs::File::create_new(file);
        let written = created.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|source| Error::Write { path: file.into(), source })
    }
}

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
        let path = format!("{}?fieldManager=tenure", resource.path(text("namespace"), text("name")));
        let reply = cluster.patch(&path, JSON_PATCH, patch).await?;
        if reply.refusal().is_outdated() {
            return Err(Error::ChangedMeanwhile { what });
        }
        reply.accepted("restore", &what)?;
        terminal.print(format!("{what}: restored\n"))?;
    }
    Ok(Outcome::Done)
}
