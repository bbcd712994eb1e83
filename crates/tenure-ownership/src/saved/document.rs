//! Saved plans as documents. The document is the plan: its digest covers everything that is carried out and everything that a
//! reviewer reads, and a document whose digest does not fit is refused.

use super::{ClusterIdentity, Pinning, PlannedStep, PlannedWrite, SavedPlan, Withholding};
use crate::{ForcedFields, LiveObject, OwnershipError, Target, kind_word};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use tenure_apply::Timestamp;
use tenure_fields::fields_v1;
use tenure_value::{Object, Value, json};

const API_VERSION: &str = "tenure.dev/v1";
const KIND: &str = "Plan";

/// Whether a document calls itself a saved plan.
pub(crate) fn is_plan(document: &Value) -> bool {
    text(document, "apiVersion") == API_VERSION && text(document, "kind") == KIND
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the digest of a document: over all of it but the digest itself, the time, and the address of a cluster that has a uid.
pub(super) fn digest(document: &Value) -> String {
    let object: Object = document.as_object().cloned().unwrap_or_default();
    let object = object.without("digest").without("time");
    let object = match object.get("cluster").and_then(Value::as_object) {
        Some(cluster) if cluster.contains("uid") => object.with("cluster", cluster.without("server")),
        _ => object,
    };
    let digest = Sha256::digest(json::to_vec(&Value::Object(object)));
    let mut text = "sha256:".to_owned();
    for byte in digest {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

impl SavedPlan {
    /// Returns the plan as a document, which [`SavedPlan::read`] reads. Values of Secrets are digests.
    pub fn to_value(&self) -> Value {
        let withholding = Withholding::new(self.cluster.salt());
        let steps = self.steps.iter().map(|step| step.to_value(withholding));
        let document = Object::default()
            .with("apiVersion", API_VERSION)
            .with("kind", KIND)
            .with("time", self.time.to_string())
            .with("cluster", self.cluster.to_value())
            .with("pin", self.pinning.word())
            .with("steps", Value::array(steps.collect::<Vec<_>>()));
        let digest = digest(&Value::Object(document.clone()));
        Value::Object(document.with("digest", digest))
    }

    /// Whether a document is meant to be a saved plan.
    pub fn is_document(document: &Value) -> bool {
        is_plan(document)
    }

    /// Reads a plan, which must be as it was written.
    pub fn read(document: &Value) -> Result<SavedPlan, OwnershipError> {
        let wrong = |problem: &str| OwnershipError::Plan { problem: problem.to_owned() };
        if !is_plan(document) {
            return Err(wrong("it is not a saved plan; `tenure plan --out FILE` writes one"));
        }
        let (written, computed) = (text(document, "digest"), digest(document));
        if written != computed {
            let problem = "it was changed after it was made: its digest does not fit its content; make a new plan instead of \
                           editing one";
            return Err(wrong(problem));
        }
        let cluster = ClusterIdentity::read(document.get("cluster").unwrap_or(&Value::Null));
        let time = Timestamp::parse(text(document, "time"))
            .ok_or_else(|| wrong("its time is missing or invalid"))?;
        let pinning = Pinning::parse(text(document, "pin"))
            .ok_or_else(|| wrong("its pin must be versions or fields"))?;
        let steps = document
            .get("steps")
            .and_then(Value::as_array)
            .ok_or_else(|| wrong("it has no list of steps"))?;
        let steps = steps.iter().enumerate().map(|(at, step)| {
            PlannedStep::read(step)
                .map_err(|problem| OwnershipError::Plan { problem: format!("steps[{at}]: {problem}") })
        });
        Ok(SavedPlan { cluster, time, pinning, steps: steps.collect::<Result<_, _>>()? })
    }
}

impl ClusterIdentity {
    pub(super) fn to_value(&self) -> Value {
        let object = Object::default().with("server", self.server.as_str());
        Value::Object(if self.uid.is_empty() { object } else { object.with("uid", self.uid.as_str()) })
    }

    pub(super) fn read(value: &Value) -> ClusterIdentity {
        ClusterIdentity { server: text(value, "server").to_owned(), uid: text(value, "uid").to_owned() }
    }
}

impl PlannedStep {
    fn to_value(&self, withholding: Withholding<'_>) -> Value {
        let shown = |live: &LiveObject| {
            let live =
                LiveObject { object: withholding.object(&live.object), managers: live.managers.clone() };
            live.to_value()
        };
        let mut object = Object::default()
            .with("object", self.target.to_value())
            .with("resource", self.target.word.as_str())
            .with("write", self.write.word())
            .with("plan", self.preview.clone())
            .with("relies", fields_v1::to_value(&self.relies));
        if !self.source.is_empty() {
            object = object.with("source", self.source.as_str());
        }
        if let Some(before) = &self.before {
            object = object.with("before", shown(before));
        }
        Value::Object(match &self.write {
            PlannedWrite::Apply { config, manager, force } => {
                let object =
                    object.with("config", withholding.object(config)).with("manager", manager.as_str());
                match force {
                    ForcedFields::None => object,
                    ForcedFields::All => object.with("force", true),
                    ForcedFields::Paths(paths) => object
                        .with("force", Value::array(paths.iter().map(|path| Value::from(path.as_str())))),
                }
            }
            PlannedWrite::Restore(after) => object.with("after", shown(after)),
            PlannedWrite::Delete => object,
        })
    }

    fn read(value: &Value) -> Result<PlannedStep, String> {
        let live = |name: &str| match value.get(name) {
            Some(shown) => LiveObject::read(shown).map(Some).map_err(|error| format!("{name}: {error}")),
            None => Ok(None),
        };
        let target = read_target(value)?;
        let write = match text(value, "write") {
            "apply" => PlannedWrite::Apply {
                config: value.get("config").cloned().ok_or("config is missing")?,
                manager: text(value, "manager").to_owned(),
                force: match value.get("force") {
                    None => ForcedFields::None,
                    Some(Value::Bool(true)) => ForcedFields::All,
                    Some(Value::Array(paths)) => ForcedFields::Paths(
                        paths.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
                    ),
                    Some(_) => return Err("force must be true or a list of paths".into()),
                },
            },
            "restore" => PlannedWrite::Restore(live("after")?.ok_or("after is missing")?),
            "delete" => PlannedWrite::Delete,
            other => return Err(format!("write must be apply, restore or delete, not {other:?}")),
        };
        let relies = fields_v1::from_value(value.get("relies").ok_or("relies is missing")?);
        Ok(PlannedStep {
            target,
            source: text(value, "source").to_owned(),
            write,
            before: live("before")?,
            relies: relies.map_err(|error| format!("relies: {error}"))?,
            preview: value.get("plan").cloned().unwrap_or_default(),
            withheld: true,
        })
    }
}

/// Reads the object of a step.
pub(super) fn read_target(step: &Value) -> Result<Target, String> {
    let object = step.get("object").ok_or("object is missing")?;
    let required = |name: &str| match text(object, name) {
        "" => Err(format!("object.{name} is missing")),
        text => Ok(text.to_owned()),
    };
    let (api_version, kind) = (required("apiVersion")?, required("kind")?);
    let word = match text(step, "resource") {
        "" => kind_word(&api_version, &kind),
        word => word.to_owned(),
    };
    Ok(Target {
        word,
        namespace: text(object, "namespace").to_owned(),
        name: required("name")?,
        api_version,
        kind,
    })
}
