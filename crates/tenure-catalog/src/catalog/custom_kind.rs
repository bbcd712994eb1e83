//! A custom kind: its compiled definition, and the schemas it had before.

use super::schema_history::SchemaHistory;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use tenure_crd::Definition;
use tenure_meta::Resource;
use tenure_profile::Profile;
use tenure_schema::TypeRef;
use tenure_store::Revision;
use tenure_value::Value;

/// The number of the next compiled definition.
static NEXT_GENERATION: AtomicU64 = AtomicU64::new(1);

/// A custom kind.
pub struct CustomKind {
    /// The compiled definition.
    pub definition: Arc<Definition>,
    /// The object that the definition was compiled from.
    object: Value,
    history: SchemaHistory,
    /// Its resources, one for each served version.
    pub resources: Vec<Arc<Resource>>,
    /// Differs from that of every definition compiled before; never 0.
    pub generation: u64,
}

impl CustomKind {
    /// Compiles a stored definition; what is known of it already and has not changed is reused.
    pub(super) fn compile(
        object: &Value,
        history: SchemaHistory,
        known: Option<&Arc<CustomKind>>,
        profile: Profile,
    ) -> Result<Arc<CustomKind>, String> {
        if let Some(kind) = known {
            if kind.object.ptr_eq(object) && kind.history.is_same(&history) {
                return Ok(kind.clone());
            }
            if kind.object.get("spec") == object.get("spec") {
                let (definition, resources) = (kind.definition.clone(), kind.resources.clone());
                let (object, generation) = (object.clone(), kind.generation);
                return Ok(Arc::new(CustomKind { definition, object, history, resources, generation }));
            }
        }
        let definition = Definition::read(object, profile).map_err(|error| error.to_string())?;
        let resources = definition.resources().into_iter().map(Arc::new).collect();
        let generation = NEXT_GENERATION.fetch_add(1, Relaxed);
        let (definition, object) = (Arc::new(definition), object.clone());
        Ok(Arc::new(CustomKind { definition, object, history, resources, generation }))
    }

    pub(super) fn history(&self) -> &SchemaHistory {
        &self.history
    }

    /// Whether the definition is being deleted: nothing new is created of its kind.
    pub fn is_terminating(&self) -> bool {
        self.object.at(["metadata", "deletionTimestamp"]).is_some()
    }

    /// Returns the versions at which objects are stored, by the status of the definition.
    pub fn stored_versions(&self) -> &[Value] {
        let stored = self.object.at(["status", "storedVersions"]).and_then(Value::as_array);
        stored.map(|stored| stored.items()).unwrap_or_default()
    }

    /// Returns the type that the kind had when an object was written, if that has changed since.
    pub fn former_type_at(&self, api_version: &str, written: Revision) -> Option<TypeRef<'_>> {
        self.history.at(written)?.kind(api_version, &self.definition.names.kind)
    }
}
