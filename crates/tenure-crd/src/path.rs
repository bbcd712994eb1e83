//! Simple paths such as `.spec.replicas`, by which a definition locates scale and selectable fields.

use tenure_value::Text;

/// A path of field names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimplePath {
    /// The names, from the root.
    pub names: Box<[Text]>,
}

impl SimplePath {
    /// Parses `.spec.replicas`, or `.metadata.annotations['a.b/c']`.
    pub fn parse(text: &str) -> Option<SimplePath> {
        let mut names = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(quoted) = rest.strip_prefix("['") {
                let (name, after) = quoted.split_once("']")?;
                names.push(Text::new(name));
                rest = after;
                continue;
            }
            let after = rest.strip_prefix('.')?;
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, after) = after.split_at(end);
            let valid = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-' | '$');
            if name.is_empty() || !name.chars().all(valid) {
                return None;
            }
            names.push(Text::new(name));
            rest = after;
        }
        (!names.is_empty()).then(|| SimplePath { names: names.into() })
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
        for wrong in ["", "spec", ".", ".spec.", ".spec[0]", ".a..b", ".a['b"] {
            assert_eq!(names(wrong), None, "{wrong}");
        }
    }
}
