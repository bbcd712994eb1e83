//! Every difference from Kubernetes that the crate can make is documented, and the profiles are opposites.

use tenure_apply::Behavior;

#[test]
fn each_difference_has_an_entry_in_the_documentation() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/differences.md");
    let Ok(documentation) = std::fs::read_to_string(path) else { return };
    for (heading, _) in Behavior::tenure().differences() {
        assert!(documentation.contains(&format!("\n### {heading}\n")), "no entry {heading:?} in {path}");
    }
}

#[test]
fn one_profile_has_all_differences_and_the_other_none() {
    assert!(Behavior::tenure().differences().iter().all(|(_, differs)| *differs));
    assert!(Behavior::kubernetes().differences().iter().all(|(_, differs)| !differs));
}
