//! An API server in this process, with a store in memory and no port: the place where a live object from a file is put
//! as it lives, so that writes to it can be tried.

use crate::{Error, document::Document};
use http_body_util::Full;
use std::sync::Arc;
use tenure_server::{Access, Answer, AnswerBody, Server};
use tenure_store::MemoryStore;
use tenure_value::{Limits, Object, Value, json};
use tokio::runtime::Runtime;

/// Who puts the live object into the world; nothing is left of it.
const SETTLER: &str = "tenure-simulate";

/// Metadata that a server gives and takes from nobody.
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

/// The server, and what runs it.
pub struct World {
    runtime: Runtime,
    api: Arc<Server>,
    /// What the definitions name: apiVersion, kind, plural and whether objects are in namespaces.
    custom: Vec<Names>,
}

struct Names {
    group: String,
    kind: String,
    plural: String,
    namespaced: bool,
}

/// An object that lives in the world.
pub struct Settled {
    /// Where it is.
    pub path: String,
    /// The object as the server shows it.
    pub shown: Value,
    /// Whether a definition made its kind.
    pub custom: bool,
}

/// What the server answered.
pub struct Said {
    pub code: u16,
    pub document: Value,
}

impl World {
    /// Makes a server that knows the built-in kinds and those of the definitions.
    pub fn with(definitions: &[Document]) -> Result<World, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::Runtime)?;
        let api = runtime.block_on(Server::open(Arc::new(MemoryStore::new()), Access::Anyone));
        let api = api.map_err(|failure| Error::usage(format!("cannot start: {failure}")))?;
        let mut world = World { runtime, api, custom: Vec::new() };
        for definition in definitions {
            world.define(definition)?;
        }
        Ok(world)
    }

    fn define(&mut self, definition: &Document) -> Result<(), Error> {
        let value = stripped(&definition.value);
        if definition.kind()?.1 != "CustomResourceDefinition" {
            let problem = "only a CustomResourceDefinition says all that a server must know of a kind; give one";
            return Err(Error::document(&definition.place, problem));
        }
        let said = self.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", &value);
        said.expect(201).map_err(|why| Error::document(&definition.place, why))?;
        let text = |path: &[&str]| {
            value.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        self.custom.push(Names {
            group: text(&["spec", "group"]),
            kind: text(&["spec", "names", "kind"]),
            plural: text(&["spec", "names", "plural"]),
            namespaced: text(&["spec", "scope"]) == "Namespaced",
        });
        Ok(())
    }

    /// Puts an object into the world as it lives: with its status and its managers.
    pub fn settle(&self, live: &Document) -> Result<Settled, Error> {
        let refused = |why: String| {
            Error::document(&live.place, format!("the API would not have such a live object: {why}"))
        };
        let (collection, custom) = self.collection(live)?;
        let object = stripped(&live.value);
        let path = format!("{collection}/{}", live.name()?);
        let manager = format!("?fieldManager={SETTLER}&fieldValidation=Ignore");
        let mut said = self.ask("POST", &format!("{collection}{manager}"), "application/json", &object);
        let mut shown = said.expect(201).map_err(refused)?;
        if let Some(status) = live.value.get("status")
            && shown.get("status") != Some(status)
        {
            let with = with(&shown, "status", status.clone());
            said = self.ask("PUT", &format!("{path}/status{manager}"), "application/json", &with);
            // Where there is no such endpoint, the status went in with the rest.
            if said.code != 404 {
                shown = said.expect(200).map_err(refused)?;
            }
        }
        // One empty entry says that nobody's fields are tracked.
        let nobody = || Value::array([Object::default().into()]);
        let managers = live.value.at(["metadata", "managedFields"]).cloned().unwrap_or_else(nobody);
        let metadata = shown.get("metadata").cloned().unwrap_or_default();
        let managed = with(&shown, "metadata", with(&metadata, "managedFields", managers));
        said = self.ask("PUT", &format!("{path}{manager}"), "application/json", &managed);
        shown = said.expect(200).map_err(refused)?;
        Ok(Settled { path, shown, custom })
    }

    /// Returns the path of the collection that an object belongs to, and whether its kind is custom.
    fn collection(&self, live: &Document) -> Result<(String, bool), Error> {
        let (api_version, kind) = live.kind()?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let custom = self.custom.iter().find(|names| names.group == group && names.kind == kind);
        let builtin = tenure_server::kinds::registry().of_kind(api_version, kind);
        let (plural, namespaced) = match (custom, builtin) {
            (Some(names), _) => (names.plural.as_str(), names.namespaced),
            (None, Some(resource)) => {
                (resource.name.as_str(), resource.scope == tenure_server::kinds::Scope::Namespaced)
            }
            (None, None) => {
                let problem = format!("{api_version} {kind} is not served; give its definition with --schema FILE");
                return Err(Error::document(&live.place, problem));
            }
        };
        let root = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        if !namespaced {
            return Ok((format!("{root}/{plural}"), custom.is_some()));
        }
        let namespace = live.namespace().unwrap_or("default");
        let body = Value::object([("metadata", Value::object([("name", Value::from(namespace))]))]);
        let said = self.ask("POST", "/api/v1/namespaces", "application/json", &body);
        match said.code {
            // The first namespaces are there from the start.
            201 | 409 => Ok((format!("{root}/namespaces/{namespace}/{plural}"), custom.is_some())),
            _ => Err(Error::document(&live.place, said.message())),
        }
    }

    /// Sends a request and returns what the server says.
    pub fn ask(&self, method: &str, path: &str, media_type: &str, body: &Value) -> Said {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", media_type)
            .header("accept", "application/json")
            .body(Full::new(bytes::Bytes::from(json::to_vec(body))));
        match request {
            Ok(request) => Said::of(self.runtime.block_on(self.api.clone().respond(request))),
            Err(error) => Said { code: 400, document: Value::object([("message", Value::from(error.to_string()))]) },
        }
    }
}

impl Said {
    fn of(answer: Answer) -> Said {
        let document = match &answer.body {
            AnswerBody::Whole(bytes) => json::parse(bytes, &Limits::TRUSTED).unwrap_or_default(),
            _ => Value::Null,
        };
        Said { code: answer.code.as_u16(), document }
    }

    /// Returns the document where the answer is of that kind, else what the server complains of.
    fn expect(self, code: u16) -> Result<Value, String> {
        if self.code == code { Ok(self.document) } else { Err(self.message()) }
    }

    /// Returns what the server complains of.
    pub fn message(&self) -> String {
        let message = self.document.get("message").and_then(Value::as_str);
        message.map_or_else(|| format!("code {}", self.code), str::to_owned)
    }
}

/// Returns an object without what only a server writes.
fn stripped(object: &Value) -> Value {
    let Some(metadata) = object.get("metadata").and_then(Value::as_object) else { return object.clone() };
    let metadata = SERVER_OWNED.iter().fold(metadata.clone(), |metadata, name| metadata.without(name));
    with(object, "metadata", metadata.into())
}

fn with(object: &Value, name: &'static str, value: Value) -> Value {
    object.as_object().cloned().unwrap_or_default().with(name, value).into()
}
