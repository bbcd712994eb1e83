//! A webhook in this process that answers as it is told to, and remembers what it was asked.

use crate::{callee::Callee, server::Server};
use base64::{Engine, engine::general_purpose::STANDARD};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tenure_http::{
    PLAIN, Response,
    listener::{Handler, read_body},
};
use tenure_value::{Limits, Value, json};

/// What a webhook answers to a request; its uid is added.
type Opinion = dyn Fn(&Value) -> String + Send + Sync;

/// A running webhook.
pub struct Witness {
    pub callee: Callee,
    state: Arc<State>,
}

struct State {
    opinion: Box<Opinion>,
    asked: Mutex<Vec<Value>>,
}

impl Witness {
    pub fn start(opinion: impl Fn(&Value) -> String + Send + Sync + 'static) -> Witness {
        let state = Arc::new(State { opinion: Box::new(opinion), asked: Mutex::default() });
        Witness { callee: Callee::start("hook.default.svc", state.clone()), state }
    }

    /// One that agrees to everything.
    pub fn agreeing() -> Witness {
        Witness::start(|_| r#"{"allowed":true}"#.into())
    }

    /// One that makes the same patch of everything.
    pub fn patching(patch: &str) -> Witness {
        let patch = patch.to_string();
        Witness::start(move |_| patched(&patch))
    }

    /// Returns the requests it was asked about since the last time.
    pub fn asked(&self) -> Vec<Value> {
        std::mem::take(&mut self.state.asked.lock().unwrap())
    }

    /// Has a server ask it about what a rule names; `more` are further members of the webhook.
    pub fn attend(&self, server: &Server, kind: &str, name: &str, rule: &str, more: &str) {
        let client = self.callee.client("/ask");
        configure(server, kind, name, &webhook(name, &client, rule, more));
    }
}

/// Returns an answer that changes the object.
pub fn patched(patch: &str) -> String {
    format!(r#"{{"allowed":true,"patchType":"JSONPatch","patch":"{}"}}"#, STANDARD.encode(patch))
}

/// Returns a webhook that is asked about what a rule names.
pub fn webhook(name: &str, client: &str, rule: &str, more: &str) -> String {
    let more = if more.is_empty() { String::new() } else { format!(",{more}") };
    format!(
        r#"{{"name":"{name}.hooks.example.com","clientConfig":{client},"admissionReviewVersions":["v1"],"sideEffects":"None","rules":[{rule}]{more}}}"#
    )
}

/// Creates a configuration of webhooks.
pub fn configure(server: &Server, kind: &str, name: &str, webhooks: &str) {
    let path = format!("/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations", kind.to_lowercase());
    server.create(
        &path,
        &format!(
            r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"{kind}WebhookConfiguration","metadata":{{"name":"{name}"}},"webhooks":[{webhooks}]}}"#
        ),
    );
}

/// Returns a rule about operations on a resource.
pub fn rule(operations: &str, group: &str, resource: &str) -> String {
    let operations: Vec<String> = operations.split(' ').map(|of| format!("{of:?}")).collect();
    format!(
        r#"{{"operations":[{}],"apiGroups":["{group}"],"apiVersions":["*"],"resources":["{resource}"]}}"#,
        operations.join(",")
    )
}

impl Handler for State {
    async fn handle(self: Arc<Self>, request: hyper::Request<hyper::body::Incoming>) -> Response {
        let body = read_body(request.into_body(), 64 << 20, Duration::from_secs(5)).await.unwrap();
        let review = json::parse(&body, &Limits::TRUSTED).unwrap();
        let asked = review.get("request").cloned().unwrap();
        let response: Value = (self.opinion)(&asked).parse().unwrap();
        let response = response.as_object().unwrap().with("uid", asked.get("uid").cloned().unwrap());
        self.asked.lock().unwrap().push(asked);
        let answer = review.as_object().unwrap().without("request").with("response", response);
        Response::document(hyper::StatusCode::OK, &answer.into(), PLAIN)
    }
}
