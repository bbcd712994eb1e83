//! OpenAPI documents in protobuf. Which member of a document is which field is a table, one per version of the format
//! (`binary_2.rs`, `binary_3.rs`); only members with several forms on the wire have code.

use tenure_codec::protobuf::wire::{FIXED64, LENGTH, Writer};
use tenure_value::{Value, yaml};

/// The fields of a message.
pub(super) struct Message {
    pub rows: &'static [Member],
    /// The field number of all members that begin with `x-`.
    pub marks: u32,
    /// Whether a reference may replace it: a wrapper message has it as field 1, or the reference as field 2.
    pub may_be_reference: bool,
}

/// A member of an object, its number, and how it is written.
pub(super) struct Member(pub &'static str, pub u32, pub WireForm);

pub(super) enum WireForm {
    Text,
    Texts,
    Flag,
    Integer,
    Double,
    /// Any value, as YAML.
    Any,
    /// A list of any values.
    Anys,
    One(&'static Message),
    Many(&'static Message),
    /// A message around one message or a list of them.
    Around(u32, &'static Message),
    /// A message around texts.
    AroundTexts,
    /// A message around named messages: their field number, and the wrapper of each.
    Named(u32, Option<u32>, &'static Message),
    /// A message around named lists of texts.
    NamedTexts,
    /// A message under the number 1, or a flag under 2.
    OrFlag(&'static Message),
    /// A message that is never a reference, although others of its type may be.
    Bare(&'static Message),
    /// A number, a flag or a text, each under a number of its own; other values are not supported.
    Scalar,
    /// Parameters of version 2: a different message for each location in a request.
    Parameters([&'static Message; 3]),
}

/// Writes a document.
pub(super) fn write(message: &Message, document: &Value) -> Vec<u8> {
    let mut out = Writer::default();
    message.write(document, &mut out);
    out.finish()
}

impl Message {
    fn write(&self, value: &Value, out: &mut Writer) {
        if !self.may_be_reference {
            return self.write_fields(value, out);
        }
        match value.get("$ref").and_then(Value::as_str) {
            Some(target) => nest(2, out, |out| out.field(1, target.as_bytes())),
            None => nest(1, out, |out| self.write_fields(value, out)),
        }
    }

    fn write_fields(&self, value: &Value, out: &mut Writer) {
        for Member(name, number, form) in self.rows {
            if let Some(member) = value.get(name) {
                form.write(*number, member, out);
            }
        }
        for (name, mark) in value.as_object().into_iter().flat_map(|fields| fields.iter()) {
            if name.starts_with("x-") {
                nest(self.marks, out, |out| {
                    out.field(1, name.as_bytes());
                    WireForm::Any.write(2, mark, out);
                });
            }
        }
    }
}

impl WireForm {
    fn write(&self, number: u32, value: &Value, out: &mut Writer) {
        match self {
            WireForm::Text => out.field(number, value.as_str().unwrap_or_default().as_bytes()),
            WireForm::Texts => each(value, |item| WireForm::Text.write(number, item, out)),
            WireForm::Flag => out.number(number, value.as_bool().unwrap_or_default().into()),
            WireForm::Integer => out.number(number, value.as_i64().unwrap_or_default() as u64),
            WireForm::Double => {
                out.key(number, FIXED64);
                out.bytes(&value.as_f64().unwrap_or_default().to_le_bytes());
            }
            WireForm::Any => nest(number, out, |out| out.field(2, yaml::to_string(value).as_bytes())),
            WireForm::Anys => each(value, |item| WireForm::Any.write(number, item, out)),
            WireForm::One(message) => nest(number, out, |out| message.write(value, out)),
            WireForm::Many(message) => each(value, |item| nest(number, out, |out| message.write(item, out))),
            WireForm::Around(inner, message) => nest(number, out, |out| {
                each(value, |item| nest(*inner, out, |out| message.write(item, out)));
            }),
            WireForm::AroundTexts => nest(number, out, |out| WireForm::Texts.write(1, value, out)),
            WireForm::Named(entries, around, message) => nest(number, out, |out| {
                for (name, value) in value.as_object().into_iter().flat_map(|fields| fields.iter()) {
                    nest(*entries, out, |out| {
                        out.field(1, name.as_bytes());
                        nest(2, out, |out| match around {
                            Some(around) => nest(*around, out, |out| message.write(value, out)),
                            None => message.write(value, out),
                        });
                    });
                }
            }),
            WireForm::NamedTexts => each(value, |item| {
                nest(number, out, |out| {
                    for (name, texts) in item.as_object().into_iter().flat_map(|fields| fields.iter()) {
                        nest(1, out, |out| {
                            out.field(1, name.as_bytes());
                            WireForm::AroundTexts.write(2, texts, out);
                        });
                    }
                });
            }),
            WireForm::OrFlag(message) => nest(number, out, |out| match value {
                Value::Bool(flag) => out.number(2, (*flag).into()),
                schema => nest(1, out, |out| message.write(schema, out)),
            }),
            WireForm::Bare(message) => nest(number, out, |out| message.write_fields(value, out)),
            WireForm::Scalar => match value {
                Value::Bool(_) => nest(number, out, |out| WireForm::Flag.write(2, value, out)),
                Value::String(_) => nest(number, out, |out| WireForm::Text.write(3, value, out)),
                Value::Int(_) | Value::UInt(_) | Value::Float(_) => {
                    nest(number, out, |out| WireForm::Double.write(1, value, out));
                }
                Value::Null | Value::Array(_) | Value::Object(_) => {}
            },
            WireForm::Parameters(messages) => {
                each(value, |item| nest(number, out, |out| write_parameter(messages, item, out)));
            }
        }
    }
}

/// Writes a parameter, which is a different message in a body, a query and a path.
fn write_parameter([body, query, path]: &[&Message; 3], parameter: &Value, out: &mut Writer) {
    let place = parameter.get("in").and_then(Value::as_str).unwrap_or_default();
    nest(1, out, |out| match place {
        "body" => nest(1, out, |out| body.write(parameter, out)),
        "path" => nest(2, out, |out| nest(4, out, |out| path.write(parameter, out))),
        _ => nest(2, out, |out| nest(3, out, |out| query.write(parameter, out))),
    });
}

/// Writes a field that is a message.
fn nest(number: u32, out: &mut Writer, content: impl FnOnce(&mut Writer)) {
    out.key(number, LENGTH);
    let start = out.begin();
    content(out);
    out.end(start);
}

/// Visits the items of a list; any other value counts as a list of one.
fn each(value: &Value, mut use_item: impl FnMut(&Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(use_item),
        one => use_item(one),
    }
}

#[cfg(test)]
pub(super) mod read {
    use tenure_codec::protobuf::wire::{Payload, Reader};

    /// Finds the contents of a field.
    pub fn fields(bytes: &[u8], wanted: u32) -> Vec<&[u8]> {
        let mut reader = Reader(bytes);
        let mut found = Vec::new();
        while let Some((number, payload)) = reader.next_field().unwrap() {
            if let (true, Payload::Bytes(content)) = (number == wanted, payload) {
                found.push(content);
            }
        }
        found
    }

    /// Finds the value of a name among entries.
    pub fn named<'a>(entries: &[&'a [u8]], name: &str) -> &'a [u8] {
        let entry = entries.iter().find(|entry| fields(entry, 1) == [name.as_bytes()]).unwrap();
        fields(entry, 2)[0]
    }
}
