//! The files with which changes of ownership are undone, in a private directory of their own: `$XDG_STATE_HOME/tenure/undo`. Each says
//! what it undoes, and on which server.

use crate::{Error, document, past::text, state, terminal::Format};
use std::{
    fs::{DirBuilder, OpenOptions},
    io::{ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};
use tenure_apply::Timestamp;
use tenure_ownership::{
    AppliedPlan, Undo,
    handover::{read_undo_file, undo_file},
};
use tenure_value::{Object, Value};

/// How many files of one second get different names.
const NAMES: usize = 1_000;

/// A step that can be undone.
pub struct Kept {
    /// The file.
    pub path: PathBuf,
    /// What the step did.
    pub title: String,
    /// The server that it was done on.
    pub server: String,
    /// When it was done.
    pub time: Option<Timestamp>,
    /// How to undo it.
    pub step: Undoable,
}

/// What can be undone.
pub enum Undoable {
    /// Changes of ownership, object by object.
    Owners(Vec<Undo>),
    /// A saved plan that was carried out.
    Plan(Box<AppliedPlan>),
}

impl Undoable {
    /// Returns the objects in a few words each.
    pub fn objects(&self) -> Vec<String> {
        match self {
            Undoable::Owners(undos) => {
                undos.iter().map(|undo| format!("{}/{}", undo.kind().to_lowercase(), undo.name())).collect()
            }
            Undoable::Plan(plan) => plan
                .steps
                .iter()
                .map(|step| format!("{}/{}", step.target.kind.to_lowercase(), step.target.name))
                .collect(),
        }
    }
}

/// Returns the directory of the files.
pub fn directory() -> Option<PathBuf> {
    state::directory().map(|state| state.join("undo"))
}

/// Writes a file, which must not exist, and returns its name: the given one, or one made of the time.
pub fn write(
    undos: &[Undo],
    title: &str,
    server: &str,
    given: Option<&Path>,
    now: Timestamp,
) -> Result<PathBuf, Error> {
    let described = undo_file(undos).as_object().cloned().unwrap_or_default();
    write_document(described.with("title", title).with("server", server), given, now)
}

/// Writes the file of a plan that was carried out.
pub fn write_plan(applied: &AppliedPlan, server: &str, given: Option<&Path>) -> Result<PathBuf, Error> {
    let described = applied.to_value().as_object().cloned().unwrap_or_default();
    let digest = applied.digest.strip_prefix("sha256:").unwrap_or(&applied.digest);
    let title = format!("plan {}", digest.get(..12).unwrap_or(digest));
    write_document(described.with("title", title).with("server", server), given, applied.time)
}

fn write_document(described: Object, given: Option<&Path>, now: Timestamp) -> Result<PathBuf, Error> {
    let described = described.with("time", now.to_string());
    let content = Format::Json.render(&Value::Object(described));
    if let Some(file) = given {
        return create(file, &content)
            .map(|()| file.to_owned())
            .map_err(|source| Error::Write { path: file.into(), source });
    }
    let directory = directory()
        .ok_or_else(|| Error::usage("there is no home directory for the undo file; name one with --undo"))?;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .map_err(|source| Error::Write { path: directory.clone(), source })?;
    let time: String = now.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    for number in 1..=NAMES {
        let suffix = if number == 1 { String::new() } else { format!("-{number:03}") };
        let path = directory.join(format!("{time}{suffix}.json"));
        match create(&path, &content) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(source) => return Err(Error::Write { path, source }),
        }
    }
    Err(Error::usage("no name is free for the undo file; name one with --undo"))
}

/// Creates a file that only its owner can read: removed values may be in it.
fn create(path: &Path, content: &str) -> std::io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(content.as_bytes())
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Kept, Error> {
    let document = document::read_one(path)?;
    let wrong = |error| Error::document(&document.place, error);
    let step = match AppliedPlan::is_document(&document.value) {
        true => Undoable::Plan(Box::new(AppliedPlan::read(&document.value).map_err(wrong)?)),
        false => Undoable::Owners(read_undo_file(&document.value).map_err(wrong)?),
    };
    let title = match text(&document.value, "title") {
        "" => step.objects().join(", "),
        title => title.to_owned(),
    };
    Ok(Kept {
        path: path.to_owned(),
        title,
        server: text(&document.value, "server").to_owned(),
        time: Timestamp::parse(text(&document.value, "time")),
        step,
    })
}

/// Finds the file of a plan by its digest, the newest first.
pub fn of_plan(digest: &str) -> Option<Kept> {
    newest().into_iter().find(|kept| matches!(&kept.step, Undoable::Plan(plan) if plan.digest == digest))
}

/// Reads the files of a server, the newest first.
pub fn all(server: &str) -> Vec<Kept> {
    newest().into_iter().filter(|kept| kept.server == server).collect()
}

/// Reads the files, the newest first. Files that cannot be read are left out.
fn newest() -> Vec<Kept> {
    let entries = directory().and_then(|directory| std::fs::read_dir(directory).ok());
    let mut paths: Vec<PathBuf> = entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
    // The names are times.
    paths.sort();
    paths.iter().rev().filter_map(|path| read(path).ok()).collect()
}
