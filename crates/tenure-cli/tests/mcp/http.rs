//! Streamable HTTP: only clients with the token, no page of a browser, nothing from other machines, nothing too large.

use crate::{
    harness::{TENURE, TestCluster},
    process::{Started, run},
};
use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
};

/// A server that listens.
pub struct Listening {
    _started: Started,
    pub address: String,
    pub token: String,
}

impl Listening {
    pub fn start(cluster: &TestCluster, flags: &[&str]) -> Listening {
        let mut command = Command::new(TENURE);
        command.args(["mcp", "--listen", "127.0.0.1:0"]).args(flags).stderr(Stdio::null());
        let started = Started::printing(cluster.environment(&mut command), |_| true);
        let line = started.printed.clone();
        let address =
            line.split_whitespace().find_map(|word| word.strip_suffix("/mcp;")).expect("an address");
        let file = line.trim_end().rsplit(' ').next().expect("a file").trim_end_matches('.');
        let token = fs::read_to_string(file).expect("the token").trim().to_owned();
        Listening { _started: started, address: format!("{address}/mcp"), token }
    }

    /// Sends a request with headers and a body, and returns the code of the response.
    fn post(&self, headers: &[(&str, &str)], body: &[u8]) -> u16 {
        let host = self.address.trim_start_matches("http://").trim_end_matches("/mcp");
        let mut stream = TcpStream::connect(host).expect("a connection");
        let mut head = "POST /mcp HTTP/1.1\r\nConnection: close\r\n".to_owned();
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head += &format!("Host: {host}\r\n");
        }
        head += "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
        // A server that refuses a large body does not read all of it.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        let mut line = [0; 12];
        stream.read_exact(&mut line).expect("a response");
        String::from_utf8_lossy(&line[9..]).parse().expect("a code")
    }
}

const BEGIN: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

#[test]
fn only_clients_with_the_token_and_no_pages_are_served() {
    let cluster = TestCluster::start();
    let server = Listening::start(&cluster, &[]);
    let bearer = format!("Bearer {}", server.token);
    let token = ("Authorization", bearer.as_str());
    assert_eq!(server.post(&[token], BEGIN), 200);
    assert_eq!(server.post(&[], BEGIN), 401);
    assert_eq!(server.post(&[("Authorization", "Bearer wrong")], BEGIN), 401);
    // A page of another site, and one whose name was bound to this machine.
    assert_eq!(server.post(&[token, ("Origin", "http://example.com")], BEGIN), 403);
    assert_eq!(server.post(&[token, ("Origin", "http://localhost:3000")], BEGIN), 403);
    assert_eq!(server.post(&[token, ("Host", "example.com")], BEGIN), 403);
    assert_eq!(server.post(&[token, ("Host", "127.0.0.1.example.com:80")], BEGIN), 403);
    assert_eq!(server.post(&[token, ("Host", "localhost")], BEGIN), 200);
    assert_eq!(server.post(&[token], &vec![b' '; 9 << 20]), 413);
    for body in [&b"{"[..], b"", b"[]", b"null", b"\xff\xfe"] {
        let code = server.post(&[token], body);
        assert!((400..500).contains(&code), "{code} for {body:?}");
    }
    assert_eq!(server.post(&[token], BEGIN), 200);
}

#[test]
fn other_machines_and_tokens_that_are_short_or_known_are_refused() {
    let cluster = TestCluster::start();
    let mcp = |further: &[&str]| run(cluster.environment(Command::new(TENURE).arg("mcp").args(further)), "");
    mcp(&["--listen", "0.0.0.0:0"]).fails_with("listen on 127.0.0.1");
    let file = cluster.home.path().join("token");
    let permit = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("a file of ours");
    fs::write(&file, "a-token-that-is-long-enough-but-not-private\n").expect("a file");
    permit(0o644);
    mcp(&["--listen", "127.0.0.1:0", "--token-file", &file.to_string_lossy()]).fails_with("chmod 600");
    fs::write(&file, "short\n").expect("a file");
    permit(0o600);
    mcp(&["--listen", "127.0.0.1:0", "--token-file", &file.to_string_lossy()]).fails_with("too short");
    mcp(&["--token-file", &file.to_string_lossy()]).fails_with("--listen");
}
