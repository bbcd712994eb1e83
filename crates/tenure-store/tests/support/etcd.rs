//! A real etcd for tests: one or more members as processes on free loopback ports, with their data in a temporary
//! directory. They are killed when the cluster is dropped.
#![allow(dead_code, reason = "each test uses a part")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a member may take to answer.
const TIMEOUT: Duration = Duration::from_secs(60);

pub struct Etcd {
    directory: TempDir,
    members: Vec<Member>,
    /// Arguments of the members in addition to the fixed ones.
    arguments: Vec<String>,
    scheme: &'static str,
}

pub struct Member {
    name: String,
    client: u16,
    peer: u16,
    advertised: u16,
    child: Option<Child>,
}

impl Etcd {
    /// Starts a cluster of one.
    pub fn start() -> Etcd {
        Etcd::cluster(1, |port| port)
    }

    /// Starts a cluster whose members reach each other through the ports that `advertise` returns.
    pub fn cluster(count: usize, mut advertise: impl FnMut(u16) -> u16) -> Etcd {
        let mut etcd = Etcd::prepare(count, &mut advertise);
        for place in 0..count {
            etcd.begin(place);
        }
        for place in 0..count {
            etcd.wait_for(place);
        }
        etcd
    }

    /// Starts a cluster of one that clients reach by TLS, with further arguments.
    pub fn secure(arguments: impl FnOnce(&Path) -> Vec<String>) -> Etcd {
        let mut etcd = Etcd::prepare(1, |port| port);
        etcd.arguments = arguments(etcd.path());
        etcd.scheme = "https";
        etcd.begin(0);
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", etcd.members[0].client)).is_err() {
            assert!(start.elapsed() < TIMEOUT, "etcd does not start");
            std::thread::sleep(Duration::from_millis(30));
        }
        etcd
    }

    fn prepare(count: usize, mut advertise: impl FnMut(u16) -> u16) -> Etcd {
        let directory = TempDir::new().expect("a directory");
        let member = |number| {
            let (client, peer) = (free_port(), free_port());
            Member { name: format!("m{number}"), client, peer, advertised: advertise(peer), child: None }
        };
        let members = (0..count).map(member).collect();
        Etcd { members, directory, arguments: Vec::new(), scheme: "http" }
    }

    pub fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(|member| format!("{}://127.0.0.1:{}", self.scheme, member.client)).collect()
    }

    pub fn port(&self, place: usize) -> u16 {
        self.members[place].client
    }

    pub fn process(&self, place: usize) -> Option<u32> {
        self.members[place].child.as_ref().map(Child::id)
    }

    /// Sends a signal, such as `STOP` or `CONT`, to a member.
    pub fn signal(&self, place: usize, name: &str) {
        if let Some(process) = self.process(place) {
            signal(process, name);
        }
    }

    /// Ends a member by a signal and waits for its end.
    pub fn stop(&mut self, place: usize, name: &str) {
        self.signal(place, name);
        if let Some(mut child) = self.members[place].child.take() {
            child.wait().expect("the member ends");
        }
    }

    /// Starts a member again with its data.
    pub fn restart(&mut self, place: usize) {
        self.begin(place);
    }

    /// Saves a snapshot of a cluster of one.
    pub fn save_snapshot(&self, file: &Path) {
        etcdctl(&["--endpoints", &self.endpoints().join(","), "snapshot", "save"], file);
    }

    /// Kills a cluster of one and starts it again from a snapshot.
    pub fn restore_snapshot(&mut self, file: &Path) {
        self.stop(0, "KILL");
        let member = &self.members[0];
        let data = self.directory.path().join(&member.name);
        std::fs::remove_dir_all(&data).expect("the old data can be removed");
        let peer = format!("http://127.0.0.1:{}", member.advertised);
        let (cluster, data) = (format!("{}={peer}", member.name), data.display().to_string());
        let arguments = ["snapshot", "restore", "--name", &member.name, "--data-dir", &data];
        let peers = ["--initial-cluster", &cluster, "--initial-advertise-peer-urls", &peer];
        etcdctl(&[&arguments[..], &peers].concat(), file);
        self.restart(0);
        self.wait_for(0);
    }

    /// Returns the member that leads, if one reports that it does.
    pub fn leader(&self) -> Option<usize> {
        (0..self.members.len()).find(|place| {
            let metrics = self.http_get(*place, "/metrics").unwrap_or_default();
            metrics.lines().any(|line| line == "etcd_server_is_leader 1")
        })
    }

    /// Waits until a member answers that it is healthy.
    pub fn wait_for(&self, place: usize) {
        let start = Instant::now();
        while !self.http_get(place, "/health").is_some_and(|answer| answer.contains("true")) {
            assert!(start.elapsed() < TIMEOUT, "etcd member {place} does not become healthy");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    fn begin(&mut self, place: usize) {
        let peer = |port: u16| format!("http://127.0.0.1:{port}");
        let all: Vec<_> = self
            .members
            .iter()
            .map(|member| format!("{}={}", member.name, peer(member.advertised)))
            .collect();
        let member = &mut self.members[place];
        let client = format!("{}://127.0.0.1:{}", self.scheme, member.client);
        let log = std::fs::File::create(self.directory.path().join(format!("{}.log", member.name)));
        let child = Command::new("etcd")
            .args(["--name", &member.name])
            .arg("--data-dir")
            .arg(self.directory.path().join(&member.name))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer(member.peer)])
            .args(["--initial-advertise-peer-urls", &peer(member.advertised)])
            .args(["--initial-cluster", &all.join(","), "--initial-cluster-state", "new"])
            .args(["--heartbeat-interval", "100", "--election-timeout", "1000", "--logger", "zap"])
            .args(&self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.expect("a log"))
            .spawn()
            .expect("etcd is installed (Debian's package is etcd-server)");
        member.child = Some(child);
    }

    fn http_get(&self, place: usize, path: &str) -> Option<String> {
        let member = &self.members[place];
        member.child.as_ref()?;
        let mut stream = TcpStream::connect(("127.0.0.1", member.client)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\nhost: localhost\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        for place in 0..self.members.len() {
            self.stop(place, "KILL");
        }
    }
}

fn etcdctl(arguments: &[&str], file: &Path) {
    let mut command = Command::new("etcdctl");
    let output = command.args(arguments).arg(file).env("ETCDCTL_API", "3").output();
    let output = output.expect("etcdctl is installed (Debian's package is etcd-client)");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Sends a signal to a process. With `STOP` it returns when all threads of the process have stopped.
pub fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(process.to_string()).status();
    assert!(sent.expect("kill runs").success(), "{name} to {process}");
    let start = Instant::now();
    while name == "STOP" && !is_stopped(process) {
        assert!(start.elapsed() < TIMEOUT, "the process does not stop");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether every thread of a process is stopped.
fn is_stopped(process: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("the process runs");
    let state =
        |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
    threads
        .flatten()
        .map(state)
        .all(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
}

/// Returns a free port.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}
