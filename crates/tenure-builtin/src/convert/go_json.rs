//! JSON inside of annotations, as Go reads and writes the types that it belongs to: members in the order of the type, names without
//! regard to case, and no value at all if one part has another type.

use tenure_meta::{Quantity, Timestamp, time::Precision};
use tenure_value::{Object, Value};

/// The type of a field.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Text,
    Integer,
    Quantity,
    Time,
    /// A label selector.
    Selector,
    Struct(&'static [Field]),
    List(&'static [Field]),
    /// Texts by any name.
    Labels,
    Texts,
}

/// When a field is written.
#[derive(Clone, Copy, PartialEq)]
enum Written {
    Always,
    IfGiven,
    OrNull,
}

/// A field: its name in the annotation, its path in the object, and its type.
#[derive(Clone, Copy)]
pub(super) struct Field {
    name: &'static str,
    path: &'static [&'static str],
    kind: Kind,
    written: Written,
}

impl Field {
    /// A field that is written with the zero value of its type if it is absent.
    pub const fn always(name: &'static str, path: &'static [&'static str], kind: Kind) -> Field {
        Field { name, path, kind, written: Written::Always }
    }

    /// A field that is left out if it is absent.
    pub const fn given(name: &'static str, path: &'static [&'static str], kind: Kind) -> Field {
        Field { name, path, kind, written: Written::IfGiven }
    }

    /// A field that is `null` if it is absent.
    pub const fn or_null(name: &'static str, path: &'static [&'static str], kind: Kind) -> Field {
        Field { name, path, kind, written: Written::OrNull }
    }
}

const REQUIREMENT: &[Field] = &[
    Field::always("key", &["key"], Kind::Text),
    Field::always("operator", &["operator"], Kind::Text),
    Field::given("values", &["values"], Kind::Texts),
];
const SELECTOR: &[Field] = &[
    Field::given("matchLabels", &["matchLabels"], Kind::Labels),
    Field::given("matchExpressions", &["matchExpressions"], Kind::List(REQUIREMENT)),
];

fn find<'v>(object: &'v Object, name: &str) -> Option<&'v Value> {
    let found = object.get(name);
    found
        .or_else(|| object.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value))
}

fn set(object: Object, path: &[&str], value: Value) -> Object {
    match path {
        [] => object,
        [name] => object.with(*name, value),
        [name, rest @ ..] => {
            let below = object.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
            object.with(*name, set(below, rest, value))
        }
    }
}

/// Reads a struct; `None` if a part of it has the wrong type.
pub(super) fn read_struct(text: &Value, fields: &[Field]) -> Option<Object> {
    let given = match text {
        Value::Null => return zero_struct(fields).as_object().cloned(),
        Value::Object(given) => given,
        _ => return None,
    };
    fields.iter().try_fold(Object::default(), |read, field| {
        let value = match find(given, field.name).filter(|value| !value.is_null()) {
            Some(value) => Some(read_value(value, field.kind)?),
            None if field.written == Written::Always => zero(field.kind),
            None => None,
        };
        Some(match value {
            Some(value) => set(read, field.path, value),
            None => read,
        })
    })
}

/// Reads a list of structs; `None` if it is not one.
pub(super) fn read_list(text: &Value, fields: &[Field]) -> Option<Vec<Object>> {
    match text {
        Value::Null => Some(Vec::new()),
        Value::Array(items) => items.iter().map(|item| read_struct(item, fields)).collect(),
        _ => None,
    }
}

fn read_value(value: &Value, kind: Kind) -> Option<Value> {
    match kind {
        Kind::Text => value.as_str().map(|_| value.clone()),
        Kind::Integer => value.as_i64().map(|_| value.clone()),
        Kind::Quantity => {
            let text = value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned());
            Quantity::parse(&text).map(|quantity| quantity.canonical().into())
        }
        Kind::Time => Timestamp::parse(value.as_str()?, Precision::Seconds).map(|_| value.clone()),
        Kind::Selector => read_struct(value, SELECTOR).map(Value::from),
        Kind::Struct(fields) => read_struct(value, fields).map(Value::from),
        Kind::List(fields) => {
            let items = read_list(value, fields)?;
            Some(Value::array(items.into_iter().map(Value::from)))
        }
        Kind::Labels => {
            value.as_object()?.iter().all(|(_, text)| text.as_str().is_some()).then(|| value.clone())
        }
        Kind::Texts => value.as_array()?.iter().all(|text| text.as_str().is_some()).then(|| value.clone()),
    }
}

fn zero(kind: Kind) -> Option<Value> {
    match kind {
        Kind::Text => Some("".into()),
        Kind::Integer => Some(0.into()),
        Kind::Quantity => Some("0".into()),
        Kind::Struct(fields) => Some(zero_struct(fields)),
        _ => None,
    }
}

fn zero_struct(fields: &[Field]) -> Value {
    let zeros = fields.iter().filter(|field| field.written == Written::Always);
    zeros
        .fold(Object::default(), |read, field| match zero(field.kind) {
            Some(value) => set(read, field.path, value),
            None => read,
        })
        .into()
}

/// Formats a struct with its members in the order of its type.
pub(super) fn text_of_struct(value: &Value, fields: &[Field]) -> String {
    let members = fields.iter().filter_map(|field| {
        let found = value.at(field.path.iter().copied()).filter(|value| !value.is_null());
        let text = match (found, field.written) {
            (Some(value), _) => text_of(value, field.kind),
            (None, Written::IfGiven) => return None,
            (None, Written::OrNull) => "null".into(),
            (None, Written::Always) => {
                zero(field.kind).map_or_else(|| "null".into(), |value| text_of(&value, field.kind))
            }
        };
        Some(format!("\"{}\":{text}", field.name))
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

fn text_of(value: &Value, kind: Kind) -> String {
    match kind {
        Kind::Selector => text_of_struct(value, SELECTOR),
        Kind::Struct(fields) => text_of_struct(value, fields),
        Kind::List(fields) => {
            let items = value.as_array().map(|items| items.items()).unwrap_or_default();
            let texts: Vec<String> = items.iter().map(|item| text_of_struct(item, fields)).collect();
            format!("[{}]", texts.join(","))
        }
        _ => value.to_string(),
    }
}
