//! The documents of extension API servers: the part of a document in version 2 that is about one group and version, the merge of such
//! parts into one document, and the conversion to version 3 for servers that have version 2 only.

use std::collections::{BTreeMap, BTreeSet};
use tenure_value::{Object, Text, Value};

const DEFINITIONS: &str = "#/definitions/";
const SCHEMAS: &str = "#/components/schemas/";
/// The members of a parameter in version 2 that belong to its schema in version 3.
const SCHEMA_MEMBERS: [&str; 11] = [
    "default",
    "enum",
    "format",
    "items",
    "maxLength",
    "maximum",
    "minLength",
    "minimum",
    "pattern",
    "type",
    "uniqueItems",
];
const METHODS: [&str; 7] = ["delete", "get", "head", "options", "patch", "post", "put"];

/// Returns the part of a document in version 2 whose paths begin with a prefix, with the definitions that they use.
pub fn filter_version_2(document: &Value, prefix: &str) -> Value {
    let paths = members(document, "paths").filter(|(path, _)| path.starts_with(prefix));
    let paths: Vec<(Text, Value)> = paths.map(|(path, item)| (path.clone(), item.clone())).collect();
    let all: BTreeMap<&str, &Value> =
        members(document, "definitions").map(|(name, definition)| (name.as_str(), definition)).collect();
    let mut waiting: Vec<Text> = Vec::new();
    paths.iter().for_each(|(_, item)| references(item, &mut waiting));
    let mut used: BTreeSet<Text> = BTreeSet::new();
    while let Some(name) = waiting.pop() {
        if let Some(definition) = all.get(name.as_str())
            && used.insert(name)
        {
            references(definition, &mut waiting);
        }
    }
    let definitions =
        used.into_iter().filter_map(|name| Some((name.clone(), (*all.get(name.as_str())?).clone())));
    fields(document)
        .with("paths", Value::object(paths))
        .with("definitions", Value::object(definitions))
        .into()
}

/// Adds the paths and definitions of other documents in version 2 to one. A path that exists already is kept; a definition of the
/// same name with another content is renamed.
pub fn merge_version_2<'a>(own: Value, others: impl Iterator<Item = &'a Value>) -> Value {
    let mut others = others.peekable();
    if others.peek().is_none() {
        return own;
    }
    let collect = |name: &str| -> BTreeMap<Text, Value> {
        members(&own, name).map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let (mut paths, mut definitions) = (collect("paths"), collect("definitions"));
    for other in others {
        let mut names: BTreeMap<Text, Text> = BTreeMap::new();
        for (name, definition) in members(other, "definitions") {
            let is_free = |name: &str| definitions.get(name).is_none_or(|existing| existing == definition);
            if !is_free(name) {
                let renamed = (2..).map(|number| Text::from(format!("{name}_v{number}")));
                let renamed = renamed.into_iter().find(|name| is_free(name));
                names.extend(renamed.map(|renamed| (name.clone(), renamed)));
            }
        }
        let rename = |value: &Value| {
            if names.is_empty() {
                value.clone()
            } else {
                with_references(value, &|name| renamed(name, &names))
            }
        };
        for (name, definition) in members(other, "definitions") {
            let name = names.get(name).unwrap_or(name);
            definitions.entry(name.clone()).or_insert_with(|| rename(definition));
        }
        for (path, item) in members(other, "paths") {
            paths.entry(path.clone()).or_insert_with(|| rename(item));
        }
    }
    fields(&own).with("paths", Value::object(paths)).with("definitions", Value::object(definitions)).into()
}

fn renamed(reference: &str, names: &BTreeMap<Text, Text>) -> Option<Text> {
    let name = names.get(reference.strip_prefix(DEFINITIONS)?)?;
    Some(format!("{DEFINITIONS}{name}").into())
}

/// Converts a document in version 2 to version 3.
pub fn convert_to_version_3(document: &Value) -> Value {
    let to_schemas =
        |reference: &str| Some(Text::from(format!("{SCHEMAS}{}", reference.strip_prefix(DEFINITIONS)?)));
    let document = with_references(document, &to_schemas);
    let media_types = |operation: &Value, name: &str| -> Vec<Text> {
        let listed = operation.get(name).or_else(|| document.get(name)).and_then(Value::as_array);
        let listed = listed.map(|list| list.items()).unwrap_or_default().iter();
        let listed: Vec<Text> = listed.filter_map(|ty| ty.as_str().map(Text::new)).collect();
        if listed.is_empty() { vec!["application/json".into()] } else { listed }
    };
    let content = |types: Vec<Text>, schema: &Value| {
        let body = Value::object([("schema", schema.clone())]);
        Value::object(types.into_iter().map(|name| (name, body.clone())))
    };
    let paths = members(&document, "paths").map(|(path, item)| {
        let mut converted = fields(item);
        let (parameters, _) = convert_parameters(item);
        if let Some(parameters) = parameters {
            converted = converted.with("parameters", parameters);
        }
        for method in METHODS {
            let Some(operation) = item.get(method) else { continue };
            let (parameters, body) = convert_parameters(operation);
            let mut kept = fields(operation).without("consumes").without("produces").without("schemes");
            if let Some(parameters) = parameters {
                kept = kept.with("parameters", parameters);
            }
            if let Some(body) = body {
                let schema = body.get("schema").cloned().unwrap_or_default();
                let mut request = fields(&Value::Null);
                for name in ["description", "required"] {
                    if let Some(value) = body.get(name) {
                        request = request.with(name, value.clone());
                    }
                }
                let types = media_types(operation, "consumes");
                let types =
                    types.into_iter().map(|ty| if ty == "*/*" { "application/json".into() } else { ty });
                kept = kept.with("requestBody", request.with("content", content(types.collect(), &schema)));
            }
            let responses = members(operation, "responses").map(|(code, response)| {
                let kept = fields(response).without("schema").without("headers");
                let response = match response.get("schema") {
                    Some(schema) => kept.with("content", content(media_types(operation, "produces"), schema)),
                    None => kept,
                };
                (code.clone(), Value::from(response))
            });
            converted = converted.with(method, kept.with("responses", Value::object(responses)));
        }
        (path.clone(), Value::from(converted))
    });
    let schemas = document.get("definitions").cloned().unwrap_or_else(|| Value::object::<Text>([]));
    Value::object([
        ("openapi", Value::from("3.0.0")),
        ("info", document.get("info").cloned().unwrap_or_else(|| Value::object::<Text>([]))),
        ("paths", Value::object(paths)),
        ("components", Value::object([("schemas", schemas)])),
    ])
}

/// Returns the parameters of an operation or a path in version 3, if it has any, and the one that is the body.
fn convert_parameters(given: &Value) -> (Option<Value>, Option<&Value>) {
    let Some(parameters) = given.get("parameters").and_then(Value::as_array) else { return (None, None) };
    let place = |parameter: &Value| parameter.get("in").and_then(Value::as_str).map(str::to_string);
    let body = parameters.iter().find(|parameter| place(parameter).as_deref() == Some("body"));
    let others = parameters.iter().filter(|parameter| place(parameter).as_deref() != Some("body"));
    let others = others.map(|parameter| {
        let is_schema = |name: &str| SCHEMA_MEMBERS.contains(&name);
        let members = fields(parameter);
        let (schema, kept): (Vec<_>, Vec<_>) = members
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .partition(|(name, _)| is_schema(name));
        match schema.is_empty() {
            true => parameter.clone(),
            false => fields(&Value::object(kept)).with("schema", Value::object(schema)).into(),
        }
    });
    (Some(Value::array(others)), body)
}

fn fields(value: &Value) -> Object {
    value.as_object().cloned().unwrap_or_default()
}

fn members<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = (&'a Text, &'a Value)> {
    value.get(name).and_then(Value::as_object).into_iter().flat_map(Object::iter)
}

/// Collects the names of the definitions that a value refers to.
fn references(value: &Value, found: &mut Vec<Text>) {
    match value {
        Value::Object(object) => {
            let reference = object.get("$ref").and_then(Value::as_str);
            found.extend(reference.and_then(|reference| reference.strip_prefix(DEFINITIONS)).map(Text::new));
            object.iter().for_each(|(_, value)| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// Returns a value with other references, where the function gives one.
fn with_references(value: &Value, rename: &dyn Fn(&str) -> Option<Text>) -> Value {
    match value {
        Value::Object(object) => Value::object(object.iter().map(|(name, value)| {
            let reference = value.as_str().filter(|_| name == "$ref").and_then(rename);
            let value = reference.map_or_else(|| with_references(value, rename), Value::from);
            (name.clone(), value)
        })),
        Value::Array(items) => Value::array(items.iter().map(|item| with_references(item, rename))),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    const REMOTE: &str = r##"{"swagger":"2.0","consumes":["*/*"],"paths":{
        "/apis/g/v1/things":{"parameters":[{"name":"pretty","in":"query","type":"string","description":"d"}],
            "post":{"operationId":"create","consumes":["*/*"],"produces":["application/json"],
                "parameters":[{"name":"body","in":"body","required":true,"schema":{"$ref":"#/definitions/Thing"}}],
                "responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/Thing"}}}}},
        "/apis/other/v1/":{"get":{"responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/Other"}}}}}},
        "definitions":{"Thing":{"properties":{"meta":{"$ref":"#/definitions/Meta"}}},"Meta":{"type":"object"},"Other":{}}}"##;

    #[test]
    fn a_part_has_the_paths_of_a_version_and_what_they_use() {
        let part = filter_version_2(&value(REMOTE), "/apis/g/v1/");
        let names = |name: &str| members(&part, name).map(|(name, _)| name.to_string()).collect::<Vec<_>>();
        assert_eq!(names("paths"), ["/apis/g/v1/things"]);
        assert_eq!(names("definitions"), ["Meta", "Thing"]);
    }

    #[test]
    fn definitions_of_the_same_name_are_renamed_unless_they_are_equal() {
        let own = r##"{"swagger":"2.0","paths":{"/apis/g/v1/":{"kept":true}},
            "definitions":{"Thing":{"type":"string"},"Meta":{"type":"object"}}}"##;
        let part = filter_version_2(&value(REMOTE), "/apis/g/v1/");
        let merged = merge_version_2(value(own), [&part, &part].into_iter());
        let names = |name: &str| members(&merged, name).map(|(name, _)| name.to_string()).collect::<Vec<_>>();
        assert_eq!(names("definitions"), ["Meta", "Thing", "Thing_v2"]);
        assert_eq!(names("paths"), ["/apis/g/v1/", "/apis/g/v1/things"]);
        let used = merged.at(["paths", "/apis/g/v1/things", "post", "responses", "200", "schema", "$ref"]);
        assert_eq!(used.and_then(Value::as_str), Some("#/definitions/Thing_v2"));
        assert_eq!(merge_version_2(value(own), [].into_iter()), value(own));
    }

    #[test]
    fn a_document_is_converted_to_version_3() {
        let part = filter_version_2(&value(REMOTE), "/apis/g/v1/");
        let expected = r##"{"openapi":"3.0.0","info":{},
            "paths":{"/apis/g/v1/things":{
                "parameters":[{"name":"pretty","in":"query","description":"d","schema":{"type":"string"}}],
                "post":{"operationId":"create","parameters":[],
                    "requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"}}}},
                    "responses":{"200":{"description":"OK","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"}}}}}}}},
            "components":{"schemas":{"Meta":{"type":"object"},
                "Thing":{"properties":{"meta":{"$ref":"#/components/schemas/Meta"}}}}}}"##;
        assert_eq!(convert_to_version_3(&part), value(expected));
    }
}
