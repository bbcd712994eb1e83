//! A conversation: the requests of several managers about one object, sent to two servers in step. `{ns}` and `{id}` in it stand
//! for names that differ from run to run, `{rv}` for the version of the object that this server returned last.

use crate::{
    client::{Answer, Client, ClientError},
    compare::{Difference, Errors, Roles, compare},
};
use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tenure_value::Value;

/// How often a new resource is requested before it counts as not served, and how long to wait in between.
const POLLS: (usize, Duration) = (100, Duration::from_millis(100));

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The method.
    pub method: &'static str,
    /// The path and the query.
    pub path: String,
    /// The content type of the body.
    pub media_type: &'static str,
    /// The body; null for none.
    pub body: Value,
}

/// A definition of a custom resource, if there is one, and the requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// The definition that is created first.
    pub definition: Option<Value>,
    /// The requests, in order.
    pub steps: Vec<Step>,
    /// How errors are compared.
    pub errors: Errors,
}

/// Writes the conversation as requests, one per line.
impl fmt::Display for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(definition) = &self.definition {
            writeln!(f, "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions {definition}")?;
        }
        for (number, step) in self.steps.iter().enumerate() {
            writeln!(f, "{number}: {} {} {} {}", step.method, step.path, step.media_type, step.body)?;
        }
        Ok(())
    }
}

/// Sends a conversation to both servers and returns the first difference between their responses.
pub fn run(
    conversation: &Conversation,
    server: &Client,
    reference: &Client,
) -> Result<Option<Difference>, ClientError> {
    let names = Names::new();
    let mut sides = [Side::new(server), Side::new(reference)];
    let result = converse(conversation, &names, &mut sides);
    for side in &sides {
        side.clean_up(conversation, &names);
    }
    result
}

fn converse(
    conversation: &Conversation,
    names: &Names,
    sides: &mut [Side<'_>; 2],
) -> Result<Option<Difference>, ClientError> {
    let namespace = format!(r#"{{"metadata":{{"name":"{}"}}}}"#, names.namespace);
    for side in &*sides {
        side.client.send("POST", "/api/v1/namespaces", Some(("application/json", &namespace)))?;
    }
    if let Some(definition) = &conversation.definition {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_string();
        let (method, media_type) = ("POST", "application/json");
        let step = Step { method, path, media_type, body: definition.clone() };
        let answers = [sides[0].send(&step, names)?, sides[1].send(&step, names)?];
        if answers.iter().any(|answer| answer.code != 201) {
            let (ours, theirs) = (answers[0].code < 300, answers[1].code < 300);
            return Ok((ours != theirs).then(|| Difference::of_definition(&answers)));
        }
        for side in &*sides {
            side.wait_until_served(definition, names)?;
        }
    }
    for (number, step) in conversation.steps.iter().enumerate() {
        let answers = [sides[0].send(step, names)?, sides[1].send(step, names)?];
        let [ours, theirs] = sides;
        if let Some(difference) =
            compare(number, &answers, [&mut ours.roles, &mut theirs.roles], conversation.errors)
        {
            return Ok(Some(difference));
        }
    }
    Ok(None)
}

/// The names of one run.
struct Names {
    namespace: String,
    id: String,
}

impl Names {
    fn new() -> Names {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let id = format!("d{:x}x{}", now.as_millis(), RUNS.fetch_add(1, Relaxed));
        Names { namespace: format!("diff-{id}"), id }
    }

    fn fill(&self, text: &str) -> String {
        text.replace("{ns}", &self.namespace).replace("{id}", &self.id)
    }
}

/// One of the two servers, and its responses so far.
struct Side<'c> {
    client: &'c Client,
    version: String,
    roles: Roles,
}

impl<'c> Side<'c> {
    fn new(client: &'c Client) -> Side<'c> {
        Side { client, version: String::new(), roles: Roles::default() }
    }

    fn send(&mut self, step: &Step, names: &Names) -> Result<Answer, ClientError> {
        let body = names.fill(&step.body.to_string()).replace("{rv}", &self.version);
        let body = (!step.body.is_null()).then_some((step.media_type, body.as_str()));
        let answer = self.client.send(step.method, &names.fill(&step.path), body)?;
        let version = answer.body.at(["metadata", "resourceVersion"]).and_then(Value::as_str);
        if let (Some(version), true) = (version, answer.code < 300) {
            self.version = version.to_string();
        }
        Ok(answer)
    }

    /// Waits until every version of a definition is served.
    fn wait_until_served(&self, definition: &Value, names: &Names) -> Result<(), ClientError> {
        let versions =
            definition.at(["spec", "versions"]).and_then(Value::as_array).cloned().unwrap_or_default();
        for version in versions.iter().filter_map(|version| version.get("name")?.as_str()) {
            let path = names.fill(&format!("/apis/{{id}}.example.com/{version}/namespaces/{{ns}}/widgets"));
            for _ in 0..POLLS.0 {
                if self.client.send("GET", &path, None)?.code == 200 {
                    break;
                }
                thread::sleep(POLLS.1);
            }
        }
        Ok(())
    }

    /// Deletes the objects of the conversation. A failure here shows up in the next conversation.
    fn clean_up(&self, conversation: &Conversation, names: &Names) {
        if conversation.definition.is_some() {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{id}.example.com";
            drop(self.client.send("DELETE", &names.fill(path), None));
        }
        drop(self.client.send("DELETE", &names.fill("/api/v1/namespaces/{ns}"), None));
    }
}
