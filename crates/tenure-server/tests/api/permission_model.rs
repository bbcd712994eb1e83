//! For random roles, bindings and writes, a write is refused exactly when a slow model of RBAC and of field rules refuses
//! it, with any verb, patch type or option. Roles are bound themselves, in the namespace or everywhere, or collected by an aggregated
//! role; one of the fields is the order of a list.

use crate::{
    http::Request,
    server::{APPLY, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Server},
};
use proptest::{
    prelude::*,
    sample::{select, subsequence},
};
use std::collections::{BTreeMap, BTreeSet};
use tenure_http::Administrator;

const TOKEN: &str = "an-administrators-token";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const VERBS: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];
/// The fields that writes set: their names in field rules and in the body. The value of the last one is the order of two items.
const FIELDS: [&str; 4] = [".data.a", ".data.b", ".metadata.labels.c", LIST];
const LIST: &str = ".metadata.ownerReferences";
/// The index of the list among the fields.
const ORDER: usize = 3;
const MANAGERS: [&str; 2] = ["first", "second"];
const NAMES: [&str; 2] = ["one", "two"];

/// The values of the fields; a field that is absent is not in the map.
type Fields = BTreeMap<usize, u8>;

#[derive(Clone, Debug)]
struct Role {
    verbs: Vec<&'static str>,
    /// Empty for every name.
    names: Vec<&'static str>,
    limits: Option<Limits>,
    /// Bound to the user itself, to its group, to another user, or to none: then an aggregated role collects it, which is bound to
    /// the user.
    bound_to: &'static str,
    /// Whether it is bound everywhere.
    is_cluster_wide: bool,
}

#[derive(Clone, Debug)]
struct Limits {
    fields: Vec<usize>,
    except: Vec<usize>,
    managers: Vec<&'static str>,
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Post,
    Put,
    Merge,
    Json,
    Strategic,
    Apply { force: bool },
    Delete,
    DeleteAll,
}

#[derive(Clone, Debug)]
struct Write {
    method: Method,
    name: &'static str,
    manager: &'static str,
    dry_run: bool,
    fields: Fields,
}

/// What the model knows of the server.
#[derive(Clone, Debug, Default)]
struct Model {
    objects: BTreeMap<&'static str, Fields>,
    /// The fields that a manager applied and still owns, by object and manager.
    applied: BTreeMap<(&'static str, &'static str), BTreeSet<usize>>,
}

fn role() -> impl Strategy<Value = Role> {
    let limits = (
        subsequence(vec![0, 1, 2, 3], 0..=4),
        subsequence(vec![0, 1, 2, 3], 0..=1),
        subsequence(MANAGERS.to_vec(), 0..=1),
        any::<bool>(),
    );
    let limits =
        limits.prop_map(|(fields, except, managers, force)| Limits { fields, except, managers, force });
    let names = prop_oneof![2 => Just(Vec::new()), 1 => subsequence(NAMES.to_vec(), 1)];
    (
        subsequence(VERBS.to_vec(), 1..=5),
        names,
        proptest::option::of(limits),
        select(vec!["user", "group", "other", "collected", "collected"]),
        any::<bool>(),
    )
        .prop_map(|(verbs, names, limits, bound_to, is_cluster_wide)| Role {
            verbs,
            names,
            limits,
            bound_to,
            is_cluster_wide,
        })
}

fn write() -> impl Strategy<Value = Write> {
    let method = select(vec![
        Method::Post,
        Method::Put,
        Method::Merge,
        Method::Json,
        Method::Strategic,
        Method::Apply { force: false },
        Method::Apply { force: true },
        Method::Delete,
        Method::DeleteAll,
    ]);
    let fields = proptest::collection::btree_map(0..FIELDS.len(), 0..2u8, 0..=4);
    (method, select(NAMES.to_vec()), select(MANAGERS.to_vec()), any::<bool>(), fields).prop_map(
        |(method, name, manager, dry_run, mut fields)| {
            // The order of what is applied is that of the configuration only where the manager owns the items.
            if matches!(method, Method::Apply { .. }) {
                fields.remove(&ORDER);
            }
            Write { method, name, manager, dry_run, fields }
        },
    )
}

/// Whether a role grants a verb on a name, which is empty for a POST and for a collection.
fn grants(role: &Role, verb: &str, name: &str) -> bool {
    role.bound_to != "other"
        && role.verbs.contains(&verb)
        && (role.names.is_empty() || role.names.contains(&name))
}

fn permits(roles: &[Role], verb: &str, name: &str, write: &Write, changed: &BTreeSet<usize>) -> bool {
    let granting: Vec<&Role> = roles.iter().filter(|role| grants(role, verb, name)).collect();
    if granting.iter().any(|role| role.limits.is_none()) {
        return true;
    }
    let force = write.method == Method::Apply { force: true };
    let manager =
        if matches!(write.method, Method::Delete | Method::DeleteAll) { "unknown" } else { write.manager };
    let usable: Vec<&Limits> = granting
        .iter()
        .filter_map(|role| role.limits.as_ref())
        .filter(|limits| limits.managers.is_empty() || limits.managers.contains(&manager))
        .filter(|limits| limits.force || !force)
        .collect();
    !usable.is_empty()
        && changed.iter().all(|field| {
            usable.iter().any(|limits| {
                (limits.fields.is_empty() || limits.fields.contains(field)) && !limits.except.contains(field)
            })
        })
}

/// Whether a role grants the verb of a write, regardless of the fields.
fn is_granted(roles: &[Role], write: &Write) -> bool {
    let (verb, name) = match write.method {
        Method::Post => ("create", ""),
        Method::Put => ("update", write.name),
        Method::Delete => ("delete", write.name),
        Method::DeleteAll => ("deletecollection", ""),
        _ => ("patch", write.name),
    };
    roles.iter().any(|role| grants(role, verb, name))
}

impl Model {
    /// Returns the fields that change their value or their owner, and the object afterwards.
    fn change(&self, write: &Write) -> (BTreeSet<usize>, Fields) {
        let none = Fields::new();
        let old = self.objects.get(write.name).filter(|_| write.method != Method::Post).unwrap_or(&none);
        let owned = self.applied.get(&(write.name, write.manager)).cloned().unwrap_or_default();
        let given: BTreeSet<usize> = write.fields.keys().copied().collect();
        let mut new = match write.method {
            Method::Post | Method::Put => Fields::new(),
            _ => old.clone(),
        };
        if let Method::Apply { .. } = write.method {
            // Fields that it applied before and now omits are removed, unless another manager applied them too.
            for field in owned.difference(&given) {
                let is_shared = MANAGERS.iter().any(|other| {
                    *other != write.manager
                        && self.applied.get(&(write.name, *other)).is_some_and(|set| set.contains(field))
                });
                if !is_shared {
                    new.remove(field);
                }
            }
        }
        new.extend(&write.fields);
        let mut changed: BTreeSet<usize> =
            (0..FIELDS.len()).filter(|field| old.get(field) != new.get(field)).collect();
        if matches!(write.method, Method::Apply { .. }) {
            changed.extend(owned.symmetric_difference(&given));
        }
        (changed, new)
    }

    fn allows(&self, roles: &[Role], write: &Write) -> bool {
        let exists = self.objects.contains_key(write.name);
        let (changed, _) = self.change(write);
        let permits =
            |verb: &str, name: &str, changed: &BTreeSet<usize>| permits(roles, verb, name, write, changed);
        let all = |name: &str| -> BTreeSet<usize> { self.objects[name].keys().copied().collect() };
        match write.method {
            Method::Post => permits("create", "", &changed),
            Method::Put => {
                permits("update", write.name, &changed) && (exists || permits("create", write.name, &changed))
            }
            Method::Apply { .. } => {
                permits("patch", write.name, &changed) && (exists || permits("create", write.name, &changed))
            }
            Method::Merge | Method::Json | Method::Strategic => permits("patch", write.name, &changed),
            Method::Delete => {
                permits("delete", write.name, &if exists { all(write.name) } else { BTreeSet::new() })
            }
            Method::DeleteAll => {
                let is_granted = roles.iter().any(|role| grants(role, "deletecollection", ""));
                is_granted && self.objects.keys().all(|name| permits("deletecollection", "", &all(name)))
            }
        }
    }

    fn forget(&mut self, is_gone: impl Fn(&str) -> bool) {
        self.objects.retain(|name, _| !is_gone(name));
        self.applied.retain(|(name, _), _| !is_gone(name));
    }

    /// Updates the model after a successful write.
    fn follow(&mut self, write: &Write) {
        match write.method {
            Method::Delete => self.forget(|name| name == write.name),
            _ => {
                let (_, new) = self.change(write);
                let old = self.objects.insert(write.name, new.clone()).unwrap_or_default();
                let changed: BTreeSet<usize> =
                    (0..FIELDS.len()).filter(|field| old.get(field) != new.get(field)).collect();
                for manager in MANAGERS {
                    let is_applier = manager == write.manager && matches!(write.method, Method::Apply { .. });
                    let set = self.applied.entry((write.name, manager)).or_default();
                    match is_applier {
                        true => *set = write.fields.keys().copied().collect(),
                        false => set.retain(|field| !changed.contains(field)),
                    }
                }
            }
        }
    }
}

fn send(
    server: &Server,
    method: &str,
    path: &str,
    body: Option<(&str, String)>,
    user: Option<&str>,
) -> (u16, String) {
    let mut request = Request::new(method, path).header("Authorization", &format!("Bearer {TOKEN}"));
    request = request.header("User-Agent", "unknown");
    if let Some(user) = user {
        request = request.header("Impersonate-User", user).header("Impersonate-Group", "group");
    }
    if let Some((media_type, body)) = body {
        request = request.body(media_type, body);
    }
    let response = server.send(&request);
    (response.code, response.text())
}

/// Returns the rules of a role, as JSON.
fn rules(role: &Role) -> String {
    let list = |texts: &[&str]| texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(",");
    format!(
        r#"{{"apiGroups":[""],"resources":["configmaps"],"verbs":[{}],"resourceNames":[{}]}}"#,
        list(&role.verbs),
        list(&role.names)
    )
}

fn create(server: &Server, path: &str, body: String) {
    let made = send(server, "POST", &format!("{RBAC}/{path}"), Some(("application/json", body)), None);
    assert_eq!(made.0, 201, "{}", made.1);
}

fn bind(server: &Server, role: &str, subject: &str, is_cluster_wide: bool) {
    let kind = if subject == "group" { "Group" } else { "User" };
    let body = format!(
        r#"{{"metadata":{{"name":"{role}"}},"roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"{role}"}},"subjects":[{{"apiGroup":"rbac.authorization.k8s.io","kind":"{kind}","name":"{subject}"}}]}}"#
    );
    let path = if is_cluster_wide { "clusterrolebindings" } else { "namespaces/default/rolebindings" };
    create(server, path, body);
}

fn install(server: &Server, roles: &[Role]) {
    let mut collected = BTreeSet::new();
    for (at, role) in roles.iter().enumerate() {
        let annotations = role.limits.as_ref().map(|limits| {
            let paths =
                |fields: &[usize]| fields.iter().map(|field| FIELDS[*field]).collect::<Vec<_>>().join(", ");
            let rule = format!(
                "[{{resources: [configmaps], fields: [{}], exceptFields: [{}], managers: [{}], force: {}}}]",
                paths(&limits.fields),
                paths(&limits.except),
                limits.managers.join(", "),
                limits.force
            );
            format!(r#","annotations":{{"tenure.dev/field-rules":{rule:?}}}"#)
        });
        let is_collected = role.bound_to == "collected";
        let body = format!(
            r#"{{"metadata":{{"name":"r{at}","labels":{{"collected":"{is_collected}"}}{}}},"rules":[{}]}}"#,
            annotations.unwrap_or_default(),
            rules(role)
        );
        create(server, "clusterroles", body);
        match is_collected {
            true => drop(collected.insert(rules(role))),
            false => bind(server, &format!("r{at}"), role.bound_to, role.is_cluster_wide),
        }
    }
    if !collected.is_empty() {
        // With the rules that the controller would collect.
        let rules = collected.into_iter().collect::<Vec<_>>().join(",");
        let selector = r#"{"clusterRoleSelectors":[{"matchLabels":{"collected":"true"}}]}"#;
        let body =
            format!(r#"{{"metadata":{{"name":"sum"}},"aggregationRule":{selector},"rules":[{rules}]}}"#);
        create(server, "clusterroles", body);
        bind(server, "sum", "user", false);
    }
}

/// Returns the two items of the list in an order.
fn items(order: u8) -> String {
    let item =
        |name: &str| format!(r#"{{"apiVersion":"v1","kind":"Secret","name":"{name}","uid":"{name}"}}"#);
    let names = if order == 0 { ["p", "q"] } else { ["q", "p"] };
    names.map(item).join(",")
}

/// Returns the object, or the patch, that a write sends.
fn document(write: &Write) -> String {
    let member =
        |name: &str, field: usize| write.fields.get(&field).map(|value| format!(r#""{name}":"{value}""#));
    let data: Vec<String> = [member("a", 0), member("b", 1)].into_iter().flatten().collect();
    let labels: Vec<String> = member("c", 2).into_iter().collect();
    let mut metadata = vec![format!(r#""name":"{}""#, write.name)];
    if !labels.is_empty() {
        metadata.push(format!(r#""labels":{{{}}}"#, labels.join(",")));
    }
    if let Some(order) = write.fields.get(&ORDER) {
        let items = items(*order);
        metadata.push(format!(r#""ownerReferences":[{items}]"#));
        if write.method == Method::Strategic {
            metadata.push(format!(r#""$setElementOrder/ownerReferences":[{items}]"#));
        }
    }
    let data = if data.is_empty() { String::new() } else { format!(r#","data":{{{}}}"#, data.join(",")) };
    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{{}}}{data}}}"#, metadata.join(","))
}

fn json_patch(write: &Write, old: &Fields) -> String {
    let mut operations = Vec::new();
    for (field, value) in &write.fields {
        if *field == ORDER {
            let items = items(*value);
            operations
                .push(format!(r#"{{"op":"add","path":"/metadata/ownerReferences","value":[{items}]}}"#));
            continue;
        }
        let (parent, path) =
            [("/data", "/data/a"), ("/data", "/data/b"), ("/metadata/labels", "/metadata/labels/c")][*field];
        let has_parent = match parent {
            "/data" => old
                .keys()
                .chain(write.fields.range(..field).map(|(field, _)| field))
                .any(|number| *number < 2),
            _ => old.contains_key(&2),
        };
        if !has_parent {
            operations.push(format!(r#"{{"op":"add","path":"{parent}","value":{{}}}}"#));
        }
        operations.push(format!(r#"{{"op":"add","path":"{path}","value":"{value}"}}"#));
    }
    format!("[{}]", operations.join(","))
}

fn carry_out(server: &Server, model: &Model, write: &Write) -> (u16, String) {
    let none = Fields::new();
    let old = model.objects.get(write.name).unwrap_or(&none);
    let object = format!("{MAPS}/{}", write.name);
    let (method, path, body) = match write.method {
        Method::Post => ("POST", MAPS.to_string(), Some(("application/json", document(write)))),
        Method::Put => ("PUT", object, Some(("application/json", document(write)))),
        Method::Merge => ("PATCH", object, Some((MERGE_PATCH, document(write)))),
        Method::Strategic => ("PATCH", object, Some((STRATEGIC_PATCH, document(write)))),
        Method::Json => ("PATCH", object, Some((JSON_PATCH, json_patch(write, old)))),
        Method::Apply { .. } => ("PATCH", object, Some((APPLY, document(write)))),
        Method::Delete => ("DELETE", object, None),
        Method::DeleteAll => ("DELETE", MAPS.to_string(), None),
    };
    let mut query = vec![];
    if !matches!(write.method, Method::Delete | Method::DeleteAll) {
        query.push(format!("fieldManager={}", write.manager));
    }
    if write.method == (Method::Apply { force: true }) {
        query.push("force=true".into());
    }
    if write.dry_run {
        query.push("dryRun=All".into());
    }
    send(server, method, &format!("{path}?{}", query.join("&")), body, Some("user"))
}

fn stored(server: &Server) -> String {
    send(server, "GET", MAPS, None, None).1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_write_succeeds_exactly_when_the_model_allows_it(
        roles in proptest::collection::vec(role(), 1..5),
        writes in proptest::collection::vec(write(), 1..16),
    ) {
        let server = Server::with(Administrator::Token(TOKEN.into()));
        install(&server, &roles);
        let mut model = Model::default();
        for seed in NAMES {
            // The administrator owns the objects that users find.
            let items = items(0);
            let body =
                format!(r#"{{"metadata":{{"name":"{seed}","ownerReferences":[{items}]}},"data":{{"a":"0"}}}}"#);
            let path = format!("{MAPS}?fieldManager=administrator");
            prop_assert_eq!(send(&server, "POST", &path, Some(("application/json", body)), None).0, 201);
            model.objects.insert(seed, Fields::from([(0, 0), (ORDER, 0)]));
        }
        for write in &writes {
            let before = stored(&server);
            let (code, text) = carry_out(&server, &model, write);
            let is_right = match code {
                403 => !model.allows(&roles, write),
                // The object is missing, exists already, or has other owners: reported only to users with permission.
                404 | 409 => is_granted(&roles, write),
                _ => code < 300 && model.allows(&roles, write),
            };
            prop_assert!(is_right, "{:?} by {:?}\n{:?}: {} {}", write, roles, model, code, text);
            if write.method == Method::DeleteAll && !write.dry_run {
                // Permitted objects are deleted even if others are not.
                let after = stored(&server);
                model.forget(|name| !after.contains(&format!(r#""name":"{name}""#)));
            } else if code >= 400 || write.dry_run {
                prop_assert_eq!(stored(&server), before, "{:?}: {}", write, code);
            } else {
                model.follow(write);
            }
        }
    }
}
