//! The checks of the Pod Security standards.

use super::{Level, PolicyLevel};
use std::collections::BTreeSet;
use tenure_value::Value;

/// What a pod does that its level does not permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The kind of violation, in a few words.
    pub reason: String,
    /// Where, and what would be right.
    pub detail: String,
}

/// One row of the standard.
struct Check {
    level: Level,
    /// The first minor version that has the check.
    since: u32,
    run: fn(&Pod<'_>) -> Option<Violation>,
}

/// Every check in the order of messages: baseline first, each level by name.
const CHECKS: [Check; 19] = [
    Check { level: Level::Baseline, since: 0, run: app_armor_profile },
    Check { level: Level::Baseline, since: 0, run: baseline_capabilities },
    Check { level: Level::Baseline, since: 0, run: host_namespaces },
    Check { level: Level::Baseline, since: 0, run: host_path_volumes },
    Check { level: Level::Baseline, since: 0, run: host_ports },
    Check { level: Level::Baseline, since: 34, run: probe_and_lifecycle_hosts },
    Check { level: Level::Baseline, since: 0, run: privileged },
    Check { level: Level::Baseline, since: 0, run: proc_mount },
    Check { level: Level::Baseline, since: 0, run: se_linux_options },
    Check { level: Level::Baseline, since: 0, run: baseline_seccomp_profile },
    Check { level: Level::Baseline, since: 0, run: sysctls },
    Check { level: Level::Baseline, since: 0, run: windows_host_process },
    Check { level: Level::Restricted, since: 8, run: privilege_escalation },
    Check { level: Level::Restricted, since: 22, run: restricted_capabilities },
    Check { level: Level::Restricted, since: 35, run: restricted_proc_mount },
    Check { level: Level::Restricted, since: 0, run: restricted_volumes },
    Check { level: Level::Restricted, since: 0, run: run_as_non_root },
    Check { level: Level::Restricted, since: 23, run: run_as_user },
    Check { level: Level::Restricted, since: 19, run: restricted_seccomp_profile },
];

/// Returns what in a pod breaks a level. `pod` is a pod or the template of one.
pub fn violations(policy: PolicyLevel, pod: &Value) -> Vec<Violation> {
    if policy.level == Level::Privileged {
        return Vec::new();
    }
    let pod = Pod::new(pod, policy);
    let checks = CHECKS.iter().filter(|check| check.level <= policy.level && check.since <= pod.minor);
    checks.filter_map(|check| (check.run)(&pod)).collect()
}

/// A pod as the checks see it.
struct Pod<'v> {
    annotations: Option<&'v Value>,
    spec: &'v Value,
    context: &'v Value,
    containers: Vec<Container<'v>>,
    minor: u32,
    is_restricted: bool,
    is_windows: bool,
    /// Whether the pod has a user namespace of its own, so that root in it is not root of the node.
    has_own_users: bool,
}

struct Container<'v> {
    name: &'v str,
    spec: &'v Value,
    context: &'v Value,
}

const NULL: &Value = &Value::Null;

impl<'v> Pod<'v> {
    fn new(pod: &'v Value, policy: PolicyLevel) -> Pod<'v> {
        let spec = pod.get("spec").unwrap_or(NULL);
        let lists = ["initContainers", "containers", "ephemeralContainers"];
        let containers = lists.into_iter().flat_map(|list| items(spec.get(list))).map(|spec| Container {
            name: text(spec, "name"),
            spec,
            context: spec.get("securityContext").unwrap_or(NULL),
        });
        Pod {
            annotations: pod.at(["metadata", "annotations"]),
            spec,
            context: spec.get("securityContext").unwrap_or(NULL),
            containers: containers.collect(),
            minor: policy.version.minor(),
            is_restricted: policy.level == Level::Restricted,
            is_windows: spec.at(["os", "name"]).and_then(Value::as_str) == Some("windows"),
            has_own_users: spec.get("hostUsers").and_then(Value::as_bool) == Some(false),
        }
    }

    /// Returns the names of the containers that satisfy a predicate.
    fn containers_that(&self, is: impl Fn(&Container<'v>) -> bool) -> Names<'v> {
        Names(
            self.containers
                .iter()
                .filter(|container| is(container))
                .map(|container| container.name)
                .collect(),
        )
    }

    /// Returns the values that a function finds in containers, and the containers with any.
    fn values_in<S: Into<String>>(
        &self,
        find: impl Fn(&Container<'v>) -> Vec<S>,
    ) -> (Names<'v>, BTreeSet<String>) {
        let (mut names, mut values) = (Vec::new(), BTreeSet::new());
        for container in &self.containers {
            let found = find(container);
            if !found.is_empty() {
                names.push(container.name);
                values.extend(found.into_iter().map(Into::into));
            }
        }
        (Names(names), values)
    }

    fn annotations(&self) -> impl Iterator<Item = (&'v str, &'v str)> {
        let annotations = self.annotations.and_then(Value::as_object);
        let annotations = annotations.into_iter().flat_map(|annotations| annotations.iter());
        annotations.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
    }
}

/// The names of containers or volumes.
struct Names<'v>(Vec<&'v str>);

impl Names<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the noun in its number with the names: `containers "a", "b"`.
    fn after(&self, noun: &str) -> String {
        format!("{} {}", plural(noun, self.0.len()), quoted(&self.0))
    }

    fn verb(&self) -> &'static str {
        if self.0.len() == 1 { "uses" } else { "use" }
    }
}

fn plural(noun: &str, count: usize) -> String {
    if count == 1 { noun.into() } else { format!("{noun}s") }
}

fn quoted<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> String {
    let quoted = values.into_iter().map(|value| format!("\"{}\"", value.as_ref()));
    quoted.collect::<Vec<_>>().join(", ")
}

fn violation(reason: impl Into<String>, detail: impl Into<String>) -> Option<Violation> {
    Some(Violation { reason: reason.into(), detail: detail.into() })
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flat_map(|list| list.iter())
}

fn texts(list: Option<&Value>) -> impl Iterator<Item = &str> {
    items(list).filter_map(Value::as_str)
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn is_true(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_bool) == Some(true)
}

/// Joins what sets a bad value: the pod, and containers by name.
fn setters(pod_sets: bool, containers: &Names<'_>) -> Option<String> {
    let pod = pod_sets.then(|| "pod".to_string());
    let containers = (!containers.is_empty()).then(|| containers.after("container"));
    let setters: Vec<String> = pod.into_iter().chain(containers).collect();
    (!setters.is_empty()).then(|| setters.join(" and "))
}

fn app_armor_profile(pod: &Pod<'_>) -> Option<Violation> {
    let forbidden = |context: &Value| {
        let profile = context.get("appArmorProfile")?;
        let kind = text(profile, "type");
        (!matches!(kind, "RuntimeDefault" | "Localhost")).then(|| kind.to_string())
    };
    let (containers, mut values) =
        pod.values_in(|container| forbidden(container.context).into_iter().collect());
    let of_pod = forbidden(pod.context);
    let mut setters: Vec<String> = setters(of_pod.is_some(), &containers).into_iter().collect();
    values.extend(of_pod);
    let mut listed: Vec<String> = values.into_iter().collect();
    let is_allowed = |profile: &str| {
        profile.is_empty() || profile == "runtime/default" || profile.starts_with("localhost/")
    };
    let annotations = pod.annotations().filter(|(key, value)| {
        key.starts_with("container.apparmor.security.beta.kubernetes.io/") && !is_allowed(value)
    });
    let annotations: Vec<String> = annotations.map(|(key, value)| format!("{key}={value:?}")).collect();
    if !annotations.is_empty() {
        setters.push(plural("annotation", annotations.len()));
        listed.extend(annotations);
    }
    if setters.is_empty() {
        return None;
    }
    let detail =
        format!("{} must not set AppArmor profile type to {}", setters.join(" and "), quoted(&listed));
    violation(plural("forbidden AppArmor profile", listed.len()), detail)
}

/// Returns the capabilities that a container adds beyond those allowed.
fn added_capabilities(container: &Container<'_>, allowed: &[&str]) -> Vec<String> {
    let added = texts(container.context.at(["capabilities", "add"]));
    added.filter(|capability| !allowed.contains(capability)).map(String::from).collect()
}

fn baseline_capabilities(pod: &Pod<'_>) -> Option<Violation> {
    const ALLOWED: [&str; 13] = [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ];
    // The restricted level has a stricter check of its own.
    if pod.is_restricted && pod.minor >= 22 {
        return None;
    }
    let (containers, added) = pod.values_in(|container| added_capabilities(container, &ALLOWED));
    if containers.is_empty() {
        return None;
    }
    let (containers, added) = (containers.after("container"), quoted(&added));
    violation(
        "non-default capabilities",
        format!("{containers} must not include {added} in securityContext.capabilities.add"),
    )
}

fn restricted_capabilities(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_windows && pod.minor >= 25 {
        return None;
    }
    let keeping = pod.containers_that(|container| {
        !texts(container.context.at(["capabilities", "drop"])).any(|capability| capability == "ALL")
    });
    let (adding, added) = pod.values_in(|container| added_capabilities(container, &["NET_BIND_SERVICE"]));
    let mut details = Vec::new();
    if !keeping.is_empty() {
        let containers = keeping.after("container");
        details.push(format!("{containers} must set securityContext.capabilities.drop=[\"ALL\"]"));
    }
    if !adding.is_empty() {
        let (containers, added) = (adding.after("container"), quoted(&added));
        details.push(format!("{containers} must not include {added} in securityContext.capabilities.add"));
    }
    if details.is_empty() { None } else { violation("unrestricted capabilities", details.join("; ")) }
}

fn host_namespaces(pod: &Pod<'_>) -> Option<Violation> {
    let shared = ["hostNetwork", "hostPID", "hostIPC"].into_iter().filter(|field| is_true(pod.spec, field));
    let shared: Vec<String> = shared.map(|field| format!("{field}=true")).collect();
    if shared.is_empty() { None } else { violation("host namespaces", shared.join(", ")) }
}

fn host_path_volumes(pod: &Pod<'_>) -> Option<Violation> {
    // The restricted level names the type of each volume instead.
    if pod.is_restricted {
        return None;
    }
    let volumes = items(pod.spec.get("volumes")).filter(|volume| volume.get("hostPath").is_some());
    let volumes = Names(volumes.map(|volume| text(volume, "name")).collect());
    if volumes.is_empty() { None } else { violation("hostPath volumes", volumes.after("volume")) }
}

fn restricted_volumes(pod: &Pod<'_>) -> Option<Violation> {
    const ALLOWED: [&str; 9] = [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ];
    let (mut names, mut types) = (Vec::new(), BTreeSet::new());
    for volume in items(pod.spec.get("volumes")) {
        let sources = volume.as_object().into_iter().flat_map(|volume| volume.iter());
        let mut sources = sources.map(|(field, _)| field.as_str()).filter(|field| *field != "name");
        let source = sources.next().unwrap_or("unknown");
        if !ALLOWED.contains(&source) {
            names.push(text(volume, "name"));
            types.insert(source);
        }
    }
    let volumes = Names(names);
    if volumes.is_empty() {
        return None;
    }
    let types = format!("{} {}", plural("restricted volume type", types.len()), quoted(&types));
    violation("restricted volume types", format!("{} {} {types}", volumes.after("volume"), volumes.verb()))
}

fn host_ports(pod: &Pod<'_>) -> Option<Violation> {
    let (containers, ports) = pod.values_in(|container| {
        let ports = items(container.spec.get("ports")).filter_map(|port| port.get("hostPort")?.as_i64());
        ports.filter(|port| *port != 0).map(|port| port.to_string()).collect()
    });
    if containers.is_empty() {
        return None;
    }
    let listed = ports.iter().cloned().collect::<Vec<_>>().join(", ");
    let ports = plural("hostPort", ports.len());
    violation("hostPort", format!("{} {} {ports} {listed}", containers.after("container"), containers.verb()))
}

fn probe_and_lifecycle_hosts(pod: &Pod<'_>) -> Option<Violation> {
    let (containers, hosts) = pod.values_in(|container| {
        let probes =
            ["livenessProbe", "readinessProbe", "startupProbe"].map(|probe| container.spec.get(probe));
        let hooks = ["postStart", "preStop"].map(|hook| container.spec.at(["lifecycle", hook]));
        let handlers = probes.into_iter().chain(hooks).flatten();
        let hosts = handlers.flat_map(|handler| {
            ["httpGet", "tcpSocket"]
                .map(|action| handler.get(action).map_or("", |action| text(action, "host")))
        });
        hosts.filter(|host| !host.is_empty()).collect()
    });
    if containers.is_empty() {
        return None;
    }
    let mut names = containers.0.clone();
    names.sort_unstable();
    names.dedup();
    let containers = Names(names);
    let hosts = format!("{} {}", plural("probe or lifecycle host", hosts.len()), quoted(&hosts));
    violation(
        "probe or lifecycle host",
        format!("{} {} {hosts}", containers.after("container"), containers.verb()),
    )
}

fn privileged(pod: &Pod<'_>) -> Option<Violation> {
    let containers = pod.containers_that(|container| is_true(container.context, "privileged"));
    if containers.is_empty() {
        return None;
    }
    let containers = containers.after("container");
    violation("privileged", format!("{containers} must not set securityContext.privileged=true"))
}

/// A pod with its own user namespace may mount /proc in any way, but not at the restricted level.
fn proc_mount(pod: &Pod<'_>) -> Option<Violation> {
    let is_relaxed = pod.minor >= 35 && pod.has_own_users;
    let is_checked_later = pod.minor >= 35 && pod.is_restricted;
    if is_relaxed || is_checked_later { None } else { forbidden_proc_mount(pod) }
}

fn restricted_proc_mount(pod: &Pod<'_>) -> Option<Violation> {
    forbidden_proc_mount(pod)
}

fn forbidden_proc_mount(pod: &Pod<'_>) -> Option<Violation> {
    let (containers, types) = pod.values_in(|container| {
        let mount = container.context.get("procMount").and_then(Value::as_str);
        mount.filter(|mount| *mount != "Default").into_iter().collect()
    });
    if containers.is_empty() {
        return None;
    }
    let (containers, types) = (containers.after("container"), quoted(&types));
    violation("procMount", format!("{containers} must not set securityContext.procMount to {types}"))
}

/// A SELinux option that is wrong: a forbidden type, or a user or role at all.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum WrongOption<'v> {
    Type(&'v str),
    User,
    Role,
}

fn wrong_se_linux_options(context: &Value, minor: u32) -> Vec<WrongOption<'_>> {
    const ALLOWED: [&str; 4] = ["", "container_t", "container_init_t", "container_kvm_t"];
    let Some(options) = context.get("seLinuxOptions") else { return Vec::new() };
    let kind = text(options, "type");
    let is_allowed = ALLOWED.contains(&kind) || (minor >= 31 && kind == "container_engine_t");
    let kind = (!is_allowed).then_some(WrongOption::Type(kind));
    let user = (!text(options, "user").is_empty()).then_some(WrongOption::User);
    let role = (!text(options, "role").is_empty()).then_some(WrongOption::Role);
    [kind, user, role].into_iter().flatten().collect()
}

fn se_linux_options(pod: &Pod<'_>) -> Option<Violation> {
    let of_pod = wrong_se_linux_options(pod.context, pod.minor);
    let containers =
        pod.containers_that(|container| !wrong_se_linux_options(container.context, pod.minor).is_empty());
    let setters = setters(!of_pod.is_empty(), &containers)?;
    let all: BTreeSet<WrongOption<'_>> = of_pod
        .into_iter()
        .chain(
            pod.containers.iter().flat_map(|container| wrong_se_linux_options(container.context, pod.minor)),
        )
        .collect();
    let types: Vec<&str> = all
        .iter()
        .filter_map(|wrong| if let WrongOption::Type(kind) = wrong { Some(*kind) } else { None })
        .collect();
    let mut details = Vec::new();
    if !types.is_empty() {
        details.push(format!("{} {}", plural("type", types.len()), quoted(&types)));
    }
    if all.contains(&WrongOption::User) {
        details.push("user may not be set".into());
    }
    if all.contains(&WrongOption::Role) {
        details.push("role may not be set".into());
    }
    let details = details.join("; ");
    violation("seLinuxOptions", format!("{setters} set forbidden securityContext.seLinuxOptions: {details}"))
}

/// Returns the seccomp profile of a security context.
fn seccomp(context: &Value) -> Option<&str> {
    context.get("seccompProfile").map(|profile| text(profile, "type"))
}

fn is_confined(profile: &str) -> bool {
    matches!(profile, "RuntimeDefault" | "Localhost")
}

/// Finds profiles that are set to something forbidden.
fn forbidden_seccomp_profiles(pod: &Pod<'_>) -> Option<Violation> {
    let forbidden = |context| seccomp(context).filter(|profile| !is_confined(profile)).map(String::from);
    let (containers, mut values) =
        pod.values_in(|container| forbidden(container.context).into_iter().collect());
    let of_pod = forbidden(pod.context);
    let setters = setters(of_pod.is_some(), &containers)?;
    values.extend(of_pod);
    let values = quoted(&values);
    violation(
        "seccompProfile",
        format!("{setters} must not set securityContext.seccompProfile.type to {values}"),
    )
}

fn baseline_seccomp_profile(pod: &Pod<'_>) -> Option<Violation> {
    if pod.minor >= 19 {
        return if pod.is_restricted { None } else { forbidden_seccomp_profiles(pod) };
    }
    // Annotations preceded the field.
    let is_allowed = |value: &str| {
        matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/")
    };
    let containers: BTreeSet<String> = pod
        .containers
        .iter()
        .map(|container| format!("container.seccomp.security.alpha.kubernetes.io/{}", container.name))
        .collect();
    let forbidden = pod.annotations().filter(|(key, value)| {
        (*key == "seccomp.security.alpha.kubernetes.io/pod" || containers.contains(*key))
            && !is_allowed(value)
    });
    let forbidden: BTreeSet<String> = forbidden.map(|(key, value)| format!("{key}={value:?}")).collect();
    if forbidden.is_empty() {
        return None;
    }
    let listed = forbidden.iter().cloned().collect::<Vec<_>>().join(", ");
    violation("seccompProfile", format!("forbidden {} {listed}", plural("annotation", forbidden.len())))
}

fn restricted_seccomp_profile(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_windows && pod.minor >= 25 {
        return None;
    }
    if let Some(forbidden) = forbidden_seccomp_profiles(pod) {
        return Some(forbidden);
    }
    if seccomp(pod.context).is_some() {
        return None;
    }
    let unset = pod.containers_that(|container| seccomp(container.context).is_none());
    if unset.is_empty() {
        return None;
    }
    let containers = unset.after("container");
    violation(
        "seccompProfile",
        format!(
            "pod or {containers} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\""
        ),
    )
}

fn sysctls(pod: &Pod<'_>) -> Option<Violation> {
    /// The sysctls that are safe, by the first minor version that permits them.
    const ALLOWED: [(u32, &str); 12] = [
        (0, "kernel.shm_rmid_forced"),
        (0, "net.ipv4.ip_local_port_range"),
        (0, "net.ipv4.tcp_syncookies"),
        (0, "net.ipv4.ping_group_range"),
        (0, "net.ipv4.ip_unprivileged_port_start"),
        (27, "net.ipv4.ip_local_reserved_ports"),
        (29, "net.ipv4.tcp_keepalive_time"),
        (29, "net.ipv4.tcp_fin_timeout"),
        (29, "net.ipv4.tcp_keepalive_intvl"),
        (29, "net.ipv4.tcp_keepalive_probes"),
        (32, "net.ipv4.tcp_rmem"),
        (32, "net.ipv4.tcp_wmem"),
    ];
    let is_allowed = |name: &str| ALLOWED.iter().any(|(since, own)| *since <= pod.minor && *own == name);
    let names = items(pod.context.get("sysctls")).map(|sysctl| text(sysctl, "name"));
    let forbidden: Vec<&str> = names.filter(|name| !is_allowed(name)).collect();
    if forbidden.is_empty() { None } else { violation("forbidden sysctls", forbidden.join(", ")) }
}

fn windows_host_process(pod: &Pod<'_>) -> Option<Violation> {
    let sets = |context: &Value| {
        context.at(["windowsOptions", "hostProcess"]).and_then(Value::as_bool) == Some(true)
    };
    let containers = pod.containers_that(|container| sets(container.context));
    let setters = setters(sets(pod.context), &containers)?;
    violation(
        "hostProcess",
        format!("{setters} must not set securityContext.windowsOptions.hostProcess=true"),
    )
}

fn privilege_escalation(pod: &Pod<'_>) -> Option<Violation> {
    if pod.is_windows && pod.minor >= 25 {
        return None;
    }
    let containers = pod.containers_that(|container| {
        container.context.get("allowPrivilegeEscalation").and_then(Value::as_bool) != Some(false)
    });
    if containers.is_empty() {
        return None;
    }
    let containers = containers.after("container");
    violation(
        "allowPrivilegeEscalation != false",
        format!("{containers} must set securityContext.allowPrivilegeEscalation=false"),
    )
}

fn run_as_non_root(pod: &Pod<'_>) -> Option<Violation> {
    const REASON: &str = "runAsNonRoot != true";
    if pod.minor >= 35 && pod.has_own_users {
        return None;
    }
    let set = |context: &Value| context.get("runAsNonRoot").and_then(Value::as_bool);
    let (of_pod, refusing) =
        (set(pod.context), pod.containers_that(|container| set(container.context) == Some(false)));
    if let Some(setters) = setters(of_pod == Some(false), &refusing) {
        return violation(REASON, format!("{setters} must not set securityContext.runAsNonRoot=false"));
    }
    let unset = pod.containers_that(|container| of_pod.is_none() && set(container.context).is_none());
    if unset.is_empty() {
        return None;
    }
    let containers = unset.after("container");
    violation(REASON, format!("pod or {containers} must set securityContext.runAsNonRoot=true"))
}

fn run_as_user(pod: &Pod<'_>) -> Option<Violation> {
    if pod.minor >= 35 && pod.has_own_users {
        return None;
    }
    let is_root = |context: &Value| context.get("runAsUser").and_then(Value::as_i64) == Some(0);
    let containers = pod.containers_that(|container| is_root(container.context));
    let setters = setters(is_root(pod.context), &containers)?;
    violation("runAsUser=0", format!("{setters} must not set runAsUser=0"))
}
