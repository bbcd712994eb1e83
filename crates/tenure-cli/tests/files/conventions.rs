//! What every command on files has: help with examples, completions, manual pages, and colours on a terminal only.

use crate::harness::tenure;

const COMMANDS: [&[&str]; 19] = [
    &["patch"],
    &["patch", "apply"],
    &["patch", "diff"],
    &["patch", "three-way"],
    &["patch", "lint"],
    &["patch", "explain"],
    &["simulate"],
    &["fields"],
    &["fields", "encode"],
    &["fields", "decode"],
    &["fields", "size"],
    &["schema"],
    &["schema", "show"],
    &["schema", "audit"],
    &["schema", "diff"],
    &["mcp"],
    &["approve"],
    &["completions"],
    &["man"],
];

#[test]
fn every_help_has_examples() {
    for command in COMMANDS {
        let output = tenure(&[command, &["--help"]].concat()).exits_with(0);
        let examples = output.text().split("Examples:\n").nth(1).unwrap_or_default().to_owned();
        let begins = format!("tenure {}", command.join(" "));
        assert!(examples.contains(&begins), "{begins}: {}", output.text());
    }
}

#[test]
fn completions_have_every_command() {
    // These ask the program what could come next.
    for shell in ["bash", "zsh", "fish", "kubectl"] {
        let script = tenure(&["completions", shell]).exits_with(0).text();
        assert!(script.contains("tenure __complete "), "{shell}: {script}");
    }
    let next = tenure(&["__complete", "patch", ""]).exits_with(0).text();
    assert_eq!(next, "apply\ndiff\nexplain\nlint\nthree-way\n:4\n");
    for shell in ["powershell", "elvish"] {
        let script = tenure(&["completions", shell]).exits_with(0).text();
        assert!(
            ["three-way", "simulate", "encode", "audit"].iter().all(|word| script.contains(word)),
            "{shell}"
        );
    }
    let output = tenure(&["completions", "csh"]).exits_with(1);
    assert!(output.err.contains("bash"), "{}", output.err);
}

#[test]
fn every_command_has_a_manual_page() {
    assert!(tenure(&["man"]).exits_with(0).text().contains(".TH tenure 1"));
    let page = tenure(&["man", "patch", "three-way"]).exits_with(0).text();
    assert!(page.contains("tenure\\-patch\\-three\\-way"), "{page}");
    let directory = tempfile::TempDir::new().expect("a directory");
    tenure(&["man", "--dir", &directory.path().to_string_lossy()]).exits_with(0);
    for command in COMMANDS {
        let page = directory.path().join(format!("tenure-{}.1", command.join("-")));
        assert!(page.exists(), "{}", page.display());
    }
    let output = tenure(&["man", "patch", "nothing"]).exits_with(1);
    assert!(output.err.contains("the commands are apply, diff"), "{}", output.err);
}

#[test]
fn colours_are_for_terminals_or_on_request() {
    for line in [
        &["patch", "explain", "live.yaml", "patch.yaml"][..],
        &["simulate", "manifest.yaml", "live.yaml"],
        &["fields", "decode", "live.yaml"],
        &["schema", "audit"],
    ] {
        assert!(!tenure(line).text().contains('\u{1b}'), "{line:?}");
        assert!(tenure(&[line, &["--color", "always"]].concat()).text().contains('\u{1b}'), "{line:?}");
    }
}
