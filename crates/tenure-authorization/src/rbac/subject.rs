//! The subjects of bindings: a user, a group or a service account.

use std::fmt;
use tenure_meta::{UserInfo, service_account_name};
use tenure_value::{Text, Value};

/// A subject of a binding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// A user by name.
    User(Text),
    /// The members of a group.
    Group(Text),
    /// A service account.
    ServiceAccount {
        /// Its namespace.
        namespace: Text,
        /// Its name.
        name: Text,
        /// The name of the user that it is.
        user: Text,
    },
}

impl Subject {
    /// Reads a subject of a binding in a namespace (empty for cluster role bindings); `None` if it is not a subject.
    pub fn read(subject: &Value, namespace: &str) -> Option<Subject> {
        let text = |field: &str| subject.get(field).and_then(Value::as_str).unwrap_or_default();
        let name = Text::from(text("name"));
        match text("kind") {
            "User" => Some(Subject::User(name)),
            "Group" => Some(Subject::Group(name)),
            "ServiceAccount" => {
                let namespace = match text("namespace") {
                    "" => namespace,
                    own => own,
                };
                (!namespace.is_empty()).then(|| Subject::ServiceAccount {
                    namespace: namespace.into(),
                    user: service_account_name(namespace, &name),
                    name,
                })
            }
            _ => None,
        }
    }

    /// Whether a user is this subject.
    pub fn is(&self, user: &UserInfo) -> bool {
        match self {
            Subject::User(name) => user.name == *name,
            Subject::Group(name) => user.is_in(name),
            Subject::ServiceAccount { user: name, .. } => user.name == *name,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::User(name) => write!(out, "User {name:?}"),
            Subject::Group(name) => write!(out, "Group {name:?}"),
            Subject::ServiceAccount { namespace, name, .. } => {
                write!(out, "ServiceAccount {:?}", format!("{name}/{namespace}"))
            }
        }
    }
}
