//! Replays recorded strategic merge patches: every line of every `.jsonl` file of the complete recordings, or of the
//! sample in the crate. With the behaviour of Kubernetes, every
//! line must have its recorded outcome. With the behaviour of Tenure, a line that a rule of [`waiver`] recognises as one
//! of the differences of `docs/differences.md` must have the outcome that Tenure promises instead.

mod line;
mod outcome;
#[path = "../../../../conformance/recordings.rs"]
mod recordings;
mod waiver;

use line::Line;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use tenure_patch::strategic::{Improvement, Profile};
use tenure_schema::Schema;

/// Every improvement, also the one that servers leave off.
pub const IMPROVED: Profile = Profile::tenure().with(Improvement::RejectUnknownPatchValues);

#[test]
fn kubernetes_behavior_gives_every_recorded_outcome() {
    replay(Profile::kubernetes().at(recordings::version()), &[]);
}

#[test]
fn tenure_behavior_differs_only_where_it_is_documented() {
    replay(IMPROVED.at(recordings::version()), waiver::WAIVERS);
}

fn replay(profile: Profile, waivers: &'static [waiver::Waiver]) {
    let schema = Schema::builtin_at(recordings::version());
    let (mut passed, mut failed) = (0, Vec::new());
    let mut waived: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        // Kubernetes does not know the keys that clients send; their outcomes are those of its design.
        let profile = match file.ends_with("patch-merge-key.jsonl") {
            true => profile.with(Improvement::ClientMergeKeys),
            false => profile,
        };
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let line = Line::read(line, profile);
            match waivers.iter().find(|waiver| (waiver.shows)(&line, schema)) {
                None => match outcome::judge(&line, schema) {
                    Ok(()) => passed += 1,
                    Err(difference) => failed.push(format!("{}: {difference}", line.id)),
                },
                Some(rule) => match (rule.promise)(&line, schema) {
                    Ok(()) => *waived.entry(rule.entry).or_default() += 1,
                    Err(difference) => failed.push(format!("{} ({}): {difference}", line.id, rule.entry)),
                },
            }
        }
    }
    failed.iter().for_each(|failure| println!("FAILED {failure}"));
    waived.iter().for_each(|(entry, lines)| println!("waived {lines:4} lines: {entry}"));
    let skipped: usize = waived.values().sum();
    println!("{passed} passed, {} failed, {skipped} skipped", failed.len());
    assert!(failed.is_empty(), "{} lines failed", failed.len());
    assert!(passed > 0, "no lines in {}", folder().display());
}

fn files() -> Vec<PathBuf> {
    let folder = folder();
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    files
}

fn folder() -> PathBuf {
    let sample = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    recordings::complete("vectors/smp").unwrap_or_else(sample)
}
