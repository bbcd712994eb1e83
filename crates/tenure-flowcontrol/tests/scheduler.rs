//! The promises of the scheduler: shares are kept, idle seats are lent, flows take turns, nothing is lost.

use proptest::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};
use tenure_flowcontrol::{Arrival, Config, Flow, Rejection, Scheduler, Ticket};
use tenure_meta::{Attributes, UserInfo};
use tenure_value::Value;

const TIME: Duration = Duration::from_millis(5);

/// Returns a configuration with a level and a schema of each name; users of a group of that name belong to it.
fn config(levels: &[(&str, &str)]) -> Config {
    let parse = |text: String| -> Value { text.parse().unwrap() };
    let schema = |name: &str| {
        parse(format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"matchingPrecedence":100,"priorityLevelConfiguration":{{"name":"{name}"}},
            "distinguisherMethod":{{"type":"ByUser"}},"rules":[{{"subjects":[{{"kind":"Group","group":{{"name":"{name}"}}}}],
            "nonResourceRules":[{{"verbs":["*"],"nonResourceURLs":["*"]}}]}}]}}}}"#
        ))
    };
    let level = |name: &str, limited: &str| {
        parse(format!(
            r#"{{"metadata":{{"name":"{name}"}},"spec":{{"type":"Limited","limited":{limited}}}}}"#
        ))
    };
    let schemas: Vec<Value> = levels.iter().map(|(name, _)| schema(name)).collect();
    let none = level("catch-all", r#"{"nominalConcurrencyShares":0,"limitResponse":{"type":"Reject"}}"#);
    let levels = levels.iter().map(|(name, limited)| level(name, limited));
    Config::read(&schemas, &levels.chain([none]).collect::<Vec<_>>())
}

fn queued(shares: u32, lendable: u32, length: u32) -> String {
    format!(
        r#"{{"nominalConcurrencyShares":{shares},"lendablePercent":{lendable},"limitResponse":{{"type":"Queue","queuing":{{"queues":64,"handSize":4,"queueLengthLimit":{length}}}}}}}"#
    )
}

fn flow(config: &Config, group: &str, user: &str) -> Flow {
    let request = Attributes::NonResource { verb: "get".into(), path: "/".into() };
    let flow = config.classify(&UserInfo::new(user).with_group(group), &request);
    assert_eq!(config.level(&flow).name, group);
    flow
}

fn started(arrival: Arrival) -> Ticket {
    match arrival {
        Arrival::Started(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_flood_waits_for_itself() {
    let config = config(&[("a", &queued(1, 0, 50))]);
    let mut scheduler = Scheduler::new(&config, 4);
    let flood = flow(&config, "a", "flood");
    let (mut running, mut waiting, mut rejected) = (VecDeque::new(), BTreeMap::new(), 0);
    for _ in 0..1000 {
        match scheduler.arrive(&flood, 1) {
            Arrival::Started(ticket) => running.push_back(ticket),
            Arrival::Queued(ticket) => drop(waiting.insert(ticket.id, ticket)),
            Arrival::Rejected(why) => {
                assert_eq!(why, Rejection::QueueFull);
                rejected += 1;
            }
        }
    }
    // A hand of four queues, of fifty requests each.
    assert_eq!((running.len(), waiting.len(), rejected), (4, 200, 796));
    // Others find an empty queue, whose turn comes first.
    for user in 0..20 {
        let Arrival::Queued(ticket) = scheduler.arrive(&flow(&config, "a", &format!("user-{user}")), 1)
        else {
            panic!("not queued");
        };
        let mut finished = 0;
        loop {
            let ended = running.pop_front().unwrap();
            finished += 1;
            let ids = scheduler.finish(&ended, TIME);
            let is_started = ids.contains(&ticket.id);
            running.extend(ids.iter().map(|id| if *id == ticket.id { ticket } else { waiting[id] }));
            if is_started {
                break;
            }
        }
        assert!(finished <= 6, "user {user} waited for {finished} requests");
    }
}

#[test]
fn idle_seats_are_lent_and_reserved_ones_are_kept() {
    let config = config(&[("a", &queued(1, 50, 50)), ("b", &queued(1, 0, 50))]);
    let mut scheduler = Scheduler::new(&config, 20);
    let (a, b) = (flow(&config, "a", "x"), flow(&config, "b", "x"));
    // `b` has ten seats of its own and five that `a` does not use.
    let borrowed: Vec<Ticket> = (0..15).map(|_| started(scheduler.arrive(&b, 1))).collect();
    let Arrival::Queued(waits) = scheduler.arrive(&b, 1) else { panic!("more than can be lent") };
    // `a` has its five reserved seats at once, and the lent ones when they are free again.
    for _ in 0..5 {
        started(scheduler.arrive(&a, 1));
    }
    let Arrival::Queued(first) = scheduler.arrive(&a, 1) else { panic!("the seat is lent") };
    assert_eq!(scheduler.used(), 20);
    assert_eq!(scheduler.finish(&borrowed[0], TIME), [first.id]);
    assert!(scheduler.abandon(&waits));
    assert_eq!(scheduler.finish(&borrowed[1], TIME), Vec::<u64>::new());
}

#[test]
fn a_level_without_queues_refuses() {
    let config = config(&[("a", r#"{"nominalConcurrencyShares":1,"limitResponse":{"type":"Reject"}}"#)]);
    let mut scheduler = Scheduler::new(&config, 1);
    let a = flow(&config, "a", "x");
    let ticket = started(scheduler.arrive(&a, 1));
    assert_eq!(scheduler.arrive(&a, 1), Arrival::Rejected(Rejection::ConcurrencyLimit));
    assert!(scheduler.finish(&ticket, TIME).is_empty());
    started(scheduler.arrive(&a, 1));
}

#[test]
fn work_counts_and_not_requests() {
    // One flow has requests a hundred times as long as the other's; both get the same time.
    let config = config(&[("a", &queued(1, 0, 1000))]);
    let mut scheduler = Scheduler::new(&config, 1);
    let (long, short) = (flow(&config, "a", "long"), flow(&config, "a", "short"));
    let mut tickets = BTreeMap::new();
    let mut running = None;
    for _ in 0..400 {
        for (flow, time) in [(&long, 100), (&short, 1)] {
            match scheduler.arrive(flow, 1) {
                Arrival::Started(ticket) => running = Some((ticket, time)),
                Arrival::Queued(ticket) => drop(tickets.insert(ticket.id, (ticket, time))),
                Arrival::Rejected(why) => panic!("{why:?}"),
            }
        }
    }
    let mut times = BTreeMap::from([(100, 0), (1, 0)]);
    for _ in 0..300 {
        let (ticket, time) = running.take().unwrap();
        *times.get_mut(&time).unwrap() += time;
        let ids = scheduler.finish(&ticket, Duration::from_millis(time));
        running = ids.first().map(|id| tickets[id]);
    }
    assert!(times[&100] < 3 * times[&1] + 200, "{times:?}");
}

#[test]
fn a_removed_level_lets_its_requests_go() {
    let both = config(&[("a", &queued(1, 0, 50)), ("b", &queued(1, 0, 50))]);
    let mut scheduler = Scheduler::new(&both, 2);
    let a = flow(&both, "a", "x");
    let running = started(scheduler.arrive(&a, 1));
    let Arrival::Queued(waiting) = scheduler.arrive(&a, 1) else { panic!("not queued") };
    let one = config(&[("b", &queued(1, 0, 50))]);
    assert_eq!(scheduler.reconfigure(&one), [waiting.id]);
    scheduler.finish(&running, TIME);
    scheduler.finish(&waiting, TIME);
    assert_eq!(scheduler.used(), 0);
    started(scheduler.arrive(&flow(&one, "b", "x"), 1));
    scheduler.reconfigure(&both);
    started(scheduler.arrive(&flow(&both, "a", "x"), 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes and goes, each request starts once or is refused, and no more seats are used than there are.
    #[test]
    fn nothing_is_lost(steps in prop::collection::vec((0_u8..6, 0_u8..5, 1_u32..4), 1..400), total in 4_u32..30) {
        let configs = [
            config(&[("a", &queued(3, 50, 5)), ("b", &queued(1, 0, 5))]),
            config(&[("a", &queued(1, 20, 2)), ("b", r#"{"nominalConcurrencyShares":2,"limitResponse":{"type":"Reject"}}"#)]),
        ];
        let mut current = &configs[0];
        let mut scheduler = Scheduler::new(current, total);
        let (mut running, mut waiting) = (BTreeMap::new(), BTreeMap::new());
        let mut seen = BTreeSet::new();
        for (kind, user, seats) in steps {
            let ids = match kind {
                0..=2 => {
                    let group = if kind == 0 { "a" } else { "b" };
                    match scheduler.arrive(&flow(current, group, &user.to_string()), seats) {
                        Arrival::Started(ticket) => {
                            prop_assert!(seen.insert(ticket.id));
                            running.insert(ticket.id, ticket);
                        }
                        Arrival::Queued(ticket) => drop(waiting.insert(ticket.id, ticket)),
                        Arrival::Rejected(_) => {}
                    }
                    Vec::new()
                }
                3 => match running.pop_first() {
                    Some((_, ticket)) => scheduler.finish(&ticket, Duration::from_millis(u64::from(user))),
                    None => Vec::new(),
                },
                4 => {
                    if let Some((id, ticket)) = waiting.pop_last() {
                        prop_assert!(scheduler.abandon(&ticket), "{id} was neither started nor waiting");
                        prop_assert!(!scheduler.abandon(&ticket));
                    }
                    Vec::new()
                }
                _ => {
                    current = &configs[usize::from(user % 2)];
                    scheduler.reconfigure(current)
                }
            };
            for id in ids {
                let ticket = waiting.remove(&id);
                prop_assert!(ticket.is_some() && seen.insert(id), "{id} started twice");
                running.extend(ticket.map(|ticket| (id, ticket)));
            }
        }
        while let Some((_, ticket)) = running.pop_first() {
            for id in scheduler.finish(&ticket, TIME) {
                running.extend(waiting.remove(&id).map(|ticket| (id, ticket)));
            }
        }
        prop_assert!(waiting.is_empty(), "{waiting:?} wait for ever");
        prop_assert_eq!(scheduler.used(), 0);
    }
}
