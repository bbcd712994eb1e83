//! Simple paths such as `.spec.replicas`, by which a definition locates scale and selectable fields.

use tenure_value::{Text, Value};

/// A path of field names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimplePath {
    /// The names, from the root.
    pub names: Box<[Text]>,
}

/// Whether a path may have names in brackets and quotes, as in `.metadata.annotations['a.b/c']`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Brackets {
    Allowed,
    Refused,
}

impl SimplePath {
    /// Parses `.spec.replicas`, or `.metadata.annotations['a.b/c']`.
    pub fn parse(text: &str) -> Option<SimplePath> {
        let mut names = Vec::new();
        let visit = |name: &str| {
            names.push(Text::new(name));
            Ok(())
        };
        visit_names(text, Brackets::Allowed, visit).ok()?;
        (!names.is_empty()).then(|| SimplePath { names: names.into() })
    }

    /// Finds the schema that a path leads to; the error says, as in Kubernetes, why it leads to none.
    pub fn find<'v>(
        text: &str,
        schema: &'v Value,
        brackets: Brackets,
    ) -> Result<(SimplePath, &'v Value), String> {
        let (mut names, mut at) = (Vec::new(), schema);
        visit_names(text, brackets, |name| {
            let fields = at.get("properties").and_then(Value::as_object).filter(|fields| !fields.is_empty());
            let below = match fields {
                Some(fields) => fields.get(name),
                None => at.get("additionalProperties").filter(|each| each.as_object().is_some()),
            };
            at = below.ok_or("does not refer to a valid field")?;
            names.push(Text::new(name));
            Ok(())
        })?;
        Ok((SimplePath { names: names.into() }, at))
    }

    /// Splits `.spec.replicas` at its dots, as the paths of a scale are: whatever is between two dots is a name.
    pub fn split(text: &str) -> Option<SimplePath> {
        let names: Box<[Text]> = text.strip_prefix('.')?.split('.').map(Text::new).collect();
        Some(SimplePath { names })
    }

    /// Returns its name in field selectors: `spec.color`.
    pub fn selector(&self) -> String {
        self.names.join(".")
    }
}

/// Visits the names of a path from the root, until one is refused.
fn visit_names(
    text: &str,
    brackets: Brackets,
    mut visit: impl FnMut(&str) -> Result<(), String>,
) -> Result<(), String> {
    const ENDS: &str = "unexpected end of JSON path";
    let mut rest = text;
    while let Some(token) = next_token(&mut rest) {
        match token {
            "." => visit(next_token(&mut rest).ok_or(ENDS)?)?,
            "[" if brackets == Brackets::Refused => return Err("array notation is not allowed".into()),
            "[" => {
                let token = next_token(&mut rest).ok_or(ENDS)?;
                let quoted = token.strip_prefix('\'').and_then(|inside| inside.strip_suffix('\''));
                let name = quoted.ok_or_else(|| format!("expected single quoted string but got {token}"))?;
                visit(&name.replace("\\'", "'").replace("\\\\", "\\"))?;
                match next_token(&mut rest).ok_or(ENDS)? {
                    "]" => {}
                    other => return Err(format!("expected ] but got {other}")),
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok(())
}

/// Takes a dot, a bracket, a text in quotes, or what is before the next of them.
fn next_token<'t>(rest: &mut &'t str) -> Option<&'t str> {
    let first = rest.chars().next()?;
    let length = match first {
        '.' | '[' | ']' => 1,
        '\'' => {
            let closing = rest.bytes().enumerate().skip(1).find(|(at, byte)| {
                *byte == b'\'' && rest.as_bytes().get(at - 1).is_some_and(|before| *before != b'\\')
            });
            closing.map_or(rest.len(), |(at, _)| at + 1)
        }
        _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
    };
    let (token, after) = rest.split_at(length);
    *rest = after;
    Some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_names_with_dots_or_quotes() {
        let names = |text: &str| SimplePath::parse(text).map(|path| path.selector());
        assert_eq!(names(".spec.replicas").as_deref(), Some("spec.replicas"));
        assert_eq!(names(".metadata.labels['a.b/c']").as_deref(), Some("metadata.labels.a.b/c"));
        let split = |text: &str| SimplePath::split(text).map(|path| path.names.join("|"));
        assert_eq!(split(".spec.replicas[0]").as_deref(), Some("spec|replicas[0]"));
        assert_eq!(split("spec.replicas"), None);
        for wrong in ["", "spec", ".", ".spec.", ".spec[0]", ".a['b"] {
            assert_eq!(names(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_path_leads_to_a_schema() {
        let schema: Value =
            r#"{"properties":{"spec":{"properties":{"a":{"additionalProperties":{"type":"string"}}}}}}"#
                .parse()
                .unwrap();
        let found = |text: &str, brackets| {
            let found = SimplePath::find(text, &schema, brackets);
            found.map(|(path, schema)| format!("{} {schema}", path.selector()))
        };
        assert_eq!(found(".spec.a.x", Brackets::Refused).as_deref(), Ok(r#"spec.a.x {"type":"string"}"#));
        assert_eq!(
            found(".spec['a']['x.y']", Brackets::Allowed).as_deref(),
            Ok(r#"spec.a.x.y {"type":"string"}"#)
        );
        for (text, why) in [
            (".spec.b", "does not refer to a valid field"),
            ("spec.a", "expected [ or . but got: spec"),
            (".spec['a']", "array notation is not allowed"),
            (".spec.", "unexpected end of JSON path"),
        ] {
            assert_eq!(found(text, Brackets::Refused), Err(why.to_string()), "{text}");
        }
    }
}
