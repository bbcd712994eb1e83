//! The OpenAPI document of version 2 in protobuf, the only one that clients before Kubernetes 1.27 read: the table of its
//! messages for the engine in `binary.rs`.

use super::binary::{Member, Message, WireForm, write};
use tenure_value::Value;

/// Writes a document of version 2.
pub fn version_2_in_protobuf(document: &Value) -> Vec<u8> {
    write(&DOCUMENT, document)
}

/// The messages of parameters in a body, a query and a path.
const PARAMETERS: [&Message; 3] = [&BODY_PARAMETER, &QUERY_PARAMETER, &PATH_PARAMETER];

static DOCUMENT: Message = Message {
    rows: &[
        Member("swagger", 1, WireForm::Text),
        Member("info", 2, WireForm::One(&INFO)),
        Member("paths", 8, WireForm::Named(2, None, &PATH)),
        Member("definitions", 9, WireForm::Named(1, None, &SCHEMA)),
        Member("security", 12, WireForm::NamedTexts),
        Member("securityDefinitions", 13, WireForm::Named(1, Some(2), &API_KEY)),
    ],
    marks: 16,
    may_be_reference: false,
};

static INFO: Message = Message {
    rows: &[
        Member("title", 1, WireForm::Text),
        Member("version", 2, WireForm::Text),
        Member("description", 3, WireForm::Text),
    ],
    marks: 7,
    may_be_reference: false,
};

static API_KEY: Message = Message {
    rows: &[
        Member("type", 1, WireForm::Text),
        Member("name", 2, WireForm::Text),
        Member("in", 3, WireForm::Text),
        Member("description", 4, WireForm::Text),
    ],
    marks: 5,
    may_be_reference: false,
};

static PATH: Message = Message {
    rows: &[
        Member("get", 2, WireForm::One(&OPERATION)),
        Member("put", 3, WireForm::One(&OPERATION)),
        Member("post", 4, WireForm::One(&OPERATION)),
        Member("delete", 5, WireForm::One(&OPERATION)),
        Member("options", 6, WireForm::One(&OPERATION)),
        Member("head", 7, WireForm::One(&OPERATION)),
        Member("patch", 8, WireForm::One(&OPERATION)),
        Member("parameters", 9, WireForm::Parameters(PARAMETERS)),
    ],
    marks: 10,
    may_be_reference: false,
};

static OPERATION: Message = Message {
    rows: &[
        Member("tags", 1, WireForm::Texts),
        Member("summary", 2, WireForm::Text),
        Member("description", 3, WireForm::Text),
        Member("operationId", 5, WireForm::Text),
        Member("produces", 6, WireForm::Texts),
        Member("consumes", 7, WireForm::Texts),
        Member("parameters", 8, WireForm::Parameters(PARAMETERS)),
        Member("responses", 9, WireForm::Named(1, Some(1), &RESPONSE)),
        Member("schemes", 10, WireForm::Texts),
        Member("deprecated", 11, WireForm::Flag),
    ],
    marks: 13,
    may_be_reference: false,
};

static RESPONSE: Message = Message {
    rows: &[Member("description", 1, WireForm::Text), Member("schema", 2, WireForm::Around(1, &SCHEMA))],
    marks: 5,
    may_be_reference: false,
};

static BODY_PARAMETER: Message = Message {
    rows: &[
        Member("description", 1, WireForm::Text),
        Member("name", 2, WireForm::Text),
        Member("in", 3, WireForm::Text),
        Member("required", 4, WireForm::Flag),
        Member("schema", 5, WireForm::One(&SCHEMA)),
    ],
    marks: 6,
    may_be_reference: false,
};

static PATH_PARAMETER: Message = Message {
    rows: &[
        Member("required", 1, WireForm::Flag),
        Member("in", 2, WireForm::Text),
        Member("description", 3, WireForm::Text),
        Member("name", 4, WireForm::Text),
        Member("type", 5, WireForm::Text),
        Member("format", 6, WireForm::Text),
        Member("uniqueItems", 19, WireForm::Flag),
    ],
    marks: 22,
    may_be_reference: false,
};

static QUERY_PARAMETER: Message = Message {
    rows: &[
        Member("required", 1, WireForm::Flag),
        Member("in", 2, WireForm::Text),
        Member("description", 3, WireForm::Text),
        Member("name", 4, WireForm::Text),
        Member("type", 6, WireForm::Text),
        Member("format", 7, WireForm::Text),
        Member("uniqueItems", 20, WireForm::Flag),
    ],
    marks: 23,
    may_be_reference: false,
};

static SCHEMA: Message = Message {
    rows: &[
        Member("$ref", 1, WireForm::Text),
        Member("format", 2, WireForm::Text),
        Member("title", 3, WireForm::Text),
        Member("description", 4, WireForm::Text),
        Member("default", 5, WireForm::Any),
        Member("multipleOf", 6, WireForm::Double),
        Member("maximum", 7, WireForm::Double),
        Member("exclusiveMaximum", 8, WireForm::Flag),
        Member("minimum", 9, WireForm::Double),
        Member("exclusiveMinimum", 10, WireForm::Flag),
        Member("maxLength", 11, WireForm::Integer),
        Member("minLength", 12, WireForm::Integer),
        Member("pattern", 13, WireForm::Text),
        Member("maxItems", 14, WireForm::Integer),
        Member("minItems", 15, WireForm::Integer),
        Member("uniqueItems", 16, WireForm::Flag),
        Member("maxProperties", 17, WireForm::Integer),
        Member("minProperties", 18, WireForm::Integer),
        Member("required", 19, WireForm::Texts),
        Member("enum", 20, WireForm::Anys),
        Member("additionalProperties", 21, WireForm::OrFlag(&SCHEMA)),
        Member("type", 22, WireForm::AroundTexts),
        Member("items", 23, WireForm::Around(1, &SCHEMA)),
        Member("allOf", 24, WireForm::Many(&SCHEMA)),
        Member("properties", 25, WireForm::Named(1, None, &SCHEMA)),
        Member("discriminator", 26, WireForm::Text),
        Member("readOnly", 27, WireForm::Flag),
        Member("example", 30, WireForm::Any),
    ],
    marks: 31,
    may_be_reference: false,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openapi::binary::read::*;
    use tenure_profile::KubernetesVersion;

    #[test]
    fn types_extensions_and_parameters_have_their_field_numbers() {
        let document = crate::openapi::version_2(tenure_builtin::registry(), KubernetesVersion::DEFAULT, &[]);
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
