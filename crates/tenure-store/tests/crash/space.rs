//! A real limit of space, set by the system and lifted later: a process that may not extend its files gets errors
//! for writes that do not fit, continues to read, and writes again when there is space.

use std::path::Path;
use std::process::Command;
use tenure_store::{
    EmbeddedOptions, EmbeddedStore, Error, Expected, HistoryLimits, ListRequest, Store, Transaction,
};

/// In blocks of 512 bytes, as `ulimit` counts.
const SPACE: &str = "8000";
const VALUE: usize = 50_000;

/// Runs a writer under the limit and checks the store afterwards.
pub fn run(directory_variable: &str, space_variable: &str) {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("store");
    let limited = format!("trap '' XFSZ; ulimit -S -f {SPACE}; exec \"$0\"");
    let writer = Command::new("sh")
        .args(["-c", &limited])
        .arg(std::env::current_exe().unwrap())
        .env(directory_variable, &directory)
        .env(space_variable, "limited")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&writer.stdout).into_owned();
    assert!(writer.status.success(), "{output}{}", String::from_utf8_lossy(&writer.stderr));
    let acknowledged: usize = output.trim().parse().unwrap();
    assert_eq!(entries(&open(&directory)), acknowledged);
}

/// The writer: fills the space, is refused, lifts the limit, and prints how many writes were acknowledged.
pub fn fill(directory: &Path) {
    let store = open(directory);
    let mut acknowledged = 0;
    let refusal = loop {
        match put(&store, acknowledged) {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
        assert!(acknowledged < 1_000, "the limit was never reached");
    };
    assert!(matches!(refusal, Error::NotDurable { .. }), "{refusal}");
    assert!(acknowledged > 5, "only {acknowledged} writes fit");
    assert_eq!(entries(&store), acknowledged, "reads work");
    put(&store, acknowledged).expect_err("there is still no space");
    assert_eq!(entries(&store), acknowledged, "reads still work");

    let own = std::process::id().to_string();
    let lifted = Command::new("prlimit").args(["--fsize=unlimited:", "--pid", &own]).status().unwrap();
    assert!(lifted.success());
    for _ in 0..20 {
        put(&store, acknowledged).expect("there is space again");
        acknowledged += 1;
    }
    println!("{acknowledged}");
}

fn open(directory: &Path) -> EmbeddedStore {
    let options = EmbeddedOptions { limits: HistoryLimits::unlimited(), ..EmbeddedOptions::default() };
    EmbeddedStore::open(directory, options).unwrap()
}

fn put(store: &EmbeddedStore, number: usize) -> Result<(), Error> {
    let put = Transaction::new().put(format!("key-{number}"), Expected::Absent, vec![7; VALUE]);
    block_on(store.commit(put)).map(drop)
}

fn entries(store: &EmbeddedStore) -> usize {
    block_on(store.list(ListRequest::default())).unwrap().entries.len()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}
