//! The open connections: how many there may be, and when one is closed.
//!
//! A connection without a running request is closed when it has been idle for too long, and earlier if the server is full and
//! another client wants in: idle connections need no credentials, so that they must not keep anyone out. A connection is also
//! closed when its client has stopped reading a response. One sweep each second looks at all of them, since a timer for each
//! would cost more than the connections.

use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::sync::Notify;

/// The limits of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionLimits {
    /// The most connections.
    pub connections: usize,
    /// The most connections of one address.
    pub per_address: usize,
    /// After how long a connection without a request is closed.
    pub idle_time: Duration,
    /// After how long a connection is closed whose client reads nothing of a response.
    pub stall_time: Duration,
}

impl ConnectionLimits {
    /// Connections beyond the limits that are accepted for health checks alone.
    pub const RESERVE: usize = 16;
    /// File descriptors that are left for the store and for outgoing connections.
    const OTHER_FILES: usize = 64;
    const MAX_CONNECTIONS: usize = 20_000;

    /// Returns the limits for a number of connections.
    pub fn new(connections: usize) -> ConnectionLimits {
        ConnectionLimits {
            connections,
            per_address: connections.div_ceil(4) * 3,
            idle_time: Duration::from_secs(90),
            stall_time: Duration::from_secs(60),
        }
    }

    /// Returns the limits for a number of files that the process may open.
    pub fn for_open_files(files: usize) -> ConnectionLimits {
        let left = files.saturating_sub(ConnectionLimits::OTHER_FILES + ConnectionLimits::RESERVE);
        ConnectionLimits::new(left.clamp(16, ConnectionLimits::MAX_CONNECTIONS))
    }
}

impl Default for ConnectionLimits {
    /// Returns the limits for the files that this process may open, as far as the system reports it.
    fn default() -> ConnectionLimits {
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
        let files = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        ConnectionLimits::for_open_files(files.unwrap_or(1024))
    }
}

/// All connections of a listener.
pub(crate) struct ConnectionTable {
    limits: ConnectionLimits,
    start: Instant,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    /// By their numbers.
    open: BTreeMap<u64, Arc<Connection>>,
    opened: u64,
    by_address: HashMap<IpAddr, usize>,
    /// The connections that are for health checks.
    reserve: usize,
}

/// What the table knows of a connection.
pub(crate) struct Connection {
    number: u64,
    address: IpAddr,
    start: Instant,
    is_reserve: bool,
    /// The seconds since the start of the listener at which something last happened.
    active: AtomicU32,
    /// Whether there was a request.
    is_used: AtomicBool,
    /// The requests that have not ended.
    running: AtomicU32,
    /// The responses of a known length that the client has not read.
    sending: AtomicU32,
    is_closed: AtomicBool,
    close: Notify,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Any,
    /// There are too many connections: only health checks are answered.
    Health,
}

/// Whether a connection is accepted.
pub(crate) enum Admission {
    /// It is.
    Accepted(Entry),
    /// It is, but for health checks alone.
    HealthOnly(Entry),
    /// It is not: even the reserve is used up.
    Refused,
}

/// The place of a connection in the table, which it leaves when this is dropped.
pub(crate) struct Entry {
    table: Arc<ConnectionTable>,
    pub connection: Arc<Connection>,
}

impl ConnectionTable {
    pub fn new(limits: ConnectionLimits) -> Arc<ConnectionTable> {
        Arc::new(ConnectionTable { limits, start: Instant::now(), entries: Mutex::default() })
    }

    fn now(&self) -> u32 {
        self.start.elapsed().as_secs() as u32
    }

    /// Enters a new connection. If the table is full, idle connections are closed to make room, those of the address with the
    /// most connections first.
    pub fn admit(self: &Arc<Self>, address: IpAddr) -> Admission {
        let mut entries = self.entries.lock();
        let of_address = entries.by_address.get(&address).copied().unwrap_or(0);
        let ordinary = entries.open.len() - entries.reserve;
        let mut has_room = true;
        if of_address >= self.limits.per_address {
            has_room = entries.evict(|connection, _| connection.address == address);
        } else if ordinary >= self.limits.connections {
            let most = entries.by_address.values().copied().max().unwrap_or(0);
            has_room = entries.evict(|_, of_address| of_address == most) || entries.evict(|_, _| true);
        }
        if !has_room && entries.reserve >= ConnectionLimits::RESERVE {
            return Admission::Refused;
        }
        entries.opened += 1;
        let connection = Arc::new(Connection {
            number: entries.opened,
            address,
            start: self.start,
            is_reserve: !has_room,
            active: AtomicU32::new(self.now()),
            is_used: AtomicBool::new(false),
            running: AtomicU32::new(0),
            sending: AtomicU32::new(0),
            is_closed: AtomicBool::new(false),
            close: Notify::new(),
        });
        entries.open.insert(connection.number, connection.clone());
        match has_room {
            true => *entries.by_address.entry(address).or_default() += 1,
            false => entries.reserve += 1,
        }
        let entry = Entry { table: self.clone(), connection };
        if has_room { Admission::Accepted(entry) } else { Admission::HealthOnly(entry) }
    }

    /// Closes connections that have been idle or stalled for too long.
    pub fn sweep(&self) {
        let now = self.now();
        let entries = self.entries.lock();
        for connection in entries.open.values() {
            let quiet = Duration::from_secs(u64::from(now.saturating_sub(connection.active.load(Relaxed))));
            let is_idle = connection.is_idle() && quiet > self.limits.idle_time;
            let is_stalled = connection.sending.load(Relaxed) > 0 && quiet > self.limits.stall_time;
            if is_idle || is_stalled {
                connection.close();
            }
        }
    }

    /// Returns the number of open connections.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.entries.lock().open.len()
    }
}

impl Entries {
    /// Closes the idle connection that has been quiet for longest, among some. These are chosen by the connection and the number
    /// of connections of its address. Returns whether there was one.
    fn evict(&mut self, among: impl Fn(&Connection, usize) -> bool) -> bool {
        let of_address =
            |connection: &Connection| self.by_address.get(&connection.address).copied().unwrap_or(0);
        let idle = self.open.values().filter(|connection| {
            !connection.is_reserve && connection.is_idle() && among(connection, of_address(connection))
        });
        let Some(connection) = idle.min_by_key(|connection| connection.active.load(Relaxed)).cloned() else {
            return false;
        };
        // It counts no more from now on, even if closing takes a moment.
        self.remove(&connection);
        connection.close();
        true
    }

    fn remove(&mut self, connection: &Connection) {
        if self.open.remove(&connection.number).is_none() {
            // An evicted connection was removed before.
            return;
        }
        if connection.is_reserve {
            self.reserve -= 1;
        } else if let Some(count) = self.by_address.get_mut(&connection.address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&connection.address);
            }
        }
    }
}

impl Connection {
    fn touch(&self) {
        self.active.store(self.start.elapsed().as_secs() as u32, Relaxed);
    }

    /// Whether there was a request.
    pub fn is_used(&self) -> bool {
        self.is_used.load(Relaxed)
    }

    /// Whether no request is running.
    pub fn is_idle(&self) -> bool {
        self.running.load(Relaxed) == 0
    }

    fn close(&self) {
        self.is_closed.store(true, Relaxed);
        self.close.notify_one();
    }

    /// Waits until the connection should close.
    pub async fn closed(&self) {
        while !self.is_closed.load(Relaxed) {
            self.close.notified().await;
        }
    }

    /// Records that a request begins.
    pub fn start_request(self: &Arc<Self>) -> ActiveRequest {
        self.touch();
        self.is_used.store(true, Relaxed);
        self.running.fetch_add(1, Relaxed);
        ActiveRequest { connection: self.clone(), is_sending: false }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.table.entries.lock().remove(&self.connection);
    }
}

/// A request that has not ended.
pub(crate) struct ActiveRequest {
    connection: Arc<Connection>,
    is_sending: bool,
}

impl ActiveRequest {
    /// Records that a response of a known length is sent from now on.
    pub fn start_sending(&mut self) {
        if !self.is_sending {
            self.is_sending = true;
            self.connection.sending.fetch_add(1, Relaxed);
        }
    }

    /// Records that a part of a response is taken.
    pub fn progress(&self) {
        self.connection.touch();
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.connection.touch();
        self.connection.running.fetch_sub(1, Relaxed);
        if self.is_sending {
            self.connection.sending.fetch_sub(1, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn accepted(admission: Admission) -> Entry {
        match admission {
            Admission::Accepted(entry) => entry,
            Admission::HealthOnly(_) => panic!("health only"),
            Admission::Refused => panic!("refused"),
        }
    }

    #[test]
    fn a_full_table_closes_idle_connections_of_the_crowd() {
        let table = ConnectionTable::new(ConnectionLimits { per_address: 100, ..ConnectionLimits::new(4) });
        let crowd: Vec<Entry> = (0..3).map(|_| accepted(table.admit(address(1)))).collect();
        let lonely = accepted(table.admit(address(2)));
        let busy = crowd[0].connection.start_request();
        let _new = accepted(table.admit(address(3)));
        let is_closed = |entry: &Entry| entry.connection.is_closed.load(Relaxed);
        assert_eq!([&crowd[0], &crowd[1], &crowd[2], &lonely].map(is_closed), [false, true, false, false]);
        drop(busy);
        drop(crowd);
        assert_eq!(table.len(), 2);
    }

    #[test]
    fn health_checks_have_a_reserve_when_all_are_busy() {
        let table = ConnectionTable::new(ConnectionLimits::new(2));
        let entries: Vec<Entry> = [1, 2].map(|last| accepted(table.admit(address(last)))).into();
        let busy: Vec<ActiveRequest> = entries.iter().map(|entry| entry.connection.start_request()).collect();
        let reserve: Vec<Admission> =
            (0..ConnectionLimits::RESERVE).map(|_| table.admit(address(9))).collect();
        assert!(reserve.iter().all(|admission| matches!(admission, Admission::HealthOnly(_))));
        assert!(matches!(table.admit(address(9)), Admission::Refused));
        drop(reserve);
        assert!(matches!(table.admit(address(9)), Admission::HealthOnly(_)));
        drop(busy);
        accepted(table.admit(address(9)));
    }

    #[test]
    fn one_address_has_its_own_limit() {
        let table = ConnectionTable::new(ConnectionLimits { per_address: 2, ..ConnectionLimits::new(100) });
        let entries: Vec<Entry> = (0..2).map(|_| accepted(table.admit(address(1)))).collect();
        let _busy: Vec<ActiveRequest> =
            entries.iter().map(|entry| entry.connection.start_request()).collect();
        assert!(matches!(table.admit(address(1)), Admission::HealthOnly(_)));
        accepted(table.admit(address(2)));
    }

    #[tokio::test]
    async fn idle_and_stalled_connections_are_swept() {
        let limits = ConnectionLimits {
            idle_time: Duration::ZERO,
            stall_time: Duration::ZERO,
            ..ConnectionLimits::new(10)
        };
        let table = ConnectionTable::new(limits);
        let [idle, busy, stalled] = [1, 2, 3].map(|last| accepted(table.admit(address(last))));
        let _busy = busy.connection.start_request();
        let mut sending = stalled.connection.start_request();
        sending.start_sending();
        for entry in [&idle, &busy, &stalled] {
            // As if nothing had happened for ten seconds.
            entry.connection.active.store(0, Relaxed);
        }
        let later = ConnectionTable {
            limits,
            start: table.start - Duration::from_secs(10),
            entries: Mutex::new(std::mem::take(&mut *table.entries.lock())),
        };
        later.sweep();
        idle.connection.closed().await;
        stalled.connection.closed().await;
        assert!(!busy.connection.is_closed.load(Relaxed));
    }

    #[test]
    fn limits_follow_the_files_that_may_be_open() {
        assert_eq!(ConnectionLimits::for_open_files(300).connections, 220);
        assert_eq!(ConnectionLimits::for_open_files(1 << 30).connections, 20_000);
        assert_eq!(ConnectionLimits::for_open_files(10).connections, 16);
        let limits = ConnectionLimits::for_open_files(1024);
        assert!(limits.per_address < limits.connections);
    }
}
