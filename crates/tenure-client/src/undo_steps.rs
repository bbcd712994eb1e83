//! Steps that can be undone, as documents that say what they did, where and when, and a private directory with a file for each. The
//! commands and the page share the directory, so that what one did the other can take back. Files have the objects as they were, with
//! the values of Secrets: only their owner may read them.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};
use tenure_apply::Timestamp;
use tenure_ownership::{
    AppliedPlan, OwnershipError, Undo,
    handover::{read_undo_file, undo_file},
};
use tenure_value::{Limits, Value, json};

/// How many files of one second get different names.
const NAMES: usize = 1_000;
/// The limits of a file.
const LIMITS: Limits = Limits { bytes: 256 << 20, depth: Limits::DEPTH, nodes: 20_000_000 };

/// A step that can be undone.
#[derive(Clone, Debug)]
pub struct UndoStep {
    /// What the step did.
    pub title: String,
    /// The server that it was done on.
    pub server: String,
    /// When it was done.
    pub time: Option<Timestamp>,
    /// How to undo it.
    pub undoable: Undoable,
}

/// What can be undone.
#[derive(Clone, Debug)]
pub enum Undoable {
    /// Changes of ownership, object by object.
    Owners(Vec<Undo>),
    /// Objects that were written.
    Plan(Box<AppliedPlan>),
}

impl Undoable {
    /// Returns the objects in a few words each.
    pub fn objects(&self) -> Vec<String> {
        let word = |kind: &str, name: &str| format!("{}/{name}", kind.to_lowercase());
        match self {
            Undoable::Owners(undos) => undos.iter().map(|undo| word(undo.kind(), undo.name())).collect(),
            Undoable::Plan(plan) => {
                plan.steps.iter().map(|step| word(&step.target.kind, &step.target.name)).collect()
            }
        }
    }
}

impl UndoStep {
    /// Returns the document from which the step can be undone.
    pub fn to_value(&self) -> Value {
        let described = match &self.undoable {
            Undoable::Owners(undos) => undo_file(undos),
            Undoable::Plan(applied) => applied.to_value(),
        };
        let described = described.as_object().cloned().unwrap_or_default();
        let described = described.with("title", self.title.as_str()).with("server", self.server.as_str());
        Value::Object(match self.time {
            Some(time) => described.with("time", time.to_string()),
            None => described,
        })
    }

    /// Reads such a document.
    pub fn read(document: &Value) -> Result<UndoStep, OwnershipError> {
        let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
        let undoable = match AppliedPlan::is_document(document) {
            true => Undoable::Plan(Box::new(AppliedPlan::read(document)?)),
            false => Undoable::Owners(read_undo_file(document)?),
        };
        let title = match text("title") {
            "" => undoable.objects().join(", "),
            title => title.to_owned(),
        };
        let time = Timestamp::parse(text("time"));
        Ok(UndoStep { title, server: text("server").to_owned(), time, undoable })
    }
}

/// A step of a directory.
#[derive(Clone, Debug)]
pub struct KeptStep {
    /// The file.
    pub path: PathBuf,
    /// What it has.
    pub step: UndoStep,
}

/// A private directory with steps that can be undone.
#[derive(Clone, Debug)]
pub struct UndoDirectory(pub PathBuf);

impl UndoDirectory {
    /// Writes a step to a file with a name made of its time, and returns the file.
    pub fn keep(&self, step: &UndoStep) -> io::Result<PathBuf> {
        tenure_files::create_directory(&self.0)?;
        let content = json::to_vec(&step.to_value());
        let time = step.time.map(|time| time.to_string()).unwrap_or_default();
        let time: String = time.chars().filter(char::is_ascii_alphanumeric).collect();
        for number in 1..=NAMES {
            let suffix = if number == 1 { String::new() } else { format!("-{number:03}") };
            let path = self.0.join(format!("{time}{suffix}.json"));
            match tenure_files::create_new(&path, &content) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                written => return written.map(|()| path),
            }
        }
        Err(io::Error::other("no name is free for the undo file"))
    }

    /// Reads the steps, the newest first. Files that cannot be read are left out.
    pub fn all(&self) -> Vec<KeptStep> {
        let entries = std::fs::read_dir(&self.0);
        let mut paths: Vec<PathBuf> =
            entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
        // The names are times, with a number where there are several of one second.
        paths.sort_by(|one, other| one.file_stem().cmp(&other.file_stem()));
        let read = |path: PathBuf| {
            let document = json::parse(&std::fs::read(&path).ok()?, &LIMITS).ok()?;
            Some(KeptStep { step: UndoStep::read(&document).ok()?, path })
        };
        paths.into_iter().rev().filter_map(read).collect()
    }

    /// Removes the file of a step that was undone. A file elsewhere belongs to who named it, and stays.
    pub fn forget(&self, path: &Path) -> io::Result<()> {
        match path.parent() == Some(&self.0) {
            true => std::fs::remove_file(path),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_ownership::ClusterIdentity;

    fn step(title: &str, seconds: i64) -> UndoStep {
        let time = Timestamp::from_unix(seconds);
        let cluster = ClusterIdentity { server: "https://one".into(), uid: "1".into() };
        let plan = AppliedPlan { digest: String::new(), cluster, time, steps: Vec::new() };
        let undoable = Undoable::Plan(Box::new(plan));
        UndoStep { title: title.into(), server: "https://one".into(), time: Some(time), undoable }
    }

    #[test]
    fn steps_are_private_and_the_newest_comes_first() {
        let directory = tempfile::tempdir().unwrap();
        let steps = UndoDirectory(directory.path().join("state/undo"));
        assert!(steps.all().is_empty(), "there is no directory yet");
        for (title, seconds) in [("first", 100), ("second", 200), ("third", 200)] {
            let file = steps.keep(&step(title, seconds)).unwrap();
            assert!(tenure_files::is_private(&file).unwrap());
        }
        assert!(tenure_files::is_private(&steps.0).unwrap());
        std::fs::write(steps.0.join("9.json"), "damaged").unwrap();
        let titles = || steps.all().into_iter().map(|kept| kept.step.title).collect::<Vec<_>>();
        assert_eq!(titles(), ["third", "second", "first"]);
        steps.forget(&steps.all()[1].path).unwrap();
        assert_eq!(titles(), ["third", "first"]);
        let elsewhere = directory.path().join("mine.json");
        std::fs::write(&elsewhere, "{}").unwrap();
        steps.forget(&elsewhere).unwrap();
        assert!(elsewhere.exists(), "a file that somebody named stays");
    }
}
