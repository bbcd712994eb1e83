//! One recorded scenario, step by step, in a namespace of its own; before each apply the plan for it is made.

use super::{
    agreement::{self, Plans},
    http,
};
use crate::{harness::TestCluster, process::CommandOutput};
use std::{collections::HashMap, time::Duration};
use tenure_value::{Value, json, yaml};

const APPLY: &str = "application/apply-patch+yaml";

/// How often a step is repeated until its condition holds.
const TRIES: usize = 100;

/// Replays a scenario and compares the plan of each apply with its result.
pub fn scenario(cluster: &TestCluster, scenario: &Value, word: &str) -> Plans {
    let name = scenario.get("name").and_then(Value::as_str).unwrap_or_default();
    let mut replay = Replay { cluster, words: HashMap::new(), plans: Plans::default() };
    replay.words.insert("ns".into(), word.into());
    replay.words.insert("id".into(), format!("x{word}"));
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
    words: HashMap<String, String>,
    plans: Plans,
}

/// A step, ready to be sent.
struct Request {
    method: String,
    path: String,
    query: Vec<(String, String)>,
    kind: String,
    accept: String,
    body: String,
}

impl Replay<'_> {
    fn step(&mut self, step: &Value) -> Result<(), String> {
        if let Some(seconds) = step.get("wait").and_then(Value::as_f64) {
            std::thread::sleep(Duration::from_secs_f64(seconds));
        }
        let request = self.request(step);
        let Some(line) = self.plan_line(&request) else {
            self.send(step);
            return Ok(());
        };
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
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

    /// Returns the command line that plans a request, if it is an apply of a manifest.
    fn plan_line(&self, request: &Request) -> Option<Vec<String>> {
        let query = |name: &str| {
            request.query.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
        };
        if request.method != "PATCH" || request.kind != APPLY || query("dryRun").is_some() {
            return None;
        }
        let known = |(name, value): &(String, String)| match name.as_str() {
            "fieldManager" => true,
            "force" => value == "true" || value == "false",
            _ => false,
        };
        if !request.query.iter().all(known) {
            return None;
        }
        let manager = query("fieldManager").filter(|name| !name.is_empty())?;
        let (manifest, duplicates) =
            yaml::parse_any_checked(request.body.as_bytes(), &Default::default()).ok()?;
        let text =
            |path: &[&str]| manifest.at(path.iter().copied()).and_then(Value::as_str).map(String::from);
        let name = request.path.rsplit('/').next()?;
        let namespace = request.path.split_once("/namespaces/").and_then(|(_, rest)| rest.split_once('/'));
        let namespace = namespace.map(|(namespace, _)| namespace);
        let version = request.path.trim_start_matches("/apis/").trim_start_matches("/api/");
        let api_version = text(&["apiVersion"])?;
        let meant = text(&["metadata", "name"]).as_deref() == Some(name)
            && text(&["kind"])
                .is_some_and(|kind| request.path.contains(kind.to_lowercase().trim_end_matches('y')))
            && version.starts_with(&format!("{api_version}/"))
            && text(&["metadata", "namespace"]).is_none_or(|own| Some(own.as_str()) == namespace)
            && manifest.at(["metadata", "managedFields"]).is_none()
            // The commands refuse duplicate fields, about which the server warns.
            && duplicates.is_empty();
        if !meant {
            return None;
        }
        let mut line: Vec<String> =
            ["plan", "-f", "-", "-o", "json", "--manager", manager].map(String::from).to_vec();
        line.extend(namespace.map(|namespace| format!("--namespace={namespace}")));
        line.extend((query("force") == Some("true")).then(|| "--force-conflicts".to_owned()));
        Some(line)
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
        let request = self.request(step);
        let query: Vec<String> = request
            .query
            .iter()
            .map(|(name, value)| format!("{}={}", escaped(name), escaped(value)))
            .collect();
        let path = match query.is_empty() {
            true => request.path.clone(),
            false => format!("{}?{}", request.path, query.join("&")),
        };
        let until = step.at(["until", "code"]).and_then(Value::as_i64);
        for _ in 0..TRIES {
            let address = &self.cluster.server.address;
            let (code, value) =
                http::request(address, &request.method, &path, &request.kind, &request.accept, &request.body);
            if until.is_none_or(|until| i64::from(code) == until) {
                self.save(step, &value);
                return (code, value);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{path} never answers as recorded");
    }

    fn save(&mut self, step: &Value, response: &Value) {
        let Some(saved) = step.get("save").and_then(Value::as_object) else { return };
        for (name, pointer) in saved {
            let way = pointer.as_str().unwrap_or_default().split('/').skip(1);
            if let Some(Value::String(text)) = response.at(way) {
                self.words.insert(name.to_string(), text.to_string());
            }
        }
    }

    fn request(&self, step: &Value) -> Request {
        let text = |name: &str| {
            step.get(name).and_then(Value::as_str).map(|text| self.filled(text)).unwrap_or_default()
        };
        let mut query = Vec::new();
        for (name, value) in step.get("query").and_then(Value::as_object).cloned().unwrap_or_default().iter()
        {
            let values = match value {
                Value::Array(values) => values.to_vec(),
                one => vec![one.clone()],
            };
            for value in values {
                let value = value.as_str().map_or_else(|| json::to_string(&value), String::from);
                query.push((name.to_string(), self.filled(&value)));
            }
        }
        let times = step.get("repeat").and_then(Value::as_i64).map_or(1, |times| times as usize);
        let body = match (step.get("body"), step.get("raw").and_then(Value::as_str)) {
            (_, Some(raw)) => self.filled(raw).repeat(times),
            (Some(Value::Array(items)), _) => {
                let items = std::iter::repeat_n(items.items(), times).flatten().cloned();
                self.filled(&json::to_string(&Value::array(items)))
            }
            (Some(body), _) => self.filled(&json::to_string(body)),
            (None, None) => String::new(),
        };
        let (kind, accept) = (text("type"), text("accept"));
        let kind = if kind.is_empty() && !body.is_empty() { "application/json".into() } else { kind };
        let accept = if accept.is_empty() { "application/json".into() } else { accept };
        Request { method: text("do"), path: text("path"), query, kind, accept, body }
    }

    /// Returns text with the scenario's own names in it.
    fn filled(&self, text: &str) -> String {
        self.words
            .iter()
            .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }
}

fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
