//! The server in a separate process, and the statistics of the system about it.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
};
use tenure_http::{
    Administrator,
    listener::{self, bind},
};
use tenure_server::Server as ApiServer;
use tenure_store::{EmbeddedOptions, EmbeddedStore};
use tenure_transport::serving::Credentials;
use tokio::runtime::Builder;

/// Ticks of processor time per second, as Linux reports them.
const TICKS: f64 = 100.0;

/// The protocols of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// HTTP/1.1, each watch on its own connection.
    Plain,
    /// The same within TLS.
    Tls,
    /// HTTP/2, many watches on one connection, as Kubernetes' clients do.
    Multiplexed,
}

impl Transport {
    pub fn named(name: &str) -> Transport {
        if name == "tls" { Transport::Tls } else { Transport::Plain }
    }

    fn name(self) -> &'static str {
        if self == Transport::Tls { "tls" } else { "plain" }
    }
}

pub struct Server {
    child: Child,
    pub address: String,
    directory: tempfile::TempDir,
}

impl Server {
    pub fn start(transport: Transport) -> Server {
        let directory = tempfile::tempdir().expect("a directory");
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .arg("serve")
            .arg(directory.path())
            .arg(transport.name())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let address = lines.next().and_then(Result::ok).expect("a greeting");
        Server { child, address, directory }
    }

    /// Returns the authority of the server's certificate.
    pub fn authority(&self) -> Vec<u8> {
        fs::read(self.directory.path().join("ca.crt")).expect("an authority")
    }

    /// Returns the processor time used so far, in seconds: in the program, and in the kernel for it.
    pub fn time(&self) -> (f64, f64) {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("its state");
        let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
        let ticks = |at: usize| fields[at].parse::<f64>().expect("ticks") / TICKS;
        (ticks(11), ticks(12))
    }

    /// Returns the resident memory in kilobytes.
    pub fn memory(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("its state");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("memory");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// Sends one request on a new plain connection, and returns the whole response.
    pub fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(&self.address).expect("the server listens");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("sent");
        let mut response = Vec::new();
        stream.read_to_end(&mut response).expect("answered");
        assert!(
            response.starts_with(b"HTTP/1.1 2"),
            "{}",
            String::from_utf8_lossy(&response[..response.len().min(500)])
        );
        response
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves from a directory on a free port, which it prints first.
pub fn serve(directory: &str, transport: Transport) {
    let runtime = Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let store = EmbeddedStore::open(directory, EmbeddedOptions::default()).expect("a store");
        let listener = bind(([127, 0, 0, 1], 0).into()).await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        let tls = (transport == Transport::Tls)
            .then(|| Credentials::open(Path::new(directory), address, None).expect("credentials").tls)
            .map(tenure_transport::Reloadable::new);
        println!("{address}");
        let api = ApiServer::open(Arc::new(store), Administrator::Anyone).await.expect("an API");
        api.start_controllers();
        listener::serve(listener, tls, api, std::future::pending()).await;
    });
}
