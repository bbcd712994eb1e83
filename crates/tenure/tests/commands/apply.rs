//! `tenure apply`.

use crate::harness::{DEPLOYMENT, World};
use tenure_value::Value;

const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";

fn map(name: &str, data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {data}\n")
}

#[test]
fn conflicts_are_kept_from_being_applied_and_the_rest_is() {
    let world = World::start();
    world.with(&format!("{}---\n{}", map("a", "{k: v}"), map("b", "{k: v}")), &["apply", "-f", "-"]).ends(0);
    let other = format!("{}---\n{}", map("a", "{k: w}"), map("c", "{k: v}"));
    let said = world.with(&other, &["apply", "-f", "-", "--manager", "bob"]).ends(3);
    said.mentions("! .data.k: \"v\" → \"w\"").mentions("2 objects: 1 applied, 1 with conflicts");
    assert_eq!(world.managers("/api/v1/namespaces/default/configmaps/c"), ["bob Apply"]);
    assert_eq!(world.managers("/api/v1/namespaces/default/configmaps/a"), ["kubectl Apply"]);
}

#[test]
fn single_fields_are_taken_and_no_others() {
    let world = World::start();
    world.with(DEPLOYMENT, &["apply", "-f", "-", "--manager", "alice"]).ends(0);
    let mine = DEPLOYMENT.replace("replicas: 2", "replicas: 5").replace("nginx:1", "nginx:2");
    let line = ["apply", "-f", "-", "--manager", "bob", "--force-path", ".spec.replicas"];
    world.with(&mine, &line).ends(3).mentions("image");
    assert_eq!(world.get(WEB).at(["spec", "replicas"]), Some(&Value::Int(2)), "nothing was applied");
    let mine = DEPLOYMENT.replace("replicas: 2", "replicas: 5");
    world.with(&mine, &line).ends(0).mentions("alice loses .spec.replicas");
    assert_eq!(world.get(WEB).at(["spec", "replicas"]), Some(&Value::Int(5)));
    world.tenure(&["why", "deploy/web", ".spec.replicas"]).says("bob by Apply");
    world.tenure(&["apply", "-f", "-", "--force-conflicts", "--force-path", ".x"]).ends(1);
}

#[test]
fn each_conflict_can_be_decided() {
    let decide = |answers: &str| {
        let world = World::start();
        world.with(&map("c", "{k: theirs}"), &["apply", "-f", "-", "--manager", "alice"]).ends(0);
        let file = world.file("c.yaml", &map("c", "{k: mine, other: x}"));
        let said = world.with(answers, &["apply", "-f", &file, "--manager", "bob", "--interactive"]);
        let live = world.get("/api/v1/namespaces/default/configmaps/c");
        let value = live.at(["data", "k"]).and_then(Value::as_str).unwrap_or_default().to_owned();
        let answer = world.tenure(&["why", "cm/c", ".data.k", "-o", "json"]).json();
        let owners = answer.get("owners").and_then(Value::as_array).expect("owners");
        let name =
            |owner: &Value| owner.get("manager").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut owners: Vec<String> = owners.iter().map(name).collect();
        owners.sort();
        (said.code, value, owners.join("+"))
    };
    for (answers, code, value, owners) in [
        ("m\n", 0, "mine", "bob"),
        ("t\n", 0, "theirs", "alice"),
        ("what?\ns\n", 0, "theirs", "alice+bob"),
        ("l\n", 0, "theirs", "alice"),
        ("q\n", 3, "theirs", "alice"),
        ("", 3, "theirs", "alice"),
    ] {
        assert_eq!(decide(answers), (Some(code), value.into(), owners.into()), "{answers:?}");
    }
}

#[test]
fn what_is_no_longer_among_the_files_is_pruned() {
    let world = World::start();
    world.file("set/a.yaml", &map("a", "{k: v}"));
    world.file("set/b.yaml", &map("b", "{k: v}"));
    world.file("set/deeper/web.yaml", DEPLOYMENT);
    let set = world.home.path().join("set");
    let line =
        ["apply", "-R", "-f", &set.to_string_lossy(), "--prune", "--applyset", "web"].map(String::from);
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    world.with(&map("stranger", "{k: v}"), &["apply", "-f", "-"]).ends(0);
    world.tenure(&line).ends(0).mentions("3 objects: 3 applied");
    let parent = world.get("/api/v1/namespaces/default/secrets/web");
    let kinds = parent.at(["metadata", "annotations", "applyset.kubernetes.io/contains-group-kinds"]);
    assert_eq!(kinds, Some(&Value::from("ConfigMap,Deployment.apps")));
    std::fs::remove_file(set.join("b.yaml")).expect("it was there");
    std::fs::remove_file(set.join("deeper/web.yaml")).expect("it was there");
    world.tenure(&[&line[..], &["--dry-run"]].concat()).ends(0).mentions("configmap/b in default: to prune");
    world
        .tenure(&line)
        .ends(0)
        .mentions("configmap/b in default: pruned")
        .mentions("deployment.apps/web in default: pruned");
    let code =
        |name: &str| world.ask("GET", &format!("/api/v1/namespaces/default/configmaps/{name}"), "", "").0;
    assert_eq!(["a", "b", "stranger"].map(code), [200, 404, 200]);
    assert_eq!(world.ask("GET", WEB, "", "").0, 404);
    world.tenure(&line).ends(0).mentions("1 object: 1 unchanged");
    world
        .tenure(&[
            "apply",
            "-f",
            &world.file("x.yaml", &map("x", "{}")),
            "--prune",
            "--applyset",
            "cm/stranger",
        ])
        .ends(1)
        .mentions("is not the parent of an ApplySet");
}

#[test]
fn help_has_examples_everywhere() {
    for command in
        ["blame", "plan", "apply", "why", "adopt", "transfer", "release", "migrate", "undo", "serve"]
    {
        let said = crate::harness::offline(&[command, "--help"], "").says("Examples:");
        assert!(said.out.contains(&format!("tenure {command}")), "{command}");
    }
}
