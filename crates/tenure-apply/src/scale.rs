//! The scale endpoint, which shows one number of an object as an object of its own. Its writes go through
//! [`apply`](crate::apply) and [`update`](crate::update) on the Scale object with the managers of that one
//! field; then the answer is carried back to the managers of the whole.

use crate::{Manager, Managers, Write};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_value::Text;

/// The version of the Scale object.
pub const SCALE_VERSION: &str = "autoscaling/v1";

/// Where the versions of a kind keep the number of replicas.
pub trait ReplicasAt {
    /// Returns the path of the number at a version; `None` if the version does not exist.
    fn replicas_at(&self, api_version: &str) -> Option<Path>;
}

impl<F: Fn(&str) -> Option<Path>> ReplicasAt for F {
    fn replicas_at(&self, api_version: &str) -> Option<Path> {
        self(api_version)
    }
}

/// Returns who owns the number, as managers of the Scale object.
pub fn to_scale(managers: &Managers, at: &dyn ReplicasAt) -> Managers {
    let fields = replicas_of_scale();
    let owns = |manager: &&Manager| {
        at.replicas_at(&manager.api_version).is_some_and(|path| manager.fields.has(path.elements()))
    };
    let api_version = Text::new_static(SCALE_VERSION);
    let shown = |manager: &Manager| Manager {
        api_version: api_version.clone(),
        fields: fields.clone(),
        ..manager.clone()
    };
    managers.iter().filter(owns).map(shown).collect()
}

/// Returns the managers of the whole object after a write to its scale. An updater that still owns the
/// number shows it in an entry of its own, and the scale's entries carry no time, as recorded.
pub fn from_scale(parent: &Managers, scale: &Managers, at: &dyn ReplicasAt, write: &Write<'_>) -> Managers {
    let mut after = Vec::with_capacity(parent.len() + scale.len());
    let mut settled = Vec::new();
    for manager in parent {
        let Some(path) = at.replicas_at(&manager.api_version) else { continue };
        if !manager.fields.has(path.elements()) || scale.get(&manager.identity()).is_some() {
            settled.push(manager.identity());
            after.push(manager.clone());
            continue;
        }
        let mut fields = manager.fields.clone();
        fields.remove(path.elements());
        if !fields.is_empty() {
            after.push(manager.with_fields(fields));
        }
    }
    let number = replicas_of_scale();
    if let Some(path) = at.replicas_at(write.api_version) {
        let mut fields = FieldSet::default();
        fields.insert(path.elements());
        for manager in scale {
            if number.is_subset(&manager.fields) && !settled.iter().any(|other| other.is(&manager.identity()))
            {
                let api_version = write.api_version.into();
                after.push(Manager { api_version, time: None, fields: fields.clone(), ..manager.clone() });
            }
        }
    }
    Managers::new(after)
}

fn replicas_of_scale() -> FieldSet {
    let mut fields = FieldSet::default();
    fields.insert(&[PathElement::field("spec"), PathElement::field("replicas")]);
    fields
}
