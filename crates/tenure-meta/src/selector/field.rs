//! Field selectors: `metadata.name=a,status.phase!=Running`. A selector may only use the fields that the kind lists.

use super::{
    selectable::SelectableField,
    term::{IndexTerm, IndexedBy},
};
use crate::ApiError;
use tenure_value::{Text, Value};

/// A conjunction of requirements on fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq)]
struct Requirement {
    field: SelectableField,
    value: Text,
    equal: bool,
}

impl FieldSelector {
    /// Parses a `fieldSelector`; a backslash escapes the next character.
    pub fn parse(text: &str) -> Result<FieldSelector, ApiError> {
        split(text)
            .into_iter()
            .filter(|term| !term.is_empty())
            .map(|term| {
                let parsed = requirement(&term)
                    .unwrap_or_else(|| Err(format!("invalid selector: '{text}'; can't understand '{term}'")));
                parsed.map_err(ApiError::bad_request)
            })
            .collect::<Result<_, _>>()
            .map(FieldSelector)
    }

    /// Returns the selector for the objects of a built-in resource; an unknown field is an error.
    pub fn resolve(self, fields: &[SelectableField]) -> Result<FieldSelector, ApiError> {
        if fields.is_empty() {
            return self.resolve_with(fields, |name| {
                format!(
                    "{name:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                )
            });
        }
        self.resolve_custom(fields)
    }

    /// Returns the selector for the objects of a custom resource; an unknown field is an error.
    pub fn resolve_custom(self, fields: &[SelectableField]) -> Result<FieldSelector, ApiError> {
        self.resolve_with(fields, |name| format!("field label not supported: {name}"))
    }

    fn resolve_with(
        mut self,
        fields: &[SelectableField],
        unknown: impl Fn(&str) -> String,
    ) -> Result<FieldSelector, ApiError> {
        for requirement in &mut self.0 {
            let name = &requirement.field.name;
            if is_metadata(name) {
                continue;
            }
            let Some(field) = fields.iter().find(|field| field.name == *name) else {
                return Err(ApiError::bad_request(unknown(name)));
            };
            requirement.field = field.clone();
        }
        Ok(self)
    }

    /// Whether all objects match.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the selector demands that a field has a value.
    pub fn demands(&self, field: &str, value: &str) -> bool {
        self.0.iter().any(|requirement| {
            requirement.equal && requirement.field.name == field && requirement.value == value
        })
    }

    /// Returns the requirements: a field, whether it must have or must not have a value, and the value.
    pub fn requirements(&self) -> impl Iterator<Item = (&Text, bool, &Text)> {
        self.0.iter().map(|requirement| (&requirement.field.name, requirement.equal, &requirement.value))
    }

    /// Returns the text of one requirement, with what needs it escaped.
    pub fn term(field: &str, equal: bool, value: &str) -> String {
        let mut text = format!("{field}{}", if equal { "=" } else { "!=" });
        for character in value.chars() {
            if "\\,=".contains(character) {
                text.push('\\');
            }
            text.push(character);
        }
        text
    }

    /// Returns the only name that the selector matches, if there is one.
    pub fn name(&self) -> Option<&Text> {
        self.0
            .iter()
            .find(|requirement| requirement.equal && requirement.field.name == "metadata.name")
            .map(|requirement| &requirement.value)
    }

    /// Decides about an object from its name and namespace; `None` if other fields are needed too.
    pub fn decide(&self, name: &str, namespace: &str) -> Option<bool> {
        let mut known = true;
        for requirement in &self.0 {
            let is = match requirement.field.name.as_str() {
                "metadata.name" => name,
                "metadata.namespace" => namespace,
                _ => {
                    known = false;
                    continue;
                }
            };
            if (is == requirement.value.as_str()) != requirement.equal {
                return Some(false);
            }
        }
        known.then_some(true)
    }

    /// Returns the requirements that an index can answer, and whether these are all of them. Name and namespace need no index.
    pub fn index_terms(&self) -> (Vec<IndexTerm>, bool) {
        let indexed =
            self.0.iter().filter(|requirement| requirement.equal && !is_metadata(&requirement.field.name));
        let term = |requirement: &Requirement| IndexTerm {
            by: IndexedBy::Field(requirement.field.clone()),
            values: Some(vec![requirement.value.clone()]),
        };
        let terms: Vec<IndexTerm> = indexed.map(term).collect();
        let all = terms.len() == self.0.len();
        (terms, all)
    }

    /// Whether an object matches; an absent field has its zero value.
    pub fn matches(&self, object: &Value) -> bool {
        self.0
            .iter()
            .all(|requirement| (requirement.field.value(object) == requirement.value) == requirement.equal)
    }
}

fn is_metadata(field: &str) -> bool {
    matches!(field, "metadata.name" | "metadata.namespace")
}

/// Splits at unescaped commas; the terms keep their backslashes.
fn split(text: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let last = terms.last_mut().expect("there is always a last term");
        match character {
            '\\' => {
                last.push(character);
                last.extend(characters.next());
            }
            ',' => terms.push(String::new()),
            _ => last.push(character),
        }
    }
    terms
}

/// Parses a term; `None` if it has no operator.
fn requirement(term: &str) -> Option<Result<Requirement, String>> {
    let at = term.find(['=', '!'])?;
    let (field, rest) = term.split_at(at);
    let (equal, value) = rest
        .strip_prefix("!=")
        .map(|value| (false, value))
        .or_else(|| rest.strip_prefix("==").or(rest.strip_prefix('=')).map(|value| (true, value)))?;
    let value = unescape(value).map_err(|why| format!("invalid field selector: {why}"));
    Some(value.map(|value| Requirement { field: SelectableField::new(field), value, equal }))
}

fn unescape(value: &str) -> Result<Text, String> {
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(next) if "\\,=".contains(next) => plain.push(next),
                next => {
                    let next = next.map(String::from).unwrap_or_default();
                    return Err(format!("invalid escape sequence: \\{next}"));
                }
            },
            '=' | ',' => return Err(format!("unescaped character in value: {}", u32::from(character))),
            _ => plain.push(character),
        }
    }
    Ok(plain.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_match_by_fields() {
        let object = Value::object([
            ("metadata", Value::object([("name", Value::from("a,b"))])),
            ("status", Value::object([("phase", Value::from("Pending"))])),
        ]);
        for (text, want) in [
            ("", true),
            ("metadata.name=a\\,b", true),
            ("metadata.name=a", false),
            ("status.phase==Pending,metadata.name!=x", true),
            ("status.phase!=Pending", false),
            ("spec.nodeName=", true),
        ] {
            assert_eq!(FieldSelector::parse(text).unwrap().matches(&object), want, "{text}");
        }
    }

    #[test]
    fn a_field_has_paths_and_a_default() {
        let fields = [
            r#"{"name":"source","paths":["source.component","reportingComponent"]}"#,
            r#"{"name":"status.successful","paths":["status.succeeded"],"absent":"0"}"#,
            r#""reportingComponent""#,
        ];
        let fields = fields.map(|row| SelectableField::from_row(&row.parse().unwrap()));
        for (object, text) in [
            (r#"{"source":{"component":"c"},"reportingComponent":"r"}"#, "source=c"),
            (r#"{"source":{},"reportingComponent":"r"}"#, "source=r,reportingComponent=r"),
            (r#"{"status":{"succeeded":2}}"#, "status.successful=2"),
            (r#"{"status":{}}"#, "status.successful=0,source="),
        ] {
            let object: Value = object.parse().unwrap();
            assert!(FieldSelector::parse(text).unwrap().resolve(&fields).unwrap().matches(&object), "{text}");
        }
    }

    #[test]
    fn name_and_namespace_decide_if_they_suffice() {
        for (text, want) in [
            ("", Some(true)),
            ("metadata.name=a", Some(true)),
            ("metadata.name!=a", Some(false)),
            ("metadata.name=a,metadata.namespace=n", Some(true)),
            ("metadata.namespace!=n", Some(false)),
            ("metadata.name=a,status.phase=x", None),
            ("status.phase=x,metadata.name=b", Some(false)),
        ] {
            assert_eq!(FieldSelector::parse(text).unwrap().decide("a", "n"), want, "{text}");
        }
    }

    #[test]
    fn unsupported_fields_are_rejected() {
        let failure = FieldSelector::parse("spec.x=y").unwrap().resolve(&[]).unwrap_err();
        assert_eq!(
            failure.message,
            "\"spec.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
        assert!(FieldSelector::parse("spec.x=y").unwrap().resolve(&[SelectableField::new("spec.x")]).is_ok());
        for text in ["x", "a=b=c", "a=\\x"] {
            assert!(FieldSelector::parse(text).is_err(), "{text}");
        }
    }
}
