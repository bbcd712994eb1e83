//! Every operation on one object of every built-in kind: create, get, list, watch, patch in every format, update, update the status,
//! delete, and delete a collection. Kinds are named here only where they differ on purpose.

use crate::{
    facts::{self, NAMESPACE, items, text},
    http::{Request, Response},
    server::{APPLY, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Server, metadata, version},
    stream::Stream,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tenure_meta::{Resource, Scope};
use tenure_value::{Object, Value};

/// The finalizers that an external controller removes when an object is no longer in use.
const PROTECTION: &str = "-protection";

/// A kind under test.
struct Trial<'a> {
    server: &'a Server,
    resource: &'a Resource,
    collection: String,
    /// The path of the object.
    path: String,
    body: Value,
}

impl<'a> Trial<'a> {
    fn new(server: &'a Server, resource: &'a Resource, example: &Value) -> Trial<'a> {
        let root = if resource.group.is_empty() { "/api" } else { "/apis" };
        let within = match resource.scope {
            Scope::Namespaced => format!("/namespaces/{NAMESPACE}"),
            Scope::Cluster => String::new(),
        };
        let collection = format!("{root}/{}{within}/{}", resource.api_version, resource.name);
        let mut body = labelled(example.get("input").expect("an example has an input"));
        if metadata(&body, "name").as_str().is_some_and(|name| name.ends_with('-')) {
            // Part of the recorded name was masked.
            body = set(
                &body,
                "metadata",
                set(&body.get("metadata").cloned().unwrap_or_default(), "name", "x".into()),
            );
        }
        let name = metadata(&body, "name");
        let path = format!("{collection}/{}", name.as_str().expect("an example has a name"));
        Trial { server, resource, collection, path, body }
    }

    #[track_caller]
    fn expect(&self, step: &str, codes: &[u16], response: Response) -> Value {
        let Resource { api_version, kind, .. } = self.resource;
        assert!(
            codes.contains(&response.code),
            "{api_version} {kind}, {step}: {} {}",
            response.code,
            response.text()
        );
        response.document()
    }

    fn has(&self, verb: &str) -> bool {
        self.resource.has_verb(verb)
    }

    #[track_caller]
    fn patch(&self, step: &str, path: &str, media_type: &str, body: &str) -> Value {
        self.expect(step, &[200], self.server.patch(path, media_type, body))
    }

    #[track_caller]
    fn put(&self, step: &str, path: &str, object: &Value) -> Value {
        let request = Request::new("PUT", path).body("application/json", object.to_string());
        self.expect(step, &[200], self.server.send(&request))
    }

    /// Returns the number of objects of this test in a list.
    fn count(&self, path: &str) -> usize {
        let response = self.server.get(&format!("{path}?labelSelector=trial%3Dyes"));
        items(&self.expect("list", &[200], response), "items").len()
    }

    fn run(&self) {
        let made = self.expect("create", &[201], self.server.post(&self.collection, &self.body.to_string()));
        assert_eq!(text(&made, "kind"), self.resource.kind.as_str());
        self.expect("create again", &[409], self.server.post(&self.collection, &self.body.to_string()));
        let read = self.expect("read", &[200], self.server.get(&self.path));
        assert_eq!(read, made, "{}", self.path);
        assert_eq!(self.count(&self.collection), 1, "{}", self.collection);
        let everywhere = self.collection.replace(&format!("/namespaces/{NAMESPACE}/"), "/");
        assert_eq!(self.count(&everywhere), 1, "{everywhere}");

        self.change();
        if self.resource.subresources.iter().any(|subresource| subresource.name == "status") {
            self.change_status();
        }
        self.delete(&version(&made));
        if self.has("deletecollection") {
            self.delete_collection();
        }
    }

    fn change(&self) {
        let annotation = |name: &str| format!(r#"{{"metadata":{{"annotations":{{"{name}":"yes"}}}}}}"#);
        let patched = self.patch("merge patch", &self.path, MERGE_PATCH, &annotation("merged"));
        assert_eq!(metadata(&patched, "annotations").get("merged"), Some(&Value::from("yes")));
        self.patch("strategic patch", &self.path, STRATEGIC_PATCH, &annotation("strategic"));
        let operations = r#"[{"op":"add","path":"/metadata/annotations/json","value":"yes"}]"#;
        self.patch("JSON patch", &self.path, JSON_PATCH, operations);
        let Resource { api_version, kind, .. } = self.resource;
        let name = metadata(&self.body, "name");
        let own = format!(
            r#"{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{"name":{name},"annotations":{{"applied":"yes"}}}}}}"#
        );
        self.patch("apply", &format!("{}?fieldManager=trial", self.path), APPLY, &own);
        let read = self.expect("read", &[200], self.server.get(&self.path));
        for name in ["merged", "strategic", "json", "applied"] {
            assert_eq!(
                metadata(&read, "annotations").get(name),
                Some(&Value::from("yes")),
                "{} {name}",
                self.path
            );
        }
        let updated = self.put("update", &self.path, &with_annotation(&read, "updated"));
        assert_ne!(version(&updated), version(&read), "{}", self.path);
        let stale =
            Request::new("PUT", &self.path).body("application/json", with_annotation(&read, "x").to_string());
        self.expect("update of what is out of date", &[409], self.server.send(&stale));
        let dry =
            self.patch("dry run", &format!("{}?dryRun=All", self.path), MERGE_PATCH, &annotation("dry"));
        assert!(metadata(&dry, "annotations").get("dry").is_some());
        assert_eq!(version(&self.server.get(&self.path).document()), version(&updated));
        // Other representations: a table, and metadata only.
        for view in ["Table", "PartialObjectMetadata"] {
            let accept = format!("application/json;as={view};g=meta.k8s.io;v=v1");
            let response = self.server.send(&Request::new("GET", &self.path).header("Accept", &accept));
            assert_eq!(text(&self.expect(view, &[200], response), "kind"), view);
        }
    }

    fn change_status(&self) {
        let path = format!("{}/status", self.path);
        let status = self.expect("read the status", &[200], self.server.get(&path));
        assert_eq!(text(&status, "kind"), self.resource.kind.as_str());
        let body = r#"{"metadata":{"annotations":{"patchedstatus":"yes"}}}"#;
        self.patch("merge patch of the status", &path, MERGE_PATCH, body);
        self.patch("strategic patch of the status", &path, STRATEGIC_PATCH, body);
        let status = self.expect("read the status", &[200], self.server.get(&path));
        self.put("update of the status", &path, &with_annotation(&status, "updatedstatus"));
    }

    /// Deletes the object, and expects all events since its creation in a watch.
    fn delete(&self, from: &str) {
        let path = format!("{}?propagationPolicy=Background", self.path);
        self.expect("delete", &[200, 202], self.server.delete(&path));
        self.see_it_go();
        let watch = format!("{}?watch=1&labelSelector=trial%3Dyes&resourceVersion={from}", self.collection);
        let mut stream = Stream::open(self.server.address, &watch).expect("a watch");
        let mut changes = 0;
        loop {
            let (word, object) =
                stream.next_change().unwrap_or_else(|| panic!("{watch} ended after {changes}"));
            assert_eq!(metadata(&object, "name"), metadata(&self.body, "name"), "{watch}");
            match word.as_str() {
                "MODIFIED" => changes += 1,
                "DELETED" => break,
                other => panic!("{watch}: {other} after {changes} changes"),
            }
        }
        assert!(changes >= 5, "{watch}: {changes} changes");
    }

    /// Waits until the object is gone, and does the work of external controllers.
    fn see_it_go(&self) {
        let left = metadata(&self.server.get(&self.path).document(), "finalizers").to_string();
        if left.contains(PROTECTION) {
            self.patch("let go", &self.path, MERGE_PATCH, r#"{"metadata":{"finalizers":null}}"#);
        }
        self.server.wait_until_gone(&self.path);
    }

    fn delete_collection(&self) {
        self.expect("create again", &[201], self.server.post(&self.collection, &self.body.to_string()));
        let path = format!("{}?labelSelector=trial%3Dyes&propagationPolicy=Background", self.collection);
        self.expect("delete a collection", &[200], self.server.delete(&path));
        self.see_it_go();
        assert_eq!(self.count(&self.collection), 0, "{}", self.collection);
    }
}

fn set(object: &Value, name: &str, value: Value) -> Value {
    Value::Object(object.as_object().cloned().unwrap_or_default().with(name, value))
}

/// Returns an object with a label that identifies it.
fn labelled(object: &Value) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| Object::default().into());
    let labels = metadata.get("labels").cloned().unwrap_or_else(|| Object::default().into());
    set(object, "metadata", set(&metadata, "labels", set(&labels, "trial", "yes".into())))
}

fn with_annotation(object: &Value, name: &str) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_default();
    let annotations = metadata.get("annotations").cloned().unwrap_or_else(|| Object::default().into());
    set(object, "metadata", set(&metadata, "annotations", set(&annotations, name, "yes".into())))
}

#[test]
fn every_kind_supports_every_operation() {
    let server = Server::living();
    server.create_namespace(NAMESPACE);
    // A controller would write to a quota, an APIService or a ServiceCIDR between the steps.
    let without_controllers = Server::start();
    without_controllers.create_namespace(NAMESPACE);
    let document = facts::read("defaults-examples.json");
    let (mut tried, mut failed) = (0, Vec::new());
    for resource in tenure_builtin::registry().resources().iter().filter(|resource| resource.has_verb("get"))
    {
        let example = items(&document, "examples").iter().find(|example| {
            let input = example.get("input").cloned().unwrap_or_default();
            text(&input, "apiVersion") == resource.api_version.as_str()
                && text(&input, "kind") == resource.kind.as_str()
        });
        let Some(example) = example.filter(|_| resource.has_verb("create")) else { continue };
        // A failure of one kind does not hide those of others.
        let is_followed = ["APIService", "ResourceQuota", "ServiceCIDR"].contains(&resource.kind.as_str());
        let server = if is_followed { &without_controllers } else { &server };
        let trial = Trial::new(server, resource, example);
        if catch_unwind(AssertUnwindSafe(|| trial.run())).is_err() {
            failed.push(format!("{} {}", resource.api_version, resource.kind));
        }
        tried += 1;
    }
    assert!(failed.is_empty(), "{failed:?}");
    assert!(tried >= 55, "{tried}");
}
