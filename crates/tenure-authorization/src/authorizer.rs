//! The authorizers of a server, asked in their order, and the stored roles and bindings, kept in step with the store in memory.
//!
//! A decision of RBAC reads one lock and, unless it was made before, an index of subjects. Roles are read when the server opens, after
//! each commit of this server, and by the controller that follows the changes of others.

use crate::{
    Authorization, Decision, Opinions, aggregate,
    chain::{Chain, Link},
    change_quota::ChangeQuotas,
    node::node_name,
    node_relations::NodeRelations,
    rbac::{DecisionCache, Policy, PolicyRule},
};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};
use tenure_authentication::{Denied, Impersonated, ImpersonationMode, impersonate};
use tenure_builtin::role::RBAC;
use tenure_catalog::{
    object::{Stored, key, meta_text},
    read_all_objects,
};
use tenure_crd::rules::{AccessAttributes, Decide};
use tenure_http::offload::compute;
use tenure_meta::{ApiError, Attributes, Reason, ResourceAttributes, UserInfo};
use tenure_store::Store;
use tenure_value::Text;
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::JoinSet,
};

/// The prefix of the keys of roles and bindings in the store.
pub const RBAC_PREFIX: &str = "objects/rbac.authorization.k8s.io/";
/// How many requesters the server remembers the mode of impersonation of.
const REMEMBERED_REQUESTERS: usize = 1024;

/// Decides what users may do.
pub struct Authorizer {
    chain: Chain,
    store: Arc<dyn Store>,
    policy: RwLock<Arc<Policy>>,
    /// Shared by forks: policies that differ have different generations.
    decisions: Arc<DecisionCache>,
    /// Shared by forks: what is written in a transaction counts as well.
    quotas: Arc<ChangeQuotas>,
    /// What the Node authorizer knows of this store, if there is one.
    nodes: Option<NodeRelations>,
    /// The mode that last permitted a requester to impersonate.
    modes: Mutex<HashMap<Text, ImpersonationMode>>,
    /// Replaces the authorizers when others are configured. Forks share them.
    _follower: JoinSet<()>,
}

impl Authorizer {
    /// Reads the stored roles and bindings, and what else the authorizers need.
    pub async fn open(store: Arc<dyn Store>, options: &Authorization) -> Result<Arc<Authorizer>, ApiError> {
        let chain = Chain::open(options).await?;
        let nodes = match chain.links().iter().any(|link| matches!(link, Link::Node(_))) {
            true => Some(NodeRelations::open(&store).await?),
            false => None,
        };
        let mut follower = JoinSet::new();
        if let Some(task) = chain.follow(options) {
            follower.spawn(task);
        }
        let authorizer = Authorizer {
            chain,
            store,
            policy: RwLock::default(),
            decisions: Arc::default(),
            quotas: Arc::default(),
            nodes,
            modes: Mutex::default(),
            _follower: follower,
        };
        authorizer.refresh().await?;
        Ok(Arc::new(authorizer))
    }

    /// Returns the authorizer of a fork of the store, which shares the roles until one of them changes.
    pub fn fork(&self, store: Arc<dyn Store>) -> Arc<Authorizer> {
        Arc::new(Authorizer {
            chain: self.chain.clone(),
            policy: RwLock::new(self.policy.read().clone()),
            decisions: self.decisions.clone(),
            quotas: self.quotas.clone(),
            nodes: self.nodes.is_some().then(|| NodeRelations::follow(&store)),
            modes: Mutex::default(),
            _follower: JoinSet::new(),
            store,
        })
    }

    pub(crate) fn quotas(&self) -> &ChangeQuotas {
        &self.quotas
    }

    /// Reads all roles and bindings again.
    pub async fn refresh(&self) -> Result<(), ApiError> {
        if !self.decides() {
            return Ok(());
        }
        let mut policy = self.policy().successor();
        let mut keys = Vec::new();
        for name in RBAC.1 {
            let Some(resource) = tenure_builtin::registry().find(RBAC.0, "v1", name) else { continue };
            for stored in read_all_objects(&*self.store, resource, "").await? {
                policy.insert(&stored.object);
                let (namespace, name) =
                    (meta_text(&stored.object, "namespace"), meta_text(&stored.object, "name"));
                keys.push((key(resource, namespace, name), stored.revision));
            }
        }
        *self.policy.write() = Arc::new(policy);
        // What was written while this read may have been overwritten by it.
        for (key, read) in keys {
            if self.store.peek(key.as_bytes())?.map(|entry| entry.modified) != Some(read) {
                self.refresh_key(key.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Reads a role or binding again that was written or deleted.
    pub fn refresh_key(&self, key: &[u8]) -> Result<(), ApiError> {
        let path = std::str::from_utf8(key).ok().and_then(|key| key.strip_prefix(RBAC_PREFIX));
        let Some((resource, path)) = path.and_then(|path| path.split_once('/')) else { return Ok(()) };
        if !self.decides() {
            return Ok(());
        }
        // The lock is held while the object is read, so that an older state does not replace a newer one.
        let mut policy = self.policy.write();
        let policy = Arc::make_mut(&mut policy);
        match self.store.peek(key)? {
            Some(entry) => drop(policy.insert(&Stored::read_object(&entry)?.object)),
            None => {
                let kind = tenure_builtin::registry()
                    .find(RBAC.0, "v1", resource)
                    .map(|resource| resource.kind.clone());
                let (namespace, name) = path.split_once('/').unwrap_or(("", path));
                policy.remove(&kind.unwrap_or_default(), namespace, name);
            }
        }
        Ok(())
    }

    /// Whether anything is decided: not if everyone may do everything.
    pub fn decides(&self) -> bool {
        !matches!(self.chain, Chain::AlwaysAllow)
    }

    /// Whether the stored roles and bindings are among what decides.
    pub fn has_rbac(&self) -> bool {
        match &self.chain {
            Chain::AlwaysAllow => false,
            Chain::Rbac => true,
            Chain::Several(links) => links.get().iter().any(|link| matches!(link, Link::Rbac)),
        }
    }

    pub(crate) fn policy(&self) -> RwLockReadGuard<'_, Arc<Policy>> {
        self.policy.read()
    }

    /// Decides about a request.
    pub async fn decide(&self, user: &UserInfo, attributes: &Attributes) -> Decision {
        match self.decide_now(user, attributes) {
            Some(decision) => decision,
            None => Box::pin(self.ask(user, attributes)).await,
        }
    }

    /// Decides about a request; `None` if a webhook must be asked.
    fn decide_now(&self, user: &UserInfo, attributes: &Attributes) -> Option<Decision> {
        let links = match &self.chain {
            Chain::AlwaysAllow => return Some(Decision::allowed()),
            Chain::Rbac => return Some(self.decide_by_roles(user, attributes)),
            _ if user.is_in(UserInfo::MASTERS) => return Some(Decision::allowed()),
            Chain::Several(links) => links.get(),
        };
        let mut opinions = Opinions::default();
        for link in links.iter() {
            if let Some(decision) = opinions.add(self.opinion(link, user, attributes)?) {
                return Some(decision);
            }
        }
        Some(opinions.decision())
    }

    /// Decides about a request that a webhook must be asked about.
    async fn ask(&self, user: &UserInfo, attributes: &Attributes) -> Decision {
        let mut opinions = Opinions::default();
        for link in self.chain.links().iter() {
            let opinion = match (link, self.opinion(link, user, attributes)) {
                (_, Some(opinion)) => opinion,
                (Link::Webhook(webhook), None) => webhook.ask(user, attributes).await,
                (_, None) => Decision::default(),
            };
            if let Some(decision) = opinions.add(opinion) {
                return decision;
            }
        }
        opinions.decision()
    }

    /// Returns the opinion of one authorizer; `None` if it is a webhook that must be asked.
    fn opinion(&self, link: &Link, user: &UserInfo, attributes: &Attributes) -> Option<Decision> {
        Some(match link {
            Link::AlwaysAllow => Decision::allowed(),
            Link::AlwaysDeny => Decision::no_opinion("Everything is forbidden."),
            Link::Rbac => self.decide_by_roles(user, attributes),
            Link::Abac(policies) => policies.authorize(user, attributes),
            Link::Node(authorizer) => match (node_name(user), &self.nodes) {
                (Some(node), Some(nodes)) => {
                    authorizer.authorize(node, attributes, |related, namespace, name| {
                        nodes.relates(node, related, namespace, name)
                    })
                }
                _ => Decision::default(),
            },
            Link::Webhook(webhook) => return webhook.known(user, attributes),
        })
    }

    fn decide_by_roles(&self, user: &UserInfo, attributes: &Attributes) -> Decision {
        self.decisions.authorize(&self.policy(), user, attributes)
    }

    /// Decides about a request where the caller cannot wait for a future, as in an expression.
    pub fn decide_blocking(&self, user: &UserInfo, attributes: &Attributes) -> Decision {
        if let Some(decision) = self.decide_now(user, attributes) {
            return decision;
        }
        wait_for(self.ask(user, attributes))
    }

    /// Whether an authorizer other than RBAC allows a request.
    pub(crate) fn is_allowed_without_roles(&self, user: &UserInfo, attributes: &ResourceAttributes) -> bool {
        let Chain::Several(links) = &self.chain else { return false };
        let attributes = Attributes::Resource(attributes.clone());
        let decides = |link: &&Link| !matches!(link, Link::Rbac);
        let opinion = |link: &Link| match (link, self.opinion(link, user, &attributes)) {
            (_, Some(opinion)) => opinion,
            (Link::Webhook(webhook), None) => wait_for(webhook.ask(user, &attributes)),
            (_, None) => Decision::default(),
        };
        links.get().iter().filter(decides).any(|link| opinion(link).is_allowed())
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
                    field_selector: asked.field_selector.clone(),
                    label_selector: asked.label_selector.clone(),
                }),
            };
            let decision = authorizer.decide_blocking(account.as_ref().unwrap_or(&user), &attributes);
            tenure_crd::rules::Decision {
                allowed: decision.is_allowed(),
                reason: decision.reason,
                error: decision.error.map(Text::from),
            }
        })
    }

    /// Returns a 403 unless the user may do it.
    pub fn check(&self, user: &UserInfo, attributes: &Attributes) -> Result<(), ApiError> {
        let decision = self.decide_blocking(user, attributes);
        if decision.is_allowed() { Ok(()) } else { Err(refusal(user, attributes, &decision)) }
    }

    /// Returns the user that a requester acts as, if it may.
    pub async fn impersonate(
        &self,
        requester: &UserInfo,
        wanted: &UserInfo,
        request: &Attributes,
    ) -> Result<Impersonated, ApiError> {
        let last = self.modes.lock().get(&requester.name).copied();
        let require = |attributes: Attributes| async move {
            let decision = self.decide(requester, &attributes).await;
            match decision.is_allowed() {
                true => Ok(()),
                false => Err(Box::new(Denied { attributes, reason: decision.reason.into() })),
            }
        };
        match impersonate(requester, wanted, request, last, require).await {
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

    /// Returns the rules of a user in a namespace; whether there may be others; and what kept rules from being read.
    pub fn rules_of(&self, user: &UserInfo, namespace: &str) -> (Vec<PolicyRule>, bool, String) {
        let (mut rules, mut is_incomplete, mut errors) = (Vec::new(), false, Vec::new());
        for link in self.chain.links().iter() {
            match link {
                Link::AlwaysAllow => rules.extend(PolicyRule::everything()),
                Link::AlwaysDeny => {}
                Link::Rbac => {
                    let policy = self.policy();
                    let (of_roles, error) = policy.rules_of(user, namespace);
                    // Rules that are limited to fields are listed, and their limits are reported as errors beside them.
                    let limits: BTreeSet<String> =
                        of_roles.iter().filter_map(|granted| granted.limit_text()).collect();
                    is_incomplete |= !limits.is_empty();
                    errors.extend(limits.into_iter().map(|limit| format!("RBAC: {limit}")));
                    let mut listed: Vec<&PolicyRule> = of_roles.iter().map(|granted| granted.rule).collect();
                    listed.dedup_by(|a, b| std::ptr::eq(*a, *b));
                    rules.extend(listed.into_iter().cloned());
                    errors.extend(Some(error).filter(|error| !error.is_empty()));
                }
                Link::Abac(policies) => rules.extend(policies.rules_of(user, namespace)),
                Link::Node(_) if node_name(user).is_none() => {}
                Link::Node(_) => {
                    is_incomplete = true;
                    errors.push("node authorizer does not support user rule resolution".into());
                }
                Link::Webhook(_) => {
                    is_incomplete = true;
                    errors.push("webhook authorizer does not support user rule resolution".into());
                }
            }
        }
        (rules, is_incomplete, aggregate(errors.iter().map(String::as_str)))
    }
}

/// Waits for a decision; other tasks get another worker meanwhile.
fn wait_for(decision: impl Future<Output = Decision>) -> Decision {
    match Handle::try_current() {
        Ok(runtime) if runtime.runtime_flavor() != RuntimeFlavor::CurrentThread => {
            compute(|| runtime.block_on(decision))
        }
        _ => {
            let error = "the authorization webhook cannot be asked here: the server has one thread only";
            Decision { error: Some(error.to_owned()), ..Decision::default() }
        }
    }
}

/// Returns the error of a request that was not allowed: a 403, or a 500 if an authorizer failed.
pub fn refusal(user: &UserInfo, attributes: &Attributes, decision: &Decision) -> ApiError {
    match &decision.error {
        Some(error) => ApiError::internal(format!("Internal Server Error: {attributes}: {error}")),
        None => forbidden(user, attributes, &decision.reason),
    }
}

/// Returns the 403 of a request.
pub fn forbidden(user: &UserInfo, attributes: &Attributes, reason: &str) -> ApiError {
    let why = attributes.denial(user, reason);
    match attributes {
        Attributes::Resource(resource) => {
            ApiError::forbidden(&resource.group, &resource.resource, &resource.name, &why)
        }
        Attributes::NonResource { .. } => {
            ApiError::new(Reason::Forbidden, format!("forbidden: {why}")).about("", "", "")
        }
    }
}
