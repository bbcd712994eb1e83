//! Random operations, compactions and reopenings against a model that keeps every state in full: thousands of steps
//! in which every store must answer exactly as the model does. A store that shares its counter skips revisions; the
//! content does not change at these.

#[path = "support/etcd.rs"]
mod etcd;

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tenure_store::{
    Compaction, EmbeddedOptions, EmbeddedStore, Entry, Error, EtcdOptions, EtcdStore, Expected,
    HistoryLimits, LedgerRequest, ListRequest, MemoryStore, Revision, Signal, Snapshot, Store, Transaction,
    Watch, WatchRequest,
};

const KEYS: [&str; 10] = ["a", "a/1", "a/2", "a/2/x/1", "a/2/x/2", "a0", "b", "b/1", "b/\u{ff}", "c"];
const PREFIXES: [&str; 6] = ["", "a", "a/", "a/2", "b/", "nothing"];

/// One step. Numbers are reduced to what is possible when the step is taken.
#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<(usize, Guess, Option<usize>)>),
    Get(usize),
    List { prefix: usize, from: usize, limit: Option<usize>, back: Option<u64> },
    Watch { prefix: usize, back: u64 },
    Drain,
    Compact { back: u64, by_count: bool },
    Pack,
    Reopen,
    Remember,
    Return,
}

/// What a transaction expects: the current state, or something that may be wrong.
#[derive(Clone, Copy, Debug)]
enum Guess {
    Anything,
    Absent,
    Present,
    Truth,
    Stale(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let guess = prop_oneof![
        4 => Just(Guess::Anything),
        1 => Just(Guess::Absent),
        1 => Just(Guess::Present),
        6 => Just(Guess::Truth),
        1 => (1u64..4).prop_map(Guess::Stale),
    ];
    let size = prop_oneof![20 => 0usize..64, 4 => 1_000usize..6_000, 1 => 20_000usize..70_000];
    let operation = (0..KEYS.len(), guess, proptest::option::weighted(0.75, size));
    let list = (
        0..PREFIXES.len(),
        0..KEYS.len() * 2,
        proptest::option::of(0usize..5),
        proptest::option::of(0u64..12),
    );
    vec(
        prop_oneof![
            20 => vec(operation, 1..4).prop_map(Step::Commit),
            2 => (0..KEYS.len()).prop_map(Step::Get),
            6 => list.prop_map(|(prefix, from, limit, back)| Step::List { prefix, from, limit, back }),
            2 => (0..PREFIXES.len(), 0u64..20).prop_map(|(prefix, back)| Step::Watch { prefix, back }),
            4 => Just(Step::Drain),
            1 => (0u64..10, any::<bool>()).prop_map(|(back, by_count)| Step::Compact { back, by_count }),
            2 => Just(Step::Pack),
            1 => Just(Step::Reopen),
            1 => Just(Step::Remember),
            1 => Just(Step::Return),
        ],
        200..400,
    )
}

type Contents = BTreeMap<Bytes, Entry>;

/// Every state since the beginning, and how far history has been forgotten.
#[derive(Clone, Default)]
struct Model {
    states: Vec<Contents>,
    compacted: u64,
    /// The ledger records, oldest first.
    log: Vec<(u64, Bytes, Bytes)>,
}

impl Model {
    fn newest(&self) -> u64 {
        self.states.len() as u64 - 1
    }

    fn at(&self, revision: u64) -> &Contents {
        &self.states[revision as usize]
    }

    /// Skips to a revision without a change.
    fn pass(&mut self, revision: u64) {
        while self.newest() < revision {
            self.states.push(self.now().clone());
        }
    }

    fn now(&self) -> &Contents {
        self.at(self.newest())
    }

    /// The first revision whose state is that of the oldest readable one: a store that shares its counter may treat the
    /// revisions from there on as readable, since nothing changed in between.
    fn first_like_compacted(&self) -> u64 {
        let oldest = self.at(self.compacted);
        let same = self.states[..self.compacted as usize].iter().rev().take_while(|state| *state == oldest);
        self.compacted - same.count() as u64
    }

    /// Applies a transaction, or returns the first key that is not as expected.
    fn commit(&mut self, transaction: &Transaction) -> Result<u64, Bytes> {
        let revision = Revision::from_number(self.newest() + 1);
        let mut next = self.now().clone();
        for operation in transaction.operations() {
            let current = self.now().get(&operation.key);
            if !operation.expected.holds(current) {
                return Err(operation.key.clone());
            }
            let key = operation.key.clone();
            match &operation.action {
                tenure_store::Action::Put(value) => {
                    let created = current.map_or(revision, |entry| entry.created);
                    let entry =
                        Entry { key: key.clone(), value: value.clone().into(), created, modified: revision };
                    next.insert(key, entry);
                }
                tenure_store::Action::Delete => {
                    next.remove(&key);
                }
                tenure_store::Action::Check => {}
            }
        }
        if &next != self.now() {
            self.states.push(next);
        }
        Ok(self.newest())
    }

    /// The changes that one transaction made under a prefix: key, before, after.
    fn changes(&self, revision: u64, prefix: &[u8]) -> Vec<(Bytes, Option<Entry>, Option<Entry>)> {
        let (before, after) = (self.at(revision - 1), self.at(revision));
        let mut keys: Vec<&Bytes> = before.keys().chain(after.keys()).collect();
        keys.sort();
        keys.dedup();
        keys.into_iter()
            .filter(|key| key.starts_with(prefix) && before.get(*key) != after.get(*key))
            .map(|key| (key.clone(), before.get(key).cloned(), after.get(key).cloned()))
            .collect()
    }
}

/// The store under test, with the operations that only one kind has.
enum Subject {
    Memory(MemoryStore),
    Embedded(Option<EmbeddedStore>, PathBuf),
    Etcd(Option<EtcdStore>, etcd::Etcd),
}

impl Subject {
    fn store(&self) -> &dyn Store {
        match self {
            Subject::Memory(store) => store,
            Subject::Embedded(store, _) => store.as_ref().unwrap(),
            Subject::Etcd(store, _) => store.as_ref().unwrap(),
        }
    }

    /// Tells whether other programs raise the revision too.
    fn shares_its_counter(&self) -> bool {
        matches!(self, Subject::Etcd(..))
    }

    /// Closes and reopens the store; a memory store is forked instead, which must be unnoticeable.
    async fn reopen(&mut self) {
        match self {
            Subject::Memory(store) => *store = store.fork(),
            Subject::Embedded(store, path) => {
                drop(store.take());
                *store = Some(open(path));
            }
            Subject::Etcd(store, etcd) => {
                drop(store.take());
                *store = Some(open_on(etcd).await);
            }
        }
    }
}

fn open(path: &PathBuf) -> EmbeddedStore {
    let options = EmbeddedOptions {
        limits: HistoryLimits::unlimited(),
        journal_file: 2 * 1024,
        ..EmbeddedOptions::default()
    };
    EmbeddedStore::open(path, options).unwrap()
}

async fn open_on(etcd: &etcd::Etcd) -> EtcdStore {
    let limits = HistoryLimits::unlimited();
    let options = EtcdOptions { endpoints: etcd.endpoints(), limits, ..EtcdOptions::default() };
    EtcdStore::open(options).await.unwrap()
}

struct Watched {
    watch: Watch,
    prefix: Bytes,
    seen: u64,
}

struct Run {
    subject: Subject,
    model: Model,
    watches: Vec<Watched>,
    remembered: Option<(Snapshot, Model)>,
    value: u64,
}

impl Run {
    fn new(subject: Subject) -> Run {
        let mut model = Model { states: vec![Contents::new()], compacted: 0, log: Vec::new() };
        if subject.shares_its_counter() {
            // etcd starts with a revision of its own, which is known once the store is open.
            model.pass(1);
        }
        Run { subject, model, watches: Vec::new(), remembered: None, value: 0 }
    }

    async fn take(&mut self, step: &Step) {
        match step {
            Step::Commit(operations) => self.commit(operations).await,
            Step::Get(key) => {
                let entry = self.subject.store().get(KEYS[*key].as_bytes()).await.unwrap();
                assert_eq!(entry.as_ref(), self.model.now().get(KEYS[*key].as_bytes()));
            }
            Step::List { prefix, from, limit, back } => self.list(*prefix, *from, *limit, *back).await,
            Step::Watch { prefix, back } => self.watch(*prefix, *back).await,
            Step::Drain => self.drain().await,
            Step::Compact { back, by_count } => self.compact(*back, *by_count).await,
            Step::Pack => while self.subject.store().pack() {},
            Step::Reopen => {
                self.drain().await;
                self.watches.clear();
                self.subject.reopen().await;
                self.check_ledger().await;
            }
            Step::Remember => {
                if let Subject::Memory(store) = &self.subject {
                    self.remembered = Some((store.snapshot(), self.model.clone()));
                }
            }
            Step::Return => self.go_back().await,
        }
        self.catch_up(self.subject.store().revision().await.unwrap());
    }

    /// Advances the model to the store's revision: its newest, or a later one that other programs caused.
    fn catch_up(&mut self, revision: Revision) {
        if self.subject.shares_its_counter() {
            self.model.pass(revision.get());
        }
        assert_eq!(revision.get(), self.model.newest());
    }

    async fn commit(&mut self, operations: &[(usize, Guess, Option<usize>)]) {
        let mut transaction = Transaction::new();
        let mut used = Vec::new();
        for (key, guess, size) in operations {
            if used.contains(key) {
                continue;
            }
            used.push(*key);
            let key = KEYS[*key];
            let truth = self.model.now().get(key.as_bytes()).map(|entry| entry.modified);
            let expected = match guess {
                Guess::Anything => Expected::Anything,
                Guess::Absent => Expected::Absent,
                Guess::Present => Expected::Present,
                Guess::Truth => truth.map_or(Expected::Absent, Expected::At),
                Guess::Stale(by) => {
                    Expected::At(Revision::from_number(self.model.newest().saturating_sub(*by)))
                }
            };
            transaction = match size {
                Some(size) => {
                    self.value += 1;
                    let mut value = self.value.to_string().into_bytes();
                    value.resize(value.len() + size, b'.');
                    transaction.put(key, expected, value)
                }
                None => transaction.delete(key, expected),
            };
        }
        if let Some(first) = used.first() {
            transaction = transaction.record(KEYS[*first], self.value.to_string());
        }
        let before = self.model.now().clone();
        let outcome = self.subject.store().commit(transaction.clone()).await;
        if let (Ok(committed), true) = (&outcome, self.subject.shares_its_counter()) {
            self.model.pass(committed.revision.get() - 1);
        }
        let expected = self.model.commit(&transaction);
        match (outcome, expected) {
            (Ok(committed), Ok(_)) => {
                self.catch_up(committed.revision);
                let previous: Vec<_> =
                    transaction.operations().iter().map(|one| before.get(&one.key).cloned()).collect();
                assert_eq!(committed.previous, previous);
                if before != *self.model.now() {
                    let record = transaction.records().iter();
                    let revision = committed.revision.get();
                    self.model
                        .log
                        .extend(record.map(|(key, record)| (revision, key.clone(), record.clone())));
                }
            }
            (Err(Error::Conflict(conflict)), Err(key)) => {
                assert_eq!((&conflict.key, conflict.current.as_ref()), (&key, before.get(&key)));
            }
            (store, model) => panic!("store: {store:?}, model: {model:?}"),
        }
    }

    async fn list(&mut self, prefix: usize, from: usize, limit: Option<usize>, back: Option<u64>) {
        let prefix = PREFIXES[prefix];
        let from = KEYS.get(from).copied().unwrap_or_default();
        let at = back.map(|back| self.model.newest().saturating_sub(back));
        let mut request = ListRequest::prefix(prefix).from(from);
        request.limit = limit;
        request.at = at.map(Revision::from_number);
        let listed = self.subject.store().list(request).await;
        if let (Ok(listed), None) = (&listed, at) {
            self.catch_up(listed.revision);
        }
        let at = at.unwrap_or(self.model.newest());
        if at < self.model.compacted && !(self.may_be_readable(at) && listed.is_ok()) {
            let oldest = self.oldest();
            assert!(
                matches!(listed, Err(Error::TooOld { oldest: reported, .. }) if oldest.contains(&reported.get())),
                "{listed:?}"
            );
            return;
        }
        let listed = listed.unwrap();
        let all: Vec<&Entry> = self
            .model
            .at(at)
            .values()
            .filter(|entry| entry.key.starts_with(prefix.as_bytes()) && &entry.key[..] >= from.as_bytes())
            .collect();
        let split = limit.unwrap_or(all.len()).min(all.len());
        assert_eq!(listed.entries.iter().collect::<Vec<_>>(), all[..split]);
        assert_eq!((listed.revision.get(), listed.remaining), (at, all.len() - split));
        assert_eq!(listed.next.as_ref(), all.get(split).map(|entry| &entry.key));
    }

    async fn watch(&mut self, prefix: usize, back: u64) {
        let prefix = Bytes::from_static(PREFIXES[prefix].as_bytes());
        let after = self.model.newest().saturating_sub(back);
        let request = WatchRequest::prefix(prefix.clone()).after(Revision::from_number(after));
        match self.subject.store().watch(request).await {
            Ok(watch) => {
                let kept = after >= self.model.compacted || self.may_be_readable(after);
                assert!(kept, "a compacted revision was accepted");
                self.watches.push(Watched { watch, prefix, seen: after });
            }
            Err(Error::TooOld { .. }) => assert!(after < self.model.compacted),
            Err(error) => panic!("{error}"),
        }
    }

    /// Reads everything that each watch delivers: exactly the changes of the model, or the error that it was overtaken.
    async fn drain(&mut self) {
        let mut watches = std::mem::take(&mut self.watches);
        for mut watched in watches.drain(..) {
            if self.drain_one(&mut watched).await {
                self.watches.push(watched);
            }
        }
    }

    async fn drain_one(&self, watched: &mut Watched) -> bool {
        for revision in watched.seen + 1..=self.model.newest() {
            let expected = self.model.changes(revision, &watched.prefix);
            if expected.is_empty() {
                continue;
            }
            match watched.watch.next().await {
                Ok(Signal::Changes(changes)) => {
                    assert_eq!(changes.revision().get(), revision);
                    let got: Vec<_> = changes
                        .iter()
                        .map(|one| (one.key.clone(), one.previous.clone(), one.current.clone()))
                        .collect();
                    assert_eq!(got, expected);
                }
                Err(Error::TooOld { .. }) => {
                    assert!(watched.seen < self.model.compacted, "overtaken without a compaction");
                    return false;
                }
                other => panic!("{other:?}"),
            }
            watched.seen = revision;
        }
        let more = tokio::time::timeout(std::time::Duration::ZERO, watched.watch.next()).await;
        if matches!(more, Ok(Err(Error::TooOld { .. }))) {
            // No change was missed, but the watch had not read yet and cannot know this any more.
            assert!(watched.seen < self.model.compacted, "overtaken without a compaction");
            return false;
        }
        assert!(more.is_err(), "more changes than were made: {more:?}");
        let progress = watched.watch.progress().get();
        assert!(progress == self.model.newest() || self.subject.shares_its_counter());
        watched.seen = self.model.newest();
        true
    }

    async fn compact(&mut self, back: u64, by_count: bool) {
        let target = self.model.newest().saturating_sub(back);
        // The count is of transactions; a shared counter also counts those of other programs.
        let compaction = match by_count && !self.subject.shares_its_counter() {
            true => Compaction::KeepCount(back),
            false => Compaction::Before(Revision::from_number(target)),
        };
        self.model.compacted = self.model.compacted.max(target);
        let oldest = self.subject.store().compact(compaction).await.unwrap();
        assert!(self.oldest().contains(&oldest.get()), "{oldest}");
    }

    /// Which revisions may be the oldest readable one.
    fn oldest(&self) -> std::ops::RangeInclusive<u64> {
        let compacted = self.model.compacted;
        let first =
            if self.subject.shares_its_counter() { self.model.first_like_compacted() } else { compacted };
        first..=compacted
    }

    /// Whether a revision may still be readable although it is before the oldest one that must be.
    fn may_be_readable(&self, revision: u64) -> bool {
        self.oldest().contains(&revision)
    }

    async fn check_ledger(&self) {
        let page = self.subject.store().ledger(LedgerRequest::prefix("", usize::MAX)).await.unwrap();
        let read = page.records.into_iter().rev();
        let read: Vec<_> = read.map(|record| (record.revision.get(), record.key, record.record)).collect();
        assert_eq!(read, self.model.log);
    }

    async fn go_back(&mut self) {
        let (Subject::Memory(store), Some((snapshot, model))) = (&self.subject, &self.remembered) else {
            return;
        };
        store.restore(snapshot);
        self.model = model.clone();
        for mut watched in self.watches.drain(..) {
            assert!(matches!(watched.watch.next().await, Err(Error::Closed)));
        }
    }
}

fn run(subject: Subject, steps: &[Step]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut run = Run::new(subject);
        if run.subject.shares_its_counter() {
            run.take(&Step::Reopen).await;
            run.model.compacted = run.model.newest();
        }
        for step in steps {
            run.take(step).await;
        }
        run.drain().await;
        run.take(&Step::Reopen).await;
        run.take(&Step::List { prefix: 0, from: KEYS.len(), limit: None, back: None }).await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_memory_store_behaves_as_the_model(steps in steps()) {
        run(Subject::Memory(MemoryStore::with_limits(HistoryLimits::unlimited())), &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 14, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_embedded_store_behaves_as_the_model(steps in steps()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        run(Subject::Embedded(Some(open(&path)), path), &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5, max_shrink_iters: 50, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_on_etcd_behaves_as_the_model(steps in steps()) {
        run(Subject::Etcd(None, etcd::Etcd::start()), &steps);
    }
}
