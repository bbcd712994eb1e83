//! What the parts of a server add to the audit events of a request while they carry it out.

use super::{Level, ObjectReference};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tenure_value::{Text, Value};

/// The prefix of the annotations with the patches of admission webhooks.
const PATCHES: &str = "patch.webhook.admission.k8s.io/";

/// Collects annotations and the object of a request. A handle that records nothing, the default, ignores them.
#[derive(Clone, Debug, Default)]
pub struct AuditContext(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    level: Level,
    record: Mutex<Record>,
}

#[derive(Debug, Default)]
struct Record {
    annotations: Vec<(Text, Text)>,
    reference: Option<ObjectReference>,
    request_object: Option<Value>,
}

impl AuditContext {
    /// Returns a handle for a request that is recorded at a level.
    pub fn recording(level: Level) -> AuditContext {
        AuditContext(Some(Arc::new(Shared { level, record: Mutex::default() })))
    }

    /// Whether the request is recorded.
    pub fn is_recording(&self) -> bool {
        self.0.is_some()
    }

    fn record(&self) -> Option<(Level, MutexGuard<'_, Record>)> {
        let shared = self.0.as_ref()?;
        Some((shared.level, shared.record.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Adds annotations; the first value of a key stays.
    pub fn annotate<K: Into<Text>, V: Into<Text>>(&self, annotations: impl IntoIterator<Item = (K, V)>) {
        let Some((level, mut record)) = self.record() else { return };
        for (key, value) in annotations {
            let key = key.into();
            // A patch shows what the request sent.
            if key.starts_with(PATCHES) && level < Level::Request {
                continue;
            }
            if record.annotations.iter().all(|(known, _)| *known != key) {
                record.annotations.push((key, value.into()));
            }
        }
    }

    /// Sets the object that the request sent, decoded; the first one stays.
    pub fn set_request_object(&self, object: &Value, resource_version: &str) {
        let Some((level, mut record)) = self.record() else { return };
        if record.reference.is_some() {
            return;
        }
        let text = |field: &str| object.at(["metadata", field]).and_then(Value::as_str).unwrap_or_default();
        record.reference = Some(ObjectReference {
            uid: text("uid").into(),
            resource_version: resource_version.into(),
            name: text("name").into(),
        });
        if level >= Level::Request {
            record.request_object = Some(object.clone());
        }
    }

    /// Returns the annotations so far, sorted by key.
    pub fn annotations(&self) -> Vec<(Text, Text)> {
        let mut annotations = self.record().map(|(_, record)| record.annotations.clone()).unwrap_or_default();
        annotations.sort();
        annotations
    }

    /// Returns what is known of the object, and the object itself if the level records it.
    pub fn object(&self) -> (ObjectReference, Option<Value>) {
        let record = self.record();
        let request_object =
            record.map(|(_, record)| (record.reference.clone(), record.request_object.clone()));
        let (reference, object) = request_object.unwrap_or_default();
        (reference.unwrap_or_default(), object)
    }
}
