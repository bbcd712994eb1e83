//! The OpenAPI document of version 2 in protobuf, the only one that clients before Kubernetes 1.27 read: the table of its
//! messages for the engine in `binary.rs`.

use super::binary::{Form, Message, Row, write};
use tenure_value::Value;

/// Writes a document of version 2.
pub fn version_2_in_protobuf(document: &Value) -> Vec<u8> {
    write(&DOCUMENT, document)
}

/// The messages of parameters in a body, a query and a path.
const PARAMETERS: [&Message; 3] = [&BODY_PARAMETER, &QUERY_PARAMETER, &PATH_PARAMETER];

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
    may_be_reference: false,
};

static INFO: Message = Message {
    rows: &[Row("title", 1, Form::Text), Row("version", 2, Form::Text), Row("description", 3, Form::Text)],
    marks: 7,
    may_be_reference: false,
};

static API_KEY: Message = Message {
    rows: &[
        Row("type", 1, Form::Text),
        Row("name", 2, Form::Text),
        Row("in", 3, Form::Text),
        Row("description", 4, Form::Text),
    ],
    marks: 5,
    may_be_reference: false,
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
        Row("parameters", 9, Form::Parameters(PARAMETERS)),
    ],
    marks: 10,
    may_be_reference: false,
};

static OPERATION: Message = Message {
    rows: &[
        Row("tags", 1, Form::Texts),
        Row("summary", 2, Form::Text),
        Row("description", 3, Form::Text),
        Row("operationId", 5, Form::Text),
        Row("produces", 6, Form::Texts),
        Row("consumes", 7, Form::Texts),
        Row("parameters", 8, Form::Parameters(PARAMETERS)),
        Row("responses", 9, Form::Named(1, Some(1), &RESPONSE)),
        Row("schemes", 10, Form::Texts),
        Row("deprecated", 11, Form::Flag),
    ],
    marks: 13,
    may_be_reference: false,
};

static RESPONSE: Message = Message {
    rows: &[Row("description", 1, Form::Text), Row("schema", 2, Form::Around(1, &SCHEMA))],
    marks: 5,
    may_be_reference: false,
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
    may_be_reference: false,
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
    may_be_reference: false,
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
    may_be_reference: false,
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
        Row("additionalProperties", 21, Form::OrFlag(&SCHEMA)),
        Row("type", 22, Form::AroundTexts),
        Row("items", 23, Form::Around(1, &SCHEMA)),
        Row("allOf", 24, Form::Many(&SCHEMA)),
        Row("properties", 25, Form::Named(1, None, &SCHEMA)),
        Row("discriminator", 26, Form::Text),
        Row("readOnly", 27, Form::Flag),
        Row("example", 30, Form::Any),
    ],
    marks: 31,
    may_be_reference: false,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::read::*;
    use tenure_profile::KubernetesVersion;

    #[test]
    fn types_extensions_and_parameters_have_their_field_numbers() {
        let document = crate::version_2(tenure_builtin::registry(), KubernetesVersion::DEFAULT, &[]);
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
        // Clients find out from the parameters of a patch whether a server supports dry runs.
        let path = named(&fields(fields(&bytes, 8)[0], 2), "/api/v1/namespaces/{namespace}/pods/{name}");
        let patch = fields(path, 8)[0];
        let names: Vec<&[u8]> = fields(patch, 8)
            .iter()
            .flat_map(|item| fields(fields(item, 1)[0], 2))
            .map(|entry| fields(fields(entry, 3)[0], 4)[0])
            .collect();
        assert!(names.contains(&b"dryRun".as_slice()), "{names:?}");
        let kind = named(&fields(patch, 13), "x-kubernetes-group-version-kind");
        assert_eq!(fields(kind, 2), [b"group: \"\"\nkind: Pod\nversion: v1\n"]);
    }
}
