//! The roles and bindings of a server, indexed by subject, and the decision about a request.

use super::{FIELD_RULES_ANNOTATION, FieldRule, FieldRuleError, PolicyRule, Subject};
use crate::{Decision, Verdict, aggregate};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    ops::ControlFlow,
    sync::{
        Arc,
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

/// The rules of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its rules.
    pub rules: Vec<PolicyRule>,
    /// The limits on what its write permissions may change, or why they cannot be read.
    pub field_rules: Result<Vec<FieldRule>, FieldRuleError>,
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
    /// How many roles have field rules, or some that cannot be read.
    limited_roles: usize,
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
                self.limited_roles += usize::from(role.limits_fields());
                let replaced = self.roles.entry(namespace).or_default().insert(name, Arc::new(role));
                self.limited_roles -= usize::from(replaced.is_some_and(|role| role.limits_fields()));
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
                let removed = self.roles.get_mut(namespace).and_then(|roles| roles.remove(name));
                self.limited_roles -= usize::from(removed.is_some_and(|role| role.limits_fields()));
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

    /// Whether any role limits what its subjects may change to fields.
    pub fn has_field_rules(&self) -> bool {
        self.limited_roles > 0
    }

    /// Returns the fields of a resource that a user may change. Roles add up: one that grants the write without
    /// limits makes it unlimited.
    pub fn write_permission(&self, user: &UserInfo, write: &ResourceAttributes) -> WritePermission<'_> {
        if user.is_in(UserInfo::MASTERS) {
            return WritePermission::Unlimited;
        }
        let attributes = Attributes::Resource(write.clone());
        let mut limited = Vec::new();
        let found = self.visit(user, &write.namespace, |grant| {
            let Some(role) = grant.role.filter(|role| role.rules.iter().any(|rule| rule.allows(&attributes)))
            else {
                return ControlFlow::Continue(());
            };
            let Ok(field_rules) = &role.field_rules else { return ControlFlow::Continue(()) };
            let before = limited.len();
            limited.extend(field_rules.iter().filter(|rule| rule.limits(write)).map(|rule| (grant, rule)));
            if limited.len() == before { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        match found {
            ControlFlow::Break(()) => WritePermission::Unlimited,
            ControlFlow::Continue(()) => WritePermission::Limited(limited),
        }
    }

    /// Returns all rules of a user in a namespace, and the errors of resolving roles.
    pub fn rules_of(&self, user: &UserInfo, namespace: &str) -> (Vec<&PolicyRule>, String) {
        let (mut rules, mut missing) = (Vec::new(), BTreeSet::new());
        let ControlFlow::Continue(()) = self.visit(user, namespace, |grant| {
            match grant.role {
                Some(role) => rules.extend(&role.rules),
                None => drop(missing.insert(grant.missing_role())),
            }
            ControlFlow::<std::convert::Infallible>::Continue(())
        });
        (rules, aggregate(missing.iter().map(String::as_str)))
    }

    /// Returns the rules of the role that a binding in a namespace grants, if there is such a role.
    pub fn rules_of_role(&self, role: &RoleRef, namespace: &str) -> Option<&[PolicyRule]> {
        Some(&self.role(role, namespace)?.rules)
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

impl Role {
    /// Whether the role has field rules, or some that cannot be read.
    fn limits_fields(&self) -> bool {
        self.field_rules.as_ref().map_or(true, |rules| !rules.is_empty())
    }

    fn read(object: &Value) -> Role {
        let annotation = object.at(["metadata", "annotations", FIELD_RULES_ANNOTATION]);
        let field_rules = annotation.and_then(Value::as_str).map_or(Ok(Vec::new()), FieldRule::parse);
        Role { rules: PolicyRule::list(object.get("rules")), field_rules }
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
