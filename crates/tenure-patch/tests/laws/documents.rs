//! Random documents of any type: few names and values, so that two documents overlap; keys that
//! are unique in a list, as its type requires; and changes to a document, as people and servers make them.

use tenure_schema::{ListTopology, ScalarKind, Type, TypeRef};
use tenure_value::{Object, Text, Value};

/// Kinds with every strategy: lists by one and by several keys, sets, replaced lists and maps, unions.
pub const KINDS: [(&str, &str); 12] = [
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "Node"),
    ("v1", "ConfigMap"),
    ("v1", "ServiceAccount"),
    ("v1", "PersistentVolume"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "CronJob"),
    ("networking.k8s.io/v1", "Ingress"),
    ("policy/v1", "PodDisruptionBudget"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
];

/// A random number generator with a seed.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// Returns a number below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}

/// Generates a document of a type.
pub fn document(ty: TypeRef<'_>, chance: &mut Chance) -> Value {
    value(ty, chance, 0)
}

fn value(ty: TypeRef<'_>, chance: &mut Chance, depth: usize) -> Value {
    match ty.get() {
        Type::Scalar(scalar) => match scalar.kind {
            ScalarKind::Boolean => Value::Bool(chance.one_in(2)),
            ScalarKind::Integer | ScalarKind::Number => Value::from(chance.below(4) as u32),
            ScalarKind::IntOrString if chance.one_in(2) => Value::from(chance.below(3) as u32),
            _ => Value::from(["a", "b", "c"][chance.below(3)]),
        },
        Type::Struct(structure) => {
            let often = 2 + depth;
            let mut fields: Vec<(Text, Value)> = Vec::new();
            for field in &structure.fields {
                let interesting = field.patch.strategy.merge || field.patch.strategy.retain_keys;
                let chosen = if interesting {
                    chance.one_in(2)
                } else {
                    chance.one_in(often + structure.fields.len() / 6)
                };
                if chosen && depth < 9 {
                    fields.push((field.name.clone(), value(ty.slot(&field.slot), chance, depth + 1)));
                }
            }
            Value::object(fields)
        }
        Type::Map(map) => {
            let below = ty.slot(&map.value);
            let names = ["k", "l", "m", "n"].into_iter().filter(|_| chance.one_in(2)).collect::<Vec<_>>();
            Value::object(
                names.into_iter().map(|name| (name, value(below, chance, depth + 1))).collect::<Vec<_>>(),
            )
        }
        Type::List(list) => {
            let below = ty.slot(&list.item);
            let mut items: Vec<Value> = Vec::new();
            for _ in 0..chance.below(if depth < 6 { 5 } else { 3 }) {
                items.push(value(below, chance, depth + 1));
            }
            if let ListTopology::Set = list.topology {
                once(&mut items);
            }
            Value::array(items)
        }
        Type::Untyped => Value::object([("x", Value::from(chance.below(3) as u32))]),
    }
}

fn once(items: &mut Vec<Value>) {
    let mut seen: Vec<Value> = Vec::new();
    items.retain(|item| {
        let new = !seen.contains(item);
        seen.push(item.clone());
        new
    });
}

/// The keys that are unique among the entries of a list.
#[derive(Clone, Copy, PartialEq)]
pub enum Unique {
    /// The merge key alone.
    MergeKey,
    /// The recommended keys together.
    Recommended,
}

/// Makes the document valid for its type: every entry has its keys, and they are unique.
pub fn valid(document: &Value, ty: TypeRef<'_>, unique: Unique, chance: &mut Chance) -> Value {
    let Value::Object(fields) = document else { return document.clone() };
    Value::object(fields.iter().map(|(name, field)| {
        let Some(field_type) = ty.field(name) else { return (name.clone(), field.clone()) };
        let below = ty.slot(&field_type.slot);
        let item = below.item().unwrap_or(TypeRef::untyped());
        let Value::Array(list) = field else { return (name.clone(), valid(field, below, unique, chance)) };
        let mut items: Vec<Value> = list.iter().map(|entry| valid(entry, item, unique, chance)).collect();
        match &field_type.patch.merge_key {
            Some(key) if field_type.patch.strategy.merge => {
                let mut keys = vec![key.clone()];
                if unique == Unique::Recommended
                    && let Type::List(list) = below.get()
                {
                    keys.extend(match &list.topology {
                        ListTopology::Keyed(declared) => {
                            declared.iter().map(|key| key.name.clone()).filter(|name| name != key).collect()
                        }
                        _ => Vec::new(),
                    });
                }
                items = items.iter().map(|entry| keyed(entry, item, key, chance)).collect();
                distinct(&mut items, &keys);
            }
            None if field_type.patch.strategy.merge => once(&mut items),
            _ => {}
        }
        (name.clone(), Value::array(items))
    }))
}

fn keyed(entry: &Value, ty: TypeRef<'_>, key: &Text, chance: &mut Chance) -> Value {
    let entry = entry.as_object().cloned().unwrap_or_default();
    if entry.get(key).is_some_and(|value| !value.is_null()) {
        return entry.into();
    }
    let below = ty.below(key).unwrap_or(TypeRef::untyped());
    let key_value = match below.get() {
        Type::Scalar(_) => value(below, chance, 0),
        _ => Value::from("a"),
    };
    entry.with(key.clone(), key_value).into()
}

fn distinct(items: &mut Vec<Value>, keys: &[Text]) {
    let identity =
        |item: &Value| -> Vec<Option<Value>> { keys.iter().map(|key| item.get(key).cloned()).collect() };
    let mut seen: Vec<Vec<Option<Value>>> = Vec::new();
    items.retain(|item| {
        let identity = identity(item);
        let new = !seen.contains(&identity);
        seen.push(identity);
        new
    });
}

/// Changes a document randomly: fields are removed, scalars change, lists are shuffled, parts come from another document.
pub fn changed(document: &Value, other: &Value, chance: &mut Chance) -> Value {
    match (document, other) {
        (Value::Object(fields), Value::Object(others)) => {
            let mut kept = Object::default();
            for (name, field) in fields {
                match (chance.below(8), others.get(name)) {
                    (0, _) => {}
                    (1, Some(theirs)) => kept = kept.with(name.clone(), theirs.clone()),
                    (2..5, Some(theirs)) => kept = kept.with(name.clone(), changed(field, theirs, chance)),
                    _ => kept = kept.with(name.clone(), field.clone()),
                }
            }
            for (name, field) in others {
                if !fields.contains(name) && chance.one_in(4) {
                    kept = kept.with(name.clone(), field.clone());
                }
            }
            kept.into()
        }
        (Value::Array(items), Value::Array(others)) => {
            let mut items: Vec<Value> = items.to_vec();
            items.retain(|_| !chance.one_in(5));
            items.extend(others.iter().filter(|_| chance.one_in(3)).cloned());
            if chance.one_in(3) {
                for at in (1..items.len()).rev() {
                    items.swap(at, chance.below(at + 1));
                }
            }
            Value::array(items.into_iter().map(|item| match others.first() {
                Some(other) if chance.one_in(3) => changed(&item, other, chance),
                _ => item,
            }))
        }
        _ => other.clone(),
    }
}
