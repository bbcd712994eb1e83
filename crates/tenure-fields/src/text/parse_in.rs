//! Parses paths whose names may contain dots and brackets: the type, and the document if there is one,
//! determine which names exist. Alternatives are tried in turn, the likelier first, and the first one that
//! consumes the whole text wins; their number is limited, since nested maps could make it explode.
//!
//! All notations lead to the same path: that of conflict messages, the quoted one, JSON pointers, JSONPath as
//! `kubectl` takes it, and elements of `FieldsV1`. An index becomes the element by which the item is owned.

use super::{
    parse::Cursor,
    selector::{self, Selector},
};
use crate::{Error, Path, PathElement, resolve};
use tenure_schema::{ListTopology, Relation, Type, TypeRef, UnknownFields};
use tenure_value::{Limits, Text, Value};

/// The number of elements tried before a text counts as too ambiguous.
const MAX_ATTEMPTS: usize = 10_000;

impl Path {
    /// Parses a path in any notation, for a document of this type; the document, if there is one, determines
    /// which names exist and which items are meant.
    ///
    /// ```
    /// use tenure_fields::Path;
    /// use tenure_schema::TypeRef;
    ///
    /// let value = r#"{"metadata":{"labels":{"example.org/tier":"web"}}}"#.parse().unwrap();
    /// let path = Path::parse_in(".metadata.labels.example.org/tier", TypeRef::untyped(), Some(&value)).unwrap();
    /// assert_eq!(path.len(), 3);
    /// for same in ["/metadata/labels/example.org~1tier", r"{.metadata.labels.example\.org/tier}", "$.metadata.labels['example.org/tier']"] {
    ///     assert_eq!(Path::parse_in(same, TypeRef::untyped(), Some(&value)).unwrap(), path);
    /// }
    /// ```
    pub fn parse_in(text: &str, ty: TypeRef<'_>, value: Option<&Value>) -> Result<Path, Error> {
        let (inside, start) = without_frame(text);
        let mut search = Search { text: inside, path: Vec::new(), steps: 0, furthest: None };
        let found = match inside.strip_prefix('/') {
            Some(tokens) => search.pointer(tokens, ty, value),
            None => search.read(0, ty, value),
        };
        if found {
            return Ok(search.path.into());
        }
        let (offset, problem) = search.furthest.unwrap_or_default();
        Err(Error::Path { text: text.to_owned(), offset: start + offset, problem })
    }
}

/// Returns a path without the braces and the root of JSONPath, and the offset at which it starts.
fn without_frame(text: &str) -> (&str, usize) {
    let mut start = text.len() - text.trim_start().len();
    let mut inside = text.trim();
    if let Some(template) = inside.strip_prefix('{').and_then(|inside| inside.strip_suffix('}')) {
        (inside, start) = (template, start + 1);
    }
    match inside.strip_prefix('$') {
        Some(below) if below.is_empty() || below.starts_with(['.', '[']) => (below, start + 1),
        _ => (inside, start),
    }
}

struct Search<'t> {
    text: &'t str,
    /// The elements parsed so far.
    path: Vec<PathElement>,
    steps: usize,
    /// The furthest position that was reached, and the problem there.
    furthest: Option<(usize, String)>,
}

impl<'t> Search<'t> {
    /// Parses the text from an offset on, and returns whether an alternative reaches its end.
    fn read(&mut self, at: usize, ty: TypeRef<'_>, value: Option<&Value>) -> bool {
        self.steps += 1;
        if self.steps > MAX_ATTEMPTS || self.path.len() >= Limits::DEPTH {
            return self.fail(at, "the path is too ambiguous; quote its names");
        }
        match self.text.as_bytes().get(at) {
            None => true,
            Some(b'[') => self.item(at, ty, value),
            Some(b'.') => self.field(at + 1, ty, value),
            Some(_) if at == 0 => self.field(0, ty, value),
            Some(_) => self.fail(at, "expected a dot or an opening bracket"),
        }
    }

    fn fail(&mut self, at: usize, problem: impl Into<String>) -> bool {
        if self.furthest.as_ref().is_none_or(|(furthest, _)| at > *furthest) {
            self.furthest = Some((at, problem.into()));
        }
        false
    }

    /// Parses the tokens of a JSON pointer, which name everything exactly.
    fn pointer(&mut self, tokens: &str, ty: TypeRef<'_>, value: Option<&Value>) -> bool {
        let (mut ty, mut value, mut at) = (ty, value, 1);
        for token in tokens.split('/') {
            let name = token.replace("~1", "/").replace("~0", "~");
            let is_list = matches!(ty.get(), Type::List(_)) || matches!(value, Some(Value::Array(_)));
            let (element, below) = match (is_list, token.parse()) {
                (true, Err(_)) => return self.fail(at, "expected the index of an item of the list"),
                (true, Ok(index)) => match selector::element(&Selector::Index(index), ty, value) {
                    Ok(element) => (element, ty.item()),
                    Err(problem) => return self.fail(at, problem),
                },
                (false, _) => {
                    let below = ty.below(&name);
                    (PathElement::Field(Text::from(name)), below)
                }
            };
            let Some(below) = below.filter(|_| self.path.len() < Limits::DEPTH) else {
                return self.fail(at, format!("field {token:?} does not exist here"));
            };
            value = value.and_then(|value| resolve::step(value, &element, ty));
            ty = below;
            at += token.len() + 1;
            self.path.push(element);
        }
        true
    }

    fn item(&mut self, at: usize, ty: TypeRef<'_>, value: Option<&Value>) -> bool {
        let mut cursor = Cursor { text: self.text, at };
        match cursor.selector() {
            Err(Error::Path { offset, problem, .. }) => self.fail(offset, problem),
            Err(error) => self.fail(at, error.to_string()),
            Ok(Selector::Name(name)) => self.known(name, at, cursor.at, ty, value),
            Ok(selector) => self.selected(&selector, at, cursor.at, ty, value),
        }
    }

    /// Continues after the item that a selector names.
    fn selected(
        &mut self,
        selector: &Selector,
        at: usize,
        end: usize,
        ty: TypeRef<'_>,
        value: Option<&Value>,
    ) -> bool {
        let Some(item) = ty.item() else {
            return self.fail(at, "expected a field; there is no list here");
        };
        match selector::element(selector, ty, value) {
            Err(problem) => self.fail(at, problem),
            Ok(element) => {
                let below = value.and_then(|value| resolve::step(value, &element, ty));
                self.step(element, end, item, below)
            }
        }
    }

    /// Adds an element and continues; removes it if that fails.
    fn step(&mut self, element: PathElement, at: usize, ty: TypeRef<'_>, value: Option<&Value>) -> bool {
        self.path.push(element);
        let found = self.read(at, ty, value);
        if !found {
            self.path.pop();
        }
        found
    }

    fn field(&mut self, at: usize, ty: TypeRef<'_>, value: Option<&Value>) -> bool {
        self.quoted(at, ty, value)
            || self.escaped(at, ty, value)
            || self.existing(at, ty, value)
            || self.declared(at, ty, value)
            || self.fields_v1(at, ty, value)
            || self.cut(at, ty)
    }

    /// Continues after a name that is known exactly.
    fn known(&mut self, name: Text, at: usize, end: usize, ty: TypeRef<'_>, value: Option<&Value>) -> bool {
        let Some(below) = ty.below(&name) else {
            return self.fail(at, format!("field {name:?} does not exist here"));
        };
        let value = value.and_then(|value| value.get(&name));
        self.step(PathElement::Field(name), end, below, value)
    }

    /// Tries a name with escaped dots, as `kubectl` writes them in JSONPath.
    fn escaped(&mut self, at: usize, ty: TypeRef<'_>, value: Option<&Value>) -> bool {
        let rest = self.text.get(at..).unwrap_or_default();
        let (mut name, mut end, mut characters) = (String::new(), rest.len(), rest.char_indices());
        while let Some((position, character)) = characters.next() {
            match character {
                '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
                '.' | '[' => {
                    end = position;
                    break;
                }
                other => name.push(other),
            }
        }
        name.len() < end && self.known(Text::from(name), at, at + end, ty, value)
    }

    /// Tries an element as `FieldsV1` writes it, such as `k:{"name":"web"}` or `f:spec`.
    fn fields_v1(&mut self, at: usize, ty: TypeRef<'_>, value: Option<&Value>) -> bool {
        let mut cursor = Cursor { text: self.text, at };
        if cursor.rest().starts_with("f:") {
            return self.field(at + 2, ty, value);
        }
        match cursor.fields_v1() {
            Ok(Some(selector)) => self.selected(&selector, at, cursor.at, ty, value),
            _ => false,
        }
    }

    fn name(&mut self, at: usize, end: usize, ty: TypeRef<'_>, value: Option<&Value>) -> bool {
        let name = self.text.get(at..end).unwrap_or_default();
        match ty.below(name) {
            Some(below) => {
                let value = value.and_then(|value| value.get(name));
                self.step(PathElement::Field(Text::new(name)), end, below, value)
            }
            None => self.fail(at, format!("field {name:?} does not exist here")),
        }
    }

    /// Tries a quoted name.
    fn quoted(&mut self, at: usize, ty: TypeRef<'_>, value: Option<&Value>) -> bool {
        let mut cursor = Cursor { text: self.text, at };
        if cursor.peek() != Some('"') {
            return false;
        }
        let Ok(name) = cursor.string() else { return false };
        self.known(Text::from(name), at, cursor.at, ty, value)
    }

    /// Tries the names in the document, longest first.
    fn existing(&mut self, at: usize, ty: TypeRef<'_>, value: Option<&Value>) -> bool {
        let Some(Value::Object(object)) = value else { return false };
        let mut ends: Vec<usize> = object.iter().filter_map(|(name, _)| self.end_of(at, name)).collect();
        ends.sort_unstable();
        ends.into_iter().rev().any(|end| self.name(at, end, ty, value))
    }

    /// Tries the names in the type, longest first.
    fn declared(&mut self, at: usize, ty: TypeRef<'_>, value: Option<&Value>) -> bool {
        let Type::Struct(fields) = ty.get() else { return false };
        let mut ends: Vec<usize> =
            fields.fields.iter().filter_map(|field| self.end_of(at, &field.name)).collect();
        ends.sort_unstable();
        ends.into_iter().rev().any(|end| self.name(at, end, ty, value))
    }

    /// Returns the end of a name if the text contains it at this position as a whole.
    fn end_of(&self, at: usize, name: &str) -> Option<usize> {
        let after = self.text.get(at..)?.strip_prefix(name)?;
        matches!(after.bytes().next(), None | Some(b'.' | b'[')).then_some(at + name.len())
    }

    /// Tries names that are neither in the document nor in the type.
    fn cut(&mut self, at: usize, ty: TypeRef<'_>) -> bool {
        let rest = self.text.get(at..).unwrap_or_default();
        let mut ends = rest.match_indices(['.', '[']).map(|(end, _)| end).chain([rest.len()]);
        match ty.get() {
            Type::Map(map) if is_leaf(ty.slot(&map.value)) => self.name(at, self.text.len(), ty, None),
            Type::Map(_) => ends.any(|end| self.name(at, at + end, ty, None)),
            Type::Struct(fields) if fields.unknown == UnknownFields::Foreign => {
                let end = ends.next().unwrap_or_default();
                self.fail(at, format!("field {:?} does not exist here", &rest[..end]))
            }
            Type::Struct(_) | Type::Untyped => match ends.next() {
                Some(0) | None => self.fail(at, "expected a name; an empty one is written \"\""),
                Some(end) => self.name(at, at + end, ty, None),
            },
            Type::List(_) => self.fail(at, "expected an item of a list in brackets"),
            Type::Scalar(_) => self.fail(at, "a scalar has no fields"),
        }
    }
}

/// Whether values of this type have no children.
fn is_leaf(ty: TypeRef<'_>) -> bool {
    match ty.get() {
        Type::Scalar(_) => true,
        Type::List(list) => list.topology == ListTopology::Atomic,
        Type::Map(map) => map.relation == Relation::Atomic,
        Type::Struct(fields) => fields.relation == Relation::Atomic,
        Type::Untyped => false,
    }
}
