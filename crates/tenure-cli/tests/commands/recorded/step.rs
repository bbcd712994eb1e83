//! The steps of recorded conversations as requests: with the names of a replay in them, and as the apply that a command makes.

use std::collections::HashMap;
use tenure_value::{Value, json, yaml};

const APPLY: &str = "application/apply-patch+yaml";

/// The names of a replay, which steps have as `{ns}`, `{id}` and what they saved themselves.
pub struct Words(HashMap<String, String>);

/// A step, ready to be sent.
pub struct Request {
    pub method: String,
    pub path: String,
    query: Vec<(String, String)>,
    pub kind: String,
    pub accept: String,
    pub body: String,
}

/// A step that is an apply of one manifest, as commands make it.
#[allow(dead_code, reason = "each test uses a part")]
pub struct Apply {
    pub manifest: Value,
    pub manager: String,
    pub namespace: Option<String>,
    pub is_forced: bool,
    pub is_dry_run: bool,
}

impl Words {
    /// Returns the names of a replay in a namespace.
    pub fn new(namespace: &str) -> Words {
        Words(HashMap::from([("ns".into(), namespace.into()), ("id".into(), format!("x{namespace}"))]))
    }

    /// Keeps what a step saves of its response.
    pub fn save(&mut self, step: &Value, response: &Value) {
        let Some(saved) = step.get("save").and_then(Value::as_object) else { return };
        for (name, pointer) in saved {
            let way = pointer.as_str().unwrap_or_default().split('/').skip(1);
            if let Some(Value::String(text)) = response.at(way) {
                self.0.insert(name.to_string(), text.to_string());
            }
        }
    }

    /// Returns text with the names in it.
    pub fn filled(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
    }

    /// Returns the request of a step.
    pub fn request(&self, step: &Value) -> Request {
        let text = |name: &str| {
            step.get(name).and_then(Value::as_str).map(|text| self.filled(text)).unwrap_or_default()
        };
        let mut query = Vec::new();
        for (name, value) in step.get("query").and_then(Value::as_object).cloned().unwrap_or_default().iter()
        {
            let values = match value {
                Value::Array(values) => values.to_vec(),
                one => vec![one.clone()],
            };
            for value in values {
                let value = value.as_str().map_or_else(|| json::to_string(&value), String::from);
                query.push((name.to_string(), self.filled(&value)));
            }
        }
        let times = step.get("repeat").and_then(Value::as_i64).map_or(1, |times| times as usize);
        let body = match (step.get("body"), step.get("raw").and_then(Value::as_str)) {
            (_, Some(raw)) => self.filled(raw).repeat(times),
            (Some(Value::Array(items)), _) => {
                let items = std::iter::repeat_n(items.items(), times).flatten().cloned();
                self.filled(&json::to_string(&Value::array(items)))
            }
            (Some(body), _) => self.filled(&json::to_string(body)),
            (None, None) => String::new(),
        };
        let (kind, accept) = (text("type"), text("accept"));
        let kind = if kind.is_empty() && !body.is_empty() { "application/json".into() } else { kind };
        let accept = if accept.is_empty() { "application/json".into() } else { accept };
        Request { method: text("do"), path: text("path"), query, kind, accept, body }
    }
}

impl Request {
    /// Returns the path with its parameters.
    pub fn uri(&self) -> String {
        let query: Vec<String> =
            self.query.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect();
        match query.is_empty() {
            true => self.path.clone(),
            false => format!("{}?{}", self.path, query.join("&")),
        }
    }

    /// Returns the request as an apply of a manifest; `None` if it is none, or one that no command makes.
    pub fn apply(&self) -> Option<Apply> {
        let query =
            |name: &str| self.query.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
        let known = |(name, value): &(String, String)| match name.as_str() {
            "fieldManager" => true,
            "dryRun" => value == "All",
            "force" => value == "true" || value == "false",
            _ => false,
        };
        if self.method != "PATCH" || self.kind != APPLY || !self.query.iter().all(known) {
            return None;
        }
        let manager = query("fieldManager").filter(|name| !name.is_empty())?;
        let (manifest, duplicates) =
            yaml::parse_any_checked(self.body.as_bytes(), &Default::default()).ok()?;
        let text =
            |path: &[&str]| manifest.at(path.iter().copied()).and_then(Value::as_str).map(String::from);
        let name = self.path.rsplit('/').next()?;
        let namespace = self.path.split_once("/namespaces/").and_then(|(_, rest)| rest.split_once('/'));
        let namespace = namespace.map(|(namespace, _)| namespace);
        let version = self.path.trim_start_matches("/apis/").trim_start_matches("/api/");
        let api_version = text(&["apiVersion"])?;
        let meant = text(&["metadata", "name"]).as_deref() == Some(name)
            && text(&["kind"])
                .is_some_and(|kind| self.path.contains(kind.to_lowercase().trim_end_matches('y')))
            && version.starts_with(&format!("{api_version}/"))
            && text(&["metadata", "namespace"]).is_none_or(|own| Some(own.as_str()) == namespace)
            && manifest.at(["metadata", "managedFields"]).is_none()
            // The commands refuse duplicate fields, about which the server warns.
            && duplicates.is_empty();
        meant.then(|| Apply {
            manager: manager.to_owned(),
            namespace: namespace.map(str::to_owned),
            is_forced: query("force") == Some("true"),
            is_dry_run: query("dryRun").is_some(),
            manifest,
        })
    }
}

fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
