//! Serde support. A [`Value`] serializes and deserializes with any format, and any type converts to and from
//! a [`Value`] without text in between. The two conversions mirror each other, so a type that round-trips
//! through its own format also round-trips here.

mod from_value;
mod to_value;

pub use from_value::from_value;
pub use to_value::to_value;

use crate::{Error, Text, Value};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use std::fmt;

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Int(number) => serializer.serialize_i64(*number),
            Value::UInt(number) => serializer.serialize_u64(number.get()),
            Value::Float(number) => serializer.serialize_f64(number.get()),
            Value::String(text) => serializer.serialize_str(text),
            Value::Array(items) => serializer.collect_seq(items),
            Value::Object(object) => {
                serializer.collect_map(object.iter().map(|(name, value)| (name.as_str(), value)))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(Tree)
    }
}

/// Builds a value from any format.
struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(Tree)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(Tree)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::unsigned(number))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        Value::float(number).ok_or_else(|| E::custom(not_finite(number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        // The size hint is untrusted, so it is capped.
        let mut collected = Vec::with_capacity(items.size_hint().unwrap_or(0).min(1024));
        while let Some(item) = items.next_element()? {
            collected.push(item);
        }
        Ok(Value::array(collected))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut collected = Vec::with_capacity(fields.size_hint().unwrap_or(0).min(1024));
        while let Some(Name(name)) = fields.next_key()? {
            collected.push((name, fields.next_value()?));
        }
        Ok(Value::object(collected))
    }
}

/// A field name.
struct Name(Text);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        struct Names;

        impl Visitor<'_> for Names {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Name, E> {
                Ok(Name(Text::new(name)))
            }

            fn visit_string<E>(self, name: String) -> Result<Name, E> {
                Ok(Name(Text::from(name)))
            }
        }

        deserializer.deserialize_str(Names)
    }
}

fn not_finite(number: f64) -> String {
    format!("{number} is not a finite number; documents can only contain finite numbers")
}

/// The error of a conversion collects the path as it propagates.
impl Error {
    fn conversion(problem: impl fmt::Display) -> Error {
        Error::Conversion { path: String::new(), problem: problem.to_string() }
    }

    fn under_field(self, name: &str) -> Error {
        self.under(name, |rest| !rest.is_empty() && !rest.starts_with('['))
    }

    fn under_item(self, index: usize) -> Error {
        self.under(&format!("[{index}]"), |rest| !rest.is_empty() && !rest.starts_with('['))
    }

    fn under(self, step: &str, needs_dot: impl Fn(&str) -> bool) -> Error {
        match self {
            Error::Conversion { path, problem } => {
                let dot = if needs_dot(&path) { "." } else { "" };
                Error::Conversion { path: format!("{step}{dot}{path}"), problem }
            }
            other => other,
        }
    }
}

impl serde::ser::Error for Error {
    fn custom<T: fmt::Display>(problem: T) -> Error {
        Error::conversion(problem)
    }
}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(problem: T) -> Error {
        Error::conversion(problem)
    }
}
