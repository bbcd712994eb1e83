//! What the computation of ownership needs to know of a kind: its versions and their conversion, the fields that an endpoint resets,
//! and the empty object. For built-in kinds and definitions this is what the server uses; a kind of an OpenAPI document has one version.

use crate::{Error, ErrorKind, Types};
use tenure_apply::{Emptied, Evolution, ResetFields, Versions};
use tenure_builtin::{BuiltinStrategy, registry};
use tenure_crd::Definition;
use tenure_meta::{Endpoint, Strategy};
use tenure_profile::Profile;
use tenure_schema::TypeRef;
use tenure_value::{Text, Value};

/// A kind at the version of a write.
pub(crate) struct KindVersions<'t> {
    pub api_version: Text,
    kind: Text,
    source: Source<'t>,
}

enum Source<'t> {
    Builtin(Box<BuiltinStrategy>),
    Definition(&'t Definition),
    OneVersion(TypeRef<'t>),
}

impl<'t> KindVersions<'t> {
    /// Finds the kind of an object.
    pub fn of(types: &'t Types, object: &Value) -> Result<KindVersions<'t>, Error> {
        let ty = types.of(object, None)?;
        let text = |name: &str| Text::from(object.get(name).and_then(Value::as_str).unwrap_or_default());
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if api_version.is_empty() || kind.is_empty() {
            let message = "an object needs apiVersion and kind";
            return Err(Error::new(ErrorKind::UnknownKind, message));
        }
        let builtin =
            registry().of_kind(&api_version, &kind).filter(|_| !types.is_given(&api_version, &kind));
        let source = match (types.definition(&api_version, &kind), builtin) {
            (Some(definition), _) => Source::Definition(definition),
            (None, Some(resource)) => {
                Source::Builtin(Box::new(BuiltinStrategy::new(resource.clone(), Profile::kubernetes())))
            }
            (None, None) => Source::OneVersion(ty),
        };
        Ok(KindVersions { api_version, kind, source })
    }

    /// Whether the kind is not built in.
    pub fn is_custom(&self) -> bool {
        !matches!(self.source, Source::Builtin(_))
    }

    /// Returns the type at the version of the write.
    pub fn ty(&self) -> TypeRef<'_> {
        self.type_of(&self.api_version).unwrap_or_else(TypeRef::untyped)
    }

    /// Returns the object of this kind in which nothing is set.
    pub fn empty(&self) -> Value {
        match &self.source {
            Source::Builtin(strategy) => strategy.empty(),
            _ => Value::object([
                ("apiVersion", Value::String(self.api_version.clone())),
                ("kind", Value::String(self.kind.clone())),
            ]),
        }
    }

    /// Returns the fields that an endpoint takes from the live object.
    pub fn reset(&self, subresource: &str) -> ResetFields {
        let status = || ResetFields::these([[Text::new_static("status")].as_slice()]);
        match (&self.source, Endpoint::of(subresource)) {
            (Source::Builtin(strategy), endpoint) => strategy.reset_fields(endpoint),
            (_, Endpoint::Status) => match status() {
                ResetFields::These(fields) => ResetFields::AllBut(fields),
                other => other,
            },
            (Source::Definition(definition), Endpoint::Main) => {
                let has_status =
                    definition.version_of(&self.api_version).is_some_and(|version| version.has_status);
                if has_status { status() } else { ResetFields::None }
            }
            (Source::OneVersion(ty), Endpoint::Main) if ty.below("status").is_some() => status(),
            _ => ResetFields::None,
        }
    }
}

impl Versions for KindVersions<'_> {
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        match &self.source {
            Source::Builtin(strategy) => strategy.type_at(api_version),
            Source::Definition(definition) => definition.type_of(api_version),
            Source::OneVersion(ty) => (self.api_version == api_version).then_some(*ty),
        }
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        match &self.source {
            Source::Builtin(strategy) => {
                strategy.convert(object, api_version).map_err(|error| error.to_string())
            }
            Source::Definition(definition) => definition
                .convert(object, api_version)
                .ok_or_else(|| "its definition has a conversion webhook, or no such version".to_owned()),
            Source::OneVersion(_) => Ok(object.clone()),
        }
    }

    fn convert_undeclared(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        match (&self.source, object.as_object()) {
            (Source::Definition(_), Some(fields)) => Ok(fields.with("apiVersion", api_version).into()),
            _ => self.convert(object, api_version),
        }
    }

    fn evolves(&self) -> Evolution {
        if self.is_custom() { Evolution::Possible } else { Evolution::None }
    }

    fn emptied(&self) -> Emptied {
        if self.is_custom() { Emptied::Stays } else { Emptied::IsNull }
    }
}
