//! Proxies between the members of etcd, so that one can be cut off from the others. A connection belongs to the member
//! it comes from as much as to the one it goes to; its origin is found by the process that has its other end.

use std::{
    collections::BTreeSet,
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

#[derive(Clone, Default)]
pub struct Proxies {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The processes of the members, by their place.
    processes: Vec<Option<u32>>,
    cut_off: BTreeSet<usize>,
    connections: Vec<Connection>,
}

struct Connection {
    from: Option<usize>,
    to: usize,
    streams: [TcpStream; 2],
}

impl Proxies {
    /// Starts a proxy to the port of the next member and returns its own.
    pub fn add(&self, target: u16) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let to = {
            let mut state = self.state.lock().expect("no panic");
            state.processes.push(None);
            state.processes.len() - 1
        };
        let proxies = self.clone();
        thread::spawn(move || {
            for incoming in listener.incoming().flatten() {
                let proxies = proxies.clone();
                thread::spawn(move || proxies.connect(incoming, to, target));
            }
        });
        port
    }

    /// Sets the process of a member.
    pub fn process(&self, member: usize, process: Option<u32>) {
        self.state.lock().expect("no panic").processes[member] = process;
    }

    /// Cuts a member off from the others.
    pub fn cut_off(&self, member: usize) {
        let mut state = self.state.lock().expect("no panic");
        state.cut_off.insert(member);
        for connection in &state.connections {
            if connection.to == member || connection.from == Some(member) {
                connection.end();
            }
        }
    }

    /// Connects all members again.
    pub fn heal(&self) {
        self.state.lock().expect("no panic").cut_off.clear();
    }

    fn connect(&self, incoming: TcpStream, to: usize, target: u16) {
        let Ok(port) = incoming.peer_addr().map(|address| address.port()) else { return };
        let Ok(outgoing) = TcpStream::connect(("127.0.0.1", target)) else { return };
        let (Ok(one), Ok(other)) = (incoming.try_clone(), outgoing.try_clone()) else { return };
        {
            let mut state = self.state.lock().expect("no panic");
            let from = state.processes.iter().position(|process| process.is_some_and(|id| holds(id, port)));
            let cut = |member: &usize| state.cut_off.contains(member);
            if cut(&to) || from.as_ref().is_some_and(cut) {
                return;
            }
            let connection = Connection { from, to, streams: [one, other] };
            state.connections.retain(|connection| connection.streams[0].peer_addr().is_ok());
            state.connections.push(connection);
        }
        let (Ok(mut up), Ok(mut down)) = (incoming.try_clone(), outgoing.try_clone()) else { return };
        let (mut incoming, mut outgoing) = (incoming, outgoing);
        let back = thread::spawn(move || {
            let _ = std::io::copy(&mut down, &mut up);
            let _ = up.shutdown(Shutdown::Both);
        });
        let _ = std::io::copy(&mut incoming, &mut outgoing);
        let _ = outgoing.shutdown(Shutdown::Both);
        let _ = back.join();
    }
}

impl Connection {
    fn end(&self) {
        for stream in &self.streams {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Whether a process has the socket with this local port.
fn holds(process: u32, port: u16) -> bool {
    let table = std::fs::read_to_string(format!("/proc/{process}/net/tcp")).unwrap_or_default();
    let local = format!(":{port:04X}");
    let inode = table.lines().find_map(|line| {
        let mut fields = line.split_whitespace();
        fields.nth(1)?.ends_with(&local).then(|| fields.nth(7).map(str::to_owned))?
    });
    let Some(inode) = inode else { return false };
    let socket = format!("socket:[{inode}]");
    let Ok(open) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    open.flatten()
        .any(|file| std::fs::read_link(file.path()).is_ok_and(|link| link.as_os_str() == socket.as_str()))
}
