//! The history of objects: every version of a response can be rebuilt, changes name their authors, and managers that fight
//! are found.

use crate::{
    http::Request,
    random::Random,
    server::{APPLY, MERGE_PATCH, Server},
    stream::Stream,
};
use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};
use tenure_http::Administrator;
use tenure_ownership::{Blame, LiveObject};
use tenure_schema::Schema;
use tenure_value::Value;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const TOKEN: &str = "an-administrators-token";

fn text<'v>(value: &'v Value, path: &[&str]) -> &'v str {
    value.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default()
}

fn items(page: &Value) -> Vec<Value> {
    page.get("items")
        .and_then(Value::as_array)
        .map(|items| items.iter().cloned().collect())
        .unwrap_or_default()
}

fn deployment(replicas: u64, image: &str) -> String {
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web"}},"spec":{{"replicas":{replicas},"selector":{{"matchLabels":{{"app":"web"}}}},
            "template":{{"metadata":{{"labels":{{"app":"web"}}}},"spec":{{"containers":[{{"name":"app","image":"{image}"}}]}}}}}}}}"#
    )
}

/// Sends a random write of the deployment.
fn write(server: &Server, random: &mut Random) -> crate::http::Response {
    let (replicas, manager) = (random.below(4), ["alice", "bob", "carol"][random.below(3) as usize]);
    let path = format!("{DEPLOYMENTS}/web");
    let image = format!("registry/app:{}", random.below(3));
    match random.below(9) {
        0 => server.delete(&path),
        1 => {
            let patch =
                format!(r#"{{"metadata":{{"labels":{{"team":"{}","{manager}":null}}}}}}"#, random.below(3));
            server.patch(&format!("{path}?fieldManager={manager}"), MERGE_PATCH, &patch)
        }
        2 => {
            let status = format!(
                r#"{{"status":{{"replicas":{replicas},"conditions":[{{"type":"Available","status":"True"}}]}}}}"#
            );
            server.patch(&format!("{path}/status?fieldManager=controller"), MERGE_PATCH, &status)
        }
        3 => {
            let scale = format!(r#"{{"spec":{{"replicas":{replicas}}}}}"#);
            server.patch(&format!("{path}/scale?fieldManager=autoscaler"), MERGE_PATCH, &scale)
        }
        4 => {
            let env = format!(
                r#"{{"spec":{{"template":{{"spec":{{"containers":[{{"name":"app","env":[{{"name":"E{}","value":"{replicas}"}}]}}]}}}}}}}}"#,
                random.below(3)
            );
            server.patch(
                &format!("{path}?fieldManager={manager}"),
                "application/strategic-merge-patch+json",
                &env,
            )
        }
        5 => server.put(&format!("{path}?fieldManager={manager}"), &deployment(replicas, &image)),
        6 => server.patch(
            &format!("{path}?fieldManager={manager}"),
            MERGE_PATCH,
            &format!(
                r#"{{"metadata":{{"annotations":{{"note":"{}"}}}}}}"#,
                "x".repeat(random.below(60) as usize)
            ),
        ),
        _ => server.patch(
            &format!("{path}?fieldManager={manager}&force=true"),
            APPLY,
            &deployment(replicas, &image),
        ),
    }
}

#[test]
fn every_answered_version_is_rebuilt_byte_for_byte() {
    let ty = Schema::builtin().kind("apps/v1", "Deployment").expect("a built-in kind");
    for seed in 0..6 {
        let server = Server::start();
        let mut random = Random(seed);
        let mut answered: Vec<(String, Value)> = Vec::new();
        for _ in 0..70 {
            let response = write(&server, &mut random);
            assert!(response.code < 500, "{}", response.text());
            let document = response.document();
            // A scale is part of an object, and the `Status` of a deletion is not an object.
            if response.code < 300 && text(&document, &["kind"]) == "Deployment" {
                answered.push((response.text(), document));
            }
        }
        assert!(answered.len() > 20, "{} versions", answered.len());
        for (body, shown) in &answered {
            let revision = text(shown, &["metadata", "resourceVersion"]);
            let rebuilt = server.get(&format!("{DEPLOYMENTS}/web/history?at={revision}"));
            assert_eq!(
                (rebuilt.code, rebuilt.text().trim_end()),
                (200, body.trim_end()),
                "seed {seed}, revision {revision}"
            );
            let blame =
                |shown: &Value| Blame::of(&LiveObject::read(shown).expect("an object"), ty).to_value();
            assert_eq!(blame(&rebuilt.document()), blame(shown));
        }
    }
}

#[test]
fn a_log_shows_who_changed_what() {
    let server = Server::start();
    let path = format!("{MAPS}/a");
    let body = |value: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a"}},"data":{{"k":"{value}"}}}}"#
        )
    };
    server.post(&format!("{MAPS}?fieldManager=alice"), &body("1"));
    for value in 2..8 {
        let response = server.patch(
            &format!("{path}?fieldManager=bob"),
            MERGE_PATCH,
            &format!(r#"{{"data":{{"k":"{value}"}}}}"#),
        );
        assert_eq!(response.code, 200, "{}", response.text());
    }
    server.patch(&format!("{path}?fieldManager=carol"), MERGE_PATCH, r#"{"metadata":{"labels":{"x":"y"}}}"#);
    let page = server.get(&format!("{path}/history?limit=3")).document();
    let first = items(&page);
    assert_eq!(first.len(), 3);
    assert_eq!(
        (text(&first[0], &["manager"]), text(&first[0], &["verb"]), text(&first[0], &["type"])),
        ("carol", "patch", "Modified")
    );
    let change = &items(&Value::object([("items", first[1].get("changes").cloned().unwrap())]))[0];
    assert_eq!(change.to_string(), r#"{"from":"6","path":".data.k","to":"7"}"#);
    // The rest follows in pages, to the creation.
    let (mut all, mut page) = (first, page);
    while let Some(next) = page.at(["metadata", "continue"]).and_then(Value::as_str) {
        page = server.get(&format!("{path}/history?limit=3&continue={next}")).document();
        all.extend(items(&page));
    }
    assert_eq!(all.len(), 8);
    assert_eq!((text(&all[7], &["type"]), text(&all[7], &["manager"])), ("Created", "alice"));
    // One field has only its own changes, with its owners.
    let field = items(&server.get(&format!("{path}/history?field=.data.k")).document());
    assert_eq!(field.len(), 7, "carol changed another field");
    let owners = field[0].get("owners").unwrap().to_string();
    assert!(owners.contains("bob") && !owners.contains("alice"), "{owners}");
    for (query, code, part) in [
        ("at=soon", 400, "neither a revision nor a time"),
        ("at=1", 404, "did not exist"),
        ("continue=x", 400, "metadata.continue"),
        ("field=.data[", 400, "field"),
    ] {
        let response = server.get(&format!("{path}/history?{query}"));
        assert!(
            response.code == code && response.text().contains(part),
            "{query}: {} {}",
            response.code,
            response.text()
        );
    }
    assert_eq!(server.get(&format!("{MAPS}/never/history")).code, 404);
    assert_eq!(server.delete(&format!("{path}/history")).code, 405);
}

#[test]
fn deleted_objects_keep_their_history() {
    let server = Server::start();
    let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"gone"},"data":{"k":"1"}}"#;
    let created = server.post(MAPS, body).document();
    server.delete(&format!("{MAPS}/gone"));
    let page = server.get(&format!("{MAPS}/gone/history")).document();
    let kinds: Vec<String> = items(&page).iter().map(|item| text(item, &["type"]).to_owned()).collect();
    assert_eq!(kinds, ["Deleted", "Created"]);
    assert_eq!(page.get("exists"), Some(&Value::from(false)));
    let revision = text(&items(&page)[0], &["previous"]).to_owned();
    assert_eq!(server.get(&format!("{MAPS}/gone/history?at={revision}")).document(), created);
    // A new object of the same name has its own history, and the old history stays readable.
    server.post(MAPS, body);
    assert_eq!(items(&server.get(&format!("{MAPS}/gone/history")).document()).len(), 3);
    assert_eq!(server.get(&format!("{MAPS}/gone/history?at={revision}")).document(), created);
}

#[test]
fn a_watch_sends_changes_as_they_happen() {
    let server = Server::start();
    let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"1"}}"#;
    let created = server.post(MAPS, body).document();
    let revision = text(&created, &["metadata", "resourceVersion"]).to_owned();
    let mut stream =
        Stream::open(server.address, &format!("{MAPS}/a/history?watch=true&resourceVersion={revision}"))
            .expect("a watch");
    server.patch(&format!("{MAPS}/a?fieldManager=bob"), MERGE_PATCH, r#"{"data":{"k":"2"}}"#);
    let event = stream.next().expect("an event");
    assert_eq!(text(&event, &["type"]), "ADDED");
    assert_eq!(text(&event, &["object", "manager"]), "bob");
    assert_eq!(
        event.at(["object", "changes"]).unwrap().to_string(),
        r#"[{"from":"1","path":".data.k","to":"2"}]"#
    );
    server.delete(&format!("{MAPS}/a"));
    assert_eq!(text(&stream.next().expect("an event"), &["object", "type"]), "Deleted");
}

#[test]
fn values_of_secrets_stay_out() {
    let server = Server::start();
    let body =
        r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"password":"aHVudGVyMg=="}}"#;
    server.post(SECRETS, body);
    server.patch(
        &format!("{SECRETS}/s?fieldManager=bob"),
        MERGE_PATCH,
        r#"{"data":{"password":"aHVudGVyMw=="}}"#,
    );
    let path = format!("{SECRETS}/s/history");
    let revision = text(&items(&server.get(&path).document())[1], &["revision"]).to_owned();
    server.delete(&format!("{SECRETS}/s"));
    for query in ["", "?field=.data.password", "?field=.data", &format!("?at={revision}")] {
        let response = server.get(&format!("{path}{query}"));
        assert!(response.code == 200 && response.text().contains("***"), "{query}: {}", response.text());
        assert!(!response.text().contains("aHVudGVy"), "{query}: {}", response.text());
    }
    let changes = items(&server.get(&format!("{path}?field=.data.password")).document());
    assert_eq!(text(&changes[1], &["manager"]), "bob", "it tells who changed it");
    assert_eq!(changes[1].get("changed"), Some(&Value::from(true)), "and that it changed");
}

#[test]
fn history_has_a_permission_of_its_own() {
    let server = Server::with(Administrator::Token(TOKEN.into()));
    let admin = |request: Request| request.header("Authorization", &format!("Bearer {TOKEN}"));
    let send = |method: &str, path: &str, body: &str| {
        let response = server.send(&admin(Request::new(method, path).body("application/json", body)));
        assert!(response.code < 300, "{path}: {}", response.text());
    };
    send("POST", MAPS, r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#);
    let role = |name: &str, resource: &str| {
        format!(
            r#"{{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{{"name":"{name}"}},
                "rules":[{{"apiGroups":[""],"resources":["{resource}"],"verbs":["get"]}}]}}"#
        )
    };
    let binding = |name: &str| {
        format!(
            r#"{{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{{"name":"{name}"}},
                "roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"{name}"}},
                "subjects":[{{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"{name}"}}]}}"#
        )
    };
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    for (name, resource) in [("reader", "configmaps"), ("historian", "configmaps/history")] {
        send("POST", &format!("{rbac}/roles"), &role(name, resource));
        send("POST", &format!("{rbac}/rolebindings"), &binding(name));
    }
    let as_user = |user: &str, path: &str| {
        server.send(&admin(Request::new("GET", path)).header("Impersonate-User", user)).code
    };
    let history = format!("{MAPS}/a/history");
    let found =
        ["reader", "historian"].map(|user| [as_user(user, &format!("{MAPS}/a")), as_user(user, &history)]);
    assert_eq!(found, [[200, 403], [403, 200]]);
    assert_eq!(as_user("historian", &format!("{history}?watch=true")), 403, "a watch is another verb");
    assert_eq!(as_user("historian", "/history/fights"), 403);
}

#[test]
fn the_values_of_a_fight_are_for_those_who_may_read_the_object() {
    let server = Server::with(Administrator::Token(TOKEN.into()));
    let admin = |request: Request| request.header("Authorization", &format!("Bearer {TOKEN}"));
    let send = |method: &str, path: &str, body: &str, media_type: &str| {
        let response = server.send(&admin(Request::new(method, path)).body(media_type, body));
        assert!(response.code < 300, "{}", response.text());
    };
    let json = "application/json";
    send("POST", MAPS, r#"{"metadata":{"name":"m"},"data":{"k":"first"}}"#, json);
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let rules = r#"[{"nonResourceURLs":["/history/fights"],"verbs":["get"]}]"#;
    send(
        "POST",
        &format!("{rbac}/clusterroles"),
        &format!(r#"{{"metadata":{{"name":"f"}},"rules":{rules}}}"#),
        json,
    );
    let binding = r#"{"metadata":{"name":"f"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"f"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"watcher"}]}"#;
    send("POST", &format!("{rbac}/clusterrolebindings"), binding, json);
    for round in 0..20 {
        let (manager, value) = if round % 2 == 0 { ("one", "value-1") } else { ("two", "value-2") };
        let body = format!(r#"{{"data":{{"k":"{value}"}}}}"#);
        send("PATCH", &format!("{MAPS}/m?fieldManager={manager}"), &body, MERGE_PATCH);
    }
    let fights = |user: Option<&str>| {
        let request = admin(Request::new("GET", "/history/fights"));
        let request = match user {
            Some(user) => request.header("Impersonate-User", user),
            None => request,
        };
        server.send(&request).text()
    };
    let (all, some) = (fights(None), fights(Some("watcher")));
    assert!(all.contains("value-1") && all.contains("value-2"), "{all}");
    assert!(some.contains(".data.k") && some.contains("two") && !some.contains("value-"), "{some}");
}

#[test]
fn two_that_fight_are_found_and_fifty_that_do_not_are_not() {
    let server = Server::start().with_controllers();
    server.apply(&format!("{DEPLOYMENTS}/web"), "alice", &deployment(1, "app:1"));
    for number in 0..50 {
        let body = deployment(1, "app:1").replace("\"web\"", &format!("\"web-{number}\""));
        assert_eq!(server.apply(&format!("{DEPLOYMENTS}/web-{number}"), "deployer", &body).code, 201);
    }
    let stop = AtomicBool::new(false);
    let set = |name: &str, manager: &str, replicas: u64| {
        let patch = format!(r#"{{"spec":{{"replicas":{replicas}}}}}"#);
        let response =
            server.patch(&format!("{DEPLOYMENTS}/{name}?fieldManager={manager}"), MERGE_PATCH, &patch);
        assert!(response.code < 300 || response.code == 409, "{}", response.text());
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                set("web", "scheduler", 3)
            }
        });
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                set("web", "autoscaler", 5)
            }
        });
        // Each of these changes its own field back and forth, or takes one over once.
        scope.spawn(|| {
            let mut round = 0;
            while !stop.load(Relaxed) {
                for number in 0..50 {
                    set(&format!("web-{number}"), "autoscaler", 1 + (round + number) % 3);
                }
                round += 1;
            }
        });
        let fights = || items(&server.get("/history/fights").document());
        server.wait_until("a fight is found", || !fights().is_empty());
        let found = fights();
        // Long enough for the others to change back and forth a few times.
        server.wait_until("an event is written", || {
            let events = server.get("/api/v1/namespaces/default/events").document();
            let fights = items(&events).into_iter().filter(|event| text(event, &["reason"]) == "FieldFight");
            let messages: Vec<String> = fights.map(|event| text(&event, &["message"]).to_string()).collect();
            // Those who read events may not be allowed to read the object.
            assert!(messages.iter().all(|message| !message.contains(" sets it to ")), "{messages:?}");
            messages.iter().any(|message| message.contains("scheduler"))
        });
        stop.store(true, Relaxed);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(text(&found[0], &["path"]), ".spec.replicas");
        assert_eq!(text(&found[0], &["object", "name"]), "web");
        let sides = found[0].get("sides").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut sides: Vec<(&str, &str)> =
            sides.iter().map(|side| (text(side, &["manager"]), text(side, &["value"]))).collect();
        sides.sort_unstable();
        assert_eq!(sides, [("autoscaler", "5"), ("scheduler", "3")]);
        assert_eq!(fights().len(), 1, "the fifty do not fight");
        let metrics = server.get("/metrics").text();
        assert!(metrics.contains("tenure_field_fights 1"), "{metrics}");
    });
    let writers = server.get("/history/writers").document();
    let top = writers.get("writers").unwrap().to_string();
    assert!(top.contains("scheduler") && top.contains("noops"), "{top}");
    assert!(writers.get("fields").unwrap().to_string().contains(".spec.replicas"), "{writers}");
}

#[test]
fn a_restart_keeps_fights() {
    let before = Server::start();
    before.apply(&format!("{DEPLOYMENTS}/web"), "alice", &deployment(1, "app:1"));
    let body = deployment(1, "app:1").replace("\"web\"", "\"calm\"");
    before.apply(&format!("{DEPLOYMENTS}/calm"), "alice", &body);
    for round in 0..4 {
        for (manager, replicas) in [("scheduler", 3), ("autoscaler", 5)] {
            let patch = |replicas: u64| format!(r#"{{"spec":{{"replicas":{replicas}}}}}"#);
            let path = format!("{DEPLOYMENTS}/web?fieldManager={manager}");
            assert_eq!(before.patch(&path, MERGE_PATCH, &patch(replicas)).code, 200);
            // One that changes its own field does not fight, also after a restart.
            let path = format!("{DEPLOYMENTS}/calm?fieldManager=autoscaler");
            before.patch(&path, MERGE_PATCH, &patch(round + replicas));
        }
    }
    let known = before.get("/history/fights").document();
    assert_eq!(items(&known).len(), 1);
    let store = before.store();
    drop(before);
    let after = Server::over(store, Administrator::Anyone).with_controllers();
    let fights = || after.get("/history/fights").document();
    after.wait_until("the fight is known", || !items(&fights()).is_empty());
    let recalled = fights();
    let told = |fights: &Value| {
        let fight = items(fights).remove(0);
        let sides = fight.get("sides").cloned().unwrap_or_default();
        (text(&fight, &["object", "name"]).to_owned(), text(&fight, &["path"]).to_owned(), sides)
    };
    assert_eq!((items(&recalled).len(), told(&recalled)), (1, told(&known)));
}

#[test]
fn refused_applies_are_listed_and_dry_runs_are_not() {
    let server = Server::start();
    server.apply(&format!("{DEPLOYMENTS}/web"), "alice", &deployment(1, "app:1"));
    let apply = |query: &str| {
        let path = format!("{DEPLOYMENTS}/web?fieldManager=bob{query}");
        assert_eq!(server.patch(&path, APPLY, &deployment(3, "app:1")).code, 409);
    };
    apply("&dryRun=All");
    let refused = || items(&server.get("/history/conflicts").document());
    assert_eq!(refused(), Vec::<Value>::new());
    apply("");
    apply("");
    let shown = refused();
    assert_eq!(shown.len(), 1, "{shown:#?}");
    assert_eq!(text(&shown[0], &["manager"]), "bob");
    assert_eq!(shown[0].get("count").and_then(Value::as_i64), Some(2));
    let fields = shown[0].get("fields").map(Value::to_string).unwrap_or_default();
    assert_eq!(fields, r#"[{"owners":["alice"],"path":".spec.replicas"}]"#);
}
