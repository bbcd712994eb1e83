//! The store on etcd when etcd is unavailable, loses answers, compacts history or requires authentication, and how a store
//! is imported into it.

#[path = "support/etcd.rs"]
mod etcd;

use etcd::Etcd;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tenure_store::etcd::{freeze, import, thaw};
use tenure_store::{
    Backup, Compaction, EmbeddedOptions, EmbeddedStore, Encryption, Error, EtcdOptions, EtcdStore, Expected,
    ListRequest, Revision, Signal, Store, Transaction, Watch, WatchRequest,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};

const TIMEOUT: Duration = Duration::from_secs(30);

fn options(etcd: &Etcd) -> EtcdOptions {
    EtcdOptions { endpoints: etcd.endpoints(), ..EtcdOptions::default() }
}

async fn put(store: &EtcdStore, key: &str, value: &str) -> Revision {
    let put = Transaction::new().put(key.to_owned(), Expected::Anything, value.to_owned());
    store.commit(put).await.unwrap().revision
}

async fn next_revision(watch: &mut Watch) -> Result<Revision, Error> {
    loop {
        if let Signal::Changes(changes) = timeout(TIMEOUT, watch.next()).await.expect("a change in time")? {
            return Ok(changes.revision());
        }
    }
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !holds().await {
        assert!(start.elapsed() < TIMEOUT, "{what}");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_etcd_requests_time_out_and_the_mirror_is_served() {
    let etcd = Etcd::start();
    let timeout = Duration::from_secs(2);
    let store = EtcdStore::open(EtcdOptions { timeout, ..options(&etcd) }).await.unwrap();
    let known = put(&store, "a", "1").await;
    let mut watch = store.watch(WatchRequest::prefix("a").after(known)).await.unwrap();
    store.health().await.unwrap();

    etcd.signal(0, "STOP");
    let start = Instant::now();
    let read = store.get(b"a").await;
    assert!(matches!(read, Err(Error::Unavailable { .. })), "{read:?}");
    let written = store.commit(Transaction::new().put("a", Expected::Anything, "2")).await;
    assert!(matches!(written, Err(Error::Unknown { .. } | Error::NotDurable { .. })), "{written:?}");
    assert!(start.elapsed() < 3 * timeout, "{:?}", start.elapsed());
    until("health turns red", async || store.health().await.is_err()).await;
    assert_eq!(store.peek(b"a").unwrap().unwrap().value, "1");
    assert_eq!(store.list(ListRequest::default().at(store.known())).await.unwrap().entries.len(), 1);
    assert!(store.watch(WatchRequest::prefix("a").after(known)).await.is_ok());

    etcd.signal(0, "CONT");
    until("health turns green", async || store.health().await.is_ok()).await;
    let later = put(&store, "a", "3").await;
    let mut seen = next_revision(&mut watch).await.unwrap();
    // The write with the unknown outcome may have been applied before this one.
    if seen != later {
        seen = next_revision(&mut watch).await.unwrap();
    }
    assert_eq!(seen, later, "the watch was not dropped");
}

/// What a proxy does with connections.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Mode {
    Open,
    /// Nothing gets through, and no error is reported.
    Silent,
    /// Requests get through, the answers do not.
    Deaf,
    /// Connections end.
    Closed,
}

struct Proxy {
    port: u16,
    mode: Arc<AtomicU8>,
    /// One clone for each direction of a connection.
    open: Arc<()>,
}

impl Proxy {
    async fn to(target: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (mode, open) = (Arc::new(AtomicU8::new(Mode::Open as u8)), Arc::new(()));
        let (shared, count) = (mode.clone(), Arc::downgrade(&open));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if shared.load(Ordering::SeqCst) == Mode::Closed as u8 {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", target)).await else { continue };
                let ((from, to), (back, out)) = (client.into_split(), server.into_split());
                let forward = pump(from, out, shared.clone(), &[Mode::Open, Mode::Deaf]);
                let backward = pump(back, to, shared.clone(), &[Mode::Open]);
                for direction in [forward, backward] {
                    let open = count.upgrade();
                    tokio::spawn(async move { (direction.await, drop(open)) });
                }
            }
        });
        Proxy { port, mode, open }
    }

    fn set(&self, mode: Mode) {
        self.mode.store(mode as u8, Ordering::SeqCst);
    }

    /// Ends all connections, and accepts others.
    async fn reconnect(&self) {
        self.set(Mode::Closed);
        until("all connections end", async || Arc::strong_count(&self.open) == 1).await;
        self.set(Mode::Open);
    }

    fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

/// Forwards bytes while the mode allows it; otherwise drops them and closes the connection.
async fn pump(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    mode: Arc<AtomicU8>,
    passes: &'static [Mode],
) {
    let mut bytes = vec![0; 64 * 1024];
    let mut lost = false;
    loop {
        let read = timeout(Duration::from_millis(20), from.read(&mut bytes)).await;
        let mode = mode.load(Ordering::SeqCst);
        if mode == Mode::Closed as u8 {
            return;
        }
        let Ok(Ok(count @ 1..)) = read else {
            match read {
                Err(_) if lost && mode == Mode::Open as u8 => return,
                Err(_) => continue,
                Ok(_) => return,
            }
        };
        lost |= !passes.iter().any(|pass| *pass as u8 == mode);
        if !lost && to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

/// A lost answer counts neither as success nor as failure: every increment that was answered counts once, and only
/// unanswered increments may be missing from the answers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_outcome_of_writes_with_lost_answers_is_determined() {
    let etcd = Etcd::start();
    let proxy = Proxy::to(etcd.port(0)).await;
    let endpoints = vec![proxy.endpoint()];
    let store = EtcdStore::open(EtcdOptions { endpoints, ..options(&etcd) }).await.unwrap();
    let store = Arc::new(store);
    put(&store, "counter", "0").await;
    let answered = Arc::new(AtomicU64::new(0));
    let (mut tasks, start, is_over) = (Vec::new(), Instant::now(), Arc::new(AtomicBool::new(false)));
    for _ in 0..4 {
        let (store, answered, is_over) = (store.clone(), answered.clone(), is_over.clone());
        tasks.push(tokio::spawn(async move {
            while !is_over.load(Ordering::SeqCst) {
                let entry = store.peek(b"counter").unwrap().unwrap();
                let number: u64 = std::str::from_utf8(&entry.value.bytes()).unwrap().parse().unwrap();
                let next = (number + 1).to_string();
                let swap = Transaction::new().put("counter", Expected::At(entry.modified), next.clone());
                match store.commit(swap).await {
                    Ok(committed) => {
                        assert_eq!(committed.previous, [Some(entry)], "it replaced what it expected");
                        answered.fetch_add(1, Ordering::SeqCst);
                    }
                    Err(Error::Conflict(_)) => {}
                    Err(error) => panic!("{error}"),
                }
                sleep(Duration::from_millis(5)).await;
            }
        }));
    }
    for mode in [Mode::Deaf, Mode::Closed, Mode::Deaf, Mode::Silent, Mode::Closed, Mode::Deaf].iter().cycle()
    {
        // On a busy machine little happens between two faults.
        let most = Duration::from_secs(if answered.load(Ordering::SeqCst) > 20 { 8 } else { 60 });
        if start.elapsed() >= most {
            break;
        }
        sleep(Duration::from_millis(150)).await;
        proxy.set(*mode);
        sleep(Duration::from_millis(100)).await;
        proxy.set(Mode::Open);
    }
    is_over.store(true, Ordering::SeqCst);
    for task in tasks {
        task.await.expect("a writer that succeeds");
    }
    let counter = store.get(b"counter").await.unwrap().unwrap().value;
    assert_eq!(counter, answered.load(Ordering::SeqCst).to_string(), "every increment was answered once");
    assert!(answered.load(Ordering::SeqCst) > 20, "too little happened");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_missed_compacted_changes_ends_its_watches() {
    let etcd = Etcd::start();
    let proxy = Proxy::to(etcd.port(0)).await;
    let endpoints = vec![proxy.endpoint()];
    let cut = EtcdStore::open(EtcdOptions { endpoints, ..options(&etcd) }).await.unwrap();
    let other = EtcdStore::open(options(&etcd)).await.unwrap();
    let stranger =
        EtcdStore::open(EtcdOptions { prefix: "/else/".to_owned(), ..options(&etcd) }).await.unwrap();
    let known = put(&other, "a", "1").await;
    cut.get(b"a").await.unwrap();
    let mut watch = cut.watch(WatchRequest::default().after(known)).await.unwrap();

    // Only other programs write, and etcd compacts.
    proxy.set(Mode::Silent);
    let newest = put(&stranger, "b", "1").await;
    stranger.compact(Compaction::Before(newest)).await.unwrap();
    proxy.reconnect().await;
    assert_eq!(cut.get(b"a").await.unwrap().unwrap().value, "1");
    let later = put(&other, "a", "2").await;
    assert_eq!(next_revision(&mut watch).await.unwrap(), later, "nothing was missed");

    // The store changes, and etcd compacts.
    proxy.set(Mode::Silent);
    put(&other, "a", "3").await;
    let newest = put(&other, "a", "4").await;
    other.compact(Compaction::Before(newest)).await.unwrap();
    proxy.reconnect().await;
    let ended = next_revision(&mut watch).await;
    assert!(matches!(ended, Err(Error::TooOld { requested, .. }) if requested >= later), "{ended:?}");
    assert_eq!(cut.get(b"a").await.unwrap().unwrap().value, "4");
    put(&cut, "a", "5").await;
    assert_eq!(other.get(b"a").await.unwrap().unwrap().value, "5");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exactly_one_server_leads() {
    let etcd = Etcd::start();
    let mut stores = Vec::new();
    for _ in 0..3 {
        stores.push(EtcdStore::open(options(&etcd)).await.unwrap());
    }
    for _ in 0..2 {
        until("one leads", async || stores.iter().any(Store::leads)).await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(stores.iter().filter(|store| store.leads()).count(), 1);
        stores.retain(|store| !store.leads());
    }
}

/// Transactions that share one transaction of etcd: every server shows each of them alone, at the revision that its writer
/// received, and so does a server that loads everything again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transactions_in_one_batch_have_separate_revisions() {
    let etcd = Etcd::start();
    let store = Arc::new(EtcdStore::open(options(&etcd)).await.unwrap());
    let other = EtcdStore::open(options(&etcd)).await.unwrap();
    let start = put(&store, "victim/0", "").await;
    for number in 1..20 {
        put(&store, &format!("victim/{number}"), "").await;
    }
    let begin = store.revision().await.unwrap();
    let mut tasks = Vec::new();
    for number in 0..20 {
        let writes = [
            Transaction::new().put(format!("new/{number}"), Expected::Absent, "new"),
            Transaction::new().delete(format!("victim/{number}"), Expected::Present),
            // Conflicts with another of its kind, so that one of them is refused.
            Transaction::new().put(format!("contested/{}", number / 2), Expected::Absent, "mine"),
            Transaction::new().put(format!("refused/{number}"), Expected::At(start), "never"),
        ];
        tasks.extend(writes.map(|write| {
            let store = store.clone();
            tokio::spawn(async move { store.commit(write.clone()).await.map(|done| (done.revision, write)) })
        }));
    }
    let mut done = Vec::new();
    for task in tasks {
        match task.await.unwrap() {
            Ok(committed) => done.push(committed),
            Err(error) => assert!(error.conflict().is_some(), "{error}"),
        }
    }
    done.sort_by_key(|(revision, _)| *revision);
    assert_eq!(done.len(), 50, "twenty new, twenty gone, ten of twenty contested");
    let distinct: std::collections::BTreeSet<u64> =
        done.iter().map(|(revision, _)| revision.get() / 128).collect();
    assert!(distinct.len() < 40, "{} transactions of etcd: nothing was shared", distinct.len());

    let mut watch = other.watch(WatchRequest::default().after(begin)).await.unwrap();
    for (revision, write) in &done {
        let Signal::Changes(changes) = timeout(TIMEOUT, watch.next()).await.unwrap().unwrap() else {
            panic!("no change for {write:?}");
        };
        let keys: Vec<_> = changes.iter().map(|change| change.key.clone()).collect();
        assert_eq!((changes.revision(), keys), (*revision, vec![write.operations()[0].key.clone()]));
    }
    let expected = store.list(ListRequest::default()).await.unwrap();
    let limits = tenure_store::HistoryLimits { count: 0, ..Default::default() };
    let late = EtcdStore::open(EtcdOptions { limits, ..options(&etcd) }).await.unwrap();
    for reader in [&other, &late] {
        assert_eq!(reader.list(ListRequest::default()).await.unwrap(), expected);
    }
}

fn entries(listing: &[tenure_store::Entry]) -> Vec<(bytes::Bytes, bytes::Bytes)> {
    listing.iter().map(|entry| (entry.key.clone(), entry.value.bytes())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_whole_store_moves_to_etcd_and_back_and_revisions_only_grow() {
    let (etcd, directory) = (Etcd::start(), TempDir::new().unwrap());
    let path = |name: &str| directory.path().join(name);
    let embedded = EmbeddedStore::open(path("old"), EmbeddedOptions::default()).unwrap();
    for number in 0..1234 {
        let value = number.to_string().repeat(number % 50);
        let put = Transaction::new().put(format!("key/{number}"), Expected::Absent, value);
        embedded.commit(put).await.unwrap();
    }
    embedded.freeze().await;
    let refused = embedded.commit(Transaction::new().put("late", Expected::Anything, "")).await;
    assert!(matches!(refused, Err(Error::NotDurable { .. })), "{refused:?}");
    assert!(embedded.health().await.is_err());
    let last = embedded.backup(path("up")).unwrap();
    let moved = embedded.list(ListRequest::default()).await.unwrap();

    let backup = Backup::open(path("up"), &Encryption::default()).unwrap();
    let mut progress_seen = Vec::new();
    let revision =
        import(&options(&etcd), &backup, |progress| progress_seen.push(progress.entries)).await.unwrap();
    assert!(
        revision > last && progress_seen.is_sorted() && progress_seen.last() == Some(&1234),
        "{revision} {progress_seen:?}"
    );
    let again = import(&options(&etcd), &backup, |_| {}).await;
    assert!(matches!(again, Err(Error::Invalid(_))), "only under an empty prefix: {again:?}");

    let store = EtcdStore::open(options(&etcd)).await.unwrap();
    let listing = store.list(ListRequest::default()).await.unwrap();
    assert_eq!(entries(&listing.entries), entries(&moved.entries));
    assert!(
        listing.entries.iter().all(|entry| entry.modified > last),
        "above all revisions that were ever seen"
    );
    let old = store.watch(WatchRequest::default().after(last)).await;
    assert!(matches!(old, Err(Error::TooOld { .. })), "{:?}", old.err());
    let key = &listing.entries[0];
    let swap = Transaction::new().put(key.key.clone(), Expected::At(key.modified), "new");
    let newest = store.commit(swap).await.unwrap().revision;

    freeze(&options(&etcd)).await.unwrap();
    let refused = store.commit(Transaction::new().put("late", Expected::Anything, "")).await;
    assert!(matches!(refused, Err(Error::NotDurable { .. })), "{refused:?}");
    until("health reports it", async || store.health().await.is_err()).await;
    let listing = store.list(ListRequest::default()).await.unwrap();
    Backup::of(&store).await.unwrap().write(path("down"), &Encryption::default()).unwrap();
    let restored = EmbeddedStore::restore(path("down"), path("new"), &EmbeddedOptions::default()).unwrap();
    assert!(restored > newest);
    let embedded = EmbeddedStore::open(path("new"), EmbeddedOptions::default()).unwrap();
    assert_eq!(embedded.list(ListRequest::default()).await.unwrap().entries, listing.entries);
    thaw(&options(&etcd)).await.unwrap();
    until("writes succeed again", async || store.health().await.is_ok()).await;
    put(&store, "late", "").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_import_is_not_opened_as_a_store() {
    let (etcd, directory) = (Etcd::start(), TempDir::new().unwrap());
    let embedded = EmbeddedStore::open(directory.path().join("old"), EmbeddedOptions::default()).unwrap();
    for number in 0..500 {
        let put = Transaction::new().put(format!("key/{number}"), Expected::Absent, "x");
        embedded.commit(put).await.unwrap();
    }
    embedded.backup(directory.path().join("backup")).unwrap();
    let backup = Backup::open(directory.path().join("backup"), &Encryption::default()).unwrap();
    let options = options(&etcd);
    let (to, all) = (options.clone(), backup.clone());
    let interrupted = tokio::spawn(async move {
        import(&to, &all, |progress| assert!(progress.entries < 300, "interrupted")).await
    });
    assert!(interrupted.await.is_err());
    let opened = EtcdStore::open(options.clone()).await;
    assert!(matches!(&opened, Err(Error::Invalid(reason)) if reason.contains("import")), "{opened:?}");
    import(&options, &backup, |_| {}).await.unwrap();
    let store = EtcdStore::open(options).await.unwrap();
    assert_eq!(store.list(ListRequest::default()).await.unwrap().entries.len(), 500);
}

/// An etcd that was restored from a snapshot has lost later writes and would assign their revisions again. Running servers
/// notice; the documented recovery gives revisions above all that any client has seen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_snapshot_is_noticed_and_no_revision_is_assigned_twice() {
    let (mut etcd, directory) = (Etcd::start(), TempDir::new().unwrap());
    let store = EtcdStore::open(options(&etcd)).await.unwrap();
    put(&store, "kept", "1").await;
    etcd.save_snapshot(&directory.path().join("snapshot"));
    let mut seen = put(&store, "lost", "1").await;
    for number in 0..20 {
        seen = put(&store, "lost", &number.to_string()).await;
    }
    etcd.restore_snapshot(&directory.path().join("snapshot"));
    until("the running server notices", async || {
        matches!(store.health().await, Err(Error::Unavailable { reason }) if reason.contains("restored"))
    })
    .await;
    assert!(store.get(b"kept").await.is_err(), "the current state is unknown");
    drop(store);

    // Export with the servers stopped, and import under a new prefix.
    let restored = EtcdStore::open(options(&etcd)).await.unwrap();
    let listing = restored.list(ListRequest::default()).await.unwrap();
    assert_eq!(listing.entries.iter().map(|entry| &entry.key[..]).collect::<Vec<_>>(), [b"kept"]);
    assert!(listing.revision < seen, "without the import revisions would be assigned again");
    let file = directory.path().join("backup");
    Backup::of(&restored).await.unwrap().write(&file, &Encryption::default()).unwrap();
    drop(restored);
    let imported = EtcdOptions { prefix: "/imported/".to_owned(), ..options(&etcd) };
    import(&imported, &Backup::open(&file, &Encryption::default()).unwrap(), |_| {}).await.unwrap();
    let store = EtcdStore::open(imported).await.unwrap();
    assert!(store.get(b"kept").await.unwrap().unwrap().modified > seen);
    assert!(put(&store, "new", "1").await > seen);
    let watch = store.watch(WatchRequest::default().after(seen)).await;
    assert!(matches!(watch, Err(Error::TooOld { .. })), "{:?}", watch.err());
}

/// Makes certificates for etcd and its clients, as files in a directory.
fn certificates(directory: &Path) {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    let write = |name: &str, text: String| std::fs::write(directory.join(name), text).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    write("ca.pem", authority.self_signed(&key).unwrap().pem());
    let issuer = Issuer::new(authority, key);
    for name in ["server", "client"] {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
        write(&format!("{name}.pem"), params.signed_by(&key, &issuer).unwrap().pem());
        write(&format!("{name}-key.pem"), key.serialize_pem());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_users_and_passwords_are_sent_to_etcd() {
    let etcd = Etcd::secure(|directory| {
        certificates(directory);
        let file = |name: &str| directory.join(name).to_string_lossy().into_owned();
        let flags = ["--cert-file", "--key-file", "--trusted-ca-file"];
        let files = ["server.pem", "server-key.pem", "ca.pem"].map(file);
        let pairs = flags.iter().zip(files).flat_map(|(flag, file)| [(*flag).to_owned(), file]);
        pairs.chain(["--client-cert-auth".to_owned()]).collect()
    });
    let file = |name: &str| etcd.path().join(name);
    let identity = Some((file("client.pem"), file("client-key.pem")));
    let secured = EtcdOptions {
        authority: Some(file("ca.pem")),
        identity,
        timeout: Duration::from_secs(20),
        ..options(&etcd)
    };
    let store = EtcdStore::open(secured.clone()).await.unwrap();
    put(&store, "a", "1").await;
    drop(store);
    let short = Duration::from_secs(2);
    let nameless = EtcdOptions { identity: None, timeout: short, ..secured.clone() };
    assert!(EtcdStore::open(nameless).await.is_err(), "without a client certificate");
    let missing = EtcdStore::open(EtcdOptions { authority: None, ..secured.clone() }).await;
    assert!(matches!(missing, Err(Error::Invalid(_))), "{missing:?}");

    let control = |arguments: &[&str]| {
        let done = Command::new("etcdctl")
            .env("ETCDCTL_API", "3")
            .arg(format!("--endpoints={}", etcd.endpoints()[0]))
            .arg(format!("--cacert={}", file("ca.pem").display()))
            .arg(format!("--cert={}", file("client.pem").display()))
            .arg(format!("--key={}", file("client-key.pem").display()))
            .args(arguments)
            .output()
            .expect("etcdctl is installed (Debian's package is etcd-client)");
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    control(&["user", "add", "root:secret"]);
    control(&["user", "grant-role", "root", "root"]);
    control(&["user", "add", "tenure:word"]);
    control(&["role", "add", "tenure"]);
    control(&["role", "grant-permission", "tenure", "readwrite", "/tenure/", "--prefix=true"]);
    control(&["user", "grant-role", "tenure", "tenure"]);
    control(&["auth", "enable"]);
    let user = |name: &str, password: &str| {
        let user = Some((name.to_owned(), password.to_owned()));
        EtcdOptions { user, timeout: short, ..secured.clone() }
    };
    let store = EtcdStore::open(EtcdOptions { timeout: TIMEOUT, ..user("tenure", "word") }).await.unwrap();
    put(&store, "a", "2").await;
    assert_eq!(store.get(b"a").await.unwrap().unwrap().value, "2");
    let compacted = store.compact(Compaction::KeepCount(0)).await;
    assert!(matches!(compacted, Ok(_) | Err(Error::NotDurable { .. })), "{compacted:?}");
    assert!(EtcdStore::open(user("tenure", "wrong")).await.is_err(), "with a wrong password");
    let elsewhere = EtcdOptions { prefix: "/else/".to_owned(), ..user("tenure", "word") };
    assert!(EtcdStore::open(elsewhere).await.is_err(), "under a prefix that the user may not access");
}
