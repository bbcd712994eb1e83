//! Impersonation: the requested user in the headers, and the permissions that this needs.
//!
//! There are several modes. The constrained ones need a permission to become the user and one for the request itself
//! (`impersonate-on:MODE:VERB`); the legacy verb `impersonate` needs the first alone. They are tried in order, and the
//! mode that last succeeded for a requester first.

use tenure_meta::{Attributes, ResourceAttributes, UserInfo, format};
use tenure_value::Text;

const AUTHENTICATION: &str = "authentication.k8s.io";
const NODE: &str = "system:node:";
/// From how many groups or attributes on a permission for all of them is tried first.
const MANY: usize = 4;

/// A mode of impersonation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A service account acts as the node that its pod runs on.
    AssociatedNode,
    /// Any node.
    ArbitraryNode,
    /// A service account.
    ServiceAccount,
    /// Any other user, with groups, uid and extra.
    UserInfo,
    /// The verb `impersonate`, without limits on the request.
    Legacy,
}

const MODES: [Mode; 5] =
    [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo, Mode::Legacy];

/// A user that was impersonated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impersonated {
    /// The user, with the groups that the server adds.
    pub user: UserInfo,
    /// The mode that permitted it.
    pub mode: Mode,
}

/// A permission that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// What the requester may not do.
    pub attributes: Attributes,
    /// Why the authorizer denied it; may be empty.
    pub reason: String,
}

impl Mode {
    /// Returns the name of a constrained mode.
    fn name(self) -> Option<&'static str> {
        match self {
            Mode::AssociatedNode => Some("associated-node"),
            Mode::ArbitraryNode => Some("arbitrary-node"),
            Mode::ServiceAccount => Some("serviceaccount"),
            Mode::UserInfo => Some("user-info"),
            Mode::Legacy => None,
        }
    }

    /// Returns the verb that permits impersonating the user; audit events name that of constrained modes.
    pub fn constraint(self) -> Option<String> {
        self.name().map(|name| format!("impersonate:{name}"))
    }

    fn applies(self, requester: &UserInfo, wanted: &UserInfo) -> bool {
        let is_name_only = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let is_node = wanted.name.starts_with(NODE);
        let is_account = wanted.as_service_account().is_some();
        match self {
            Mode::AssociatedNode => is_name_only && is_node && runs_on(requester, &wanted.name),
            Mode::ArbitraryNode => is_name_only && is_node,
            Mode::ServiceAccount => is_name_only && is_account,
            Mode::UserInfo => !is_node && !is_account,
            Mode::Legacy => true,
        }
    }
}

/// Whether a requester is a service account whose token is bound to a node.
fn runs_on(requester: &UserInfo, node_user: &str) -> bool {
    let node = requester.extra.iter().find(|(key, _)| key == "authentication.kubernetes.io/node-name");
    let node = node.and_then(|(_, values)| values.first());
    requester.as_service_account().is_some()
        && node.is_some_and(|node| node_user.strip_prefix(NODE) == Some(node))
}

/// Decides whether a requester may act as the wanted user for a request. `require` checks one permission of the requester.
pub async fn impersonate<R: Future<Output = Result<(), Box<Denied>>>>(
    requester: &UserInfo,
    wanted: &UserInfo,
    request: &Attributes,
    last: Option<Mode>,
    require: impl Fn(Attributes) -> R,
) -> Result<Impersonated, Box<Denied>> {
    let mut denied = None;
    let modes = last.into_iter().chain(MODES.into_iter().filter(|mode| Some(*mode) != last));
    for mode in modes.filter(|mode| mode.applies(requester, wanted)) {
        match check(mode, wanted, request, &require).await {
            Ok(user) => return Ok(Impersonated { user, mode }),
            Err(first) => drop(denied.get_or_insert(first)),
        }
    }
    Err(denied.unwrap_or_else(|| Box::new(Denied { attributes: request.clone(), reason: String::new() })))
}

async fn check<R: Future<Output = Result<(), Box<Denied>>>>(
    mode: Mode,
    wanted: &UserInfo,
    request: &Attributes,
    require: &impl Fn(Attributes) -> R,
) -> Result<UserInfo, Box<Denied>> {
    if let Some(name) = mode.name() {
        require(with_verb(request, format!("impersonate-on:{name}:{}", request.verb()))).await?;
    }
    let verb = Text::from(mode.constraint().unwrap_or_else(|| "impersonate".into()));
    // The legacy verb applies to users and groups of the core group.
    let group = if mode == Mode::Legacy { "" } else { AUTHENTICATION };
    let on = |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| {
        Attributes::Resource(ResourceAttributes {
            verb: verb.clone(),
            group: group.into(),
            version: "v1".into(),
            resource: resource.into(),
            subresource: subresource.into(),
            namespace: namespace.into(),
            name: name.into(),
            ..ResourceAttributes::default()
        })
    };
    let mut user = wanted.clone();
    match (wanted.as_service_account(), wanted.name.strip_prefix(NODE)) {
        (Some((namespace, name)), _) => {
            require(on(group, "serviceaccounts", "", namespace, name)).await?;
            if user.groups.is_empty() {
                user.groups = UserInfo::service_account(namespace, name).groups;
            }
        }
        (None, Some(node)) if mode != Mode::Legacy => {
            // For the requester's own node, the permission on any associated node suffices.
            let node = if mode == Mode::AssociatedNode { "*" } else { node };
            require(on(group, "nodes", "", "", node)).await?;
            user.groups = vec!["system:nodes".into()];
        }
        _ => require(on(group, "users", "", "", &wanted.name)).await?,
    }
    if !wanted.uid.is_empty() {
        require(on(AUTHENTICATION, "uids", "", "", &wanted.uid)).await?;
    }
    let refuse = |attributes: Attributes, why: &str| Err(Box::new(Denied { attributes, reason: why.into() }));
    let is_constrained = mode != Mode::Legacy;
    if is_constrained && wanted.groups.iter().any(|name| name.is_empty()) {
        let why = "impersonating the empty string group is not allowed";
        return refuse(on(group, "groups", "", "", ""), why);
    }
    // Members of this group may do everything, which would lift the limits of the mode.
    if is_constrained && wanted.is_in(UserInfo::MASTERS) {
        let why = "impersonating the system:masters group is not allowed";
        return refuse(on(group, "groups", "", "", UserInfo::MASTERS), why);
    }
    let is_many = is_constrained && wanted.groups.len() >= MANY;
    if !(is_many && require(on(group, "groups", "", "", "*")).await.is_ok()) {
        for name in &wanted.groups {
            require(on(group, "groups", "", "", name)).await?;
        }
    }
    if let Some(why) = wanted.extra.iter().find_map(extra_fault).filter(|_| is_constrained) {
        return refuse(on(AUTHENTICATION, "userextras", "", "", ""), &why);
    }
    let count: usize = wanted.extra.iter().map(|(_, values)| values.len()).sum();
    let is_many = is_constrained && (count >= MANY || wanted.extra.len() >= MANY);
    if !(is_many && require(on(AUTHENTICATION, "userextras", "*", "", "*")).await.is_ok()) {
        for (key, values) in &wanted.extra {
            for value in values {
                require(on(AUTHENTICATION, "userextras", key, "", value)).await?;
            }
        }
    }
    let is_anonymous = user.name == UserInfo::ANONYMOUS;
    Ok(match is_anonymous || user.is_in(UserInfo::UNAUTHENTICATED) {
        true if is_anonymous => user.with_group(UserInfo::UNAUTHENTICATED),
        true => user,
        false => user.with_group(UserInfo::AUTHENTICATED),
    })
}

/// Returns what keeps an attribute from being set by a constrained mode.
fn extra_fault((key, values): &(Text, Vec<Text>)) -> Option<String> {
    let is_prefixed = key.split_once('/').is_some_and(|(domain, path)| {
        format::dns_subdomain(&domain.to_lowercase()).is_empty() && !path.is_empty()
    });
    match () {
        () if key.is_empty() => Some("impersonating the empty string key in extra is not allowed".into()),
        () if !is_prefixed => Some(format!(
            "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: {key:?}: must be a domain-prefixed path (such as \"acme.io/foo\")"
        )),
        () if *key != key.to_lowercase() => {
            Some(format!("impersonating a non-lowercase key in extra is not allowed: {key:?}"))
        }
        () if values.is_empty() => Some("impersonating empty values in extra is not allowed".into()),
        () if values.iter().any(|value| value.is_empty()) => {
            Some("impersonating the empty string value in extra is not allowed".into())
        }
        () => None,
    }
}

fn with_verb(request: &Attributes, verb: String) -> Attributes {
    let verb = Text::from(verb);
    match request {
        Attributes::Resource(resource) => {
            Attributes::Resource(ResourceAttributes { verb, ..resource.clone() })
        }
        Attributes::NonResource { path, .. } => Attributes::NonResource { verb, path: path.clone() },
    }
}
