//! Connections that are opened and not used, bodies that do not arrive, and responses that are not read.

use super::server::{Attack, HealthProbe, JSON, Target, is_live};
use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::Duration,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[test]
fn idle_connections_do_not_block_other_clients() {
    let target =
        Target::with(&["--in-memory", "--max-connections", "50", "--max-connections-per-address", "50"]);
    let mut idle: Vec<TcpStream> = Vec::new();
    for number in 0..200 {
        let mut stream = target.connect();
        match number % 4 {
            // The beginnings of HTTP/1 and HTTP/2, and nothing at all.
            0 => drop(stream.write_all(b"GET /livez HTTP/1.1\r\n")),
            1 => drop(stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")),
            2 => drop(stream.write_all(b"P")),
            _ => {}
        }
        idle.push(stream);
        if number % 20 == 0 {
            assert!(is_live(&target.address), "with {number} connections");
        }
    }
    let (code, text) = target
        .send(format!("GET {MAPS} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())
        .expect("an answer");
    assert_eq!(code, 200, "{text}");
}

#[test]
fn health_checks_are_answered_when_all_connections_are_busy() {
    let target =
        Target::with(&["--in-memory", "--max-connections", "20", "--max-connections-per-address", "20"]);
    let watches: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = target.connect();
            write!(stream, "GET {MAPS}?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it is sent");
            let mut first = [0; 12];
            stream.read_exact(&mut first).expect("the head of a response");
            assert_eq!(&first, b"HTTP/1.1 200");
            stream
        })
        .collect();
    assert!(is_live(&target.address));
    let request = format!("GET {MAPS} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let (code, text) = target.send(request.as_bytes()).expect("an answer");
    assert_eq!(code, 429, "{text}");
    assert!(text.to_lowercase().contains("retry-after: 1"), "{text}");
    drop(watches);
}

#[test]
fn withheld_bodies_occupy_no_more_than_the_budget() {
    let target = Target::with(&["--in-memory", "--max-inflight-bytes", "20000000"]);
    let health = HealthProbe::start(target.address.clone());
    let before = target.resident();
    let body = vec![b' '; 2_000_000];
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON}\r\nContent-Length: 2900000\r\n\r\n"
    );
    let withheld: Vec<TcpStream> = (0..60)
        .map(|_| {
            let mut stream = target.connect();
            stream.set_write_timeout(Some(Duration::from_secs(5))).expect("a timeout");
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
            stream
        })
        .collect();
    // Further connections are refused at once.
    let refused = withheld.iter().filter(|stream| {
        let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
        let mut head = [0; 12];
        (&**stream).read_exact(&mut head).is_ok() && &head == b"HTTP/1.1 429"
    });
    let refused = refused.count();
    let grown = target.resident().saturating_sub(before);
    assert!(refused >= 40, "{refused} of 60 were refused");
    assert!(grown < 120 << 20, "{} MiB", grown >> 20);
    // Small requests are served throughout.
    let small = Attack::new(
        "small",
        ("POST", MAPS),
        JSON,
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"small"}}"#,
    );
    let (code, text) = target.send(&small.bytes()).expect("an answer");
    assert_eq!(code, 201, "{text}");
    assert_eq!(health.stop(), Vec::<String>::new());
}

#[test]
fn unread_lists_occupy_no_more_than_the_budget() {
    let target = Target::with(&["--in-memory", "--max-inflight-bytes", "150000000"]);
    // Together they are too large for the cache of lists.
    let data = "x".repeat(900_000);
    for number in 0..50 {
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m{number}"}},"data":{{"a":"{data}"}}}}"#
        );
        let attack = Attack::new("create", ("POST", MAPS), JSON, body);
        let (code, text) = target.send(&attack.bytes()).expect("an answer");
        assert_eq!(code, 201, "{}", &text[..text.len().min(300)]);
    }
    // JSON is sent while it is made. Protobuf begins with its length, so it is made first and counted.
    for (format, refusals, most) in [("json", 0..1, 128 << 20), ("vnd.kubernetes.protobuf", 1..16, 400 << 20)]
    {
        let get = format!("GET {MAPS} HTTP/1.1\r\nHost: localhost\r\nAccept: application/{format}\r\n");
        let before = target.resident();
        let unread: Vec<(TcpStream, bool)> = (0..16)
            .map(|_| {
                let mut stream = target.connect();
                write!(stream, "{get}\r\n").expect("it is sent");
                let mut head = [0; 12];
                stream.read_exact(&mut head).expect("the head of a response");
                let is_refused = &head == b"HTTP/1.1 429";
                (stream, is_refused)
            })
            .collect();
        let refused = unread.iter().filter(|(_, is_refused)| *is_refused).count();
        let grown = target.resident().saturating_sub(before);
        assert!(refusals.contains(&refused), "{format}: {refused} were refused");
        assert!(grown < most, "{format}: {} MiB", grown >> 20);
        assert!(is_live(&target.address));
        // Closing the connections releases the memory.
        drop(unread);
        let is_served = (0..100).any(|_| {
            let (code, _) =
                target.send(format!("{get}Connection: close\r\n\r\n").as_bytes()).expect("an answer");
            if code != 200 {
                thread::sleep(Duration::from_millis(100));
            }
            code == 200
        });
        assert!(is_served, "{format}: the memory did not return");
    }
}

#[test]
fn heavy_requests_do_not_delay_health_checks_or_the_stop() {
    let mut target = Target::in_memory();
    let env: Vec<String> = (0..12_000).map(|at| format!(r#"{{"name":"V{at}","value":"x"}}"#)).collect();
    let pod = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"c","image":"i","env":[{}]}}]}}}}"#,
        env.join(",")
    );
    let request =
        Attack::new("heavy", ("POST", "/api/v1/namespaces/default/pods?dryRun=All"), JSON, pod).bytes();
    let health = HealthProbe::start(target.address.clone());
    thread::scope(|scope| {
        let senders: Vec<_> =
            (0..12).map(|_| scope.spawn(|| target.send(&request).map(|(code, _)| code))).collect();
        for sender in senders {
            assert_eq!(sender.join().expect("a sender"), Some(201));
        }
    });
    assert_eq!(health.stop(), Vec::<String>::new());
    // Requests are running and connections are open while the server is told to stop.
    let open: Vec<TcpStream> = (0..8)
        .map(|number| {
            let mut stream = target.connect();
            if number % 2 == 0 {
                let _ = stream.write_all(&request);
            }
            stream
        })
        .collect();
    let time = target.terminate();
    assert!(time < Duration::from_secs(20), "{time:?}");
    drop(open);
}

/// Returns a frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Returns the head of a POST whose body has 60,000 bytes, with names of the static table and literal values.
fn head_of_post() -> Vec<u8> {
    // `:method: POST` and `:scheme: http`.
    let mut head = vec![0x83, 0x86];
    for (name, value) in
        [(&[0x04_u8][..], MAPS), (&[0x01], "localhost"), (&[0x0f, 0x10], JSON), (&[0x0f, 0x0d], "60000")]
    {
        head.extend_from_slice(name);
        head.push(value.len() as u8);
        head.extend_from_slice(value.as_bytes());
    }
    head
}

#[test]
fn many_streams_with_withheld_bodies_occupy_no_more_than_the_budget() {
    let target = Target::with(&["--in-memory", "--max-inflight-bytes", "20000000"]);
    let before = target.resident();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(4, 0, 0, &[]));
    for stream in 0..900 {
        // The head ends, the body does not.
        bytes.extend(frame(1, 4, 2 * stream + 1, &head_of_post()));
        bytes.extend(frame(0, 0, 2 * stream + 1, &[b' '; 50]));
    }
    let open: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = target.connect();
            stream.set_write_timeout(Some(Duration::from_secs(20))).expect("a timeout");
            let _ = stream.write_all(&bytes);
            stream
        })
        .collect();
    // The server has seen all of them when it answers this.
    assert!(is_live(&target.address));
    let grown = target.resident().saturating_sub(before);
    assert!(grown < 200 << 20, "{} MiB", grown >> 20);
    let small = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"small"}}"#;
    let get = format!("GET {MAPS} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!(target.send(get.as_bytes()).expect("an answer").0, 200);
    drop(open);
    for _ in 0..100 {
        let attack = Attack::new("small", ("POST", MAPS), JSON, small);
        let (code, text) = target.send(&attack.bytes()).expect("an answer");
        if code != 429 {
            assert_eq!(code, 201, "{text}");
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("the memory did not return");
}
