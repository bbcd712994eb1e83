//! Paths within a type: `.spec.ports[].name`, `.metadata.labels.*`. Unlike a path in a document, a type path
//! denotes all items of a list and all values of a map.

use crate::{Field, SchemaError, Type, TypeRef, spelling};
use std::fmt;
use tenure_value::{Limits, Text};

/// A step of a type path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TypeStep {
    /// A field.
    Field(Text),
    /// The items of a list.
    Item,
    /// The values of a map.
    Value,
}

/// A path within a type, formatted as `.spec.ports[].name`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypePath(Vec<TypeStep>);

impl TypePath {
    /// Returns the steps.
    pub fn steps(&self) -> &[TypeStep] {
        &self.0
    }

    /// Returns this path extended by one step.
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

/// A position within a type.
#[derive(Clone, Debug)]
pub struct Located<'s> {
    /// Its path.
    pub path: TypePath,
    /// The field, if the last step is one.
    pub field: Option<&'s Field>,
    /// Its type.
    pub ty: TypeRef<'s>,
}

impl<'s> TypeRef<'s> {
    /// Resolves a path such as `spec.containers.ports`. Lists are entered implicitly; a name below a map, or
    /// `*`, denotes all of its values.
    ///
    /// ```
    /// let pod = tenure_schema::Schema::builtin().kind("v1", "Pod").unwrap();
    /// let ports = pod.locate("spec.containers.ports").unwrap();
    /// assert_eq!(ports.path.to_string(), ".spec.containers[].ports");
    /// assert!(pod.locate("spec.container").unwrap_err().to_string().contains("did you mean \"containers\"?"));
    /// ```
    pub fn locate(self, names: &str) -> Result<Located<'s>, SchemaError> {
        let mut at = Located { path: TypePath::default(), field: None, ty: self };
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
    /// Continues with the items if this is a list; nested lists are entered completely.
    fn into_items(self) -> Located<'s> {
        let mut at = self;
        // A list may be its own item.
        while let (Type::List(list), true) = (at.ty.get(), at.path.steps().len() < Limits::DEPTH) {
            at = Located { path: at.path.with(TypeStep::Item), field: None, ty: at.ty.slot(&list.item) };
        }
        at
    }

    fn below(self, name: &str) -> Result<Located<'s>, SchemaError> {
        if let Type::Map(map) = self.ty.get() {
            let ty = self.ty.slot(&map.value);
            return Ok(Located { path: self.path.with(TypeStep::Value), field: None, ty });
        }
        let ty = self.ty.below(name).ok_or_else(|| SchemaError::NoField {
            at: self.path.to_string(),
            name: name.to_owned(),
            hint: self.hint(name),
        })?;
        Ok(Located { path: self.path.with(TypeStep::Field(name.into())), field: self.ty.field(name), ty })
    }

    fn hint(&self, name: &str) -> String {
        let names = || self.ty.fields().map(|(field, _)| field.name.as_str());
        match spelling::nearest(name, names()) {
            Some(nearest) => format!("did you mean {nearest:?}?"),
            None if names().next().is_none() => "it has no fields".to_owned(),
            None => format!("it has {}", names().collect::<Vec<_>>().join(", ")),
        }
    }
}
