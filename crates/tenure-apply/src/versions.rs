//! The versions of one kind: their types, and the conversion between them. Objects are converted, field sets never are.

use tenure_schema::TypeRef;
use tenure_value::{Text, Value};

/// The versions of a kind, provided by the caller.
pub trait Versions {
    /// Returns the type of the kind at a version; `None` if that version does not exist (any more).
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>>;

    /// Returns an object as it is at another version that exists, or says what went wrong.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String>;

    /// Returns an object as it is at another version, with the fields that this version does not declare.
    fn convert_undeclared(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        self.convert(object, api_version)
    }

    /// Returns the type under which the managers of this object were written last, where the schema has
    /// changed since and the caller knows.
    fn former_type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        let _ = api_version;
        None
    }

    /// Whether sets written under another schema may come in, so that they must be looked through.
    fn evolves(&self) -> Evolution {
        Evolution::Possible
    }

    /// Returns what happens to a part that another manager owns and that has lost all its contents.
    fn emptied(&self) -> Emptied {
        Emptied::Stays
    }
}

/// What happens to a part that has lost all its contents while a manager still owns the part itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Emptied {
    /// It stays, empty: custom resources, whose schema may refuse to be without it.
    Stays,
    /// It is `null`, which built-in kinds read as absent, unless its type requires it; its owner keeps
    /// it, as recorded. One of several parts that exclude each other, a volume's source for one, can so be
    /// given up for another.
    IsNull,
    /// It is `null` if anything in it is owned, as in Kubernetes.
    AlwaysNull,
}

/// Whether the schema of a kind can change between two writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evolution {
    /// It can: custom resources.
    Possible,
    /// It cannot: built-in kinds within one release. Spares the search through every set on every write.
    None,
}

/// A kind with one version and an unchanging type.
#[derive(Clone)]
pub struct SingleVersion<'s> {
    api_version: Text,
    ty: TypeRef<'s>,
}

impl<'s> SingleVersion<'s> {
    /// Makes the kind of one version.
    pub fn new(api_version: impl Into<Text>, ty: TypeRef<'s>) -> SingleVersion<'s> {
        SingleVersion { api_version: api_version.into(), ty }
    }
}

impl Versions for SingleVersion<'_> {
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        (self.api_version == api_version).then_some(self.ty)
    }

    fn convert(&self, object: &Value, _: &str) -> Result<Value, String> {
        Ok(object.clone())
    }

    fn evolves(&self) -> Evolution {
        Evolution::None
    }
}
