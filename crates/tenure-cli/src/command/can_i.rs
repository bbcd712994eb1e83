//! `tenure can-i`: asks the server whether a user may do something, down to the fields of a write.

use crate::{
    Error, Outcome,
    connection::Connection,
    terminal::{Format, Terminal},
};
use clap::Args;
use tenure_client::Cluster;
use tenure_value::Value;

/// The annotations by which an access review asks about fields.
const FIELDS: &str = "tenure.dev/fields";
const MANAGER: &str = "tenure.dev/field-manager";
const FORCE: &str = "tenure.dev/force";
/// Verbs that change objects, and so can be limited to fields.
const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

/// Ask whether you, or another user, may do something, down to the fields.
#[derive(Args)]
#[command(after_help = "\
The answer is yes or no, with the reason. The exit code of no is 1.

Examples:
  tenure can-i get secrets
  tenure can-i patch deployment/web --field .spec.replicas --field-manager autoscaler
  tenure can-i patch deployment/web --subresource scale --as system:serviceaccount:shop:autoscaler
  tenure can-i get /metrics")]
pub struct Options {
    /// The verb, such as get, list, create, patch, delete.
    verb: String,
    /// The resource as KIND, KIND/NAME or RESOURCE.GROUP, or a path that is not a resource, such as /metrics.
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
    /// Ask about this user; you need the permission to create subjectaccessreviews.
    #[arg(long = "as", value_name = "USER")]
    as_user: Option<String>,
    /// Ask about a member of this group; may be repeated.
    #[arg(long = "as-group", value_name = "GROUP")]
    as_groups: Vec<String>,
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
    let status = options.connection.run(async |cluster| ask(&cluster, &options).await)?;
    let text = |field: &str| status.get(field).and_then(Value::as_str).unwrap_or_default();
    let is_allowed = status.get("allowed").and_then(Value::as_bool).unwrap_or(false);
    match options.output {
        Format::Text => {
            let mut answer = String::from(if is_allowed { "yes" } else { "no" });
            for more in [text("reason"), text("evaluationError")].into_iter().filter(|more| !more.is_empty()) {
                answer.push_str(&format!(" - {more}"));
            }
            terminal.print(answer + "\n")?;
        }
        format => terminal.print_value(&status, format)?,
    }
    Ok(if is_allowed { Outcome::Done } else { Outcome::Denied })
}

/// Posts an access review and returns its status.
async fn ask(cluster: &Cluster, options: &Options) -> Result<Value, Error> {
    let (field, attributes) = match options.resource.starts_with('/') {
        true => ("nonResourceAttributes", path_attributes(options)),
        false => ("resourceAttributes", resource_attributes(cluster, options).await?),
    };
    let mut spec = vec![(field, attributes)];
    let is_other = options.as_user.is_some() || !options.as_groups.is_empty();
    if let Some(user) = &options.as_user {
        spec.push(("user", Value::from(user.as_str())));
    }
    if !options.as_groups.is_empty() {
        spec.push(("groups", Value::array(options.as_groups.iter().map(|group| Value::from(group.as_str())))));
    }
    let (kind, resource) = match is_other {
        true => ("SubjectAccessReview", "subjectaccessreviews"),
        false => ("SelfSubjectAccessReview", "selfsubjectaccessreviews"),
    };
    let mut review = vec![
        ("apiVersion", Value::from("authorization.k8s.io/v1")),
        ("kind", Value::from(kind)),
        ("spec", Value::object(spec)),
    ];
    let annotations = annotations(options);
    if !annotations.is_empty() {
        review.push(("metadata", Value::object([("annotations", Value::object(annotations))])));
    }
    let path = format!("/apis/authorization.k8s.io/v1/{resource}");
    let response = cluster.post(&path, &Value::object(review)).await?;
    let review = response.success("create", kind)?;
    Ok(review.get("status").cloned().unwrap_or_default())
}

fn annotations(options: &Options) -> Vec<(&'static str, Value)> {
    let mut annotations = Vec::new();
    if !options.fields.is_empty() {
        let fields = Value::array(options.fields.iter().map(|field| Value::from(field.as_str())));
        annotations.push((FIELDS, Value::from(fields.to_string())));
    }
    if let Some(manager) = &options.field_manager {
        annotations.push((MANAGER, Value::from(manager.as_str())));
    }
    if options.force {
        annotations.push((FORCE, Value::from("true")));
    }
    annotations
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
