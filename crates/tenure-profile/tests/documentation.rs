//! Every improvement has one entry in `docs/differences.md`, under its heading and in the same order, and vice versa.

use tenure_profile::Improvement;

#[test]
fn the_page_and_the_crate_list_the_same_improvements() {
    let page = include_str!("../../../docs/differences.md");
    // What follows does not depend on the profile.
    let (in_profiles, _) = page.split_once("\n## In both profiles\n").expect("the section exists");
    let entries = in_profiles.split("\n### ").skip(1).map(|entry| {
        let switch = entry.lines().find_map(|line| line.strip_prefix("- Switch: `")?.strip_suffix('`'));
        (entry.lines().next().unwrap_or_default(), switch.unwrap_or("no switch"))
    });
    let improvements = Improvement::ALL.iter().map(|improvement| (improvement.heading(), improvement.name()));
    assert_eq!(entries.collect::<Vec<_>>(), improvements.collect::<Vec<_>>());
}
