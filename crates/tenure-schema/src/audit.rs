//! An audit of merge keys: which lists are merged by a key that two legal entries may share. Such a list
//! is where a patch loses an entry or changes the wrong one, unless the client sends better keys.

use crate::{Field, Key, List, ListTopology, Schema, Type, TypeId, TypePath, TypeRef, TypeStep};
use std::{collections::HashMap, fmt};
use tenure_value::Text;

/// A merged list whose key cannot tell two legal entries apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeakKey {
    /// The type that has the list, by its name, or by a kind and the way to it where it has none.
    pub parent: Text,
    /// The list's field.
    pub field: Text,
    /// The key it is merged by.
    pub merge_key: Option<Text>,
    /// The keys by which entries are told apart on apply; none where the list is one value or a set.
    pub map_keys: Box<[Text]>,
    /// Better keys, if there are some.
    pub recommended_keys: Box<[Text]>,
    /// Why the key is weak, all that is known.
    pub reasons: Vec<Weakness>,
}

/// Why a merge key is weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Weakness {
    /// The entries are objects and there is no key at all.
    NoKey,
    /// On apply, entries are told apart by more fields than the key.
    MapKeysSayMore,
    /// On apply, the list is one value: nothing says that a key stands for one entry only.
    NotDeclaredUnique,
    /// An entry may be without the key.
    KeyMayBeMissing,
    /// More fields than the map keys are recommended.
    MapKeysAreWeakToo,
    /// Kubernetes accepts two entries with the same map keys.
    Repeats,
}

/// Lists in which Kubernetes accepts two entries with the same map keys. Of the containers of a pod it is
/// recorded; ephemeral ones are checked by the same rules; pull secrets are known from reports.
const REPEATS: [(&str, &str); 5] = [
    ("io.k8s.api.core.v1.Container", "env"),
    ("io.k8s.api.core.v1.Container", "ports"),
    ("io.k8s.api.core.v1.EphemeralContainer", "env"),
    ("io.k8s.api.core.v1.EphemeralContainer", "ports"),
    ("io.k8s.api.core.v1.PodSpec", "imagePullSecrets"),
];

/// Lists every merged list of the schema whose key cannot tell two legal entries apart, by type and field.
///
/// ```
/// use tenure_schema::{Schema, audit};
///
/// let weak = audit::weak_keys(Schema::builtin());
/// let ports = weak.iter().find(|weak| weak.parent.ends_with("ServiceSpec")).unwrap();
/// assert_eq!(ports.to_string(), "io.k8s.api.core.v1.ServiceSpec.ports by port, better port+protocol: map keys say more");
/// ```
pub fn weak_keys(schema: &Schema) -> Vec<WeakKey> {
    let places = Places::of(schema);
    let mut weak: Vec<_> = schema
        .types()
        .flat_map(|of| of.fields().map(move |(field, below)| (of, field, below)))
        .filter_map(|(parent, field, below)| match below.get() {
            Type::List(list) if field.patch.strategy.merge => examine(&places, parent, field, list, below),
            _ => None,
        })
        .collect();
    weak.sort_by(|a, b| (&a.parent, &a.field).cmp(&(&b.parent, &b.field)));
    weak
}

fn examine(places: &Places, parent: TypeRef, field: &Field, list: &List, of: TypeRef) -> Option<WeakKey> {
    let parent = places.name(parent);
    let patch = &field.patch;
    let item = of.slot(&list.item);
    let mut reasons = Vec::new();
    match (&patch.merge_key, &list.topology) {
        (Some(key), _) => reasons.extend(weaknesses(key, list, item)),
        // All of the list's own keys count where there is no merge key.
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

/// How types are called that have no name: by a kind and the way from it.
struct Places(HashMap<TypeId, Text>);

impl Places {
    fn of(schema: &Schema) -> Places {
        let mut places = Places(schema.names().map(|(name, of)| (of.id(), name.clone())).collect());
        for (kind, of) in schema.kinds() {
            places.walk(of, kind, &TypePath::default());
        }
        places
    }

    fn walk(&mut self, of: TypeRef, kind: &Text, path: &TypePath) {
        if self.0.contains_key(&of.id()) && !path.steps().is_empty() {
            return;
        }
        self.0.entry(of.id()).or_insert_with(|| Text::from(format!("{kind}{path}")));
        match of.get() {
            Type::Struct(_) => {
                for (field, below) in of.fields() {
                    self.walk(below, kind, &path.with(TypeStep::Field(field.name.clone())));
                }
            }
            Type::List(list) => self.walk(of.slot(&list.item), kind, &path.with(TypeStep::Item)),
            Type::Map(map) => self.walk(of.slot(&map.value), kind, &path.with(TypeStep::Value)),
            Type::Scalar(_) | Type::Untyped => {}
        }
    }

    fn name(&self, of: TypeRef) -> Text {
        self.0.get(&of.id()).cloned().unwrap_or_default()
    }
}

impl fmt::Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Weakness::NoKey => "there is no key",
            Weakness::MapKeysSayMore => "map keys say more",
            Weakness::NotDeclaredUnique => "nothing says that the key is unique",
            Weakness::KeyMayBeMissing => "an entry may be without the key",
            Weakness::MapKeysAreWeakToo => "map keys are as weak",
            Weakness::Repeats => "entries with the same map keys are accepted",
        })
    }
}

impl WeakKey {
    /// Returns what entries are matched by, as `port` or `port+protocol`; `nothing` where there is no key.
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
