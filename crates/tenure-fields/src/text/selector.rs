//! The items of lists in the notations that people type: an index, keys with or without quotes, a filter of JSONPath, an element of
//! `FieldsV1`, and a quoted name in brackets. Which item it is, and so its path element, depends on the type and the document.

use super::parse::Cursor;
use crate::{Error, PathElement, order};
use tenure_schema::{ListTopology, ScalarKind, Type, TypeRef};
use tenure_value::{Limits, Object, Text, Value, json};

/// What brackets select.
pub(super) enum Selector {
    /// An item by its index; a negative index counts from the end.
    Index(i64),
    /// An item of a set by its value.
    Value(Value),
    /// The item whose fields have these values.
    Fields(Vec<(Text, Wanted)>),
    /// A field, as in `['name']`.
    Name(Text),
}

/// The value that a field of an item must have.
pub(super) enum Wanted {
    /// This value.
    Exact(Value),
    /// A word without quotes, which may be a string or a number.
    Word(Text),
}

impl Wanted {
    fn is(&self, found: &Value) -> bool {
        match (self, found) {
            (Wanted::Exact(wanted), found) => order::compare(found, wanted).is_eq(),
            (Wanted::Word(word), Value::String(found)) => found == word,
            (Wanted::Word(word), found) => json::to_string(found) == word.as_str(),
        }
    }

    /// Returns the value, of this type if it is a word.
    fn value(&self, ty: Option<TypeRef<'_>>) -> Value {
        let word = match self {
            Wanted::Exact(value) => return value.clone(),
            Wanted::Word(word) => word,
        };
        let is_string =
            matches!(ty.map(TypeRef::get), Some(Type::Scalar(scalar)) if scalar.kind == ScalarKind::String);
        let parsed = json::parse(word.as_bytes(), &Limits::default()).ok().filter(|_| !is_string);
        parsed.unwrap_or_else(|| Value::String(word.clone()))
    }
}

impl Cursor<'_> {
    /// Parses brackets, from the opening one on.
    pub(super) fn selector(&mut self) -> Result<Selector, Error> {
        self.expect('[')?;
        let start = self.at;
        if let Some(selector) = self.fields_v1()? {
            self.expect(']')?;
            return Ok(selector);
        }
        match self.peek() {
            Some('=') => {
                self.at += 1;
                let value = self.value(0)?;
                self.expect(']')?;
                return Ok(Selector::Value(value));
            }
            Some('?') => return self.filter(),
            Some('\'' | '"') => {
                let name = self.quoted_text()?;
                if self.peek() == Some(']') {
                    self.at += 1;
                    return Ok(Selector::Name(name));
                }
                self.at = start;
            }
            _ => {}
        }
        if let Some((inside, _)) = self.rest().split_once(']') {
            if let Ok(index) = inside.trim().parse() {
                self.at += inside.len() + 1;
                return Ok(Selector::Index(index));
            }
            if inside == "*" || (!inside.contains('=') && inside.contains([':', ','])) {
                return Err(self.wrong("this selects several items; name one, such as [0] or [name=\"web\"]"));
            }
        }
        let mut fields: Vec<(Text, Wanted)> = Vec::new();
        while self.peek() != Some(']') {
            if !fields.is_empty() {
                self.expect(',')?;
            }
            let name = self.name(&['=', ']', ','])?;
            self.expect('=')?;
            if fields.iter().any(|(other, _)| *other == name) {
                return Err(self.wrong(format!("key {name:?} is given twice")));
            }
            fields.push((name, self.wanted(&[',', ']'])?));
        }
        self.expect(']')?;
        Ok(Selector::Fields(fields))
    }

    /// Parses an element as `FieldsV1` writes it: `k:{"name":"web"}`, `v:"a"`, `i:0`.
    pub(super) fn fields_v1(&mut self) -> Result<Option<Selector>, Error> {
        let rest = self.rest();
        let is_index = |text: &str| text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
        if rest.starts_with("k:{") {
            self.at += 2;
            let Value::Object(keys) = self.value(0)? else {
                return Err(self.wrong("expected the keys of an item"));
            };
            let fields = keys.iter().map(|(name, value)| (name.clone(), Wanted::Exact(value.clone())));
            return Ok(Some(Selector::Fields(fields.collect())));
        }
        if rest.starts_with("v:") {
            self.at += 2;
            return self.value(0).map(Selector::Value).map(Some);
        }
        if let Some(index) = rest.strip_prefix("i:").filter(|index| is_index(index)) {
            let end = index.find(['.', '[', ']']).unwrap_or(index.len());
            let number = index.get(..end).unwrap_or_default();
            let number = number.parse().map_err(|_| self.wrong("expected an index"))?;
            self.at += 2 + end;
            return Ok(Some(Selector::Index(number)));
        }
        Ok(None)
    }

    /// Parses a filter of JSONPath: `?(@.name=="web")]`, with several conditions joined by `&&`.
    fn filter(&mut self) -> Result<Selector, Error> {
        self.expect('?')?;
        self.expect('(')?;
        let mut fields = Vec::new();
        loop {
            self.skip_spaces();
            self.expect('@')?;
            let name = match self.peek() {
                Some('[') => {
                    self.at += 1;
                    let name = self.quoted_text()?;
                    self.expect(']')?;
                    name
                }
                _ => {
                    self.expect('.')?;
                    self.name(&[' ', '=', '!', '<', '>', ')', '.', '['])?
                }
            };
            self.skip_spaces();
            if !self.rest().starts_with("==") {
                return Err(self
                    .wrong("expected ==; a filter compares fields of an item, as in [?(@.name==\"web\")]"));
            }
            self.at += 2;
            self.skip_spaces();
            fields.push((name, self.wanted(&[' ', ')', '&'])?));
            self.skip_spaces();
            if !self.rest().starts_with("&&") {
                break;
            }
            self.at += 2;
        }
        self.expect(')')?;
        self.expect(']')?;
        Ok(Selector::Fields(fields))
    }

    fn wanted(&mut self, ends: &[char]) -> Result<Wanted, Error> {
        match self.peek() {
            Some('\'' | '"') => self.quoted_text().map(|text| Wanted::Exact(Value::String(text))),
            Some('{' | '[') => self.value(0).map(Wanted::Exact),
            _ => {
                let rest = self.rest();
                let end = rest.find(ends).unwrap_or(rest.len());
                if end == 0 {
                    return Err(self.wrong("expected a value"));
                }
                self.at += end;
                Ok(Wanted::Word(Text::new(rest.get(..end).unwrap_or_default())))
            }
        }
    }

    /// Parses a text in single or double quotes.
    fn quoted_text(&mut self) -> Result<Text, Error> {
        if self.peek() == Some('"') {
            return self.string().map(Text::from);
        }
        self.expect('\'')?;
        let rest = self.rest();
        let end = rest.find('\'').ok_or_else(|| self.wrong("expected a closing quote"))?;
        self.at += end + 1;
        Ok(Text::new(rest.get(..end).unwrap_or_default()))
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(' ').len();
    }
}

/// Returns the path element of the item that a selector of a list of this type means. An item that the document does not have
/// is named by what was given.
pub(super) fn element(
    selector: &Selector,
    ty: TypeRef<'_>,
    value: Option<&Value>,
) -> Result<PathElement, String> {
    let list = match ty.get() {
        Type::List(list) if list.topology != ListTopology::Atomic => Some(list),
        _ => None,
    };
    let items = value.and_then(Value::as_array).map(|items| items.items()).unwrap_or_default();
    match selector {
        Selector::Name(name) => Err(format!("{name:?} names a field; there is a list here")),
        Selector::Value(value) => Ok(PathElement::Value(value.clone())),
        Selector::Index(index) => {
            let from_start = if *index < 0 { index + items.len() as i64 } else { *index };
            let item = usize::try_from(from_start).ok().and_then(|at| items.get(at));
            let element = list.zip(item).and_then(|(list, item)| PathElement::of_item(item, list).ok());
            Ok(element.unwrap_or(PathElement::Index(if item.is_some() { from_start } else { *index })))
        }
        Selector::Fields(fields) => {
            let default = |name: &Text| match list.map(|list| &list.topology) {
                Some(ListTopology::Keyed(keys)) => {
                    keys.iter().find(|key| key.name == *name)?.default.as_ref()
                }
                _ => None,
            };
            let matches = |item: &&Value| {
                fields.iter().all(|(name, wanted)| {
                    item.get(name).or_else(|| default(name)).is_some_and(|found| wanted.is(found))
                })
            };
            let found =
                list.map(|list| items.iter().filter(matches).map(|item| PathElement::of_item(item, list)));
            let mut found = found.into_iter().flatten().flatten();
            match (found.next(), found.find(|_| true)) {
                (Some(first), Some(second)) if first != second => {
                    Err(format!("several items match, such as {first} and {second}; name one of them"))
                }
                (Some(element), _) => Ok(element),
                (None, _) => Ok(PathElement::Key(given(fields, ty))),
            }
        }
    }
}

/// Returns the keys of an item as they were given, with the defaults of those that were not.
fn given(fields: &[(Text, Wanted)], ty: TypeRef<'_>) -> Object {
    let item = ty.item();
    let mut keys: Vec<(Text, Value)> = fields
        .iter()
        .map(|(name, wanted)| (name.clone(), wanted.value(item.and_then(|item| item.below(name)))))
        .collect();
    if let Type::List(list) = ty.get()
        && let ListTopology::Keyed(declared) = &list.topology
    {
        for key in declared.iter().filter(|key| fields.iter().all(|(name, _)| *name != key.name)) {
            keys.extend(key.default.clone().map(|default| (key.name.clone(), default)));
        }
    }
    Object::from_unsorted(keys)
}
