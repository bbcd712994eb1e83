//! Replays recorded conversations without a server: bodies and verbs drive `apply` and `update`, and object
//! and managers are compared after every step.
//!
//! What this crate does not compute is taken from the recording: the object of a PUT or a patch, and defaults
//! that fill positions which nothing else explains (see `recording`).

mod recording;
#[path = "../../../../conformance/recordings.rs"]
mod recordings;
mod scenario;
mod steps;
mod world;
mod zeros;

use std::{collections::BTreeMap, path::PathBuf};
use tenure_apply::Profile;

#[test]
fn recorded_conversations_leave_the_recorded_objects_and_managers() {
    let waivers = waivers();
    replay_all(Profile::tenure().at(recordings::version()), |scenario, verdict| match verdict {
        // Stale waivers are detected by the replay through the API: here a scenario may pass although another
        // crate differs.
        steps::Verdict::Differs(_) => None,
        steps::Verdict::Failed(_) if waivers.contains_key(scenario) => None,
        steps::Verdict::Failed(why) => Some(why),
        steps::Verdict::Passed | steps::Verdict::Skipped => None,
    });
}

#[test]
fn no_conversation_differs_with_the_behavior_of_kubernetes() {
    replay_all(Profile::kubernetes().at(recordings::version()), |_, verdict| match verdict {
        steps::Verdict::Differs(entry) => Some(entry.to_owned()),
        steps::Verdict::Failed(why) => Some(why),
        steps::Verdict::Passed | steps::Verdict::Skipped => None,
    });
}

/// Replays all conversations; `problem` returns the problem of a verdict.
fn replay_all(profile: Profile, problem: impl Fn(&str, steps::Verdict) -> Option<String>) {
    let (mut replayed, mut failed) = (0, Vec::new());
    let only = std::env::var("TENURE_ONLY").unwrap_or_default();
    for directory in recordings::conversations() {
        for scenario in scenario::load(&directory) {
            if !scenario.name.contains(&only) {
                continue;
            }
            replayed += 1;
            if let Some(why) = problem(&scenario.name, steps::replay(&scenario, profile)) {
                println!("FAIL {}\n  {why}", scenario.name);
                failed.push(scenario.name.clone());
            }
        }
    }
    assert!(failed.is_empty(), "{} of {replayed} conversations differ: {}", failed.len(), failed.join(", "));
    assert!(replayed > 0, "no conversation was found");
}

fn workspace() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Scenarios in which this crate differs on purpose, with the entry in `docs/differences.md`; entries of
/// other sections are about other crates.
fn waivers() -> BTreeMap<String, String> {
    let read = |name: &str| std::fs::read_to_string(workspace().join(name)).unwrap_or_default();
    let differences = read("docs/differences.md");
    let section = differences.split("\n## ").find(|section| section.starts_with("Server-side apply\n"));
    let own: Vec<&str> =
        section.unwrap_or_default().lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let waivers = read("conformance/waivers.txt");
    let lines = waivers.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '));
    lines.filter(|(_, why)| own.contains(why)).map(|(name, why)| (name.to_owned(), why.to_owned())).collect()
}
