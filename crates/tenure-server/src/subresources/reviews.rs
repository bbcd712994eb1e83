//! Reviews: questions about access and identity that are posted and not stored. Everyone who is authenticated may do everything.

use super::{Subresources, success, token::texts};
use crate::{
    Answer, Failure, Format, authenticator::Caller, http::Request, kinds::role::PODS, object::meta_text,
    target::Target, token::AUDIENCE,
};
use hyper::StatusCode;
use tenure_value::{Object, Text, Value};

impl Subresources {
    /// Answers a review, or carries out another request that is posted to a collection and not stored.
    pub(super) async fn review(
        &self,
        target: &Target,
        request: &Request,
        posted: &Value,
        format: Format,
    ) -> Result<Answer, Failure> {
        let status = match target.handler.resource.kind.as_str() {
            "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview" => {
                Value::object([("allowed", Value::Bool(true))])
            }
            "SelfSubjectRulesReview" => all_rules(),
            "SelfSubjectReview" => {
                Value::object([("userInfo", self.authenticator.caller(&request.headers).await.to_value())])
            }
            "TokenReview" => self.review_token(posted),
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
            _ => return Err(Failure::method_not_allowed()),
        };
        let answer = posted.as_object().cloned().unwrap_or_default().with("status", status);
        let answer =
            if answer.contains("metadata") { answer } else { answer.with("metadata", Object::default()) };
        Ok(Answer::document(StatusCode::CREATED, &answer.into(), format))
    }

    /// Returns the status of a token review: whose token it is, for the requested audiences.
    fn review_token(&self, review: &Value) -> Value {
        let token = review.at(["spec", "token"]).and_then(Value::as_str).unwrap_or_default();
        let unknown =
            |why: &str| Value::object([("error", Value::from(why)), ("authenticated", Value::Bool(false))]);
        let known = |caller: &Caller, audiences: Vec<Text>| {
            let audiences = Value::array(audiences.into_iter().map(Value::from));
            Value::object([
                ("authenticated", Value::Bool(true)),
                ("user", caller.to_value()),
                ("audiences", audiences),
            ])
        };
        let mut wanted = texts(review.at(["spec", "audiences"]));
        if wanted.is_empty() {
            wanted.push(AUDIENCE.into());
        }
        let (caller, audiences) = match self.authenticator.account(token) {
            Some(claims) => {
                wanted.retain(|audience| claims.audiences.contains(audience));
                (Caller::Account(claims), wanted)
            }
            None if self.authenticator.is_admin_token(token) => {
                wanted.retain(|audience| audience == AUDIENCE);
                (Caller::Admin, wanted)
            }
            None => return unknown("the token is not known"),
        };
        match audiences.is_empty() {
            true => unknown("the token is not for any of these audiences"),
            false => known(&caller, audiences),
        }
    }
}

/// Returns the rules of someone who may do everything.
fn all_rules() -> Value {
    let any = || Value::array([Value::from("*")]);
    let resources = Value::object([("verbs", any()), ("apiGroups", any()), ("resources", any())]);
    let others = Value::object([("verbs", any()), ("nonResourceURLs", any())]);
    Value::object([
        ("resourceRules", Value::array([resources])),
        ("nonResourceRules", Value::array([others])),
        ("incomplete", Value::Bool(false)),
    ])
}
