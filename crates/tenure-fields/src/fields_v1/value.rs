//! A field set as part of a document. The members of an object are sorted by name, so the order of elements
//! is restored when parsing.

use super::{element, element::Member};
use crate::{Error, FieldSet, Node};
use tenure_value::{Limits, Object, Text, Value};

/// Parses a field set from the value of a `fieldsV1` member.
pub fn from_value(value: &Value) -> Result<FieldSet, Error> {
    level(value, 0).map(|(_, children)| children)
}

fn level(value: &Value, depth: usize) -> Result<(bool, FieldSet), Error> {
    let object = match value {
        Value::Object(object) => object,
        Value::Null => return Ok((true, FieldSet::default())),
        other => {
            let problem = format!("expected an object, found {other}");
            return Err(Error::Element { name: "fieldsV1".to_owned(), problem });
        }
    };
    if depth == Limits::DEPTH {
        return Err(Error::TooDeep { limit: Limits::DEPTH });
    }
    let mut included = false;
    let mut nodes: Vec<Node> = Vec::with_capacity(object.len());
    for (name, value) in object {
        match element::read(name)? {
            Member::Itself => included = true,
            Member::Unknown => {}
            Member::Element(element) => {
                let (included, children) = level(value, depth + 1).map_err(|error| within(name, error))?;
                nodes.push(Node { element, included, children });
            }
        }
    }
    if !nodes.windows(2).all(|pair| pair[0].element < pair[1].element) {
        nodes.sort_by(|a, b| a.element.cmp(&b.element));
        nodes.dedup_by(|later, first| {
            let same = later.element == first.element;
            if same {
                first.included |= later.included;
                first.children = std::mem::take(&mut later.children);
            }
            same
        });
    }
    let children = FieldSet::from_sorted(nodes.into_iter());
    Ok((included || children.is_empty(), children))
}

/// Adds the member name to an error that has none.
fn within(member: &str, error: Error) -> Error {
    match error {
        Error::Element { name, problem } if name == "fieldsV1" => {
            Error::Element { name: member.to_owned(), problem }
        }
        other => other,
    }
}

/// Returns the set as the value of a `fieldsV1` member.
pub fn to_value(set: &FieldSet) -> Value {
    Value::Object(object(set, false))
}

fn object(set: &FieldSet, included: bool) -> Object {
    let mut members = Vec::with_capacity(set.nodes().len() + 1);
    if included && !set.is_empty() {
        members.push((Text::new_static("."), Value::Object(Object::default())));
    }
    for node in set.nodes() {
        let mut name = vec![element::qualifier(&node.element), b':'];
        element::write_inner(&node.element, &mut name);
        let below = object(&node.children, node.included);
        // The printer writes valid UTF-8, so this conversion never replaces anything.
        members.push((Text::from(String::from_utf8_lossy(&name)), Value::Object(below)));
    }
    Object::from_unsorted(members)
}
