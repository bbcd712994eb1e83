//! Bodies that no client writes: deep, long, repeated, expanding, broken.

use super::server::{Attack, JSON, YAML};

const MAPS: (&str, &str) =
    ("POST", "/api/v1/namespaces/default/configmaps?dryRun=All&fieldValidation=Strict");
const PODS: (&str, &str) = ("POST", "/api/v1/namespaces/default/pods?dryRun=All&fieldValidation=Strict");

/// How many of something small a body has.
const MANY: usize = 30_000;

fn map_with(field: &str) -> String {
    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m"}},{field}}}"#)
}

pub fn attacks() -> Vec<Attack> {
    let mut attacks = Vec::new();
    let mut add = |name: &str, target, media_type, body: Vec<u8>| {
        attacks.push(Attack::new(name, target, media_type, body));
    };
    let deep =
        |open: &str, close: &str, depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
    let json: [(&str, String); 31] = [
        ("deep lists", deep("[", "]", 150_000)),
        ("deep lists without end", "[".repeat(300_000)),
        ("deep objects", deep("{\"a\":", "}", 50_000)),
        ("deep objects without end", "{\"a\":".repeat(100_000)),
        ("lists just deep enough in data", map_with(&format!("\"data\":{{\"a\":{}}}", deep("[", "]", 190)))),
        (
            "objects just deep enough in an unknown field",
            map_with(&format!("\"x\":{}", deep("{\"a\":", "}", 190))),
        ),
        ("long string", map_with(&format!("\"data\":{{\"a\":\"{}\"}}", "x".repeat(900_000)))),
        ("long escaped string", map_with(&format!("\"data\":{{\"a\":\"{}\"}}", "\\u0000".repeat(80_000)))),
        ("long key", map_with(&format!("\"data\":{{\"{}\":\"\"}}", "x".repeat(500_000)))),
        ("many keys", map_with(&format!("\"data\":{{{}}}", list(MANY, |at| format!("\"k{at}\":\"\""))))),
        ("many equal keys", map_with(&format!("\"data\":{{{}}}", list(MANY, |_| "\"k\":\"\"".into())))),
        (
            "many pairs of equal keys",
            map_with(&format!("\"data\":{{{}}}", list(MANY, |at| format!("\"k{}\":\"\"", at / 2)))),
        ),
        (
            "many invalid keys",
            map_with(&format!("\"data\":{{{}}}", list(MANY, |at| format!("\" {at}\":\"\"")))),
        ),
        ("many unknown fields", map_with(&list(MANY, |at| format!("\"k{at}\":1")))),
        (
            "many unknown fields below a long name",
            map_with(&format!("\"{}\":{{{}}}", "x".repeat(100_000), list(MANY, |at| format!("\"k{at}\":1")))),
        ),
        (
            "many fields of unknown metadata",
            format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m",{}}}}}"#,
                list(MANY, |at| format!("\"k{at}\":1"))
            ),
        ),
        (
            "many labels",
            format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m","labels":{{{}}}}}}}"#,
                list(MANY, |at| format!("\"k{at}\":\"v\""))
            ),
        ),
        (
            "many invalid labels",
            format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m","labels":{{{}}}}}}}"#,
                list(MANY, |at| format!("\"k{at}\":\"!\""))
            ),
        ),
        (
            "many annotations",
            format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m","annotations":{{{}}}}}}}"#,
                list(MANY, |at| format!("\"k{at}\":\"v\""))
            ),
        ),
        (
            "annotation of half a megabyte",
            format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m","annotations":{{"a":"{}"}}}}}}"#,
                "x".repeat(500_000)
            ),
        ),
        (
            "long name",
            format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"}}}}"#,
                "x".repeat(500_000)
            ),
        ),
        (
            "long generateName",
            format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"generateName":"{}"}}}}"#,
                "x".repeat(500_000)
            ),
        ),
        ("long kind", format!(r#"{{"apiVersion":"v1","kind":"{}"}}"#, "x".repeat(500_000))),
        ("long apiVersion", format!(r#"{{"apiVersion":"{}","kind":"ConfigMap"}}"#, "x/".repeat(250_000))),
        ("number of many digits", map_with(&format!("\"x\":{}", "9".repeat(500_000)))),
        ("number with a large exponent", map_with("\"x\":1e999999999")),
        ("number with many leading fractions", map_with(&format!("\"x\":0.{}1", "0".repeat(400_000)))),
        ("many numbers", map_with(&format!("\"x\":[{}]", list(100_000, |_| "1e1".into())))),
        ("many spaces", format!("{}{{}}", " ".repeat(1_000_000))),
        (
            "many managed fields",
            format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m","managedFields":[{}]}}}}"#,
                list(3_000, |at| format!(
                    r#"{{"manager":"m{at}","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{"f:k{at}":{{}}}}}}}}"#
                ))
            ),
        ),
        (
            "managed fields that are deep",
            format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m","managedFields":[{{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{}}}]}}}}"#,
                deep("{\"f:a\":", "}", 180).replace('1', "{}")
            ),
        ),
    ];
    for (name, body) in json {
        add(&format!("json: {name}"), MAPS, JSON, body.into_bytes());
    }
    for (name, body) in [
        ("nothing", b"".to_vec()),
        ("one NUL", b"\0".to_vec()),
        ("NULs", vec![0; 500_000]),
        ("a byte order mark", b"\xef\xbb\xbf{}".to_vec()),
        (
            "invalid UTF-8",
            map_with("\"x\":\"@\"")
                .replace('@', "\u{fffd}")
                .into_bytes()
                .iter()
                .map(|byte| if *byte == 0xef { 0xff } else { *byte })
                .collect(),
        ),
        ("half a surrogate pair", map_with(&format!("\"x\":\"{}\"", "\\ud800".repeat(50_000))).into_bytes()),
        ("null", b"null".to_vec()),
        ("a list", b"[]".to_vec()),
        ("many documents", "{}\n".repeat(100_000).into_bytes()),
        ("random bytes", (0..300_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()),
    ] {
        add(&format!("json: {name}"), MAPS, JSON, body);
    }
    let anchors = |depth: usize| -> String {
        let lines =
            (1..depth).map(|at| format!("a{at}: &a{at} [{}]\n", list(9, |_| format!("*a{}", at - 1))));
        format!("a0: &a0 [x,x,x,x,x,x,x,x,x]\n{}", lines.collect::<String>())
    };
    let yaml: [(&str, String); 18] = [
        ("aliases of aliases", anchors(12)),
        (
            "alias of a long string",
            format!("x: &a \"{}\"\ny: [{}]\n", "x".repeat(100_000), list(MANY, |_| "*a".into())),
        ),
        (
            "aliases of an object as keys",
            format!("x: &a {{b: c}}\n{}", (0..5_000).map(|at| format!("k{at}: *a\n")).collect::<String>()),
        ),
        ("many anchors", (0..MANY).map(|at| format!("k{at}: &a{at} 1\n")).collect()),
        (
            "chain of merge keys",
            format!(
                "a0: &a0 {{k0: 1}}\n{}",
                (1..2_000)
                    .map(|at| format!("a{at}: &a{at} {{<<: *a{}, k{at}: 1}}\n", at - 1))
                    .collect::<String>()
            ),
        ),
        ("merge of many", format!("a: &a {{k: 1}}\nb: {{<<: [{}]}}\n", list(20_000, |_| "*a".into()))),
        ("deep flow", deep("[", "]", 100_000)),
        ("deep flow objects", deep("{a: ", "}", 30_000)),
        ("deep blocks", (0..1_000).map(|at| format!("{}a:\n", " ".repeat(at))).collect()),
        ("deep sequences in one line", "- ".repeat(50_000)),
        ("deep questions", "? ".repeat(50_000)),
        ("many documents", "---\na: 1\n".repeat(20_000)),
        ("many directives", format!("{}---\na: 1\n", "%FOO bar\n".repeat(20_000))),
        ("many tags", (0..MANY).map(|at| format!("k{at}: !!str 1\n")).collect()),
        ("long folded text", format!("a: >\n{}", "  x\n".repeat(100_000))),
        ("long comment", format!("# {}\na: 1\n", "x".repeat(500_000))),
        ("unfinished quote", format!("a: \"{}", "x\n".repeat(100_000))),
        ("tabs", "\t".repeat(200_000)),
    ];
    for (name, body) in yaml {
        add(&format!("yaml: {name}"), MAPS, YAML, body.into_bytes());
    }
    let magic = |rest: &[u8]| [b"k8s\0", rest].concat();
    for (name, body) in [
        ("no content", magic(b"")),
        ("wrong magic", b"k9s\0\x0a\x00".to_vec()),
        ("length beyond the end", magic(b"\x12\xff\xff\xff\xff\x0f")),
        ("endless number", magic(&[0xff; 100_000])),
        ("deep groups", magic(&[0x0b; 100_000])),
        ("many empty fields", magic(&[0x12, 0x00].repeat(100_000))),
        ("deep messages", {
            let mut body = Vec::new();
            for _ in 0..2_000 {
                let mut next = vec![0x0a];
                let mut length = body.len();
                while length > 0x7f {
                    next.push((length & 0x7f | 0x80) as u8);
                    length >>= 7;
                }
                next.push(length as u8);
                next.extend_from_slice(&body);
                body = next;
            }
            magic(&body)
        }),
    ] {
        add(&format!("protobuf: {name}"), PODS, "application/vnd.kubernetes.protobuf", body);
    }
    attacks
}

/// Joins items with commas.
pub fn list(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(",")
}
