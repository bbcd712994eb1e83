//! JSON pointers: paths from a document to one of its values, and documents with that value replaced or
//! removed. Everything off the path is shared with the original document.

use crate::{Text, Value};
use std::fmt;

/// A path in a particular document, by field names and list indices. It is formatted as in RFC 6901.
///
/// ```
/// use tenure_value::{Pointer, Value};
///
/// let service: Value = r#"{"ports": [80]}"#.parse()?;
/// let second = Pointer::default().field("ports").item(1);
/// assert_eq!(second.to_string(), "/ports/1");
/// assert_eq!(second.replace(&service, Value::from(81)).unwrap().to_string(), r#"{"ports":[80,81]}"#);
/// # Ok::<(), tenure_value::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer(Vec<Token>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Token {
    Field(Text),
    Item(usize),
}

impl Pointer {
    /// Returns this pointer extended by a field name.
    pub fn field(mut self, name: impl Into<Text>) -> Pointer {
        self.push_field(name.into());
        self
    }

    /// Returns this pointer extended by a list index.
    pub fn item(mut self, index: usize) -> Pointer {
        self.push_item(index);
        self
    }

    pub(crate) fn push_field(&mut self, name: Text) {
        self.0.push(Token::Field(name));
    }

    pub(crate) fn push_item(&mut self, index: usize) {
        self.0.push(Token::Item(index));
    }

    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    /// Returns the number of steps.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether this points to the document itself.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the other pointer is this one or an ancestor of it.
    pub fn starts_with(&self, other: &Pointer) -> bool {
        self.0.starts_with(&other.0)
    }

    /// Iterates from this pointer up to the root.
    pub fn ancestors(&self) -> impl DoubleEndedIterator<Item = Pointer> {
        (0..=self.0.len()).rev().map(|end| Pointer(self.0[..end].to_vec()))
    }

    /// Returns the value at this path.
    pub fn resolve<'v>(&self, document: &'v Value) -> Option<&'v Value> {
        resolve(&self.0, document)
    }

    /// Returns the document with another value at this path. The last token may be a field that is missing,
    /// or the index after the last item. Returns `None` if the path does not exist.
    pub fn replace(&self, document: &Value, with: Value) -> Option<Value> {
        replace(&self.0, document, with)
    }

    /// Returns the document without the value at this path; `None` if it does not exist or is the root.
    pub fn remove(&self, document: &Value) -> Option<Value> {
        let (last, parents) = self.0.split_last()?;
        let parent = resolve(parents, document)?;
        let without = match (last, parent) {
            (Token::Field(name), Value::Object(object)) if object.contains(name) => {
                Value::Object(object.without(name))
            }
            (Token::Item(at), Value::Array(array)) if *at < array.len() => {
                let items = array.items().iter().enumerate();
                Value::array(items.filter(|(index, _)| index != at).map(|(_, item)| item.clone()))
            }
            _ => return None,
        };
        replace(parents, document, without)
    }
}

fn resolve<'v>(tokens: &[Token], value: &'v Value) -> Option<&'v Value> {
    tokens.iter().try_fold(value, |value, token| match token {
        Token::Field(name) => value.get(name),
        Token::Item(at) => value.as_array()?.get(*at),
    })
}

fn replace(tokens: &[Token], value: &Value, with: Value) -> Option<Value> {
    let [first, rest @ ..] = tokens else { return Some(with) };
    match (first, value) {
        (Token::Field(name), Value::Object(object)) => {
            let inner = match object.get(name) {
                Some(inner) => replace(rest, inner, with)?,
                None if rest.is_empty() => with,
                None => return None,
            };
            Some(Value::Object(object.with(name.clone(), inner)))
        }
        (Token::Item(at), Value::Array(array)) => {
            let item = match array.get(*at) {
                Some(item) => replace(rest, item, with)?,
                None if rest.is_empty() && *at == array.len() => with,
                None => return None,
            };
            let (before, after) = array.items().split_at(*at);
            let after = after.iter().skip(1).cloned();
            Some(Value::array(before.iter().cloned().chain([item]).chain(after)))
        }
        _ => None,
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|token| match token {
            Token::Field(name) => write!(f, "/{}", name.replace('~', "~0").replace('/', "~1")),
            Token::Item(at) => write!(f, "/{at}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    #[test]
    fn a_value_is_resolved_replaced_and_removed() {
        let document = value(r#"{"a":[{"b":1},{"b":2}],"c":{}}"#);
        let list = Pointer::default().field("a");
        let item = list.clone().item(1);
        let leaf = item.clone().field("b");
        assert_eq!(leaf.resolve(&document), Some(&Value::Int(2)));
        assert_eq!(leaf.replace(&document, Value::Int(3)), Some(value(r#"{"a":[{"b":1},{"b":3}],"c":{}}"#)));
        assert_eq!(leaf.remove(&document), Some(value(r#"{"a":[{"b":1},{}],"c":{}}"#)));
        assert_eq!(item.remove(&document), Some(value(r#"{"a":[{"b":1}],"c":{}}"#)));
        assert_eq!(list.remove(&document), Some(value(r#"{"c":{}}"#)));
        assert_eq!(
            leaf.ancestors().map(|at| at.to_string()).collect::<Vec<_>>(),
            ["/a/1/b", "/a/1", "/a", ""]
        );
    }

    #[test]
    fn a_path_that_does_not_exist_yields_none() {
        let document = value(r#"{"a":[1]}"#);
        let missing = Pointer::default().field("x").field("y");
        assert_eq!(missing.resolve(&document), None);
        assert_eq!(missing.replace(&document, Value::Null), None);
        assert_eq!(missing.remove(&document), None);
        assert_eq!(Pointer::default().remove(&document), None);
        assert_eq!(Pointer::default().field("a").item(2).replace(&document, Value::Null), None);
        assert_eq!(Pointer::default().item(0).remove(&document), None);
    }

    #[test]
    fn names_are_escaped_as_in_rfc_6901() {
        assert_eq!(Pointer::default().field("a/b~c").item(0).to_string(), "/a~1b~0c/0");
    }
}
