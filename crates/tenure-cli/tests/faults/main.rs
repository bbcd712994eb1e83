//! Three members of etcd and two servers, as processes: while clients write through both servers, members are stopped,
//! killed, paused and cut off, the leader too, and servers are killed and paused. Nothing acknowledged is lost, nothing
//! refused was applied, one order explains all responses, watchers of both servers saw the same, and service resumes within seconds.
//!
//! Every fault happens once, and again for as many seconds as `TENURE_FAULTS_SECONDS` says; `scripts/faults` runs ten minutes.

#[path = "../../../tenure-store/tests/support/etcd.rs"]
mod etcd;
mod http;
#[path = "../../../tenure-store/tests/support/order.rs"]
mod order;
#[path = "../end_to_end/process.rs"]
#[allow(dead_code, reason = "shared with the other tests of the binary")]
mod process;
mod proxy;
mod workload;

use etcd::{Etcd, free_port};
use http::Client;
use order::violation;
use process::Tenure;
use proxy::Proxies;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use workload::{CreateOutcome, Seen, Shared, counter_body};

const MEMBERS: usize = 3;
const CLIENTS: u64 = 4;
const COUNTERS: u64 = 3;
/// How long a fault lasts.
const LASTING: Duration = Duration::from_millis(3500);
/// How long recovery may take.
const RECOVERY: Duration = Duration::from_secs(15);
/// How long a response may take: the server's deadline, the longest pause of a server, and a margin.
const SLOWEST: Duration = Duration::from_secs(25);

/// The faults.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// A member ends by a signal, and is started again.
    End(Who, &'static str),
    /// A member is paused, with all its connections open.
    Pause(Who),
    /// A member is partitioned from the others; the servers still reach it.
    CutOff(Who),
    /// A server is killed, and started again.
    KillServer(usize),
    /// A server is paused.
    PauseServer(usize),
}

#[derive(Clone, Copy, Debug)]
enum Who {
    Leader,
    Follower,
}

const FAULTS: [Fault; 9] = [
    Fault::End(Who::Leader, "KILL"),
    Fault::CutOff(Who::Leader),
    Fault::KillServer(1),
    Fault::Pause(Who::Leader),
    Fault::End(Who::Follower, "TERM"),
    Fault::CutOff(Who::Follower),
    Fault::PauseServer(0),
    Fault::End(Who::Leader, "TERM"),
    Fault::Pause(Who::Follower),
];

struct TestCluster {
    etcd: Etcd,
    proxies: Proxies,
    directories: [TempDir; 2],
    ports: [u16; 2],
    servers: [Option<Tenure>; 2],
}

impl TestCluster {
    fn start() -> TestCluster {
        let proxies = Proxies::default();
        let etcd = Etcd::cluster(MEMBERS, |port| proxies.add(port));
        let directory = || TempDir::new().expect("a directory");
        let directories = [directory(), directory()];
        let mut cluster = TestCluster {
            etcd,
            proxies,
            directories,
            ports: [free_port(), free_port()],
            servers: [None, None],
        };
        cluster.tell_proxies();
        for place in 0..2 {
            cluster.start_server(place);
        }
        cluster
    }

    fn tell_proxies(&self) {
        for member in 0..MEMBERS {
            self.proxies.process(member, self.etcd.process(member));
        }
    }

    fn start_server(&mut self, place: usize) {
        let endpoints = self.etcd.endpoints().join(",");
        let listen = format!("127.0.0.1:{}", self.ports[place]);
        let arguments =
            ["--insecure-http", "--listen", &listen, "--store", "etcd", "--etcd-endpoints", &endpoints];
        self.servers[place] = Some(Tenure::start(self.directories[place].path(), &arguments));
    }

    fn addresses(&self) -> [SocketAddr; 2] {
        self.ports.map(|port| SocketAddr::from(([127, 0, 0, 1], port)))
    }

    fn find(&self, who: Who) -> usize {
        let start = Instant::now();
        let leader = loop {
            match self.etcd.leader() {
                Some(leader) => break leader,
                None => assert!(start.elapsed() < RECOVERY, "etcd has no leader"),
            }
            sleep(Duration::from_millis(50));
        };
        match who {
            Who::Leader => leader,
            Who::Follower => (leader + 1) % MEMBERS,
        }
    }

    /// Injects a fault for a while, and removes it.
    fn suffer(&mut self, fault: Fault) {
        match fault {
            Fault::End(who, signal) => {
                let member = self.find(who);
                self.etcd.stop(member, signal);
                sleep(LASTING);
                self.etcd.restart(member);
                self.tell_proxies();
            }
            Fault::Pause(who) => {
                let member = self.find(who);
                self.etcd.signal(member, "STOP");
                sleep(LASTING);
                self.etcd.signal(member, "CONT");
            }
            Fault::CutOff(who) => {
                self.proxies.cut_off(self.find(who));
                sleep(LASTING);
                self.proxies.heal();
            }
            Fault::KillServer(place) => {
                let server = self.servers[place].take().expect("a running server");
                server.signal("KILL");
                drop(server);
                sleep(LASTING);
                self.start_server(place);
            }
            Fault::PauseServer(place) => {
                let server = self.servers[place].as_ref().expect("a running server");
                server.signal("STOP");
                sleep(LASTING);
                server.signal("CONT");
            }
        }
    }
}

/// Returns how many writes were acknowledged within a time before now.
fn recent(shared: &Shared, within: Duration) -> usize {
    let since = Instant::now() - within;
    shared.with(|record| record.acknowledged.iter().rev().take_while(|at| **at >= since).count())
}

fn seconds() -> u64 {
    std::env::var("TENURE_FAULTS_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[test]
fn acknowledged_writes_survive_every_fault_of_etcd_and_servers() {
    let mut cluster = TestCluster::start();
    let addresses = cluster.addresses();
    let mut client = Client::new(addresses[0]);
    for counter in 0..COUNTERS {
        let body = counter_body(&format!("counter-{counter}"), 0, None);
        let response =
            client.request("POST", "/api/v1/namespaces/default/configmaps", "application/json", &body);
        assert_eq!(response.as_ref().map(|response| response.code).ok(), Some(201), "{response:?}");
    }
    let start = version(&list(addresses[0]));
    let (shared, unwatched) = (Shared::default(), Arc::new(AtomicBool::new(false)));
    let watchers = addresses.map(|address| workload::watcher(&unwatched, address, start));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|seed| workload::client(&shared, &addresses, 1_000_000 * (seed + 1), COUNTERS))
        .collect();
    sleep(Duration::from_secs(3));
    let usual = recent(&shared, Duration::from_secs(1)).max(1);
    let end = Instant::now() + Duration::from_secs(seconds());
    for (number, fault) in FAULTS.iter().cycle().enumerate() {
        if number >= FAULTS.len() && Instant::now() >= end {
            break;
        }
        cluster.suffer(*fault);
        let repaired = Instant::now();
        while recent(&shared, Duration::from_secs(1)) < usual.div_ceil(4) {
            assert!(repaired.elapsed() < RECOVERY, "{fault:?}: work does not go on");
            sleep(Duration::from_millis(50));
        }
        eprintln!("{fault:?}: as before after {:.1} s", repaired.elapsed().as_secs_f64());
    }
    shared.stop.store(true, Ordering::SeqCst);
    for client in clients {
        client.join().expect("a client that ends well");
    }
    let lists = addresses.map(list);
    sleep(Duration::from_secs(3));
    unwatched.store(true, Ordering::SeqCst);
    let sequences = watchers.map(|watcher| watcher.join().expect("a watcher that ends well"));
    assert_eq!(names(&lists[0]), names(&lists[1]), "both servers show the same");
    check(&shared, &names(&lists[0]), &sequences);
}

fn list(server: SocketAddr) -> String {
    let start = Instant::now();
    loop {
        let path = "/api/v1/namespaces/default/configmaps";
        match Client::new(server).request("GET", path, "application/json", "") {
            Ok(response) if response.code == 200 => return response.body,
            other => assert!(start.elapsed() < RECOVERY, "{other:?}"),
        }
        sleep(Duration::from_millis(100));
    }
}

fn version(list: &str) -> u64 {
    // The list's own version comes before its items.
    let head = list.split("\"items\"").find(|part| part.contains("resourceVersion")).unwrap_or_default();
    workload::number(head, "resourceVersion").unwrap_or_else(|| panic!("no version in {list}"))
}

fn names(list: &str) -> BTreeSet<String> {
    let names = list.split("\"name\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    names.map(str::to_owned).collect()
}

fn check(shared: &Shared, names: &BTreeSet<String>, sequences: &[Vec<Seen>; 2]) {
    shared.with(|record| {
        assert_eq!(record.rude, [""; 0], "failures say when to try again");
        assert!(record.slowest < SLOWEST, "a response took {:?}", record.slowest);
        let count = |outcome| record.created.values().filter(|other| **other == outcome).count();
        let (created, open) = (count(CreateOutcome::Created), count(CreateOutcome::Open));
        let refused = count(CreateOutcome::Refused);
        eprintln!("{created} created, {refused} refused, {open} unknown, {} swaps", record.swaps.len());
        assert!(created > 50 && record.swaps.len() > 50, "too little happened");
        for (name, outcome) in &record.created {
            match outcome {
                CreateOutcome::Created => {
                    assert!(names.contains(name), "{name} was acknowledged and is lost")
                }
                CreateOutcome::Refused => assert!(!names.contains(name), "{name} was refused and is there"),
                CreateOutcome::Open => {}
            }
        }
        for (counter, history) in &record.operations {
            assert_eq!(violation(history).map(|found| format!("{counter}: {found:?}")), None);
        }
        let [one, other] = sequences;
        assert_eq!(one.len(), other.len(), "both watchers saw as much");
        assert_eq!(one, other, "both watchers saw the same sequence");
        assert!(one.is_sorted_by(|a, b| a.revision < b.revision), "once each, in order");
        check_counters(one, &record.swaps);
    });
}

/// Every change of a counter adds one to the previous value, and every acknowledged swap is one of them.
fn check_counters(sequence: &[Seen], swaps: &[workload::Swap]) {
    let mut last: BTreeMap<&str, &Seen> = BTreeMap::new();
    let mut before: BTreeMap<(&str, u64), u64> = BTreeMap::new();
    for seen in sequence.iter().filter(|seen| seen.count.is_some()) {
        if let Some(previous) = last.insert(&seen.name, seen) {
            let (was, is) = (previous.count.unwrap_or_default(), seen.count.unwrap_or_default());
            assert_eq!(was + 1, is, "{}: a swap was lost or done twice at {}", seen.name, seen.revision);
            before.insert((&seen.name, seen.revision), previous.revision);
        } else {
            before.insert((&seen.name, seen.revision), 0);
        }
    }
    for swap in swaps {
        match before.get(&(swap.counter.as_str(), swap.to)) {
            Some(0) => {}
            Some(from) => assert_eq!(*from, swap.from, "{swap:?} replaced something else"),
            None => panic!("{swap:?} was acknowledged and is lost"),
        }
    }
}
