//! What is about to be done, as those are told who have a say in it.

use super::{CONFIGURATIONS, GROUP};
use crate::kinds::{Resource, Scope};
use tenure_value::{Text, Value};

/// What is done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    /// Returns the word of rules and reviews.
    pub fn word(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
        }
    }
}

/// A resource in one of the versions in which it is served, and the kind that is written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    pub group: Text,
    pub version: Text,
    pub resource: Text,
    /// Group, version and kind of what is written: those of the resource, but for a scale and the like.
    pub kind: (Text, Text, Text),
}

impl Form {
    /// Returns the form of a resource, or of what is below its objects.
    pub fn of(resource: &Resource, subresource: &str) -> Form {
        let (group, version) = (resource.group.clone(), resource.version.clone());
        let kind = match resource.subresource(subresource) {
            Some(of) if of.version.is_empty() => (group.clone(), version.clone(), of.kind.clone()),
            Some(of) => (of.group.clone(), of.version.clone(), of.kind.clone()),
            None => (group.clone(), version.clone(), resource.kind.clone()),
        };
        Form { group, version, resource: resource.name.clone(), kind }
    }
}

/// What is about to be done, by whom, and to what.
#[derive(Clone, Debug)]
pub(crate) struct Deed {
    pub operation: Operation,
    /// The resource as the request names it, and then in the other versions in which it is served.
    pub forms: Vec<Form>,
    pub subresource: Text,
    pub scope: Scope,
    /// The namespace; of a namespace, it is itself.
    pub namespace: Text,
    pub name: Text,
    pub dry_run: bool,
    /// Who does it.
    pub user: Value,
    /// The options of the request.
    pub options: Value,
}

impl Deed {
    /// Returns the resource as the request names it.
    pub fn requested(&self) -> &Form {
        &self.forms[0]
    }

    /// Whether it is done to a namespace.
    pub fn is_of_namespace(&self) -> bool {
        let form = self.requested();
        form.group.is_empty() && form.resource == "namespaces"
    }
}

/// Whether nobody has a say in what is done: the configurations of those who have are nobody's business.
pub(super) fn is_exempt(deed: &Deed) -> bool {
    let form = deed.requested();
    form.group == GROUP && CONFIGURATIONS.contains(&form.resource.as_str())
}
