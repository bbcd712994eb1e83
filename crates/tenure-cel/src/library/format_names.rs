//! Named formats: labels, names, dates and others, with the reasons why a string does not match.

use super::{Row, no_such_overload, url::Url};
use crate::{
    cost::Cost,
    function::EvalResult,
    value::{Opaque, Timestamp, Val},
};
use std::any::Any;
use tenure_value::base64;

const ONE: Cost = Cost::Fixed(1);

/// The rows of functions that return a named format.
macro_rules! formats {
    ($($name:literal)*) => {
        &[$((concat!("format.", $name, "(): kubernetes.NamedFormat"), ONE, |_, _| named($name)),)*
        ("format.named(string): optional(kubernetes.NamedFormat)", ONE, |_, args| match args {
            [Val::String(name)] => {
                let format = FORMATS.iter().find(|format| format.name == name.as_str());
                Ok(Val::optional(format.map(|format| Val::opaque(*format))))
            }
            _ => no_such_overload(),
        }),
        ("kubernetes.NamedFormat.validate(string): optional(list(string))", Cost::Validate, |_, args| match args {
            [format, Val::String(text)] => match format.downcast::<Format>() {
                Some(format) => {
                    let issues = (format.check)(text);
                    let issues = (!issues.is_empty()).then(|| Val::list(issues.into_iter().map(Val::from).collect()));
                    Ok(Val::optional(issues))
                }
                None => no_such_overload(),
            },
            _ => no_such_overload(),
        }),
        ]
    };
}

pub(super) const FUNCTIONS: &[Row] = formats! {
    "dns1123Label" "dns1123Subdomain" "dns1035Label" "qualifiedName" "dns1123LabelPrefix" "dns1123SubdomainPrefix"
    "dns1035LabelPrefix" "labelValue" "uri" "uuid" "byte" "date" "datetime"
};

/// A format: its name, the length of an equivalent pattern, and its check.
#[derive(Clone, Copy)]
struct Format {
    name: &'static str,
    pattern: u64,
    check: fn(&str) -> Vec<String>,
}

const FORMATS: [Format; 13] = [
    Format { name: "dns1123Label", pattern: 30, check: |text| dns_label(text, false) },
    Format { name: "dns1123Subdomain", pattern: 60, check: |text| dns_subdomain(text, false) },
    Format { name: "dns1035Label", pattern: 30, check: |text| dns_1035_label(text, false) },
    Format { name: "qualifiedName", pattern: 60, check: qualified_name },
    Format { name: "dns1123LabelPrefix", pattern: 30, check: |text| dns_label(text, true) },
    Format { name: "dns1123SubdomainPrefix", pattern: 60, check: |text| dns_subdomain(text, true) },
    Format { name: "dns1035LabelPrefix", pattern: 30, check: |text| dns_1035_label(text, true) },
    Format { name: "labelValue", pattern: 40, check: label_value },
    Format {
        name: "uri",
        pattern: 1000,
        check: |text| {
            Url::parse(text).map_or_else(|why| vec![format!("parse {text:?}: {why}")], |_| Vec::new())
        },
    },
    Format {
        name: "uuid",
        pattern: 82,
        check: |text| unless(is_uuid(text), "does not match the UUID format"),
    },
    Format {
        name: "byte",
        pattern: 84,
        check: |text| unless(base64::decode(text).is_ok() && !text.is_empty(), "invalid base64"),
    },
    Format {
        name: "date",
        pattern: 155,
        check: |text| unless(Timestamp::parse_date(text).is_some(), "invalid date"),
    },
    Format {
        name: "datetime",
        pattern: 155,
        check: |text| unless(Timestamp::parse_document(text).is_some(), "invalid datetime"),
    },
];

fn named<'v>(name: &str) -> EvalResult<'v> {
    FORMATS
        .iter()
        .find(|format| format.name == name)
        .map_or_else(no_such_overload, |format| Ok(Val::opaque(*format)))
}

fn unless(holds: bool, message: &str) -> Vec<String> {
    if holds { Vec::new() } else { vec![message.to_string()] }
}

/// A prefix may end with a dash, because more characters follow.
fn masked(text: &str, is_prefix: bool) -> String {
    match text.strip_suffix('-') {
        Some(before) if is_prefix && text.len() > 1 => format!("{before}a"),
        _ => text.to_string(),
    }
}

fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|byte| is_lower(*byte))
        && bytes.last().is_some_and(|byte| is_lower(*byte))
        && bytes.iter().all(|byte| is_lower(*byte) || *byte == b'-')
}

fn too_long(text: &str, most: usize) -> Vec<String> {
    unless(text.len() <= most, &format!("must be no more than {most} characters"))
}

fn dns_label(text: &str, is_prefix: bool) -> Vec<String> {
    let text = masked(text, is_prefix);
    let mut issues = too_long(&text, 63);
    issues.extend(unless(is_label(&text), "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"));
    issues
}

fn dns_subdomain(text: &str, is_prefix: bool) -> Vec<String> {
    let text = masked(text, is_prefix);
    let mut issues = too_long(&text, 253);
    issues.extend(unless(text.split('.').all(is_label), SUBDOMAIN));
    issues
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn dns_1035_label(text: &str, is_prefix: bool) -> Vec<String> {
    let text = masked(text, is_prefix);
    let mut issues = too_long(&text, 63);
    let holds = is_label(&text) && text.starts_with(|first: char| first.is_ascii_lowercase());
    issues.extend(unless(holds, "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"));
    issues
}

/// Whether a string is a name, which may contain capitals and, inside, underscores and dots.
fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

fn qualified_name(text: &str) -> Vec<String> {
    const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let parts: Vec<&str> = text.split('/').collect();
    let mut issues = Vec::new();
    let name = match parts[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                issues.push("prefix part must be non-empty".to_string());
            } else {
                issues.extend(
                    dns_subdomain(prefix, false).into_iter().map(|issue| format!("prefix part {issue}")),
                );
            }
            name
        }
        _ => {
            return vec![format!(
                "a qualified name {NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        issues.push("name part must be non-empty".to_string());
    } else if name.len() > 63 {
        issues.push("name part must be no more than 63 bytes".to_string());
    }
    if !is_name(name) {
        issues.push(format!("name part {NAME}"));
    }
    issues
}

fn label_value(text: &str) -> Vec<String> {
    let mut issues = unless(text.len() <= 63, "must be no more than 63 bytes");
    issues.extend(unless(text.is_empty() || is_name(text), "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"));
    issues
}

/// Whether a string has 32 hexadecimal digits, with or without the four dashes.
fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = match text.contains('-') {
        true => text.split('-').collect(),
        false if text.len() == 32 && text.is_ascii() => {
            vec![&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]]
        }
        false => return false,
    };
    groups.len() == 5
        && groups.iter().zip([8, 4, 4, 4, 12]).all(|(group, length)| {
            group.len() == length && group.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Opaque for Format {
    fn type_name(&self) -> &str {
        "kubernetes.NamedFormat"
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<Format>().is_some_and(|other| other.name == self.name)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    /// The length of the pattern, by which checking is charged.
    fn size(&self) -> Option<u64> {
        Some(self.pattern)
    }
}
