//! Reviews of access and identity, which are posted and not stored.

use super::{Subresources, token::texts};
use hyper::StatusCode;
use tenure_authorization::{AccessReview, ReviewScope, Verdict, rbac::PolicyRule};
use tenure_catalog::{Target, object::seconds};
use tenure_http::{Format, Request, Response};
use tenure_meta::{ApiError, Attributes, UserInfo};
use tenure_profile::KubernetesVersion;
use tenure_value::{Object, Value};

impl Subresources {
    /// Responds to a review with its status.
    pub(super) async fn review(
        &self,
        target: &Target,
        request: &Request,
        posted: &Value,
        format: Format,
    ) -> Result<Response, ApiError> {
        let kind = target.handler.resource.kind.as_str();
        let options = request.query.write_options("CreateOptions")?;
        let managers = self.writer.managers_of_posted(target, request, options, posted);
        let review = posted.as_object().cloned().unwrap_or_default();
        let metadata = review.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        let metadata = match managers.as_array() {
            Some(managers) if !managers.is_empty() => metadata.with("managedFields", managers.clone()),
            _ => metadata,
        };
        // An error shows the managers, too.
        let tracked = Value::from(review.with("metadata", metadata.clone()));
        let read = |scope| read(scope, &tracked, self.writer.profile.version());
        let status = match kind {
            "SelfSubjectAccessReview" => {
                let review =
                    AccessReview { user: request.user.as_ref().clone(), ..read(ReviewScope::Client)? };
                self.access_status(&review, ReviewScope::Client).await
            }
            "SubjectAccessReview" => self.access_status(&read(ReviewScope::User)?, ReviewScope::User).await,
            "LocalSubjectAccessReview" => {
                let scope = ReviewScope::UserInNamespace(&target.namespace);
                self.access_status(&read(scope)?, scope).await
            }
            "SelfSubjectRulesReview" => self.rules_status(posted, &request.user)?,
            "SelfSubjectReview" => Value::object([("userInfo", request.user.to_value())]),
            "TokenReview" => self.token_status(posted).await?,
            _ => return Err(ApiError::method_not_allowed()),
        };
        let review = review.with("status", status);
        let review = match kind {
            "SelfSubjectReview" => {
                let now = seconds(self.writer.objects.clock.now());
                review.with("metadata", Object::default().with("creationTimestamp", now))
            }
            // Neither the spec nor the metadata of a rules review are repeated.
            "SelfSubjectRulesReview" => {
                review.with("metadata", Object::default()).with("spec", Object::default())
            }
            "LocalSubjectAccessReview" => {
                review.with("metadata", metadata.with("namespace", target.namespace.clone()))
            }
            _ => review.with("metadata", metadata),
        };
        Ok(Response::document(StatusCode::CREATED, &review.into(), format))
    }

    /// Returns whether a user has the access that a review checks.
    async fn access_status(&self, review: &AccessReview, scope: ReviewScope<'_>) -> Value {
        let authorizer = &self.writer.authorizer;
        let decision = authorizer.decide(&review.user, &review.attributes).await;
        let (mut allowed, denied) = (decision.is_allowed(), decision.verdict == Verdict::Deny);
        let mut reason = String::from(decision.reason);
        if let (true, Attributes::Resource(resource)) = (allowed, &review.attributes) {
            match &review.write {
                Some(write) => {
                    if let Some(denial) =
                        authorizer.field_denial(&review.user, resource, &write.as_field_write())
                    {
                        (allowed, reason) = (false, denial);
                    }
                }
                None => {
                    let limits = authorizer.field_limits(&review.user, resource);
                    // Who asks for others, such as another API server, lets them write every field.
                    allowed = limits.is_empty() || scope == ReviewScope::Client;
                    reason.push_str(&limits);
                }
            }
        }
        let mut fields = vec![("allowed", Value::Bool(allowed))];
        if denied {
            fields.push(("denied", Value::Bool(true)));
        }
        if !reason.is_empty() {
            fields.push(("reason", Value::from(reason)));
        }
        let errors: Vec<String> =
            decision.error.into_iter().chain(review.evaluation_errors.iter().cloned()).collect();
        if !errors.is_empty() {
            fields.push(("evaluationError", Value::from(errors.join(", "))));
        }
        Value::object(fields)
    }

    /// Returns what a user may do in a namespace.
    fn rules_status(&self, review: &Value, user: &UserInfo) -> Result<Value, ApiError> {
        let namespace = review.at(["spec", "namespace"]).and_then(Value::as_str).unwrap_or_default();
        if namespace.is_empty() {
            return Err(ApiError::bad_request("no namespace on request"));
        }
        let (rules, is_incomplete, error) = self.writer.authorizer.rules_of(user, namespace);
        let list = |rules: Vec<PolicyRule>| Value::array(rules.iter().map(PolicyRule::to_value));
        let (resources, paths): (Vec<PolicyRule>, Vec<PolicyRule>) =
            rules.into_iter().partition(|rule| rule.non_resource_urls.is_empty());
        let mut fields = vec![
            ("incomplete", Value::Bool(is_incomplete)),
            ("resourceRules", list(resources)),
            ("nonResourceRules", list(paths)),
        ];
        if !error.is_empty() {
            fields.push(("evaluationError", Value::from(error)));
        }
        Ok(Value::object(fields))
    }

    /// Returns the user of the token in a review, for the requested audiences.
    async fn token_status(&self, review: &Value) -> Result<Value, ApiError> {
        let token = review.at(["spec", "token"]).and_then(Value::as_str).unwrap_or_default();
        if token.is_empty() {
            return Err(ApiError::bad_request("token is required for TokenReview in authentication"));
        }
        let mut audiences = texts(review.at(["spec", "audiences"]));
        if audiences.is_empty() {
            audiences = self.authenticator.tokens.audiences.clone();
        }
        Ok(match self.authenticator.review(token, &audiences).await {
            Ok((user, audiences)) => Value::object([
                ("authenticated", Value::Bool(true)),
                ("user", user.to_value()),
                ("audiences", Value::array(audiences.into_iter().map(Value::from))),
            ]),
            Err(reason) => {
                Value::object([("user", Value::object::<&str>([])), ("error", Value::from(reason))])
            }
        })
    }
}

/// Reads an access review; an invalid one is a 422.
fn read(
    scope: ReviewScope<'_>,
    posted: &Value,
    version: KubernetesVersion,
) -> Result<AccessReview, ApiError> {
    AccessReview::read(scope, posted, version).map_err(|errors| {
        // As recorded: the kind is left out of the message.
        let causes = errors.iter().map(|error| error.cause()).collect();
        ApiError::invalid("authorization.k8s.io", "", "", causes)
    })
}
