//! The way to one part of a document, step by step, and documents with that part replaced or left out. Everything
//! beside the way is shared with the document it came from.

use crate::{Text, Value};

/// A step from a value into one of its parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// To the field of that name.
    Field(Text),
    /// To the item at that place.
    Item(usize),
}

impl Value {
    /// Returns what stands at the end of a way.
    pub fn along(&self, way: &[Step]) -> Option<&Value> {
        way.iter().try_fold(self, |value, step| match step {
            Step::Field(name) => value.get(name),
            Step::Item(at) => value.as_array()?.get(*at),
        })
    }

    /// Returns this document with another value at the end of a way; the last step may lead to a field that is not
    /// there yet, or one past the last item. Nothing where the way leads nowhere.
    ///
    /// ```
    /// use tenure_value::{Step, Value};
    ///
    /// let value: Value = r#"{"ports": [80]}"#.parse().unwrap();
    /// let way = [Step::Field("ports".into()), Step::Item(1)];
    /// assert_eq!(value.replaced(&way, Value::from(81)).unwrap().to_string(), r#"{"ports":[80,81]}"#);
    /// ```
    pub fn replaced(&self, way: &[Step], with: Value) -> Option<Value> {
        let [first, rest @ ..] = way else { return Some(with) };
        match (first, self) {
            (Step::Field(name), Value::Object(object)) => {
                let inner = match object.get(name) {
                    Some(inner) => inner.replaced(rest, with)?,
                    None if rest.is_empty() => with,
                    None => return None,
                };
                Some(Value::Object(object.with(name.clone(), inner)))
            }
            (Step::Item(at), Value::Array(array)) => {
                let item = match array.get(*at) {
                    Some(item) => item.replaced(rest, with)?,
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

    /// Returns this document without what stands at the end of a way; nothing where nothing stands there.
    pub fn removed(&self, way: &[Step]) -> Option<Value> {
        let (last, way) = way.split_last()?;
        let holder = self.along(way)?;
        let without = match (last, holder) {
            (Step::Field(name), Value::Object(object)) if object.contains(name) => {
                Value::Object(object.without(name))
            }
            (Step::Item(at), Value::Array(array)) if *at < array.len() => {
                let items = array.items().iter().enumerate();
                Value::array(items.filter(|(index, _)| index != at).map(|(_, item)| item.clone()))
            }
            _ => return None,
        };
        self.replaced(way, without)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    #[test]
    fn a_part_is_found_replaced_and_left_out() {
        let document = value(r#"{"a":[{"b":1},{"b":2}],"c":{}}"#);
        let way = [Step::Field("a".into()), Step::Item(1), Step::Field("b".into())];
        assert_eq!(document.along(&way), Some(&Value::Int(2)));
        assert_eq!(document.replaced(&way, Value::Int(3)), Some(value(r#"{"a":[{"b":1},{"b":3}],"c":{}}"#)));
        assert_eq!(document.removed(&way), Some(value(r#"{"a":[{"b":1},{}],"c":{}}"#)));
        assert_eq!(document.removed(&way[..2]), Some(value(r#"{"a":[{"b":1}],"c":{}}"#)));
        assert_eq!(document.removed(&way[..1]), Some(value(r#"{"c":{}}"#)));
    }

    #[test]
    fn a_way_that_leads_nowhere_gives_nothing() {
        let document = value(r#"{"a":[1]}"#);
        let nowhere = [Step::Field("x".into()), Step::Field("y".into())];
        assert_eq!(document.along(&nowhere), None);
        assert_eq!(document.replaced(&nowhere, Value::Null), None);
        assert_eq!(document.removed(&nowhere), None);
        assert_eq!(document.removed(&[]), None);
        assert_eq!(document.replaced(&[Step::Field("a".into()), Step::Item(2)], Value::Null), None);
        assert_eq!(document.removed(&[Step::Item(0)]), None);
    }
}
