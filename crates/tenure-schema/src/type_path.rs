//! Places within a type, and the way to one: `.spec.ports[].name`, `.metadata.labels.*`. A place is not a
//! path of a document: it names all items of a list and all values of a map at once.

use crate::{Field, SchemaError, Type, TypeRef, spelling};
use std::fmt;
use tenure_value::{Limits, Text};

/// One step down from a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TypeStep {
    /// To a field.
    Field(Text),
    /// To the items of a list.
    Item,
    /// To the values of a map.
    Value,
}

/// The way from a type to a place within it, shown as `.spec.ports[].name`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypePath(Vec<TypeStep>);

impl TypePath {
    /// Returns the steps.
    pub fn steps(&self) -> &[TypeStep] {
        &self.0
    }

    /// Returns this path with one step more.
    pub fn with(&self, step: TypeStep) -> TypePath {
        TypePath(self.0.iter().cloned().chain([step]).collect())
    }
}

impl fmt::Display for TypePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| match step {
            TypeStep::Field(name) => write!(f, ".{name}"),
            TypeStep::Item => f.write_str("[]"),
            TypeStep::Value => f.write_str(".*"),
        })
    }
}

/// A place within a type.
#[derive(Clone, Debug)]
pub struct Located<'s> {
    /// The way to it.
    pub path: TypePath,
    /// The field that it is, where the last step was one.
    pub field: Option<&'s Field>,
    /// What stands there.
    pub of: TypeRef<'s>,
}

impl<'s> TypeRef<'s> {
    /// Finds the place that names lead to, such as `spec.containers.ports`. Lists are entered by themselves; a
    /// name below a map, or `*`, stands for all of its values.
    ///
    /// ```
    /// let pod = tenure_schema::Schema::builtin().kind("v1", "Pod").unwrap();
    /// let ports = pod.locate("spec.containers.ports").unwrap();
    /// assert_eq!(ports.path.to_string(), ".spec.containers[].ports");
    /// assert!(pod.locate("spec.container").unwrap_err().to_string().contains("\"containers\" may be meant"));
    /// ```
    pub fn locate(self, names: &str) -> Result<Located<'s>, SchemaError> {
        let mut at = Located { path: TypePath::default(), field: None, of: self };
        let mut rest = names.strip_prefix('.').unwrap_or(names);
        while !rest.is_empty() {
            if at.path.steps().len() >= Limits::DEPTH {
                return Err(SchemaError::TooDeep { at: at.path.to_string(), limit: Limits::DEPTH });
            }
            at = at.into_items();
            if let Some(behind) = rest.strip_prefix("[]").or_else(|| rest.strip_prefix("[*]")) {
                rest = behind.strip_prefix('.').unwrap_or(behind);
                continue;
            }
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, behind) = rest.split_at(end);
            rest = behind.strip_prefix('.').unwrap_or(behind);
            at = at.below(name)?;
        }
        Ok(at)
    }
}

impl<'s> Located<'s> {
    /// Goes on to the items, where this is a list; a list of lists is entered whole.
    fn into_items(self) -> Located<'s> {
        let mut at = self;
        // A list may be its own item.
        while let (Type::List(list), true) = (at.of.get(), at.path.steps().len() < Limits::DEPTH) {
            at = Located { path: at.path.with(TypeStep::Item), field: None, of: at.of.slot(&list.item) };
        }
        at
    }

    fn below(self, name: &str) -> Result<Located<'s>, SchemaError> {
        if let Type::Map(map) = self.of.get() {
            let of = self.of.slot(&map.value);
            return Ok(Located { path: self.path.with(TypeStep::Value), field: None, of });
        }
        let of = self.of.below(name).ok_or_else(|| SchemaError::NoField {
            at: self.path.to_string(),
            name: name.to_owned(),
            hint: self.hint(name),
        })?;
        Ok(Located { path: self.path.with(TypeStep::Field(name.into())), field: self.of.field(name), of })
    }

    fn hint(&self, name: &str) -> String {
        let names = || self.of.fields().map(|(field, _)| field.name.as_str());
        match spelling::nearest(name, names()) {
            Some(nearest) => format!("{nearest:?} may be meant"),
            None if names().next().is_none() => "there is nothing below it".to_owned(),
            None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        }
    }
}
