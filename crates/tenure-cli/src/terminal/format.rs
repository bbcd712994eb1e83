//! The formats of `--output`: text for people, JSON and YAML for programs.

use clap::ValueEnum;
use tenure_value::{Value, json, yaml};

/// The format of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people.
    #[default]
    Text,
    /// JSON, one document.
    Json,
    /// YAML, one document.
    Yaml,
}

impl Format {
    /// Writes a document; as text it is YAML.
    pub fn render(self, value: &Value) -> String {
        match self {
            Format::Json => {
                let mut text = String::new();
                indented(value, 0, &mut text);
                text.push('\n');
                text
            }
            Format::Text | Format::Yaml => yaml::to_string(value),
        }
    }
}

/// Writes JSON with two spaces per level, as `kubectl` does.
fn indented(value: &Value, level: usize, out: &mut String) {
    let line = |level: usize, out: &mut String| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", level));
    };
    match value {
        Value::Object(object) if !object.is_empty() => {
            out.push('{');
            for (at, (name, value)) in object.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(level + 1, out);
                out.push_str(&json::to_string(&Value::String(name.clone())));
                out.push_str(": ");
                indented(value, level + 1, out);
            }
            line(level, out);
            out.push('}');
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                line(level + 1, out);
                indented(item, level + 1, out);
            }
            line(level, out);
            out.push(']');
        }
        other => out.push_str(&json::to_string(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_and_reads_back() {
        let value: Value = r#"{"a":[1,{"b":"x"}],"c":{},"d":[]}"#.parse().unwrap();
        let text = Format::Json.render(&value);
        assert_eq!(
            text,
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x\"\n    }\n  ],\n  \"c\": {},\n  \"d\": []\n}\n"
        );
        assert_eq!(text.parse::<Value>().unwrap(), value);
    }
}
