//! Replays recorded strategic merge patches: every line of every `.jsonl` file in the folder that
//! `TENURE_VECTORS` names, or of the recordings beside the workspace, or of the copy that the crate carries.
//! A line is judged by its recorded outcome, unless a rule of [`waiver`] recognises in it one of the defects
//! that `docs/differences.md` lists; then it is judged by what Tenure promises instead.

mod line;
mod outcome;
mod waiver;

use line::Line;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

#[test]
fn every_recorded_patch_has_its_recorded_outcome() {
    let folder = folder();
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let schema = tenure_schema::builtin::load();
    let mut failed = Vec::new();
    let mut passed = 0;
    let mut waived: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let line = Line::read(line);
            match waiver::waiver(&line, &schema) {
                None => match outcome::judge(&line, &schema) {
                    Ok(()) => passed += 1,
                    Err(difference) => failed.push(format!("{}: {difference}", line.id)),
                },
                Some(rule) => match (rule.promise)(&line, &schema) {
                    Ok(()) => *waived.entry(rule.entry).or_default() += 1,
                    Err(difference) => failed.push(format!("{} ({}): {difference}", line.id, rule.entry)),
                },
            }
        }
    }
    for failure in &failed {
        println!("FAILED {failure}");
    }
    for (entry, lines) in &waived {
        println!("waived {lines:4} lines: {entry}");
    }
    let skipped: usize = waived.values().sum();
    println!("{passed} passed, {} failed, {skipped} skipped", failed.len());
    assert!(failed.is_empty(), "{} lines failed", failed.len());
    assert!(passed > 0, "no lines in {}", folder.display());
}

/// Finds the vectors: where the environment says, beside the workspace, or in the crate.
fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("TENURE_VECTORS") {
        return folder.into();
    }
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared = crate_folder.join("../../../shared/vectors/smp");
    if shared.is_dir() { shared } else { crate_folder.join("tests/vectors") }
}
