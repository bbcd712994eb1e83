//! Decisions about conflicts. Each turns a conflict into another manifest or into a field to force, with which the apply is
//! planned again.

use crate::{ApplyingManager, Conflict, ForcedFields, LiveObject, Manifest};
use tenure_apply::Operation;
use tenure_fields::{Path, PathElement};
use tenure_value::Value;

/// What to do about one conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// Take the field: set my value and become its only owner.
    Take,
    /// Leave the value and its owners as they are.
    Theirs,
    /// Own their value together with them.
    Share,
    /// Do not own the field.
    LeaveOut,
}

/// Settles a conflict of an apply on the live object `before`.
pub fn settle(
    settlement: Settlement,
    conflict: &Conflict,
    before: Option<&LiveObject>,
    manifest: &mut Manifest<'_>,
    applier: &mut ApplyingManager,
) {
    let owns = |path: &Path| {
        let mut managers = before.into_iter().flat_map(|before| before.managers.iter());
        managers.any(|manager| {
            manager.name == applier.manager
                && manager.operation == Operation::Apply
                && manager.fields.has(path)
        })
    };
    let settlement = match settlement {
        Settlement::Theirs if owns(&conflict.path) => Settlement::Share,
        Settlement::Theirs => Settlement::LeaveOut,
        other => other,
    };
    let location = conflict.path.pointer(&manifest.config, manifest.ty);
    let config = match (settlement, location, &conflict.live) {
        (Settlement::Take, ..) => {
            let mut paths = match &applier.force {
                ForcedFields::Paths(paths) => paths.clone(),
                _ => Vec::new(),
            };
            paths.push(conflict.path.to_string());
            applier.force = ForcedFields::Paths(paths);
            None
        }
        (Settlement::Share, Some(location), Some(live)) => location.replace(&manifest.config, live.clone()),
        (_, Some(_), _) => without(&conflict.path, manifest, owns),
        _ => None,
    };
    if let Some(config) = config {
        manifest.config = config;
    }
}

/// Returns the configuration without a field, and without the parents that would be left with nothing to say: an empty object or list,
/// and an item of which only the keys are left, unless the manager owns it. Applying them would own them.
fn without(path: &Path, manifest: &Manifest<'_>, owns: impl Fn(&Path) -> bool) -> Option<Value> {
    let mut config = path.pointer(&manifest.config, manifest.ty)?.remove(&manifest.config)?;
    let mut parent = path.clone();
    while parent.pop().is_some() && parent.len() > usize::from(is_metadata(&parent)) {
        let says_nothing = match (parent.resolve(&config, manifest.ty), parent.last()) {
            (Some(Value::Array(items)), _) => items.is_empty(),
            (Some(Value::Object(left)), Some(PathElement::Key(keys))) => {
                left.iter().all(|(name, _)| keys.contains(name)) && !owns(&parent)
            }
            (Some(Value::Object(left)), _) => left.is_empty(),
            _ => false,
        };
        if !says_nothing {
            break;
        }
        config = parent.pointer(&config, manifest.ty)?.remove(&config)?;
    }
    Some(config)
}

fn is_metadata(path: &Path) -> bool {
    matches!(path.elements(), [PathElement::Field(name)] if name == "metadata")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_apply::Timestamp;
    use tenure_schema::Schema;

    /// Settles a conflict and returns the manifest that is left.
    fn left(config: &str, kind: (&str, &str), path: &str) -> Value {
        let ty = Schema::builtin().kind(kind.0, kind.1).unwrap();
        let mut manifest = Manifest::new(config.parse().unwrap(), "x.yaml", ty);
        let path = Path::parse_in(path, ty, Some(&manifest.config)).unwrap();
        let conflict =
            Conflict { path, owners: Vec::new(), live: Some(Value::from("theirs")), proposed: None };
        let mut applier =
            ApplyingManager { manager: "m".into(), force: ForcedFields::None, now: Timestamp::from_unix(0) };
        settle(Settlement::Theirs, &conflict, None, &mut manifest, &mut applier);
        manifest.config
    }

    #[test]
    fn theirs_owns_no_parent() {
        for (kind, config, path, expected) in [
            (
                ("v1", "ConfigMap"),
                r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#,
                ".data.k",
                r#"{"metadata":{"name":"a"}}"#,
            ),
            (
                ("v1", "ConfigMap"),
                r#"{"metadata":{"name":"a"},"data":{"k":"v","l":"w"}}"#,
                ".data.k",
                r#"{"metadata":{"name":"a"},"data":{"l":"w"}}"#,
            ),
            (
                ("v1", "Pod"),
                r#"{"metadata":{"name":"a","labels":{"x":"y"}},"spec":{"containers":[{"name":"c","image":"i"}]}}"#,
                ".spec.containers[0].image",
                r#"{"metadata":{"name":"a","labels":{"x":"y"}}}"#,
            ),
            (
                ("v1", "Pod"),
                r#"{"metadata":{"labels":{"x":"y"}},"spec":{}}"#,
                ".metadata.labels.x",
                r#"{"metadata":{},"spec":{}}"#,
            ),
        ] {
            assert_eq!(left(config, kind, path), expected.parse::<Value>().unwrap(), "{path} of {config}");
        }
    }
}
