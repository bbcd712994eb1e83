//! A document being changed. What no operation reaches stays a shared [`Value`]; only the maps and lists on
//! the way to a change are opened, once, whatever the number of operations.

use crate::pointer::{Dialect, Pointer, index};
use tenure_value::{Array, Object, Text, Value};

/// A part of the document.
pub(super) enum Draft {
    Whole(Value),
    Object(Vec<(Text, Draft)>),
    Array(Vec<Draft>),
}

const ABSENT: &str = "the field is absent";
const OUTSIDE: &str = "the list has no such place";
const SCALAR: &str = "a scalar has no parts";
const ROOT: &str = "the whole document cannot be removed or added";

impl Draft {
    pub(super) fn new(value: &Value) -> Draft {
        Draft::Whole(value.clone())
    }

    /// Returns the document.
    pub(super) fn finish(self) -> Value {
        match self {
            Draft::Whole(value) => value,
            Draft::Object(fields) => {
                Object::from_sorted(fields.into_iter().map(|(name, value)| (name, value.finish()))).into()
            }
            Draft::Array(items) => items.into_iter().map(Draft::finish).collect::<Array>().into(),
        }
    }

    /// Returns this part as it stands.
    pub(super) fn view(&self) -> Value {
        match self {
            Draft::Whole(value) => value.clone(),
            Draft::Object(fields) => {
                Object::from_sorted(fields.iter().map(|(name, value)| (name.clone(), value.view()))).into()
            }
            Draft::Array(items) => items.iter().map(Draft::view).collect::<Array>().into(),
        }
    }

    /// Whether this part is the same as a value.
    pub(super) fn is(&self, expected: &Value) -> bool {
        match (self, expected) {
            (Draft::Whole(value), expected) => value == expected,
            (Draft::Object(fields), Value::Object(expected)) => {
                fields.len() == expected.len()
                    && fields
                        .iter()
                        .zip(expected)
                        .all(|((name, value), (other, expected))| name == other && value.is(expected))
            }
            (Draft::Array(items), Value::Array(expected)) => {
                items.len() == expected.len()
                    && items.iter().zip(expected).all(|(item, expected)| item.is(expected))
            }
            _ => false,
        }
    }

    /// Returns the part at a pointer; nothing if only its last field is absent.
    pub(super) fn get(
        &mut self,
        pointer: &Pointer,
        dialect: Dialect,
    ) -> Result<Option<&mut Draft>, &'static str> {
        let Some((parents, last)) = pointer.split() else { return Ok(Some(self)) };
        match self.walk(parents, dialect)?.open() {
            Draft::Object(fields) => {
                Ok(find(fields, last).ok().and_then(|at| fields.get_mut(at)).map(|(_, value)| value))
            }
            Draft::Array(items) => {
                let at = index(last, items.len(), dialect).ok_or(OUTSIDE)?;
                Ok(items.get_mut(at))
            }
            Draft::Whole(_) => Err(SCALAR),
        }
    }

    /// Puts a value at a pointer: sets a field, or inserts into a list.
    pub(super) fn add(
        &mut self,
        pointer: &Pointer,
        value: Draft,
        dialect: Dialect,
    ) -> Result<(), &'static str> {
        let Some((parents, last)) = pointer.split() else {
            if dialect == Dialect::Kubernetes {
                return Err(ROOT);
            }
            *self = value;
            return Ok(());
        };
        match self.walk(parents, dialect)?.open() {
            Draft::Object(fields) => {
                set(fields, last, value);
                Ok(())
            }
            Draft::Array(items) => {
                let at = if last == "-" { Some(items.len()) } else { index(last, items.len() + 1, dialect) };
                items.insert(at.ok_or(OUTSIDE)?, value);
                Ok(())
            }
            Draft::Whole(_) => Err(SCALAR),
        }
    }

    /// Puts a value in the place of what is at a pointer.
    pub(super) fn replace(
        &mut self,
        pointer: &Pointer,
        value: Draft,
        dialect: Dialect,
    ) -> Result<(), &'static str> {
        let Some((parents, last)) = pointer.split() else {
            *self = value;
            return Ok(());
        };
        match self.walk(parents, dialect)?.open() {
            Draft::Object(fields) => {
                if dialect == Dialect::Standard && find(fields, last).is_err() {
                    return Err(ABSENT);
                }
                set(fields, last, value);
                Ok(())
            }
            Draft::Array(items) => {
                let at = index(last, items.len(), dialect).ok_or(OUTSIDE)?;
                items[at] = value;
                Ok(())
            }
            Draft::Whole(_) => Err(SCALAR),
        }
    }

    /// Takes out what is at a pointer.
    pub(super) fn remove(&mut self, pointer: &Pointer, dialect: Dialect) -> Result<Draft, &'static str> {
        let (parents, last) = pointer.split().ok_or(ROOT)?;
        match self.walk(parents, dialect)?.open() {
            Draft::Object(fields) => {
                let at = find(fields, last).map_err(|_| ABSENT)?;
                Ok(fields.remove(at).1)
            }
            Draft::Array(items) => {
                let at = index(last, items.len(), dialect).ok_or(OUTSIDE)?;
                Ok(items.remove(at))
            }
            Draft::Whole(_) => Err(SCALAR),
        }
    }

    fn walk(&mut self, tokens: &[Text], dialect: Dialect) -> Result<&mut Draft, &'static str> {
        tokens.iter().try_fold(self, |part, token| match part.open() {
            Draft::Object(fields) => match find(fields, token) {
                Ok(at) => fields.get_mut(at).map(|(_, value)| value).ok_or(ABSENT),
                Err(_) => Err(ABSENT),
            },
            Draft::Array(items) => {
                let at = index(token, items.len(), dialect).ok_or(OUTSIDE)?;
                items.get_mut(at).ok_or(OUTSIDE)
            }
            Draft::Whole(_) => Err(SCALAR),
        })
    }

    /// Opens this part, so that its own parts can be changed.
    fn open(&mut self) -> &mut Draft {
        match self {
            Draft::Whole(Value::Object(object)) => {
                *self = Draft::Object(
                    object.iter().map(|(name, value)| (name.clone(), Draft::new(value))).collect(),
                );
            }
            Draft::Whole(Value::Array(array)) => *self = Draft::Array(array.iter().map(Draft::new).collect()),
            _ => {}
        }
        self
    }
}

fn find(fields: &[(Text, Draft)], name: &str) -> Result<usize, usize> {
    fields.binary_search_by(|(field, _)| field.as_str().cmp(name))
}

fn set(fields: &mut Vec<(Text, Draft)>, name: &Text, value: Draft) {
    match find(fields, name) {
        Ok(at) => fields[at].1 = value,
        Err(at) => fields.insert(at, (name.clone(), value)),
    }
}

/// Counts the bytes of a value as text, roughly, up to a little above the limit.
pub(super) fn bytes(value: &Value, limit: usize) -> usize {
    let mut count = 2;
    match value {
        Value::String(text) => count += text.len(),
        Value::Array(items) => {
            for item in items {
                if count > limit {
                    break;
                }
                count += bytes(item, limit - count) + 1;
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                if count > limit {
                    break;
                }
                count += name.len() + bytes(field, limit - count) + 4;
            }
        }
        _ => count += 2,
    }
    count
}

/// Returns how many lists and objects are inside one another.
pub(super) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.iter().map(|(_, field)| depth(field)).max().unwrap_or(0),
        _ => 0,
    }
}
