//! Warnings about the schemas of a definition: formats that are not enforced, and sets that cannot be merged.

use crate::format;
use std::collections::BTreeSet;
use tenure_meta::{Seen, ValueExt};
use tenure_profile::{Behaviour, KubernetesVersion};
use tenure_value::{Text, Value};

/// Returns the warnings about the schemas of a definition, but for those that it had before.
pub fn schema_warnings(version: KubernetesVersion, new: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = format_warnings(new, old);
    if version.has(Behaviour::UnmergedSetsAnnounced) {
        let had = old.map(unmerged_sets).unwrap_or_default();
        warnings.extend(unmerged_sets(new).difference(&had).map(|of| {
            format!(
                "x-kubernetes-list-type: set for items of type {:?} is not supported by server-side apply or CEL validation rules",
                of.as_str()
            )
        }));
    }
    warnings
}

/// Returns the types of the items of sets that are not scalars.
fn unmerged_sets(definition: &Value) -> BTreeSet<Text> {
    let mut found = BTreeSet::new();
    visit_all(definition, &mut |schema| {
        let of = schema.get("items").map(|items| items.text("type")).unwrap_or_default();
        if schema.text("x-kubernetes-list-type") == "set" && matches!(of.as_str(), "object" | "array") {
            found.insert(of);
        }
    });
    found
}

/// Returns a warning for each format of a definition that is not known, but for those that it had before.
fn format_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let known = |name: &Text| format!("unrecognized format {:?}", name.as_str());
    let mut seen: Seen<Text> = old.map(unknown_formats).unwrap_or_default().into_iter().collect();
    unknown_formats(new)
        .into_iter()
        .filter(|name| seen.insert(name.clone()))
        .map(|name| known(&name))
        .collect()
}

fn unknown_formats(definition: &Value) -> Vec<Text> {
    let mut found = Vec::new();
    visit_all(definition, &mut |schema| {
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
    });
    found
}

/// Visits the schemas of all versions of a definition, and those inside of them.
fn visit_all(definition: &Value, see: &mut dyn FnMut(&Value)) {
    let versions = definition.get("spec").unwrap_or(&Value::Null).items("versions");
    for schema in versions.iter().filter_map(|version| version.at(["schema", "openAPIV3Schema"])) {
        visit(schema, see);
    }
}

fn visit(schema: &Value, see: &mut dyn FnMut(&Value)) {
    see(schema);
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|list| schema.items(list));
    let below = ["items", "not", "additionalProperties"].into_iter().filter_map(|name| schema.get(name));
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let fields = fields.map(|(_, field)| field);
    for below in below.chain(lists).chain(fields).filter(|below| below.as_object().is_some()) {
        visit(below, see);
    }
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

    #[test]
    fn new_sets_of_objects_and_lists_are_announced() {
        let definition = |of: &str| -> Value {
            format!(
                r#"{{"spec":{{"versions":[{{"schema":{{"openAPIV3Schema":{{"properties":{{"a":{{"type":"array","x-kubernetes-list-type":"set",
                "items":{{"type":"{of}"}}}}}}}}}}}}]}}}}"#
            )
            .parse()
            .unwrap()
        };
        let (objects, texts) = (definition("object"), definition("string"));
        let warning = "x-kubernetes-list-type: set for items of type \"object\" is not supported by server-side apply or CEL validation rules";
        let of = |version, new, old| schema_warnings(version, new, old);
        assert_eq!(of(KubernetesVersion::V1_37, &objects, None), [warning]);
        assert_eq!(of(KubernetesVersion::V1_37, &objects, Some(&texts)), [warning]);
        for (version, new, old) in [
            (KubernetesVersion::V1_37, &objects, Some(&objects)),
            (KubernetesVersion::V1_37, &texts, None),
            (KubernetesVersion::V1_36, &objects, None),
        ] {
            assert_eq!(of(version, new, old), Vec::<String>::new());
        }
    }
}
