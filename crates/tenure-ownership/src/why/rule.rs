//! How the type of a field merges, in sentences: the unit in which it is owned, and the lists and maps on the way to it.

use tenure_fields::{Path, PathElement};
use tenure_schema::{Field, ListTopology, Relation, Type, TypeRef};

/// What the schema says about a path.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// The path that is owned as a unit: the path itself, or an atomic parent.
    pub unit: Path,
    /// The type of the path in a few words.
    pub type_name: String,
    /// How the path and its parents merge.
    pub sentences: Vec<String>,
}

/// Looks a path up in its type.
pub(super) fn rules(path: &Path, ty: TypeRef<'_>) -> Rules {
    let mut walk = Walk { ty, field: None, at: Path::default(), unit: None, sentences: Vec::new() };
    path.iter().for_each(|element| walk.step(element));
    walk.finish();
    let type_name = walk.ty.outline(0).to_string().trim_end().to_owned();
    if let Some(unit) = &walk.unit {
        let sentence = format!("{unit} is atomic: it is owned and replaced as a unit, including {path}");
        walk.sentences.push(sentence);
    }
    Rules { unit: walk.unit.unwrap_or_else(|| path.clone()), type_name, sentences: walk.sentences }
}

struct Walk<'s> {
    ty: TypeRef<'s>,
    field: Option<&'s Field>,
    at: Path,
    unit: Option<Path>,
    sentences: Vec<String>,
}

impl Walk<'_> {
    fn step(&mut self, element: &PathElement) {
        if self.unit.is_none() && !self.at.is_empty() && is_atomic(self.ty) {
            self.unit = Some(self.at.clone());
        }
        if self.unit.is_none() {
            self.describe();
        }
        match element {
            PathElement::Field(name) => {
                self.field = self.ty.field(name);
                self.ty = self.ty.below(name).unwrap_or_else(TypeRef::untyped);
            }
            _ => {
                self.field = None;
                self.ty = self.ty.item().unwrap_or_else(TypeRef::untyped);
            }
        }
        self.at.push(element.clone());
    }

    /// Describes the path itself.
    fn finish(&mut self) {
        if self.unit.is_none() {
            self.describe();
            if is_atomic(self.ty) {
                self.sentences.push(format!("{} is atomic: it is owned and replaced as a unit", self.at));
            }
        }
    }

    /// Describes a list or map, which decides how its entries merge.
    fn describe(&mut self) {
        let at = &self.at;
        match self.ty.get() {
            Type::List(list) => match &list.topology {
                ListTopology::Keyed(keys) => {
                    let keys: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
                    let keys = keys.join(" and ");
                    self.sentences
                        .push(format!("{at} is a list keyed by {keys}: each entry is owned separately"));
                }
                ListTopology::Set => {
                    self.sentences.push(format!("{at} is a set: each value is owned separately"));
                }
                ListTopology::Atomic => {}
            },
            Type::Map(map) if map.relation == Relation::Granular => {
                self.sentences.push(format!("{at} is a map: each entry is owned separately"));
            }
            _ => {}
        }
        if let (Some(field), Type::List(_)) = (self.field, self.ty.get()) {
            let marks = &field.patch;
            self.sentences.push(match (&marks.merge_key, marks.strategy.merge) {
                (Some(key), true) => format!("a strategic merge patch merges {at} by {key}"),
                (None, true) => format!("a strategic merge patch adds to {at}"),
                (_, false) => format!("a strategic merge patch replaces {at}"),
            });
        }
    }
}

fn is_atomic(ty: TypeRef<'_>) -> bool {
    match ty.get() {
        Type::Struct(ty) => ty.relation == Relation::Atomic,
        Type::Map(map) => map.relation == Relation::Atomic,
        Type::List(list) => list.topology == ListTopology::Atomic,
        Type::Scalar(_) | Type::Untyped => false,
    }
}
