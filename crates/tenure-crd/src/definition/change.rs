//! Warnings about changes of a definition that affect ownership: lists and maps that merge differently. Such
//! a change is accepted with a warning.

use std::collections::HashMap;
use tenure_meta::ValueExt;
use tenure_schema::{crd, merging};
use tenure_value::{Text, Value};

/// Returns a warning for each list and map of a version that merges differently under the new definition.
pub fn merge_changes(old: &Value, new: &Value) -> Vec<String> {
    let versions = |definition: &Value| {
        definition.at(["spec", "versions"]).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let mut warnings = Vec::new();
    let old = versions(old);
    // The first of equal names is the last one to be collected.
    let old: HashMap<Text, &Value> =
        old.iter().rev().map(|version| (version.text("name"), version)).collect();
    for after in versions(new).iter() {
        let name = after.text("name");
        let Some(before) = old.get(&name) else { continue };
        let schemas = [before, after]
            .map(|version| version.at(["schema", "openAPIV3Schema"]).cloned().unwrap_or_default());
        let [before, after] = schemas;
        if before != after {
            let changes = changes(&before, &after).unwrap_or_default();
            warnings.extend(changes.iter().map(|change| {
                let path = change.path.to_string();
                let path = path.strip_prefix('.').unwrap_or(&path);
                let (was, is, so) = (&change.before, &change.after, change.consequence());
                format!("{name}: {path} was {was} and is {is} from now on: {so}")
            }));
        }
    }
    warnings
}

/// Compares two schemas of a version; `None` if one of them is invalid, which is reported elsewhere.
fn changes(before: &Value, after: &Value) -> Option<Vec<merging::MergeChange>> {
    // The names are local to this function.
    const VERSION: &str = "v1";
    const KIND: &str = "Custom";
    let [before, after] = [before, after].map(|schema| crd::compile_version(schema, VERSION, KIND).ok());
    let (before, after) = (before?, after?);
    Some(merging::changes(before.kind(VERSION, KIND)?, after.kind(VERSION, KIND)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(list: &str) -> Value {
        format!(
            r#"{{"spec":{{"versions":[{{"name":"v1","schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{
            "l":{{"type":"array","items":{{"type":"object","properties":{{"name":{{"type":"string"}},"m":{{"type":"object"}}}},"required":["name"]}}{list}}}}}}}}}}}}}}}]}}}}"#
        )
        .parse()
        .unwrap()
    }

    #[test]
    fn a_list_that_merges_differently_is_reported_with_the_consequence() {
        let keyed = definition(r#","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"]"#);
        let atomic = definition("");
        let warnings = merge_changes(&atomic, &keyed);
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0].starts_with("v1: spec.l was replaced as a whole and is merged by name from now on: "),
            "{warnings:?}"
        );
        assert_eq!(merge_changes(&keyed, &atomic).len(), 1);
        assert_eq!(merge_changes(&keyed, &keyed), Vec::<String>::new());
    }
}
