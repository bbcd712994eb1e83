//! Continuous health checks, on new connections and on a persistent one, and small requests of another client. A health check is answered
//! within a tenth of a second, another client within a quarter, in addition to what the machine itself takes: a further thread measures
//! how long a byte takes to another thread and back.
//!
//! On any machine this holds for half of the responses, since one that does other work delays some. With `TENURE_STRICT_LATENCY=1`, on a machine
//! that does nothing else, it holds for 99 of 100 (`scripts/attacks`).

use super::server::TIMEOUT;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// How long a health check may take, and a small request of another client.
const LIMIT: Duration = Duration::from_millis(100);
const OTHER_LIMIT: Duration = Duration::from_millis(250);
/// What another client asks for in turn: an object, the page, and a history.
const OTHER: [&str; 3] =
    ["/api/v1/namespaces/default", "/ui/", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes/history"];
/// How many round trips of the machine itself a response may take in addition: the connection, the request and the response wake a
/// thread of the server each, and some of these wake another.
const ROUND_TRIPS: u32 = 8;
/// One of this many responses may be late on any machine, and on one that does nothing else.
const LATE: usize = 2;
const LATE_IF_QUIET: usize = 100;
/// No response may take longer than this on a machine that does nothing else.
const LONGEST_IF_QUIET: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(5);

/// When something started and how long it took; `None` if it failed.
type Measured = (Instant, Option<Duration>);

/// Requests `/livez`, and what another client asks for, continuously.
pub struct HealthProbe {
    stop: Arc<AtomicBool>,
    checks: JoinHandle<Vec<Measured>>,
    other: JoinHandle<Vec<Measured>>,
    machine: JoinHandle<Vec<Measured>>,
}

impl HealthProbe {
    pub fn start(address: String) -> HealthProbe {
        let stop = Arc::new(AtomicBool::new(false));
        let other = measure(stop.clone(), {
            let address = address.clone();
            let mut paths = OTHER.iter().cycle();
            move || paths.next().is_some_and(|path| is_answered(&address, path))
        });
        let checks = measure(stop.clone(), {
            let mut kept = None;
            let mut count = 0_u64;
            move || {
                count += 1;
                if count.is_multiple_of(2) { is_live(&address) } else { is_live_kept(&address, &mut kept) }
            }
        });
        let echo = TcpListener::bind("127.0.0.1:0").expect("a port");
        let echo_address = echo.local_addr().expect("an address");
        thread::spawn(move || {
            for mut stream in echo.incoming().map_while(Result::ok) {
                let mut byte = [0];
                if stream.read_exact(&mut byte).is_ok() {
                    let _ = stream.write_all(&byte);
                }
            }
        });
        let machine = measure(stop.clone(), move || {
            let Ok(mut stream) = TcpStream::connect(echo_address) else { return false };
            stream.write_all(&[0]).is_ok() && stream.read_exact(&mut [0]).is_ok()
        });
        HealthProbe { stop, checks, other, machine }
    }

    /// Returns the problems of the responses.
    pub fn stop(self) -> Vec<String> {
        self.stop.store(true, Relaxed);
        let checks = self.checks.join().expect("the checks");
        let other = self.other.join().expect("the other client");
        let machine = self.machine.join().expect("the machine");
        let mut failures = late("health checks", &checks, &machine, LIMIT);
        failures.extend(late("requests of another client", &other, &machine, OTHER_LIMIT));
        failures
    }
}

/// Returns what is wrong with measured responses.
fn late(what: &str, measured: &[Measured], machine: &[Measured], limit: Duration) -> Vec<String> {
    let mut failures = Vec::new();
    let failed = measured.iter().filter(|(_, time)| time.is_none()).count();
    if failed > 0 {
        failures.push(format!("{failed} of {} {what} failed", measured.len()));
    }
    let delays = measured.iter().filter_map(|(start, time)| {
        let time = (*time)?;
        // The round trips of the machine at the same time.
        let meanwhile = machine
            .iter()
            .filter(|(from, took)| *from <= *start + time && took.is_none_or(|took| *from + took >= *start));
        let slowest = meanwhile.filter_map(|(_, took)| *took).max().unwrap_or_default();
        Some(time.saturating_sub(slowest * ROUND_TRIPS))
    });
    let mut delays: Vec<Duration> = delays.collect();
    delays.sort();
    let late = delays.iter().filter(|delay| **delay > limit).count();
    let longest = delays.last().copied().unwrap_or_default();
    let is_quiet = std::env::var_os("TENURE_STRICT_LATENCY").is_some();
    let permitted = delays.len() / if is_quiet { LATE_IF_QUIET } else { LATE };
    if late > permitted || is_quiet && longest > LONGEST_IF_QUIET {
        failures.push(format!(
            "{late} of {} {what} took longer than {limit:?}, one of them {longest:?}",
            delays.len()
        ));
    }
    failures
}

/// Repeats an action and measures how long it takes.
fn measure(
    stop: Arc<AtomicBool>,
    mut once: impl FnMut() -> bool + Send + 'static,
) -> JoinHandle<Vec<Measured>> {
    thread::spawn(move || {
        let mut measured = Vec::new();
        while !stop.load(Relaxed) {
            let start = Instant::now();
            let is_done = once();
            measured.push((start, is_done.then(|| start.elapsed())));
            thread::sleep(PAUSE);
        }
        measured
    })
}

/// Sends a health check on a new connection.
pub fn is_live(address: &str) -> bool {
    is_answered(address, "/livez")
}

/// Sends a request on a new connection.
fn is_answered(address: &str, path: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let _ = stream.set_read_timeout(Some(TIMEOUT));
    let mut response = String::new();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut response).is_ok()
        && response.starts_with("HTTP/1.1 200")
}

/// Sends a request on a persistent connection, which is reopened if the server has closed it, as it may if there are too many.
fn is_live_kept(address: &str, kept: &mut Option<BufReader<TcpStream>>) -> bool {
    if let Some(reader) = kept
        && request(reader).is_some()
    {
        return true;
    }
    let Ok(stream) = TcpStream::connect(address) else { return false };
    let _ = stream.set_read_timeout(Some(TIMEOUT));
    let mut reader = BufReader::new(stream);
    let is_live = request(&mut reader).is_some();
    *kept = is_live.then_some(reader);
    is_live
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<()> {
    reader.get_mut().write_all(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
    let (mut line, mut length, mut is_first) = (String::new(), 0, true);
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 || is_first && !line.starts_with("HTTP/1.1 200") {
            return None;
        }
        is_first = false;
        let text = line.trim_end().to_ascii_lowercase();
        if text.is_empty() {
            break;
        }
        if let Some(value) = text.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()
}
