//! The OpenAPI documents of version 3 in protobuf: the table of their messages for the engine in `binary.rs`. Wherever the
//! format allows a reference, it is wrapped in a message of its own.

use super::binary::{Form, Message, Row, write};
use tenure_value::Value;

/// Writes a document of version 3.
pub fn version_3_in_protobuf(document: &Value) -> Vec<u8> {
    write(&DOCUMENT, document)
}

static DOCUMENT: Message = Message {
    rows: &[
        Row("openapi", 1, Form::Text),
        Row("info", 2, Form::One(&INFO)),
        Row("paths", 4, Form::Named(1, None, &PATH)),
        Row("components", 5, Form::One(&COMPONENTS)),
        Row("security", 6, Form::NamedTexts),
    ],
    marks: 9,
    may_be_reference: false,
};

static INFO: Message = Message {
    rows: &[Row("title", 1, Form::Text), Row("description", 2, Form::Text), Row("version", 6, Form::Text)],
    marks: 7,
    may_be_reference: false,
};

static PATH: Message = Message {
    rows: &[
        Row("get", 4, Form::One(&OPERATION)),
        Row("put", 5, Form::One(&OPERATION)),
        Row("post", 6, Form::One(&OPERATION)),
        Row("delete", 7, Form::One(&OPERATION)),
        Row("options", 8, Form::One(&OPERATION)),
        Row("head", 9, Form::One(&OPERATION)),
        Row("patch", 10, Form::One(&OPERATION)),
        Row("parameters", 13, Form::Many(&PARAMETER)),
    ],
    marks: 14,
    may_be_reference: false,
};

static OPERATION: Message = Message {
    rows: &[
        Row("tags", 1, Form::Texts),
        Row("summary", 2, Form::Text),
        Row("description", 3, Form::Text),
        Row("operationId", 5, Form::Text),
        Row("parameters", 6, Form::Many(&PARAMETER)),
        Row("requestBody", 7, Form::One(&REQUEST_BODY)),
        Row("responses", 8, Form::Named(2, None, &RESPONSE)),
        Row("deprecated", 10, Form::Flag),
    ],
    marks: 13,
    may_be_reference: false,
};

static PARAMETER: Message = Message {
    rows: &[
        Row("name", 1, Form::Text),
        Row("in", 2, Form::Text),
        Row("description", 3, Form::Text),
        Row("required", 4, Form::Flag),
        Row("schema", 10, Form::One(&SCHEMA)),
    ],
    marks: 14,
    may_be_reference: true,
};

static REQUEST_BODY: Message = Message {
    rows: &[
        Row("description", 1, Form::Text),
        Row("content", 2, Form::Named(1, None, &MEDIA_TYPE)),
        Row("required", 3, Form::Flag),
    ],
    marks: 4,
    may_be_reference: true,
};

static RESPONSE: Message = Message {
    rows: &[Row("description", 1, Form::Text), Row("content", 3, Form::Named(1, None, &MEDIA_TYPE))],
    marks: 5,
    may_be_reference: true,
};

static MEDIA_TYPE: Message =
    Message { rows: &[Row("schema", 1, Form::One(&SCHEMA))], marks: 5, may_be_reference: false };

static COMPONENTS: Message = Message {
    rows: &[
        Row("schemas", 1, Form::Named(1, None, &SCHEMA)),
        Row("securitySchemes", 7, Form::Named(1, None, &SECURITY_SCHEME)),
    ],
    marks: 10,
    may_be_reference: false,
};

static SECURITY_SCHEME: Message = Message {
    rows: &[
        Row("type", 1, Form::Text),
        Row("description", 2, Form::Text),
        Row("name", 3, Form::Text),
        Row("in", 4, Form::Text),
    ],
    marks: 9,
    may_be_reference: true,
};

static SCHEMA: Message = Message {
    rows: &[
        Row("nullable", 1, Form::Flag),
        Row("readOnly", 3, Form::Flag),
        Row("example", 7, Form::Any),
        Row("deprecated", 8, Form::Flag),
        Row("title", 9, Form::Text),
        Row("multipleOf", 10, Form::Double),
        Row("maximum", 11, Form::Double),
        Row("exclusiveMaximum", 12, Form::Flag),
        Row("minimum", 13, Form::Double),
        Row("exclusiveMinimum", 14, Form::Flag),
        Row("maxLength", 15, Form::Whole),
        Row("minLength", 16, Form::Whole),
        Row("pattern", 17, Form::Text),
        Row("maxItems", 18, Form::Whole),
        Row("minItems", 19, Form::Whole),
        Row("uniqueItems", 20, Form::Flag),
        Row("maxProperties", 21, Form::Whole),
        Row("minProperties", 22, Form::Whole),
        Row("required", 23, Form::Texts),
        Row("enum", 24, Form::Anys),
        Row("type", 25, Form::Text),
        Row("allOf", 26, Form::Many(&SCHEMA)),
        Row("oneOf", 27, Form::Many(&SCHEMA)),
        Row("anyOf", 28, Form::Many(&SCHEMA)),
        Row("not", 29, Form::Bare(&SCHEMA)),
        Row("items", 30, Form::Around(1, &SCHEMA)),
        Row("properties", 31, Form::Named(1, None, &SCHEMA)),
        Row("additionalProperties", 32, Form::OrFlag(&SCHEMA)),
        Row("default", 33, Form::Scalar),
        Row("description", 34, Form::Text),
        Row("format", 35, Form::Text),
    ],
    marks: 36,
    may_be_reference: true,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::read::*;
    use tenure_profile::KubernetesVersion;

    #[test]
    fn types_references_and_parameters_have_their_field_numbers() {
        let document =
            crate::version_3(tenure_builtin::registry(), KubernetesVersion::DEFAULT, "apps", "v1", &[]);
        let bytes = version_3_in_protobuf(&document);
        assert_eq!(fields(&bytes, 1), [b"3.0.0"]);
        let schemas = fields(fields(fields(&bytes, 5)[0], 1)[0], 1);
        let of_json = document.at(["components", "schemas"]).and_then(Value::as_object).unwrap();
        assert_eq!(schemas.len(), of_json.len());
        let schema_of = |name: &str| fields(named(&schemas, name), 1)[0];
        let spec = fields(fields(schema_of("io.k8s.api.core.v1.PodSpec"), 31)[0], 1);
        let containers = fields(named(&spec, "containers"), 1)[0];
        assert_eq!(fields(containers, 25), [b"array"]);
        // The type of an item is a reference, plain or in `allOf`.
        let item = fields(fields(containers, 30)[0], 1)[0];
        let reference = match fields(item, 2)[..] {
            [reference] => reference,
            _ => fields(fields(fields(item, 1)[0], 26)[0], 2)[0],
        };
        assert_eq!(fields(reference, 1), [b"#/components/schemas/io.k8s.api.core.v1.Container"]);
        let key = named(&fields(containers, 36), "x-kubernetes-patch-merge-key");
        assert_eq!(fields(key, 2), [b"name\n"]);
        let paths = fields(fields(&bytes, 4)[0], 1);
        let patch = fields(named(&paths, "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"), 10)[0];
        let names: Vec<&[u8]> =
            fields(patch, 6).iter().map(|item| fields(fields(item, 1)[0], 1)[0]).collect();
        assert!(names.contains(&b"fieldValidation".as_slice()), "{names:?}");
    }
}
