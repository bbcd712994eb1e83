//! A plan without a server: the apply is computed on the live object. Defaulting and validation, which only a server does,
//! are not part of it.

use super::{Plan, Verdict};
use crate::{ApplyingManager, ForcedFields, LiveObject, Manifest};
use tenure_apply::{
    self as apply, ApplyError, Emptied, Live, Managers, Presence, ResetFields, SingleVersion, State,
    Versions, Write,
};
use tenure_fields::{FieldSet, PathElement};
use tenure_profile::Profile;
use tenure_schema::{Schema, TypeRef, builtin};
use tenure_value::Value;

/// The versions of a kind, as far as they are known here: all versions are assumed to have the same field names.
struct SameFields<'s> {
    one: SingleVersion<'s>,
    ty: TypeRef<'s>,
    /// Whether the kind is built in, and not one of a definition.
    is_builtin: bool,
}

impl Versions for SameFields<'_> {
    fn type_of(&self, _: &str) -> Option<TypeRef<'_>> {
        Some(self.ty)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        self.one.convert(object, api_version)
    }

    fn emptied(&self) -> Emptied {
        if self.is_builtin { Emptied::IsNull } else { Emptied::Stays }
    }
}

/// Computes the result of an apply to a live object, or of a create if there is none, on a server with a profile.
pub fn offline(
    manifest: &Manifest<'_>,
    live: Option<&LiveObject>,
    applier: &ApplyingManager,
    profile: Profile,
) -> Plan {
    let (api_version, kind) = (manifest.target.api_version.as_str(), manifest.target.kind.as_str());
    // Only built-in kinds write fields that are not set.
    let builtin = builtin::empty_object(Schema::builtin_at(profile.version()), api_version, kind);
    let versions = SameFields {
        one: SingleVersion::new(api_version, manifest.ty),
        ty: manifest.ty,
        is_builtin: builtin.is_some(),
    };
    let named = || Value::object([("apiVersion", Value::from(api_version)), ("kind", Value::from(kind))]);
    let empty = builtin.unwrap_or_else(named);
    // A write to the object itself does not change its status.
    let mut status = FieldSet::default();
    status.insert(&[PathElement::field("status")]);
    let write = Write {
        manager: &applier.manager,
        api_version,
        subresource: "",
        now: Some(applier.now),
        profile,
        versions: &versions,
        reset: &ResetFields::These(status),
        empty: &empty,
    };
    let no_managers = Managers::default();
    let found = match live {
        Some(live) => Live { object: &live.object, managers: &live.managers, presence: Presence::Stored },
        None => Live { object: &empty, managers: &no_managers, presence: Presence::New },
    };
    let attempt = |force: &ForcedFields| apply_with(found, manifest, &write, force);
    let verdict = match attempt(&applier.force) {
        Ok(state) => Verdict::Applied(state.into()),
        Err(ApplyError::Conflicts(conflicts)) => Verdict::Conflicts(
            conflicts.iter().cloned().collect(),
            attempt(&ForcedFields::All).ok().map(LiveObject::from),
        ),
        Err(error) => return Plan::refused(manifest, applier, live.cloned(), error),
    };
    Plan::new(manifest, applier, live.cloned(), verdict)
}

fn apply_with(
    live: Live<'_>,
    manifest: &Manifest<'_>,
    write: &Write<'_>,
    force: &ForcedFields,
) -> Result<State, ApplyError> {
    let mut set = FieldSet::default();
    let force = match force {
        ForcedFields::None => apply::Force::No,
        ForcedFields::All => apply::Force::All,
        ForcedFields::Paths(paths) => {
            for path in paths.iter().filter_map(|path| manifest.field(path).ok()) {
                set.insert(&path);
            }
            apply::Force::Paths(&set)
        }
    };
    apply::apply(live, &manifest.config, write, force)
}
