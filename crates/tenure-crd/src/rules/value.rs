//! Values that rules compute with. Parts of the document are looked at where they stand, together with their schema:
//! a rule that reads one field of a large object copies nothing.

use super::escape::unescape;
use crate::{format, node::Additional, node::Identity, node::ListKind, node::Node, node::NodeType};
use kube_cel::cel;
use std::sync::Arc;
use tenure_meta::base64;
use tenure_value::{Text, Value};

/// A value while a rule runs.
#[derive(Clone, Debug)]
pub enum Val<'v> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(Text),
    Bytes(Arc<[u8]>),
    /// An object or a list of the document.
    Part(&'v Value, Option<&'v Node>),
    List(Arc<Vec<Val<'v>>>),
    Map(Arc<Vec<(Val<'v>, Val<'v>)>>),
    Optional(Option<Box<Val<'v>>>),
    /// Times, durations, addresses, amounts and the like, which only functions look into.
    Foreign(cel::Value),
    /// Who can be asked what somebody may do, with the question so far, and the answer: there are no roles, and whoever
    /// is let in may do everything, so that it is always the same.
    Authority,
}

impl<'v> Val<'v> {
    /// Returns a value of which no schema says anything.
    pub fn untyped(value: &'v Value) -> Val<'v> {
        Val::of(value, None)
    }

    /// Takes a part of the document, as its schema says it is to be understood.
    pub fn of(value: &'v Value, node: Option<&'v Node>) -> Val<'v> {
        match value {
            Value::Null => Val::Null,
            Value::Bool(flag) => Val::Bool(*flag),
            Value::Int(number) if node.is_some_and(|node| node.of == NodeType::Number) => {
                Val::Double(*number as f64)
            }
            Value::Int(number) => Val::Int(*number),
            Value::UInt(number) if node.is_some_and(|node| node.of == NodeType::Number) => {
                Val::Double(number.get() as f64)
            }
            Value::UInt(number) => Val::UInt(number.get()),
            Value::Float(number) if node.is_some_and(|node| node.of == NodeType::Integer) => {
                Val::Int(number.get() as i64)
            }
            Value::Float(number) => Val::Double(number.get()),
            Value::String(text) => {
                Val::of_text(text, node.map(|node| node.format.as_str()).unwrap_or_default())
            }
            part @ (Value::Array(_) | Value::Object(_)) => Val::Part(part, node),
        }
    }

    fn of_text(text: &Text, format: &str) -> Val<'v> {
        match format {
            "byte" => match base64::decode(text) {
                Ok(bytes) => Val::Bytes(bytes.into()),
                Err(_) => Val::Text(text.clone()),
            },
            "date-time" => super::foreign::timestamp(text),
            "date" => super::foreign::timestamp(&format!("{text}T00:00:00Z")),
            "duration" => match format::duration_nanoseconds(text) {
                Some(nanoseconds) => super::foreign::duration(nanoseconds),
                None => Val::Text(text.clone()),
            },
            _ => Val::Text(text.clone()),
        }
    }

    /// Returns what stands under a field's name; a `null` counts as absent where the schema names the field.
    pub fn select(&self, name: &str) -> Option<Val<'v>> {
        match self {
            Val::Part(Value::Object(fields), Some(node)) => {
                let declared = unescape(name);
                if let Some(of) = node.field(&declared) {
                    return fields
                        .get(&declared)
                        .filter(|value| !value.is_null())
                        .map(|value| Val::of(value, Some(of)));
                }
                if node.identity != Identity::None && matches!(name, "apiVersion" | "kind" | "metadata") {
                    return fields.get(name).map(|value| Val::of(value, None));
                }
                let below = match &node.additional {
                    Additional::Each(of) => Some(&**of),
                    _ => None,
                };
                fields.get(name).map(|value| Val::of(value, below))
            }
            Val::Part(Value::Object(fields), None) => fields.get(name).map(|value| Val::of(value, None)),
            Val::Authority => (name == "requestResource").then_some(Val::Authority),
            Val::Map(entries) => {
                let found = entries.iter().find(|(key, _)| matches!(key, Val::Text(key) if key == name));
                found.map(|(_, value)| value.clone())
            }
            _ => None,
        }
    }

    /// Returns an item of a list by its place.
    pub fn item(&self, at: usize) -> Option<Val<'v>> {
        match self {
            Val::Part(Value::Array(items), node) => {
                items.get(at).map(|item| Val::of(item, node.and_then(|node| node.items.as_deref())))
            }
            Val::List(items) => items.get(at).cloned(),
            _ => None,
        }
    }

    /// Returns how many items, entries or characters there are.
    pub fn size(&self) -> Option<usize> {
        Some(match self {
            Val::Text(text) => text.chars().count(),
            Val::Bytes(bytes) => bytes.len(),
            Val::Part(Value::Array(items), _) => items.len(),
            Val::Part(Value::Object(fields), _) => fields.len(),
            Val::List(items) => items.len(),
            Val::Map(entries) => entries.len(),
            _ => return None,
        })
    }

    /// Returns what going through the value once costs.
    pub fn weight(&self) -> u64 {
        match self {
            Val::Text(text) => text.len() as u64 / 10,
            Val::Bytes(bytes) => bytes.len() as u64 / 10,
            Val::Part(part, _) => weight_of(part),
            Val::List(items) => items.iter().map(|item| 1 + item.weight()).sum(),
            Val::Map(entries) => entries.iter().map(|(key, value)| 2 + key.weight() + value.weight()).sum(),
            Val::Optional(Some(value)) => value.weight(),
            _ => 0,
        }
    }

    /// Returns what a comprehension goes through: items of a list, keys of a map.
    pub fn range(&self) -> Option<Vec<Val<'v>>> {
        Some(match self {
            Val::Part(Value::Array(items), node) => {
                let of = node.and_then(|node| node.items.as_deref());
                items.iter().map(|item| Val::of(item, of)).collect()
            }
            Val::Part(Value::Object(fields), _) => {
                fields.iter().map(|(name, _)| Val::Text(name.clone())).collect()
            }
            Val::List(items) => items.to_vec(),
            Val::Map(entries) => entries.iter().map(|(key, _)| key.clone()).collect(),
            _ => return None,
        })
    }

    /// Returns the document that this is; nothing for times, amounts and the like, and for keys that are no texts.
    pub fn to_document(&self) -> Option<Value> {
        Some(match self {
            Val::Null => Value::Null,
            Val::Bool(flag) => Value::Bool(*flag),
            Val::Int(number) => Value::Int(*number),
            Val::UInt(number) => Value::from(*number),
            Val::Double(number) => Value::float(*number)?,
            Val::Text(text) => Value::String(text.clone()),
            Val::Bytes(bytes) => Value::from(base64::encode(bytes)),
            Val::Part(part, _) => (*part).clone(),
            Val::List(items) => Value::array(items.iter().map(Val::to_document).collect::<Option<Vec<_>>>()?),
            Val::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| match key {
                    Val::Text(name) => Some((name.clone(), value.to_document()?)),
                    _ => None,
                });
                Value::object(entries.collect::<Option<Vec<_>>>()?)
            }
            Val::Optional(Some(value)) => value.to_document()?,
            Val::Optional(None) | Val::Foreign(_) | Val::Authority => return None,
        })
    }

    /// Whether both are the same: numbers by amount, sets and keyed lists whatever their order.
    pub fn equals(&self, other: &Val<'v>) -> bool {
        match (self, other) {
            (Val::Null, Val::Null) => true,
            (Val::Bool(a), Val::Bool(b)) => a == b,
            (Val::Text(a), Val::Text(b)) => a == b,
            (Val::Bytes(a), Val::Bytes(b)) => a == b,
            (Val::Optional(a), Val::Optional(b)) => match (a, b) {
                (Some(a), Some(b)) => a.equals(b),
                (a, b) => a.is_none() && b.is_none(),
            },
            (Val::Foreign(a), Val::Foreign(b)) => a == b,
            _ => match (self.compare_number(other), self.range_of_list(), other.range_of_list()) {
                (Some(order), _, _) => order == std::cmp::Ordering::Equal,
                (None, Some(a), Some(b)) => {
                    let in_order = a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a.equals(b));
                    in_order
                        || self.is_unordered()
                            && a.len() == b.len()
                            && a.iter().all(|a| b.iter().any(|b| a.equals(b)))
                }
                _ => match (self.entries(), other.entries()) {
                    // Both sorted by name: compared in step.
                    (Some(a), Some(b)) if matches!((self, other), (Val::Part(..), Val::Part(..))) => {
                        a.len() == b.len()
                            && a.iter()
                                .zip(&b)
                                .all(|((name, a), (other, b))| name.equals(other) && a.equals(b))
                    }
                    (Some(a), Some(b)) => {
                        a.len() == b.len()
                            && a.iter().all(|(key, value)| {
                                b.iter().any(|(other, of)| key.equals(other) && value.equals(of))
                            })
                    }
                    _ => false,
                },
            },
        }
    }

    /// Compares numbers of any type by amount.
    pub fn compare_number(&self, other: &Val<'_>) -> Option<std::cmp::Ordering> {
        use std::cmp::Ordering;
        Some(match (self, other) {
            (Val::Int(a), Val::Int(b)) => a.cmp(b),
            (Val::UInt(a), Val::UInt(b)) => a.cmp(b),
            (Val::Int(a), Val::UInt(b)) => u64::try_from(*a).map_or(Ordering::Less, |a| a.cmp(b)),
            (Val::UInt(a), Val::Int(b)) => u64::try_from(*b).map_or(Ordering::Greater, |b| a.cmp(&b)),
            (a, b) => a.as_double()?.partial_cmp(&b.as_double()?)?,
        })
    }

    /// Returns which of two values of one ordered type comes first; nothing where they are not.
    pub fn order(&self, other: &Val<'_>) -> Option<std::cmp::Ordering> {
        Some(match (self, other) {
            (Val::Bool(a), Val::Bool(b)) => a.cmp(b),
            (Val::Int(a), Val::Int(b)) => a.cmp(b),
            (Val::UInt(a), Val::UInt(b)) => a.cmp(b),
            (Val::Double(a), Val::Double(b)) => a.total_cmp(b),
            (Val::Text(a), Val::Text(b)) => a.cmp(b),
            (Val::Bytes(a), Val::Bytes(b)) => a.cmp(b),
            (Val::Foreign(cel::Value::Timestamp(a)), Val::Foreign(cel::Value::Timestamp(b))) => a.cmp(b),
            (Val::Foreign(cel::Value::Duration(a)), Val::Foreign(cel::Value::Duration(b))) => a.cmp(b),
            _ => return None,
        })
    }

    fn as_double(&self) -> Option<f64> {
        match self {
            Val::Int(number) => Some(*number as f64),
            Val::UInt(number) => Some(*number as f64),
            Val::Double(number) => Some(*number),
            _ => None,
        }
    }

    fn range_of_list(&self) -> Option<Vec<Val<'v>>> {
        match self {
            Val::Part(Value::Array(_), _) | Val::List(_) => self.range(),
            _ => None,
        }
    }

    /// Returns how many pairs of items equality looks at beyond one walk.
    pub fn pairs_with(&self, other: &Val<'_>) -> u64 {
        match (self.size(), other.size()) {
            (Some(a), Some(b)) if self.is_unordered() && a == b => (a as u64).saturating_mul(b as u64),
            (Some(a), Some(b)) if matches!((self, other), (Val::Map(_), _) | (_, Val::Map(_))) => {
                (a as u64).saturating_mul(b as u64)
            }
            _ => 0,
        }
    }

    fn is_unordered(&self) -> bool {
        matches!(self, Val::Part(_, Some(node)) if node.list != ListKind::Atomic)
    }

    /// Returns the entries of an object or a map.
    pub fn entries(&self) -> Option<Vec<(Val<'v>, Val<'v>)>> {
        Some(match self {
            Val::Part(Value::Object(fields), node) => fields
                .iter()
                .map(|(name, value)| {
                    (Val::Text(name.clone()), Val::of(value, node.and_then(|node| node.under(name))))
                })
                .collect(),
            Val::Map(entries) => entries.to_vec(),
            _ => return None,
        })
    }

    /// Returns the word for the type, for messages.
    pub fn type_word(&self) -> &'static str {
        match self {
            Val::Null => "null",
            Val::Bool(_) => "bool",
            Val::Int(_) => "int",
            Val::UInt(_) => "uint",
            Val::Double(_) => "double",
            Val::Text(_) => "string",
            Val::Bytes(_) => "bytes",
            Val::Part(Value::Array(_), _) | Val::List(_) => "list",
            Val::Part(..) | Val::Map(_) => "map",
            Val::Optional(_) => "optional",
            Val::Foreign(_) | Val::Authority => "object",
        }
    }
}

fn weight_of(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64 / 10,
        Value::Array(items) => items.iter().map(|item| 1 + weight_of(item)).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| 1 + name.len() as u64 / 10 + weight_of(value)).sum()
        }
        _ => 0,
    }
}
