//! The memory of a million changes of ten thousand objects, with the default limits: run with `cargo bench -p tenure-history --bench
//! memory`.

use std::time::Instant;
use tenure_apply::Managers;
use tenure_history::{Author, Values, Verb, Version, encode};
use tenure_store::{Expected, LedgerRequest, MemoryStore, Store, Transaction};
use tenure_value::Value;

const OBJECTS: usize = 10_000;
const CHANGES: usize = 100;

/// Returns the memory of this process, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse::<usize>().unwrap_or_default() * 1024
}

fn key(number: usize) -> String {
    format!("objects/apps/deployments/namespace-{:03}/deployment-{number:05}", number % 100)
}

fn main() {
    let object = |replicas: i64| -> Value {
        format!(
            r#"{{"metadata":{{"generation":{replicas}}},"spec":{{"replicas":{replicas}}},"status":{{"observedGeneration":{replicas},"conditions":[{{"type":"Available","lastUpdateTime":"2026-01-02T03:04:05Z"}}]}}}}"#
        )
        .parse()
        .unwrap_or_default()
    };
    let none = Managers::default();
    let author = Author {
        verb: Verb::Patch,
        user: "system:serviceaccount:kube-system:autoscaler",
        manager: "autoscaler",
        subresource: "scale",
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let store = MemoryStore::new();
        let (before, start) = (resident(), Instant::now());
        let mut bytes = 0;
        for change in 0..CHANGES {
            let (old, new) = (object(change as i64), object(change as i64 + 1));
            let version = |object| Version { object, managers: &none, revision: 1_000_000 };
            for number in 0..OBJECTS {
                let record = encode(&author, Some(version(&old)), Some(version(&new)), Values::Kept)
                    .expect("a record");
                bytes += record.bytes.len();
                let put = Transaction::new().put(key(number), Expected::Anything, "{}");
                store.commit(put.record(key(number), record.bytes)).await.expect("a commit");
            }
        }
        let kept =
            store.ledger(LedgerRequest::prefix("", usize::MAX)).await.expect("the ledger").records.len();
        let used = resident().saturating_sub(before);
        println!(
            "{kept} of {} changes kept, {} bytes a record",
            OBJECTS * CHANGES,
            bytes / (OBJECTS * CHANGES)
        );
        println!("{} MB resident, after {:?}", used / 1_000_000, start.elapsed());
        let start = Instant::now();
        let page = store.ledger(LedgerRequest::key(key(77), 100)).await.expect("the ledger");
        println!("{} records of one object in {:?}", page.records.len(), start.elapsed());
    });
}
