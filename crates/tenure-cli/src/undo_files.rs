//! The files with which changes of ownership are undone, in a private directory of their own: `$XDG_STATE_HOME/tenure/undo`. Each says
//! what it undoes, and on which server.

use crate::{Error, document, past::text, terminal::Format};
use std::{
    fs::{DirBuilder, OpenOptions},
    io::{ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};
use tenure_apply::Timestamp;
use tenure_ownership::{
    Undo,
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
    /// How to undo it, object by object.
    pub undos: Vec<Undo>,
}

/// Returns the directory of the files.
pub fn directory() -> Option<PathBuf> {
    let given = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state =
        given("XDG_STATE_HOME").or_else(|| std::env::home_dir().map(|home| home.join(".local/state")));
    state.map(|state| state.join("tenure/undo"))
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
    let described: Object =
        described.with("title", title).with("server", server).with("time", now.to_string());
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
    let undos = read_undo_file(&document.value).map_err(|error| Error::document(&document.place, error))?;
    let object = |undo: &Undo| format!("{}/{}", undo.kind().to_lowercase(), undo.name());
    let title = match text(&document.value, "title") {
        "" => undos.iter().map(object).collect::<Vec<_>>().join(", "),
        title => title.to_owned(),
    };
    Ok(Kept {
        path: path.to_owned(),
        title,
        server: text(&document.value, "server").to_owned(),
        time: Timestamp::parse(text(&document.value, "time")),
        undos,
    })
}

/// Reads the files of a server, the newest first. Files that cannot be read are left out.
pub fn all(server: &str) -> Vec<Kept> {
    let entries = directory().and_then(|directory| std::fs::read_dir(directory).ok());
    let mut paths: Vec<PathBuf> = entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
    // The names are times.
    paths.sort();
    paths.iter().rev().filter_map(|path| read(path).ok()).filter(|kept| kept.server == server).collect()
}
