//! Formats paths. The notation of Kubernetes follows Go: strings as `%q`, floats as `%v`.

use crate::{Path, PathElement, exact::exact};
use std::fmt::{self, Display, Formatter, Write};
use tenure_value::{Value, go_text};

/// Formats the element as conflict messages do.
impl Display for PathElement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::Field(name) => write!(f, ".{name}"),
            PathElement::Key(keys) => {
                f.write_char('[')?;
                for (at, (name, value)) in keys.iter().enumerate() {
                    write!(f, "{}{name}=", if at == 0 { "" } else { "," })?;
                    write_value(value, f)?;
                }
                f.write_char(']')
            }
            PathElement::Value(value) => {
                f.write_str("[=")?;
                write_value(value, f)?;
                f.write_char(']')
            }
            PathElement::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Formats the path as conflict messages do; the root is empty.
impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.elements().iter().try_for_each(|element| element.fmt(f))
    }
}

fn write_value(value: &Value, f: &mut Formatter<'_>) -> fmt::Result {
    match value {
        Value::String(text) => go_text::Quoted(text).fmt(f),
        Value::Float(_) => go_text::Plain(value).fmt(f),
        Value::Array(items) => {
            f.write_char('[')?;
            for (at, item) in items.iter().enumerate() {
                f.write_str(if at == 0 { "" } else { "," })?;
                write_value(item, f)?;
            }
            f.write_char(']')
        }
        // Entries have no separator, as recorded from kube-apiserver.
        Value::Object(object) => object.iter().try_for_each(|(name, value)| {
            write!(f, "{name}=")?;
            write_value(value, f)
        }),
        other => Display::fmt(other, f),
    }
}

/// Formats a path in the quoted notation.
pub struct Quoted<'p>(&'p Path);

impl Path {
    /// Returns a formatter for the notation that [`Path::parse`] parses without ambiguity: unusual names are
    /// quoted, values are JSON.
    ///
    /// ```
    /// use tenure_fields::{Path, PathElement};
    ///
    /// let path: Path = ["metadata", "labels", "example.org/tier"].map(PathElement::field).into_iter().collect();
    /// assert_eq!(path.to_string(), ".metadata.labels.example.org/tier");
    /// assert_eq!(path.quoted().to_string(), r#".metadata.labels."example.org/tier""#);
    /// assert_eq!(Path::parse(&path.quoted().to_string()), Ok(path));
    /// ```
    pub fn quoted(&self) -> Quoted<'_> {
        Quoted(self)
    }
}

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for element in self.0.elements() {
            match element {
                PathElement::Field(name) => write!(f, ".{}", Word(name))?,
                PathElement::Key(keys) => {
                    f.write_char('[')?;
                    for (at, (name, value)) in keys.iter().enumerate() {
                        write!(f, "{}{}={}", if at == 0 { "" } else { "," }, Word(name), Exact(value))?;
                    }
                    f.write_char(']')?;
                }
                PathElement::Value(value) => write!(f, "[={}]", Exact(value))?,
                PathElement::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Formats a value as JSON that parses to the same value.
struct Exact<'v>(&'v Value);

impl Display for Exact<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        exact(self.0).as_ref().unwrap_or(self.0).fmt(f)
    }
}

/// Formats a name, in quotes unless it is a plain word.
struct Word<'n>(&'n str);

impl Display for Word<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let plain = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '$');
        let number = self.0.parse::<i64>().is_ok();
        if !self.0.is_empty() && !number && self.0.chars().all(plain) {
            f.write_str(self.0)
        } else {
            write!(f, "{}", Value::from(self.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(element: PathElement) -> String {
        element.to_string()
    }

    #[test]
    fn elements_format_as_in_kubernetes() {
        let value = |value: Value| printed(PathElement::Value(value));
        assert_eq!(printed(PathElement::field("app.kubernetes.io/name")), ".app.kubernetes.io/name");
        assert_eq!(printed(PathElement::Index(-1)), "[-1]");
        let key = PathElement::key([("protocol", Value::from("TCP")), ("containerPort", Value::from(80))]);
        assert_eq!(printed(key), r#"[containerPort=80,protocol="TCP"]"#);
        assert_eq!(printed(PathElement::key([("a", Value::Null); 0])), "[]");
        for (given, text) in [
            (Value::from("a"), r#"[="a"]"#),
            (Value::from("<é\"\\\n\t\u{7}\u{1}\u{7f}>"), r#"[="<é\"\\\n\t\a\x01\x7f>"]"#),
            (
                Value::from("\u{a0}\u{ad}\u{200b}\u{e0001}😀e\u{301}"),
                "[=\"\\u00a0\\u00ad\\u200b\\U000e0001😀e\u{301}\"]",
            ),
            (Value::Bool(true), "[=true]"),
            (Value::Null, "[=null]"),
            (Value::Int(-5), "[=-5]"),
            (Value::unsigned(u64::MAX), "[=18446744073709551615]"),
            (Value::float(80.0).unwrap(), "[=80]"),
            (Value::float(0.5).unwrap(), "[=0.5]"),
            (Value::float(1e21).unwrap(), "[=1e+21]"),
            (Value::float(1.5e-7).unwrap(), "[=1.5e-07]"),
            (Value::float(0.0001).unwrap(), "[=0.0001]"),
            (Value::float(123456789.0).unwrap(), "[=1.23456789e+08]"),
            (Value::array([Value::from("a"), Value::from(1)]), r#"[=["a",1]]"#),
            (Value::object([("a", Value::from(1)), ("b", Value::from("x"))]), r#"[=a=1b="x"]"#),
        ] {
            assert_eq!(value(given), text);
        }
    }

    #[test]
    fn large_floats_are_the_same_when_parsed_again() {
        for text in [
            "[=111111111111111111111111111.5e-07]",
            "[=1.5e19]",
            "[=-9.3e18]",
            "[=1e300]",
            "[a=4503599627370497.5]",
        ] {
            let path = Path::parse(text).unwrap();
            assert_eq!(Path::parse(&path.quoted().to_string()).as_ref(), Ok(&path), "{text}");
        }
    }

    #[test]
    fn only_unusual_names_are_quoted() {
        let path: Path = [
            PathElement::field("spec"),
            PathElement::field("a.b"),
            PathElement::field(""),
            PathElement::field("0"),
            PathElement::key([("x-y", Value::from("<\n>")), ("a=b", Value::float(0.5).unwrap())]),
            PathElement::Value(Value::object([("a", Value::from(1))])),
        ]
        .into_iter()
        .collect();
        let text = r#".spec."a.b".""."0"["a=b"=0.5,x-y="\u003c\n\u003e"][={"a":1}]"#;
        assert_eq!(path.quoted().to_string(), text);
    }
}
