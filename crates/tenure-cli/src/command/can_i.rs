//! `tenure can-i`: asks the server whether a user may do something, down to the fields of a write.

use crate::{
    Error, Outcome,
    connection::Connection,
    terminal::{Format, Terminal},
};
use clap::Args;
use tenure_client::{Cluster, Response};
use tenure_ownership::Refusal;
use tenure_transport::Impersonate;
use tenure_value::{Object, Value};

/// The annotations by which an access review asks about fields.
const FIELDS: &str = "tenure.dev/fields";
const MANAGER: &str = "tenure.dev/field-manager";
const FORCE: &str = "tenure.dev/force";
/// Verbs that change objects, and so can be limited to fields.
const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

/// Ask whether you, or another user, may do something, down to the fields.
#[derive(Args)]
#[command(after_help = "\
The answer is yes or no, with the reason. The exit code of no is 1. With --as and --as-group the question is about that user; you need
the permission to create subjectaccessreviews. Permissions of single fields are those of a Tenure server; for another server the
answer is about the whole object, and says so.

Examples:
  tenure can-i get secrets
  tenure can-i patch deployment/web --field .spec.replicas --field-manager autoscaler
  tenure can-i patch deployment/web --subresource scale --as system:serviceaccount:shop:autoscaler
  tenure can-i get /metrics")]
pub struct Options {
    /// The verb, such as get, list, create, patch, delete.
    #[arg(value_name = "VERB")]
    verb: String,
    /// The resource as KIND, KIND/NAME or RESOURCE.GROUP, or a path that is not a resource, such as /metrics.
    #[arg(value_name = "KIND/NAME|PATH")]
    resource: String,
    /// A field that the write would change; may be repeated.
    #[arg(long = "field", value_name = "PATH")]
    fields: Vec<String>,
    /// The field manager of the write.
    #[arg(long, value_name = "NAME")]
    field_manager: Option<String>,
    /// Whether the write forces conflicts.
    #[arg(long)]
    force: bool,
    /// The subresource, such as scale or status.
    #[arg(long, value_name = "NAME", default_value = "")]
    subresource: String,
    /// Ask about all namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// The output format.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
    #[command(flatten)]
    connection: Connection,
}

/// Asks the server.
pub fn run(options: Options, terminal: &Terminal) -> Result<Outcome, Error> {
    let asks_about_fields = !options.fields.is_empty() || options.field_manager.is_some() || options.force;
    if asks_about_fields && !WRITES.contains(&options.verb.as_str()) {
        return Err(Error::usage(format!(
            "{}: fields, managers and force are those of a write; use one of {}",
            options.verb,
            WRITES.join(", ")
        )));
    }
    let connection = options.connection.without_impersonation();
    let Answer { status, about_fields } = connection.run(async |cluster| ask(&cluster, &options).await)?;
    let text = |field: &str| status.get(field).and_then(Value::as_str).unwrap_or_default();
    let is_allowed = status.get("allowed").and_then(Value::as_bool).unwrap_or(false);
    match options.output {
        Format::Text => {
            let reason = match (text("reason"), is_allowed) {
                ("", true) => "the server gives no reason".to_owned(),
                ("", false) => format!("no rule allows {} {}", options.verb, options.resource),
                (reason, _) => reason.to_owned(),
            };
            let mut answer = format!("{} - {reason}", if is_allowed { "yes" } else { "no" });
            if !text("evaluationError").is_empty() {
                answer.push_str(&format!(" - {}", text("evaluationError")));
            }
            terminal.print(answer + "\n")?;
        }
        format => terminal.print_value(&status, format)?,
    }
    if !about_fields && asks_about_fields {
        terminal
            .note("This server has no permissions of single fields; the answer is about the whole object.");
    }
    Ok(if is_allowed { Outcome::Done } else { Outcome::Denied })
}

/// The answer of a server.
struct Answer {
    /// The status of the review.
    status: Value,
    /// Whether the fields, the manager and force were taken into account.
    about_fields: bool,
}

/// Posts an access review and returns its status.
async fn ask(cluster: &Cluster, options: &Options) -> Result<Answer, Error> {
    let other = options.connection.impersonate();
    let (field, attributes) = match options.resource.starts_with('/') {
        true => ("nonResourceAttributes", path_attributes(options)),
        false => ("resourceAttributes", resource_attributes(cluster, options).await?),
    };
    let mut spec = vec![(field, attributes)];
    if let Some(user) = &other.user {
        spec.push(("user", Value::from(user.as_str())));
    }
    if !other.groups.is_empty() {
        spec.push(("groups", Value::array(other.groups.iter().map(|group| Value::from(group.as_str())))));
    }
    let (kind, resource) = match other == Impersonate::default() {
        false => ("SubjectAccessReview", "subjectaccessreviews"),
        true => ("SelfSubjectAccessReview", "selfsubjectaccessreviews"),
    };
    let review = Object::default()
        .with("apiVersion", "authorization.k8s.io/v1")
        .with("kind", kind)
        .with("spec", Value::object(spec));
    let path = format!("/apis/authorization.k8s.io/v1/{resource}");
    let annotations = annotations(cluster, options).await?;
    if !annotations.is_empty() {
        let metadata = Value::object([("annotations", Value::object(annotations))]);
        let response = cluster.post(&path, &Value::Object(review.with("metadata", metadata))).await?;
        // Kubernetes refuses reviews with metadata: it does not know permissions of fields.
        if !(response.code == 422 && is_about_metadata(&response.refusal())) {
            return Answer::read(response, kind, true);
        }
    }
    Answer::read(cluster.post(&path, &Value::Object(review)).await?, kind, false)
}

impl Answer {
    fn read(response: Response, kind: &str, about_fields: bool) -> Result<Answer, Error> {
        let review = response.success("create", kind)?;
        Ok(Answer { status: review.get("status").cloned().unwrap_or_default(), about_fields })
    }
}

fn is_about_metadata(refusal: &Refusal) -> bool {
    refusal.causes.iter().any(|cause| cause.field == "metadata")
}

/// Returns the paths of fields as the server takes them. Those of an object that exists may be written in any notation.
async fn field_paths(cluster: &Cluster, options: &Options) -> Result<Vec<String>, Error> {
    let Some((kind, name)) = options.resource.split_once('/').filter(|(kind, _)| !kind.is_empty()) else {
        return Ok(options.fields.clone());
    };
    let resource = cluster.kind_named(kind).await?;
    // A user who may not read the object can still ask.
    let live = cluster.find_live(&resource.path(&cluster.namespace, name)).await.ok().flatten();
    let Some(live) = live else { return Ok(options.fields.clone()) };
    let ty = cluster.type_of(live.api_version(), live.kind()).await?;
    let path = |text: &String| Ok(live.field(text, ty)?.quoted().to_string());
    options.fields.iter().map(path).collect()
}

async fn annotations(cluster: &Cluster, options: &Options) -> Result<Vec<(&'static str, Value)>, Error> {
    let mut annotations = Vec::new();
    if !options.fields.is_empty() {
        let fields = field_paths(cluster, options).await?;
        let fields = Value::array(fields.iter().map(|field| Value::from(field.as_str())));
        annotations.push((FIELDS, Value::from(fields.to_string())));
    }
    if let Some(manager) = &options.field_manager {
        annotations.push((MANAGER, Value::from(manager.as_str())));
    }
    if options.force {
        annotations.push((FORCE, Value::from("true")));
    }
    Ok(annotations)
}

fn path_attributes(options: &Options) -> Value {
    Value::object([
        ("verb", Value::from(options.verb.as_str())),
        ("path", Value::from(options.resource.as_str())),
    ])
}

async fn resource_attributes(cluster: &Cluster, options: &Options) -> Result<Value, Error> {
    let (kind, name) = options.resource.split_once('/').unwrap_or((&options.resource, ""));
    let resource = cluster.kind_named(kind).await?;
    let namespace = match resource.is_namespaced() && !options.all_namespaces {
        true => cluster.namespace.as_str(),
        false => "",
    };
    let fields = [
        ("verb", options.verb.as_str()),
        ("group", resource.group.as_str()),
        ("version", resource.version.as_str()),
        ("resource", resource.plural.as_str()),
        ("subresource", options.subresource.as_str()),
        ("namespace", namespace),
        ("name", name),
    ];
    let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
    Ok(Value::object(given.map(|(name, value)| (name, Value::from(value)))))
}
