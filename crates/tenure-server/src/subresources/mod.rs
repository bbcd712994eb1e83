//! What is posted and not kept: questions about access, and the endpoints of pods, of which those that only a machine with
//! containers could serve say so.

mod binding;
mod eviction;
pub(crate) mod scale;

use crate::{
    Answer, Encoding, Failure, Format, Reason, WriteOptions,
    object::{Stored, meta_text},
    server::{Request, Server},
    target::Target,
    write::body,
};
use hyper::StatusCode;
use tenure_value::{Object, Value};

impl Server {
    /// Answers a question that is posted: everyone who got in may do everything, and is who the token says.
    pub(crate) async fn review(
        &self,
        target: &Target,
        request: &Request,
        asked: &Value,
        format: Format,
    ) -> Result<Answer, Failure> {
        let rules = || {
            let any = || Value::array([Value::from("*")]);
            let resources = Value::object([("verbs", any()), ("apiGroups", any()), ("resources", any())]);
            let others = Value::object([("verbs", any()), ("nonResourceURLs", any())]);
            Value::object([
                ("resourceRules", Value::array([resources])),
                ("nonResourceRules", Value::array([others])),
                ("incomplete", Value::Bool(false)),
            ])
        };
        let status = match target.served.resource.name.as_str() {
            "selfsubjectaccessreviews" | "subjectaccessreviews" | "localsubjectaccessreviews" => {
                Value::object([("allowed", Value::Bool(true))])
            }
            "selfsubjectrulesreviews" => rules(),
            "selfsubjectreviews" => {
                Value::object([("userInfo", self.caller(&request.headers).await.to_value())])
            }
            "tokenreviews" => self.review_token(asked).await,
            "bindings" => {
                let pod = Target {
                    served: self.served("", "v1", "pods")?,
                    name: meta_text(asked, "name").into(),
                    ..target.copy()
                };
                let options = request.query.write_options("CreateOptions")?;
                self.bind(&pod, request, options, asked).await?;
                return Ok(success(format));
            }
            _ => return Err(Failure::method_not_allowed()),
        };
        let answer = asked.as_object().cloned().unwrap_or_default().with("status", status);
        let answer =
            if answer.contains("metadata") { answer } else { answer.with("metadata", Object::default()) };
        Ok(Answer::document(StatusCode::CREATED, &answer.into(), format))
    }

    /// Carries out what is posted to an endpoint below an object.
    pub(crate) async fn act(
        &self,
        target: &Target,
        request: &Request,
        options: WriteOptions,
        encoding: Encoding,
        format: Format,
    ) -> Result<Answer, Failure> {
        match target.subresource.as_str() {
            "binding" => {
                let binding = body::read(&request.body, encoding, "Binding")?.value;
                let (binding, told) = Box::pin(self.admit_posted(target, request, &options, binding)).await?;
                self.bind(target, request, options, &binding).await?;
                Ok(success(format).with_warnings(&told))
            }
            "eviction" => {
                let eviction = body::read(&request.body, encoding, "Eviction")?.value;
                let (eviction, told) =
                    Box::pin(self.admit_posted(target, request, &options, eviction)).await?;
                Box::pin(self.evict(target, request, &eviction)).await?;
                Ok(success(format).with_warnings(&told))
            }
            "token" => {
                let asked = body::read(&request.body, encoding, "TokenRequest")?.value;
                let (asked, told) = Box::pin(self.admit_posted(target, request, &options, asked)).await?;
                let answer = Box::pin(self.make_token(target, &asked, format)).await?;
                Ok(answer.with_warnings(&told))
            }
            "log" | "exec" | "attach" | "portforward" | "proxy" => Err(unserved(target)),
            _ => Err(Failure::method_not_allowed()),
        }
    }

    /// Answers a request for a pod's log: without machines there is nothing in it.
    pub(crate) fn log(&self, stored: &Stored, request: &Request) -> Result<Answer, Failure> {
        if let Some(wanted) = request.query.given("container") {
            let list = |name: &str| {
                stored.object.at(["spec", name]).and_then(Value::as_array).cloned().unwrap_or_default()
            };
            let all = [list("containers"), list("initContainers"), list("ephemeralContainers")];
            let known = all
                .iter()
                .flat_map(|list| list.iter())
                .any(|of| of.get("name").and_then(Value::as_str) == Some(wanted));
            if !known {
                let pod = meta_text(&stored.object, "name");
                return Err(Failure::bad_request(format!("container {wanted} is not valid for pod {pod}")));
            }
        }
        Ok(Answer::text(StatusCode::NO_CONTENT, ""))
    }
}

fn unserved(target: &Target) -> Failure {
    Failure::new(
        Reason::BadRequest,
        format!("pod {} does not have a host assigned; this control plane runs no containers", target.name),
    )
}

fn success(format: Format) -> Answer {
    let status = Value::object([
        ("kind", Value::from("Status")),
        ("apiVersion", Value::from("v1")),
        ("metadata", Value::object::<&str>([])),
        ("status", Value::from("Success")),
        ("code", Value::from(201)),
    ]);
    Answer::document(StatusCode::CREATED, &status, format)
}
