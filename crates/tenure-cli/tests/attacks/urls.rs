//! Paths and parameters that no client sends.

use super::{
    bodies::list,
    server::{Attack, JSON},
};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub fn attacks() -> Vec<Attack> {
    let long = "x".repeat(20_000);
    [
        ("long path", format!("/{long}")),
        ("many segments", "/a".repeat(10_000)),
        ("many slashes", "/".repeat(20_000)),
        ("dots", "/../".repeat(2_000)),
        ("escaped slashes", format!("{MAPS}/{}", "%2f".repeat(5_000))),
        ("escaped NULs", format!("{MAPS}/{}", "%00".repeat(5_000))),
        ("escapes that are not UTF-8", format!("{MAPS}/{}", "%ff".repeat(5_000))),
        ("broken escapes", format!("{MAPS}/{}", "%".repeat(5_000))),
        ("long name", format!("{MAPS}/{long}")),
        ("long group", format!("/apis/{long}/v1/things")),
        (
            "many parameters",
            format!("{MAPS}?{}", (0..3_000).map(|at| format!("p{at}=1&")).collect::<String>()),
        ),
        ("equal parameters", format!("{MAPS}?{}", "watch=0&".repeat(3_000))),
        ("long parameter", format!("{MAPS}?labelSelector={long}")),
        ("selector with many terms", format!("{MAPS}?labelSelector={}", list(3_000, |at| format!("a{at}")))),
        (
            "selector with many values",
            format!("{MAPS}?labelSelector=a+in+({})", list(3_000, |at| format!("v{at}"))),
        ),
        ("selector with many parentheses", format!("{MAPS}?labelSelector={}", "(".repeat(10_000))),
        ("selector with many negations", format!("{MAPS}?labelSelector={}a", "!".repeat(10_000))),
        (
            "field selector with many terms",
            format!("{MAPS}?fieldSelector={}", list(1_500, |_| "metadata.name=a".into())),
        ),
        ("field selector that is unknown", format!("{MAPS}?fieldSelector={long}=a")),
        ("negative limit", format!("{MAPS}?limit=-1")),
        ("large limit", format!("{MAPS}?limit=99999999999999999999")),
        (
            "forged continue token",
            format!(
                "{MAPS}?limit=1&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLi4vLi4vIn0"
            ),
        ),
        ("long continue token", format!("{MAPS}?limit=1&continue={long}")),
        ("resource version of many digits", format!("{MAPS}?resourceVersion={}", "9".repeat(10_000))),
        ("resource version of the future", format!("{MAPS}?resourceVersion=18446744073709551615")),
        (
            "watch from the future",
            format!("{MAPS}?watch=1&timeoutSeconds=1&resourceVersion=18446744073709551615"),
        ),
        ("timeout of many digits", format!("{MAPS}?timeout={}s", "9".repeat(1_000))),
        ("unknown resource", "/api/v1/namespaces/default/nothings".into()),
        ("proxy", "/api/v1/namespaces/default/pods/p/proxy/http://example.com/".into()),
        ("OpenAPI of nothing", format!("/openapi/v3/{long}")),
    ]
    .into_iter()
    .map(|(name, path)| Attack::new(format!("url: {name}"), ("GET", &path), JSON, ""))
    .collect()
}
