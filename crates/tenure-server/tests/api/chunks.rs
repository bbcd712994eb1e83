//! Lists in pages: every page shows the same revision, and a client whose revision has expired can continue.

use crate::{
    facts::{items, text},
    http::Response,
    server::{Server, metadata, version},
};
use tenure_value::Value;

const PATH: &str = "/api/v1/namespaces/default/podtemplates";
const COUNT: usize = 40;

fn server() -> Server {
    let server = Server::start();
    for at in 0..COUNT {
        let body = format!(
            r#"{{"metadata":{{"name":"template-{at:04}","labels":{{"half":"{}"}}}},"template":{{"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}"#,
            at % 2
        );
        server.create(PATH, &body);
    }
    server
}

fn names(list: &Value) -> Vec<String> {
    let name = |item: &Value| metadata(item, "name").as_str().unwrap_or_default().to_string();
    items(list, "items").iter().map(name).collect()
}

fn expected(range: impl Iterator<Item = usize>) -> Vec<String> {
    range.map(|at| format!("template-{at:04}")).collect()
}

fn page(server: &Server, query: &str, token: &str) -> Response {
    let token = if token.is_empty() { String::new() } else { format!("&continue={token}") };
    server.get(&format!("{PATH}?{query}{token}"))
}

fn token(list: &Value) -> String {
    metadata(list, "continue").as_str().unwrap_or_default().to_string()
}

#[test]
fn pages_show_one_revision_and_count_the_remaining_items() {
    let server = server();
    let first = page(&server, "limit=17", "").document();
    // Changes after the first page are not visible on later pages.
    server.delete(&format!("{PATH}/template-0030"));
    server.create(PATH, r#"{"metadata":{"name":"template-9999"},"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}"#);
    let (mut all, mut list) = (names(&first), first.clone());
    let mut left = COUNT;
    while !token(&list).is_empty() {
        left -= names(&list).len();
        assert_eq!(metadata(&list, "remainingItemCount"), Value::from(left as u64));
        list = page(&server, "limit=17", &token(&list)).document();
        assert_eq!(version(&list), version(&first));
        all.extend(names(&list));
    }
    assert_eq!(metadata(&list, "remainingItemCount"), Value::Null);
    assert_eq!(all, expected(0..COUNT));
}

#[test]
fn pages_of_a_selection_are_full_and_have_no_remaining_count() {
    let server = server();
    let (mut all, mut next) = (Vec::new(), String::new());
    loop {
        let list = page(&server, "limit=7&labelSelector=half%3D1", &next).document();
        assert_eq!(metadata(&list, "remainingItemCount"), Value::Null);
        all.extend(names(&list));
        next = token(&list);
        if next.is_empty() {
            break;
        }
        assert_eq!(names(&list).len(), 7);
    }
    assert_eq!(all, expected((0..COUNT).filter(|at| at % 2 == 1)));
}

#[test]
fn a_client_with_an_expired_token_can_continue_from_the_current_revision() {
    let server = server();
    let first = page(&server, "limit=15", "").document();
    server.delete(&format!("{PATH}/template-0020"));
    server.forget_history();
    let response = page(&server, "limit=15", &token(&first));
    assert_eq!((response.code, response.field("reason").as_str()), (410, "Expired"), "{}", response.text());
    let token_of_failure = token(&response.document());
    assert!(!token_of_failure.is_empty(), "{}", response.text());
    let second = page(&server, "limit=15", &token_of_failure).document();
    assert_eq!(text(&second, "kind"), "PodTemplateList");
    assert_eq!(names(&second), expected((15..31).filter(|at| *at != 20)));
    assert!(version(&second) > version(&first), "the present has a version of its own");
    // The following pages show one revision again.
    server.delete(&format!("{PATH}/template-0035"));
    let third = page(&server, "limit=15", &token(&second)).document();
    assert_eq!((version(&third), names(&third)), (version(&second), expected(31..COUNT)));
    let whole = page(&server, "resourceVersion=1&resourceVersionMatch=Exact", "");
    assert_eq!((whole.code, whole.field("reason").as_str()), (410, "Expired"));
}

#[test]
fn a_list_is_the_same_after_other_reads() {
    let server = server();
    let accepts = [
        "application/json",
        "application/vnd.kubernetes.protobuf",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "application/json;drop=metadata.managedFields",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/yaml",
    ];
    let read = |accept: &str, query: &str| {
        let request = crate::http::Request::new("GET", &format!("{PATH}?{query}")).header("Accept", accept);
        let response = server.send(&request);
        assert_eq!(response.code, 200, "{accept} {query}");
        response.body
    };
    for query in ["", "labelSelector=half%3D1", "fieldSelector=metadata.name%3Dtemplate-0003", "limit=3"] {
        for accept in accepts {
            let first = read(accept, query);
            for other in accepts {
                read(other, query);
            }
            // Ages in a table increase meanwhile.
            if !accept.contains("Table") {
                assert!(read(accept, query) == first, "{accept} {query}");
            }
        }
    }
    // A change is visible at once in every format.
    let item = format!("{PATH}/template-0003");
    server.patch(&item, crate::server::MERGE_PATCH, r#"{"metadata":{"labels":{"half":"changed"}}}"#);
    for accept in &accepts[..5] {
        let body = String::from_utf8_lossy(&read(accept, "")).into_owned();
        let shown = accept.contains("Table") || body.contains("changed");
        assert!(shown, "{accept}");
    }
    let selected = page(&server, "labelSelector=half%3Dchanged", "").document();
    assert_eq!(names(&selected), expected(3..4));
}

/// A long list is sent in cached pieces; it must be consistent, whatever has changed since the pieces were cached.
#[test]
fn a_long_list_stays_consistent_over_pages_and_changes() {
    let server = Server::start();
    let create = |at: usize| {
        let body = format!(
            r#"{{"metadata":{{"name":"template-{at:04}","annotations":{{"long":"{}"}}}},"template":{{"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}"#,
            "x".repeat(2_000)
        );
        server.create(PATH, &body);
    };
    (0..150).filter(|at| at % 10 != 5).for_each(create);
    let mut wanted: Vec<usize> = (0..150).filter(|at| at % 10 != 5).collect();
    for round in 0..6 {
        for again in ["first", "again"] {
            let list = server.get(PATH).document();
            assert_eq!(names(&list), expected(wanted.iter().copied()), "{again}, round {round}");
        }
        server.delete(&format!("{PATH}/template-{:04}", round * 10));
        create(round * 10 + 5);
        wanted.retain(|at| *at != round * 10);
        wanted.push(round * 10 + 5);
        wanted.sort_unstable();
    }
}
