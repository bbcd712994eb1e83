//! Authorization: RBAC over the stored roles and bindings, kept in step with them in memory.
//!
//! A decision reads one lock and, unless it was made before, an index of subjects. Roles are read when the server opens, after each commit of
//! this server, and by the controller that follows the changes of others.

mod attributes;

pub(crate) use attributes::{request_attributes, selected_name};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};
use tenure_auth::{
    Attributes, Impersonated, ImpersonationMode, ResourceAttributes, UserInfo, impersonate,
    rbac::{
        Decision, DecisionCache, FieldWrite, Policy, PolicyRule, RoleRef, Uncovered, WritePermission,
        check_fields, uncovered,
    },
};
use tenure_builtin::{
    self,
    role::{RBAC, ROLES},
};
use tenure_catalog::{
    object::{Stored, key, meta_text, metadata, with_metadata},
    read_all,
};
use tenure_crd::rules::{AccessAttributes, Decide};
use tenure_meta::{ApiError, Reason};
use tenure_store::Store;
use tenure_value::{Text, Value};

/// The prefix of the keys of roles and bindings in the store.
pub(crate) const RBAC_PREFIX: &str = "objects/rbac.authorization.k8s.io/";
/// How many requesters the server remembers the mode of impersonation of.
const REMEMBERED_REQUESTERS: usize = 1024;

/// The verbs that change objects.
const WRITE_VERBS: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

/// How requests are authorized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authorization {
    /// By the stored roles and bindings.
    #[default]
    Rbac,
    /// Everyone may do everything.
    AlwaysAllow,
}

/// Decides what users may do.
pub(crate) struct Authorizer {
    mode: Authorization,
    store: Arc<dyn Store>,
    policy: RwLock<Arc<Policy>>,
    /// Shared by forks: policies that differ have different generations.
    decisions: Arc<DecisionCache>,
    /// The mode that last permitted a requester to impersonate.
    modes: Mutex<HashMap<Text, ImpersonationMode>>,
}

impl Authorizer {
    /// Reads the stored roles and bindings.
    pub async fn open(store: Arc<dyn Store>, mode: Authorization) -> Result<Arc<Authorizer>, ApiError> {
        let authorizer = Authorizer {
            mode,
            store,
            policy: RwLock::default(),
            decisions: Arc::default(),
            modes: Mutex::default(),
        };
        authorizer.refresh().await?;
        Ok(Arc::new(authorizer))
    }

    /// Returns the authorizer of a fork of the store, which shares the roles until one of them changes.
    pub fn fork(&self, store: Arc<dyn Store>) -> Arc<Authorizer> {
        let policy = RwLock::new(self.policy.read().clone());
        let (decisions, modes) = (self.decisions.clone(), Mutex::default());
        Arc::new(Authorizer { mode: self.mode, store, policy, decisions, modes })
    }

    /// Reads all roles and bindings again.
    pub async fn refresh(&self) -> Result<(), ApiError> {
        if self.mode == Authorization::AlwaysAllow {
            return Ok(());
        }
        let mut policy = Policy::default();
        let mut keys = Vec::new();
        for name in RBAC.1 {
            let Some(resource) = tenure_builtin::registry().find(RBAC.0, "v1", name) else { continue };
            for stored in read_all(&*self.store, resource, "").await? {
                policy.insert(&stored.object);
                let (namespace, name) =
                    (meta_text(&stored.object, "namespace"), meta_text(&stored.object, "name"));
                keys.push(key(resource, namespace, name));
            }
        }
        *self.policy.write() = Arc::new(policy);
        // What was written while this read may have been overwritten by it.
        keys.iter().try_for_each(|key| self.refresh_key(key.as_bytes()))
    }

    /// Reads a role or binding again that was written or deleted.
    pub fn refresh_key(&self, key: &[u8]) -> Result<(), ApiError> {
        let path = std::str::from_utf8(key).ok().and_then(|key| key.strip_prefix(RBAC_PREFIX));
        let Some((resource, path)) = path.and_then(|path| path.split_once('/')) else { return Ok(()) };
        if !self.is_rbac() {
            return Ok(());
        }
        // The lock is held while the object is read, so that an older state does not replace a newer one.
        let mut policy = self.policy.write();
        let policy = Arc::make_mut(&mut policy);
        match self.store.peek(key)? {
            Some(entry) => drop(policy.insert(&Stored::read(&entry)?.object)),
            None => {
                let kind = tenure_builtin::registry().find(RBAC.0, "v1", resource).map(|of| of.kind.clone());
                let (namespace, name) = path.split_once('/').unwrap_or(("", path));
                policy.remove(&kind.unwrap_or_default(), namespace, name);
            }
        }
        Ok(())
    }

    /// Whether RBAC decides.
    pub fn is_rbac(&self) -> bool {
        self.mode == Authorization::Rbac
    }

    fn policy(&self) -> RwLockReadGuard<'_, Arc<Policy>> {
        self.policy.read()
    }

    /// Decides about a request.
    pub fn decide(&self, user: &UserInfo, attributes: &Attributes) -> Decision {
        match self.mode {
            Authorization::AlwaysAllow => Decision::allowed(),
            Authorization::Rbac => self.decisions.authorize(&self.policy(), user, attributes),
        }
    }

    /// Returns how CEL expressions and admission plugins ask what a user, or a service account, may do.
    pub fn decide_for(self: &Arc<Self>, user: &Arc<UserInfo>) -> Arc<Decide> {
        let (authorizer, user) = (self.clone(), user.clone());
        Arc::new(move |asked: &AccessAttributes| {
            let account = asked.service_account.as_ref().map(|(namespace, name)| {
                UserInfo::service_account(namespace, name).with_group(UserInfo::AUTHENTICATED)
            });
            let attributes = match asked.path.is_empty() {
                false => Attributes::NonResource { verb: asked.verb.clone(), path: asked.path.clone() },
                true => Attributes::Resource(ResourceAttributes {
                    verb: asked.verb.clone(),
                    group: asked.group.clone(),
                    version: "*".into(),
                    resource: asked.resource.clone(),
                    subresource: asked.subresource.clone(),
                    namespace: asked.namespace.clone(),
                    name: asked.name.clone(),
                }),
            };
            let decision = authorizer.decide(account.as_ref().unwrap_or(&user), &attributes);
            let allowed = decision.is_allowed();
            tenure_crd::rules::Decision { allowed, reason: decision.reason.into(), error: None }
        })
    }

    /// Returns a 403 unless the user may do it.
    pub fn check(&self, user: &UserInfo, attributes: &Attributes) -> Result<(), ApiError> {
        let decision = self.decide(user, attributes);
        if decision.is_allowed() { Ok(()) } else { Err(forbidden(user, attributes, &decision.reason)) }
    }

    /// Returns the user that a requester acts as, if it may.
    pub fn impersonate(
        &self,
        requester: &UserInfo,
        wanted: &UserInfo,
        request: &Attributes,
    ) -> Result<Impersonated, ApiError> {
        let last = self.modes.lock().get(&requester.name).copied();
        let authorize = |attributes: &Attributes| {
            let decision = self.decide(requester, attributes);
            if decision.is_allowed() { Ok(()) } else { Err(decision.reason) }
        };
        match impersonate(requester, wanted, request, last, authorize) {
            Ok(impersonated) => {
                let mut modes = self.modes.lock();
                if modes.len() < REMEMBERED_REQUESTERS || modes.contains_key(&requester.name) {
                    modes.insert(requester.name.clone(), impersonated.mode);
                }
                Ok(impersonated)
            }
            Err(denied) => Err(forbidden(requester, &denied.attributes, &denied.reason)),
        }
    }

    /// Returns the rules of a user in a namespace, and what kept roles from being read.
    pub fn rules_of(&self, user: &UserInfo, namespace: &str) -> (Vec<PolicyRule>, String) {
        if !self.is_rbac() {
            return (PolicyRule::everything().into(), String::new());
        }
        let policy = self.policy();
        let (rules, error) = policy.rules_of(user, namespace);
        (rules.into_iter().cloned().collect(), error)
    }

    /// Checks that a user who writes a role or a binding does not grant more than it has. `object` is the new state and
    /// `old` the stored one, if there is one.
    pub fn check_escalation(
        &self,
        user: &UserInfo,
        attributes: &ResourceAttributes,
        old: Option<&Value>,
        object: &Value,
    ) -> Result<(), ApiError> {
        if !self.is_rbac() || user.is_in(UserInfo::MASTERS) {
            return Ok(());
        }
        // Garbage collection and finalizers must be able to let go of a role or binding.
        if old.is_some_and(|old| without_collection_fields(old) == without_collection_fields(object)) {
            return Ok(());
        }
        let policy = self.policy();
        let name = Text::from(object.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default());
        let namespace = attributes.namespace.as_str();
        let is_allowed = |verb: &str, resource: &str, name: &Text| {
            let asked = ResourceAttributes {
                verb: verb.into(),
                resource: resource.into(),
                subresource: Text::default(),
                name: name.clone(),
                ..attributes.clone()
            };
            policy.authorize(user, &Attributes::Resource(asked)).is_allowed()
        };
        let rules = match attributes.resource.as_str() {
            resource if ROLES.contains(&resource) => {
                // A new object has no name in its path, so that names in a rule do not match it.
                if is_allowed("escalate", &attributes.resource, &attributes.name) {
                    return Ok(());
                }
                let has_selectors =
                    |role: &Value| role.get("aggregationRule").is_some_and(|rule| !rule.is_null());
                let is_aggregated = has_selectors(object) || old.is_some_and(has_selectors);
                // An aggregated role can collect any rule.
                if is_aggregated
                    && uncovered(&policy.rules_of(user, namespace).0, &PolicyRule::everything()).is_some()
                {
                    let why = "must have cluster-admin privileges to use the aggregationRule";
                    return Err(ApiError::forbidden(&attributes.group, &attributes.resource, &name, why));
                }
                PolicyRule::list(object.get("rules"))
            }
            _ => {
                // Validation refuses what is not a role.
                let Some(role) = object.get("roleRef").and_then(RoleRef::read) else { return Ok(()) };
                let name = role.parts().1;
                if is_allowed("bind", role.resource(), name) {
                    return Ok(());
                }
                match policy.rules_of_role(&role, namespace) {
                    Some(rules) => rules.to_vec(),
                    None => return Err(ApiError::not_found(&attributes.group, &attributes.resource, name)),
                }
            }
        };
        let refuse = |why: String| {
            let named = object.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
            Err(ApiError::forbidden(&attributes.group, &attributes.resource, named, &why))
        };
        let (owned, errors) = policy.rules_of(user, namespace);
        let who = format!("user {:?} (groups={:?})", user.name, user.groups);
        match uncovered(&owned, &rules) {
            None => Ok(()),
            Some(Uncovered::TooMany) => refuse(format!(
                "{who} is attempting to grant rules with too many combinations to compare; split the rules"
            )),
            Some(Uncovered::Rules(rules)) => {
                let listed: Vec<String> = rules.iter().map(PolicyRule::to_string).collect();
                let mut why = format!(
                    "{who} is attempting to grant RBAC permissions not currently held:\n{}",
                    listed.join("\n")
                );
                if !errors.is_empty() {
                    why.push_str(&format!("; resolution errors: [{errors}]"));
                }
                refuse(why)
            }
        }
    }

    /// Whether what a user may change of a resource is limited to fields at all.
    pub fn limits_fields(&self, user: &UserInfo, attributes: &ResourceAttributes) -> bool {
        if !self.is_rbac() {
            return false;
        }
        let policy = self.policy();
        // Without field rules the permission for the request, which was checked before, is for all fields.
        policy.has_field_rules() && policy.write_permission(user, attributes) != WritePermission::Unlimited
    }

    /// Checks the fields that a write changes against the field rules of the user's roles.
    pub fn check_fields(
        &self,
        user: &UserInfo,
        attributes: &ResourceAttributes,
        write: &FieldWrite<'_>,
    ) -> Result<(), ApiError> {
        match self.field_denial(user, attributes, write) {
            None => Ok(()),
            Some(why) => {
                Err(ApiError::forbidden(&attributes.group, &attributes.resource, &attributes.name, &why))
            }
        }
    }

    /// Returns why field rules deny a write that the user's roles permit otherwise; `None` if they do not.
    pub fn field_denial(
        &self,
        user: &UserInfo,
        attributes: &ResourceAttributes,
        write: &FieldWrite<'_>,
    ) -> Option<String> {
        let policy = self.field_policy(attributes)?;
        let WritePermission::Limited(limits) = policy.write_permission(user, attributes) else { return None };
        let rules: Vec<_> = limits.iter().map(|(_, rule)| *rule).collect();
        let reasons = check_fields(&rules, write).err()?;
        let grants: BTreeSet<String> = limits.iter().map(|(grant, _)| grant.to_string()).collect();
        Some(format!(
            "User {:?} may {} only some fields: {} (by {})",
            user.name,
            attributes.verb,
            reasons.join("; "),
            grants.into_iter().collect::<Vec<_>>().join("; ")
        ))
    }

    /// Returns what to add to the reason of a permission that is limited to fields; empty if it is not.
    pub fn field_limits(&self, user: &UserInfo, attributes: &ResourceAttributes) -> String {
        let Some(policy) = self.field_policy(attributes) else { return String::new() };
        match policy.write_permission(user, attributes) {
            WritePermission::Unlimited => String::new(),
            WritePermission::Limited(limits) => {
                let rules: BTreeSet<String> = limits.iter().map(|(_, rule)| rule.to_string()).collect();
                let rules: Vec<String> = rules.into_iter().collect();
                format!("; limited to {}", rules.join("; "))
            }
        }
    }

    /// Returns the policy if field rules can limit what is asked for: a write, decided by RBAC.
    fn field_policy(&self, attributes: &ResourceAttributes) -> Option<RwLockReadGuard<'_, Arc<Policy>>> {
        (self.is_rbac() && WRITE_VERBS.contains(&attributes.verb.as_str())).then(|| self.policy())
    }
}

/// Returns a role or binding without the fields that garbage collection uses.
fn without_collection_fields(object: &Value) -> Value {
    let metadata = metadata(object).without("finalizers").without("ownerReferences");
    with_metadata(object, metadata)
}

/// Returns the 403 of a request.
pub(crate) fn forbidden(user: &UserInfo, attributes: &Attributes, reason: &str) -> ApiError {
    let why = attributes.denial(user, reason);
    match attributes {
        Attributes::Resource(of) => ApiError::forbidden(&of.group, &of.resource, &of.name, &why),
        Attributes::NonResource { .. } => {
            ApiError::new(Reason::Forbidden, format!("forbidden: {why}")).about("", "", "")
        }
    }
}
