//! The OpenAPI documents of version 3 in protobuf: the table of their messages for the engine in `binary.rs`. Wherever the
//! format allows a reference, it is wrapped in a message of its own.

use super::binary::{Member, Message, WireForm, write};
use tenure_value::Value;

/// Writes a document of version 3.
pub fn version_3_in_protobuf(document: &Value) -> Vec<u8> {
    write(&DOCUMENT, document)
}

static DOCUMENT: Message = Message {
    rows: &[
        Member("openapi", 1, WireForm::Text),
        Member("info", 2, WireForm::One(&INFO)),
        Member("paths", 4, WireForm::Named(1, None, &PATH)),
        Member("components", 5, WireForm::One(&COMPONENTS)),
        Member("security", 6, WireForm::NamedTexts),
    ],
    marks: 9,
    may_be_reference: false,
};

static INFO: Message = Message {
    rows: &[
        Member("title", 1, WireForm::Text),
        Member("description", 2, WireForm::Text),
        Member("version", 6, WireForm::Text),
    ],
    marks: 7,
    may_be_reference: false,
};

static PATH: Message = Message {
    rows: &[
        Member("get", 4, WireForm::One(&OPERATION)),
        Member("put", 5, WireForm::One(&OPERATION)),
        Member("post", 6, WireForm::One(&OPERATION)),
        Member("delete", 7, WireForm::One(&OPERATION)),
        Member("options", 8, WireForm::One(&OPERATION)),
        Member("head", 9, WireForm::One(&OPERATION)),
        Member("patch", 10, WireForm::One(&OPERATION)),
        Member("parameters", 13, WireForm::Many(&PARAMETER)),
    ],
    marks: 14,
    may_be_reference: false,
};

static OPERATION: Message = Message {
    rows: &[
        Member("tags", 1, WireForm::Texts),
        Member("summary", 2, WireForm::Text),
        Member("description", 3, WireForm::Text),
        Member("operationId", 5, WireForm::Text),
        Member("parameters", 6, WireForm::Many(&PARAMETER)),
        Member("requestBody", 7, WireForm::One(&REQUEST_BODY)),
        Member("responses", 8, WireForm::Named(2, None, &RESPONSE)),
        Member("deprecated", 10, WireForm::Flag),
    ],
    marks: 13,
    may_be_reference: false,
};

static PARAMETER: Message = Message {
    rows: &[
        Member("name", 1, WireForm::Text),
        Member("in", 2, WireForm::Text),
        Member("description", 3, WireForm::Text),
        Member("required", 4, WireForm::Flag),
        Member("schema", 10, WireForm::One(&SCHEMA)),
    ],
    marks: 14,
    may_be_reference: true,
};

static REQUEST_BODY: Message = Message {
    rows: &[
        Member("description", 1, WireForm::Text),
        Member("content", 2, WireForm::Named(1, None, &MEDIA_TYPE)),
        Member("required", 3, WireForm::Flag),
    ],
    marks: 4,
    may_be_reference: true,
};

static RESPONSE: Message = Message {
    rows: &[
        Member("description", 1, WireForm::Text),
        Member("content", 3, WireForm::Named(1, None, &MEDIA_TYPE)),
    ],
    marks: 5,
    may_be_reference: true,
};

static MEDIA_TYPE: Message =
    Message { rows: &[Member("schema", 1, WireForm::One(&SCHEMA))], marks: 5, may_be_reference: false };

static COMPONENTS: Message = Message {
    rows: &[
        Member("schemas", 1, WireForm::Named(1, None, &SCHEMA)),
        Member("securitySchemes", 7, WireForm::Named(1, None, &SECURITY_SCHEME)),
    ],
    marks: 10,
    may_be_reference: false,
};

static SECURITY_SCHEME: Message = Message {
    rows: &[
        Member("type", 1, WireForm::Text),
        Member("description", 2, WireForm::Text),
        Member("name", 3, WireForm::Text),
        Member("in", 4, WireForm::Text),
    ],
    marks: 9,
    may_be_reference: true,
};

static SCHEMA: Message = Message {
    rows: &[
        Member("nullable", 1, WireForm::Flag),
        Member("readOnly", 3, WireForm::Flag),
        Member("example", 7, WireForm::Any),
        Member("deprecated", 8, WireForm::Flag),
        Member("title", 9, WireForm::Text),
        Member("multipleOf", 10, WireForm::Double),
        Member("maximum", 11, WireForm::Double),
        Member("exclusiveMaximum", 12, WireForm::Flag),
        Member("minimum", 13, WireForm::Double),
        Member("exclusiveMinimum", 14, WireForm::Flag),
        Member("maxLength", 15, WireForm::Integer),
        Member("minLength", 16, WireForm::Integer),
        Member("pattern", 17, WireForm::Text),
        Member("maxItems", 18, WireForm::Integer),
        Member("minItems", 19, WireForm::Integer),
        Member("uniqueItems", 20, WireForm::Flag),
        Member("maxProperties", 21, WireForm::Integer),
        Member("minProperties", 22, WireForm::Integer),
        Member("required", 23, WireForm::Texts),
        Member("enum", 24, WireForm::Anys),
        Member("type", 25, WireForm::Text),
        Member("allOf", 26, WireForm::Many(&SCHEMA)),
        Member("oneOf", 27, WireForm::Many(&SCHEMA)),
        Member("anyOf", 28, WireForm::Many(&SCHEMA)),
        Member("not", 29, WireForm::Bare(&SCHEMA)),
        Member("items", 30, WireForm::Around(1, &SCHEMA)),
        Member("properties", 31, WireForm::Named(1, None, &SCHEMA)),
        Member("additionalProperties", 32, WireForm::OrFlag(&SCHEMA)),
        Member("default", 33, WireForm::Scalar),
        Member("description", 34, WireForm::Text),
        Member("format", 35, WireForm::Text),
    ],
    marks: 36,
    may_be_reference: true,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::binary::read::*;
    use tenure_profile::KubernetesVersion;

    #[test]
    fn types_references_and_parameters_have_their_field_numbers() {
        let document = crate::openapi::version_3(
            tenure_builtin::registry(),
            KubernetesVersion::DEFAULT,
            "apps",
            "v1",
            &[],
        );
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
