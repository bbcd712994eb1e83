//! The ways to move ownership. Each computes the managers afterwards; none changes a value, except that a released
//! field without a further owner is removed unless it is kept.

use crate::{
    ConflictCause, LiveObject, OwnershipError, Plan,
    client_side::{CLIENT_SIDE_MANAGERS, is_left_over},
};
use tenure_apply::{self as apply, Identity, LAST_APPLIED, Manager, Managers, Operation, Timestamp};
use tenure_fields::{FieldSet, Node, Path, PathElement};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// The intended result of a handover.
#[derive(Clone, Debug)]
pub struct HandoverOutcome {
    /// The managers afterwards.
    pub managers: Managers,
    /// The fields that leave the object.
    pub removed: Vec<Path>,
    /// What could not be done, and why.
    pub notes: Vec<String>,
}

/// Moves all fields of the managers named `from` to the manager `to`.
pub fn adopt(live: &LiveObject, from: &[String], to: &str, now: Timestamp) -> HandoverOutcome {
    let selected = |manager: &Manager| from.iter().any(|name| *name == manager.name.as_str());
    adopt_selected(live, to, now, selected)
}

fn adopt_selected(
    live: &LiveObject,
    to: &str,
    now: Timestamp,
    selected: impl Fn(&Manager) -> bool,
) -> HandoverOutcome {
    let selected = |manager: &Manager| selected(manager) && manager.subresource.is_empty();
    let version = version_of(to, live, selected);
    let adoption = apply::adopt(&live.managers, &identity(to, &version), now, selected);
    let note = |manager: &Manager| {
        format!("{} stays: its fields are recorded at {}, not {version}", manager.name, manager.api_version)
    };
    HandoverOutcome {
        notes: adoption.left.iter().map(note).collect(),
        managers: adoption.managers,
        removed: Vec::new(),
    }
}

/// Moves the fields at and below the paths to the manager `to`, from the managers named `from` or from all.
pub fn transfer(
    live: &LiveObject,
    ty: TypeRef<'_>,
    paths: &[String],
    from: &[String],
    to: &str,
    now: Timestamp,
) -> Result<HandoverOutcome, OwnershipError> {
    let (read, selected) = select(live, ty, paths, from)?;
    let version = version_of(to, live, &selected);
    let moved = apply::transfer(&live.managers, &read, &identity(to, &version), now, selected);
    let note = |manager: &Manager| {
        format!(
            "{} keeps its fields: they are recorded at {}, not {version}",
            manager.name, manager.api_version
        )
    };
    Ok(HandoverOutcome {
        notes: moved.left.iter().map(note).collect(),
        managers: moved.managers,
        removed: Vec::new(),
    })
}

/// Takes the fields at and below the paths from the managers named `from` or from all. A field without a further owner
/// is removed, unless its value is kept.
pub fn release(
    live: &LiveObject,
    ty: TypeRef<'_>,
    paths: &[String],
    from: &[String],
    values: Values,
) -> Result<HandoverOutcome, OwnershipError> {
    let (read, selected) = select(live, ty, paths, from)?;
    let managers = apply::release(&live.managers, &read, selected);
    if managers.is_empty() {
        return Err(OwnershipError::NoManagerLeft { name: live.name().to_owned() });
    }
    let removed = match values {
        Values::Keep => Vec::new(),
        Values::Remove => read.iter().filter_map(|path| removable(path, live, &managers, ty)).collect(),
    };
    Ok(HandoverOutcome { managers, removed, notes: Vec::new() })
}

/// What happens to the values of released fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// They stay, without an owner.
    Keep,
    /// They are removed, unless another manager owns them.
    Remove,
}

/// Moves all fields that were applied on the client, and those of the managers named `from`, to the manager `to`, and
/// removes the annotation of client-side apply.
pub fn migrate(live: &LiveObject, from: &[String], to: &str, now: Timestamp) -> HandoverOutcome {
    let selected = |manager: &Manager| {
        let name = manager.name.as_str();
        CLIENT_SIDE_MANAGERS.contains(&name)
            || is_left_over(manager)
            || from.iter().any(|given| given == name)
    };
    let mut step = adopt_selected(live, to, now, selected);
    let annotations = live.object.at(["metadata", "annotations"]).and_then(Value::as_object);
    let Some(annotations) = annotations.filter(|annotations| annotations.contains(LAST_APPLIED)) else {
        return step;
    };
    let parent: Path = ["metadata", "annotations"].map(PathElement::field).into_iter().collect();
    let annotation = parent.with(PathElement::field(LAST_APPLIED));
    // Annotations that would be left empty are removed with it.
    let removed = if annotations.len() == 1 { parent } else { annotation };
    step.managers = apply::release(&step.managers, std::slice::from_ref(&removed), |_| true);
    step.removed.push(removed);
    step
}

/// Moves the fields that stand against a planned apply to its manager `to`, for the given causes: all declared fields of an owner that is
/// the same tool or its client-side past, the conflicting fields of the others. A field that the manifest leaves out stays where it is,
/// so that the apply removes nothing that it would not have removed before.
pub fn settle(
    live: &LiveObject,
    plan: &Plan,
    causes: &[ConflictCause],
    to: &str,
    now: Timestamp,
) -> HandoverOutcome {
    let mut step =
        HandoverOutcome { managers: live.managers.clone(), removed: Vec::new(), notes: Vec::new() };
    let wanted = plan.causes.iter().filter(|diagnosis| causes.contains(&diagnosis.cause));
    // What a controller reports is its own.
    for diagnosis in wanted.filter(|diagnosis| diagnosis.owner.subresource != "status") {
        let is_owner = |manager: &Manager| manager.identity().is(&diagnosis.owner.identity());
        let fields = match diagnosis.cause {
            ConflictCause::ClientSideApply | ConflictCause::SameTool => plan.declared.clone(),
            _ => diagnosis.paths.iter().fold(FieldSet::default(), |mut set, path| {
                set.insert(path);
                set
            }),
        };
        let state = LiveObject { object: live.object.clone(), managers: step.managers.clone() };
        let version = version_of(to, &state, is_owner);
        let own = identity(to, &version);
        let (mut moved, mut kept) = (FieldSet::default(), Vec::new());
        for manager in step.managers.iter() {
            let part = if is_owner(manager) { common(&manager.fields, &fields) } else { FieldSet::default() };
            if !part.is_empty() && manager.api_version != version.as_str() {
                let (name, recorded) = (&manager.name, &manager.api_version);
                step.notes
                    .push(format!("{name} keeps its fields: they are recorded at {recorded}, not {version}"));
            } else if !part.is_empty() {
                moved = moved.union(&part);
                let rest = manager.fields.difference(&part);
                kept.extend((!rest.is_empty()).then(|| Manager { fields: rest, ..manager.clone() }));
                continue;
            }
            kept.push(manager.clone());
        }
        if moved.is_empty() {
            continue;
        }
        let before = kept
            .iter()
            .position(|manager| manager.identity().is(&own) && manager.api_version == version.as_str());
        let fields = before.map(|at| kept.remove(at).fields).unwrap_or_default().union(&moved);
        kept.push(Manager {
            name: to.into(),
            operation: Operation::Apply,
            api_version: version.as_str().into(),
            subresource: "".into(),
            time: Some(now),
            fields,
        });
        step.managers = Managers::new(kept);
    }
    step
}

/// Returns the part of a set that another one declares: its fields, and the parents of these.
fn common(fields: &FieldSet, declared: &FieldSet) -> FieldSet {
    let nodes = fields.nodes().iter().filter_map(|node| {
        let other = declared.node(&node.element)?;
        let children = common(&node.children, &other.children);
        let is_some = node.included || !children.is_empty();
        is_some.then(|| Node { element: node.element.clone(), included: node.included, children })
    });
    FieldSet::from_nodes(nodes)
}

/// Reads paths, and returns them with the filter for the managers that own something there.
fn select<'a>(
    live: &LiveObject,
    ty: TypeRef<'_>,
    paths: &[String],
    from: &'a [String],
) -> Result<(Vec<Path>, impl Fn(&Manager) -> bool + use<'a>), OwnershipError> {
    let read = paths.iter().map(|text| live.field(text, ty)).collect::<Result<Vec<Path>, _>>()?;
    let wanted = read.clone();
    let selected = move |manager: &Manager| {
        (from.is_empty() || from.iter().any(|name| *name == manager.name.as_str()))
            && wanted.iter().any(|path| !manager.fields.with_prefix(path).is_empty())
    };
    if !live.managers.iter().any(&selected) {
        return Err(OwnershipError::NotOwned { paths: paths.join(", "), name: live.name().to_owned() });
    }
    Ok((read, selected))
}

/// Returns the version at which the new owner records its fields: its own if it exists, else that of the managers it
/// takes over from.
fn version_of(name: &str, live: &LiveObject, selected: impl Fn(&Manager) -> bool) -> String {
    let is_it = |manager: &&Manager| {
        manager.name == name && manager.operation == Operation::Apply && manager.subresource.is_empty()
    };
    let existing = live.managers.iter().find(is_it);
    let previous = || live.managers.iter().find(|manager| selected(manager));
    existing
        .or_else(previous)
        .map_or_else(|| live.api_version().to_owned(), |manager| manager.api_version.to_string())
}

fn identity<'a>(name: &'a str, api_version: &'a str) -> Identity<'a> {
    Identity { name, operation: Operation::Apply, api_version, subresource: "" }
}

/// Returns what to remove for a path without owners: the path itself, or the parents that would be left empty and that
/// have no owners either.
fn removable(path: &Path, live: &LiveObject, managers: &Managers, ty: TypeRef<'_>) -> Option<Path> {
    let owned = |path: &[PathElement]| managers.iter().any(|manager| manager.fields.node_at(path).is_some());
    path.resolve(&live.object, ty)?;
    if owned(path) {
        return None;
    }
    let mut removable = path.clone();
    while removable.len() > 1 {
        let parent = Path::from(removable.get(..removable.len() - 1).unwrap_or_default());
        let alone = match parent.resolve(&live.object, ty) {
            Some(Value::Object(object)) => object.len() == 1,
            Some(Value::Array(items)) => items.len() == 1,
            _ => false,
        };
        if !alone || owned(&parent) {
            break;
        }
        removable = parent;
    }
    Some(removable)
}
