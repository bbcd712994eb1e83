//! Floods of reads that are cheap to ask for: large objects in expensive formats, and watches that a change wakes all at once.

use super::server::{Attack, HealthProbe, JSON, Target};
use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn create(target: &Target, name: &str, data: &str) {
    let map = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{{data}}}}}"#
    );
    let (code, text) =
        target.send(&Attack::new("create", ("POST", MAPS), JSON, map).bytes()).expect("an answer");
    assert_eq!(code, 201, "{}", &text[..text.len().min(300)]);
}

#[test]
fn large_objects_as_yaml_do_not_delay_others() {
    let target = Target::in_memory();
    let lines =
        super::bodies::list(20_000, |at| format!(r#""key-{at}":"{}""#, "a line: of text\\n".repeat(3)));
    create(&target, "large", &lines);
    let health = HealthProbe::start(target.address.clone());
    for accept in ["application/yaml", "application/json;as=Table;v=v1;g=meta.k8s.io"] {
        let request = format!(
            "GET {MAPS}/large?includeObject=Object HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\nConnection: close\r\n\r\n"
        );
        thread::scope(|scope| {
            for _ in 0..40 {
                scope.spawn(|| {
                    let (code, text) = target.send(request.as_bytes()).expect("an answer");
                    assert_eq!(code, 200, "{accept}: {}", &text[..text.len().min(300)]);
                });
            }
        });
    }
    assert_eq!(health.stop(), Vec::<String>::new());
}

#[test]
fn thousands_of_matching_watches_do_not_delay_others() {
    let target = Target::in_memory();
    create(&target, "first", "");
    let watches: Vec<TcpStream> = (0..5_000)
        .map(|_| {
            let mut stream = target.connect();
            write!(stream, "GET {MAPS}?watch=1&resourceVersion=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
                .expect("it is sent");
            let mut first = [0; 12];
            stream.read_exact(&mut first).expect("the head of a response");
            assert_eq!(&first, b"HTTP/1.1 200");
            stream
        })
        .collect();
    let health = HealthProbe::start(target.address.clone());
    for at in 0..20 {
        create(&target, &format!("map-{at}"), "");
    }
    // Everyone has seen the last change.
    for mut stream in watches {
        let mut seen = Vec::new();
        let mut buffer = [0; 16 * 1024];
        while !String::from_utf8_lossy(&seen).contains("\"map-19\"") {
            let count = stream.read(&mut buffer).expect("events");
            assert!(count > 0, "the watch ended");
            seen.extend_from_slice(&buffer[..count]);
        }
    }
    assert_eq!(health.stop(), Vec::<String>::new());
}
