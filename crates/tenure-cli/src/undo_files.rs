//! The files with which steps are undone: in the private directory `$XDG_STATE_HOME/tenure/undo`, which the page shares, or where a flag
//! says. Each tells what it undoes, and on which server.

use crate::{Error, document, state, terminal::Format};
use std::path::{Path, PathBuf};
use tenure_apply::Timestamp;
use tenure_client::{KeptStep, UndoDirectory, UndoStep, Undoable};
use tenure_ownership::{AppliedPlan, Undo};

/// Returns the private directory; `None` without a home directory.
pub fn directory() -> Option<UndoDirectory> {
    state::directory().map(|state| UndoDirectory(state.join("undo")))
}

/// Writes the file of changes of ownership, which must not exist, and returns its name: the given one, or one made of the time.
pub fn write(
    undos: Vec<Undo>,
    title: &str,
    server: &str,
    given: Option<&Path>,
    now: Timestamp,
) -> Result<PathBuf, Error> {
    let (title, server) = (title.to_owned(), server.to_owned());
    keep(&UndoStep { title, server, time: Some(now), undoable: Undoable::Owners(undos) }, given)
}

/// Writes the file of a plan that was carried out.
pub fn write_plan(applied: &AppliedPlan, server: &str, given: Option<&Path>) -> Result<PathBuf, Error> {
    let digest = applied.digest.strip_prefix("sha256:").unwrap_or(&applied.digest);
    let title = format!("plan {}", digest.get(..12).unwrap_or(digest));
    let undoable = Undoable::Plan(Box::new(applied.clone()));
    keep(&UndoStep { title, server: server.to_owned(), time: Some(applied.time), undoable }, given)
}

fn keep(step: &UndoStep, given: Option<&Path>) -> Result<PathBuf, Error> {
    if let Some(file) = given {
        let content = Format::Json.render(&step.to_value());
        // Removed values may be in it.
        return tenure_files::create_new(file, content.as_bytes())
            .map(|()| file.to_owned())
            .map_err(|source| Error::Write { path: file.into(), source });
    }
    let directory = directory()
        .ok_or_else(|| Error::usage("there is no home directory for the undo file; name one with --undo"))?;
    directory.keep(step).map_err(|source| Error::Write { path: directory.0.clone(), source })
}

/// Reads a file.
pub fn read(path: &Path) -> Result<KeptStep, Error> {
    let document = document::read_one(path)?;
    let step = UndoStep::read(&document.value).map_err(|error| Error::document(&document.place, error))?;
    Ok(KeptStep { path: path.to_owned(), step })
}

/// Finds the file of a plan by its digest, the newest first.
pub fn of_plan(digest: &str) -> Option<KeptStep> {
    let is_its =
        |kept: &KeptStep| matches!(&kept.step.undoable, Undoable::Plan(plan) if plan.digest == digest);
    directory()?.all().into_iter().find(is_its)
}

/// Reads the files of a server, the newest first.
pub fn all(server: &str) -> Vec<KeptStep> {
    let all = directory().map(|directory| directory.all()).unwrap_or_default();
    all.into_iter().filter(|kept| kept.step.server == server).collect()
}
