//! The same object in another version of its kind. A conversion is a row of data: fields that have another
//! name there, and where that does not say it all, a function. Everything not named stays as it is.

mod autoscaler;

use super::{Kinds, pack::CONVERSIONS};
use std::sync::LazyLock;
use tenure_meta::{Resource, Row};
use tenure_value::{Object, Text, Value};

/// How the two versions of a kind differ.
struct Conversion {
    between: (Text, Text),
    renames: Box<[(Text, Text)]>,
    function: Option<Functions>,
}

/// The two directions of a conversion that renaming cannot say.
#[derive(Clone, Copy)]
struct Functions {
    there: fn(&Object) -> Object,
    back: fn(&Object) -> Object,
}

const FUNCTIONS: [(&str, Functions); 1] =
    [("autoscaler", Functions { there: autoscaler::to_v1, back: autoscaler::to_v2 })];

static ALL: LazyLock<Vec<Conversion>> = LazyLock::new(|| {
    let conversion = |row: &Value| {
        let [one, other] = &*row.texts("between") else { return None };
        let pair = |row: &Value| match row.as_array().map(|pair| pair.items()) {
            Some([Value::String(one), Value::String(other)]) => Some((one.clone(), other.clone())),
            _ => None,
        };
        let named = row.get("fn").and_then(Value::as_str);
        Some(Conversion {
            between: (one.clone(), other.clone()),
            renames: row.items("renames").iter().filter_map(pair).collect(),
            function: FUNCTIONS.iter().find(|(name, _)| Some(*name) == named).map(|(_, of)| *of),
        })
    };
    CONVERSIONS.items("conversions").iter().filter_map(conversion).collect()
});

impl Conversion {
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

impl Kinds {
    /// Returns an object of one resource in the form of another that serves the same objects.
    pub fn convert(&self, object: &Value, from: &Resource, to: &Resource) -> Result<Value, String> {
        if from.api_version == to.api_version && from.kind == to.kind {
            return Ok(object.clone());
        }
        let fields = object.as_object().ok_or("an object is converted, not a list or a scalar")?;
        let name = |of: &Resource| format!("{} {}", of.api_version, of.kind);
        let (here, there) = (name(from), name(to));
        let find =
            |one: &str, other: &str| ALL.iter().find(|of| of.between.0 == one && of.between.1 == other);
        let converted = if let Some(conversion) = find(&here, &there) {
            conversion.there(fields)
        } else if let Some(conversion) = find(&there, &here) {
            conversion.back(fields)
        } else {
            return Err(format!("{here} cannot be converted to {there}: they are not the same kind"));
        };
        let converted = converted.with("apiVersion", to.api_version.clone()).with("kind", to.kind.clone());
        Ok(self.encode(to, &converted.into()))
    }
}
