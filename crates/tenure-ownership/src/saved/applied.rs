//! A plan after it was carried out: every object before and after it. This is what an undo is computed from, where no server keeps
//! history. It has the values of Secrets, so that it belongs in a private file.

use super::{ClusterIdentity, document::read_target};
use crate::{LiveObject, OwnershipError, Target};
use tenure_apply::Timestamp;
use tenure_value::{Object, Value};

/// What a plan did.
#[derive(Clone, Debug)]
pub struct AppliedPlan {
    /// The digest of the plan.
    pub digest: String,
    /// The cluster.
    pub cluster: ClusterIdentity,
    /// When it was carried out.
    pub time: Timestamp,
    /// What was written, in order.
    pub steps: Vec<AppliedStep>,
}

/// What a step did to an object.
#[derive(Clone, Debug)]
pub struct AppliedStep {
    /// The object.
    pub target: Target,
    /// The object before; `None` if it was created.
    pub before: Option<LiveObject>,
    /// The object after; `None` if it was deleted.
    pub after: Option<LiveObject>,
}

impl AppliedPlan {
    /// Returns the document from which the plan can be undone.
    pub fn to_value(&self) -> Value {
        let step = |step: &AppliedStep| {
            let mut object = Object::default()
                .with("object", step.target.to_value())
                .with("resource", step.target.word.as_str());
            for (name, live) in [("before", &step.before), ("after", &step.after)] {
                if let Some(live) = live {
                    object = object.with(name, live.to_value());
                }
            }
            Value::Object(object)
        };
        Value::object([
            ("plan", Value::from(self.digest.as_str())),
            ("cluster", self.cluster.to_value()),
            ("time", Value::from(self.time.to_string())),
            ("applied", Value::array(self.steps.iter().map(step))),
        ])
    }

    /// Whether a document is meant to be one of an applied plan.
    pub fn is_document(document: &Value) -> bool {
        document.get("applied").is_some()
    }

    /// Reads such a document.
    pub fn read(document: &Value) -> Result<AppliedPlan, OwnershipError> {
        let wrong = |problem: String| OwnershipError::Undo { problem };
        let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
        let steps = document.get("applied").and_then(Value::as_array);
        let steps = steps.ok_or_else(|| wrong("there is no list named \"applied\"".into()))?;
        let step = |(at, step): (usize, &Value)| {
            let failed = |problem: String| wrong(format!("applied[{at}]: {problem}"));
            let live = |name: &str| match step.get(name) {
                Some(shown) => {
                    LiveObject::read(shown).map(Some).map_err(|error| failed(format!("{name}: {error}")))
                }
                None => Ok(None),
            };
            let target = read_target(step).map_err(failed)?;
            Ok(AppliedStep { target, before: live("before")?, after: live("after")? })
        };
        Ok(AppliedPlan {
            digest: text("plan").to_owned(),
            cluster: ClusterIdentity::read(document.get("cluster").unwrap_or(&Value::Null)),
            time: Timestamp::parse(text("time"))
                .ok_or_else(|| wrong("its time is missing or invalid".into()))?,
            steps: steps.iter().enumerate().map(step).collect::<Result<_, _>>()?,
        })
    }
}
