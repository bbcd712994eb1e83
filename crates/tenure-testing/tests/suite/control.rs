//! The endpoints for other languages.

use crate::{Outcome, map};
use serde_json::{Value, json};
use tenure_testing::{ControlSocket, TestServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Sends a request; returns the code and the document.
async fn request(
    url: &str,
    method: &str,
    path: &str,
    body: Value,
) -> Result<(u16, Value), Box<dyn std::error::Error>> {
    let address = url.trim_start_matches("http://").split('/').next().ok_or("no address")?;
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    let (head, body) = response.split_once("\r\n\r\n").ok_or("no head")?;
    let code = head.split(' ').nth(1).ok_or("no code")?.parse()?;
    Ok((code, serde_json::from_str(body).unwrap_or(Value::Null)))
}

#[tokio::test]
async fn other_languages_fork_restore_move_time_and_inject_faults() -> Outcome {
    const MAPS: &str = "/api/v1/namespaces/default/configmaps";
    let server = TestServer::builder().seed(1).start().await?;
    let socket = server.listen().await?;
    let main = socket.url();
    let control = ControlSocket::open(server, socket, "127.0.0.1:0".parse()?).await?;
    let url = control.url();
    let (code, made) = request(&main, "POST", MAPS, map("a", "1")).await?;
    assert_eq!(code, 201, "{made}");

    let (code, fork) = request(&url, "POST", "/testing/fork", Value::Null).await?;
    assert_eq!((code, &fork["server"]), (200, &json!("fork-1")), "{fork}");
    let forked = fork["url"].as_str().ok_or("no url")?;
    assert_eq!(request(forked, "DELETE", &format!("{MAPS}/a"), Value::Null).await?.0, 200);
    assert_eq!(request(forked, "GET", &format!("{MAPS}/a"), Value::Null).await?.0, 404);
    assert_eq!(request(&main, "GET", &format!("{MAPS}/a"), Value::Null).await?.0, 200);

    let (_, taken) = request(&url, "POST", "/testing/snapshot", json!({"server": "main"})).await?;
    request(&main, "POST", MAPS, map("b", "")).await?;
    let (code, _) = request(&url, "POST", "/testing/restore", json!({"snapshot": taken["snapshot"]})).await?;
    assert_eq!((code, request(&main, "GET", &format!("{MAPS}/b"), Value::Null).await?.0), (200, 404));

    let revision = made["metadata"]["resourceVersion"].as_str().ok_or("no version")?.parse::<u64>()?;
    let (code, view) = request(&url, "POST", "/testing/at", json!({"revision": revision})).await?;
    assert_eq!(code, 200, "{view}");
    assert_eq!(request(view["url"].as_str().ok_or("no url")?, "POST", MAPS, map("d", "")).await?.0, 405);

    let (_, clock) = request(&url, "POST", "/testing/clock", json!({"advance": "1h30m"})).await?;
    assert_eq!(clock["now"], "2026-01-01T01:30:00Z");
    assert_eq!(
        request(&url, "GET", "/testing/clock?server=fork-1", Value::Null).await?.1["now"],
        "2026-01-01T00:00:00Z"
    );

    // Short names select as kinds do.
    let fault = json!({"effect": "internalError", "verb": ["create"], "kind": "cm", "times": 1});
    assert_eq!(request(&url, "POST", "/testing/faults", fault).await?.0, 200);
    let (_, faults) = request(&url, "GET", "/testing/faults", Value::Null).await?;
    let shown = json!({"effect": "internalError", "verb": ["create"], "kind": "ConfigMap", "times": 1, "fault": 1, "hits": 0});
    assert_eq!(faults["faults"], json!([shown]));
    assert_eq!(request(&main, "POST", MAPS, map("c", "")).await?.0, 500);
    assert_eq!(request(&main, "POST", MAPS, map("c", "")).await?.0, 201);
    let (_, writes) = request(&url, "GET", "/testing/writes?since=1", Value::Null).await?;
    let names: Vec<&Value> =
        writes["writes"].as_array().ok_or("no writes")?.iter().map(|write| &write["name"]).collect();
    assert_eq!(names, ["c"], "{writes}");

    assert_eq!(request(&url, "POST", "/testing/settle", Value::Null).await?.0, 200);
    assert_eq!(request(&url, "DELETE", "/testing/servers/fork-1", Value::Null).await?.0, 200);
    assert_eq!(
        request(&url, "GET", "/testing", Value::Null).await?.1["servers"].as_array().map(Vec::len),
        Some(2)
    );
    let snapshots = async || {
        Ok::<_, Box<dyn std::error::Error>>(
            request(&url, "GET", "/testing", Value::Null).await?.1["snapshots"].clone(),
        )
    };
    assert_eq!(snapshots().await?, json!([taken]));
    assert_eq!(request(&url, "DELETE", "/testing/snapshots/snapshot-1", Value::Null).await?.0, 200);
    assert_eq!(snapshots().await?, json!([]));
    Ok(())
}

#[tokio::test]
async fn errors_of_wrong_requests_name_the_remedy() -> Outcome {
    let server = TestServer::start().await?;
    let socket = server.listen().await?;
    let control = ControlSocket::open(server, socket, "127.0.0.1:0".parse()?).await?;
    let cases = [
        ("POST", "/testing/clock", json!({"advance": "soon"}), 400, "a duration such as"),
        ("POST", "/testing/clock", json!({}), 400, "\"advance\" is missing"),
        ("POST", "/testing/clock", json!({"advance": "1h", "by": 1}), 400, "unknown field \"by\""),
        ("POST", "/testing/faults", json!({"effect": "flood"}), 400, "use one of latency, conflict"),
        (
            "POST",
            "/testing/faults",
            json!({"effect": "conflict", "verb": "put"}),
            400,
            "unknown verb \"put\"",
        ),
        (
            "POST",
            "/testing/faults",
            json!({"effect": "conflict", "kind": "cmap"}),
            400,
            "no kind \"cmap\" is served",
        ),
        ("DELETE", "/testing/snapshots/x", Value::Null, 404, "no snapshot \"x\""),
        ("POST", "/testing/fork", json!({"server": "x"}), 404, "no server \"x\""),
        ("POST", "/testing/restore", json!({"snapshot": "x"}), 404, "no snapshot \"x\""),
        ("POST", "/testing/fork", json!([1]), 400, "must be a JSON object"),
        ("DELETE", "/testing/faults/7", Value::Null, 404, "has no fault 7"),
        ("DELETE", "/testing/servers/main", Value::Null, 400, "ends with the process"),
        ("GET", "/other", Value::Null, 404, "no such endpoint"),
    ];
    for (method, path, body, code, message) in cases {
        let (got, response) = request(&control.url(), method, path, body.clone()).await?;
        let text = response["message"].as_str().unwrap_or_default();
        assert!(got == code && text.contains(message), "{method} {path} {body}: {got} {text}");
    }
    Ok(())
}
