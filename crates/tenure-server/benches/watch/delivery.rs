//! The cost of an idle watch, the cost of delivering a change, and whether watchers keep up.

use crate::{
    clients::{MARK, Watchers, write},
    server::{Server, Transport},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

/// The number of concurrent writers: enough to share the syncs of the disk.
const WRITERS: u64 = 50;
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","labels":{{"app":"bench"}}}},"data":{{"key":"value{MARK}"}}}}"#)
}

fn watch_of(collection: &str) -> String {
    format!("{collection}?watch=1&resourceVersion=1&timeoutSeconds=600")
}

/// The memory of an idle watcher, for each protocol.
pub fn idle() {
    for (transport, count) in
        [(Transport::Plain, 10_000), (Transport::Tls, 2_000), (Transport::Multiplexed, 10_000)]
    {
        let server = Server::start(transport);
        // The first watchers allocate what all share.
        let _first = Watchers::open(&server, transport, 200, |_| watch_of(MAPS));
        let before = server.memory();
        let _watchers = Watchers::open(&server, transport, count, |_| watch_of(MAPS));
        thread::sleep(Duration::from_millis(500));
        let each = (server.memory() - before) / count as f64;
        println!("{count} idle watchers, {transport:?}: {each:.1} KB each");
    }
}

/// The cost of delivering one change to all watchers.
pub fn deliver(count: usize) {
    let server = Server::start(Transport::Plain);
    server.send("POST", MAPS, "", &map("first"));
    let watchers = Watchers::open(&server, Transport::Plain, count, |_| watch_of(MAPS));
    watchers.drive_until(|counts| counts.events.load(Relaxed) >= count as u64);
    let rounds = 20;
    let (delivered, time, start) = (watchers.events.load(Relaxed), server.time(), Instant::now());
    let mut slowest = Duration::ZERO;
    for round in 0..rounds {
        let began = Instant::now();
        server.send("POST", MAPS, "", &map(&format!("m{round}")));
        let due = delivered + (round + 1) * count as u64;
        watchers.drive_until(|counts| counts.events.load(Relaxed) >= due);
        slowest = slowest.max(began.elapsed());
    }
    let events = (watchers.events.load(Relaxed) - delivered) as f64;
    let (user, system) = server.time();
    println!(
        "one change to {count} watchers: {:.1} µs of the server's processor per event ({:.1} program, {:.1} kernel), {:.0} ms until the last has it (at most {} ms), resident {:.0} MB",
        (user + system - time.0 - time.1) * 1e6 / events,
        (user - time.0) * 1e6 / events,
        (system - time.1) * 1e6 / events,
        start.elapsed().as_millis() as f64 / rounds as f64,
        slowest.as_millis(),
        server.memory() / 1024.0,
    );
}

/// Whether many watchers keep up with many changes: where each change concerns a few of them, and where it concerns all.
pub fn sustain() {
    sustained(1_000, 100, 1_000, 8);
    for rate in [2_000, 1_000, 500] {
        if sustained(1_000, 1, rate, 8) {
            break;
        }
    }
}

/// Spreads watchers over namespaces, changes objects of all of them at a rate, and reports whether all kept up.
fn sustained(count: usize, namespaces: usize, rate: u64, seconds: u64) -> bool {
    let server = Server::start(Transport::Plain);
    for at in 0..namespaces {
        server.send("POST", "/api/v1/namespaces", "", &format!(r#"{{"metadata":{{"name":"n{at}"}}}}"#));
    }
    let place = move |at: usize| format!("/api/v1/namespaces/n{}/configmaps", at % namespaces);
    let reach = (count / namespaces) as u64;
    let watchers = Watchers::open(&server, Transport::Plain, count, |at| watch_of(&place(at)));
    let (before, start) = (server.time(), Instant::now());
    let written = Arc::new(AtomicU64::new(0));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (address, written) = (server.address.clone(), written.clone());
            let path = move |at: u64| (place((at * WRITERS + writer) as usize), format!("writer-{writer}"));
            thread::spawn(move || write(&address, rate / WRITERS, seconds, start, &written, path))
        })
        .collect();
    let mut behind = Vec::new();
    for second in 1..=seconds {
        watchers.drive((start + Duration::from_secs(second)).saturating_duration_since(Instant::now()));
        let due = written.load(Relaxed) * reach;
        behind.push(due.saturating_sub(watchers.events.load(Relaxed)) / reach);
    }
    let ends = writers.into_iter().map(|writer| writer.join().expect("a writer"));
    let end = ends.max().unwrap_or(start);
    // The last change is due an interval before the time is over.
    let wrote = (end - start).max(Duration::from_secs(seconds));
    let due = written.load(Relaxed) * reach;
    watchers.drive_until(|counts| counts.events.load(Relaxed) >= due);
    let (user, system) = server.time();
    let (events, busy) = (due as f64, user + system - before.0 - before.1);
    let changes = written.load(Relaxed) as f64 / wrote.as_secs_f64();
    println!(
        "{changes:.0} of {rate} changes per second, {count} watchers, each change for {reach} of them, {seconds} s: behind by {behind:?} changes at the end of each second, {} ms after the last change all had it; {:.2} µs of the server's processor per event, {:.0} % of one processor; resident {:.0} MB",
        end.elapsed().as_millis(),
        busy * 1e6 / events,
        busy * 100.0 / (wrote + end.elapsed()).as_secs_f64(),
        server.memory() / 1024.0,
    );
    changes > rate as f64 * 0.98 && behind.last().is_some_and(|last| *last < rate / 4)
}
