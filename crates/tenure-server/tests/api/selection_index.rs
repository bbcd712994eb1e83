//! Lists that an index answers equal lists that visit every object: for random objects, selectors and changes, in one namespace
//! or all, whole or in pages between which objects change, at the current revision or an older one.

use crate::{
    facts::{items, text},
    random::Random,
    server::{Server, metadata, version},
};
use tenure_meta::{FieldSelector, LabelSelector};
use tenure_value::Value;

const NAMESPACES: [&str; 2] = ["default", "other"];
/// More than are scanned without an index, in each namespace.
const COUNT: u64 = 260;

fn path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/secrets")
}

fn labels(random: &mut Random) -> String {
    let mut labels = Vec::new();
    for (label, values) in
        [("app", &["a", "b", "c"][..]), ("tier", &["x", "y", ""]), ("rev", &["1", "2", "30"])]
    {
        if random.below(4) > 0 {
            labels.push(format!(r#""{label}":"{}""#, random.of(values)));
        }
    }
    labels.join(",")
}

fn create(server: &Server, random: &mut Random, namespace: &str, number: u64) {
    let (labels, kind) = (labels(random), random.of(&["", "t1", "t2", "t3"]));
    let body = format!(r#"{{"metadata":{{"name":"p{number}","labels":{{{labels}}}}},"type":"{kind}"}}"#);
    server.post(&path(namespace), &body);
}

/// Makes a few random changes.
fn change(server: &Server, random: &mut Random) {
    for _ in 0..random.below(6) {
        let (namespace, number) = (random.of(&NAMESPACES), random.below(COUNT + 20));
        let object = format!("{}/p{number}", path(namespace));
        match random.below(4) {
            0 => drop(server.delete(&object)),
            1 => create(server, random, namespace, number),
            _ => {
                let without = r#"{"metadata":{"labels":{"app":null,"tier":null}}}"#;
                server.patch(&object, "application/merge-patch+json", without);
                let body = format!(r#"{{"metadata":{{"labels":{{{}}}}}}}"#, labels(random));
                server.patch(&object, "application/merge-patch+json", &body);
            }
        }
    }
}

fn names(list: &Value) -> Vec<String> {
    let name = |item: &Value| format!("{}/{}", text(item, "namespace"), text(item, "name"));
    items(list, "items").iter().map(|item| name(item.get("metadata").unwrap())).collect()
}

const LABELS: [&str; 14] = [
    "",
    "app=a",
    "app",
    "app in (a,b)",
    "app in (b,b,zz)",
    "tier=",
    "!tier",
    "app=b,tier=x",
    "app=c,!rev",
    "rev>1,app=a",
    "tier notin (x)",
    "app=zz",
    "none",
    "app=a,tier in (x,y),rev=30",
];
const FIELDS: [&str; 8] = [
    "",
    "",
    "type=t1",
    "type=Opaque",
    "type!=t1",
    "metadata.namespace=other,type=t2",
    "metadata.name=p7",
    "metadata.name!=p7,type=t3",
];

fn encoded(selector: &str) -> String {
    selector.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn a_list_by_index_equals_a_scan() {
    let server = Server::start();
    let random = &mut Random(7);
    server.create_namespace("other");
    for number in 0..COUNT {
        for namespace in NAMESPACES {
            create(&server, random, namespace, number);
        }
    }
    assert_eq!(server.prepare_lists(), 1, "the secrets are many");
    let mut selected = 0;
    for round in 0..80 {
        change(&server, random);
        let (by_label, by_field) = (random.of(&LABELS), random.of(&FIELDS));
        let path =
            if random.below(2) == 0 { "/api/v1/secrets".to_string() } else { path(random.of(&NAMESPACES)) };
        let whole = server.get(&path).document();
        let (of_labels, of_fields) =
            (LabelSelector::parse(by_label).unwrap(), FieldSelector::parse(by_field).unwrap());
        let matches =
            |item: &&Value| of_labels.matches(item.at(["metadata", "labels"])) && of_fields.matches(item);
        let mut expected = whole.clone();
        if let Value::Object(fields) = &whole {
            let kept = items(&whole, "items").iter().filter(matches).cloned();
            expected = fields.with("items", Value::array(kept)).into();
        }
        let query = format!("?labelSelector={}&fieldSelector={}", encoded(by_label), encoded(by_field));
        let at = format!("&resourceVersion={}&resourceVersionMatch=Exact", version(&whole));
        let context = format!("round {round}: {path} {by_label} {by_field}");
        match random.below(3) {
            // The current revision, whole objects.
            0 => assert_eq!(server.get(&format!("{path}{query}")).document(), expected, "{context}"),
            // An older revision.
            1 => {
                change(&server, random);
                let list = server.get(&format!("{path}{query}{at}")).document();
                assert_eq!(items(&list, "items"), items(&expected, "items"), "{context}");
            }
            // Pages, with changes between them.
            _ => {
                let limit = 1 + random.below(60);
                let (mut all, mut token) = (Vec::new(), String::new());
                loop {
                    let list = server.get(&format!("{path}{query}&limit={limit}{token}")).document();
                    assert_eq!(version(&list), version(&whole), "{context}");
                    all.extend(names(&list));
                    let next = metadata(&list, "continue").as_str().unwrap_or_default().to_string();
                    if next.is_empty() {
                        break;
                    }
                    assert_eq!(items(&list, "items").len() as u64, limit, "{context}");
                    token = format!("&continue={next}");
                    change(&server, random);
                }
                assert_eq!(all, names(&expected), "{context}, pages of {limit}");
            }
        }
        selected += items(&expected, "items").len();
    }
    assert!(selected > 1_000, "the selectors select something: {selected}");
}

#[test]
fn an_index_survives_compaction_and_a_name_needs_none() {
    let server = Server::start();
    let random = &mut Random(9);
    for number in 0..COUNT {
        create(&server, random, "default", number);
    }
    let list = || names(&server.get("/api/v1/secrets?labelSelector=app%3Da").document());
    let before = list();
    // The changes that the index has not seen are forgotten.
    server.delete(&format!("{}/{}", path("default"), before[0].split('/').nth(1).unwrap()));
    server.forget_history();
    assert_eq!(list(), before[1..]);
    let one = server.get(&format!("{}?fieldSelector=metadata.name%3Dp1&limit=1", path("default"))).document();
    assert_eq!((names(&one), metadata(&one, "continue")), (vec!["default/p1".to_string()], Value::Null));
    let none = server.get(&format!("{}?fieldSelector=metadata.name%3Dp", path("default"))).document();
    assert_eq!(names(&none), Vec::<String>::new());
}
