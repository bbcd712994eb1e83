//! The identity of a client, as an authenticator established it.

use tenure_value::{Text, Value};

/// The prefix of the user names of service accounts.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";

/// A user: name, uid, groups, and further attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct UserInfo {
    /// The name that identifies the user.
    pub name: Text,
    /// The identifier that distinguishes users of the same name over time.
    pub uid: Text,
    /// The groups that the user is a member of.
    pub groups: Vec<Text>,
    /// Further attributes, sorted by key.
    pub extra: Vec<(Text, Vec<Text>)>,
}

impl UserInfo {
    /// The user of requests without credentials.
    pub const ANONYMOUS: &str = "system:anonymous";
    /// The group of requests with credentials.
    pub const AUTHENTICATED: &str = "system:authenticated";
    /// The group of requests without credentials.
    pub const UNAUTHENTICATED: &str = "system:unauthenticated";
    /// The group whose members may do everything.
    pub const MASTERS: &str = "system:masters";

    /// Returns a user without groups.
    pub fn new(name: impl Into<Text>) -> UserInfo {
        UserInfo { name: name.into(), ..UserInfo::default() }
    }

    /// Returns the user of requests without credentials.
    pub fn anonymous() -> UserInfo {
        UserInfo::new(UserInfo::ANONYMOUS).with_group(UserInfo::UNAUTHENTICATED)
    }

    /// Returns the user of a service account, with its groups.
    pub fn service_account(namespace: &str, name: &str) -> UserInfo {
        UserInfo::new(service_account_name(namespace, name))
            .with_group("system:serviceaccounts")
            .with_group(format!("system:serviceaccounts:{namespace}"))
    }

    /// Returns the user as a member of one more group.
    pub fn with_group(mut self, group: impl Into<Text>) -> UserInfo {
        let group = group.into();
        if !self.groups.contains(&group) {
            self.groups.push(group);
        }
        self
    }

    /// Returns the user as one with credentials, who is a member of `system:authenticated`.
    pub fn authenticated(self) -> UserInfo {
        if self.name == UserInfo::ANONYMOUS { self } else { self.with_group(UserInfo::AUTHENTICATED) }
    }

    /// Whether the user is a member of a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    /// Returns the user as a `UserInfo` of the API.
    pub fn to_value(&self) -> Value {
        let texts = |list: &[Text]| Value::array(list.iter().cloned().map(Value::from));
        let mut fields = vec![("username", Value::from(self.name.clone()))];
        if !self.uid.is_empty() {
            fields.push(("uid", Value::from(self.uid.clone())));
        }
        if !self.groups.is_empty() {
            fields.push(("groups", texts(&self.groups)));
        }
        if !self.extra.is_empty() {
            let extra = self.extra.iter().map(|(key, values)| (key.clone(), texts(values)));
            fields.push(("extra", Value::object(extra)));
        }
        Value::object(fields)
    }

    /// Returns the namespace and the name of the service account that the user is, if it is one.
    pub fn as_service_account(&self) -> Option<(&str, &str)> {
        self.name.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')
    }
}

/// Returns the user name of a service account.
pub fn service_account_name(namespace: &str, name: &str) -> Text {
    format!("{SERVICE_ACCOUNT}{namespace}:{name}").into()
}
