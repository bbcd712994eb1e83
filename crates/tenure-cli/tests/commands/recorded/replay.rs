//! One recorded scenario, step by step, in a namespace of its own; before each apply the plan for it is made.

use super::{
    agreement::{self, Plans},
    http,
    step::Words,
};
use crate::{harness::TestCluster, process::CommandOutput};
use std::time::Duration;
use tenure_value::{Value, yaml};

/// How often a step is repeated until its condition holds.
const TRIES: usize = 100;

/// Replays a scenario and compares the plan of each apply with its result.
pub fn scenario(cluster: &TestCluster, scenario: &Value, word: &str) -> Plans {
    let name = scenario.get("name").and_then(Value::as_str).unwrap_or_default();
    let mut replay = Replay { cluster, words: Words::new(word), plans: Plans::default() };
    let namespace = format!(r#"{{"metadata":{{"name":"{word}"}}}}"#);
    cluster.request("POST", "/api/v1/namespaces", "application/json", &namespace);
    for (number, step) in scenario.get("steps").and_then(Value::as_array).expect("steps").iter().enumerate() {
        if let Err(difference) = replay.step(step) {
            replay.plans.differences.push(format!("{name}, step {number}: {difference}"));
        }
    }
    for step in scenario
        .get("cleanup")
        .and_then(Value::as_array)
        .map(|steps| steps.to_vec())
        .unwrap_or_default()
        .iter()
        .rev()
    {
        replay.send(step);
    }
    replay.plans
}

struct Replay<'a> {
    cluster: &'a TestCluster,
    words: Words,
    plans: Plans,
}

impl Replay<'_> {
    fn step(&mut self, step: &Value) -> Result<(), String> {
        if let Some(seconds) = step.get("wait").and_then(Value::as_f64) {
            std::thread::sleep(Duration::from_secs_f64(seconds));
        }
        let request = self.words.request(step);
        let Some(apply) = request.apply().filter(|apply| !apply.is_dry_run) else {
            self.send(step);
            return Ok(());
        };
        let mut line = vec!["plan", "-f", "-", "-o", "json", "--manager", &apply.manager];
        let namespace = apply.namespace.as_ref().map(|namespace| format!("--namespace={namespace}"));
        line.extend(namespace.as_deref());
        line.extend(apply.is_forced.then_some("--force-conflicts"));
        let path = &request.path;
        let object = |cluster: &TestCluster| {
            let (code, value) = cluster.request("GET", path, "", "");
            (code == 200).then_some(value)
        };
        let before = object(self.cluster);
        let output: CommandOutput = self.cluster.with(&request.body, &line);
        let (code, response) = self.send(step);
        let after = object(self.cluster);
        let ty = self.type_of(path, &request.body);
        agreement::compare(&output, code, &response, before.as_ref(), after.as_ref(), ty, &mut self.plans)
    }

    fn type_of(&self, path: &str, body: &str) -> tenure_schema::TypeRef<'static> {
        let manifest = yaml::parse_any(body.as_bytes(), &Default::default()).unwrap_or_default();
        let text = |name| manifest.get(name).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let definition = api_version.split_once('/').and_then(|(group, _)| {
            let plural = path.rsplit('/').nth(1)?;
            let name = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{group}");
            let (code, value) = self.cluster.request("GET", &name, "", "");
            (code == 200).then_some(value)
        });
        agreement::type_of(api_version, kind, definition.as_ref())
    }

    /// Sends a step until its condition holds.
    fn send(&mut self, step: &Value) -> (u16, Value) {
        let request = self.words.request(step);
        let path = request.uri();
        let until = step.at(["until", "code"]).and_then(Value::as_i64);
        for _ in 0..TRIES {
            let address = &self.cluster.server.address;
            let (code, value) =
                http::request(address, &request.method, &path, &request.kind, &request.accept, &request.body);
            if until.is_none_or(|until| i64::from(code) == until) {
                self.words.save(step, &value);
                return (code, value);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{path} never answers as recorded");
    }
}
