//! One recorded line.

use tenure_patch::strategic::Profile;
use tenure_schema::{Schema, TypeId, TypeRef, openapi};
use tenure_value::{Limits, Value, json};

pub struct Line {
    pub id: String,
    pub op: String,
    pub raw: Value,
    /// The behaviour under which the line is run.
    pub profile: Profile,
    own_types: Option<(Schema, TypeId)>,
}

impl Line {
    pub fn read(text: &str, profile: Profile) -> Line {
        let raw = json::parse(text.as_bytes(), &Limits::TRUSTED).unwrap();
        let word = |name: &str| raw.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
        let own_types = raw.get("schema").map(|schema| openapi::compile_one(schema).unwrap());
        Line { id: word("id"), op: word("op"), own_types, raw, profile }
    }

    /// Returns the type of the line's documents.
    pub fn ty<'s>(&'s self, schema: &'s Schema) -> TypeRef<'s> {
        if let Some((schema, id)) = &self.own_types {
            return schema.at(*id);
        }
        let kind = self.raw.get("kind").and_then(Value::as_str).unwrap();
        let (version, kind) = kind.split_once(' ').unwrap();
        schema.kind(version, kind).unwrap_or_else(|| panic!("no type for {kind}"))
    }

    /// Returns an input, or `None` if its text is not JSON.
    pub fn input(&self, name: &str) -> Option<Value> {
        match self.raw.get(&format!("{name}_text")).and_then(Value::as_str) {
            Some(text) => text.parse().ok(),
            None => Some(self.raw.get(name).cloned().unwrap_or_default()),
        }
    }

    pub fn flag(&self, name: &str) -> bool {
        self.raw.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns the recorded outcomes any of which is right. Types here come from OpenAPI, so an
    /// outcome under OpenAPI is used if it was recorded to differ.
    pub fn outcomes(&self) -> Vec<Value> {
        match (self.raw.get("any_of"), self.raw.get("openapi")) {
            (Some(Value::Array(outcomes)), _) => outcomes.to_vec(),
            (_, Some(outcome)) => vec![outcome.clone()],
            _ => vec![self.raw.clone()],
        }
    }
}
