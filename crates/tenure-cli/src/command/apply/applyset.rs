//! ApplySets: which objects belong together, so that those that are no longer in the files can be deleted. The format is that of
//! the ApplySet specification, as in `kubectl apply --applyset`: a parent object lists the kinds and namespaces of the members,
//! and every member has the id of the set in a label.

use super::report::Applied;
use crate::{Error, document::Document};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::Method;
use std::collections::BTreeSet;
use tenure_client::{APPLY_PATCH, Cluster, Mode, Resource, Selection};
use tenure_transport::escaped;
use tenure_value::{Object, Value};

const ID: &str = "applyset.kubernetes.io/id";
const PART_OF: &str = "applyset.kubernetes.io/part-of";
const TOOLING: &str = "applyset.kubernetes.io/tooling";
const KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";

/// The tool that manages a set; other tools must not change it.
const TOOL: &str = "tenure";

/// A set of objects that are applied together.
pub struct ApplySet {
    parent: Resource,
    name: String,
    namespace: String,
    id: String,
    manager: String,
    /// The kinds of the members, as `Deployment.apps`, and their namespaces.
    kinds: BTreeSet<String>,
    namespaces: BTreeSet<String>,
    /// Those of the files only.
    new_kinds: BTreeSet<String>,
    new_namespaces: BTreeSet<String>,
}

impl ApplySet {
    /// Reads the set, or starts a new one.
    pub async fn open(name: &str, manager: &str, cluster: &Cluster) -> Result<ApplySet, Error> {
        let (kind, name) = name.split_once('/').unwrap_or(("secrets", name));
        let parent = cluster.kind_named(kind).await?;
        let namespace = if parent.is_namespaced() { cluster.namespace.clone() } else { String::new() };
        let id = id(name, &namespace, &parent.kind, &parent.group);
        let mut set = ApplySet {
            name: name.to_owned(),
            id,
            manager: format!("{manager}-applyset"),
            kinds: BTreeSet::new(),
            namespaces: BTreeSet::new(),
            new_kinds: BTreeSet::new(),
            new_namespaces: BTreeSet::new(),
            parent,
            namespace,
        };
        if let Some(found) = cluster.find(&set.path()).await? {
            set.read(&found)?;
        }
        Ok(set)
    }

    fn path(&self) -> String {
        self.parent.path(&self.namespace, &self.name)
    }

    fn read(&mut self, parent: &Value) -> Result<(), Error> {
        let text = |place: &str, name: &str| parent.at(["metadata", place, name]).and_then(Value::as_str);
        let what = format!("{}/{}", self.parent.word(), self.name);
        match text("labels", ID) {
            Some(id) if id == self.id => {}
            Some(id) => {
                return Err(Error::usage(format!(
                    "{what} is the parent of another ApplySet, {id}; choose another name"
                )));
            }
            None => {
                return Err(Error::usage(format!(
                    "{what} exists and is not the parent of an ApplySet; choose another name"
                )));
            }
        }
        match text("annotations", TOOLING) {
            Some(tool) if tool.split('/').next() == Some(TOOL) => {}
            tool => {
                let tool = tool.unwrap_or("another tool");
                return Err(Error::usage(format!(
                    "the ApplySet {what} is managed by {tool}; use that tool, or choose another name"
                )));
            }
        }
        let list =
            |name| text("annotations", name).unwrap_or_default().split(',').filter(|part| !part.is_empty());
        self.kinds.extend(list(KINDS).map(String::from));
        self.namespaces.extend(list(NAMESPACES).map(String::from));
        self.namespaces.insert(self.namespace.clone());
        Ok(())
    }

    /// Adds the kinds and namespaces of the files. This comes before any object is applied, so that none can be missed later.
    pub async fn extend(
        &mut self,
        documents: &[Document],
        cluster: &Cluster,
        mode: Mode,
    ) -> Result<(), Error> {
        for document in documents {
            let (api_version, kind) = document.kind()?;
            let word = match api_version.split_once('/') {
                Some((group, _)) => format!("{kind}.{group}"),
                None => kind.to_owned(),
            };
            self.new_kinds.insert(word);
            let namespaced =
                cluster.kind_of(api_version, kind).await?.is_none_or(|resource| resource.is_namespaced());
            if namespaced {
                self.new_namespaces.insert(document.namespace().unwrap_or(&cluster.namespace).to_owned());
            }
        }
        self.kinds.extend(self.new_kinds.iter().cloned());
        self.namespaces.extend(self.new_namespaces.iter().cloned());
        if mode == Mode::Write {
            self.write(cluster).await?;
        }
        Ok(())
    }

    /// Returns a document with the label of a member.
    pub fn member(&self, document: Document) -> Document {
        let metadata = document.value.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        let labels = metadata.get("labels").and_then(Value::as_object).cloned().unwrap_or_default();
        let metadata = metadata.with("labels", labels.with(PART_OF, self.id.as_str()));
        let object = document.value.as_object().cloned().unwrap_or_default();
        Document { value: Value::Object(object.with("metadata", metadata)), ..document }
    }

    async fn write(&self, cluster: &Cluster) -> Result<(), Error> {
        let join = |set: &BTreeSet<String>| set.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        let elsewhere: BTreeSet<String> =
            self.namespaces.iter().filter(|name| **name != self.namespace).cloned().collect();
        let annotations = Object::default()
            .with(TOOLING, format!("{TOOL}/v{}", env!("CARGO_PKG_VERSION")))
            .with(KINDS, join(&self.kinds))
            .with(NAMESPACES, join(&elsewhere));
        let metadata = Object::default()
            .with("name", self.name.as_str())
            .with("labels", Object::default().with(ID, self.id.as_str()))
            .with("annotations", annotations);
        let metadata = if self.namespace.is_empty() {
            metadata
        } else {
            metadata.with("namespace", self.namespace.as_str())
        };
        let parent = Value::object([
            ("apiVersion", Value::from(self.parent.api_version())),
            ("kind", Value::from(self.parent.kind.as_str())),
            ("metadata", Value::Object(metadata)),
        ]);
        let path = format!("{}?fieldManager={}&force=true", self.path(), escaped(&self.manager));
        let what = format!("{}/{}", self.parent.word(), self.name);
        cluster.patch(&path, APPLY_PATCH, &parent).await?.success("write", &what)?;
        Ok(())
    }

    /// Deletes members that were not applied, and returns their names.
    pub async fn prune(
        &mut self,
        done: &[Applied],
        cluster: &Cluster,
        mode: Mode,
    ) -> Result<Vec<String>, Error> {
        let applied: BTreeSet<&str> = done.iter().filter_map(Applied::uid).collect();
        let planned = |kind: &str, namespace: &str, name: &str| {
            done.iter()
                .map(|done| &done.plan.target)
                .any(|target| target.kind == kind && target.namespace == namespace && target.name == name)
        };
        let mut pruned = Vec::new();
        for word in &self.kinds {
            let (kind, group) = word.split_once('.').unwrap_or((word, ""));
            // A kind that is no longer served has no members.
            let called = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
            let Ok(resource) = cluster.kind_named(&called).await else { continue };
            let namespaces: Vec<Option<&str>> = match resource.is_namespaced() {
                true => self.namespaces.iter().map(|name| Some(name.as_str())).collect(),
                false => vec![None],
            };
            for namespace in namespaces {
                let selection = Selection { labels: Some(format!("{PART_OF}={}", self.id)), fields: None };
                for found in cluster.select(&resource, namespace, &selection).await? {
                    let target = found.target();
                    if applied.contains(found.uid()) || planned(kind, &target.namespace, &target.name) {
                        continue;
                    }
                    if mode == Mode::Write {
                        delete(&found.path(), found.uid(), cluster).await?;
                    }
                    pruned.push(target.to_string());
                }
            }
        }
        if mode == Mode::Write {
            self.kinds = std::mem::take(&mut self.new_kinds);
            self.namespaces = std::mem::take(&mut self.new_namespaces);
            self.write(cluster).await?;
        }
        Ok(pruned)
    }
}

/// Deletes an object, unless it was replaced by another of the same name.
async fn delete(path: &str, uid: &str, cluster: &Cluster) -> Result<(), Error> {
    let options = Value::object([
        ("apiVersion", Value::from("v1")),
        ("kind", Value::from("DeleteOptions")),
        ("propagationPolicy", Value::from("Background")),
        ("preconditions", Value::object([("uid", Value::from(uid))])),
    ]);
    let body = tenure_value::json::to_vec(&options);
    let response =
        cluster.send(Method::DELETE, path, "application/json", Some(("application/json", body))).await?;
    if response.code == 404 {
        return Ok(());
    }
    response.success("delete", path)?;
    Ok(())
}

/// Returns the id of the set of a parent object.
fn id(name: &str, namespace: &str, kind: &str, group: &str) -> String {
    let parent = format!("{name}.{namespace}.{kind}.{group}");
    let digest = ring::digest::digest(&ring::digest::SHA256, parent.as_bytes());
    format!("applyset-{}-v1", URL_SAFE_NO_PAD.encode(digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_that_of_the_specification() {
        // printf 'web.default.Secret.' | openssl dgst -sha256 -binary | basenc --base64url
        assert_eq!(
            id("web", "default", "Secret", ""),
            "applyset-zN5gMMt3uHLO5pHDCETR-9uiGqcPRNY0X24Hk0Rzcgo-v1"
        );
    }
}
