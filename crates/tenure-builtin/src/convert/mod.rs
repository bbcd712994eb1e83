//! Conversion of objects between versions of their kind. A conversion is a row of data: renamed fields, and a
//! function if renaming does not suffice. All other fields stay as they are.

mod autoscaler;
mod go_json;

pub(crate) use autoscaler::without_reserved;

use crate::data::{self, CONVERSIONS, DataError, only_known};
use tenure_meta::{Registry, Resource, ValueExt};
use tenure_value::{Object, Text, Value};

/// How the two versions of a kind differ.
struct Conversion {
    between: (Text, Text),
    renames: Box<[(Text, Text)]>,
    function: Option<Functions>,
}

/// The two directions of a conversion beyond renaming.
#[derive(Clone, Copy)]
struct Functions {
    there: fn(&Object) -> Object,
    back: fn(&Object) -> Object,
}

const FUNCTIONS: [(&str, Functions); 1] =
    [("autoscaler", Functions { there: autoscaler::to_v1, back: autoscaler::to_v2 })];

/// All conversions between versions of built-in kinds.
pub(crate) struct Conversions(Vec<Conversion>);

impl Conversions {
    /// Compiles the rows of the data.
    pub(crate) fn new(registry: &Registry, document: &Value) -> Result<Conversions, DataError> {
        let rows = data::rows(CONVERSIONS, document, "conversions")?.iter().enumerate();
        let conversions = rows.map(|(at, row)| {
            let wrong = |reason| DataError::new(CONVERSIONS, format!("conversions[{at}]"), reason);
            Conversion::compile(registry, row).map_err(wrong)
        });
        conversions.collect::<Result<_, _>>().map(Conversions)
    }

    /// Converts the fields of an object of one resource to another version of the same kind.
    pub(crate) fn convert(&self, fields: &Object, from: &Resource, to: &Resource) -> Result<Object, String> {
        let name = |resource: &Resource| format!("{} {}", resource.api_version, resource.kind);
        let (here, there) = (name(from), name(to));
        let converted = if let Some(conversion) = self.find(&here, &there) {
            conversion.there(fields)
        } else if let Some(conversion) = self.find(&there, &here) {
            conversion.back(fields)
        } else {
            return Err(format!("{here} cannot be converted to {there}: they are not the same kind"));
        };
        Ok(converted.with("apiVersion", to.api_version.clone()).with("kind", to.kind.clone()))
    }

    /// Whether the versions of two resources of a kind differ in more than names, so that a way there and back changes objects.
    pub(crate) fn reshapes(&self, one: &Resource, other: &Resource) -> bool {
        let name = |resource: &Resource| format!("{} {}", resource.api_version, resource.kind);
        let (one, other) = (name(one), name(other));
        let conversion = self.find(&one, &other).or_else(|| self.find(&other, &one));
        conversion.is_some_and(|conversion| conversion.function.is_some())
    }

    fn find(&self, one: &str, other: &str) -> Option<&Conversion> {
        self.0.iter().find(|pair| pair.between.0 == one && pair.between.1 == other)
    }
}

impl Conversion {
    fn compile(registry: &Registry, row: &Value) -> Result<Conversion, String> {
        only_known(row, &["between", "fn", "renames"])?;
        let between = row.texts("between");
        let [one, other] = &*between else { return Err("between must name two kinds".into()) };
        for name in [one, other] {
            let known = name.split_once(' ').and_then(|(version, kind)| registry.of_kind(version, kind));
            known.ok_or_else(|| format!("no kind {name:?} is served"))?;
        }
        let pair = |row: &Value| match row.as_array().map(|pair| pair.items()) {
            Some([Value::String(one), Value::String(other)]) => Ok((one.clone(), other.clone())),
            _ => Err(format!("a rename is two names, not {row}")),
        };
        let function = match row.get("fn").and_then(Value::as_str) {
            None => None,
            Some(name) => {
                let found =
                    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, functions)| *functions);
                Some(found.ok_or_else(|| format!("there is no function {name:?}"))?)
            }
        };
        let renames = row.items("renames").iter().map(pair).collect::<Result<_, _>>()?;
        Ok(Conversion { between: (one.clone(), other.clone()), renames, function })
    }

    fn there(&self, object: &Object) -> Object {
        let renamed = rename(object, self.renames.iter().map(|(one, other)| (one, other)));
        self.function.map_or(renamed.clone(), |function| (function.there)(&renamed))
    }

    fn back(&self, object: &Object) -> Object {
        let renamed = rename(object, self.renames.iter().map(|(one, other)| (other, one)));
        self.function.map_or(renamed.clone(), |function| (function.back)(&renamed))
    }
}

fn rename<'n>(object: &Object, names: impl Iterator<Item = (&'n Text, &'n Text)>) -> Object {
    let names: Vec<(&Text, &Text)> = names.collect();
    if names.is_empty() {
        return object.clone();
    }
    let new = |name: &Text| names.iter().find(|(from, _)| *from == name).map_or(name, |(_, to)| *to).clone();
    Object::from_unsorted(object.iter().map(|(name, value)| (new(name), value.clone())).collect())
}
