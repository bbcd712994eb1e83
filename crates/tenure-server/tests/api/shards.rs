//! Lists and watches of one shard of a collection, behind the gate that Kubernetes has for them.

use crate::{
    http::Request,
    server::{Server, version},
};
use std::collections::BTreeSet;
use tenure_server::{Improvement, Profile};
use tenure_value::Value;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const HALVES: [(&str, &str); 2] =
    [("0x0000000000000000", "0x8000000000000000"), ("0x8000000000000000", "0x10000000000000000")];

/// Returns the selector of a half of the hashes, as it is sent.
fn half(at: usize) -> String {
    let (start, end) = HALVES[at];
    format!("shardSelector=shardRange(object.metadata.uid,'{start}','{end}')")
}

fn names(list: &Value) -> BTreeSet<String> {
    let items = list.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
    let name = |item: &Value| item.at(["metadata", "name"]).and_then(Value::as_str).map(str::to_owned);
    items.iter().filter_map(name).collect()
}

fn server(is_on: bool) -> Server {
    let mut profile = Profile::kubernetes();
    profile.set(Improvement::ShardedLists, is_on);
    let server = Server::behaving(profile);
    for number in 0..40 {
        server.create(MAPS, &format!(r#"{{"metadata":{{"name":"m{number}"}}}}"#));
    }
    server
}

#[test]
fn shards_are_the_whole_and_share_nothing() {
    let server = server(true);
    let all = names(&server.get(MAPS).document());
    let halves = [0, 1].map(|at| {
        let list = server.get(&format!("{MAPS}?{}", half(at))).document();
        let (start, end) = HALVES[at];
        let selector = format!("shardRange(object.metadata.uid, '{start}', '{end}')");
        assert_eq!(list.at(["metadata", "shardInfo", "selector"]), Some(&Value::from(selector)));
        names(&list)
    });
    assert!(halves[0].is_disjoint(&halves[1]) && halves.iter().all(|half| half.len() > 5), "{halves:?}");
    assert_eq!(&halves[0] | &halves[1], all);
    // Page by page it is the same.
    let (mut pages, mut token) = (BTreeSet::new(), String::new());
    loop {
        let page = server.get(&format!("{MAPS}?{}&limit=3&continue={token}", half(0))).document();
        pages.append(&mut names(&page));
        token = page.at(["metadata", "continue"]).and_then(Value::as_str).unwrap_or_default().to_owned();
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(pages, halves[0]);
}

#[test]
fn a_watch_of_a_shard_has_the_changes_of_its_objects() {
    let server = server(true);
    let start = version(&server.get(MAPS).document());
    for number in 40..60 {
        server.create(MAPS, &format!(r#"{{"metadata":{{"name":"m{number}"}}}}"#));
    }
    let expected = |at: usize| {
        let old = (0..40).map(|number| format!("m{number}")).collect();
        &names(&server.get(&format!("{MAPS}?{}", half(at))).document()) - &old
    };
    for at in [0, 1] {
        let path = format!("{MAPS}?watch=1&timeoutSeconds=1&resourceVersion={start}&{}", half(at));
        let events = server.get(&path).text();
        let name = |line: &str| -> Option<String> {
            let event: Value = line.parse().ok()?;
            event.at(["object", "metadata", "name"]).and_then(Value::as_str).map(str::to_owned)
        };
        assert_eq!(events.lines().filter_map(name).collect::<BTreeSet<_>>(), expected(at));
    }
}

#[test]
fn without_the_gate_the_parameter_means_nothing() {
    let server = server(false);
    for selector in [half(0), "shardSelector=nonsense".into()] {
        let list = server.get(&format!("{MAPS}?{selector}")).document();
        assert_eq!((names(&list).len(), list.at(["metadata", "shardInfo"])), (40, None));
    }
}

#[test]
fn a_wrong_selector_is_an_error() {
    let path = format!("{MAPS}?shardSelector=shardRange(object.metadata.uid,'0x0','0x1')");
    let refused = server(true).send(&Request::new("GET", &path));
    let message = "invalid shard selector: hexStart must be a 0x-prefixed 16-digit hex value, got \"0x0\" (did you mean \
                   \"0x0000000000000000\"?)";
    assert_eq!((refused.code, refused.field("message").as_str()), (500, message));
    let improved = Server::behaving(Profile::tenure());
    assert_eq!(improved.get(&path).code, 400);
}
