//! Rendered objects as Helm sends them: without hooks, and with the label and annotations by which Helm knows its objects.

use crate::{Error, document::Document};
use tenure_ownership::LiveObject;
use tenure_value::{Object, Value};

const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "Helm");
const RELEASE_NAME: &str = "meta.helm.sh/release-name";
const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";
const HOOK: &str = "helm.sh/hook";

/// Returns the objects of a rendered stream that an upgrade applies, marked as objects of a release. Every one must have an apiVersion, a
/// kind and a name.
pub fn objects(documents: Vec<Document>, release: &str, namespace: &str) -> Result<Vec<Document>, Error> {
    let mut objects = Vec::with_capacity(documents.len());
    for document in documents {
        document.kind()?;
        document.name()?;
        let is_hook = document.value.at(["metadata", "annotations", HOOK]).is_some();
        if !is_hook {
            let value = marked(&document.value, release, namespace);
            objects.push(Document { value, place: document.place });
        }
    }
    Ok(objects)
}

fn marked(object: &Value, release: &str, namespace: &str) -> Value {
    let map_of = |parent: &Object, name: &str| {
        parent.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let object = object.as_object().cloned().unwrap_or_default();
    let metadata = map_of(&object, "metadata");
    let labels = map_of(&metadata, "labels").with(MANAGED_BY.0, MANAGED_BY.1);
    let annotations =
        map_of(&metadata, "annotations").with(RELEASE_NAME, release).with(RELEASE_NAMESPACE, namespace);
    let metadata = metadata.with("labels", labels).with("annotations", annotations);
    Value::Object(object.with("metadata", metadata))
}

/// Returns why Helm does not take an object that exists into a release, if it does not.
pub fn refused(live: &LiveObject, release: &str, namespace: &str) -> Option<String> {
    let text = |place: &str, key: &str| live.object.at(["metadata", place, key]).and_then(Value::as_str);
    let (name, of_namespace) = (text("annotations", RELEASE_NAME), text("annotations", RELEASE_NAMESPACE));
    let is_helms = text("labels", MANAGED_BY.0) == Some(MANAGED_BY.1);
    if is_helms && name == Some(release) && of_namespace == Some(namespace) {
        return None;
    }
    Some(match (name, of_namespace) {
        (Some(name), of_namespace) if (name, of_namespace.unwrap_or_default()) != (release, namespace) => format!(
            "it belongs to the Helm release {}/{name}: Helm refuses it (\"exists and cannot be imported into the current release\"). Remove it from one of the two charts, or move it with `helm upgrade --take-ownership`",
            of_namespace.unwrap_or("?")
        ),
        _ => "it exists and belongs to no Helm release: Helm refuses it (\"exists and cannot be imported into the current release: invalid ownership metadata\"). Take it into the release with `helm upgrade --take-ownership`".to_owned(),
    })
}
