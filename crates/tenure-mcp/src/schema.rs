//! The tools as data (`data/tools.json`), and the check of documents against their schemas: the part of JSON Schema that the tools use.
//! A definition is added to the schemas that refer to it, so that each is complete in itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};
use tenure_value::{Limits, Object, Value, json};

/// A tool as clients see it.
#[derive(Debug)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it does.
    pub description: String,
    /// Whether it writes nothing.
    pub reads: bool,
    /// The schema of its arguments.
    pub input: Value,
    /// The schema of its results.
    pub output: Value,
}

static DEFINITIONS: LazyLock<Vec<Definition>> = LazyLock::new(|| {
    // The file is part of the program; a test reads it.
    json::parse(include_bytes!("../data/tools.json"), &Limits::TRUSTED)
        .map(|file| read(&file))
        .unwrap_or_default()
});

/// Returns the tools.
pub fn definitions() -> &'static [Definition] {
    &DEFINITIONS
}

fn read(file: &Value) -> Vec<Definition> {
    let shared = file.get("definitions").and_then(Value::as_object).cloned().unwrap_or_default();
    let tools = file.get("tools").and_then(Value::as_array).into_iter().flatten();
    let definition = |tool: &Value| {
        let text = |name: &str| tool.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let part = |name: &str| tool.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
        Definition {
            name: text("name"),
            title: text("title"),
            description: text("description"),
            reads: tool.get("reads").and_then(Value::as_bool).unwrap_or_default(),
            input: complete(
                part("input").with("type", "object").with("additionalProperties", false),
                &shared,
            ),
            output: complete(output(&part("output")), &shared),
        }
    };
    tools.map(definition).collect()
}

/// Returns the schema of a result: what the tool returns or an error, and what every result has.
fn output(part: &Object) -> Object {
    let reference = |name: &str| Value::object([("$ref", Value::from(format!("#/$defs/{name}")))]);
    let list = |items: Value| Value::object([("type", Value::from("array")), ("items", items)]);
    let text = Value::object([("type", Value::from("string"))]);
    let properties = part.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let properties = properties
        .with("next", list(reference("next")))
        .with("untrusted", list(text))
        .with("error", reference("failure"));
    let required = |names: Value| Value::object([("required", names)]);
    let result = part.get("required").cloned().unwrap_or_else(|| Value::array([]));
    let either = [required(result), required(Value::array([Value::from("error")]))];
    Object::default()
        .with("type", "object")
        .with("properties", properties)
        .with("anyOf", Value::array(either))
}

/// Adds the definitions that a schema refers to.
fn complete(schema: Object, shared: &Object) -> Value {
    let mut used = BTreeMap::new();
    let mut open: Vec<String> = references(&Value::Object(schema.clone())).into_iter().collect();
    while let Some(name) = open.pop() {
        if let Some(found) = shared.get(&name).filter(|_| !used.contains_key(&name)) {
            open.extend(references(found));
            used.insert(name, found.clone());
        }
    }
    if used.is_empty() {
        return Value::Object(schema);
    }
    Value::Object(schema.with("$defs", Value::object(used)))
}

/// Returns the definitions that a schema refers to directly.
fn references(schema: &Value) -> BTreeSet<String> {
    let (mut found, mut open) = (BTreeSet::new(), vec![schema]);
    while let Some(next) = open.pop() {
        match next {
            Value::Object(object) => open.extend(object.iter().map(|(_, value)| value)),
            Value::Array(items) => open.extend(items.iter()),
            Value::String(text) => found.extend(text.strip_prefix("#/$defs/").map(str::to_owned)),
            _ => {}
        }
    }
    found
}

/// What is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, such as `object.kind`; empty for the whole.
    pub place: String,
    /// What is wrong, and what would be right.
    pub problem: String,
}

/// Checks a document against a schema.
pub fn check(document: &Value, schema: &Value) -> Result<(), Problem> {
    Checker { root: schema }.check(document, schema, "")
}

struct Checker<'s> {
    root: &'s Value,
}

impl Checker<'_> {
    fn check(&self, document: &Value, schema: &Value, place: &str) -> Result<(), Problem> {
        let schema =
            match schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix("#/$defs/")) {
                Some(name) => self.root.at(["$defs", name]).unwrap_or(schema),
                None => schema,
            };
        let wrong = |problem: String| Err(Problem { place: place.to_owned(), problem });
        if let Some(expected) = schema.get("type").and_then(Value::as_str) {
            let is_it = match expected {
                "object" => document.as_object().is_some(),
                "array" => document.as_array().is_some(),
                "string" => document.as_str().is_some(),
                "boolean" => document.as_bool().is_some(),
                "integer" => document.as_i64().is_some(),
                _ => false,
            };
            if !is_it {
                return wrong(format!("must be of the type {expected}, not {}", document.kind()));
            }
        }
        let number = |name: &str| schema.get(name).and_then(Value::as_i64);
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
            && !allowed.iter().any(|one| one == document)
        {
            let words: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
            return wrong(format!("must be one of {}", words.join(", ")));
        }
        let sizes = [
            (document.as_str().map(|text| text.chars().count()), "minLength", "maxLength", "characters"),
            (document.as_array().map(|items| items.len()), "minItems", "maxItems", "items"),
        ];
        for (size, least, most, what) in sizes {
            let Some(size) = size.and_then(|size| i64::try_from(size).ok()) else { continue };
            if let Some(least) = number(least).filter(|least| size < *least) {
                return wrong(format!("must have at least {least} {what}, not {size}"));
            }
            if let Some(most) = number(most).filter(|most| size > *most) {
                return wrong(format!("must have at most {most} {what}, not {size}"));
            }
        }
        if let Some(given) = document.as_i64() {
            if let Some(least) = number("minimum").filter(|least| given < *least) {
                return wrong(format!("must be at least {least}, not {given}"));
            }
            if let Some(most) = number("maximum").filter(|most| given > *most) {
                return wrong(format!("must be at most {most}, not {given}"));
            }
        }
        if let (Some(items), Some(schema)) = (document.as_array(), schema.get("items")) {
            for (at, item) in items.iter().enumerate() {
                self.check(item, schema, &format!("{place}[{at}]"))?;
            }
        }
        if let Some(object) = document.as_object() {
            self.check_object(object, schema, place)?;
        }
        match schema.get("anyOf").and_then(Value::as_array) {
            Some(several) => {
                let mut results = several.iter().map(|one| self.check(document, one, place));
                match results.next() {
                    Some(Err(first)) if !results.any(|result| result.is_ok()) => Err(first),
                    _ => Ok(()),
                }
            }
            None => Ok(()),
        }
    }

    fn check_object(&self, object: &Object, schema: &Value, place: &str) -> Result<(), Problem> {
        let inner = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            if !object.contains(name) {
                return Err(Problem { place: inner(name), problem: "is missing".to_owned() });
            }
        }
        let known = schema.get("properties").and_then(Value::as_object);
        let is_closed = schema.get("additionalProperties").and_then(Value::as_bool) == Some(false);
        for (name, value) in object {
            match known.and_then(|known| known.get(name)) {
                Some(schema) => self.check(value, schema, &inner(name))?,
                None if is_closed => {
                    let names: Vec<&str> =
                        known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                    let problem = format!("is not an argument; there are {}", names.join(", "));
                    return Err(Problem { place: inner(name), problem });
                }
                None => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_is_complete_in_itself() {
        assert_eq!(definitions().len(), 12);
        for tool in definitions() {
            assert!(!tool.title.is_empty() && !tool.description.is_empty(), "{}", tool.name);
            for schema in [&tool.input, &tool.output] {
                assert_eq!(schema.get("type"), Some(&Value::from("object")));
                let defined = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
                for name in references(schema) {
                    assert!(defined.contains(&name), "{}: {name}", tool.name);
                }
            }
        }
        let writers: Vec<&str> =
            definitions().iter().filter(|tool| !tool.reads).map(|tool| tool.name.as_str()).collect();
        assert_eq!(writers, ["apply_plan"], "everything else plans");
    }

    #[test]
    fn problems_have_a_place_and_say_what_would_be_right() {
        let input = |name: &str| &definitions().iter().find(|tool| tool.name == name).unwrap().input;
        for (tool, arguments, expected) in [
            ("get", r#"{}"#, "object is missing"),
            ("get", r#"{"object":{"kind":"pod"}}"#, "object.name is missing"),
            (
                "get",
                r#"{"object":{"kind":"pod","name":"a","x":1}}"#,
                "object.x is not an argument; there are kind, name, namespace",
            ),
            ("list", r#"{"kind":"pod","limit":0}"#, "limit must be at least 1, not 0"),
            ("list", r#"{"kind":"pod","limit":"5"}"#, "limit must be of the type integer, not string"),
            (
                "plan",
                r#"{"task":"a","settle":[{"path":".a","how":"force"}]}"#,
                "settle[0].how must be one of leave_out, share, take",
            ),
            (
                "plan",
                r#"{"task":"a","force":true}"#,
                "force is not an argument; there are delete, manifests, pin, remove, settle, task, yaml",
            ),
            ("apply_plan", r#"{"digest":"x"}"#, "digest must have at least 71 characters, not 1"),
        ] {
            let problem = check(&arguments.parse().unwrap(), input(tool)).unwrap_err();
            assert_eq!(format!("{} {}", problem.place, problem.problem), expected);
        }
        assert_eq!(check(&r#"{"object":{"kind":"pod","name":"a"}}"#.parse().unwrap(), input("get")), Ok(()));
    }
}
