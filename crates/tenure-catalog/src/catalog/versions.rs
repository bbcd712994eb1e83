//! The versions of a kind as the computation of ownership sees them. That decision is a pure function that cannot wait for a
//! conversion webhook: missing conversions are recorded here, fetched, and ownership is computed again.

use super::handler::ResourceHandler;
use parking_lot::Mutex;
use tenure_apply::{Emptied, Evolution, Versions};
use tenure_meta::ConversionError;
use tenure_schema::TypeRef;
use tenure_store::Revision;
use tenure_value::{Text, Value};

/// The versions of a kind, for an object that was last written at a revision.
pub struct KindVersions<'a> {
    handler: &'a ResourceHandler,
    conversions: &'a Conversions,
    written: Revision,
}

impl<'a> KindVersions<'a> {
    /// Returns the versions of the handler's kind.
    pub fn new(handler: &'a ResourceHandler, conversions: &'a Conversions, written: Revision) -> Self {
        KindVersions { handler, conversions, written }
    }
}

impl Versions for KindVersions<'_> {
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        self.handler.strategy().type_at(api_version)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        self.handler.strategy().convert(object, api_version).or_else(|error| match error {
            ConversionError::Webhook { .. } => self
                .conversions
                .find(object, api_version)
                .ok_or_else(|| "the conversion webhook has not been called yet".into()),
            other => Err(other.to_string()),
        })
    }

    fn convert_undeclared(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        match object.as_object() {
            Some(fields) if self.handler.is_custom() && !self.handler.has_conversion_webhook() => {
                Ok(fields.with("apiVersion", api_version).into())
            }
            _ => self.convert(object, api_version),
        }
    }

    fn former_type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        self.handler.former_type_at(api_version, self.written)
    }

    fn evolves(&self) -> Evolution {
        self.handler.evolution()
    }

    fn emptied(&self) -> Emptied {
        self.handler.emptied()
    }
}

/// The objects that a webhook has converted for one write.
#[derive(Default)]
pub struct Conversions(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Objects, versions, and the objects at those versions.
    done: Vec<(Value, Text, Value)>,
    /// The version that was last requested and is not known.
    wanted: Option<(Value, Text)>,
}

impl Conversions {
    /// Returns an object at a version if it is known, and otherwise records that it is needed.
    fn find(&self, object: &Value, api_version: &str) -> Option<Value> {
        let mut known = self.0.lock();
        let done = known.done.iter().find(|(from, version, _)| version == api_version && from == object);
        let found = done.map(|(_, _, converted)| converted.clone());
        if found.is_none() {
            known.wanted = Some((object.clone(), api_version.into()));
        }
        found
    }

    /// Takes the needed conversion: an object and a version.
    pub fn take_wanted(&self) -> Option<(Value, Text)> {
        self.0.lock().wanted.take()
    }

    /// Adds an object at a version.
    pub fn add(&self, object: Value, api_version: Text, converted: Value) {
        self.0.lock().done.push((object, api_version, converted));
    }
}
