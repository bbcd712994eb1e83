//! Describes a type in plain words, with a line for each field, for humans and for tests.

use crate::{
    Field, List, ListTopology, PatchMarks, Relation, Scalar, ScalarKind, Slot, Type, TypeRef, UnknownFields,
};
use std::{
    fmt::{self, Display, Formatter},
    ops::ControlFlow,
};
use tenure_value::{Text, json};

/// The maximum nesting of lists and maps in one line; a list may be its own item.
const NESTING: usize = 8;

/// The description of a type; see [`TypeRef::outline`].
pub struct Outline<'s> {
    ty: TypeRef<'s>,
    depth: usize,
}

impl<'s> TypeRef<'s> {
    /// Describes the type: the type itself in one line, then its fields, down to a depth.
    ///
    /// ```
    /// let port = tenure_schema::Schema::builtin().named("io.k8s.api.core.v1.HostAlias").unwrap();
    /// assert_eq!(
    ///     port.outline(1).to_string(),
    ///     "object\n  hostnames: atomic list of string\n  ip: string, required, default \"\"\n"
    /// );
    /// ```
    pub fn outline(self, depth: usize) -> Outline<'s> {
        Outline { ty: self, depth }
    }
}

impl Display for Outline<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", Words(self.ty, NESTING))?;
        fields(self.ty, self.depth, 1, f)
    }
}

/// Writes the fields of a type, through lists and maps.
fn fields(ty: TypeRef, depth: usize, indent: usize, f: &mut Formatter<'_>) -> fmt::Result {
    let inner = (0..NESTING).try_fold(ty, |outer, _| match outer.get() {
        Type::Map(map) => ControlFlow::Continue(outer.slot(&map.value)),
        Type::List(list) => ControlFlow::Continue(outer.slot(&list.item)),
        Type::Struct(_) | Type::Scalar(_) | Type::Untyped => ControlFlow::Break(outer),
    });
    let (ControlFlow::Break(ty), Some(depth)) = (inner, depth.checked_sub(1)) else { return Ok(()) };
    ty.fields().try_for_each(|(field, below)| {
        writeln!(f, "{:indent$}{}", "", Line(field, below), indent = 2 * indent)?;
        fields(below, depth, indent + 1, f)
    })
}

/// A field in one line.
struct Line<'s>(&'s Field, TypeRef<'s>);

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Line(field, ty) = self;
        write!(f, "{}: {}", field.name, Words(*ty, NESTING))?;
        if field.required {
            f.write_str(", required")?;
        }
        position(&field.slot, f)?;
        patch(&field.patch, f)
    }
}

fn position(slot: &Slot, f: &mut Formatter<'_>) -> fmt::Result {
    if slot.nullable {
        f.write_str(", nullable")?;
    }
    match &slot.default {
        Some(default) => write!(f, ", default {}", json::to_string(default)),
        None => Ok(()),
    }
}

fn patch(marks: &PatchMarks, f: &mut Formatter<'_>) -> fmt::Result {
    let strategy = marks.strategy;
    match (&marks.merge_key, strategy.merge) {
        (Some(key), true) => write!(f, ", patch merges by {key}")?,
        (None, true) => f.write_str(", patch merges")?,
        (_, false) => {}
    }
    if !marks.recommended_keys.is_empty() {
        write!(f, ", better by {}", Joined(&marks.recommended_keys))?;
    }
    if strategy.replace {
        f.write_str(", patch replaces")?;
    }
    if strategy.retain_keys {
        f.write_str(", patch retains keys")?;
    }
    Ok(())
}

struct Joined<'t>(&'t [Text]);

impl Display for Joined<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(at, text)| match at {
            0 => f.write_str(text),
            _ => write!(f, "+{text}"),
        })
    }
}

/// The description of a type without its fields.
struct Words<'s>(TypeRef<'s>, usize);

impl Display for Words<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Words(ty, nesting) = *self;
        let Some(below) = nesting.checked_sub(1) else { return f.write_str("...") };
        match ty.get() {
            Type::Struct(record) => {
                f.write_str(if record.embedded_resource { "embedded " } else { "" })?;
                f.write_str(if record.relation == Relation::Atomic { "atomic object" } else { "object" })?;
                f.write_str(if record.unknown == UnknownFields::Preserved {
                    " that keeps unknown fields"
                } else {
                    ""
                })
            }
            Type::Map(map) => {
                f.write_str(if map.relation == Relation::Atomic { "atomic map of " } else { "map of " })?;
                write!(f, "{}", Words(ty.slot(&map.value), below))?;
                nullable(&map.value, f)
            }
            Type::List(list) => {
                write!(f, "{} {}", list_word(list), Words(ty.slot(&list.item), below))?;
                nullable(&list.item, f)?;
                keys(list, f)
            }
            Type::Scalar(scalar_type) => scalar(scalar_type, f),
            Type::Untyped => f.write_str("anything"),
        }
    }
}

fn nullable(slot: &Slot, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str(if slot.nullable { " or null" } else { "" })
}

fn list_word(list: &List) -> &'static str {
    match list.topology {
        ListTopology::Atomic => "atomic list of",
        ListTopology::Set => "set of",
        ListTopology::Keyed(_) => "list of",
    }
}

fn keys(list: &List, f: &mut Formatter<'_>) -> fmt::Result {
    let ListTopology::Keyed(keys) = &list.topology else { return Ok(()) };
    keys.iter().enumerate().try_for_each(|(at, key)| {
        write!(f, "{}{}", if at == 0 { " by " } else { "+" }, key.name)?;
        match &key.default {
            Some(default) => write!(f, "={}", json::to_string(default)),
            None => Ok(()),
        }
    })
}

fn scalar(shape: &Scalar, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str(match shape.kind {
        ScalarKind::Boolean => "boolean",
        ScalarKind::Integer => "integer",
        ScalarKind::Number => "number",
        ScalarKind::String => "string",
        ScalarKind::IntOrString => "integer or string",
        ScalarKind::Quantity => "quantity",
    })?;
    if !shape.format.is_empty() && shape.kind != ScalarKind::IntOrString {
        write!(f, " ({})", shape.format)?;
    }
    shape.values.iter().enumerate().try_for_each(|(at, value)| {
        write!(f, "{}{}", if at == 0 { " of " } else { "|" }, json::to_string(value))
    })
}
