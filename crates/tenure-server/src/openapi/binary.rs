//! The OpenAPI document of version 2 in protobuf, which clients before Kubernetes 1.27 read and nothing else. Which
//! member of a document is which field is a table; only what is one thing in JSON and several on the wire (parameters,
//! a boolean or a schema) has code.

use crate::protobuf::wire::{FIXED64, LENGTH, VARINT, Writer};
use tenure_value::{Value, yaml};

/// The fields of a message, and the number under which it has everything that begins with `x-`.
struct Message {
    rows: &'static [Row],
    marks: u32,
}

/// A member of an object, its number, and how it is written.
struct Row(&'static str, u32, Form);

enum Form {
    Text,
    Texts,
    Flag,
    Whole,
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
    /// A message around named messages: their number, and what stands around each.
    Named(u32, Option<u32>, &'static Message),
    /// A message around named lists of texts.
    NamedTexts,
    /// A schema under the number 1, or a flag under 2.
    SchemaOrFlag,
    Parameters,
}

static DOCUMENT: Message = Message {
    rows: &[
        Row("swagger", 1, Form::Text),
        Row("info", 2, Form::One(&INFO)),
        Row("paths", 8, Form::Named(2, None, &PATH)),
        Row("definitions", 9, Form::Named(1, None, &SCHEMA)),
        Row("security", 12, Form::NamedTexts),
        Row("securityDefinitions", 13, Form::Named(1, Some(2), &API_KEY)),
    ],
    marks: 16,
};

static INFO: Message = Message {
    rows: &[Row("title", 1, Form::Text), Row("version", 2, Form::Text), Row("description", 3, Form::Text)],
    marks: 7,
};

static API_KEY: Message = Message {
    rows: &[
        Row("type", 1, Form::Text),
        Row("name", 2, Form::Text),
        Row("in", 3, Form::Text),
        Row("description", 4, Form::Text),
    ],
    marks: 5,
};

static PATH: Message = Message {
    rows: &[
        Row("get", 2, Form::One(&OPERATION)),
        Row("put", 3, Form::One(&OPERATION)),
        Row("post", 4, Form::One(&OPERATION)),
        Row("delete", 5, Form::One(&OPERATION)),
        Row("options", 6, Form::One(&OPERATION)),
        Row("head", 7, Form::One(&OPERATION)),
        Row("patch", 8, Form::One(&OPERATION)),
        Row("parameters", 9, Form::Parameters),
    ],
    marks: 10,
};

static OPERATION: Message = Message {
    rows: &[
        Row("tags", 1, Form::Texts),
        Row("summary", 2, Form::Text),
        Row("description", 3, Form::Text),
        Row("operationId", 5, Form::Text),
        Row("produces", 6, Form::Texts),
        Row("consumes", 7, Form::Texts),
        Row("parameters", 8, Form::Parameters),
        Row("responses", 9, Form::Named(1, Some(1), &RESPONSE)),
        Row("schemes", 10, Form::Texts),
        Row("deprecated", 11, Form::Flag),
    ],
    marks: 13,
};

static RESPONSE: Message = Message {
    rows: &[Row("description", 1, Form::Text), Row("schema", 2, Form::Around(1, &SCHEMA))],
    marks: 5,
};

static BODY_PARAMETER: Message = Message {
    rows: &[
        Row("description", 1, Form::Text),
        Row("name", 2, Form::Text),
        Row("in", 3, Form::Text),
        Row("required", 4, Form::Flag),
        Row("schema", 5, Form::One(&SCHEMA)),
    ],
    marks: 6,
};

static PATH_PARAMETER: Message = Message {
    rows: &[
        Row("required", 1, Form::Flag),
        Row("in", 2, Form::Text),
        Row("description", 3, Form::Text),
        Row("name", 4, Form::Text),
        Row("type", 5, Form::Text),
        Row("format", 6, Form::Text),
        Row("uniqueItems", 19, Form::Flag),
    ],
    marks: 22,
};

static QUERY_PARAMETER: Message = Message {
    rows: &[
        Row("required", 1, Form::Flag),
        Row("in", 2, Form::Text),
        Row("description", 3, Form::Text),
        Row("name", 4, Form::Text),
        Row("type", 6, Form::Text),
        Row("format", 7, Form::Text),
        Row("uniqueItems", 20, Form::Flag),
    ],
    marks: 23,
};

static SCHEMA: Message = Message {
    rows: &[
        Row("$ref", 1, Form::Text),
        Row("format", 2, Form::Text),
        Row("title", 3, Form::Text),
        Row("description", 4, Form::Text),
        Row("default", 5, Form::Any),
        Row("multipleOf", 6, Form::Double),
        Row("maximum", 7, Form::Double),
        Row("exclusiveMaximum", 8, Form::Flag),
        Row("minimum", 9, Form::Double),
        Row("exclusiveMinimum", 10, Form::Flag),
        Row("maxLength", 11, Form::Whole),
        Row("minLength", 12, Form::Whole),
        Row("pattern", 13, Form::Text),
        Row("maxItems", 14, Form::Whole),
        Row("minItems", 15, Form::Whole),
        Row("uniqueItems", 16, Form::Flag),
        Row("maxProperties", 17, Form::Whole),
        Row("minProperties", 18, Form::Whole),
        Row("required", 19, Form::Texts),
        Row("enum", 20, Form::Anys),
        Row("additionalProperties", 21, Form::SchemaOrFlag),
        Row("type", 22, Form::AroundTexts),
        Row("items", 23, Form::Around(1, &SCHEMA)),
        Row("allOf", 24, Form::Many(&SCHEMA)),
        Row("properties", 25, Form::Named(1, None, &SCHEMA)),
        Row("discriminator", 26, Form::Text),
        Row("readOnly", 27, Form::Flag),
        Row("example", 30, Form::Any),
    ],
    marks: 31,
};

/// Writes a document of version 2.
pub fn version_2_in_protobuf(document: &Value) -> Vec<u8> {
    let mut out = Writer::default();
    DOCUMENT.write(document, &mut out);
    out.finish()
}

impl Message {
    fn write(&self, value: &Value, out: &mut Writer) {
        for Row(name, number, form) in self.rows {
            if let Some(member) = value.get(name) {
                form.write(*number, member, out);
            }
        }
        for (name, mark) in value.as_object().into_iter().flat_map(|fields| fields.iter()) {
            if name.starts_with("x-") {
                nest(self.marks, out, |out| {
                    out.field(1, name.as_bytes());
                    Form::Any.write(2, mark, out);
                });
            }
        }
    }
}

impl Form {
    fn write(&self, number: u32, value: &Value, out: &mut Writer) {
        match self {
            Form::Text => out.field(number, value.as_str().unwrap_or_default().as_bytes()),
            Form::Texts => each(value, |item| Form::Text.write(number, item, out)),
            Form::Flag => write_number(number, value.as_bool().unwrap_or_default().into(), out),
            Form::Whole => write_number(number, value.as_i64().unwrap_or_default() as u64, out),
            Form::Double => {
                out.key(number, FIXED64);
                out.bytes(&value.as_f64().unwrap_or_default().to_le_bytes());
            }
            Form::Any => nest(number, out, |out| out.field(2, yaml::to_string(value).as_bytes())),
            Form::Anys => each(value, |item| Form::Any.write(number, item, out)),
            Form::One(message) => nest(number, out, |out| message.write(value, out)),
            Form::Many(message) => each(value, |item| nest(number, out, |out| message.write(item, out))),
            Form::Around(inner, message) => nest(number, out, |out| {
                each(value, |item| nest(*inner, out, |out| message.write(item, out)));
            }),
            Form::AroundTexts => nest(number, out, |out| Form::Texts.write(1, value, out)),
            Form::Named(entries, around, message) => nest(number, out, |out| {
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
            Form::NamedTexts => each(value, |item| {
                nest(number, out, |out| {
                    for (name, texts) in item.as_object().into_iter().flat_map(|fields| fields.iter()) {
                        nest(1, out, |out| {
                            out.field(1, name.as_bytes());
                            Form::AroundTexts.write(2, texts, out);
                        });
                    }
                });
            }),
            Form::SchemaOrFlag => nest(number, out, |out| match value {
                Value::Bool(flag) => write_number(2, (*flag).into(), out),
                schema => nest(1, out, |out| SCHEMA.write(schema, out)),
            }),
            Form::Parameters => each(value, |item| nest(number, out, |out| write_parameter(item, out))),
        }
    }
}

/// Writes a parameter, which is another message by where it stands in a request.
fn write_parameter(parameter: &Value, out: &mut Writer) {
    let place = parameter.get("in").and_then(Value::as_str).unwrap_or_default();
    nest(1, out, |out| match place {
        "body" => nest(1, out, |out| BODY_PARAMETER.write(parameter, out)),
        "path" => nest(2, out, |out| nest(4, out, |out| PATH_PARAMETER.write(parameter, out))),
        _ => nest(2, out, |out| nest(3, out, |out| QUERY_PARAMETER.write(parameter, out))),
    });
}

fn write_number(number: u32, value: u64, out: &mut Writer) {
    out.key(number, VARINT);
    out.varint(value);
}

/// Writes a field that is a message.
fn nest(number: u32, out: &mut Writer, content: impl FnOnce(&mut Writer)) {
    out.key(number, LENGTH);
    let start = out.begin();
    content(out);
    out.end(start);
}

/// Goes through a list; what is none counts as a list of one.
fn each(value: &Value, mut use_item: impl FnMut(&Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(use_item),
        one => use_item(one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{kinds::Registry, openapi, protobuf::wire::Payload, protobuf::wire::Reader};
    use tenure_schema::Schema;

    /// Finds the contents of a field.
    fn fields(bytes: &[u8], wanted: u32) -> Vec<&[u8]> {
        let mut reader = Reader(bytes);
        let mut found = Vec::new();
        while let Some((number, payload)) = reader.next().unwrap() {
            if let (true, Payload::Bytes(content)) = (number == wanted, payload) {
                found.push(content);
            }
        }
        found
    }

    fn named<'a>(entries: &[&'a [u8]], name: &str) -> &'a [u8] {
        let entry = entries.iter().find(|entry| fields(entry, 1) == [name.as_bytes()]).unwrap();
        fields(entry, 2)[0]
    }

    #[test]
    fn a_client_finds_types_marks_and_parameters_where_it_looks() {
        let document = openapi::version_2(Registry::builtin(), Schema::builtin(), &[]);
        let bytes = version_2_in_protobuf(&document);
        assert_eq!(fields(&bytes, 1), [b"2.0"]);
        let definitions = fields(fields(&bytes, 9)[0], 1);
        let of_json = document.get("definitions").and_then(Value::as_object).unwrap();
        assert_eq!(definitions.len(), of_json.len());
        let pod = named(&definitions, "io.k8s.api.core.v1.PodSpec");
        let containers = named(&fields(fields(pod, 25)[0], 1), "containers");
        assert_eq!(fields(fields(containers, 22)[0], 1), [b"array"]);
        let item = fields(fields(containers, 23)[0], 1)[0];
        assert_eq!(fields(item, 1), [b"#/definitions/io.k8s.api.core.v1.Container"]);
        let key = named(&fields(containers, 31), "x-kubernetes-patch-merge-key");
        assert_eq!(fields(key, 2), [b"name\n"]);
        // Whether a server knows dry runs is asked of the parameters of a patch.
        let path = named(&fields(fields(&bytes, 8)[0], 2), "/api/v1/namespaces/{namespace}/pods/{name}");
        let patch = fields(path, 8)[0];
        let names: Vec<&[u8]> = fields(patch, 8)
            .iter()
            .flat_map(|item| fields(fields(item, 1)[0], 2))
            .map(|of| fields(fields(of, 3)[0], 4)[0])
            .collect();
        assert!(names.contains(&b"dryRun".as_slice()), "{names:?}");
        let kind = named(&fields(patch, 13), "x-kubernetes-group-version-kind");
        assert_eq!(fields(kind, 2), [b"group: \"\"\nkind: Pod\nversion: v1\n"]);
    }
}
