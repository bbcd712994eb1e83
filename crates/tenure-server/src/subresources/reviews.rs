//! Reviews: questions about access and identity that are posted and not stored.

use super::{Subresources, success, token::texts};
use crate::authenticator::user_info;
use hyper::StatusCode;
use tenure_auth::{Attributes, ResourceAttributes, UserInfo, rbac::PolicyRule};
use tenure_builtin::role::PODS;
use tenure_catalog::{
    Target,
    object::{meta_text, seconds},
};
use tenure_http::{Format, Request, Response};
use tenure_meta::{ApiError, Cause};
use tenure_value::{Object, Text, Value};

impl Subresources {
    /// Answers a review, or carries out another request that is posted to a collection and not stored.
    pub(super) async fn review(
        &self,
        target: &Target,
        request: &Request,
        posted: &Value,
        format: Format,
    ) -> Result<Response, ApiError> {
        let kind = target.handler.resource.kind.as_str();
        let status = match kind {
            "SelfSubjectAccessReview" => {
                check_access_review(kind, target, posted)?;
                self.access_status(posted, &request.user)
            }
            "SubjectAccessReview" | "LocalSubjectAccessReview" => {
                check_access_review(kind, target, posted)?;
                self.access_status(posted, &reviewed_user(posted))
            }
            "SelfSubjectRulesReview" => self.rules_status(posted, &request.user)?,
            "SelfSubjectReview" => Value::object([("userInfo", user_info(&request.user))]),
            "TokenReview" => self.token_status(posted)?,
            "Binding" => {
                let pod = Target {
                    handler: self.writer.objects.catalog.resource(PODS.0, PODS.1, PODS.2)?,
                    name: meta_text(posted, "name").into(),
                    ..target.copy()
                };
                let options = request.query.write_options("CreateOptions")?;
                self.bind(&pod, request, options, posted).await?;
                return Ok(success(format));
            }
            _ => return Err(ApiError::method_not_allowed()),
        };
        let answer = posted.as_object().cloned().unwrap_or_default().with("status", status);
        let answer =
            if answer.contains("metadata") { answer } else { answer.with("metadata", Object::default()) };
        let metadata = answer.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        let answer = match kind {
            "SelfSubjectReview" => {
                let now = seconds(self.writer.objects.clock.now());
                answer.with("metadata", metadata.with("creationTimestamp", now))
            }
            "LocalSubjectAccessReview" => {
                answer.with("metadata", metadata.with("namespace", target.namespace.clone()))
            }
            _ => answer,
        };
        // What was asked about the rules of a namespace is not repeated.
        let answer = match kind {
            "SelfSubjectRulesReview" => answer.with("spec", Object::default()),
            _ => answer,
        };
        Ok(Response::document(StatusCode::CREATED, &answer.into(), format))
    }

    /// Returns whether a user may do what a review asks about.
    fn access_status(&self, review: &Value, user: &UserInfo) -> Value {
        let spec = review.get("spec").unwrap_or(&Value::Null);
        let decision = self.writer.authorizer.decide(user, &asked(spec));
        let mut fields = vec![("allowed", Value::Bool(decision.is_allowed()))];
        if !decision.reason.is_empty() {
            fields.push(("reason", Value::from(decision.reason)));
        }
        Value::object(fields)
    }

    /// Returns what a user may do in a namespace.
    fn rules_status(&self, review: &Value, user: &UserInfo) -> Result<Value, ApiError> {
        let namespace = review.at(["spec", "namespace"]).and_then(Value::as_str).unwrap_or_default();
        if namespace.is_empty() {
            return Err(ApiError::bad_request("no namespace on request"));
        }
        let (rules, error) = self.writer.authorizer.rules_of(user, namespace);
        let list = |rules: Vec<PolicyRule>| Value::array(rules.iter().map(PolicyRule::to_value));
        let (resources, paths): (Vec<PolicyRule>, Vec<PolicyRule>) =
            rules.into_iter().partition(|rule| rule.non_resource_urls.is_empty());
        let mut fields = vec![
            ("incomplete", Value::Bool(false)),
            ("resourceRules", list(resources)),
            ("nonResourceRules", list(paths)),
        ];
        if !error.is_empty() {
            fields.push(("evaluationError", Value::from(error)));
        }
        Ok(Value::object(fields))
    }

    /// Returns whose token a review asks about, for the requested audiences.
    fn token_status(&self, review: &Value) -> Result<Value, ApiError> {
        let token = review.at(["spec", "token"]).and_then(Value::as_str).unwrap_or_default();
        if token.is_empty() {
            return Err(ApiError::bad_request("token is required for TokenReview in authentication"));
        }
        let mut audiences = texts(review.at(["spec", "audiences"]));
        if audiences.is_empty() {
            audiences = self.authenticator.tokens.audiences.clone();
        }
        Ok(match self.authenticator.review(token, &audiences) {
            Ok((user, audiences)) => Value::object([
                ("authenticated", Value::Bool(true)),
                ("user", user_info(&user)),
                ("audiences", Value::array(audiences.into_iter().map(Value::from))),
            ]),
            Err(reason) => {
                Value::object([("user", Value::object::<&str>([])), ("error", Value::from(reason))])
            }
        })
    }
}

/// Reads the attributes that a review asks about.
fn asked(spec: &Value) -> Attributes {
    let text = |path: [&str; 2]| Text::from(spec.at(path).and_then(Value::as_str).unwrap_or_default());
    if spec.get("nonResourceAttributes").is_some_and(|asked| !asked.is_null()) {
        let of = |field| text(["nonResourceAttributes", field]);
        return Attributes::NonResource { verb: of("verb"), path: of("path") };
    }
    let of = |field| text(["resourceAttributes", field]);
    Attributes::Resource(ResourceAttributes {
        verb: of("verb"),
        group: of("group"),
        version: of("version"),
        resource: of("resource"),
        subresource: of("subresource"),
        namespace: of("namespace"),
        name: of("name"),
    })
}

/// Reads the user that a review asks about.
fn reviewed_user(review: &Value) -> UserInfo {
    let spec = review.get("spec").unwrap_or(&Value::Null);
    let text = |field: &str| Text::from(spec.get(field).and_then(Value::as_str).unwrap_or_default());
    let extra = spec.get("extra").and_then(Value::as_object);
    let extra = extra.into_iter().flat_map(|extra| extra.iter());
    UserInfo {
        name: text("user"),
        uid: text("uid"),
        groups: texts(spec.get("groups")),
        extra: extra.map(|(key, values)| (key.clone(), texts(Some(values)))).collect(),
    }
}

/// Checks what a review asks about.
fn check_access_review(kind: &str, target: &Target, review: &Value) -> Result<(), ApiError> {
    let spec = review.get("spec").unwrap_or(&Value::Null);
    let given = |field: &str| spec.get(field).filter(|value| !value.is_null());
    let (resource, path) = (given("resourceAttributes"), given("nonResourceAttributes"));
    let mut causes = Vec::new();
    let mut wrong = |field: &str, message: String| {
        causes.push(Cause {
            reason: "FieldValueInvalid".into(),
            message,
            field: field.into(),
            extension: None,
        });
    };
    let is_local = kind == "LocalSubjectAccessReview";
    match (resource, path) {
        (Some(_), Some(_)) => wrong(
            "spec.nonResourceAttributes",
            "Invalid value: {…}: cannot be specified in combination with resourceAttributes".into(),
        ),
        (None, None) => wrong(
            "spec.resourceAttributes",
            "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified".into(),
        ),
        (None, Some(_)) if is_local => {
            wrong("spec.nonResourceAttributes", "Invalid value: {…}: disallowed on this kind of request".into());
        }
        _ => {}
    }
    if is_local && let Some(resource) = resource {
        let namespace = resource.get("namespace").and_then(Value::as_str).unwrap_or_default();
        if namespace != target.namespace {
            let message = format!("Invalid value: {namespace:?}: must match metadata.namespace");
            wrong("spec.resourceAttributes.namespace", message);
        }
    }
    if kind != "SelfSubjectAccessReview" {
        let user = spec.get("user").and_then(Value::as_str).unwrap_or_default();
        if user.is_empty() && texts(spec.get("groups")).is_empty() {
            wrong("spec.user", "Invalid value: \"\": at least one of user or group must be specified".into());
        }
    }
    let metadata = review.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let metadata = if is_local { metadata.without("namespace") } else { metadata };
    if !metadata.without("managedFields").without("creationTimestamp").is_empty() {
        wrong("metadata", format!("Invalid value: {}: must be empty", Value::Object(metadata)));
    }
    match causes.is_empty() {
        true => Ok(()),
        // As recorded: the kind is left out of the message.
        false => Err(ApiError::invalid("authorization.k8s.io", "", "", causes)),
    }
}
