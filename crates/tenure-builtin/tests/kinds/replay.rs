//! Replays every recorded write of a built-in kind, one at a time: the recorded object before it, the
//! request, and whether the engine accepts it with the recorded result. Ownership is tested elsewhere; here
//! only the merged object of an apply is compared.

use crate::{
    defaults::Recorded,
    facts::{items, text},
    recordings,
};
use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};
use tenure_apply::{Force, Live, Managers, Presence, ResetFields, SingleVersion, Write};
use tenure_builtin::{CreateContext, Endpoint, Identity, Kinds, Resource, Scope};
use tenure_profile::Profile;
use tenure_schema::Schema;
use tenure_value::{Limits, Object, Value, json};

const UID: &str = "6a1f0c1e-7c5b-4a57-9d7e-2f1f6c6f0a01";

/// Scenarios in which an apply empties a struct that another manager owns: our merge leaves it empty, the
/// recorded server removes it.
const APART: [&str; 1] = ["fuzz/deployments-183"];

/// Returns the available files of recordings.
fn recordings() -> Vec<PathBuf> {
    let folders = crate::recordings::conversations();
    let files = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

/// Parses recorded steps, with names and times in place of placeholders.
fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    let text = text.replace("{ns}", "ns").replace("{id}", "id").replace("\"UID\"", &format!("\"{UID}\""));
    let text = text.replace("\"TIME\"", "\"2024-01-01T00:00:00Z\"");
    json::parse(text.as_bytes(), &Limits { bytes: usize::MAX, nodes: usize::MAX, ..Limits::default() })
        .unwrap()
}

/// The target of the path of a step.
struct Target {
    resource: Arc<Resource>,
    object: String,
    endpoint: Endpoint<'static>,
}

fn target(path: &str) -> Option<Target> {
    let words: Vec<&str> = path.split('?').next()?.trim_matches('/').split('/').collect();
    let (group, version, rest) = match words.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return None,
    };
    let rest = match rest {
        ["namespaces", _, rest @ ..] if !rest.is_empty() && !matches!(rest, ["status" | "finalize"]) => rest,
        rest => rest,
    };
    let (resource, below) = rest.split_first()?;
    let resource = Kinds::at(recordings::version()).registry().find(group, version, resource)?.clone();
    // CustomResourceDefinitions have rules of their own.
    if resource.kind == "CustomResourceDefinition" {
        return None;
    }
    let endpoint = match below.get(1) {
        None => Endpoint::Main,
        Some(&"status") => Endpoint::Status,
        Some(_) => return None,
    };
    let object =
        format!("{group}/{version}/{} {}", resource.name, below.first().copied().unwrap_or_default());
    Some(Target { resource, object, endpoint })
}

/// Removes what the engine does not decide.
fn compared(object: &Value) -> Value {
    let Some(fields) = object.as_object() else { return object.clone() };
    let metadata = fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let given = ["managedFields", "resourceVersion", "uid", "creationTimestamp", "namespace"];
    let metadata = given.iter().fold(metadata, |metadata, name| metadata.without(name));
    fields.with("metadata", metadata).into()
}

fn bare(object: &Value) -> Value {
    let Some(fields) = object.as_object() else { return object.clone() };
    let metadata = fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    fields.with("metadata", metadata.without("managedFields")).into()
}

/// The outcome of a write.
#[derive(Debug)]
enum Outcome {
    Made(Value),
    Refused(String),
    /// Outside of this engine: a conflict, or a patch that does not apply.
    Elsewhere,
}

struct Step<'s> {
    target: &'s Target,
    verb: &'s str,
    media: &'s str,
    body: &'s Value,
    query: &'s Value,
    live: Option<&'s Value>,
}

impl Step<'_> {
    fn resource(&self) -> &Resource {
        &self.target.resource
    }

    /// Returns the requested new content.
    fn requested(&self) -> Option<Value> {
        let ty = Schema::builtin().kind(&self.resource().api_version, &self.resource().kind)?;
        match (self.verb, self.media) {
            ("POST" | "PUT", _) => Some(self.body.clone()),
            ("PATCH", "application/merge-patch+json") => {
                Some(tenure_patch::merge::apply_kubernetes(self.live?, self.body))
            }
            ("PATCH", "application/json-patch+json") => {
                tenure_patch::json::apply(self.live?, self.body, &Default::default()).ok()
            }
            ("PATCH", "application/strategic-merge-patch+json") => {
                tenure_patch::strategic::apply(self.live?, self.body, ty, &Default::default()).ok()
            }
            ("PATCH", "application/apply-patch+yaml") => self.applied(),
            _ => None,
        }
    }

    /// Returns the merged object of an apply.
    fn applied(&self) -> Option<Value> {
        let (kinds, resource) = (Kinds::at(recordings::version()), self.resource());
        let ty = Schema::builtin().kind(&resource.api_version, &resource.kind)?;
        let empty = kinds.empty(resource);
        let object = self.live.map_or_else(|| empty.clone(), bare);
        let held =
            self.live.and_then(|live| live.at(["metadata", "managedFields"])).cloned().unwrap_or_default();
        let managers = Managers::from_value(&held).ok()?;
        let presence = if self.live.is_some() { Presence::Stored } else { Presence::New };
        let versions = SingleVersion::new(resource.api_version.clone(), ty);
        let reset = kinds.reset_fields(resource, self.target.endpoint);
        let reset = ResetFields::these(reset.iter().map(Vec::as_slice));
        let subresource = if self.target.endpoint == Endpoint::Status { "status" } else { "" };
        let write = Write {
            manager: text(self.query, "fieldManager"),
            api_version: &resource.api_version,
            subresource,
            now: Some(tenure_apply::Timestamp::from_unix(1_704_067_200)),
            versions: &versions,
            reset: &reset,
            empty: &empty,
            profile: Profile::kubernetes().at(recordings::version()),
        };
        let force = if self.query.get("force").is_some_and(|force| force.to_string().contains("true")) {
            Force::All
        } else {
            Force::No
        };
        let live = Live { object: &object, managers: &managers, presence };
        tenure_apply::apply(live, self.body, &write, force).ok().map(|state| state.object)
    }

    fn outcome(&self) -> Outcome {
        let (kinds, resource) = (Kinds::at(recordings::version()), self.resource());
        let Some(requested) = self.requested() else { return Outcome::Elsewhere };
        let mut around = Recorded::of(self.body);
        let completed = match kinds.complete(resource, &bare(&requested), around.now()) {
            Ok(completed) => completed.value,
            Err(error) => return Outcome::Refused(error.message),
        };
        let (made, errors) = match self.live.filter(|_| self.verb != "POST") {
            Some(live) => {
                let live = bare(live);
                let made =
                    kinds.prepare_update(resource, self.target.endpoint, &live, &completed, &mut around);
                let errors = kinds.validate_update(resource, self.target.endpoint, &live, &made);
                (made, errors)
            }
            None => {
                let name = completed.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
                let namespace = (resource.scope == Scope::Namespaced).then(|| "ns".into());
                let identity = Identity {
                    name: name.into(),
                    namespace,
                    uid: UID.into(),
                    now: around.now(),
                    keeps_marks: false,
                };
                let made = tenure_meta::update::with_system_metadata(resource, &completed, &identity);
                let made = kinds.create(resource, &made, &mut around);
                let errors = kinds.validate_create(resource, &made);
                (made, errors)
            }
        };
        match errors.first() {
            None if self.query.get("dryRun").is_some() => Outcome::Made(made),
            None => Outcome::Made(kinds.stored(resource, &made)),
            Some(error) => Outcome::Refused(format!("{}: {}", error.path, error.message.clone())),
        }
    }
}

/// Replays the steps of a scenario; each starts from the recorded state.
fn replay(scenario: &Value, failures: &mut Vec<String>) -> usize {
    let mut live: HashMap<String, Value> = HashMap::new();
    let mut count = 0;
    if APART.contains(&text(scenario, "name")) {
        return 0;
    }
    for (number, step) in items(scenario, "steps").iter().enumerate() {
        let expected = step.get("expect").cloned().unwrap_or_default();
        let code = expected.get("code").and_then(Value::as_i64).unwrap_or(0);
        let body = expected.get("body").cloned().unwrap_or_default();
        if let Some((object, "scale")) = text(step, "path").rsplit_once('/') {
            // The object after scaling is not recorded.
            if let (Some(target), "PUT" | "PATCH") = (target(object), text(step, "do")) {
                live.insert(target.object, Value::Null);
            }
            continue;
        }
        let Some(target) = target(text(step, "path")) else { continue };
        let is_object = text(&body, "kind") == target.resource.kind && code < 300;
        let name = match text(step, "do") {
            "POST" => format!(
                "{}{}",
                target.object,
                body.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default()
            ),
            _ => target.object.clone(),
        };
        // Reviews are answered and not stored.
        let write = matches!(text(step, "do"), "POST" | "PUT" | "PATCH") && target.resource.is_stored();
        let sent = step.get("body").map(Value::to_string).unwrap_or_default();
        // Placeholders in braces stand for values of earlier responses, recorded uids for any. Patch
        // directives in new entries differ on purpose, as tested in the patch library.
        let apart = ["\"{", "ownerReferences", "generateName", "\"$patch\""];
        let plain = !sent.is_empty() && !apart.iter().any(|word| sent.contains(word));
        let aside = ["unchecked", "raw", "repeat", "ignore"].iter().any(|name| step.get(name).is_some());
        let known = plain && !aside;
        let query = step.get("query").cloned().unwrap_or_default();
        let found = live.get(&name).cloned();
        let strict = text(&query, "fieldValidation") == "Strict";
        // A patch of an object that was never recorded cannot be checked.
        let owned = |object: &Value| object.is_null() || object.at(["metadata", "ownerReferences"]).is_some();
        let shown = !found.as_ref().is_some_and(owned);
        let judged = shown
            && (found.is_some()
                || text(step, "do") == "POST"
                || text(step, "type").starts_with("application/apply"));
        if write && known && judged && !strict && matches!(code, 200 | 201 | 400 | 422 | 500) {
            let empty = Value::Object(Object::default());
            let requested = Step {
                target: &target,
                verb: text(step, "do"),
                media: text(step, "type"),
                body: step.get("body").unwrap_or(&empty),
                query: &query,
                live: found.as_ref(),
            };
            let wrong = match requested.outcome() {
                Outcome::Elsewhere => None,
                Outcome::Made(made) if is_object => {
                    let (is, should) = (compared(&made), compared(&body));
                    (is != should).then(|| format!("is     {is}\n    should {should}"))
                }
                // Other errors of a request are outside of the engine.
                Outcome::Made(_) if text(&body, "reason") == "Invalid" && !is_about_request(&body) => {
                    Some(format!("taken, but recorded {}", text(&body, "message")))
                }
                Outcome::Refused(why) if is_object => Some(format!("refused: {why}")),
                _ => None,
            };
            count += 1;
            failures.extend(wrong.map(|wrong| format!("{} step {number}: {wrong}", text(scenario, "name"))));
        }
        let kept = body.at(["metadata", "finalizers"]).is_some();
        if query.get("dryRun").is_some() || code >= 300 {
            continue;
        }
        match text(step, "do") {
            "DELETE" if !kept => drop(live.remove(&name)),
            _ if is_object => drop(live.insert(name, body)),
            _ => {}
        }
    }
    count
}

/// Whether a recorded rejection is about options or the patch itself.
fn is_about_request(body: &Value) -> bool {
    let causes = body.at(["details", "causes"]).and_then(Value::as_array).cloned().unwrap_or_default();
    let about = [
        "fieldManager",
        "force",
        "dryRun",
        "fieldValidation",
        "patch",
        "propagationPolicy",
        "metadata.managedFields",
    ];
    let field = |cause: &Value| text(cause, "field").to_string();
    causes.is_empty()
        || causes.iter().all(|cause| about.iter().any(|name| field(cause).starts_with(name)))
        || text(body, "message").contains("resourceVersion")
}

#[test]
fn recorded_writes_are_accepted_and_rejected_as_recorded() {
    let (mut failures, mut count) = (Vec::new(), 0);
    for path in recordings() {
        let file = read(&path);
        let scenarios = file.as_array().map(|list| list.items()).unwrap_or_default();
        count += scenarios.iter().map(|scenario| replay(scenario, &mut failures)).sum::<usize>();
    }
    let shown: Vec<String> =
        failures.iter().take(40).map(|failure| failure.chars().take(3000).collect()).collect();
    assert!(failures.is_empty(), "{} of {count} differ\n{}", failures.len(), shown.join("\n"));
    assert!(count > 500, "only {count} writes were tried");
}
