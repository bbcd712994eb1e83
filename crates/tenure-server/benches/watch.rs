//! What watching and listing cost a server that is a process of its own (this program, started once more): its memory
//! and its processor time, from `/proc`, while clients here hold thousands of connections over plain HTTP. Bounded: ends by
//! itself within a minute or two. `cargo bench -p tenure-server --bench watch -- [deliver|sustain|list]` runs one part.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use tenure_server::{
    Access,
    api::Api,
    listen::{self, bind},
};
use tenure_store::{EmbeddedOptions, EmbeddedStore};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream as Connection,
    runtime::{Builder, Runtime},
};

/// The allocator of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
/// Ticks of processor time per second, as Linux tells them to programs.
const TICKS: f64 = 100.0;

struct Server {
    child: Child,
    address: String,
    _directory: tempfile::TempDir,
}

impl Server {
    fn start() -> Server {
        let directory = tempfile::tempdir().expect("a directory");
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .arg("serve")
            .arg(directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let first = lines.next().and_then(Result::ok).expect("a greeting");
        Server { child, address: first, _directory: directory }
    }

    /// Returns the processor time used so far, in seconds: in the program, and in the kernel for it.
    fn time(&self) -> (f64, f64) {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("its state");
        let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
        let ticks = |at: usize| fields[at].parse::<f64>().expect("ticks") / TICKS;
        (ticks(11), ticks(12))
    }

    /// Returns the resident memory in kilobytes.
    fn memory(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("its state");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("memory");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(&self.address).expect("the server listens");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("answered");
        assert!(
            answer.starts_with(b"HTTP/1.1 2"),
            "{}",
            String::from_utf8_lossy(&answer[..answer.len().min(500)])
        );
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Watchers on connections of their own, which count the events they are told.
struct Watchers {
    runtime: Runtime,
    events: Arc<AtomicU64>,
    opened: Arc<AtomicU64>,
}

impl Watchers {
    fn open(server: &Server, count: usize) -> Watchers {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let watchers = Watchers { runtime, events: Arc::default(), opened: Arc::default() };
        for opening in 0..count {
            let (address, events, opened) =
                (server.address.clone(), watchers.events.clone(), watchers.opened.clone());
            watchers.runtime.spawn(async move {
                let mut stream = Connection::connect(address).await.expect("the server listens");
                let ask = format!(
                    "GET {MAPS}?watch=1&resourceVersion=1&timeoutSeconds=600 HTTP/1.1\r\nHost: x\r\n\r\n"
                );
                stream.write_all(ask.as_bytes()).await.expect("asked");
                let mut piece = [0; 2048];
                let count = stream.read(&mut piece).await.expect("an answer");
                assert!(piece[..count].starts_with(b"HTTP/1.1 200"));
                // Every event is one line, and the first may have come with the head.
                let lines = |of: &[u8]| of.windows(2).filter(|two| two == b"}\n").count() as u64;
                events.fetch_add(lines(&piece[..count]), Relaxed);
                opened.fetch_add(1, Relaxed);
                let mut piece = vec![0; 16 * 1024];
                while let Ok(count) = stream.read(&mut piece).await
                    && count > 0
                {
                    events.fetch_add(lines(&piece[..count]), Relaxed);
                }
            });
            // Not all at once: the queue of a listener is short.
            if opening.is_multiple_of(64) {
                watchers.drive(Duration::from_millis(1));
            }
        }
        watchers.drive_until(Duration::from_secs(60), |of| of.opened.load(Relaxed) == count as u64);
        watchers
    }

    fn drive(&self, time: Duration) {
        self.runtime.block_on(async { tokio::time::sleep(time).await });
    }

    fn drive_until(&self, at_most: Duration, is_so: impl Fn(&Watchers) -> bool) {
        let start = Instant::now();
        while !is_so(self) {
            assert!(
                start.elapsed() < at_most,
                "{} opened, {} events",
                self.opened.load(Relaxed),
                self.events.load(Relaxed)
            );
            self.drive(Duration::from_millis(5));
        }
    }
}

fn map(name: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","labels":{{"app":"bench"}}}},"data":{{"key":"value"}}}}"#)
}

/// Memory of a watcher that has nothing to do, and the cost of telling all of them one change.
fn idle_and_deliver(count: usize) {
    let server = Server::start();
    server.send("POST", MAPS, "", &map("first"));
    let before = server.memory();
    let watchers = Watchers::open(&server, count);
    watchers.drive_until(Duration::from_secs(60), |of| of.events.load(Relaxed) >= count as u64);
    thread::sleep(Duration::from_millis(500));
    let each = (server.memory() - before) / count as f64;
    println!("{count} idle watchers: {each:.1} KB each");
    let rounds = 20;
    let (told, time, start) = (watchers.events.load(Relaxed), server.time(), Instant::now());
    let mut slowest = Duration::ZERO;
    for round in 0..rounds {
        let began = Instant::now();
        server.send("POST", MAPS, "", &map(&format!("m{round}")));
        let due = told + (round + 1) * count as u64;
        watchers.drive_until(Duration::from_secs(60), |of| of.events.load(Relaxed) >= due);
        slowest = slowest.max(began.elapsed());
    }
    let events = (watchers.events.load(Relaxed) - told) as f64;
    let (user, system) = server.time();
    println!(
        "one change to {count} watchers: {:.1} µs of the server's processor per event ({:.1} program, {:.1} kernel), {:.0} ms until the last has it (at most {} ms)",
        (user + system - time.0 - time.1) * 1e6 / events,
        (user - time.0) * 1e6 / events,
        (system - time.1) * 1e6 / events,
        start.elapsed().as_millis() as f64 / rounds as f64,
        slowest.as_millis(),
    );
    println!(
        "resident afterwards: {:.0} MB, {:.1} KB per watcher",
        server.memory() / 1024.0,
        (server.memory() - before) / count as f64
    );
}

/// Whether many watchers keep up with many changes.
fn sustain(count: usize, rate: u64, seconds: u64) {
    let server = Server::start();
    server.send("POST", MAPS, "", &map("first"));
    let watchers = Watchers::open(&server, count);
    watchers.drive_until(Duration::from_secs(60), |of| of.events.load(Relaxed) >= count as u64);
    let told = watchers.events.load(Relaxed);
    let before = server.time();
    let written = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (address, written) = (server.address.clone(), written.clone());
            thread::spawn(move || write(&address, writer, rate / 4, seconds, start, &written))
        })
        .collect();
    let mut backlogs = Vec::new();
    for second in 1..=seconds {
        watchers.drive((start + Duration::from_secs(second)).saturating_duration_since(Instant::now()));
        let due = written.load(Relaxed) * count as u64;
        backlogs.push(due.saturating_sub(watchers.events.load(Relaxed) - told) / count as u64);
    }
    let wrote = start.elapsed();
    writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
    let due = told + written.load(Relaxed) * count as u64;
    let end = Instant::now();
    watchers.drive_until(Duration::from_secs(60), |of| of.events.load(Relaxed) >= due);
    let (user, system) = server.time();
    let events = (watchers.events.load(Relaxed) - told) as f64;
    println!(
        "{:.0} changes per second with {count} watchers for {seconds} s: behind by {backlogs:?} changes at the end of each second, {} ms after the last change all had it; {:.1} µs of the server's processor per event; resident {:.0} MB",
        written.load(Relaxed) as f64 / wrote.as_secs_f64(),
        end.elapsed().as_millis(),
        (user + system - before.0 - before.1) * 1e6 / events,
        server.memory() / 1024.0,
    );
}

/// Changes an object again and again over one connection, at a rate.
fn write(address: &str, writer: u64, rate: u64, seconds: u64, start: Instant, written: &AtomicU64) {
    let stream = TcpStream::connect(address).expect("the server listens");
    let mut from = BufReader::new(stream.try_clone().expect("a connection"));
    let mut to = stream;
    for at in 0..rate * seconds {
        let due = start + Duration::from_micros(at * 1_000_000 / rate);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let name = format!("writer-{writer}");
        let body = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{key: value-{at}}}\n"
        );
        let path = format!("{MAPS}/{name}?fieldManager=bench");
        write!(
            to,
            "PATCH {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/apply-patch+yaml\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("sent");
        let (mut line, mut length) = (String::new(), 0);
        from.read_line(&mut line).expect("an answer");
        assert!(line.starts_with("HTTP/1.1 20"), "{line}");
        while line != "\r\n" {
            line.clear();
            from.read_line(&mut line).expect("a head");
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        from.read_exact(&mut vec![0; length]).expect("a body");
        written.fetch_add(1, Relaxed);
    }
}

/// What a list of many pods costs, the first time and from then on.
fn list(count: usize) {
    let server = Server::start();
    let containers = r#"[{"name":"web","image":"registry.example.com/web:1.25","ports":[{"containerPort":80}],"env":[{"name":"MODE","value":"production"}],"resources":{"requests":{"cpu":"100m","memory":"128Mi"}}},{"name":"side","image":"registry.example.com/side:2"}]"#;
    for at in 0..count {
        let pod = format!(
            r#"{{"metadata":{{"name":"pod-{at}","labels":{{"app":"a{}"}}}},"spec":{{"nodeName":"n{}","containers":{containers}}}}}"#,
            at % 10,
            at % 100
        );
        server.send("POST", PODS, "", &pod);
    }
    let before = server.memory();
    for (what, headers, query) in [
        ("JSON", "", ""),
        ("protobuf", "Accept: application/vnd.kubernetes.protobuf\r\n", ""),
        (
            "metadata alone",
            "Accept: application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io\r\n",
            "",
        ),
        ("by a label", "", "?labelSelector=app%3Da3"),
        ("a page of 500", "", "?limit=500"),
    ] {
        let path = format!("{PODS}{query}");
        let cost = |rounds: u32| {
            let (time, start) = (server.time(), Instant::now());
            let mut bytes = 0;
            for _ in 0..rounds {
                bytes = server.send("GET", &path, headers, "").len();
            }
            let (user, system) = server.time();
            let cpu = (user + system - time.0 - time.1) * 1e3 / f64::from(rounds);
            (cpu, start.elapsed().as_secs_f64() * 1e3 / f64::from(rounds), bytes as f64 / 1e6)
        };
        let first = cost(1);
        let then = cost(20);
        println!(
            "list of {count} pods, {what}: {:.1} MB; first {:.0} ms of the server's processor, then {:.1} ms ({:.1} ms until the client has it)",
            then.2, first.0, then.0, then.1
        );
    }
    println!(
        "resident: {:.0} MB before the lists, {:.0} MB after",
        before / 1024.0,
        server.memory() / 1024.0
    );
}

/// Serves from a directory on a free port, which it says first.
fn serve(directory: &str) {
    let runtime = Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let store = EmbeddedStore::open(directory, EmbeddedOptions::default()).expect("a store");
        let listener = bind(([127, 0, 0, 1], 0).into()).await.expect("a free port");
        println!("{}", listener.local_addr().expect("its address"));
        let api = Api::open(Arc::new(store), Access::Anyone).await.expect("an API");
        api.start_lifecycle();
        listen::serve(listener, None, api, std::future::pending()).await;
    });
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    if let (Some("serve"), Some(directory)) = (arguments.next().as_deref(), arguments.next()) {
        return serve(&directory);
    }
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wants = |part: &str| only.as_deref().is_none_or(|only| only == part);
    if wants("deliver") {
        idle_and_deliver(10_000);
    }
    if wants("sustain") {
        sustain(1_000, 1_000, 8);
    }
    if wants("list") {
        list(10_000);
    }
}
