//! The four ways of writing a manifest, each as its client does it: the patch that it computes, and how it is sent.

use super::sandbox::{Response, Sandbox, Stored};
use crate::{Error, command::plan::DEFAULT_MANAGER, document::Document};
use tenure_apply::LAST_APPLIED;
use tenure_ownership::{
    LiveObject,
    client_side::{KUBECTL_LAST_APPLIED, is_last_applied_kept, upgrade},
    handover::managers_patch,
};
use tenure_patch::{
    merge,
    strategic::{self, DiffOptions, LiveChanges},
};
use tenure_profile::Profile;
use tenure_schema::TypeRef;
use tenure_transport::escaped;
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
        Value::object([
            ("message", Value::from(self.message.as_str())),
            ("conflicts", Value::array(conflicts)),
        ])
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
    /// Tries all methods. Server-side apply, which takes several requests, is the last one: only it writes.
    pub fn all(&self) -> Result<Vec<Attempt>, Error> {
        Method::ALL
            .into_iter()
            .map(|method| Ok(Attempt { method, result: result(self.write(method)?) }))
            .collect()
    }

    fn write(&self, method: Method) -> Result<Response, Error> {
        let manifest = &self.manifest.value;
        Ok(match method {
            Method::ClientSide => {
                let patch = self.client_side()?;
                // For custom resources the client sends a JSON merge patch.
                let media = if self.live.custom { "merge-patch+json" } else { "strategic-merge-patch+json" };
                self.patch(media, "kubectl-client-side-apply", &patch)
            }
            Method::Strategic => self.patch("strategic-merge-patch+json", "kubectl-patch", manifest),
            Method::Merge => self.patch("merge-patch+json", "kubectl-patch", manifest),
            Method::ServerSide => self.server_side()?,
        })
    }

    fn patch(&self, media: &str, manager: &str, patch: &Value) -> Response {
        self.send(media, manager, "&dryRun=All", patch)
    }

    fn send(&self, media: &str, manager: &str, more: &str, patch: &Value) -> Response {
        let path = format!("{}?fieldManager={}{more}", self.live.path, escaped(manager));
        self.sandbox.send("PATCH", &path, &format!("application/{media}"), patch)
    }

    /// Does what `kubectl apply --server-side` does: it applies the manifest; if the object was applied on the client before, it makes
    /// the manager of that its own and applies the manifest again, which removes what the manifest no longer has.
    fn server_side(&self) -> Result<Response, Error> {
        let force = if self.force { "&force=true" } else { "" };
        let apply = || self.send("apply-patch+yaml", self.manager, force, &self.manifest.value);
        let mut applied = apply();
        if applied.code != 200 {
            return Ok(applied);
        }
        if self.manager == DEFAULT_MANAGER
            && let Some(annotation) = self.unkept_annotation(&applied.document)?
        {
            let kept = self.send("apply-patch+yaml", KUBECTL_LAST_APPLIED, "", &annotation);
            if kept.code != 200 {
                return Ok(applied);
            }
            applied = kept;
        }
        let live = self.read(&applied.document)?;
        let Some(managers) = upgrade(&live.managers, self.manager) else { return Ok(applied) };
        let patch = managers_patch(live.resource_version(), &managers);
        let migrated = self.send("json-patch+json", self.manager, "", &patch);
        if migrated.code != 200 {
            return Ok(applied);
        }
        let again = apply();
        Ok(if again.code == 200 { again } else { migrated })
    }

    /// Returns the object with nothing but the annotation of client-side apply, if it is there and no apply would keep it.
    fn unkept_annotation(&self, shown: &Value) -> Result<Option<Value>, Error> {
        let live = self.read(shown)?;
        let Some(text) = shown.at(["metadata", "annotations", LAST_APPLIED]) else { return Ok(None) };
        if is_last_applied_kept(&live.managers) {
            return Ok(None);
        }
        let part = |path: &[&str]| shown.at(path.iter().copied()).cloned();
        let annotations = Value::object([(LAST_APPLIED, text.clone())]);
        let names =
            ["name", "namespace"].into_iter().filter_map(|name| Some((name, part(&["metadata", name])?)));
        let metadata = Value::object(names.chain([("annotations", annotations)]));
        let kind = ["apiVersion", "kind"].into_iter().filter_map(|name| Some((name, part(&[name])?)));
        Ok(Some(Value::object(kind.chain([("metadata", metadata)]))))
    }

    fn read(&self, shown: &Value) -> Result<LiveObject, Error> {
        LiveObject::read(shown).map_err(|error| Error::document(&self.manifest.place, error))
    }

    /// Computes the patch of `kubectl apply`, which stores the manifest in an annotation.
    fn client_side(&self) -> Result<Value, Error> {
        let live = &self.live.shown;
        let annotation = live.at(["metadata", "annotations", LAST_APPLIED]).and_then(Value::as_str);
        let last = annotation.and_then(|text| json::parse(text.as_bytes(), &Limits::default()).ok());
        let last = last.unwrap_or_else(|| Object::default().into());
        let modified = annotated(&self.manifest.value, live);
        if self.live.custom {
            return Ok(merge::three_way(&last, &modified, live));
        }
        // `kubectl` calculates the patch, with the defects that it has.
        let how = DiffOptions::default().profile(Profile::kubernetes());
        strategic::three_way(&last, &modified, live, self.ty, LiveChanges::Overwrite, &how)
            .map_err(|error| Error::document(&self.manifest.place, error))
    }
}

/// Returns a manifest with its own text in the annotation. `kubectl` completes it first: with the namespace, and with annotations even
/// if there are none.
fn annotated(manifest: &Value, live: &Value) -> Value {
    let part = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
    let annotations = part(manifest.at(["metadata", "annotations"])).without(LAST_APPLIED);
    let mut metadata = part(manifest.get("metadata")).with("annotations", annotations.clone());
    if let Some(namespace) = live.at(["metadata", "namespace"]) {
        metadata = metadata.with("namespace", namespace.clone());
    }
    let object = part(Some(manifest)).with("metadata", metadata.clone());
    let text = format!("{}\n", json::to_string(&object.clone().into()));
    object.with("metadata", metadata.with("annotations", annotations.with(LAST_APPLIED, text))).into()
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
