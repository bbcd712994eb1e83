//! A webhook in this process that responds as a test chooses and records its requests.

use crate::{server::Server, webhook_server::WebhookServer};
use std::sync::{Arc, Mutex};
use tenure_http::{GuardedRequest, MemoryBudget, PLAIN, Response, listener::Handler};
use tenure_value::{Limits, Value, base64, json};

/// Returns the response to a request; the uid is added.
type Respond = dyn Fn(&Value) -> String + Send + Sync;

/// A running webhook.
pub struct RecordingWebhook {
    pub webhook_server: WebhookServer,
    state: Arc<State>,
}

struct State {
    respond: Box<Respond>,
    requests: Mutex<Vec<Value>>,
}

impl RecordingWebhook {
    pub fn start(respond: impl Fn(&Value) -> String + Send + Sync + 'static) -> RecordingWebhook {
        let state = Arc::new(State { respond: Box::new(respond), requests: Mutex::default() });
        RecordingWebhook { webhook_server: WebhookServer::start("hook.default.svc", state.clone()), state }
    }

    /// Starts a webhook that allows everything.
    pub fn allowing() -> RecordingWebhook {
        RecordingWebhook::start(|_| r#"{"allowed":true}"#.into())
    }

    /// Starts a webhook that responds to everything with the same patch.
    pub fn patching(patch: &str) -> RecordingWebhook {
        let patch = patch.to_string();
        RecordingWebhook::start(move |_| patched(&patch))
    }

    /// Returns the requests since the last call.
    pub fn requests(&self) -> Vec<Value> {
        std::mem::take(&mut self.state.requests.lock().unwrap())
    }

    /// Registers the webhook with a server for the resources of a rule; `more` are further fields of the webhook.
    pub fn register(&self, server: &Server, kind: &str, name: &str, rule: &str, more: &str) {
        let client = self.webhook_server.client("/ask");
        configure(server, kind, name, &webhook(name, &client, rule, more));
    }
}

/// Returns a response that patches the object.
pub fn patched(patch: &str) -> String {
    format!(r#"{{"allowed":true,"patchType":"JSONPatch","patch":"{}"}}"#, base64::encode(patch))
}

/// Returns the configuration of a webhook for a rule.
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
    let operations: Vec<String> = operations.split(' ').map(|operation| format!("{operation:?}")).collect();
    format!(
        r#"{{"operations":[{}],"apiGroups":["{group}"],"apiVersions":["*"],"resources":["{resource}"]}}"#,
        operations.join(",")
    )
}

impl Handler for State {
    async fn handle(self: Arc<Self>, request: GuardedRequest) -> Response {
        let (_, body) = request.into_parts();
        let (body, _) = body.read(64 << 20, &MemoryBudget::default()).await.unwrap();
        let review = json::parse(&body, &Limits::TRUSTED).unwrap();
        let request = review.get("request").cloned().unwrap();
        let response: Value = (self.respond)(&request).parse().unwrap();
        let response = response.as_object().unwrap().with("uid", request.get("uid").cloned().unwrap());
        self.requests.lock().unwrap().push(request);
        let answer = review.as_object().unwrap().without("request").with("response", response);
        Response::document(hyper::StatusCode::OK, &answer.into(), PLAIN)
    }
}
