//! An API server in this process, with a store in memory and no port. A live object from a file is put into it so that writes
//! can be tried.

use crate::{Error, document::Document};
use std::sync::Arc;
use tenure_http::{Administrator, RequestBody, ResponseBody};
use tenure_profile::{KubernetesVersion, Profile};
use tenure_server::{Server, ServerOptions};
use tenure_store::MemoryStore;
use tenure_value::{Limits, Object, Value, json};
use tokio::runtime::Runtime;

/// The manager that puts the live object into the sandbox; it owns nothing afterwards.
const SETUP_MANAGER: &str = "tenure-simulate";

/// Metadata that only the server sets.
const SERVER_OWNED: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The server and its runtime.
pub struct Sandbox {
    runtime: Runtime,
    api: Arc<Server>,
    version: KubernetesVersion,
    /// The custom kinds.
    custom: Vec<CustomKind>,
}

struct CustomKind {
    group: String,
    kind: String,
    plural: String,
    namespaced: bool,
}

/// An object in the sandbox.
pub struct Stored {
    /// Its path.
    pub path: String,
    /// The object as the server shows it.
    pub shown: Value,
    /// Whether it is a custom resource.
    pub custom: bool,
}

/// The response to a request.
pub struct Response {
    pub code: u16,
    pub document: Value,
}

impl Sandbox {
    /// Creates a server with the built-in kinds and those of the definitions, and with a profile.
    pub fn with(definitions: &[Document], profile: Profile) -> Result<Sandbox, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::Runtime)?;
        let mut options = ServerOptions::new(Administrator::Anyone);
        options.profile = profile;
        let api = runtime.block_on(Server::with_options(Arc::new(MemoryStore::new()), options));
        let api = api.map_err(|failure| Error::usage(format!("cannot start: {failure}")))?;
        let mut sandbox = Sandbox { runtime, api, version: profile.version(), custom: Vec::new() };
        for definition in definitions {
            sandbox.define(definition)?;
        }
        Ok(sandbox)
    }

    fn define(&mut self, definition: &Document) -> Result<(), Error> {
        let value = stripped(&definition.value);
        if definition.kind()?.1 != "CustomResourceDefinition" {
            let problem =
                "a simulation needs the CustomResourceDefinition of the kind, not an OpenAPI document";
            return Err(Error::document(&definition.place, problem));
        }
        let response = self.send(
            "POST",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            "application/json",
            &value,
        );
        response.expect(201).map_err(|why| Error::document(&definition.place, why))?;
        let text = |path: &[&str]| {
            value.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        self.custom.push(CustomKind {
            group: text(&["spec", "group"]),
            kind: text(&["spec", "names", "kind"]),
            plural: text(&["spec", "names", "plural"]),
            namespaced: text(&["spec", "scope"]) == "Namespaced",
        });
        Ok(())
    }

    /// Stores an object with its status and its managers.
    pub fn put(&self, live: &Document) -> Result<Stored, Error> {
        let refused = |why: String| Error::document(&live.place, format!("not a valid live object: {why}"));
        let (collection, custom) = self.collection(live)?;
        let object = stripped(&live.value);
        let path = format!("{collection}/{}", live.name()?);
        let manager = format!("?fieldManager={SETUP_MANAGER}&fieldValidation=Ignore");
        let mut response = self.send("POST", &format!("{collection}{manager}"), "application/json", &object);
        let mut shown = response.expect(201).map_err(refused)?;
        if let Some(status) = live.value.get("status")
            && shown.get("status") != Some(status)
        {
            let with = with(&shown, "status", status.clone());
            response = self.send("PUT", &format!("{path}/status{manager}"), "application/json", &with);
            // Without a status subresource, the status was stored with the rest.
            if response.code != 404 {
                shown = response.expect(200).map_err(refused)?;
            }
        }
        // One empty entry means that ownership is not tracked.
        let untracked = || Value::array([Object::default().into()]);
        let managers = live.value.at(["metadata", "managedFields"]).cloned().unwrap_or_else(untracked);
        let metadata = shown.get("metadata").cloned().unwrap_or_default();
        let managed = with(&shown, "metadata", with(&metadata, "managedFields", managers));
        response = self.send("PUT", &format!("{path}{manager}"), "application/json", &managed);
        shown = response.expect(200).map_err(refused)?;
        Ok(Stored { path, shown, custom })
    }

    /// Returns the path of an object's collection, and whether it is a custom resource.
    fn collection(&self, live: &Document) -> Result<(String, bool), Error> {
        let (api_version, kind) = live.kind()?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let custom = self.custom.iter().find(|names| names.group == group && names.kind == kind);
        let builtin = tenure_builtin::registry_at(self.version).of_kind(api_version, kind);
        let (plural, namespaced) = match (custom, builtin) {
            (Some(names), _) => (names.plural.as_str(), names.namespaced),
            (None, Some(resource)) => {
                (resource.name.as_str(), resource.scope == tenure_meta::Scope::Namespaced)
            }
            (None, None) => {
                let problem =
                    format!("unknown kind {api_version} {kind}; give its definition with --schema FILE");
                return Err(Error::document(&live.place, problem));
            }
        };
        let root =
            if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        if !namespaced {
            return Ok((format!("{root}/{plural}"), custom.is_some()));
        }
        let namespace = live.namespace().unwrap_or("default");
        let body = Value::object([("metadata", Value::object([("name", Value::from(namespace))]))]);
        let response = self.send("POST", "/api/v1/namespaces", "application/json", &body);
        match response.code {
            // The initial namespaces exist already.
            201 | 409 => Ok((format!("{root}/namespaces/{namespace}/{plural}"), custom.is_some())),
            _ => Err(Error::document(&live.place, response.message())),
        }
    }

    /// Sends a request.
    pub fn send(&self, method: &str, path: &str, media_type: &str, body: &Value) -> Response {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", media_type)
            .header("accept", "application/json")
            .body(RequestBody::from(bytes::Bytes::from(json::to_vec(body))));
        match request {
            Ok(request) => Response::of(self.runtime.block_on(self.api.clone().respond(request))),
            Err(error) => {
                Response { code: 400, document: Value::object([("message", Value::from(error.to_string()))]) }
            }
        }
    }
}

impl Response {
    fn of(answer: tenure_http::Response) -> Response {
        let document = match &answer.body {
            ResponseBody::Whole(bytes) => json::parse(bytes, &Limits::TRUSTED).unwrap_or_default(),
            _ => Value::Null,
        };
        Response { code: answer.code.as_u16(), document }
    }

    /// Returns the document of a response with this code, else the error message.
    fn expect(self, code: u16) -> Result<Value, String> {
        if self.code == code { Ok(self.document) } else { Err(self.message()) }
    }

    /// Returns the error message.
    pub fn message(&self) -> String {
        let message = self.document.get("message").and_then(Value::as_str);
        message.map_or_else(|| format!("code {}", self.code), str::to_owned)
    }
}

/// Returns an object without the metadata that only the server sets.
fn stripped(object: &Value) -> Value {
    let Some(metadata) = object.get("metadata").and_then(Value::as_object) else { return object.clone() };
    let metadata = SERVER_OWNED.iter().fold(metadata.clone(), |metadata, name| metadata.without(name));
    with(object, "metadata", metadata.into())
}

fn with(object: &Value, name: &'static str, value: Value) -> Value {
    object.as_object().cloned().unwrap_or_default().with(name, value).into()
}
