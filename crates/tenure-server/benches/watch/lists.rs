//! The cost of a list of many objects, the first time and repeated.

use crate::server::{Server, Transport};
use std::time::Instant;

const PODS: &str = "/api/v1/namespaces/default/pods";

/// Measures a list of many pods, the first time and repeated.
pub fn list(count: usize) {
    let server = Server::start(Transport::Plain);
    let containers = r#"[{"name":"web","image":"registry.example.com/web:1.25","ports":[{"containerPort":80}],"env":[{"name":"MODE","value":"production"}],"resources":{"requests":{"cpu":"100m","memory":"128Mi"}}},{"name":"side","image":"registry.example.com/side:2"}]"#;
    for at in 0..count {
        let pod = format!(
            r#"{{"metadata":{{"name":"pod-{at}","labels":{{"app":"a{}"}}}},"spec":{{"nodeName":"n{}","containers":{containers}}}}}"#,
            at % 10,
            at % 100
        );
        server.send("POST", PODS, "", &pod);
    }
    let before = server.memory();
    for (what, headers, query) in [
        ("JSON", "", ""),
        ("protobuf", "Accept: application/vnd.kubernetes.protobuf\r\n", ""),
        ("JSON without managers", "Accept: application/json;drop=metadata.managedFields\r\n", ""),
        (
            "protobuf without managers",
            "Accept: application/vnd.kubernetes.protobuf;drop=metadata.managedFields\r\n",
            "",
        ),
        (
            "metadata alone",
            "Accept: application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io\r\n",
            "",
        ),
        ("by a label", "", "?labelSelector=app%3Da3"),
        ("a page of 500", "", "?limit=500"),
    ] {
        let path = format!("{PODS}{query}");
        let cost = |rounds: u32| {
            let (time, start) = (server.time(), Instant::now());
            let mut bytes = 0;
            for _ in 0..rounds {
                bytes = server.send("GET", &path, headers, "").len();
            }
            let (user, system) = server.time();
            let cpu = (user + system - time.0 - time.1) * 1e3 / f64::from(rounds);
            (cpu, start.elapsed().as_secs_f64() * 1e3 / f64::from(rounds), bytes as f64 / 1e6)
        };
        let first = cost(1);
        // Often, as the kernel counts the time in hundredths of a second.
        let then = cost(200);
        println!(
            "list of {count} pods, {what}: {:.1} MB; first {:.0} ms of the server's processor, then {:.1} ms ({:.1} ms until the client has it)",
            then.2, first.0, then.0, then.1
        );
    }
    println!(
        "resident: {:.0} MB before the lists, {:.0} MB after",
        before / 1024.0,
        server.memory() / 1024.0
    );
}
