//! Hostile requests against a running server. Each has a bound on processor time and memory relative to its size; the process
//! survives all of them, answers health checks throughout, and returns the memory.

mod bodies;
mod connections;
mod credentials;
mod definitions;
mod expressions;
mod floods;
mod health;
mod history;
mod lists;
mod page;
mod patches;
#[path = "../end_to_end/process.rs"]
#[allow(dead_code, reason = "these tests use a part")]
mod process;
mod protocol;
mod server;
mod urls;
mod webhooks;

use server::{Attack, Target};

/// Returns all hostile requests, with names that are all different.
fn attacks() -> Vec<Attack> {
    let all = [
        bodies::attacks(),
        lists::attacks(),
        patches::attacks(),
        definitions::attacks(),
        urls::attacks(),
        page::attacks(),
    ];
    all.into_iter().flatten().collect()
}

#[test]
fn the_table_is_large_and_its_names_are_unique() {
    let attacks = attacks();
    let names: std::collections::BTreeSet<&str> = attacks.iter().map(|attack| attack.name.as_str()).collect();
    assert!(attacks.len() >= 150, "{} attacks", attacks.len());
    assert_eq!(names.len(), attacks.len());
}

#[test]
fn a_server_in_memory_survives() {
    let target = Target::in_memory();
    target.survive(&attacks());
}

#[test]
fn a_server_on_etcd_survives() {
    let target = Target::on_etcd();
    // What happens before the store is the same for both; every third attack is enough to show that the store makes no
    // difference.
    let attacks: Vec<Attack> = attacks().into_iter().step_by(3).collect();
    target.survive(&attacks);
}
