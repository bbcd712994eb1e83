//! An audit of merge keys: lists that are merged by a key that two valid entries may share. In such a list a
//! patch can lose an entry or change the wrong one, unless the client sends better keys.

use crate::{Field, Key, List, ListTopology, Schema, Type, TypeId, TypePath, TypeRef, TypeStep};
use std::{collections::HashMap, fmt};
use tenure_value::Text;

/// A merged list whose merge key does not identify its entries uniquely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeakKey {
    /// The name of the type that has the list; for an unnamed type, its kind and path.
    pub parent: Text,
    /// The field of the list.
    pub field: Text,
    /// The merge key.
    pub merge_key: Option<Text>,
    /// The list map keys that identify entries on apply; empty for atomic lists and sets.
    pub map_keys: Box<[Text]>,
    /// Better keys, if known.
    pub recommended_keys: Box<[Text]>,
    /// All known reasons why the key is weak.
    pub reasons: Vec<Weakness>,
}

/// Why a merge key is weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Weakness {
    /// The entries are objects without any key.
    NoKey,
    /// The list map keys contain more fields than the merge key.
    MapKeysSayMore,
    /// The list is atomic on apply, so the key is not declared to be unique.
    NotDeclaredUnique,
    /// The key is optional.
    KeyMayBeMissing,
    /// More fields than the list map keys are recommended.
    MapKeysAreWeakToo,
    /// Kubernetes accepts two entries with the same list map keys.
    Repeats,
}

/// Lists in which Kubernetes accepts two entries with the same list map keys. For containers of a pod this is
/// recorded; ephemeral containers follow the same rules; pull secrets are known from bug reports.
const REPEATS: [(&str, &str); 5] = [
    ("io.k8s.api.core.v1.Container", "env"),
    ("io.k8s.api.core.v1.Container", "ports"),
    ("io.k8s.api.core.v1.EphemeralContainer", "env"),
    ("io.k8s.api.core.v1.EphemeralContainer", "ports"),
    ("io.k8s.api.core.v1.PodSpec", "imagePullSecrets"),
];

/// Returns every merged list of the schema whose key does not identify its entries uniquely, by type and
/// field.
///
/// ```
/// use tenure_schema::{Schema, audit};
///
/// let weak = audit::weak_keys(Schema::builtin());
/// let ports = weak.iter().find(|weak| weak.parent.ends_with("ServiceSpec")).unwrap();
/// assert_eq!(ports.to_string(), "io.k8s.api.core.v1.ServiceSpec.ports by port, better port+protocol: list map keys are more specific");
/// ```
pub fn weak_keys(schema: &Schema) -> Vec<WeakKey> {
    let places = Places::of(schema);
    let mut weak: Vec<_> = schema
        .types()
        .flat_map(|ty| ty.fields().map(move |(field, below)| (ty, field, below)))
        .filter_map(|(parent, field, below)| match below.get() {
            Type::List(list) if field.patch.strategy.merge => examine(&places, parent, field, list, below),
            _ => None,
        })
        .collect();
    weak.sort_by(|a, b| (&a.parent, &a.field).cmp(&(&b.parent, &b.field)));
    weak
}

fn examine(places: &Places, parent: TypeRef, field: &Field, list: &List, ty: TypeRef) -> Option<WeakKey> {
    let parent = places.name(parent);
    let patch = &field.patch;
    let item = ty.slot(&list.item);
    let mut reasons = Vec::new();
    match (&patch.merge_key, &list.topology) {
        (Some(key), _) => reasons.extend(weaknesses(key, list, item)),
        // Without a merge key, all list map keys count.
        (None, ListTopology::Keyed(keys)) => {
            let missing = |key: &Key| key.default.is_none() && may_be_missing(&key.name, item);
            reasons.extend(keys.iter().any(missing).then_some(Weakness::KeyMayBeMissing));
        }
        (None, _) if matches!(item.get(), Type::Scalar(_)) => {}
        (None, _) => reasons.push(Weakness::NoKey),
    }
    if let ListTopology::Keyed(keys) = &list.topology
        && patch.recommended_keys.iter().any(|recommended| keys.iter().all(|key| key.name != *recommended))
    {
        reasons.push(Weakness::MapKeysAreWeakToo);
    }
    if REPEATS.contains(&(parent.as_str(), field.name.as_str())) {
        reasons.push(Weakness::Repeats);
    }
    (!reasons.is_empty()).then(|| WeakKey {
        parent,
        field: field.name.clone(),
        merge_key: patch.merge_key.clone(),
        map_keys: match &list.topology {
            ListTopology::Keyed(keys) => keys.iter().map(|key| key.name.clone()).collect(),
            ListTopology::Atomic | ListTopology::Set => Box::default(),
        },
        recommended_keys: patch.recommended_keys.clone(),
        reasons,
    })
}

fn weaknesses(key: &Text, list: &List, item: TypeRef) -> impl Iterator<Item = Weakness> {
    let declared = match &list.topology {
        ListTopology::Keyed(keys) if keys.iter().any(|other| other.name != *key) => {
            Some(Weakness::MapKeysSayMore)
        }
        ListTopology::Keyed(_) => None,
        ListTopology::Atomic | ListTopology::Set => Some(Weakness::NotDeclaredUnique),
    };
    declared.into_iter().chain(may_be_missing(key, item).then_some(Weakness::KeyMayBeMissing))
}

fn may_be_missing(key: &Text, item: TypeRef) -> bool {
    item.field(key).is_none_or(|field| !field.required && field.slot.default.is_none())
}

/// Names for unnamed types: a kind and the path from it.
struct Places(HashMap<TypeId, Text>);

impl Places {
    fn of(schema: &Schema) -> Places {
        let mut places = Places(schema.names().map(|(name, ty)| (ty.id(), name.clone())).collect());
        for (kind, ty) in schema.kinds() {
            places.walk(ty, kind, &TypePath::default());
        }
        places
    }

    fn walk(&mut self, ty: TypeRef, kind: &Text, path: &TypePath) {
        if self.0.contains_key(&ty.id()) && !path.steps().is_empty() {
            return;
        }
        self.0.entry(ty.id()).or_insert_with(|| Text::from(format!("{kind}{path}")));
        match ty.get() {
            Type::Struct(_) => {
                for (field, below) in ty.fields() {
                    self.walk(below, kind, &path.with(TypeStep::Field(field.name.clone())));
                }
            }
            Type::List(list) => self.walk(ty.slot(&list.item), kind, &path.with(TypeStep::Item)),
            Type::Map(map) => self.walk(ty.slot(&map.value), kind, &path.with(TypeStep::Value)),
            Type::Scalar(_) | Type::Untyped => {}
        }
    }

    fn name(&self, ty: TypeRef) -> Text {
        self.0.get(&ty.id()).cloned().unwrap_or_default()
    }
}

impl fmt::Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Weakness::NoKey => "no merge key",
            Weakness::MapKeysSayMore => "list map keys are more specific",
            Weakness::NotDeclaredUnique => "the key is not declared unique",
            Weakness::KeyMayBeMissing => "the key is optional",
            Weakness::MapKeysAreWeakToo => "list map keys are not unique either",
            Weakness::Repeats => "entries with equal list map keys are accepted",
        })
    }
}

impl WeakKey {
    /// Returns the keys that match entries, as `port` or `port+protocol`; `nothing` if there are none.
    pub fn keys(&self) -> String {
        match &self.merge_key {
            Some(key) => key.to_string(),
            None if self.map_keys.is_empty() => "nothing".to_owned(),
            None => self.map_keys.join("+"),
        }
    }
}

impl fmt::Display for WeakKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{} by {}", self.parent, self.field, self.keys())?;
        if !self.recommended_keys.is_empty() {
            write!(f, ", better {}", self.recommended_keys.join("+"))?;
        }
        let reasons: Vec<_> = self.reasons.iter().map(Weakness::to_string).collect();
        write!(f, ": {}", reasons.join("; "))
    }
}
