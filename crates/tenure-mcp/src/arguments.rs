//! The arguments of a call, which were checked against the schema of the tool before. What a schema cannot say is checked here.

use crate::reply::{Failure, Reason};
use tenure_value::{Limits, Value, yaml};

/// The limits of manifests in YAML.
const LIMITS: Limits = Limits { bytes: 4 << 20, depth: Limits::DEPTH, nodes: 1_000_000 };

/// The begin of the names of all managers of this server.
const MANAGER: &str = "agent/";

/// The arguments of a call.
pub struct Arguments(pub Value);

/// An object by its kind and name.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The kind as `kubectl` takes it.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The namespace, if it is given.
    pub namespace: Option<String>,
}

impl Reference {
    fn read(value: &Value) -> Reference {
        let text = |name: &str| value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        Reference {
            kind: text("kind").unwrap_or_default().to_owned(),
            name: text("name").unwrap_or_default().to_owned(),
            namespace: text("namespace").map(str::to_owned),
        }
    }
}

impl Arguments {
    /// Returns a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Returns a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_i64).and_then(|number| u64::try_from(number).ok())
    }

    /// Returns a size, or a default.
    pub fn size(&self, name: &str, default: usize) -> usize {
        self.number(name).and_then(|number| usize::try_from(number).ok()).unwrap_or(default)
    }

    /// Whether a flag is set.
    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// Returns the items of a list.
    pub fn items(&self, name: &str) -> &[Value] {
        self.0.get(name).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
    }

    /// Returns a list of texts.
    pub fn texts(&self, name: &str) -> Vec<String> {
        self.items(name).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Returns the object of a call.
    pub fn reference(&self) -> Result<Reference, Failure> {
        self.optional_reference().ok_or_else(|| missing("object"))
    }

    /// Returns the object of a call, if it names one.
    pub fn optional_reference(&self) -> Option<Reference> {
        self.0.get("object").map(Reference::read)
    }

    /// Returns a list of objects.
    pub fn references(&self, name: &str) -> Vec<Reference> {
        self.items(name).iter().map(Reference::read).collect()
    }

    /// Returns the field manager of the task.
    pub fn manager(&self) -> Result<String, Failure> {
        let task = self.text("task").ok_or_else(|| missing("task"))?;
        let is_inner =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-._".contains(letter);
        let is_outer = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
        if !task.chars().all(is_inner) || !is_outer(task.chars().next()) || !is_outer(task.chars().last()) {
            let message = "task must be of lower-case letters, digits, -, . and _, and begin and end with a letter or digit";
            return Err(Failure::new(Reason::InvalidArguments, message)
                .at("task")
                .suggest("such as add-memory-limits"));
        }
        Ok(format!("{MANAGER}{task}"))
    }

    /// Returns the manifests of a call, each with its place; a list of objects stands for its items.
    pub fn manifests(&self) -> Result<Vec<(Value, String)>, Failure> {
        let mut found = Vec::new();
        let given = self.items("manifests").iter().enumerate();
        found.extend(given.map(|(at, manifest)| (manifest.clone(), format!("manifests[{at}]"))));
        if let Some(text) = self.text("yaml") {
            let wrong = |problem: String| {
                Failure::new(Reason::InvalidArguments, format!("yaml: {problem}")).at("yaml")
            };
            let (documents, duplicates) = yaml::parse_all_checked(text.as_bytes(), &LIMITS)
                .map_err(|error| wrong(error.to_string()))?;
            if let Some(duplicate) = duplicates.first() {
                return Err(wrong(format!("{duplicate}; remove one of them")));
            }
            let documents = documents.into_iter().filter(|document| !document.is_null()).enumerate();
            found.extend(documents.map(|(at, document)| (document, format!("yaml, document {}", at + 1))));
        }
        let mut manifests = Vec::with_capacity(found.len());
        for (manifest, place) in found {
            let is_list =
                manifest.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
            match manifest.get("items").and_then(Value::as_array).filter(|_| is_list) {
                Some(items) => {
                    let items = items.iter().enumerate();
                    manifests.extend(items.map(|(at, item)| (item.clone(), format!("{place}, items[{at}]"))));
                }
                None => manifests.push((manifest, place)),
            }
        }
        for (manifest, place) in &manifests {
            for path in [&["apiVersion"][..], &["kind"], &["metadata", "name"]] {
                let text = manifest.at(path.iter().copied()).and_then(Value::as_str);
                if text.is_none_or(str::is_empty) {
                    let message = format!("{place}: {} is missing or no text", path.join("."));
                    return Err(Failure::new(Reason::InvalidArguments, message)
                        .at(place.clone())
                        .suggest("every object has an apiVersion, a kind and metadata.name"));
                }
            }
        }
        Ok(manifests)
    }
}

/// Returns the failure of an argument that is missing.
pub fn missing(name: &str) -> Failure {
    Failure::new(Reason::InvalidArguments, format!("{name} is missing")).at(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str) -> Arguments {
        Arguments(text.parse().unwrap())
    }

    #[test]
    fn every_task_has_its_manager() {
        assert_eq!(arguments(r#"{"task":"add-limits_2.x"}"#).manager().unwrap(), "agent/add-limits_2.x");
        for task in ["", "-a", "a-", "A", "a b", "a/b", "ä", "a\\n"] {
            let failure = arguments(&format!(r#"{{"task":"{task}"}}"#)).manager().unwrap_err();
            assert_eq!(failure.field.as_deref(), Some("task"), "{task}");
        }
    }

    #[test]
    fn manifests_come_as_objects_or_yaml_and_have_names() {
        let both = arguments(
            r#"{"manifests":[{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}]}],
                "yaml":"apiVersion: v1\nkind: Pod\nmetadata: {name: b}\n---\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: c}\n"}"#,
        );
        let places: Vec<String> = both.manifests().unwrap().into_iter().map(|(_, place)| place).collect();
        assert_eq!(places, ["manifests[0], items[0]", "yaml, document 1", "yaml, document 2"]);
        for (text, part) in [
            (r#"{"yaml":"a: [1"}"#, "yaml: line"),
            (r#"{"yaml":"a: 1\na: 2"}"#, "remove one of them"),
            (r#"{"yaml":"kind: Pod"}"#, "yaml, document 1: apiVersion is missing"),
            (
                r#"{"manifests":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":1}}]}"#,
                "manifests[0]: metadata.name is missing or no text",
            ),
        ] {
            let failure = arguments(text).manifests().unwrap_err();
            assert!(failure.message.contains(part), "{}", failure.message);
        }
    }
}
