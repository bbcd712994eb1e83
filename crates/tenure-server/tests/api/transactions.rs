//! Several writes in one transaction: all take effect or none, with the rules of single requests.

use crate::{facts::items, http::Request, server::Server};
use tenure_http::Administrator;
use tenure_meta::ValueExt;
use tenure_server::Profile;
use tenure_value::Value;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn apply(path: &str, manager: &str, body: &str) -> String {
    format!(
        r#"{{"method":"PATCH","path":"{path}?fieldManager={manager}","contentType":"application/apply-patch+yaml","body":{body}}}"#
    )
}

fn map(name: &str, value: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"a":"{value}"}}}}"#
    )
}

fn transaction(writes: &[String]) -> Request {
    let body =
        format!(r#"{{"apiVersion":"tenure.dev/v1","kind":"Transaction","requests":[{}]}}"#, writes.join(","));
    Request::new("POST", "/transactions").body("application/json", body)
}

fn message(document: &Value) -> &str {
    document.get("message").and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn writes_that_depend_on_each_other_take_effect_together() {
    let server = Server::start();
    server.create(MAPS, &map("old", "1"));
    let definition = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},
        "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},
        "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}"#;
    let thing = r#"{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t"},"spec":{"size":1}}"#;
    let namespace = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}"#;
    let writes = [
        apply("/api/v1/namespaces/shop", "ci", namespace),
        apply("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com", "ci", definition),
        apply("/apis/example.com/v1/namespaces/shop/things/t", "ci", thing),
        apply("/api/v1/namespaces/shop/configmaps/new", "ci", &map("new", "1")),
        format!(r#"{{"method":"DELETE","path":"{MAPS}/old"}}"#),
        format!(r#"{{"method":"POST","path":"{MAPS}?fieldManager=ci","body":{}}}"#, map("posted", "1")),
    ];
    let answer = server.send(&transaction(&writes));
    assert_eq!(answer.code, 200, "{}", answer.text());
    let document = answer.document();
    let results = document.get("results").and_then(Value::as_array).expect("results");
    let codes: Vec<_> = results.iter().map(|result| result.get("code").and_then(Value::as_i64)).collect();
    assert_eq!(codes, [201, 201, 201, 201, 200, 201].map(Some));
    // What the answer shows is what is stored, versions included.
    for (place, path) in
        [(2, "/apis/example.com/v1/namespaces/shop/things/t"), (3, "/api/v1/namespaces/shop/configmaps/new")]
    {
        let stored = server.get(path).document();
        assert_eq!(results.items()[place].get("object"), Some(&stored), "{path}");
        assert_eq!(
            stored.at(["metadata", "managedFields"]).and_then(Value::as_array).map(|list| list.len()),
            Some(1)
        );
    }
    assert_eq!(server.get(&format!("{MAPS}/old")).code, 404);
    assert_eq!(server.get(&format!("{MAPS}/posted")).code, 200);
    // Another object of the new kind can be written at once.
    assert_eq!(
        server.post("/apis/example.com/v1/namespaces/shop/things", &thing.replace("\"t\"", "\"u\"")).code,
        201
    );
    // Each change is a part of history.
    let history = server.get("/api/v1/namespaces/shop/configmaps/new/history").document();
    assert_eq!(history.get("items").and_then(Value::as_array).map(|list| list.len()), Some(1), "{history}");
}

#[test]
fn an_object_that_a_manager_writes_twice_has_one_change_of_history() {
    let server = Server::start();
    let path = format!("{MAPS}/a");
    server.create(MAPS, &map("a", "1"));
    let before = server.get(&path).document();
    let put = |manager: &str, value: &str| {
        format!(r#"{{"method":"PUT","path":"{path}?fieldManager={manager}","body":{}}}"#, map("a", value))
    };
    let items = || {
        let history = server.get(&format!("{path}/history")).document();
        history.get("items").and_then(Value::as_array).expect("items").to_vec()
    };
    assert_eq!(server.send(&transaction(&[put("ci", "2"), put("ci", "3")])).code, 200);
    let change = items()[0].at(["changes"]).and_then(|changes| changes.as_array()?.first().cloned());
    let change = change.expect("a change");
    let sides = ["from", "to"].map(|side| change.get(side).and_then(Value::as_str).map(str::to_owned));
    assert_eq!(sides, [Some("1".to_owned()), Some("3".to_owned())], "{change}");
    assert_eq!(items().len(), 2);
    // Nobody made what two managers did.
    assert_eq!(server.send(&transaction(&[put("ci", "4"), put("other", "5")])).code, 200);
    let managers: Vec<_> = items().iter().map(|item| item.get("manager").cloned()).collect();
    assert_eq!(managers[..3], ["other", "ci", "ci"].map(|name| Some(Value::from(name))));
    let version = before.at(["metadata", "resourceVersion"]).and_then(Value::as_str).expect("a version");
    assert_eq!(server.get(&format!("{path}/history?at={version}")).document(), before);
}

#[test]
fn one_refusal_leaves_everything_as_it_was() {
    let server = Server::start();
    let path = |name: &str| format!("{MAPS}/{name}");
    server.create(MAPS, &map("here", "1"));
    assert_eq!(server.send(&transaction(&[apply(&path("owned"), "first", &map("owned", "1"))])).code, 200);
    let before = server.get(MAPS).document();
    let absent =
        |name: &str| apply(&path(name), "ci", &map(name, "1")).replacen('{', r#"{"absent":true,"#, 1);
    let stale = map("here", "2").replace(r#""name""#, r#""resourceVersion":"1","name""#);
    let cases: [(&str, String, u16, &str); 8] = [
        ("a conflict of owners", apply(&path("owned"), "second", &map("owned", "2")), 409, "conflict with \"first\""),
        ("an object that exists", absent("here"), 409, "already exists"),
        ("a version that is gone", format!(r#"{{"method":"PUT","path":"{MAPS}/here","body":{stale}}}"#), 409, "the object has been modified"),
        ("an invalid object", apply(&path("b"), "ci", &map("b", "1").replace(r#""1""#, "1")), 400, "data"),
        (
            "a namespace that does not exist",
            apply("/api/v1/namespaces/none/configmaps/b", "ci", &map("b", "1")),
            404,
            "\"none\" not found",
        ),
        ("a path that is not of an object", r#"{"method":"DELETE","path":"/api/v1/namespaces/default/configmaps"}"#.into(), 400, "single objects"),
        (
            "a request that cannot be taken back",
            r#"{"method":"POST","path":"/api/v1/namespaces/default/serviceaccounts/default/token","body":{}}"#.into(),
            400,
            "make this request on its own",
        ),
        ("an unknown field", r#"{"method":"DELETE","path":"/api/v1/namespaces/x","when":"now"}"#.into(), 400, "requests[1].when is not known"),
    ];
    for (case, write, code, text) in cases {
        let answer = server.send(&transaction(&[apply(&path("first"), "ci", &map("first", "1")), write]));
        let document = answer.document();
        assert_eq!(answer.code, code, "{case}: {document}");
        let message = message(&document);
        assert!(message.contains("requests[1]") && message.contains(text), "{case}: {message}");
        let causes = items(document.get("details").unwrap_or(&Value::Null), "causes");
        let named = causes.iter().find(|cause| cause.get("reason") == Some(&"RefusedWrite".into()));
        assert_eq!(
            named.and_then(|cause| cause.get("field")),
            Some(&"requests[1]".into()),
            "{case}: {document}"
        );
        assert_eq!(server.get(MAPS).document().get("items"), before.get("items"), "{case}");
    }
    let refused = [
        ("{", "not JSON"),
        ("{}", "kind Transaction"),
        (r#"{"apiVersion":"tenure.dev/v1","kind":"Transaction"}"#, "at least one write"),
        (
            r#"{"apiVersion":"tenure.dev/v1","kind":"Transaction","requests":[1]}"#,
            "requests[0] must be an object",
        ),
        (
            r#"{"apiVersion":"tenure.dev/v1","kind":"Transaction","requests":[{"method":"GET","path":"/api/v1/pods"}]}"#,
            "requests[0].method",
        ),
        (
            r#"{"apiVersion":"tenure.dev/v1","kind":"Transaction","requests":[{"method":"PUT","path":"/metrics"}]}"#,
            "requests[0].path",
        ),
        (
            r#"{"apiVersion":"tenure.dev/v1","kind":"Transaction","requests":[{"method":"PATCH","path":"/api/v1/namespaces/x"}]}"#,
            "requests[0].contentType",
        ),
    ];
    for (body, text) in refused {
        let answer = server.send(&Request::new("POST", "/transactions").body("application/json", body));
        assert_eq!(answer.code, 400, "{body}");
        assert!(message(&answer.document()).contains(text), "{body}: {}", answer.text());
    }
}

#[test]
fn quotas_hold_for_all_writes_of_a_transaction() {
    let server = Server::start();
    let quota = r#"{"metadata":{"name":"q"},"spec":{"hard":{"count/configmaps":"2"}}}"#;
    server.create("/api/v1/namespaces/default/resourcequotas", quota);
    let write = |name: &str| apply(&format!("{MAPS}/{name}"), "ci", &map(name, "1"));
    let answer = server.send(&transaction(&["a", "b", "c"].map(write)));
    assert_eq!(answer.code, 403, "{}", answer.text());
    assert!(message(&answer.document()).starts_with("requests[2]"), "{}", answer.text());
    assert_eq!(server.send(&transaction(&["a", "b"].map(write))).code, 200);
    let used = server.get("/api/v1/namespaces/default/resourcequotas/q").document();
    assert_eq!(used.at(["status", "used", "count/configmaps"]), Some(&Value::from("2")));
}

#[test]
fn every_write_needs_its_own_permission() {
    let server = Server::with(Administrator::Token("0123456789abcdef".into()));
    let masters = |request: Request| server.send(&request.header("Authorization", "Bearer 0123456789abcdef"));
    let create = |path: &str, body: &str| {
        let answer = masters(Request::new("POST", path).body("application/json", body));
        assert_eq!(answer.code, 201, "{path}: {}", answer.text());
    };
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    create(
        &format!("{rbac}/clusterroles"),
        r#"{"metadata":{"name":"ci"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","create","patch"]},
            {"nonResourceURLs":["/transactions"],"verbs":["post"]}]}"#,
    );
    create(
        &format!("{rbac}/clusterrolebindings"),
        r#"{"metadata":{"name":"ci"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"ci"},
            "subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"ci"}]}"#,
    );
    let as_user =
        |user: &str, writes: &[String]| masters(transaction(writes).header("Impersonate-User", user));
    let allowed = apply(&format!("{MAPS}/a"), "ci", &map("a", "1"));
    let secret = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}"#;
    let forbidden = apply("/api/v1/namespaces/default/secrets/s", "ci", secret);
    let answer = as_user("ci", &[allowed.clone(), forbidden]);
    assert_eq!(answer.code, 403, "{}", answer.text());
    assert!(message(&answer.document()).contains("cannot patch resource \"secrets\""), "{}", answer.text());
    assert_eq!(masters(Request::new("GET", &format!("{MAPS}/a"))).code, 404);
    assert_eq!(as_user("nobody", std::slice::from_ref(&allowed)).code, 403);
    assert_eq!(as_user("ci", &[allowed]).code, 200);
    assert_eq!(server.send(&transaction(&[])).code, 403, "anonymous");
}

#[test]
fn a_transaction_that_others_disturb_is_carried_out_again() {
    let server = Server::start();
    server.create(MAPS, &map("shared", "0"));
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let server = &server;
                scope.spawn(move || {
                    for round in 0..10 {
                        let name = format!("m-{writer}-{round}");
                        let body = map(&name, "1");
                        let field = format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"shared"}},"data":{{"{name}":"1"}}}}"#);
                        let writes = [
                            apply(&format!("{MAPS}/{name}"), "ci", &body),
                            apply(&format!("{MAPS}/shared"), &name, &field),
                        ];
                        // Who is disturbed too often tries again, as after any conflict.
                        while server.send(&transaction(&writes)).code != 200 {}
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("the writer ends"));
    });
    let shared = server.get(&format!("{MAPS}/shared")).document();
    assert_eq!(shared.get("data").and_then(Value::as_object).map(|data| data.len()), Some(41), "{shared}");
    assert_eq!(
        server.get(MAPS).document().get("items").and_then(Value::as_array).map(|list| list.len()),
        Some(41)
    );
}

#[test]
fn writers_and_fights_count_what_took_effect() {
    let server = Server::start();
    let body = |value: &str| map("a", value);
    let force = |manager: &str, value: &str| {
        apply(&format!("{MAPS}/a"), &format!("{manager}&force=true"), &body(value))
    };
    // The one of two writes that is refused takes the other with it, and is remembered as refused.
    assert_eq!(server.send(&transaction(&[force("ann", "1")])).code, 200);
    assert_eq!(
        server.send(&transaction(&[force("ben", "2"), apply(&format!("{MAPS}/a"), "cid", &body("3"))])).code,
        409
    );
    let conflicts = server.get("/history/conflicts").document();
    assert_eq!(conflicts.items("items").len(), 1, "{conflicts}");
    for round in 0..4 {
        for manager in ["ben", "ann"] {
            assert_eq!(server.send(&transaction(&[force(manager, manager)])).code, 200, "{round}");
        }
    }
    let writers = server.get("/history/writers").document();
    let changes = |manager: &str| {
        let found = writers.items("writers").iter().find(|writer| writer.text("manager") == manager);
        found.and_then(|writer| writer.get("changes")?.as_i64())
    };
    assert_eq!(["ann", "ben", "cid"].map(changes), [Some(5), Some(4), None], "{writers}");
    let fights = server.get("/history/fights").document();
    assert_eq!(fights.items("items").len(), 1, "{fights}");
}

#[test]
fn kubernetes_has_no_transactions() {
    let server = Server::behaving(Profile::kubernetes());
    let answer = server.send(&transaction(&[apply(&format!("{MAPS}/a"), "ci", &map("a", "1"))]));
    assert!(matches!(answer.code, 404 | 405), "{}", answer.text());
    assert_eq!(server.get(&format!("{MAPS}/a")).code, 404);
}
