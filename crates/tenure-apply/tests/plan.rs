//! The table of `docs/internals/apply-testing-plan.md` refers to existing tests and recorded conversations.

use std::{fs, path::PathBuf};

fn workspace() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_line_of_the_testing_plan_refers_to_existing_tests() {
    let plan =
        fs::read_to_string(workspace().join("docs/internals/apply-testing-plan.md")).expect("the plan");
    let scenarios: String = fs::read_dir(workspace().join("conformance/scenarios"))
        .expect("the recorded conversations")
        .map(|file| fs::read_to_string(file.expect("a file").path()).expect("text"))
        .collect();
    let rows: Vec<&str> =
        plan.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| the plan")).collect();
    assert!(rows.len() >= 33, "the plan has more lines than {}", rows.len());
    for row in rows {
        let named: Vec<(&str, &str)> =
            row.split('`').skip(1).step_by(2).filter_map(|name| name.split_once(": ")).collect();
        assert!(!named.is_empty(), "nothing owns: {row}");
        for (place, name) in named {
            let found = match place {
                "scenario" => scenarios.contains(&format!("\"name\": \"{name}\"")),
                file => fs::read_to_string(workspace().join("crates").join(file))
                    .is_ok_and(|text| text.contains(&format!("fn {name}("))),
            };
            assert!(found, "{place}: {name} does not exist");
        }
    }
}
