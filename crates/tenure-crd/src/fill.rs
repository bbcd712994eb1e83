//! Fills in defaults: where a field is absent, and where it is `null` although the schema does not allow `null`. A default is
//! filled in turn, and an object that is absent and has no default of its own is not made.
//!
//! A short list of empty items can stand for very many defaults, so that what is filled in is counted.

use super::node::{Additional, Node};
use tenure_meta::{Previous, Rebuild, map_items};
use tenure_value::{Object, Value};

/// How many values defaults may add to one object.
const MAX_VALUES: usize = 500_000;
/// How many bytes of names and scalars defaults may add to one object.
const MAX_BYTES: usize = 8 << 20;

/// The defaults of an object are more than a server can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyDefaults;

impl std::fmt::Display for TooManyDefaults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the defaults of the schema add more than {MAX_VALUES} values or {MAX_BYTES} bytes to the object; use fewer items or fewer defaults"
        )
    }
}

/// Returns the value with its defaults; `None` if none is missing. What was there before has them.
pub(crate) fn fill(
    node: &Node,
    value: &Value,
    before: Previous<'_>,
) -> Result<Option<Value>, TooManyDefaults> {
    let mut filler = Filler::default();
    let filled = filler.fill(node, value, before);
    if filler.is_exhausted { Err(TooManyDefaults) } else { Ok(filled) }
}

/// Returns a stored value with its defaults. An object that was stored before its schema had so many of them is read without
/// those that are too many.
pub(crate) fn fill_stored(node: &Node, value: &Value) -> Option<Value> {
    Filler::default().fill(node, value, Previous::UNKNOWN)
}

/// One walk, and what it may still add.
struct Filler {
    values: usize,
    bytes: usize,
    is_exhausted: bool,
}

impl Default for Filler {
    fn default() -> Filler {
        Filler { values: MAX_VALUES, bytes: MAX_BYTES, is_exhausted: false }
    }
}

impl Filler {
    fn fill(&mut self, node: &Node, value: &Value, before: Previous<'_>) -> Option<Value> {
        if !node.defaults_within || self.is_exhausted || before.is_unchanged(value) {
            return None;
        }
        match value {
            Value::Object(fields) => self.fill_fields(node, fields, before).map(Value::from),
            Value::Array(items) => {
                let item_node = node.items.as_deref()?;
                map_items(items.items(), |at, item| self.replaced(item_node, item, before.item(at)))
            }
            _ => None,
        }
    }

    /// Returns what replaces a given value: its default for a `null` that is not allowed, or itself with defaults.
    fn replaced(&mut self, node: &Node, value: &Value, before: Previous<'_>) -> Option<Value> {
        match (&node.default, value) {
            (Some(default), Value::Null) if !node.nullable => self.filled(node, default),
            _ => self.fill(node, value, before),
        }
    }

    /// Returns a default with the defaults inside it, if there is room for it.
    fn filled(&mut self, node: &Node, default: &Value) -> Option<Value> {
        if !self.take(default) {
            return None;
        }
        Some(self.fill(node, default, Previous::UNKNOWN).unwrap_or_else(|| default.clone()))
    }

    fn fill_fields(&mut self, node: &Node, fields: &Object, before: Previous<'_>) -> Option<Object> {
        let mut walk = Rebuild::new(fields.fields());
        let mut known = node.fields.iter().peekable();
        while let Some((name, value)) = walk.next() {
            while let Some((missing, below)) = known.next_if(|(field, _)| field < name) {
                if let Some(default) = below.default.as_ref().and_then(|default| self.filled(below, default))
                {
                    walk.insert(missing, default);
                }
            }
            let below = match known.next_if(|(field, _)| field == name) {
                Some((_, below)) => Some(below),
                None => match &node.additional {
                    Additional::Each(below) => Some(&**below),
                    _ => None,
                },
            };
            let before = before.field(walk.place(), name, value);
            walk.replace_if(below.and_then(|below| self.replaced(below, value, before)));
        }
        for (missing, below) in known {
            if let Some(default) = below.default.as_ref().and_then(|default| self.filled(below, default)) {
                walk.insert(missing, default);
            }
        }
        walk.finish()
    }

    /// Takes room for a value, unless there is none left.
    fn take(&mut self, value: &Value) -> bool {
        // A name or a scalar of up to 16 bytes counts as that much, which is about what it occupies.
        let mut take = |bytes: usize| {
            let left = (self.values.checked_sub(1), self.bytes.checked_sub(bytes.max(16)));
            match left {
                (Some(values), Some(bytes)) if !self.is_exhausted => {
                    (self.values, self.bytes) = (values, bytes)
                }
                _ => self.is_exhausted = true,
            }
            !self.is_exhausted
        };
        match value {
            Value::String(text) => take(text.len()),
            Value::Array(items) => take(0) && items.iter().all(|item| self.take(item)),
            Value::Object(fields) => {
                take(0)
                    && fields.iter().all(|(name, value)| {
                        self.bytes = self.bytes.saturating_sub(name.len());
                        self.take(value)
                    })
            }
            _ => take(0),
        }
    }
}
