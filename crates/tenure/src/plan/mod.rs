//! What a server-side apply would do, before it does it: [`Plan`] is the answer for one object, made from a dry run of
//! a server ([`live`]) or worked out from files ([`offline`]), and shown by [`render`].

mod draft;
mod findings;
pub mod live;
pub mod offline;
pub mod render;

pub use draft::{Draft, Target, word};
pub use findings::{CLIENT_SIDE, Lingering, Zero};

use crate::live::LiveObject;
use tenure_apply::{LAST_APPLIED, Managers, Owner, OwnershipChange, State, ownership, ownership_changes};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// What an apply would do to one object.
pub struct Plan {
    /// Which object.
    pub target: Target,
    /// The object as it is; nothing where it does not exist.
    pub before: Option<LiveObject>,
    /// What would come of it.
    pub verdict: Verdict,
    /// Zeros that would be claimed.
    pub zeros: Vec<Zero>,
    /// What is left out and stays.
    pub lingering: Vec<Lingering>,
    /// What the server warns of.
    pub warnings: Vec<String>,
    /// What the manifest declares.
    pub declared: FieldSet,
    /// The type of the object.
    pub ty: TypeRef<'static>,
}

/// What would come of an apply.
pub enum Verdict {
    /// It would be carried out, with this result.
    Applied(LiveObject),
    /// Others would have to be asked for these; with force, this would come of it.
    Contested(Vec<Contest>, Option<LiveObject>),
    /// It would be refused.
    Refused(String),
}

/// A field that others hold and that would change.
#[derive(Clone, Debug, PartialEq)]
pub struct Contest {
    /// The field.
    pub path: Path,
    /// Everyone who holds it.
    pub holders: Vec<Owner>,
    /// What stands there.
    pub live: Option<Value>,
    /// What would stand there.
    pub proposed: Option<Value>,
}

/// What happens to an object, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Nothing.
    Unchanged,
    /// It comes to be.
    Create,
    /// Its values stay, its holders change.
    Holders,
    /// It changes.
    Change,
    /// It has conflicts.
    Conflict,
    /// It is refused.
    Refused,
}

impl Plan {
    /// Returns what happens in one word.
    pub fn action(&self) -> Action {
        match (&self.verdict, &self.before) {
            (Verdict::Refused(_), _) => Action::Refused,
            (Verdict::Contested(..), _) => Action::Conflict,
            (Verdict::Applied(_), None) => Action::Create,
            (Verdict::Applied(after), Some(before)) => {
                let differs = !differences(Some(&before.object), &after.object, self.ty).is_empty();
                match (differs, before.managers.same_fields(&after.managers)) {
                    (true, _) => Action::Change,
                    (false, false) => Action::Holders,
                    (false, true) => Action::Unchanged,
                }
            }
        }
    }

    /// Adds what the server warned of.
    pub fn with_warnings(mut self, warnings: Vec<String>) -> Plan {
        self.warnings.extend(warnings);
        self
    }

    /// Returns the object as it would be, with force where there are conflicts.
    pub fn after(&self) -> Option<&LiveObject> {
        match &self.verdict {
            Verdict::Applied(after) => Some(after),
            Verdict::Contested(_, after) => after.as_ref(),
            Verdict::Refused(_) => None,
        }
    }

    /// Returns what becomes of the values.
    pub fn values(&self) -> Vec<Difference> {
        let before = self.before.as_ref().map(|before| &before.object);
        self.after().map(|after| differences(before, &after.object, self.ty)).unwrap_or_default()
    }

    /// Returns what becomes of the managers.
    pub fn holders(&self) -> Vec<OwnershipChange> {
        let state =
            |live: &LiveObject| State { object: live.object.clone(), managers: live.managers.clone() };
        let Some(after) = self.after() else { return Vec::new() };
        let nothing = || State { object: Value::Object(Default::default()), managers: Managers::default() };
        let before = self.before.as_ref().map_or_else(nothing, state);
        ownership_changes(&before, &state(after), self.ty)
            .into_iter()
            .filter(|change| !change.is_empty())
            .collect()
    }
}

/// A value that is not what it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where.
    pub path: Path,
    /// What stood there.
    pub before: Option<Value>,
    /// What stands there.
    pub after: Option<Value>,
}

/// What tells objects apart, what the server keeps for itself and changes with every write, and what tells of the way an
/// object is applied and not of the object.
const NO_CHANGE: [&[&str]; 10] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "resourceVersion"],
    &["metadata", "generation"],
    &["metadata", "uid"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "annotations", LAST_APPLIED],
];

/// Returns every leaf that differs between two states of an object.
pub fn differences(before: Option<&Value>, after: &Value, ty: TypeRef<'_>) -> Vec<Difference> {
    let nobody = Managers::default();
    let leaves = |object: &Value| {
        let leaves = ownership(object, &nobody, ty).into_iter().map(|leaf| (leaf.path, leaf.value));
        let mut leaves: Vec<(Path, Value)> = leaves.filter(|(path, _)| !is_no_change(path)).collect();
        leaves.sort_by(|(a, _), (b, _)| a.cmp(b));
        leaves
    };
    let before = before.map(leaves).unwrap_or_default();
    let (mut before, mut after) = (before.into_iter().peekable(), leaves(after).into_iter().peekable());
    let mut found = Vec::new();
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return found,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some((a, _)), Some((b, _))) => a.cmp(b),
        };
        let was = if order.is_le() { before.next() } else { None };
        let is = if order.is_ge() { after.next() } else { None };
        match (was, is) {
            (Some((_, was)), Some((_, is))) if was.same(&is) => {}
            (was, is) => {
                let path = was.as_ref().or(is.as_ref()).map(|(path, _)| path.clone()).unwrap_or_default();
                let value = |side: Option<(Path, Value)>| side.map(|(_, value)| value);
                found.push(Difference { path, before: value(was), after: value(is) });
            }
        }
    }
}

fn is_no_change(path: &Path) -> bool {
    NO_CHANGE.iter().any(|names| leads_along(path, names))
}

/// Whether a path is made of just these names.
pub fn leads_along(path: &Path, names: &[&str]) -> bool {
    let is = |(element, name): (&PathElement, &&str)| matches!(element, PathElement::Field(field) if field == *name);
    path.len() == names.len() && path.iter().zip(names).all(is)
}

/// Returns everyone who holds a path.
pub fn holders_of(managers: &Managers, path: &Path) -> Vec<Owner> {
    managers.iter().filter(|manager| manager.fields.has(path)).map(Owner::from).collect()
}
