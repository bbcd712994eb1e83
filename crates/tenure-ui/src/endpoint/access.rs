//! The permissions of the user, checked with the server before an action is offered.

use crate::PageError;
use http::Method;
use tenure_client::{ClientError, Cluster, Resource};
use tenure_value::{Object, Value, json};

/// Returns the name of the user, as the server knows it; empty if it is unknown.
pub(super) async fn user(cluster: &Cluster) -> Result<String, PageError> {
    let review =
        Object::default().with("apiVersion", "authentication.k8s.io/v1").with("kind", "SelfSubjectReview");
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = post(cluster, path, review).await?;
    if answer.code == 401 {
        return Err(answer.error("sign in to", cluster.server()).into());
    }
    let name = answer.value.at(["status", "userInfo", "username"]).and_then(Value::as_str);
    Ok(name.unwrap_or_default().to_owned())
}

/// Returns whether the user may patch an object, and why not. If the server does not answer, this is unknown.
pub(super) async fn may_patch(
    cluster: &Cluster,
    resource: &Resource,
    namespace: &str,
    name: &str,
) -> Result<Value, PageError> {
    let attributes = Object::default()
        .with("verb", "patch")
        .with("group", resource.group.as_str())
        .with("version", resource.version.as_str())
        .with("resource", resource.plural.as_str())
        .with("namespace", namespace)
        .with("name", name);
    let review = Object::default()
        .with("apiVersion", "authorization.k8s.io/v1")
        .with("kind", "SelfSubjectAccessReview")
        .with("spec", Value::object([("resourceAttributes", Value::Object(attributes))]));
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer = post(cluster, path, review).await?;
    let allowed = answer.value.at(["status", "allowed"]).and_then(Value::as_bool);
    let allowed = !answer.is_success() || allowed.unwrap_or(true);
    let reason = answer.value.at(["status", "reason"]).and_then(Value::as_str).unwrap_or_default();
    let reason = match (allowed, reason) {
        (true, _) => String::new(),
        (false, "") => format!("you may not patch {}", resource.word()),
        (false, reason) => format!("you may not patch {}: {reason}", resource.word()),
    };
    Ok(Value::object([("allowed", Value::from(allowed)), ("reason", Value::from(reason))]))
}

async fn post(cluster: &Cluster, path: &str, body: Object) -> Result<tenure_client::Response, ClientError> {
    let body = json::to_vec(&Value::Object(body));
    cluster.send(Method::POST, path, "application/json", Some(("application/json", body))).await
}
