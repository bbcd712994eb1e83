//! What `docs/commands.md` shows is what the commands print: every console block is run among the sample files.

use crate::harness::tenure;
use std::{fs, path::Path};

#[test]
fn the_documentation_shows_what_the_commands_print() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    let text = fs::read_to_string(&path).expect("docs/commands.md");
    let (mut now, mut blocks, mut lines) = (String::new(), 0, text.lines());
    while let Some(line) = lines.next() {
        now += &format!("{line}\n");
        if line != "```console" {
            continue;
        }
        let command = lines.next().unwrap_or_default();
        let words: Vec<&str> = command.trim_start_matches("$ tenure ").split_whitespace().collect();
        let output = tenure(&words);
        lines.by_ref().take_while(|line| *line != "```").for_each(drop);
        now += &format!("{command}\n{}{}```\n", output.text(), output.err);
        blocks += 1;
    }
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &now).expect("docs/commands.md");
    }
    assert!(blocks > 10, "{blocks} blocks");
    assert!(
        text == now,
        "docs/commands.md does not show what is printed (UPDATE_SNAPSHOTS=1 updates it):\n{now}"
    );
}
