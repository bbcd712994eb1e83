//! How the type of a field merges, in sentences: what holds it, and what its lists and maps do on the way there.

use tenure_fields::{Path, PathElement};
use tenure_schema::{Field, ListTopology, Relation, Type, TypeRef};

/// What the schema says about a path.
pub struct Rules {
    /// The part that is held as one: the path itself, or the whole around it.
    pub whole: Path,
    /// The type of the path in a few words.
    pub words: String,
    /// How it and what is around it merges.
    pub sentences: Vec<String>,
}

/// Looks a path up in its type.
pub fn rules(path: &Path, ty: TypeRef<'_>) -> Rules {
    let mut walk = Walk { of: ty, field: None, at: Path::default(), whole: None, sentences: Vec::new() };
    path.iter().for_each(|element| walk.step(element));
    walk.last();
    let words = walk.of.outline(0).to_string().trim_end().to_owned();
    if let Some(whole) = &walk.whole {
        let sentence = format!("{whole} is atomic: all of it is held and replaced as one, {path} with it");
        walk.sentences.push(sentence);
    }
    Rules { whole: walk.whole.unwrap_or_else(|| path.clone()), words, sentences: walk.sentences }
}

struct Walk<'s> {
    of: TypeRef<'s>,
    field: Option<&'s Field>,
    at: Path,
    whole: Option<Path>,
    sentences: Vec<String>,
}

impl Walk<'_> {
    fn step(&mut self, element: &PathElement) {
        if self.whole.is_none() && !self.at.is_empty() && is_atomic(self.of) {
            self.whole = Some(self.at.clone());
        }
        if self.whole.is_none() {
            self.tell();
        }
        match element {
            PathElement::Field(name) => {
                self.field = self.of.field(name);
                self.of = self.of.below(name).unwrap_or_else(TypeRef::untyped);
            }
            _ => {
                self.field = None;
                self.of = self.of.item().unwrap_or_else(TypeRef::untyped);
            }
        }
        self.at.push(element.clone());
    }

    /// Tells of the path itself.
    fn last(&mut self) {
        if self.whole.is_none() {
            self.tell();
            if is_atomic(self.of) {
                self.sentences.push(format!("{} is atomic: all of it is held and replaced as one", self.at));
            }
        }
    }

    /// Tells of a list or map, which decide how what is in them merges.
    fn tell(&mut self) {
        let at = &self.at;
        match self.of.get() {
            Type::List(list) => match &list.topology {
                ListTopology::Keyed(keys) => {
                    let keys: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
                    let keys = keys.join(" and ");
                    self.sentences.push(format!("{at} is a list whose entries are told apart by {keys}: each is held on its own"));
                }
                ListTopology::Set => {
                    self.sentences.push(format!("{at} is a set: each value is held on its own"));
                }
                ListTopology::Atomic => {}
            },
            Type::Map(map) if map.relation == Relation::Granular => {
                self.sentences.push(format!("{at} is a map: each entry is held on its own"));
            }
            _ => {}
        }
        if let (Some(field), Type::List(_)) = (self.field, self.of.get()) {
            let marks = &field.patch;
            self.sentences.push(match (&marks.merge_key, marks.strategy.merge) {
                (Some(key), true) => format!("a strategic merge patch merges {at} by {key}"),
                (None, true) => format!("a strategic merge patch adds to {at}"),
                (_, false) => format!("a strategic merge patch replaces {at}"),
            });
        }
    }
}

fn is_atomic(of: TypeRef<'_>) -> bool {
    match of.get() {
        Type::Struct(record) => record.relation == Relation::Atomic,
        Type::Map(map) => map.relation == Relation::Atomic,
        Type::List(list) => list.topology == ListTopology::Atomic,
        Type::Scalar(_) | Type::Untyped => false,
    }
}
