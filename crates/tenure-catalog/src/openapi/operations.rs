//! The paths and their operations. Clients look here for the features of a server
//! (`dryRun`, `fieldValidation`) and for the kind behind a path.

use super::schemas::{Publisher, group_version_kind};
use std::sync::Arc;
use tenure_meta::{OpenApiVersion, Resource, Scope};
use tenure_value::{Text, Value};

/// The verbs of a resource: verb, method, action in OpenAPI, and path.
const VERBS: [(&str, &str, &str, Place); 8] = [
    ("list", "get", "list", Place::Collection),
    ("create", "post", "post", Place::Collection),
    ("deletecollection", "delete", "deletecollection", Place::Collection),
    ("get", "get", "get", Place::Object),
    ("update", "put", "put", Place::Object),
    ("patch", "patch", "patch", Place::Object),
    ("delete", "delete", "delete", Place::Object),
    ("create", "post", "post", Place::Object),
];

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Collection,
    Object,
}

/// The parameters of each method, with the type of each.
const PARAMETERS: [(&str, &[(&str, &str)]); 5] = [
    (
        "list",
        &[
            ("allowWatchBookmarks", "boolean"),
            ("continue", "string"),
            ("fieldSelector", "string"),
            ("labelSelector", "string"),
            ("limit", "integer"),
            ("resourceVersion", "string"),
            ("resourceVersionMatch", "string"),
            ("sendInitialEvents", "boolean"),
            ("timeoutSeconds", "integer"),
            ("watch", "boolean"),
        ],
    ),
    ("post", &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")]),
    ("put", &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")]),
    (
        "patch",
        &[
            ("dryRun", "string"),
            ("fieldManager", "string"),
            ("fieldValidation", "string"),
            ("force", "boolean"),
            ("force-path", "string"),
        ],
    ),
    (
        "delete",
        &[
            ("dryRun", "string"),
            ("gracePeriodSeconds", "integer"),
            ("orphanDependents", "boolean"),
            ("propagationPolicy", "string"),
        ],
    ),
];

/// The content types of a patch.
const PATCHES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    STRATEGIC_MERGE_PATCH,
];

/// Not among those of custom resources: `kubectl` would send it without directives, as the schema of a custom resource has no merge
/// keys that it knows, and entries that leave a manifest would stay forever.
const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";

/// Writes the paths of resources.
pub(super) fn paths<'a>(
    resources: impl Iterator<Item = &'a Arc<Resource>>,
    publisher: &mut Publisher<'_>,
) -> Value {
    let mut paths: Vec<(Text, Value)> = Vec::new();
    for resource in resources {
        let root = if resource.group.is_empty() { "/api" } else { "/apis" };
        let root = format!("{root}/{}", resource.api_version);
        let collection = match resource.scope {
            Scope::Namespaced => format!("{root}/namespaces/{{namespace}}/{}", resource.name),
            Scope::Cluster => format!("{root}/{}", resource.name),
        };
        let mut add = |path: String, verbs: &[Text], place: Place, target: &Target| {
            let item = path_item(verbs, place, target, &path, publisher);
            if let Some(item) = item {
                paths.push((path.into(), item));
            }
        };
        let is_custom = resource.type_id.is_none();
        let (api_version, kind) = (resource.api_version.clone(), resource.kind.clone());
        let target = Target { api_version, kind, is_custom };
        let reads: Vec<Text> = resource.verbs.iter().filter(|verb| *verb == "list").cloned().collect();
        if resource.scope == Scope::Namespaced {
            add(format!("{root}/{}", resource.name), &reads, Place::Collection, &target);
        }
        add(collection.clone(), &resource.verbs, Place::Collection, &target);
        let of_object: Vec<Text> = resource.verbs.iter().filter(|verb| *verb != "create").cloned().collect();
        add(format!("{collection}/{{name}}"), &of_object, Place::Object, &target);
        for below in resource.subresources.iter() {
            let api_version = match (below.group.is_empty(), below.version.is_empty()) {
                (true, true) => resource.api_version.clone(),
                (true, false) => below.version.clone(),
                _ => format!("{}/{}", below.group, below.version).into(),
            };
            let target = Target { api_version, kind: below.kind.clone(), is_custom };
            add(format!("{collection}/{{name}}/{}", below.name), &below.verbs, Place::Object, &target);
        }
    }
    Value::object(paths)
}

/// The types at a path.
struct Target {
    api_version: Text,
    kind: Text,
    /// Whether it is a custom resource.
    is_custom: bool,
}

fn path_item(
    verbs: &[Text],
    place: Place,
    target: &Target,
    path: &str,
    publisher: &mut Publisher<'_>,
) -> Option<Value> {
    let mut item: Vec<(Text, Value)> = Vec::new();
    for (verb, method, action, at) in VERBS {
        if at == place && verbs.iter().any(|listed| listed == verb) {
            item.push((method.into(), operation(action, target, path, publisher)));
        }
    }
    if item.is_empty() {
        return None;
    }
    let names = path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let parameters: Vec<Value> =
        names.map(|name| parameter(name, "path", "string", publisher.dialect())).collect();
    if !parameters.is_empty() {
        item.push(("parameters".into(), Value::array(parameters)));
    }
    Some(Value::object(item))
}

fn operation(action: &str, target: &Target, path: &str, publisher: &mut Publisher<'_>) -> Value {
    let dialect = publisher.dialect();
    let own = publisher
        .kind(&target.api_version, &target.kind)
        .unwrap_or_else(|| Value::object([("type", Value::from("object"))]));
    let list = format!("{}List", target.kind);
    let answer = match action {
        "list" => publisher.kind(&target.api_version, &list).unwrap_or_else(|| own.clone()),
        "delete" | "deletecollection" => publisher.kind("v1", "Status").unwrap_or_else(|| own.clone()),
        _ => own.clone(),
    };
    let kept = PARAMETERS
        .iter()
        .find(|(prefix, _)| action.starts_with(prefix))
        .map_or(&[][..], |(_, parameters)| parameters);
    let mut parameters: Vec<Value> =
        kept.iter().map(|(name, description)| parameter(name, "query", description, dialect)).collect();
    let mut fields: Vec<(Text, Value)> = vec![
        ("operationId".into(), Value::from(operation_id(action, path))),
        ("x-kubernetes-action".into(), Value::from(action)),
        ("x-kubernetes-group-version-kind".into(), group_version_kind(&target.api_version, &target.kind)),
    ];
    let takes_body = matches!(action, "post" | "put" | "patch");
    let body = if action == "patch" { Value::object([("type", Value::from("object"))]) } else { own };
    let patches = PATCHES.into_iter().filter(|patch| !(target.is_custom && *patch == STRATEGIC_MERGE_PATCH));
    let consumed: Vec<&str> = match action {
        "patch" => patches.collect(),
        _ => vec!["application/json", "application/yaml"],
    };
    let described = |schema: Value| Value::object([("description", Value::from("OK")), ("schema", schema)]);
    match dialect {
        OpenApiVersion::V2 => {
            if takes_body {
                parameters.push(Value::object([
                    ("name", Value::from("body")),
                    ("in", Value::from("body")),
                    ("required", Value::Bool(true)),
                    ("schema", body),
                ]));
                fields.push(("consumes".into(), Value::array(consumed.iter().map(|ty| Value::from(*ty)))));
            }
            fields.push((
                "produces".into(),
                Value::array([Value::from("application/json"), Value::from("application/yaml")]),
            ));
            fields.push(("responses".into(), Value::object([("200", described(answer))])));
        }
        OpenApiVersion::V3 => {
            let content = |types: &[&str], schema: &Value| {
                Value::object(
                    types.iter().map(|media_type| (*media_type, Value::object([("schema", schema.clone())]))),
                )
            };
            if takes_body {
                let body = [("content", content(&consumed, &body)), ("required", Value::Bool(true))];
                fields.push(("requestBody".into(), Value::object(body)));
            }
            let answer = content(&["application/json", "application/yaml"], &answer);
            let answer = Value::object([("description", Value::from("OK")), ("content", answer)]);
            fields.push(("responses".into(), Value::object([("200", answer)])));
        }
    }
    if !parameters.is_empty() {
        fields.push(("parameters".into(), Value::array(parameters)));
    }
    Value::object(fields)
}

fn parameter(name: &str, place: &str, text: &str, dialect: OpenApiVersion) -> Value {
    let mut fields = vec![("name", Value::from(name)), ("in", Value::from(place))];
    if place == "path" {
        fields.push(("required", Value::Bool(true)));
    }
    match dialect {
        OpenApiVersion::V2 => {
            fields.extend([("type", Value::from(text)), ("uniqueItems", Value::Bool(true))])
        }
        OpenApiVersion::V3 => fields.push((
            "schema",
            Value::object([("type", Value::from(text)), ("uniqueItems", Value::Bool(true))]),
        )),
    }
    Value::object(fields)
}

/// Returns a unique name of an operation: the action and the words of the path.
fn operation_id(action: &str, path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(action.to_string(), |id, word| {
        let (first, rest) = word.split_at(1);
        id + &first.to_ascii_uppercase() + rest
    })
}
