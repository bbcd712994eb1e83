//! Warnings about formats in the schemas of a definition that are not enforced.

use crate::format;
use tenure_meta::{Seen, ValueExt};
use tenure_value::{Text, Value};

/// Returns a warning for each format of a definition that is not known, but for those that it had before.
pub fn format_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let known = |name: &Text| format!("unrecognized format {:?}", name.as_str());
    let mut seen: Seen<Text> = old.map(unknown_formats).unwrap_or_default().into_iter().collect();
    unknown_formats(new)
        .into_iter()
        .filter(|name| seen.insert(name.clone()))
        .map(|name| known(&name))
        .collect()
}

fn unknown_formats(definition: &Value) -> Vec<Text> {
    let versions = definition.get("spec").unwrap_or(&Value::Null).items("versions");
    let mut found = Vec::new();
    for schema in versions.iter().filter_map(|version| version.at(["schema", "openAPIV3Schema"])) {
        collect(schema, &mut found);
    }
    found
}

fn collect(schema: &Value, found: &mut Vec<Text>) {
    let name = schema.text("format");
    let is_known = match schema.text("type").as_str() {
        "" | "string" => format::is_enforced(&name),
        "integer" => matches!(name.as_str(), "int32" | "int64"),
        "number" => matches!(name.as_str(), "float" | "double"),
        _ => false,
    };
    if !name.is_empty() && !is_known {
        found.push(name);
    }
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|list| schema.items(list));
    let below = ["items", "not", "additionalProperties"].into_iter().filter_map(|name| schema.get(name));
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let fields = fields.map(|(_, field)| field);
    below.chain(lists).chain(fields).filter(|below| below.as_object().is_some()).for_each(|below| {
        collect(below, found);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_formats_that_are_not_enforced_are_announced() {
        let definition = |format: &str| -> Value {
            format!(
                r#"{{"spec":{{"versions":[{{"schema":{{"openAPIV3Schema":{{"properties":{{"a":{{"type":"string","format":"{format}"}},
                "b":{{"type":"array","items":{{"type":"integer","format":"date"}}}}}}}}}}}}]}}}}"#
            )
            .parse()
            .unwrap()
        };
        let (odd, plain) = (definition("odd"), definition("date-time"));
        assert_eq!(
            format_warnings(&odd, None),
            [r#"unrecognized format "odd""#, r#"unrecognized format "date""#]
        );
        assert_eq!(format_warnings(&odd, Some(&plain)), [r#"unrecognized format "odd""#]);
        assert_eq!(format_warnings(&plain, Some(&odd)), Vec::<String>::new());
    }
}
