//! The roles and bindings of a server, indexed by subject, and the decision about a request.

use super::{
    FieldRule, GrantedRule, Limit, Role, Subject,
    aggregation::{Alternatives, aggregated_limits},
};
use crate::{Decision, Verdict, aggregate};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt,
    ops::ControlFlow,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use tenure_meta::{Attributes, ResourceAttributes, UserInfo};
use tenure_value::{Text, Value};

/// The role that a binding grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleRef {
    /// A role of the binding's namespace.
    Role(Text),
    /// A cluster role.
    ClusterRole(Text),
}

/// A role binding or a cluster role binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Its name.
    pub name: Text,
    /// Its namespace; empty for a cluster role binding.
    pub namespace: Text,
    /// The role that it grants.
    pub role: RoleRef,
    /// The subjects.
    pub subjects: Vec<Subject>,
}

/// A role that a binding grants to a user.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grant<'p> {
    /// The binding.
    pub binding: &'p Binding,
    /// The first subject of the binding that matches the user.
    pub subject: &'p Subject,
    /// The rules of the role, or `None` if there is no such role.
    pub role: Option<&'p Role>,
}

/// The fields of a resource that a user may change.
#[derive(Clone, Debug, PartialEq)]
pub enum WritePermission<'p> {
    /// Every field.
    Unlimited,
    /// The fields that any of these rules permits; each with the grant that it limits.
    Limited(Vec<(Grant<'p>, &'p FieldRule)>),
}

/// The roles and bindings of a server.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Roles by namespace and name; cluster roles are in the namespace "".
    roles: HashMap<Text, HashMap<Text, Arc<Role>>>,
    /// Bindings by namespace; cluster role bindings are in the namespace "".
    bindings: HashMap<Text, Bindings>,
    /// Whether there has been a role with field rules, or with some that cannot be read. An aggregated role may still have what it
    /// collected from one that has been deleted.
    has_field_rules: bool,
    /// The limits of the rules of aggregated roles, once they are needed.
    aggregated: OnceLock<HashMap<Text, Vec<Alternatives>>>,
    /// The state of the policy: no two states of any policies have the same number.
    generation: u64,
}

/// The bindings of one namespace, by name and by subject.
#[derive(Clone, Debug, Default)]
struct Bindings {
    by_name: BTreeMap<Text, Arc<Binding>>,
    by_user: HashMap<Text, BTreeSet<Text>>,
    by_group: HashMap<Text, BTreeSet<Text>>,
}

impl Policy {
    /// Adds a new or changed object; whether it is one of the four kinds.
    pub fn insert(&mut self, object: &Value) -> bool {
        self.generation = next_generation();
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
        let name = Text::from(metadata(object, "name"));
        let namespace = Text::from(match kind {
            "Role" | "RoleBinding" => metadata(object, "namespace"),
            _ => "",
        });
        match kind {
            "Role" | "ClusterRole" => {
                let role = Role::read(object);
                self.has_field_rules |= role.limits_fields();
                self.aggregated = OnceLock::new();
                self.roles.entry(namespace).or_default().insert(name, Arc::new(role));
            }
            "RoleBinding" | "ClusterRoleBinding" => {
                let bindings = self.bindings.entry(namespace.clone()).or_default();
                bindings.remove(&name);
                bindings.insert(Binding::read(object, name, namespace));
            }
            _ => return false,
        }
        true
    }

    /// Removes a deleted object, by its kind.
    pub fn remove(&mut self, kind: &str, namespace: &str, name: &str) {
        self.generation = next_generation();
        match kind {
            "Role" | "ClusterRole" => {
                self.aggregated = OnceLock::new();
                self.roles.get_mut(namespace).and_then(|roles| roles.remove(name));
            }
            "RoleBinding" | "ClusterRoleBinding" => {
                if let Some(bindings) = self.bindings.get_mut(namespace) {
                    bindings.remove(name);
                }
            }
            _ => {}
        }
    }

    /// Returns the number of this state of the policy. Decisions of another state must be made again.
    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    /// Decides about a request. Members of `system:masters` may do everything, without a reason.
    pub fn authorize(&self, user: &UserInfo, attributes: &Attributes) -> Decision {
        if user.is_in(UserInfo::MASTERS) {
            return Decision::allowed();
        }
        let mut missing = BTreeSet::new();
        let found = self.visit(user, attributes.namespace(), |grant| match grant.role {
            None => {
                missing.insert(grant.missing_role());
                ControlFlow::Continue(())
            }
            Some(role) if role.rules.iter().any(|rule| rule.allows(attributes)) => {
                ControlFlow::Break(grant.to_string())
            }
            Some(_) => ControlFlow::Continue(()),
        });
        match found {
            ControlFlow::Break(grant) => Decision::new(Verdict::Allow, format!("RBAC: allowed by {grant}")),
            ControlFlow::Continue(()) => {
                let reason = aggregate(missing.iter().map(String::as_str));
                Decision::no_opinion(if reason.is_empty() { reason } else { format!("RBAC: {reason}") })
            }
        }
    }

    /// Whether any role limits, or has limited, what its subjects may change to fields.
    pub fn has_field_rules(&self) -> bool {
        self.has_field_rules
    }

    /// Returns an empty policy that replaces this one when all roles and bindings are read again.
    pub(crate) fn successor(&self) -> Policy {
        Policy { has_field_rules: self.has_field_rules, generation: next_generation(), ..Policy::default() }
    }

    /// Returns the fields of a resource that a user may change. Roles add up: one that grants the write without
    /// limits makes it unlimited.
    pub fn write_permission(&self, user: &UserInfo, write: &ResourceAttributes) -> WritePermission<'_> {
        if user.is_in(UserInfo::MASTERS) {
            return WritePermission::Unlimited;
        }
        let attributes = Attributes::Resource(write.clone());
        let (mut limited, mut seen) = (Vec::new(), HashSet::new());
        let found = self.visit(user, &write.namespace, |grant| {
            for granted in self.granted(&grant).filter(|granted| granted.rule.allows(&attributes)) {
                let Some(rules) = granted.limit.of(&write.group, &write.resource, &write.subresource) else {
                    return ControlFlow::Break(());
                };
                // Two rules of a role have the same limits.
                let new = rules
                    .into_iter()
                    .filter(|rule| seen.insert((grant.binding as *const _, *rule as *const _)));
                limited.extend(new.map(|rule| (grant, rule)));
            }
            ControlFlow::Continue(())
        });
        match found {
            ControlFlow::Break(()) => WritePermission::Unlimited,
            ControlFlow::Continue(()) => WritePermission::Limited(limited),
        }
    }

    /// Returns all rules of a user in a namespace with their limits, and the errors of resolving roles.
    pub fn rules_of(&self, user: &UserInfo, namespace: &str) -> (Vec<GrantedRule<'_>>, String) {
        let (mut rules, mut missing) = (Vec::new(), BTreeSet::new());
        let ControlFlow::Continue(()) = self.visit(user, namespace, |grant| {
            match grant.role {
                Some(_) => rules.extend(self.granted(&grant)),
                None => drop(missing.insert(grant.missing_role())),
            }
            ControlFlow::<std::convert::Infallible>::Continue(())
        });
        (rules, aggregate(missing.iter().map(String::as_str)))
    }

    /// Returns the rules of the role that a binding in a namespace grants, with their limits, if there is such a role.
    pub fn rules_of_role(&self, role: &RoleRef, namespace: &str) -> Option<Vec<GrantedRule<'_>>> {
        let found = self.role(role, namespace)?;
        Some(self.granted_by(role, found).collect())
    }

    fn granted<'p>(&'p self, grant: &Grant<'p>) -> impl Iterator<Item = GrantedRule<'p>> {
        grant.role.into_iter().flat_map(|role| self.granted_by(&grant.binding.role, role))
    }

    /// Returns the rules of a role with their limits. A rule that an aggregated role collected from several roles comes once for each.
    fn granted_by<'p>(
        &'p self,
        name: &RoleRef,
        role: &'p Role,
    ) -> Box<dyn Iterator<Item = GrantedRule<'p>> + 'p> {
        let RoleRef::ClusterRole(name) = name else { return Box::new(role.granted()) };
        if role.selectors.is_none() || !self.has_field_rules {
            return Box::new(role.granted());
        }
        let none = HashMap::new();
        let limits = self.aggregated.get_or_init(|| aggregated_limits(self.roles.get("").unwrap_or(&none)));
        let limits = limits.get(name).map(Vec::as_slice).unwrap_or_default();
        Box::new(role.rules.iter().enumerate().flat_map(move |(at, rule)| {
            let limits = limits.get(at).map(Vec::as_slice).unwrap_or_default();
            let none = limits.is_empty().then_some(Limit::NoWrite);
            let limits = limits.iter().map(|limits| Limit::Fields(limits)).chain(none);
            limits.map(move |limit| GrantedRule { rule, limit })
        }))
    }

    /// Visits the roles of a user: by cluster role bindings first, then by the role bindings of a namespace.
    pub fn visit<'p, B>(
        &'p self,
        user: &UserInfo,
        namespace: &str,
        mut visitor: impl FnMut(Grant<'p>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let namespaced = (!namespace.is_empty()).then(|| self.bindings.get(namespace)).flatten();
        for bindings in self.bindings.get("").into_iter().chain(namespaced) {
            for binding in bindings.of(user) {
                let Some(subject) = binding.subjects.iter().find(|subject| subject.is(user)) else {
                    continue;
                };
                let role = self.role(&binding.role, &binding.namespace);
                visitor(Grant { binding, subject, role })?;
            }
        }
        ControlFlow::Continue(())
    }

    fn role(&self, role: &RoleRef, namespace: &str) -> Option<&Role> {
        match role {
            RoleRef::Role(name) => self.roles.get(namespace)?.get(name).map(|role| &**role),
            RoleRef::ClusterRole(name) => self.roles.get("")?.get(name).map(|role| &**role),
        }
    }
}

impl Bindings {
    fn insert(&mut self, binding: Binding) {
        for subject in &binding.subjects {
            let (index, key) = match subject {
                Subject::User(name) | Subject::ServiceAccount { user: name, .. } => (&mut self.by_user, name),
                Subject::Group(name) => (&mut self.by_group, name),
            };
            index.entry(key.clone()).or_default().insert(binding.name.clone());
        }
        self.by_name.insert(binding.name.clone(), Arc::new(binding));
    }

    fn remove(&mut self, name: &str) {
        let Some(binding) = self.by_name.remove(name) else { return };
        for subject in &binding.subjects {
            let (index, key) = match subject {
                Subject::User(name) | Subject::ServiceAccount { user: name, .. } => (&mut self.by_user, name),
                Subject::Group(name) => (&mut self.by_group, name),
            };
            if let Some(names) = index.get_mut(key) {
                names.remove(name);
                if names.is_empty() {
                    index.remove(key);
                }
            }
        }
    }

    /// Returns the bindings that name a user or one of its groups, by name.
    fn of<'p>(&'p self, user: &UserInfo) -> impl Iterator<Item = &'p Binding> {
        let groups = user.groups.iter().filter_map(|group| self.by_group.get(group));
        let names: BTreeSet<&Text> =
            self.by_user.get(&user.name).into_iter().chain(groups).flatten().collect();
        names.into_iter().filter_map(|name| self.by_name.get(name).map(|binding| &**binding))
    }
}

impl Binding {
    fn read(object: &Value, name: Text, namespace: Text) -> Binding {
        let reference =
            |field: &str| object.at(["roleRef", field]).and_then(Value::as_str).unwrap_or_default();
        let role = match reference("kind") {
            "ClusterRole" => RoleRef::ClusterRole(reference("name").into()),
            _ => RoleRef::Role(reference("name").into()),
        };
        let subjects = object.get("subjects").and_then(Value::as_array);
        let subjects = subjects.into_iter().flat_map(|subjects| subjects.iter());
        let subjects = subjects.filter_map(|subject| Subject::read(subject, &namespace)).collect();
        Binding { name, namespace, role, subjects }
    }
}

impl RoleRef {
    /// Reads the `roleRef` of a binding; `None` if it names another kind.
    pub fn read(reference: &Value) -> Option<RoleRef> {
        let text = |field: &str| reference.get(field).and_then(Value::as_str).unwrap_or_default();
        match text("kind") {
            "ClusterRole" => Some(RoleRef::ClusterRole(text("name").into())),
            "Role" => Some(RoleRef::Role(text("name").into())),
            _ => None,
        }
    }

    /// Returns the resource of the role.
    pub fn resource(&self) -> &'static str {
        match self {
            RoleRef::Role(_) => "roles",
            RoleRef::ClusterRole(_) => "clusterroles",
        }
    }

    /// Returns the kind and the name of the role.
    pub fn parts(&self) -> (&'static str, &Text) {
        match self {
            RoleRef::Role(name) => ("Role", name),
            RoleRef::ClusterRole(name) => ("ClusterRole", name),
        }
    }

    /// Returns the error for a role that does not exist.
    pub fn not_found(&self) -> String {
        let (kind, name) = self.parts();
        format!("{}.rbac.authorization.k8s.io {name:?} not found", kind.to_lowercase())
    }
}

impl Grant<'_> {
    fn missing_role(&self) -> String {
        self.binding.role.not_found()
    }
}

impl fmt::Display for Grant<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Binding { name, namespace, role, .. } = self.binding;
        match namespace.as_str() {
            "" => write!(out, "ClusterRoleBinding {name:?}")?,
            namespace => write!(out, "RoleBinding {:?}", format!("{name}/{namespace}"))?,
        }
        let (kind, role) = role.parts();
        write!(out, " of {kind} {role:?} to {}", self.subject)
    }
}

fn next_generation() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Relaxed) + 1
}

fn metadata<'v>(object: &'v Value, field: &str) -> &'v str {
    object.at(["metadata", field]).and_then(Value::as_str).unwrap_or_default()
}
