//! A conversion webhook in this process: `v1` of its kind has `spec.hostPort`, `v2` has `spec.host` and `spec.port`.

use crate::webhook_server::WebhookServer;
use std::{
    ops::Deref,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};
use tenure_http::{GuardedRequest, MemoryBudget, PLAIN, Response, listener::Handler};
use tenure_value::{Limits, Object, Value, json};

/// How the webhook behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    Correct,
    /// It reports a failure.
    Refuses,
    /// It responds with an error code.
    Fails,
    /// It renames the objects.
    Renames,
    /// It leaves the last object out.
    Forgets,
    /// It adds an annotation, and changes metadata that it may not change.
    Annotates,
}

/// A running webhook.
pub struct ConversionWebhook {
    webhook_server: WebhookServer,
    state: Arc<State>,
}

impl Deref for ConversionWebhook {
    type Target = WebhookServer;

    fn deref(&self) -> &WebhookServer {
        &self.webhook_server
    }
}

struct State {
    behavior: Mutex<Behavior>,
    requests: AtomicUsize,
}

impl ConversionWebhook {
    /// Starts a webhook whose certificate is for an address of this machine and for a service.
    pub fn start(service: &str) -> ConversionWebhook {
        let state =
            Arc::new(State { behavior: Mutex::new(Behavior::Correct), requests: AtomicUsize::new(0) });
        ConversionWebhook { webhook_server: WebhookServer::start(service, state.clone()), state }
    }

    pub fn set_behavior(&self, behavior: Behavior) {
        *self.state.behavior.lock().unwrap() = behavior;
    }

    /// The number of requests so far.
    pub fn requests(&self) -> usize {
        self.state.requests.load(SeqCst)
    }
}

impl Handler for State {
    async fn handle(self: Arc<Self>, request: GuardedRequest) -> Response {
        self.requests.fetch_add(1, SeqCst);
        let behavior = *self.behavior.lock().unwrap();
        if behavior == Behavior::Fails {
            return Response::text(hyper::StatusCode::SERVICE_UNAVAILABLE, "come back later");
        }
        let (_, body) = request.into_parts();
        let (body, _) = body.read(64 << 20, &MemoryBudget::default()).await.unwrap();
        let review = json::parse(&body, &Limits::TRUSTED).unwrap();
        let asked = review.get("request").unwrap();
        let desired = asked.get("desiredAPIVersion").and_then(Value::as_str).unwrap();
        let objects = asked.get("objects").and_then(Value::as_array).unwrap();
        let mut converted: Vec<Value> =
            objects.iter().map(|object| convert(object, desired, behavior)).collect();
        if behavior == Behavior::Forgets {
            converted.pop();
        }
        let result = match behavior {
            Behavior::Refuses => r#"{"status":"Failure","message":"not in the mood"}"#,
            _ => r#"{"status":"Success"}"#,
        };
        let response = Value::object([
            ("uid", asked.get("uid").cloned().unwrap()),
            ("result", result.parse().unwrap()),
            ("convertedObjects", Value::array(converted)),
        ]);
        let answer = Value::object([
            ("apiVersion", review.get("apiVersion").cloned().unwrap()),
            ("kind", review.get("kind").cloned().unwrap()),
            ("response", response),
        ]);
        Response::document(hyper::StatusCode::OK, &answer, PLAIN)
    }
}

fn convert(object: &Value, desired: &str, behavior: Behavior) -> Value {
    let fields = object.as_object().unwrap().with("apiVersion", desired);
    let spec = fields.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
    let text = |name: &str| spec.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
    let spec: Object = match desired.rsplit('/').next() {
        Some("v2") => match text("hostPort").split_once(':') {
            Some((host, port)) => spec.without("hostPort").with("host", host).with("port", port),
            None => spec,
        },
        _ if text("host").is_empty() => spec,
        _ => {
            let joined = format!("{}:{}", text("host"), text("port"));
            spec.without("host").without("port").with("hostPort", joined)
        }
    };
    let mut metadata = fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    match behavior {
        Behavior::Renames => metadata = metadata.with("name", "another"),
        Behavior::Annotates => {
            let mark = Object::default().with("converted-to", desired);
            metadata = metadata.with("annotations", mark).with("generation", 77).without("finalizers");
        }
        _ => {}
    }
    fields.with("spec", spec).with("metadata", metadata).into()
}
