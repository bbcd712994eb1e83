//! Bodies that are not documents, too large, or documents of another kind.

use super::{Bad, JSON, PATH, YAML, bad, check, post};
use crate::http::Request;

/// Writes `a: [*z, *z, …]` over several levels: few bytes that expand to very many.
fn bomb() -> String {
    let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 10].join(",");
        text += &format!("a{level}: &a{level} [{below}]\n");
    }
    text + "kind: ConfigMap\nmetadata: {name: bomb}\n"
}

fn nested(open: &str, close: &str, times: usize) -> String {
    format!(r#"{{"metadata":{{"name":"deep"}},"data":{}{}}}"#, open.repeat(times), close.repeat(times))
}

fn with_metadata(field: &str) -> Request {
    post(JSON, format!(r#"{{"metadata":{{"name":"bad",{field}}}}}"#))
}

#[test]
fn hostile_cbor_is_refused() {
    const CBOR: &str = "application/cbor";
    let whole = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"},"data":{"k":"v"}}"#;
    let whole = tenure_codec::cbor::encode(&whole.parse().expect("a document"));
    let with = |field: &[u8], name: &str| {
        let mut body = b"\xa3\x48metadata\xa1\x44name\x43bad\x41".to_vec();
        body.extend_from_slice(name.as_bytes());
        [&body[..], field, b"\x44kind\x49ConfigMap"].concat()
    };
    let mut table: Vec<Bad> = (0..whole.len())
        .map(|at| bad(format!("cut at {at}"), post(CBOR, &whole[..at]), "unexpected end of the document"))
        .collect();
    for (about, body, says) in [
        ("two documents", [whole.clone(), whole.clone()].concat(), "after the end of the document"),
        ("a key twice", b"\xa2\x41a\x01\x41a\x02".to_vec(), "byte 4: found duplicate map key \"a\""),
        ("a key twice in a list", with(b"\x81\xa2\x41a\x01\x61a\x02", "x"), "in x[0]: found duplicate"),
        ("invalid UTF-8 in text", with(b"\x62\xff\xfe", "x"), "in x: invalid UTF-8 string"),
        ("invalid UTF-8 in bytes", with(b"\x42\xff\xfe", "x"), "in x: invalid UTF-8 string"),
        ("a key that is a number", with(b"\xa1\x01\x02", "x"), "map key must be a string"),
        ("NaN", with(b"\xf9\x7e\x00", "x"), "NaN"),
        ("infinity", with(b"\xf9\x7c\x00", "x"), "infinity"),
        ("a bignum", with(b"\xc2\x41\x01", "x"), "bignum"),
        ("a large integer", with(b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff", "x"), "64 signed bits"),
        ("undefined", with(b"\xf7", "x"), "simple value 23"),
        ("a list without end", with(b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff", "x"), "cbor: byte"),
        ("a map without end", with(b"\xbb\xff\xff\xff\xff\xff\xff\xff\xff", "x"), "cbor: byte"),
        ("a string without end", with(b"\x5b\xff\xff\xff\xff\xff\xff\xff\xff", "x"), "unexpected end"),
        ("deep lists", b"\x81".repeat(1_000_000), "levels deep"),
        ("deep maps", b"\xa1\x40".repeat(1_000_000), "levels deep"),
        ("deep tags", b"\xd6".repeat(1_000_000), "levels deep"),
        ("open lists", b"\x9f".repeat(1_000_000), "levels deep"),
        (
            "many values",
            [&b"\x9a\x00\x1e\x84\x80"[..], &[0xf6; 2_000_000]].concat(),
            "more than 400000 values",
        ),
        ("too many bytes", vec![0x60; 4 << 20], ""),
        ("JSON", br#"{"metadata":{"name":"bad"}}"#.to_vec(), "cbor: byte"),
        ("a list", b"\x80".to_vec(), ""),
        ("a string", b"\x41a".to_vec(), ""),
        ("a wrong type", with(b"\x01", "x").replace_name(), "immutable"),
    ] {
        table.push(bad(about, post(CBOR, body), says));
    }
    let apply = |body: &[u8]| {
        Request::new("PATCH", "/api/v1/namespaces/default/configmaps/bad?fieldManager=m")
            .body("application/apply-patch+cbor", body)
    };
    table.push(bad(
        "an apply with a key twice",
        apply(b"\xa2\x41a\x01\x41a\x02"),
        "error decoding patch: cbor: byte 4",
    ));
    table.push(bad("an apply of a list", apply(b"\x80"), "expected an object"));
    table.push(bad("an apply of JSON", apply(b"{}"), "error decoding patch"));
    check(table, 80);
}

/// Makes the field of a body one that a ConfigMap has.
trait ReplaceName {
    fn replace_name(self) -> Vec<u8>;
}

impl ReplaceName for Vec<u8> {
    fn replace_name(self) -> Vec<u8> {
        let at = self.windows(3).position(|window| window == b"\x41x\x01").expect("the field");
        [&self[..at], b"\x49immutable", &self[at + 2..]].concat()
    }
}

#[test]
fn bodies_that_are_not_documents_are_refused() {
    let whole = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"},"data":{"k":"v"}}"#;
    let cut = |at: usize| bad(format!("cut at {at}"), post(JSON, &whole[..at]), "unrecognized");
    let mut table: Vec<Bad> = [0, 1, 2, 15, 30, 50, 70, 79].map(cut).into();
    let invalid = |bytes: &[u8]| [br#"{"metadata":{"name":"bad"},"data":{"k":""#, bytes, br#""}}"#].concat();
    for (about, body) in [
        ("invalid UTF-8", invalid(b"\xff\xfe")),
        ("a cut UTF-8 sequence", invalid(b"\xe2\x82")),
        ("an overlong UTF-8 sequence", invalid(b"\xc0\xaf")),
        ("a surrogate in UTF-8", invalid(b"\xed\xa0\x80")),
        ("a control character", invalid(b"\x01")),
        ("an unknown escape", invalid(br"\q")),
        ("a cut escape", invalid(br"\u12")),
        ("UTF-16", "{\"metadata\":{}}".encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("zeros", vec![0; 1000]),
        ("a comma too many", br#"{"metadata":{"name":"bad"},}"#.to_vec()),
        ("single quotes", br#"{'metadata':{'name':'bad'}}"#.to_vec()),
        ("two documents", br#"{"metadata":{"name":"bad"}}{"metadata":{"name":"worse"}}"#.to_vec()),
        ("a list", b"[]".to_vec()),
        ("a string", br#""bad""#.to_vec()),
        ("a number", b"1".to_vec()),
        ("not a number", br#"{"metadata":{"name":"bad"},"data":NaN}"#.to_vec()),
        ("a number with a leading zero", br#"{"metadata":{"name":"bad"},"x":01}"#.to_vec()),
        ("a number beyond all", br#"{"metadata":{"name":"bad"},"x":1e999999}"#.to_vec()),
    ] {
        table.push(bad(about, post(JSON, body), "must be of type ConfigMap"));
    }
    for (about, body) in [
        ("deep lists", nested("[", "]", 100_000)),
        ("deep objects", nested("{\"a\":", "}", 100_000).replace(":}", ":1}")),
        ("deep and open", "[".repeat(1_000_000)),
    ] {
        table.push(bad(about, post(JSON, body), "must be of type ConfigMap"));
    }
    for (about, body) in [
        ("a bomb of anchors", bomb()),
        ("an anchor in itself", "metadata: &a {name: bad, labels: *a}".into()),
        ("an unknown anchor", "metadata: *nowhere".into()),
        ("deep flow lists", format!("data: {}", "[".repeat(100_000))),
        ("deep block lists", format!("data:\n {}", "- ".repeat(100_000))),
        ("tabs for indentation", "metadata:\n\tname: bad".into()),
        ("a mapping in a scalar", "a: b: c".into()),
        ("an open quote", "metadata: {name: \"bad".into()),
    ] {
        table.push(bad(about, post(YAML, body), "must be of type ConfigMap"));
    }
    check(table, 37);
}

#[test]
fn documents_of_something_else_are_refused() {
    let mut table = Vec::new();
    for field in [
        r#""labels":[]"#,
        r#""labels":{"a":1}"#,
        r#""labels":{"a b":"c"}"#,
        r#""labels":{"a":"b c"}"#,
        r#""labels":{"a/b/c":"d"}"#,
        r#""annotations":"x""#,
        r#""annotations":{"a b":"c"}"#,
        r#""finalizers":"x""#,
        r#""finalizers":[1]"#,
        r#""finalizers":["no-domain"]"#,
        r#""ownerReferences":{}"#,
        r#""ownerReferences":[{"apiVersion":"v1","kind":"Pod"}]"#,
        r#""ownerReferences":["x"]"#,
        r#""managedFields":"x""#,
        r#""generation":"x""#,
        r#""creationTimestamp":5"#,
        r#""creationTimestamp":"yesterday""#,
        r#""resourceVersion":"5""#,
        r#""namespace":"other""#,
        r#""namespace":7"#,
        r#""uid":{}"#,
    ] {
        table.push(bad(field, with_metadata(field), ""));
    }
    for name in [
        "1",
        "\"\"",
        "\"Bad\"",
        "\"a_b\"",
        "\"a/b\"",
        "\"..\"",
        "\"a\\u0000b\"",
        "\"-a\"",
        "\"a.\"",
        "{}",
        "null",
        "\"ä\"",
    ] {
        let body = format!(r#"{{"metadata":{{"name":{name}}}}}"#);
        table.push(bad(format!("name {name}"), post(JSON, body), ""));
    }
    let long = |field: &str, size: usize| {
        let long = "a".repeat(size);
        post(JSON, field.replace('…', &long))
    };
    for (about, field, size) in [
        ("a long name", r#"{"metadata":{"name":"…"}}"#, 254),
        ("a long label", r#"{"metadata":{"name":"bad","labels":{"a":"…"}}}"#, 64),
        ("a long label's name", r#"{"metadata":{"name":"bad","labels":{"…":"a"}}}"#, 64),
        ("long annotations", r#"{"metadata":{"name":"bad","annotations":{"a":"…"}}}"#, 262_144),
        ("a long name in the data", r#"{"metadata":{"name":"bad"},"data":{"…":"a"}}"#, 254),
        ("much data", r#"{"metadata":{"name":"bad"},"data":{"a":"…"}}"#, 1_048_577),
        ("too large a body", r#"{"metadata":{"name":"bad"},"data":{"a":"…"}}"#, 4_000_000),
        ("far too large a body", r#"{"metadata":{"name":"bad"},"data":{"a":"…"}}"#, 30_000_000),
    ] {
        table.push(bad(about, long(field, size), ""));
    }
    let fields: Vec<String> = (0..250_000).map(|at| format!("\"{at}\":0")).collect();
    let many = format!("{{{}}}", fields.join(","));
    table.push(bad("more fields than anyone needs", post(JSON, many), ""));
    for (body, says) in [
        (r#"{"kind":"Secret","apiVersion":"v1","metadata":{"name":"bad"}}"#, "Secret"),
        (r#"{"kind":"ConfigMap","apiVersion":"v9","metadata":{"name":"bad"}}"#, "v9"),
        (r#"{"kind":7,"metadata":{"name":"bad"}}"#, ""),
        (r#"{"apiVersion":[],"metadata":{"name":"bad"}}"#, ""),
        (r#"{"metadata":[]}"#, ""),
        (r#"{"metadata":"x"}"#, ""),
        (r#"{}"#, "name"),
        (r#"{"metadata":{"name":"bad"},"data":[]}"#, "data"),
        (r#"{"metadata":{"name":"bad"},"data":{"a":{}}}"#, "data"),
        (r#"{"metadata":{"name":"bad"},"data":{"a b":"c"}}"#, "data"),
        (r#"{"metadata":{"name":"bad"},"binaryData":{"a":"*"}}"#, ""),
        (r#"{"metadata":{"name":"bad"},"data":{"a":"b"},"binaryData":{"a":"YQ=="}}"#, "a"),
        (r#"{"metadata":{"name":"bad"},"immutable":"yes"}"#, "immutable"),
    ] {
        table.push(bad(body, post(JSON, body), says));
    }
    for (path, body, says) in [
        (
            "/api/v1/namespaces/default/pods",
            r#"{"metadata":{"name":"bad"},"spec":{"containers":[]}}"#,
            "containers",
        ),
        (
            "/api/v1/namespaces/default/pods",
            r#"{"metadata":{"name":"bad"},"spec":{"containers":[{"name":"c","image":"a","resources":{"limits":{"cpu":"much"}}}]}}"#,
            "",
        ),
        (
            "/api/v1/namespaces/default/services",
            r#"{"metadata":{"name":"bad"},"spec":{"ports":[{"port":70000}]}}"#,
            "port",
        ),
        (
            "/api/v1/namespaces/default/services",
            r#"{"metadata":{"name":"bad"},"spec":{"ports":[{"port":1}],"clusterIP":"999.1.1.1"}}"#,
            "clusterIP",
        ),
        (
            "/apis/apps/v1/namespaces/default/deployments",
            r#"{"metadata":{"name":"bad"},"spec":{"replicas":99999999999}}"#,
            "replicas",
        ),
        ("/api/v1/namespaces/nowhere/configmaps", r#"{"metadata":{"name":"bad"}}"#, "nowhere"),
        ("/api/v1/configmaps", r#"{"metadata":{"name":"bad"}}"#, ""),
    ] {
        table.push(bad(body, Request::new("POST", path).body(JSON, body), says));
    }
    let strict = Request::new("POST", &format!("{PATH}?fieldValidation=Strict"));
    let twice = r#"{"metadata":{"name":"bad","name":"worse"}}"#;
    table.push(bad("a name twice", strict.clone().body(JSON, twice), "duplicate"));
    table.push(bad("an unknown field", strict.body(JSON, r#"{"metadata":{"name":"bad"},"nope":1}"#), "nope"));
    for media_type in [
        "text/plain",
        "application/xml",
        "application/cbor-seq",
        "multipart/form-data; boundary=x",
        "nonsense",
        ";;;",
        "application/json-patch+json",
    ] {
        table.push(bad(media_type, post(media_type, r#"{"metadata":{"name":"bad"}}"#), "format"));
    }
    check(table, 70);
}
