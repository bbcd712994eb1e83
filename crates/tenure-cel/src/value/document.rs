//! Conversion between documents and CEL values.

use super::{Duration, List, Map, MapKey, Timestamp, Val};
use crate::{
    Error,
    types::{Decl, MAX_DOCUMENT_BYTES, Type},
};
use tenure_value::{Float, Value, base64};

impl<'v> Val<'v> {
    /// Returns a part of a document as a CEL value. The declaration decides how strings and numbers are
    /// interpreted.
    ///
    /// ```
    /// use tenure_cel::{Decl, Val};
    /// use tenure_value::Value;
    ///
    /// let text = Value::from("1h30m");
    /// let decl = Decl::duration();
    /// assert!(matches!(Val::from_document(&text, Some(&decl)), Ok(Val::Duration(_))));
    /// assert!(matches!(Val::from_document(&text, None), Ok(Val::String(_))));
    /// ```
    pub fn from_document(value: &'v Value, decl: Option<&'v Decl>) -> Result<Val<'v>, Error> {
        Ok(match value {
            Value::Null => Val::Null,
            Value::Bool(flag) => Val::Bool(*flag),
            Value::Int(number) => match decl.and_then(Decl::simple_type) {
                Some(Type::Double) => Val::Double(*number as f64),
                _ => Val::Int(*number),
            },
            Value::UInt(number) => match decl.and_then(Decl::simple_type) {
                Some(Type::Double) => Val::Double(number.get() as f64),
                _ => Val::UInt(number.get()),
            },
            Value::Float(number) => match (decl.and_then(Decl::simple_type), number.get()) {
                (Some(Type::Int), number) if number.fract() == 0.0 && number.abs() < 9e18 => {
                    Val::Int(number as i64)
                }
                (_, number) => Val::Double(number),
            },
            Value::String(text) => match decl.and_then(Decl::simple_type) {
                Some(Type::Timestamp) => {
                    let read = Timestamp::parse_document(text).or_else(|| Timestamp::parse_date(text));
                    Val::Timestamp(read.ok_or_else(|| invalid("date-time", text))?)
                }
                Some(Type::Duration) => {
                    Val::Duration(Duration::parse_document(text).ok_or_else(|| invalid("duration", text))?)
                }
                Some(Type::Bytes) => {
                    let bytes = base64::decode(text.as_bytes()).map_err(|_| invalid("base64", text))?;
                    Val::Bytes(bytes.into())
                }
                _ => Val::String(text.clone()),
            },
            Value::Array(array) => Val::List(List::Document(array, decl)),
            Value::Object(object) => Val::Map(Map::Document(object, decl)),
        })
    }

    /// Returns this value as a document: bytes as base64, timestamps and durations as strings. Fails for
    /// values that documents cannot contain, and for those that are larger than a document: a value can be part of another many
    /// times.
    pub fn to_document(&self) -> Result<Value, Error> {
        self.document(&mut DocumentSize { left: MAX_DOCUMENT_BYTES as usize })
    }

    fn document(&self, size: &mut DocumentSize) -> Result<Value, Error> {
        size.add(1)?;
        Ok(match self {
            Val::Null => Value::Null,
            Val::Bool(flag) => Value::Bool(*flag),
            Val::Int(number) => Value::Int(*number),
            Val::UInt(number) => Value::from(*number),
            Val::Double(number) => match Float::new(*number) {
                Some(number) => Value::Float(number),
                None => return Err(Error::evaluate(format!("{number} cannot be part of a document"))),
            },
            Val::String(text) => {
                size.add(text.len())?;
                Value::String(text.clone())
            }
            Val::Bytes(bytes) => {
                size.add(bytes.len())?;
                Value::from(base64::encode(bytes))
            }
            Val::Timestamp(timestamp) => Value::from(timestamp.to_string()),
            Val::Duration(duration) => Value::from(duration.to_string()),
            Val::List(List::Document(array, _)) => {
                let array = Value::Array((*array).clone());
                size.add_document(&array)?;
                array
            }
            Val::List(list) => {
                let items = list.iter().map(|item| item?.document(size));
                Value::array(items.collect::<Result<Vec<_>, Error>>()?)
            }
            Val::Map(Map::Document(object, _)) => {
                let object = Value::Object((*object).clone());
                size.add_document(&object)?;
                object
            }
            Val::Map(map) => {
                let entries = map.entries()?;
                let fields = entries.iter().map(|(key, value)| match key {
                    MapKey::String(name) => {
                        size.add(name.len())?;
                        Ok((name.clone(), value.document(size)?))
                    }
                    _ => Err(Error::evaluate("keys of maps in documents must be strings")),
                });
                Value::object(fields.collect::<Result<Vec<_>, Error>>()?)
            }
            Val::Optional(Some(value)) => value.document(size)?,
            Val::Optional(None) => Value::Null,
            Val::Type(_) | Val::Opaque(_) => {
                return Err(Error::evaluate(format!(
                    "a value of type '{}' cannot be part of a document",
                    self.type_name()
                )));
            }
        })
    }
}

/// Counts the bytes of a document.
struct DocumentSize {
    left: usize,
}

impl DocumentSize {
    fn add(&mut self, bytes: usize) -> Result<(), Error> {
        self.left = self.left.checked_sub(bytes).ok_or(Error::SizeLimit(MAX_DOCUMENT_BYTES as usize))?;
        Ok(())
    }

    fn add_document(&mut self, value: &Value) -> Result<(), Error> {
        self.add(1)?;
        match value {
            Value::String(text) => self.add(text.len()),
            Value::Array(items) => items.iter().try_for_each(|item| self.add_document(item)),
            Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
                self.add(name.len())?;
                self.add_document(value)
            }),
            _ => Ok(()),
        }
    }
}

fn invalid(what: &str, text: &str) -> Error {
    let shown: String = text.chars().take(100).collect();
    Error::evaluate(format!("Invalid {what} {shown:?}"))
}
