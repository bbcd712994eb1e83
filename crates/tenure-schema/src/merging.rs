//! How the lists and maps of a type merge on apply, in words, and what a change of the type changes about it.

use crate::{Key, ListTopology, Relation, Type, TypeId, TypePath, TypeRef, TypeStep};
use std::{collections::HashSet, fmt};

/// How a list or a map merges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It is owned and replaced as a whole.
    Whole,
    /// Its items are owned one by one.
    Set,
    /// Its entries are identified by keys and owned part by part.
    Keyed(Box<[Key]>),
    /// Its fields are owned one by one.
    ByField,
}

impl Manner {
    /// Returns how the values of a type merge; nothing for scalars, and where the value alone decides.
    pub fn of(ty: TypeRef<'_>) -> Option<Manner> {
        let by_relation = |relation| match relation {
            Relation::Atomic => Manner::Whole,
            Relation::Granular => Manner::ByField,
        };
        Some(match ty.get() {
            Type::Struct(of) => by_relation(of.relation),
            Type::Map(of) => by_relation(of.relation),
            Type::List(of) => match &of.topology {
                ListTopology::Atomic => Manner::Whole,
                ListTopology::Set => Manner::Set,
                ListTopology::Keyed(keys) => Manner::Keyed(keys.clone()),
            },
            Type::Scalar(_) | Type::Untyped => return None,
        })
    }
}

impl fmt::Display for Manner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Manner::Whole => f.write_str("replaced as a whole"),
            Manner::Set => f.write_str("merged as a set"),
            Manner::ByField => f.write_str("merged by field"),
            Manner::Keyed(keys) => keys.iter().enumerate().try_for_each(|(at, key)| {
                write!(f, "{}{}", if at == 0 { "merged by " } else { " and " }, key.name)?;
                key.default.as_ref().map_or(Ok(()), |default| write!(f, " ({default} where absent)"))
            }),
        }
    }
}

/// A list or a map that merges in another way under a new type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it stands.
    pub path: TypePath,
    /// How it merged.
    pub before: Manner,
    /// How it merges.
    pub after: Manner,
}

impl Change {
    /// Returns the consequence for those who own it or parts of it.
    pub fn consequence(&self) -> &'static str {
        match (&self.before, &self.after) {
            (_, Manner::Whole) => {
                "owners of a part own all of it from their next apply, and two of them conflict"
            }
            (Manner::Whole, _) => {
                "the owner of all of it owns every part that exists; parts that others add stay"
            }
            _ => {
                "entries are identified by other fields; ownership by the old keys is replaced at the next apply"
            }
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} was {} and is {} from now on: {}",
            self.path,
            self.before,
            self.after,
            self.consequence()
        )
    }
}

/// Returns every list and map of both types that merges in another way under the new one, each once, where it is
/// met first.
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
/// assert!(changes[0].to_string().starts_with(".tags was replaced as a whole and is merged as a set from now on"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn changes(old: TypeRef<'_>, new: TypeRef<'_>) -> Vec<Change> {
    let mut comparison = Comparison { seen: HashSet::new(), changes: Vec::new() };
    comparison.types(old, new, &TypePath::default());
    comparison.changes
}

struct Comparison {
    /// Pairs of types met before: types may contain themselves.
    seen: HashSet<(TypeId, TypeId)>,
    changes: Vec<Change>,
}

impl Comparison {
    fn types(&mut self, old: TypeRef<'_>, new: TypeRef<'_>, path: &TypePath) {
        if is_leaf(old) && is_leaf(new) || !self.seen.insert((old.id(), new.id())) {
            return;
        }
        if let Some((before, after)) = manners(old, new)
            && before != after
        {
            self.changes.push(Change { path: path.clone(), before, after });
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

fn is_leaf(of: TypeRef<'_>) -> bool {
    matches!(of.get(), Type::Scalar(_) | Type::Untyped)
}

/// Returns how the values merge that both types allow; where one type says nothing, the value decides: an object
/// merges by field, a list is replaced.
fn manners(old: TypeRef<'_>, new: TypeRef<'_>) -> Option<(Manner, Manner)> {
    let deduced = |typed: TypeRef<'_>| match typed.get() {
        Type::List(_) => Manner::Whole,
        _ => Manner::ByField,
    };
    let is_list = |of: TypeRef<'_>| matches!(of.get(), Type::List(_));
    match (Manner::of(old), Manner::of(new)) {
        (Some(before), Some(after)) if is_list(old) == is_list(new) => Some((before, after)),
        (Some(before), None) if matches!(new.get(), Type::Untyped) => Some((before, deduced(old))),
        (None, Some(after)) if matches!(old.get(), Type::Untyped) => Some((deduced(new), after)),
        _ => None,
    }
}
