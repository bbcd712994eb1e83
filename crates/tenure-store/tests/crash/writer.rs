//! The process that is killed. Every task writes keys of its own, in rising order, and prints this to standard output only
//! after the store has acknowledged it; the content of the pipe survives the kill.

use super::{Random, limits};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tenure_store::{EmbeddedOptions, EmbeddedStore, Expected, Store, Transaction};

const TASKS: u64 = 6;
const KEYS: u64 = 8;

/// Writes until killed.
pub fn run(directory: &Path, history: u64, seed: u64) {
    // Small files of the journal, so that kills also interrupt checkpoints of the table.
    let options =
        EmbeddedOptions { limits: limits(history), journal_file: 64 * 1024, ..EmbeddedOptions::default() };
    let store =
        Arc::new(EmbeddedStore::open(directory, options).expect("the store must open after any kill"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| tokio::spawn(write_forever(store.clone(), task, Random(seed + task + 1))))
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

async fn write_forever(store: Arc<EmbeddedStore>, task: u64, mut random: Random) {
    loop {
        let key = format!("task-{task}/{}", random.next() % KEYS);
        let twin = format!("twin-{key}");
        let entry = store.get(key.as_bytes()).await.unwrap();
        let number = match &entry {
            Some(entry) => number_of(&entry.value.bytes()) + 1,
            None => store.revision().await.unwrap().get() * 1_000,
        };
        let expected = entry.as_ref().map_or(Expected::Absent, |entry| Expected::At(entry.modified));
        let transaction = if entry.is_some() && random.next().is_multiple_of(16) {
            Transaction::new().delete(key.clone(), expected).delete(twin, Expected::Anything)
        } else {
            let size = if random.next().is_multiple_of(20) { 40_000 } else { random.next() % 3_000 };
            let value = value(number, size);
            Transaction::new().put(key.clone(), expected, value.clone()).put(twin, Expected::Anything, value)
        };
        // The record of a write is its number, that of a deletion marks the deletion.
        let what =
            if transaction.operations()[0].action == tenure_store::Action::Delete { 0 } else { number };
        let transaction = transaction.record(key.clone(), value(what, random.next() % 100));
        let deletes = transaction.operations()[0].action == tenure_store::Action::Delete;
        let committed = store.commit(transaction).await.expect("no other task writes this key");
        let what = if deletes { "deleted".to_owned() } else { number.to_string() };
        let line = format!("{} {key} {what}\n", committed.revision);
        std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
        std::io::stdout().lock().flush().unwrap();
    }
}

/// A value that shows whether it is intact: its number, then bytes derived from it.
pub fn value(number: u64, size: u64) -> Vec<u8> {
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend((0..size).map(|place| (number.wrapping_mul(31).wrapping_add(place * place)) as u8));
    bytes
}

/// Returns the number of a value, which must be intact.
pub fn number_of(bytes: &[u8]) -> u64 {
    let (number, rest) = bytes.split_first_chunk::<8>().expect("a value with its number");
    let number = u64::from_le_bytes(*number);
    assert!(value(number, rest.len() as u64) == bytes, "a torn value of number {number}");
    number
}
