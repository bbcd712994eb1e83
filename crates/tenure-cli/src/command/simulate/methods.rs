//! The four ways of writing a manifest, each as its client does it: the patch that it computes, and how it is sent.

use super::sandbox::{Response, Sandbox, Stored};
use crate::{Error, document::Document};
use tenure_profile::Profile;
use tenure_apply::LAST_APPLIED;
use tenure_transport::escaped;
use tenure_patch::{
    merge,
    strategic::{self, DiffOptions, LiveChanges},
};
use tenure_schema::TypeRef;
use tenure_value::{Limits, Object, Value, json};

/// A way of writing a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `kubectl apply`: a three-way patch from the last applied manifest, the manifest and the live object.
    ClientSide,
    /// The manifest as a strategic merge patch.
    Strategic,
    /// The manifest as a JSON merge patch.
    Merge,
    /// `kubectl apply --server-side`.
    ServerSide,
}

impl Method {
    /// All of them, in display order.
    pub const ALL: [Method; 4] = [Method::ClientSide, Method::Strategic, Method::Merge, Method::ServerSide];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Method::ClientSide => "client-side apply",
            Method::Strategic => "strategic merge",
            Method::Merge => "JSON merge",
            Method::ServerSide => "server-side apply",
        }
    }
}

/// The result of a write.
pub struct Attempt {
    /// The way of writing.
    pub method: Method,
    /// The object afterwards, or why it was refused.
    pub result: Result<Value, Refusal>,
}

/// Why a write was refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The message of the server.
    pub message: String,
    /// The conflicting fields, each with its owner.
    pub conflicts: Vec<(String, String)>,
}

impl Refusal {
    /// Returns the refusal as a document.
    pub fn to_value(&self) -> Value {
        let conflicts = self.conflicts.iter().map(|(path, owner)| {
            Value::object([("path", Value::from(path.as_str())), ("owner", Value::from(owner.as_str()))])
        });
        Value::object([("message", Value::from(self.message.as_str())), ("conflicts", Value::array(conflicts))])
    }
}

/// A manifest to write.
pub struct Write<'a> {
    pub sandbox: &'a Sandbox,
    pub manifest: &'a Document,
    pub live: &'a Stored,
    pub ty: TypeRef<'a>,
    pub manager: &'a str,
    pub force: bool,
}

impl Write<'_> {
    /// Tries all methods.
    pub fn all(&self) -> Result<Vec<Attempt>, Error> {
        Method::ALL.into_iter().map(|method| Ok(Attempt { method, result: result(self.write(method)?) })).collect()
    }

    fn write(&self, method: Method) -> Result<Response, Error> {
        let manifest = &self.manifest.value;
        Ok(match method {
            Method::ClientSide => {
                let patch = self.client_side()?;
                // For custom resources the client sends a JSON merge patch.
                let media = if self.live.custom { "merge-patch+json" } else { "strategic-merge-patch+json" };
                self.patch(media, "kubectl-client-side-apply", "", &patch)
            }
            Method::Strategic => self.patch("strategic-merge-patch+json", "kubectl-patch", "", manifest),
            Method::Merge => self.patch("merge-patch+json", "kubectl-patch", "", manifest),
            Method::ServerSide => {
                let force = if self.force { "&force=true" } else { "" };
                self.patch("apply-patch+yaml", self.manager, force, manifest)
            }
        })
    }

    fn patch(&self, media: &str, manager: &str, more: &str, patch: &Value) -> Response {
        let path = format!("{}?dryRun=All&fieldManager={}{more}", self.live.path, escaped(manager));
        self.sandbox.send("PATCH", &path, &format!("application/{media}"), patch)
    }

    /// Computes the patch of `kubectl apply`, which stores the manifest in an annotation.
    fn client_side(&self) -> Result<Value, Error> {
        let live = &self.live.shown;
        let annotation = live.at(["metadata", "annotations", LAST_APPLIED]).and_then(Value::as_str);
        let last = annotation.and_then(|text| json::parse(text.as_bytes(), &Limits::default()).ok());
        let last = last.unwrap_or_else(|| Object::default().into());
        let modified = annotated(&self.manifest.value);
        if self.live.custom {
            return Ok(merge::three_way(&last, &modified, live));
        }
        // `kubectl` calculates the patch, with the defects that it has.
        let how = DiffOptions::default().profile(Profile::kubernetes());
        strategic::three_way(&last, &modified, live, self.ty, LiveChanges::Overwrite, &how)
            .map_err(|error| Error::document(&self.manifest.place, error))
    }
}

/// Returns a manifest with its own text in the annotation.
fn annotated(manifest: &Value) -> Value {
    let text = format!("{}\n", json::to_string(manifest));
    let part = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
    let annotations = part(manifest.at(["metadata", "annotations"])).with(LAST_APPLIED, Value::from(text));
    let metadata = part(manifest.get("metadata")).with("annotations", annotations);
    part(Some(manifest)).with("metadata", metadata).into()
}

fn result(response: Response) -> Result<Value, Refusal> {
    if response.code == 200 {
        return Ok(response.document);
    }
    let causes = response.document.at(["details", "causes"]).and_then(Value::as_array);
    let conflicts = causes.into_iter().flatten().filter_map(|cause| {
        let text = |name: &str| cause.get(name).and_then(Value::as_str).unwrap_or_default();
        let owner = text("message").strip_prefix("conflict with ")?;
        (text("reason") == "FieldManagerConflict").then(|| (text("field").to_owned(), owner.to_owned()))
    });
    let conflicts = if response.code == 409 { conflicts.collect() } else { Vec::new() };
    Err(Refusal { message: response.message(), conflicts })
}
