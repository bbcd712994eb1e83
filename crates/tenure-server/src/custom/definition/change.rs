//! What a change of a definition does to ownership: lists and maps that merge in another way from now on. Such a
//! change is accepted; its author is told what follows.

use crate::{
    custom::node::{ListKind, Node, NodeType},
    kinds::{FieldPath, Row},
};
use tenure_value::Value;

/// Returns a warning for each list and map of a version that merges in another way under the new definition.
pub fn merge_changes(old: &Value, new: &Value) -> Vec<String> {
    let versions =
        |of: &Value| of.at(["spec", "versions"]).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut warnings = Vec::new();
    for after in versions(new).iter() {
        let name = after.text("name");
        let Some(before) = versions(old).iter().find(|version| version.text("name") == name).cloned() else {
            continue;
        };
        let schemas = [&before, after]
            .map(|version| version.at(["schema", "openAPIV3Schema"]).cloned().unwrap_or_default());
        let [before, after] = schemas;
        if before == after {
            continue;
        }
        compare(&Node::root(&before), &Node::root(&after), &name, &FieldPath::root(), &mut warnings);
    }
    warnings
}

/// How the value of a node merges, in words.
fn manner(node: &Node) -> Option<String> {
    match (node.of, &node.list) {
        (NodeType::Array, ListKind::Atomic) => Some("replaced as a whole".into()),
        (NodeType::Array, ListKind::Set) => Some("merged as a set".into()),
        (NodeType::Array, ListKind::Keyed(keys)) => Some(format!(
            "merged by {}",
            keys.iter().map(|key| key.as_str()).collect::<Vec<_>>().join(" and ")
        )),
        (NodeType::Object, _) if node.atomic => Some("replaced as a whole".into()),
        (NodeType::Object, _) => Some("merged by field".into()),
        _ => None,
    }
}

fn compare(old: &Node, new: &Node, version: &str, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    if let (Some(before), Some(after)) = (manner(old), manner(new))
        && before != after
        && old.of == new.of
    {
        let consequence = match after.as_str() {
            "replaced as a whole" => {
                "whoever holds a part of it holds all of it from their next apply, and two of them conflict"
            }
            _ => "whoever holds all of it holds every part of it that is there; parts that others add stay",
        };
        warnings.push(format!("{version}: {path} was {before} and is {after} from now on: {consequence}"));
    }
    for (name, of) in &new.fields {
        if let Some(before) = old.field(name) {
            compare(before, of, version, &path.field(name), warnings);
        }
    }
    if let (Some(before), Some(after)) = (&old.items, &new.items) {
        compare(before, after, version, &path.key("*"), warnings);
    }
    use crate::custom::node::Additional::Each;
    if let (Each(before), Each(after)) = (&old.additional, &new.additional) {
        compare(before, after, version, &path.key("*"), warnings);
    }
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
    fn a_list_that_merges_in_another_way_is_named_with_the_consequence() {
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
