//! The four ways of writing, each as its client does it: which patch is made of the manifest, and how it is sent.

use super::world::{Said, Settled, World};
use crate::{Error, document::Document};
use tenure_apply::LAST_APPLIED;
use tenure_patch::{
    merge,
    strategic::{self, LiveChanges},
};
use tenure_schema::TypeRef;
use tenure_value::{Limits, Object, Value, json};

/// A way to write a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `kubectl apply`: a patch from last applied, manifest and live object.
    ClientSide,
    /// The manifest as a strategic merge patch.
    Strategic,
    /// The manifest as a JSON merge patch.
    Merge,
    /// `kubectl apply --server-side`.
    ServerSide,
}

impl Way {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Way; 4] = [Way::ClientSide, Way::Strategic, Way::Merge, Way::ServerSide];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Way::ClientSide => "client-side apply",
            Way::Strategic => "strategic merge",
            Way::Merge => "JSON merge",
            Way::ServerSide => "server-side apply",
        }
    }
}

/// What became of a write.
pub struct Ending {
    /// How it was written.
    pub way: Way,
    /// The object afterwards, or why it was refused.
    pub result: Result<Value, Refusal>,
}

/// Why a write was refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// What the server says.
    pub message: String,
    /// The fields that others hold, each with who holds it.
    pub contested: Vec<(String, String)>,
}

impl Refusal {
    /// Returns the refusal as a document.
    pub fn to_value(&self) -> Value {
        let contested = self.contested.iter().map(|(path, holder)| {
            Value::object([("path", Value::from(path.as_str())), ("holder", Value::from(holder.as_str()))])
        });
        Value::object([("message", Value::from(self.message.as_str())), ("conflicts", Value::array(contested))])
    }
}

/// A manifest that is to be written.
pub struct Write<'a> {
    pub world: &'a World,
    pub manifest: &'a Document,
    pub live: &'a Settled,
    pub ty: TypeRef<'a>,
    pub manager: &'a str,
    pub force: bool,
}

impl Write<'_> {
    /// Tries all ways.
    pub fn all(&self) -> Result<Vec<Ending>, Error> {
        Way::ALL.into_iter().map(|way| Ok(Ending { way, result: ended(self.said(way)?) })).collect()
    }

    fn said(&self, way: Way) -> Result<Said, Error> {
        let manifest = &self.manifest.value;
        Ok(match way {
            Way::ClientSide => {
                let patch = self.client_side()?;
                // For kinds without built-in types the client sends a JSON merge patch.
                let media = if self.live.custom { "merge-patch+json" } else { "strategic-merge-patch+json" };
                self.patch(media, "kubectl-client-side-apply", "", &patch)
            }
            Way::Strategic => self.patch("strategic-merge-patch+json", "kubectl-patch", "", manifest),
            Way::Merge => self.patch("merge-patch+json", "kubectl-patch", "", manifest),
            Way::ServerSide => {
                let force = if self.force { "&force=true" } else { "" };
                self.patch("apply-patch+yaml", self.manager, force, manifest)
            }
        })
    }

    fn patch(&self, media: &str, manager: &str, more: &str, patch: &Value) -> Said {
        let path = format!("{}?dryRun=All&fieldManager={}{more}", self.live.path, encoded(manager));
        self.world.ask("PATCH", &path, &format!("application/{media}"), patch)
    }

    /// Makes the patch of `kubectl apply`, which keeps the manifest in an annotation.
    fn client_side(&self) -> Result<Value, Error> {
        let live = &self.live.shown;
        let annotation = live.at(["metadata", "annotations", LAST_APPLIED]).and_then(Value::as_str);
        let last = annotation.and_then(|text| json::parse(text.as_bytes(), &Limits::default()).ok());
        let last = last.unwrap_or_else(|| Object::default().into());
        let modified = annotated(&self.manifest.value);
        if self.live.custom {
            return Ok(merge::three_way(&last, &modified, live));
        }
        let how = Default::default();
        strategic::three_way(&last, &modified, live, self.ty, LiveChanges::Overwrite, &how)
            .map_err(|error| Error::document(&self.manifest.place, error))
    }
}

/// Returns a manifest with itself in its annotation.
fn annotated(manifest: &Value) -> Value {
    let text = format!("{}\n", json::to_string(manifest));
    let part = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
    let annotations = part(manifest.at(["metadata", "annotations"])).with(LAST_APPLIED, Value::from(text));
    let metadata = part(manifest.get("metadata")).with("annotations", annotations);
    part(Some(manifest)).with("metadata", metadata).into()
}

/// Returns a text as it stands in a query.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn ended(said: Said) -> Result<Value, Refusal> {
    if said.code == 200 {
        return Ok(said.document);
    }
    let causes = said.document.at(["details", "causes"]).and_then(Value::as_array);
    let contested = causes.into_iter().flatten().filter_map(|cause| {
        let text = |name: &str| cause.get(name).and_then(Value::as_str).unwrap_or_default();
        let holder = text("message").strip_prefix("conflict with ")?;
        (text("reason") == "FieldManagerConflict").then(|| (text("field").to_owned(), holder.to_owned()))
    });
    let contested = if said.code == 409 { contested.collect() } else { Vec::new() };
    Err(Refusal { message: said.message(), contested })
}
