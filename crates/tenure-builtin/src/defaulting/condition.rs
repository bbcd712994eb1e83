//! Paths below a node, and conditions on them, compiled from rows of data.

use super::image;
use tenure_meta::{
    Edit, NameFilter,
    codec::{Shape, Shapes, StructShape, is_absent},
};
use tenure_value::{Text, Value};

/// A field below a node.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) steps: Box<[Text]>,
    /// Whether an explicit zero counts as a value.
    pub(crate) keeps_zero: bool,
    /// Whether it is a struct, which is there even if it is empty.
    pub(crate) is_struct: bool,
}

/// A condition on a node.
#[derive(Debug)]
pub(crate) enum Condition {
    Absent(Place),
    Present(Place),
    Missing(Place),
    Eq(Place, Value),
    Ne(Place, Value),
    In(Place, Box<[Value]>),
    Negative(Place),
    Same(Place, Place),
    NoFieldsExcept(Box<[Text]>),
    TagLatest(Place),
    NotTagLatest(Place),
}

/// The target of a path.
pub(crate) enum Target<'s> {
    /// A struct, or the items of a list of structs.
    Struct(&'s StructShape),
    /// A value whose fields the schema does not declare.
    Open,
}

impl<'s> Target<'s> {
    /// Returns the struct, if it is one.
    pub(crate) fn of_struct(&self) -> Option<&'s StructShape> {
        match self {
            Target::Struct(structure) => Some(structure),
            Target::Open => None,
        }
    }
}

/// Follows a field of a struct.
pub(crate) fn follow<'s>(shapes: &'s Shapes, target: &Target<'_>, name: &str) -> Result<Target<'s>, String> {
    let Target::Struct(target) = target else { return Ok(Target::Open) };
    let field = target.field(name).ok_or_else(|| format!("{} has no field {name:?}", target.name))?;
    let mut id = field.shape;
    loop {
        match shapes.get(id) {
            Shape::Struct(target) => return Ok(Target::Struct(target)),
            Shape::List(item) => id = *item,
            _ => return Ok(Target::Open),
        }
    }
}

impl Place {
    /// Resolves a path; `./` refers to the given type itself.
    pub(crate) fn compile(shapes: &Shapes, from: &Target<'_>, path: &str) -> Result<Place, String> {
        let steps: Box<[Text]> = path.trim_start_matches("./").split('.').map(Text::new).collect();
        let Some((last, parents)) = steps.split_last() else { return Err("the path is empty".into()) };
        let mut at = match from {
            Target::Struct(structure) => Target::Struct(structure),
            Target::Open => Target::Open,
        };
        for name in parents {
            at = follow(shapes, &at, name)?;
        }
        let (keeps_zero, is_struct) = match at.of_struct() {
            // A row about a whole node has an empty path.
            Some(_) if last.is_empty() => (false, false),
            Some(of) => {
                let field = of.field(last).ok_or_else(|| format!("{} has no field {last:?}", of.name))?;
                (field.keeps_zero, matches!(shapes.get(field.shape), Shape::Struct(_)))
            }
            None => (false, false),
        };
        Ok(Place { steps, keeps_zero, is_struct })
    }

    /// Returns the field of the node that the path begins with.
    pub(crate) fn reads(&self) -> NameFilter {
        match self.steps.first() {
            // A row about a whole node has an empty path.
            Some(name) if name.is_empty() => NameFilter::ALL,
            Some(name) => NameFilter::of(name),
            None => NameFilter::ALL,
        }
    }

    pub(crate) fn find<'n>(&self, node: &'n Edit<'_>) -> Option<&'n Value> {
        match &*self.steps {
            [] => None,
            [first, rest @ ..] => rest.iter().try_fold(node.get(first)?, |value, name| value.get(name)),
        }
    }

    pub(crate) fn present<'n>(&self, node: &'n Edit<'_>) -> Option<&'n Value> {
        self.find(node).filter(|value| !is_absent(Some(value), self.keeps_zero))
    }
}

impl Condition {
    /// Compiles `[op, path, value]`.
    pub(crate) fn compile(shapes: &Shapes, from: &Target<'_>, row: &Value) -> Result<Condition, String> {
        let words = row.as_array().map(|words| words.items()).unwrap_or_default();
        let (Some(op), Some(path)) =
            (words.first().and_then(Value::as_str), words.get(1).and_then(Value::as_str))
        else {
            return Err(format!("a condition is [op, path, value], not {row}"));
        };
        let at = || Place::compile(shapes, from, path);
        let value = || words.get(2).cloned().ok_or_else(|| format!("{op:?} needs a value: {row}"));
        let values = || {
            let value = value()?;
            let items = value.as_array().ok_or_else(|| format!("{op:?} needs a list: {row}"))?;
            Ok::<Box<[Value]>, String>(items.items().into())
        };
        let text =
            |value: &Value| value.as_str().map(Text::new).ok_or_else(|| format!("{op:?} needs names: {row}"));
        Ok(match op {
            "absent" => Condition::Absent(at()?),
            "present" => Condition::Present(at()?),
            "missing" => Condition::Missing(at()?),
            "eq" => Condition::Eq(at()?, value()?),
            "ne" => Condition::Ne(at()?, value()?),
            "in" => Condition::In(at()?, values()?),
            "negative" => Condition::Negative(at()?),
            "same" => Condition::Same(at()?, Place::compile(shapes, from, &text(&value()?)?)?),
            "noFieldsExcept" => {
                Condition::NoFieldsExcept(values()?.iter().map(text).collect::<Result<_, _>>()?)
            }
            "tagLatest" => Condition::TagLatest(at()?),
            "notTagLatest" => Condition::NotTagLatest(at()?),
            _ => return Err(format!("unknown condition {op:?}: {row}")),
        })
    }

    /// Returns the fields of the node that the condition is about.
    pub(crate) fn reads(&self) -> NameFilter {
        match self {
            Condition::Absent(place)
            | Condition::Present(place)
            | Condition::Missing(place)
            | Condition::Eq(place, _)
            | Condition::Ne(place, _)
            | Condition::In(place, _)
            | Condition::Negative(place)
            | Condition::TagLatest(place)
            | Condition::NotTagLatest(place) => place.reads(),
            Condition::Same(one, other) => one.reads().or(other.reads()),
            Condition::NoFieldsExcept(_) => NameFilter::ALL,
        }
    }

    pub(crate) fn holds(&self, node: &Edit<'_>) -> bool {
        match self {
            Condition::Absent(place) => place.present(node).is_none(),
            Condition::Present(place) => place.present(node).is_some(),
            Condition::Missing(place) => place.find(node).is_none_or(Value::is_null),
            Condition::Eq(place, value) => place.find(node) == Some(value),
            Condition::Ne(place, value) => place.find(node) != Some(value),
            Condition::In(place, values) => place.find(node).is_some_and(|value| values.contains(value)),
            Condition::Negative(place) => {
                place.find(node).and_then(Value::as_i64).is_some_and(|number| number < 0)
            }
            Condition::Same(one, other) => one.present(node) == other.present(node),
            Condition::NoFieldsExcept(names) => node.fields().iter().all(|(name, _)| names.contains(name)),
            Condition::TagLatest(place) => image::is_latest(place.find(node)),
            Condition::NotTagLatest(place) => !image::is_latest(place.find(node)),
        }
    }
}
