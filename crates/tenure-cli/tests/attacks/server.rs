//! The server under attack: attacks, and measurements of the process.

use super::process::Started;
use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};
use tempfile::TempDir;

pub use super::health::{HealthProbe, is_live};

#[path = "../../../tenure-store/tests/support/etcd.rs"]
mod process_of_etcd;
use process_of_etcd::Etcd;

/// How long a request may take on any machine.
pub const TIMEOUT: Duration = Duration::from_secs(120);
/// The processor time of a request, besides what it takes for each byte: this is a debug build.
const BASE_TIME: Duration = Duration::from_millis(1500);
/// The processor time for each byte of a request. One step of a quadratic algorithm for each byte takes much longer.
const TIME_PER_BYTE: Duration = Duration::from_micros(30);
/// The memory of a request, besides what it takes for each byte.
const BASE_MEMORY: u64 = 96 << 20;
const MEMORY_PER_BYTE: u64 = 300;

/// A hostile request.
pub struct Attack {
    pub name: String,
    pub method: &'static str,
    pub path: String,
    pub media_type: &'static str,
    pub body: Vec<u8>,
}

pub const JSON: &str = "application/json";
pub const YAML: &str = "application/yaml";

impl Attack {
    pub fn new(
        name: impl Into<String>,
        (method, path): (&'static str, &str),
        media_type: &'static str,
        body: impl Into<Vec<u8>>,
    ) -> Attack {
        Attack { name: name.into(), method, path: path.into(), media_type, body: body.into() }
    }

    /// Returns the whole request.
    pub fn bytes(&self) -> Vec<u8> {
        let mut request = format!(
            "{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n",
            self.method,
            self.path,
            self.media_type,
            self.body.len()
        )
        .into_bytes();
        request.extend_from_slice(&self.body);
        request
    }
}

/// A running server.
pub struct Target {
    pub started: Started,
    pub address: String,
    directory: TempDir,
    _etcd: Option<Etcd>,
}

impl Target {
    pub fn in_memory() -> Target {
        Target::start(None, &["--in-memory"])
    }

    pub fn on_etcd() -> Target {
        let etcd = Etcd::start();
        let endpoints = etcd.endpoints().join(",");
        Target::start(Some(etcd), &["--store", "etcd", "--etcd-endpoints", &endpoints])
    }

    /// Starts a server with further arguments.
    pub fn with(arguments: &[&str]) -> Target {
        Target::start(None, arguments)
    }

    fn start(etcd: Option<Etcd>, arguments: &[&str]) -> Target {
        let directory = TempDir::new().expect("a directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command
            .args(["serve", "--insecure-http", "--listen", "127.0.0.1:0", "--log", "error", "--data-dir"])
            .arg(directory.path())
            .args(arguments)
            // Printing a backtrace takes long in a debug build.
            .env("RUST_BACKTRACE", "0");
        let started = Started::printing(&mut command, |line| line.contains("In the browser"));
        let address = started.address().trim_start_matches("http://").to_owned();
        Target { started, address, directory, _etcd: etcd }
    }

    /// Returns the data directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("the server accepts connections");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        stream
    }

    /// Sends bytes and returns the status code and the head of the response, if there is one.
    pub fn send(&self, request: &[u8]) -> Option<(u16, String)> {
        let mut stream = self.connect();
        // The server may answer and close before it has read everything.
        let _ = stream.write_all(request);
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        let text = String::from_utf8_lossy(&response).into_owned();
        let code = text.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        Some((code, text))
    }

    /// Sends bytes, closes the sending side, and returns the response, if there is one.
    pub fn send_and_close(&self, request: &[u8]) -> Option<(u16, String)> {
        let mut stream = self.connect();
        let _ = stream.write_all(request);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        let text = String::from_utf8_lossy(&response).into_owned();
        let code = text.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
        Some((code, text))
    }

    /// Asks the server to stop and returns how long it took.
    pub fn terminate(&mut self) -> Duration {
        let start = Instant::now();
        let status = Command::new("kill").arg("-TERM").arg(self.started.process.id().to_string()).status();
        assert!(status.is_ok_and(|status| status.success()));
        let status = self.started.process.wait().expect("the server ends");
        assert!(status.success(), "{status}");
        start.elapsed()
    }

    /// Returns the processor time of the process so far.
    pub fn processor_time(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.started.process.id()))
            .expect("the process runs");
        // The name of the process, in parentheses, may contain spaces. Times are in hundredths of a second.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap_or(0)).sum();
        Duration::from_millis(ticks * 10)
    }

    /// Returns a line of the status of the process, in bytes.
    fn memory(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.started.process.id()))
            .expect("the process runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("the line");
        line.trim_start_matches(':')
            .split_whitespace()
            .next()
            .and_then(|kib| kib.parse::<u64>().ok())
            .unwrap_or(0)
            << 10
    }

    pub fn resident(&self) -> u64 {
        self.memory("VmRSS")
    }

    /// Returns the highest memory so far.
    pub fn peak(&self) -> u64 {
        self.memory("VmHWM")
    }

    /// Resets the highest memory.
    pub fn reset_peak(&self) {
        fs::write(format!("/proc/{}/clear_refs", self.started.process.id()), "5").expect("the peak is reset");
    }

    /// Runs attacks one after the other and checks what they cost.
    pub fn survive(&self, attacks: &[Attack]) {
        self.prepare();
        let health = HealthProbe::start(self.address.clone());
        let start = self.resident();
        let mut failures = Vec::new();
        for attack in attacks {
            let request = attack.bytes();
            self.reset_peak();
            let (time, memory) = (self.processor_time(), self.resident());
            let answer = self.send(&request);
            let time = self.processor_time().saturating_sub(time);
            let memory = self.peak().saturating_sub(memory);
            let size = request.len();
            match answer {
                None => failures.push(format!("{}: no answer", attack.name)),
                // A resource version that has not been reached is a timeout, as in Kubernetes.
                Some((code, text)) if code >= 500 && !text.contains("Too large resource version") => {
                    failures.push(format!("{}: {}", attack.name, text.chars().take(300).collect::<String>()));
                }
                Some(_) => {}
            }
            if time > BASE_TIME + TIME_PER_BYTE * size as u32 {
                failures.push(format!("{}: {time:?} of processor time for {size} bytes", attack.name));
            }
            if memory > BASE_MEMORY + MEMORY_PER_BYTE * size as u64 {
                failures.push(format!("{}: {} MiB of memory for {size} bytes", attack.name, memory >> 20));
            }
        }
        failures.extend(health.stop());
        let end = self.resident();
        if end > start + (256 << 20) {
            failures.push(format!("the memory did not return: {} MiB, {} MiB", start >> 20, end >> 20));
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }

    /// Creates the objects that attacks refer to.
    fn prepare(&self) {
        for (method, path, body) in [
            ("POST", "/api/v1/namespaces/default/configmaps", super::patches::config_map()),
            ("POST", "/apis/apps/v1/namespaces/default/deployments", super::patches::deployment()),
            ("POST", super::definitions::DEFINITIONS, super::definitions::victim()),
        ] {
            let attack = Attack::new("prepare", (method, path), JSON, body);
            let (code, text) = self.send(&attack.bytes()).expect("an answer");
            assert_eq!(code, 201, "{text}");
        }
    }
}
