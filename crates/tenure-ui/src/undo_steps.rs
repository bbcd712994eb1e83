//! What a signed-in user did and can undo. With `tenure ui` the steps of the program's user are the undo files of the commands, in the
//! private directory of that user. With a server they end with the session, and are sealed for its cookie as its credentials are, so
//! that they outlast a restart. Else they are in memory.

use crate::vault::SealingKey;
use parking_lot::Mutex;
use std::{io, path::PathBuf};
use tenure_client::{UndoDirectory, UndoStep};
use tenure_value::{Limits, json};

/// The most steps of a session.
const STEPS: usize = 100;
/// The most bytes of all steps of a session; the oldest go first, the last one stays.
const BYTES: usize = 32 << 20;

/// The steps of a session.
#[derive(Default)]
pub(crate) struct UndoSteps {
    kept: Mutex<Vec<Kept>>,
    place: Place,
}

/// Where steps are kept beside memory.
#[derive(Default)]
enum Place {
    #[default]
    Nowhere,
    /// With those of the commands.
    Shared(UndoDirectory),
    /// In sealed files, which end with the session.
    Sealed(Box<SealedFiles>),
}

struct Kept {
    number: u64,
    bytes: usize,
    step: UndoStep,
}

impl UndoSteps {
    /// Returns the steps of a directory that the commands use, too.
    pub fn shared(directory: UndoDirectory) -> UndoSteps {
        UndoSteps { kept: Mutex::default(), place: Place::Shared(directory) }
    }

    /// Returns the steps of a session that sealed files have.
    pub fn sealed(files: SealedFiles) -> UndoSteps {
        UndoSteps { kept: Mutex::new(files.read()), place: Place::Sealed(Box::new(files)) }
    }

    /// Keeps a step and returns its name. One that cannot be written is kept until the process ends.
    pub fn keep(&self, step: UndoStep) -> String {
        if let Place::Shared(directory) = &self.place {
            match directory.keep(&step) {
                Ok(path) => return path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                Err(error) => not_kept(&error),
            }
        }
        let content = json::to_vec(&step.to_value());
        let mut kept = self.kept.lock();
        let number = kept.last().map_or(1, |last| last.number + 1);
        kept.push(Kept { number, bytes: content.len(), step });
        let mut bytes: usize = kept.iter().map(|one| one.bytes).sum();
        while kept.len() > STEPS || (bytes > BYTES && kept.len() > 1) {
            let oldest = kept.remove(0);
            bytes -= oldest.bytes;
            self.remove_file(oldest.number);
        }
        if let Place::Sealed(files) = &self.place
            && let Err(error) = files.write(number, &content)
        {
            not_kept(&error);
        }
        number.to_string()
    }

    /// Returns the steps on a server with their names, the latest first. Where steps are not shared with the commands there is one
    /// server, whose address may have changed with a restart.
    pub fn all(&self, server: &str) -> Vec<(String, UndoStep)> {
        let kept = self.kept.lock();
        let mut all: Vec<(String, UndoStep)> =
            kept.iter().rev().map(|one| (one.number.to_string(), one.step.clone())).collect();
        if let Place::Shared(directory) = &self.place {
            let name = |path: PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            all.extend(directory.all().into_iter().map(|kept| (name(kept.path), kept.step)));
            all.retain(|(_, step)| step.server == server);
        }
        all
    }

    /// Forgets a step that was undone.
    pub fn forget(&self, name: &str) {
        let mut kept = self.kept.lock();
        if let Some(at) = kept.iter().position(|one| one.number.to_string() == name) {
            self.remove_file(kept.remove(at).number);
        } else if let Place::Shared(directory) = &self.place {
            let path = directory.0.join(format!("{name}.json"));
            let _ = directory
                .forget(&path)
                .inspect_err(|error| tracing::warn!(%error, file = %path.display(), "an undo file stays"));
        }
    }

    fn remove_file(&self, number: u64) {
        if let Place::Sealed(files) = &self.place {
            files.remove(number);
        }
    }
}

fn not_kept(error: &io::Error) {
    tracing::warn!(%error, "a step can be undone until the process ends; it cannot be written");
}

/// The files of a session's steps, each sealed under its number.
pub(crate) struct SealedFiles {
    pub directory: PathBuf,
    pub key: SealingKey,
}

impl SealedFiles {
    /// Reads the steps, the oldest first. Those that cannot be opened are gone.
    fn read(&self) -> Vec<Kept> {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let read = |entry: std::fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let content = self.key.open(&name, &std::fs::read(entry.path()).ok()?)?;
            let limits = Limits { bytes: usize::MAX, depth: Limits::DEPTH, nodes: usize::MAX };
            let step = UndoStep::read(&json::parse(&content, &limits).ok()?).ok()?;
            Some(Kept { number: name.parse().ok()?, bytes: content.len(), step })
        };
        let mut kept: Vec<Kept> = entries.filter_map(read).collect();
        kept.sort_by_key(|one| one.number);
        kept
    }

    fn write(&self, number: u64, content: &[u8]) -> io::Result<()> {
        tenure_files::create_directory(&self.directory)?;
        let name = number.to_string();
        let sealed = self.key.seal(&name, content).ok_or_else(|| io::Error::other("no randomness"))?;
        let path = self.directory.join(&name);
        tenure_files::replace(&path, &sealed)
    }

    fn remove(&self, number: u64) {
        // An identifier that was never written is unknown.
        let _ = std::fs::remove_file(self.directory.join(number.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_apply::Timestamp;
    use tenure_client::Undoable;

    fn step(title: &str) -> UndoStep {
        let (server, time) = ("https://one".to_owned(), Some(Timestamp::from_unix(100)));
        UndoStep { title: title.to_owned(), server, time, undoable: Undoable::Owners(Vec::new()) }
    }

    fn titles(steps: &UndoSteps, server: &str) -> Vec<String> {
        steps.all(server).into_iter().map(|(_, step)| step.title).collect()
    }

    #[test]
    fn sealed_steps_survive_for_the_cookie_alone_and_are_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("page-undo/session");
        let open = |cookie: &str| {
            let key = SealingKey::of(cookie).unwrap();
            UndoSteps::sealed(SealedFiles { directory: path.clone(), key })
        };
        let steps = open("cookie");
        for number in 0..STEPS + 2 {
            steps.keep(step(&format!("step-{number}")));
        }
        drop(steps);
        for entry in std::fs::read_dir(&path).unwrap() {
            let content = std::fs::read(entry.unwrap().path()).unwrap();
            assert!(!String::from_utf8_lossy(&content).contains("step-"), "sealed");
        }
        let again = open("cookie");
        let found = titles(&again, "https://one");
        assert_eq!(
            (found.len(), found[0].as_str(), found[STEPS - 1].as_str()),
            (STEPS, "step-101", "step-2")
        );
        again.forget(&again.all("https://one")[0].0);
        assert_eq!(titles(&open("cookie"), "https://one")[0], "step-100");
        assert!(titles(&open("another"), "https://one").is_empty());
    }

    #[test]
    fn steps_of_the_program_are_those_of_the_commands() {
        let directory = tempfile::tempdir().unwrap();
        let shared = UndoDirectory(directory.path().to_owned());
        shared.keep(&step("transfer at a terminal")).unwrap();
        let steps = UndoSteps::shared(shared.clone());
        let name = steps.keep(step("apply on the page"));
        assert_eq!(titles(&steps, "https://one"), ["apply on the page", "transfer at a terminal"]);
        assert!(titles(&steps, "https://other").is_empty());
        steps.forget(&name);
        let left: Vec<String> = shared.all().into_iter().map(|kept| kept.step.title).collect();
        assert_eq!(left, ["transfer at a terminal"]);
    }
}
