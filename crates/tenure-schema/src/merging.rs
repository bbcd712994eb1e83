//! How the lists and maps of a type merge on apply, and how a change of the type affects this.

use crate::{Key, ListTopology, Relation, Type, TypeId, TypePath, TypeRef, TypeStep};
use std::{collections::HashSet, fmt};

/// How a list or map merges on apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeStrategy {
    /// Owned and replaced as a whole.
    Atomic,
    /// Items are owned individually.
    Set,
    /// Entries are identified by keys and owned field by field.
    Keyed(Box<[Key]>),
    /// Fields are owned individually.
    Granular,
}

impl MergeStrategy {
    /// Returns how the values of a type merge; `None` for scalars, and if it depends on the value.
    pub fn of(ty: TypeRef<'_>) -> Option<MergeStrategy> {
        let by_relation = |relation| match relation {
            Relation::Atomic => MergeStrategy::Atomic,
            Relation::Granular => MergeStrategy::Granular,
        };
        Some(match ty.get() {
            Type::Struct(structure) => by_relation(structure.relation),
            Type::Map(map) => by_relation(map.relation),
            Type::List(list) => match &list.topology {
                ListTopology::Atomic => MergeStrategy::Atomic,
                ListTopology::Set => MergeStrategy::Set,
                ListTopology::Keyed(keys) => MergeStrategy::Keyed(keys.clone()),
            },
            Type::Scalar(_) | Type::Untyped => return None,
        })
    }
}

impl fmt::Display for MergeStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MergeStrategy::Atomic => f.write_str("replaced as a whole"),
            MergeStrategy::Set => f.write_str("merged as a set"),
            MergeStrategy::Granular => f.write_str("merged by field"),
            MergeStrategy::Keyed(keys) => keys.iter().enumerate().try_for_each(|(at, key)| {
                write!(f, "{}{}", if at == 0 { "merged by " } else { " and " }, key.name)?;
                key.default.as_ref().map_or(Ok(()), |default| write!(f, " ({default} where absent)"))
            }),
        }
    }
}

/// A list or map that merges differently under a new type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeChange {
    /// Its path.
    pub path: TypePath,
    /// How it merged.
    pub before: MergeStrategy,
    /// How it merges.
    pub after: MergeStrategy,
}

impl MergeChange {
    /// Returns the consequence for the owners.
    pub fn consequence(&self) -> &'static str {
        match (&self.before, &self.after) {
            (_, MergeStrategy::Atomic) => {
                "owners of a part will own all of it after their next apply, and two of them will conflict"
            }
            (MergeStrategy::Atomic, _) => {
                "the owner of all of it will own every existing part; parts added by others are kept"
            }
            _ => {
                "entries are identified by other fields; ownership by the old keys is replaced on the next apply"
            }
        }
    }
}

impl fmt::Display for MergeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was {} and is now {}: {}", self.path, self.before, self.after, self.consequence())
    }
}

/// Returns every list and map of both types that merges differently under the new one, each once.
///
/// ```
/// use tenure_schema::{crd, merging};
///
/// let widget = |marks: &str| crd::compile(&format!(
///     r#"{{"spec": {{"group": "g", "names": {{"kind": "K"}}, "versions": [{{"name": "v1", "schema": {{"openAPIV3Schema":
///         {{"type": "object", "properties": {{"tags": {{"type": "array", "items": {{"type": "string"}}{marks}}}}}}}}}}}]}}}}"#
/// ).parse()?).map_err(Box::<dyn std::error::Error>::from);
/// let (old, new) = (widget("")?, widget(r#", "x-kubernetes-list-type": "set""#)?);
/// let kind = |schema| tenure_schema::Schema::kind(schema, "g/v1", "K").ok_or("no kind");
/// let changes = merging::changes(kind(&old)?, kind(&new)?);
/// assert!(changes[0].to_string().starts_with(".tags was replaced as a whole and is now merged as a set"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn changes(old: TypeRef<'_>, new: TypeRef<'_>) -> Vec<MergeChange> {
    let mut comparison = Comparison { seen: HashSet::new(), changes: Vec::new() };
    comparison.types(old, new, &TypePath::default());
    comparison.changes
}

struct Comparison {
    /// Visited pairs of types, since types may be recursive.
    seen: HashSet<(TypeId, TypeId)>,
    changes: Vec<MergeChange>,
}

impl Comparison {
    fn types(&mut self, old: TypeRef<'_>, new: TypeRef<'_>, path: &TypePath) {
        if is_leaf(old) && is_leaf(new) || !self.seen.insert((old.id(), new.id())) {
            return;
        }
        if let Some((before, after)) = strategies(old, new)
            && before != after
        {
            self.changes.push(MergeChange { path: path.clone(), before, after });
        }
        match (old.get(), new.get()) {
            (Type::List(_), _) | (_, Type::List(_)) => {
                if let (Some(old), Some(new)) = (old.item(), new.item()) {
                    self.types(old, new, &path.with(TypeStep::Item));
                }
            }
            (Type::Struct(_), _) => self.fields(old, old, new, path),
            (_, Type::Struct(_)) => self.fields(new, old, new, path),
            (Type::Map(_), _) | (_, Type::Map(_)) => {
                if let (Some(old), Some(new)) = (old.below(""), new.below("")) {
                    self.types(old, new, &path.with(TypeStep::Value));
                }
            }
            _ => {}
        }
    }

    /// Compares the fields that `named` declares.
    fn fields(&mut self, named: TypeRef<'_>, old: TypeRef<'_>, new: TypeRef<'_>, path: &TypePath) {
        for (field, _) in named.fields() {
            if let (Some(old), Some(new)) = (old.below(&field.name), new.below(&field.name)) {
                self.types(old, new, &path.with(TypeStep::Field(field.name.clone())));
            }
        }
    }
}

fn is_leaf(ty: TypeRef<'_>) -> bool {
    matches!(ty.get(), Type::Scalar(_) | Type::Untyped)
}

/// Returns how values of both types merge. If one type is unknown, it depends on the value: an object merges
/// by field, a list is replaced.
fn strategies(old: TypeRef<'_>, new: TypeRef<'_>) -> Option<(MergeStrategy, MergeStrategy)> {
    let deduced = |typed: TypeRef<'_>| match typed.get() {
        Type::List(_) => MergeStrategy::Atomic,
        _ => MergeStrategy::Granular,
    };
    let is_list = |ty: TypeRef<'_>| matches!(ty.get(), Type::List(_));
    match (MergeStrategy::of(old), MergeStrategy::of(new)) {
        (Some(before), Some(after)) if is_list(old) == is_list(new) => Some((before, after)),
        (Some(before), None) if matches!(new.get(), Type::Untyped) => Some((before, deduced(old))),
        (None, Some(after)) if matches!(old.get(), Type::Untyped) => Some((deduced(new), after)),
        _ => None,
    }
}
