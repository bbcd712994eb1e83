//! Conversion of any serializable type to a document. Names of fields and variants become strings, map keys
//! must be strings, numbers, booleans or characters, and an enum variant with content becomes an object with
//! one field.

use super::not_finite;
use crate::{Error, Text, Value};
use serde::{
    Serialize, Serializer,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};

/// Converts any serializable value to a document.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, Error> {
    value.serialize(ToValue)
}

struct ToValue;

macro_rules! numbers {
    ($($method:ident($type:ty))*) => {$(
        fn $method(self, number: $type) -> Result<Value, Error> {
            Ok(Value::from(number))
        }
    )*};
}

impl Serializer for ToValue {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = Items;
    type SerializeTuple = Items;
    type SerializeTupleStruct = Items;
    type SerializeTupleVariant = Variant<Items>;
    type SerializeMap = Fields;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Variant<Fields>;

    numbers!(serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64));
    numbers!(serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64));
    numbers!(serialize_bool(bool) serialize_str(&str));

    fn serialize_i128(self, number: i128) -> Result<Value, Error> {
        match (i64::try_from(number), u64::try_from(number)) {
            (Ok(number), _) => Ok(Value::Int(number)),
            (_, Ok(number)) => Ok(Value::unsigned(number)),
            _ => Err(Error::conversion(format_args!("{number} does not fit 64 bits"))),
        }
    }

    fn serialize_u128(self, number: u128) -> Result<Value, Error> {
        match u64::try_from(number) {
            Ok(number) => Ok(Value::unsigned(number)),
            Err(_) => Err(Error::conversion(format_args!("{number} does not fit 64 bits"))),
        }
    }

    fn serialize_f32(self, number: f32) -> Result<Value, Error> {
        self.serialize_f64(f64::from(number))
    }

    fn serialize_f64(self, number: f64) -> Result<Value, Error> {
        Value::float(number).ok_or_else(|| Error::conversion(not_finite(number)))
    }

    fn serialize_char(self, character: char) -> Result<Value, Error> {
        Ok(Value::from(character.encode_utf8(&mut [0; 4]) as &str))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, Error> {
        Ok(Value::array(bytes.iter().map(|byte| Value::from(*byte))))
    }

    fn serialize_none(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Value, Error> {
        Ok(Value::from(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Value, Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, Error> {
        let value = to_value(value).map_err(|error| error.under_field(variant))?;
        Ok(Value::object([(variant, value)]))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Items, Error> {
        Ok(Items(Vec::with_capacity(length.unwrap_or(0))))
    }

    fn serialize_tuple(self, length: usize) -> Result<Items, Error> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<Items, Error> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Variant<Items>, Error> {
        Ok(Variant { name: variant, content: self.serialize_seq(Some(length))? })
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Fields, Error> {
        Ok(Fields { name: Text::default(), fields: Vec::with_capacity(length.unwrap_or(0)) })
    }

    fn serialize_struct(self, _: &'static str, length: usize) -> Result<Fields, Error> {
        self.serialize_map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Variant<Fields>, Error> {
        Ok(Variant { name: variant, content: self.serialize_map(Some(length))? })
    }
}

/// The items of a list so far.
struct Items(Vec<Value>);

impl Items {
    fn push<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Error> {
        let item = to_value(item).map_err(|error| error.under_item(self.0.len()))?;
        self.0.push(item);
        Ok(())
    }

    fn finish(self) -> Value {
        Value::array(self.0)
    }
}

/// The fields of an object so far, and the name of the next one.
struct Fields {
    name: Text,
    fields: Vec<(Text, Value)>,
}

impl Fields {
    fn push<T: Serialize + ?Sized>(&mut self, name: Text, value: &T) -> Result<(), Error> {
        let value = to_value(value).map_err(|error| error.under_field(&name))?;
        self.fields.push((name, value));
        Ok(())
    }

    fn finish(self) -> Value {
        Value::object(self.fields)
    }
}

/// An enum variant with content.
struct Variant<C> {
    name: &'static str,
    content: C,
}

impl<C> Variant<C> {
    fn wrap(self, finish: impl FnOnce(C) -> Value) -> Value {
        Value::object([(self.name, finish(self.content))])
    }
}

macro_rules! lists {
    ($($trait:ident $method:ident)*) => {$(
        impl $trait for Items {
            type Ok = Value;
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Error> {
                self.push(item)
            }

            fn end(self) -> Result<Value, Error> {
                Ok(self.finish())
            }
        }
    )*};
}
lists!(SerializeSeq serialize_element SerializeTuple serialize_element SerializeTupleStruct serialize_field);

impl SerializeTupleVariant for Variant<Items> {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, item: &T) -> Result<(), Error> {
        self.content.push(item).map_err(|error| error.under_field(self.name))
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.wrap(Items::finish))
    }
}

impl SerializeMap for Fields {
    type Ok = Value;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.name = match to_value(key)? {
            Value::String(name) => name,
            number @ (Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Bool(_)) => {
                Text::from(number.to_string())
            }
            other => {
                return Err(Error::conversion(format_args!(
                    "a map key must be a string, a number or a boolean, got {}",
                    other.kind()
                )));
            }
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let name = std::mem::take(&mut self.name);
        self.push(name, value)
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.finish())
    }
}

impl SerializeStruct for Fields {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.push(Text::new_static(name), value)
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.finish())
    }
}

impl SerializeStructVariant for Variant<Fields> {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.content.push(Text::new_static(name), value).map_err(|error| error.under_field(self.name))
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.wrap(Fields::finish))
    }
}
