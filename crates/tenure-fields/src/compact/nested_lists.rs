//! The text encodings: the trie as nested lists, and the same with references to the strings of a table (`!`
//! and a number). The latter is not JSON, so both have their own parser and formatter.

use super::{Table, tables};
use crate::{Error, FieldSet, PathElement};
use tenure_value::{
    Value,
    json::{self, Style},
};

mod read;

/// The digits of references, most significant first.
const DIGITS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";

/// Returns the set as nested lists.
pub fn to_text(set: &FieldSet) -> String {
    let mut out = vec![b'['];
    write_level(set, None, &mut out);
    text(out)
}

/// Returns the set as nested lists with references to the current table.
pub fn to_text_with_table(set: &FieldSet) -> Result<String, Error> {
    tables::current().map(|table| to_text_with(set, table))
}

/// Returns the set as nested lists with references to a table.
pub fn to_text_with(set: &FieldSet, table: &Table) -> String {
    let mut out = format!("[{}", table.version()).into_bytes();
    if !set.is_empty() {
        out.push(b',');
    }
    write_level(set, Some(table), &mut out);
    text(out)
}

/// Parses a set from nested lists.
pub fn parse(text: &str) -> Result<FieldSet, Error> {
    read::plain(text)
}

/// Parses a set from nested lists with references to the table that they name.
pub fn parse_with_table(text: &str) -> Result<FieldSet, Error> {
    read::with_table(text, tables::table)
}

/// Parses a set from nested lists with references to this table.
pub fn parse_with(text: &str, table: &Table) -> Result<FieldSet, Error> {
    read::with_table(text, |version| match version == table.version() {
        true => Ok(table),
        false => Err(Error::UnknownTable { version, newest: table.version() }),
    })
}

/// Whether the reference to a string is shorter than the string.
pub(super) fn shortens(number: usize, text: &str) -> bool {
    let mut quoted = Vec::new();
    json::write_text(text, Style::Plain, &mut quoted);
    reference(number).len() < quoted.len()
}

/// Returns the reference to the string of a number.
fn reference(number: usize) -> String {
    let mut digits = Vec::new();
    let mut rest = number;
    loop {
        digits.push(char::from(DIGITS[rest % 64]));
        rest /= 64;
        if rest == 0 {
            break;
        }
    }
    digits.push('!');
    digits.into_iter().rev().collect()
}

/// The output is always UTF-8, so this conversion never replaces anything.
fn text(out: Vec<u8>) -> String {
    String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Appends the items of a level after its opening bracket, and closes it.
fn write_level(set: &FieldSet, table: Option<&Table>, out: &mut Vec<u8>) {
    for (at, node) in set.nodes().iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let kind = match &node.element {
            PathElement::Field(_) => 0,
            PathElement::Value(_) => 1,
            PathElement::Index(_) => 2,
            PathElement::Key(_) => 3,
        };
        let includes = match (node.included, node.children.is_empty()) {
            (_, true) => 0,
            (false, false) => 4,
            (true, false) => 8,
        };
        out.extend_from_slice(format!("{},", kind + includes).as_bytes());
        match &node.element {
            PathElement::Field(name) => write_string(name, table, out),
            PathElement::Value(value) => write_value(value, table, out),
            PathElement::Index(index) => out.extend_from_slice(index.to_string().as_bytes()),
            PathElement::Key(key) => write_value(&Value::Object(key.clone()), table, out),
        }
        if !node.children.is_empty() {
            out.extend_from_slice(b",[");
            write_level(&node.children, table, out);
        }
    }
    out.push(b']');
}

fn write_value(value: &Value, table: Option<&Table>, out: &mut Vec<u8>) {
    match value {
        Value::String(text) => write_string(text, table, out),
        // An integral float keeps its fraction, so that it is parsed as a float.
        Value::Float(number) => out.extend_from_slice(format!("{number:?}").as_bytes()),
        Value::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_value(item, table, out);
            }
            out.push(b']');
        }
        Value::Object(fields) => {
            out.push(b'{');
            for (at, (name, value)) in fields.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_text(name, table.and_then(|table| table.number(name)), out);
                out.push(b':');
                write_value(value, table, out);
            }
            out.push(b'}');
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::UInt(_) => json::write(value, out),
    }
}

fn write_string(text: &str, table: Option<&Table>, out: &mut Vec<u8>) {
    write_text(text, table.and_then(|table| table.number_elsewhere(text)), out);
}

/// Appends a string, or its reference if that is not longer.
fn write_text(text: &str, number: Option<u32>, out: &mut Vec<u8>) {
    let start = out.len();
    json::write_text(text, Style::Plain, out);
    if let Some(number) = number {
        let reference = reference(number as usize);
        if reference.len() <= out.len() - start {
            out.truncate(start);
            out.extend_from_slice(reference.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_use_base_sixty_four() {
        let expected = [(0, "!0"), (9, "!9"), (10, "!A"), (36, "!a"), (61, "!z"), (62, "!-"), (63, "!_")];
        for (number, text) in expected.into_iter().chain([(64, "!10"), (4095, "!__"), (4096, "!100")]) {
            assert_eq!(reference(number), text);
        }
    }

    #[test]
    fn a_string_is_not_referenced_if_the_reference_is_longer() {
        let table = Table::of_strings(
            1,
            (0..4096).map(|number| format!("filler-{number}")).chain(["x".to_owned(), "xy".to_owned()]),
        );
        let mut set = FieldSet::default();
        for name in ["x", "xy", "xyz"] {
            set.insert(&[PathElement::field(name)]);
        }
        assert_eq!(to_text_with(&set, &table), r#"[1,0,"x",0,!101,0,"xyz"]"#);
    }
}
