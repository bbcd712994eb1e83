//! A proxy in front of a server that a test controls: it can close every connection, and hold back writes.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, mpsc},
    thread,
};

/// A proxy on a port of its own.
pub struct Proxy {
    pub address: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    connections: Mutex<Vec<TcpStream>>,
    gate: Mutex<Gate>,
    opened: Condvar,
}

/// Which writes pass.
#[derive(Default)]
struct Gate {
    /// How many writes pass before the others wait; all, if `None`.
    passing: Option<usize>,
    /// Is told when the first write waits.
    reached: Option<mpsc::Sender<()>>,
}

impl Proxy {
    /// Starts a proxy for a server.
    pub fn start(server: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let state = Arc::new(State::default());
        let (server, shared) = (server.trim_start_matches("http://").to_owned(), state.clone());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(upstream) = TcpStream::connect(&server) else { continue };
                let copy = |stream: &TcpStream| stream.try_clone().expect("a clone");
                shared.connections.lock().expect("no panic").extend([copy(&client), copy(&upstream)]);
                let (from, to, gate) = (copy(&client), copy(&upstream), shared.clone());
                thread::spawn(move || pass(from, to, |bytes| gate.wait_for(bytes)));
                thread::spawn(move || pass(upstream, client, |_| {}));
            }
        });
        Proxy { address: format!("http://{address}"), state }
    }

    /// Closes every connection, as a server does with those that were idle for too long.
    pub fn close_all(&self) {
        for stream in self.state.connections.lock().expect("no panic").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Lets some writes pass and holds back the others; the receiver is told when the first one waits.
    pub fn hold_after(&self, writes: usize) -> mpsc::Receiver<()> {
        let (sender, receiver) = mpsc::channel();
        *self.state.gate.lock().expect("no panic") = Gate { passing: Some(writes), reached: Some(sender) };
        receiver
    }

    /// Lets everything pass.
    pub fn release(&self) {
        *self.state.gate.lock().expect("no panic") = Gate::default();
        self.state.opened.notify_all();
    }
}

impl State {
    fn wait_for(&self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let line = text.lines().next().unwrap_or_default();
        if !line.starts_with("PATCH ") || line.contains("dryRun=") {
            return;
        }
        let mut gate = self.gate.lock().expect("no panic");
        loop {
            match &mut gate.passing {
                None => return,
                Some(0) => {
                    if let Some(reached) = gate.reached.take() {
                        let _ = reached.send(());
                    }
                    gate = self.opened.wait(gate).expect("no panic");
                }
                Some(left) => {
                    *left -= 1;
                    return;
                }
            }
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, before: impl Fn(&[u8])) {
    let mut piece = [0; 64 * 1024];
    while let Ok(count) = from.read(&mut piece) {
        if count == 0 {
            break;
        }
        before(&piece[..count]);
        if to.write_all(&piece[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
