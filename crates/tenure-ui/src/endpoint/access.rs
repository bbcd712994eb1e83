//! The permissions of the user, checked with the server before an action is offered, and before an object is reported as missing.

use crate::PageError;
use http::Method;
use tenure_client::{ClientError, Cluster, Resource};
use tenure_value::{Object, Value, json};

/// The prefix of the names of service accounts.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

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

/// Returns the namespace in which a user begins who may not read all: that of the context, or that of a service account.
pub(super) fn home(cluster: &Cluster, user: &str) -> String {
    let account = user.strip_prefix(SERVICE_ACCOUNT).and_then(|rest| rest.split(':').next());
    match (cluster.namespace.as_str(), account) {
        ("default", Some(namespace)) => namespace.to_owned(),
        (namespace, _) => namespace.to_owned(),
    }
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
    let (allowed, reason) = review_access(cluster, attributes).await?;
    let reason = match (allowed, reason.as_str()) {
        (true, _) => String::new(),
        (false, "") => format!("you may not patch {}", resource.word()),
        (false, reason) => format!("you may not patch {}: {reason}", resource.word()),
    };
    Ok(Value::object([("allowed", Value::from(allowed)), ("reason", Value::from(reason))]))
}

/// The resources that a user may list in a namespace.
pub(super) struct Listable {
    /// `None` if everything may be listed, or the server does not tell.
    rules: Option<Vec<Rule>>,
}

/// A rule that allows to list resources.
struct Rule {
    groups: Vec<String>,
    resources: Vec<String>,
}

impl Rule {
    /// Reads a rule; `None` if it does not allow to list everything of a resource.
    fn read(rule: &Value) -> Option<Rule> {
        let texts = |name: &str| crate::request::texts(rule, name);
        let lists = texts("verbs").iter().any(|verb| verb == "list" || verb == "*");
        (lists && texts("resourceNames").is_empty())
            .then(|| Rule { groups: texts("apiGroups"), resources: texts("resources") })
    }

    fn allows(&self, kind: &Resource) -> bool {
        let has = |list: &[String], name: &str| list.iter().any(|one| one == "*" || one == name);
        has(&self.groups, &kind.group) && has(&self.resources, &kind.plural)
    }
}

impl Listable {
    /// Asks the server what the user may list: everything, or what the rules of a namespace allow.
    pub async fn of(cluster: &Cluster, namespace: &str) -> Result<Listable, PageError> {
        let everything = Object::default().with("verb", "list").with("group", "*").with("resource", "*");
        if review_access(cluster, everything).await?.0 {
            return Ok(Listable { rules: None });
        }
        let review = Object::default()
            .with("apiVersion", "authorization.k8s.io/v1")
            .with("kind", "SelfSubjectRulesReview")
            .with("spec", Value::object([("namespace", Value::from(namespace))]));
        let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
        let answer = post(cluster, path, review).await?;
        let is_whole = answer.value.at(["status", "incomplete"]).and_then(Value::as_bool) != Some(true);
        let rules = answer.value.at(["status", "resourceRules"]).and_then(Value::as_array);
        let rules = rules.filter(|_| answer.is_success() && is_whole);
        Ok(Listable { rules: rules.map(|rules| rules.iter().filter_map(Rule::read).collect()) })
    }

    /// Whether the user may list a kind, as far as is known.
    pub fn has(&self, kind: &Resource) -> bool {
        self.rules.as_ref().is_none_or(|rules| rules.iter().any(|rule| rule.allows(kind)))
    }
}

/// Returns whether the user may do something, and the reason. If the server does not answer, it is assumed.
async fn review_access(cluster: &Cluster, attributes: Object) -> Result<(bool, String), ClientError> {
    let review = Object::default()
        .with("apiVersion", "authorization.k8s.io/v1")
        .with("kind", "SelfSubjectAccessReview")
        .with("spec", Value::object([("resourceAttributes", Value::Object(attributes))]));
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let answer = post(cluster, path, review).await?;
    let allowed = answer.value.at(["status", "allowed"]).and_then(Value::as_bool);
    let allowed = !answer.is_success() || allowed.unwrap_or(true);
    let reason = answer.value.at(["status", "reason"]).and_then(Value::as_str).unwrap_or_default();
    Ok((allowed, reason.to_owned()))
}

async fn post(cluster: &Cluster, path: &str, body: Object) -> Result<tenure_client::Response, ClientError> {
    let body = json::to_vec(&Value::Object(body));
    cluster.send(Method::POST, path, "application/json", Some(("application/json", body))).await
}
