//! Small patches and applies that cause much work.

use super::{
    bodies::list,
    server::{Attack, JSON},
};

const MAP: (&str, &str) = ("PATCH", "/api/v1/namespaces/default/configmaps/victim?dryRun=All");
const DEPLOYMENT: (&str, &str) = ("PATCH", "/apis/apps/v1/namespaces/default/deployments/victim?dryRun=All");
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const MERGE: &str = "application/merge-patch+json";
const PATCH: &str = "application/json-patch+json";

/// A config map with many keys.
pub fn config_map() -> String {
    let data = list(5_000, |at| format!("\"k{at}\":\"v\""));
    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"victim"}},"data":{{{data}}}}}"#)
}

/// A deployment with many variables.
pub fn deployment() -> String {
    let env = list(3_000, |at| format!(r#"{{"name":"V{at}","value":"x"}}"#));
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"victim"}},"spec":{{"selector":{{"matchLabels":{{"a":"b"}}}},
        "template":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"containers":[{{"name":"c","image":"i","env":[{env}]}}]}}}}}}}}"#
    )
}

fn env(content: &str) -> String {
    format!(r#"{{"spec":{{"template":{{"spec":{{"containers":[{{"name":"c","env":[{content}]}}]}}}}}}}}"#)
}

pub fn attacks() -> Vec<Attack> {
    let mut attacks = Vec::new();
    for (name, body) in [
        ("equal names", env(&list(3_000, |_| r#"{"name":"V1","value":"y"}"#.into()))),
        ("new names", env(&list(3_000, |at| format!(r#"{{"name":"W{at}","value":"y"}}"#)))),
        ("names in reverse", env(&list(3_000, |at| format!(r#"{{"name":"V{}","value":"y"}}"#, 2_999 - at)))),
        ("deletions", env(&list(3_000, |at| format!(r#"{{"name":"V{at}","$patch":"delete"}}"#)))),
        ("equal deletions", env(&list(3_000, |_| r#"{"name":"V1","$patch":"delete"}"#.into()))),
        (
            "replacement",
            env(&format!(
                r#"{{"$patch":"replace"}},{}"#,
                list(3_000, |at| format!(r#"{{"name":"W{at}","value":"y"}}"#))
            )),
        ),
        (
            "order",
            format!(
                r#"{{"spec":{{"template":{{"spec":{{"containers":[{{"name":"c","$setElementOrder/env":[{}]}}]}}}}}}}}"#,
                list(3_000, |at| format!(r#"{{"name":"V{at}"}}"#))
            ),
        ),
        (
            "order of equal names",
            format!(
                r#"{{"spec":{{"template":{{"spec":{{"containers":[{{"name":"c","$setElementOrder/env":[{}]}}]}}}}}}}}"#,
                list(3_000, |_| r#"{"name":"V1"}"#.into())
            ),
        ),
        (
            "retained keys",
            format!(
                r#"{{"spec":{{"strategy":{{"$retainKeys":[{}]}}}}}}"#,
                list(10_000, |at| format!("\"k{at}\""))
            ),
        ),
        ("deep", format!("{}1{}", "{\"spec\":".repeat(190), "}".repeat(190))),
        (
            "deletion from a primitive list",
            format!(
                r#"{{"metadata":{{"$deleteFromPrimitiveList/finalizers":[{}]}}}}"#,
                list(10_000, |at| format!("\"f{at}\""))
            ),
        ),
        ("without merge keys", env(&list(3_000, |_| "{}".into()))),
    ] {
        attacks.push(Attack::new(format!("strategic: {name}"), DEPLOYMENT, STRATEGIC, body));
    }
    for (name, body) in [
        ("many keys", format!(r#"{{"data":{{{}}}}}"#, list(10_000, |at| format!("\"n{at}\":\"v\"")))),
        ("many deletions", format!(r#"{{"data":{{{}}}}}"#, list(10_000, |at| format!("\"k{at}\":null")))),
        ("equal keys", format!(r#"{{"data":{{{}}}}}"#, list(10_000, |_| "\"k\":null".into()))),
        ("deep nulls", format!("{}null{}", "{\"data\":".repeat(190), "}".repeat(190))),
        ("a list", "[1]".into()),
        ("null", "null".into()),
    ] {
        attacks.push(Attack::new(format!("merge: {name}"), MAP, MERGE, body));
    }
    let operations = |count: usize, operation: &str| {
        format!("[{}]", list(count, |at| operation.replace('@', &at.to_string())))
    };
    for (name, body) in [
        ("many additions", operations(5_000, r#"{"op":"add","path":"/data/n@","value":"v"}"#)),
        ("equal additions", operations(5_000, r#"{"op":"add","path":"/data/n","value":"v"}"#)),
        ("many removals", operations(5_000, r#"{"op":"remove","path":"/data/k@"}"#)),
        ("many copies of everything", operations(5_000, r#"{"op":"copy","from":"/data","path":"/data/c@"}"#)),
        ("doubling copies", operations(60, r#"{"op":"copy","from":"","path":"/data/c@"}"#)),
        ("many moves", operations(5_000, r#"{"op":"move","from":"/data","path":"/data"}"#)),
        ("many tests of everything", operations(5_000, r#"{"op":"test","path":"","value":{}}"#)),
        ("many tests", operations(5_000, r#"{"op":"test","path":"/data/k1","value":"v"}"#)),
        ("too many operations", operations(20_000, r#"{"op":"test","path":"/kind","value":"ConfigMap"}"#)),
        ("deep pointer", format!(r#"[{{"op":"add","path":"{}","value":1}}]"#, "/a".repeat(100_000))),
        (
            "escapes in a pointer",
            format!(r#"[{{"op":"add","path":"/data/{}","value":"1"}}]"#, "~1~0".repeat(50_000)),
        ),
        (
            "large index",
            r#"[{"op":"add","path":"/metadata/finalizers/99999999999999999999","value":"a"}]"#.into(),
        ),
        ("unknown operations", operations(5_000, r#"{"op":"x@","path":"/a"}"#)),
        (
            "insertions in front",
            format!(
                r#"[{{"op":"add","path":"/metadata/finalizers","value":[]}},{}]"#,
                list(5_000, |_| r#"{"op":"add","path":"/metadata/finalizers/0","value":"example.com/a"}"#
                    .into())
            ),
        ),
    ] {
        attacks.push(Attack::new(format!("json patch: {name}"), MAP, PATCH, body));
    }
    let apply = |body: String, manager: &str, name: &str| {
        let path =
            format!("/apis/apps/v1/namespaces/default/deployments/victim?dryRun=All&fieldManager={manager}");
        Attack::new(format!("apply: {name}"), ("PATCH", &path), "application/apply-patch+yaml", body)
    };
    let applied = |content: &str| {
        format!(
            r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"victim"}},"spec":{{"selector":{{"matchLabels":{{"a":"b"}}}},
            "template":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"containers":[{{"name":"c","image":"j","env":[{content}]}}]}}}}}}}}"#
        )
    };
    attacks.extend([
        apply(
            applied(&list(3_000, |at| format!(r#"{{"name":"V{at}","value":"y"}}"#))),
            "m",
            "many conflicts",
        ),
        apply(
            applied(&list(3_000, |at| format!(r#"{{"name":"V{at}","value":"y"}}"#))),
            "m&force=true",
            "many forced",
        ),
        apply(applied(&list(3_000, |_| r#"{"name":"V1","value":"y"}"#.into())), "m", "equal names"),
        apply(
            applied(&list(3_000, |at| format!(r#"{{"name":"W{at}","value":"y"}}"#))),
            "m&force=true",
            "new names",
        ),
        apply(applied(&list(3_000, |_| "{}".into())), "m", "items without names"),
        apply(applied(""), &"m".repeat(20_000), "long manager"),
        apply("a: &a [x]\nb: [*a]\n".into(), "m", "not an object"),
    ]);
    attacks.push(Attack::new("patch: unknown media type", MAP, "application/x-patch", "{}"));
    attacks.push(Attack::new("patch: json", MAP, JSON, "{}"));
    attacks
}
