//! Conversion of a document to any deserializable type. Strings are borrowed; an error contains the path of
//! the field that does not match.

use crate::{Error, Text, Value};
use serde::{
    Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
        VariantAccess, Visitor, value::StrDeserializer,
    },
    forward_to_deserialize_any,
};

/// Converts a document to any deserializable type.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, Error> {
    T::deserialize(FromValue(value))
}

#[derive(Clone, Copy)]
struct FromValue<'a>(&'a Value);

/// The methods that both deserializers share: a newtype struct deserializes as its content, and an enum as
/// the variant found.
macro_rules! named_types {
    () => {
        fn deserialize_newtype_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            visitor: V,
        ) -> Result<V::Value, Error> {
            visitor.visit_newtype_struct(self)
        }

        fn deserialize_enum<V: Visitor<'de>>(
            self,
            _: &'static str,
            _: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, Error> {
            let variant = self.variant(&visitor)?;
            visitor.visit_enum(variant)
        }
    };
}

impl<'a> FromValue<'a> {
    fn variant<'de, V: Visitor<'de>>(self, visitor: &V) -> Result<Variant<'a>, Error> {
        match self.0 {
            Value::String(name) => Ok(Variant { name, content: None }),
            Value::Object(object) => match object.fields() {
                [(name, content)] => Ok(Variant { name, content: Some(content) }),
                fields => Err(Error::conversion(format_args!(
                    "expected an object with the variant as its only field, got {} fields",
                    fields.len()
                ))),
            },
            _ => Err(self.mismatch(visitor)),
        }
    }

    fn mismatch<'de, V: Visitor<'de>>(self, visitor: &V) -> Error {
        let found = match self.0 {
            Value::Null => Unexpected::Unit,
            Value::Bool(flag) => Unexpected::Bool(*flag),
            Value::Int(number) => Unexpected::Signed(*number),
            Value::UInt(number) => Unexpected::Unsigned(number.get()),
            Value::Float(number) => Unexpected::Float(number.get()),
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        };
        serde::de::Error::invalid_type(found, visitor)
    }
}

impl<'de> Deserializer<'de> for FromValue<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Int(number) => match u64::try_from(*number) {
                Ok(number) => visitor.visit_u64(number),
                Err(_) => visitor.visit_i64(*number),
            },
            Value::UInt(number) => visitor.visit_u64(number.get()),
            Value::Float(number) => visitor.visit_f64(number.get()),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => {
                let mut items = Items { rest: items.iter(), index: 0 };
                let visited = visitor.visit_seq(&mut items)?;
                if items.rest.len() == 0 {
                    return Ok(visited);
                }
                Err(Error::conversion(format_args!("{} more items than expected", items.rest.len())))
            }
            Value::Object(object) => visitor.visit_map(Fields { rest: object.fields().iter(), value: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    named_types!();

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Items<'a> {
    rest: std::slice::Iter<'a, Value>,
    index: usize,
}

impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Some(item) = self.rest.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        seed.deserialize(FromValue(item)).map(Some).map_err(|error| error.under_item(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

struct Fields<'a> {
    rest: std::slice::Iter<'a, (Text, Value)>,
    value: Option<(&'a Text, &'a Value)>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        self.value = Some((name, value));
        seed.deserialize(Name(name)).map(Some).map_err(|error| error.under_field(name))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        match self.value.take() {
            Some((name, value)) => {
                seed.deserialize(FromValue(value)).map_err(|error| error.under_field(name))
            }
            None => Err(Error::conversion("the value of a field was requested before its name")),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A field name, for map keys that are numbers or booleans in the type.
struct Name<'a>(&'a str);

impl<'a> Name<'a> {
    fn variant<V>(self, _: &V) -> Result<Variant<'a>, Error> {
        Ok(Variant { name: self.0, content: None })
    }
}

macro_rules! parsed {
    ($($method:ident $visit:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.parse() {
                Ok(key) => visitor.$visit(key),
                Err(_) => visitor.visit_borrowed_str(self.0),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Name<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.0)
    }

    parsed! {
        deserialize_i8 visit_i8 deserialize_i16 visit_i16 deserialize_i32 visit_i32 deserialize_i64 visit_i64
        deserialize_u8 visit_u8 deserialize_u16 visit_u16 deserialize_u32 visit_u32 deserialize_u64 visit_u64
        deserialize_f32 visit_f32 deserialize_f64 visit_f64 deserialize_bool visit_bool
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    named_types!();

    forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

struct Variant<'a> {
    name: &'a str,
    content: Option<&'a Value>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Error;
    type Variant = Content<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content<'de>), Error> {
        let name: StrDeserializer<'de, Error> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, Content { name: self.name, content: self.content }))
    }
}

/// The content of a variant.
struct Content<'a> {
    name: &'a str,
    content: Option<&'a Value>,
}

impl<'de> Content<'de> {
    /// Deserializes the content of a variant, which must exist.
    fn read<T>(
        self,
        expected: &str,
        read: impl FnOnce(FromValue<'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match self.content {
            Some(content) => read(FromValue(content)).map_err(|error| error.under_field(self.name)),
            None => Err(Error::conversion(format_args!("variant {:?} needs {expected}", self.name))),
        }
    }
}

impl<'de> VariantAccess<'de> for Content<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        match self.content {
            None | Some(Value::Null) => Ok(()),
            Some(_) => Err(Error::conversion(format_args!("variant {:?} has no content", self.name))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        self.read("a value", |content| seed.deserialize(content))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.read("a list", |content| content.deserialize_any(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.read("an object", |content| content.deserialize_any(visitor))
    }
}
