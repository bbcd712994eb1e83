//! `scripts/compare`: its arguments are checked, and a small run prints a table and leaves nothing behind.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn compare(arguments: &[&str], temporary: &Path) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/compare");
    let mut command = Command::new("python3");
    command.arg(script).args(["--tenure", env!("CARGO_BIN_EXE_tenure")]).args(arguments);
    command.env("TMPDIR", temporary).output().expect("python3 starts")
}

#[test]
fn compare_checks_its_arguments() {
    let cases = [
        (&["--rounds", "0"][..], "--rounds: 0 is not a whole number of at least 1"),
        (&["--objects", "many"], "--objects: many is not a whole number of at least 1"),
        (&["--only", "change,speed"], "--only: speed is none of change, noop, create, get, page"),
        (&["--only", "etcd"], "--only etcd needs --etcd"),
        (&["--on-etcd"], "--on-etcd needs --etcd"),
        (&["--kube-apiserver", "python3"], "--kube-apiserver needs --etcd"),
        (&["--etcd", "/nowhere/etcd"], "--etcd: /nowhere/etcd is not an executable file"),
    ];
    for (arguments, expected) in cases {
        let output = compare(arguments, Path::new(env!("CARGO_TARGET_TMPDIR")));
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn compare_prints_a_table_and_leaves_nothing_behind() {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("compare-{}", std::process::id()));
    fs::create_dir_all(&temporary).expect("a folder");
    let small = ["--rounds", "1", "--seconds", "1", "--objects", "20", "--timeout", "120"];
    let output = compare(&[&small[..], &["--only", "create,page,list"]].concat(), &temporary);
    let (table, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{table}{error}");
    assert!(table.starts_with("tenure "), "the versions come first: {table}");
    let cells = |row: &str| {
        let line = table.lines().find(|line| line.starts_with(&format!("| {row}")));
        let line = line.unwrap_or_else(|| panic!("no row {row:?}: {table}"));
        line.split('|').map(|cell| cell.trim().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(cells("|")[2..], ["Tenure", "target", ""]);
    let rows = [
        ("a create", "32 µs"),
        ("creates a second", ""),
        ("a page of 20 of 20", "1 ms"),
        ("the same page", "0.4 ms"),
        ("one of 20 ConfigMaps by `metadata.name`", ""),
        ("all 20 ConfigMaps", ""),
        ("the initial events", ""),
    ];
    for (row, target) in rows {
        let cells = cells(row);
        assert!(cells[2].starts_with(|first: char| first.is_ascii_digit()), "{row}: {cells:?}");
        assert_eq!(cells[3], target, "{row}");
    }
    assert_eq!(fs::read_dir(&temporary).expect("the folder").count(), 0, "its files are removed");
    fs::remove_dir(&temporary).expect("an empty folder");
}
