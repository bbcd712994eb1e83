//! Cells that depend on several parts of an object, by name.

use super::{
    describe,
    pod::{self, Summary},
};
use tenure_meta::{
    Timestamp,
    time::{self, Precision},
};
use tenure_value::{Object, Value};

type Body = fn(&Value, Timestamp) -> Value;

/// A function that a cell names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function(Body);

const FUNCTIONS: [(&str, Body); 50] = [
    ("podReady", |pod, _| {
        let summary = Summary::of(pod);
        format!("{}/{}", summary.ready, summary.total).into()
    }),
    ("podStatus", |pod, _| Summary::of(pod).reason.into()),
    ("podRestarts", |pod, now| Summary::of(pod).restarts(now).into()),
    ("podAddress", pod_address),
    ("podGates", |pod, _| pod::gates(pod).into()),
    ("jobStatus", job_status),
    ("jobCompletions", job_completions),
    ("jobDuration", job_duration),
    ("serviceExternal", service_external),
    ("servicePorts", service_ports),
    ("endpoints", endpoints),
    ("slicePorts", slice_ports),
    ("nodeStatus", node_status),
    ("nodeRoles", node_roles),
    ("nodeInternal", |node, _| node_address(node, "InternalIP")),
    ("nodeExternal", |node, _| node_address(node, "ExternalIP")),
    ("nodeKernel", node_kernel),
    ("phase", phase),
    ("claimCapacity", |claim, _| {
        bound(claim, |claim| path(claim, &["status", "capacity", "storage"]).to_string())
    }),
    ("claimModes", |claim, _| {
        bound(claim, |claim| describe::access_modes(claim.at(["status", "accessModes"])))
    }),
    ("volumeModes", |volume, _| describe::access_modes(volume.at(["spec", "accessModes"])).into()),
    ("volumeClaim", volume_claim),
    ("hpaTargets", hpa_targets),
    ("eventLast", |event, now| event_times(event, now).1.into()),
    ("eventFirst", |event, now| event_times(event, now).0.into()),
    ("eventObject", event_object),
    ("eventSource", event_source),
    ("eventCount", event_count),
    ("eventMessage", event_message),
    ("ingressHosts", ingress_hosts),
    ("ingressAddress", ingress_address),
    ("ingressPorts", |ingress, _| {
        Value::from(if list(ingress, &["spec", "tls"]).is_empty() { "80" } else { "80, 443" })
    }),
    ("users", |binding, _| subjects(binding, "User")),
    ("groups", |binding, _| subjects(binding, "Group")),
    ("serviceAccounts", |binding, _| subjects(binding, "ServiceAccount")),
    ("quotaRequests", |object, _| quota(object, |name| !name.starts_with("limits"))),
    ("quotaLimits", |object, _| quota(object, |name| name.starts_with("limits"))),
    ("defaultName", default_name),
    ("controller", controller),
    ("ingressClassParameters", ingress_class_parameters),
    ("parent", parent),
    ("requestCondition", request_condition),
    ("requestDuration", request_duration),
    ("missingLevel", missing_level),
    ("levelShares", level_shares),
    ("claimState", claim_state),
    ("sliceNode", slice_node),
    ("podCertificateState", pod_certificate_state),
    ("migratedResource", migrated_resource),
    ("migrationState", migration_state),
];

impl Function {
    pub(super) fn named(name: &str) -> Option<Function> {
        FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, function)| Function(*function))
    }

    pub(super) fn call(self, object: &Value, now: Timestamp) -> Value {
        (self.0)(object, now)
    }
}

fn path<'o>(object: &'o Value, path: &[&str]) -> &'o str {
    object.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default()
}

fn number(object: &Value, path: &[&str]) -> i64 {
    object.at(path.iter().copied()).and_then(Value::as_i64).unwrap_or(0)
}

fn list<'o>(object: &'o Value, path: &[&str]) -> &'o [Value] {
    object.at(path.iter().copied()).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
}

fn or(text: &str, none: &str) -> Value {
    Value::from(if text.is_empty() { none } else { text })
}

fn is_deleted(object: &Value) -> bool {
    !path(object, &["metadata", "deletionTimestamp"]).is_empty()
}

fn condition<'o>(object: &'o Value, kind: &str) -> Option<&'o Value> {
    list(object, &["status", "conditions"]).iter().find(|condition| path(condition, &["type"]) == kind)
}

fn holds(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|condition| path(condition, &["status"]) == "True")
}

fn pod_address(pod: &Value, _: Timestamp) -> Value {
    let first =
        list(pod, &["status", "podIPs"]).first().map(|address| path(address, &["ip"])).unwrap_or_default();
    or(first, "<none>")
}

/// Conditions of a job by precedence, and their status text.
const JOB_WORDS: [(&str, &str); 2] = [("Complete", "Complete"), ("Failed", "Failed")];
const JOB_LATER_WORDS: [&str; 3] = ["Suspended", "FailureTarget", "SuccessCriteriaMet"];

fn job_status(job: &Value, _: Timestamp) -> Value {
    let ended = JOB_WORDS.iter().find(|(kind, _)| holds(job, kind)).map(|(_, word)| *word);
    let later = || JOB_LATER_WORDS.iter().find(|kind| holds(job, kind)).copied().unwrap_or("Running");
    ended.unwrap_or_else(|| if is_deleted(job) { "Terminating" } else { later() }).into()
}

fn job_completions(job: &Value, _: Timestamp) -> Value {
    let done = number(job, &["status", "succeeded"]);
    let wanted = job.at(["spec", "completions"]).and_then(Value::as_i64);
    match (wanted, number(job, &["spec", "parallelism"])) {
        (Some(wanted), _) => format!("{done}/{wanted}").into(),
        (None, many @ 2..) => format!("{done}/1 of {many}").into(),
        (None, _) => format!("{done}/1").into(),
    }
}

fn job_duration(job: &Value, now: Timestamp) -> Value {
    let at = |name: &str| Timestamp::parse(path(job, &["status", name]), Precision::Seconds);
    let Some(start) = at("startTime") else { return "".into() };
    time::age(at("completionTime").unwrap_or(now).seconds_since(start)).into()
}

fn service_external(service: &Value, _: Timestamp) -> Value {
    let given = || list(service, &["spec", "externalIPs"]).iter().map(describe::plain);
    match path(service, &["spec", "type"]) {
        "ExternalName" => path(service, &["spec", "externalName"]).into(),
        "LoadBalancer" => {
            let ingress = list(service, &["status", "loadBalancer", "ingress"]).iter().map(ingress_point);
            describe::list(ingress.chain(given()), ",", usize::MAX, "<pending>").into()
        }
        _ => describe::list(given(), ",", usize::MAX, "<none>").into(),
    }
}

fn ingress_point(value: &Value) -> String {
    let ip = path(value, &["ip"]);
    if ip.is_empty() { path(value, &["hostname"]).to_string() } else { ip.to_string() }
}

fn service_ports(service: &Value, _: Timestamp) -> Value {
    let port = |entry: &Value| {
        let (port, node, protocol) =
            (number(entry, &["port"]), number(entry, &["nodePort"]), path(entry, &["protocol"]));
        if node > 0 { format!("{port}:{node}/{protocol}") } else { format!("{port}/{protocol}") }
    };
    describe::list(list(service, &["spec", "ports"]).iter().map(port), ",", usize::MAX, "<none>").into()
}

/// The number of addresses in a cell.
const FEW: usize = 3;

fn endpoints(object: &Value, _: Timestamp) -> Value {
    let mut all = Vec::new();
    for subset in list(object, &["subsets"]) {
        let addresses = list(subset, &["addresses"]).iter().map(|address| path(address, &["ip"]));
        let ports = list(subset, &["ports"]);
        if ports.is_empty() {
            all.extend(addresses.clone().map(String::from));
        }
        for port in ports {
            all.extend(addresses.clone().map(|ip| match ip.contains(':') {
                true => format!("[{ip}]:{}", number(port, &["port"])),
                false => format!("{ip}:{}", number(port, &["port"])),
            }));
        }
    }
    describe::list(all.into_iter(), ",", FEW, "<none>").into()
}

fn slice_ports(slice: &Value, _: Timestamp) -> Value {
    let port = |entry: &Value| match entry.get("port").and_then(Value::as_i64) {
        Some(port) => port.to_string(),
        None => "*".to_string(),
    };
    describe::list(list(slice, &["ports"]).iter().map(port), ",", FEW, "<unset>").into()
}

fn node_status(node: &Value, _: Timestamp) -> Value {
    let word = match condition(node, "Ready") {
        Some(_) if holds(node, "Ready") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    match node.at(["spec", "unschedulable"]) == Some(&Value::Bool(true)) {
        true => format!("{word},SchedulingDisabled").into(),
        false => word.into(),
    }
}

fn node_roles(node: &Value, _: Timestamp) -> Value {
    let labels =
        node.at(["metadata", "labels"]).and_then(Value::as_object).map(Object::fields).unwrap_or_default();
    let role =
        |(name, value): &(tenure_value::Text, Value)| match name.strip_prefix("node-role.kubernetes.io/") {
            Some("") => None,
            Some(role) => Some(role.to_string()),
            None if name == "kubernetes.io/role" => {
                value.as_str().filter(|role| !role.is_empty()).map(String::from)
            }
            None => None,
        };
    let mut roles: Vec<String> = labels.iter().filter_map(role).collect();
    roles.sort();
    describe::list(roles.into_iter(), ",", usize::MAX, "<none>").into()
}

fn node_address(node: &Value, kind: &str) -> Value {
    let found = list(node, &["status", "addresses"]).iter().find(|address| path(address, &["type"]) == kind);
    or(found.map(|address| path(address, &["address"])).unwrap_or_default(), "<none>")
}

fn node_kernel(node: &Value, _: Timestamp) -> Value {
    let info = |name: &str| path(node, &["status", "nodeInfo", name]);
    match (info("kernelVersion"), info("architecture")) {
        ("", _) => "<unknown>".into(),
        (kernel, "") => kernel.into(),
        (kernel, architecture) => format!("{kernel} ({architecture})").into(),
    }
}

fn pod_certificate_state(request: &Value, _: Timestamp) -> Value {
    let mut types =
        list(request, &["status", "conditions"]).iter().map(|condition| path(condition, &["type"]));
    let state = types.rfind(|kind| matches!(*kind, "Issued" | "Denied" | "Failed"));
    Value::from(state.unwrap_or("Pending"))
}

fn migrated_resource(migration: &Value, _: Timestamp) -> Value {
    let field = |name: &str| path(migration, &["spec", "resource", name]);
    tenure_meta::qualified(field("resource"), field("group")).into()
}

fn migration_state(migration: &Value, _: Timestamp) -> Value {
    let conditions = list(migration, &["status", "conditions"]).iter();
    let mut held = conditions
        .filter(|condition| path(condition, &["status"]) == "True")
        .map(|condition| path(condition, &["type"]));
    let state = held.rfind(|kind| matches!(*kind, "Running" | "Failed" | "Succeeded"));
    Value::from(state.unwrap_or("Unknown"))
}

fn phase(object: &Value, _: Timestamp) -> Value {
    if is_deleted(object) { "Terminating".into() } else { path(object, &["status", "phase"]).into() }
}

/// Formats a property of a claim that is bound to a volume.
fn bound(claim: &Value, show: impl Fn(&Value) -> String) -> Value {
    match path(claim, &["spec", "volumeName"]) {
        "" => "".into(),
        _ => show(claim).into(),
    }
}

fn volume_claim(volume: &Value, _: Timestamp) -> Value {
    match volume.at(["spec", "claimRef"]).filter(|reference| !reference.is_null()) {
        Some(reference) => {
            format!("{}/{}", path(reference, &["namespace"]), path(reference, &["name"])).into()
        }
        None => "".into(),
    }
}

/// The number of metrics in a cell.
const FEW_METRICS: usize = 2;

fn hpa_targets(hpa: &Value, _: Timestamp) -> Value {
    // v1 has one metric, in fields of its own.
    if let Some(target) = hpa.at(["spec", "targetCPUUtilizationPercentage"]).and_then(Value::as_i64) {
        let current = hpa.at(["status", "currentCPUUtilizationPercentage"]).and_then(Value::as_i64);
        let current = current.map_or("<unknown>".into(), |percent| format!("{percent}%"));
        return format!("cpu: {current}/{target}%").into();
    }
    let states = list(hpa, &["status", "currentMetrics"]);
    let metrics = list(hpa, &["spec", "metrics"]).iter().enumerate();
    let texts = metrics.map(|(at, metric)| hpa_metric(metric, states.get(at)));
    describe::list(texts, ", ", FEW_METRICS, "<none>").into()
}

/// The types of metrics, their field, and the path of their name.
const METRICS: [(&str, &str, &[&str]); 5] = [
    ("Resource", "resource", &["name"]),
    ("ContainerResource", "containerResource", &["name"]),
    ("Pods", "pods", &["metric", "name"]),
    ("Object", "object", &["metric", "name"]),
    ("External", "external", &["metric", "name"]),
];

fn hpa_metric(metric: &Value, state: Option<&Value>) -> String {
    let Some((kind, field, name)) = METRICS.iter().find(|(kind, ..)| *kind == path(metric, &["type"])) else {
        return "<unknown type>".into();
    };
    let source = metric.get(field).cloned().unwrap_or_default();
    let current = |name: &str| {
        let value =
            state.and_then(|state| state.at([*field, "current", name])).filter(|value| !value.is_null());
        value.map_or("<unknown>".into(), describe::plain)
    };
    let target =
        |name: &str| source.at(["target", name]).filter(|value| !value.is_null()).map(describe::plain);
    let name = path(&source, name);
    let shares = match (target("averageUtilization"), target("averageValue"), target("value")) {
        (Some(percent), ..) => {
            let now = current("averageUtilization");
            let now = if now == "<unknown>" { now } else { format!("{now}%") };
            format!("{now}/{percent}%")
        }
        (None, Some(value), _) if matches!(*kind, "Object" | "External") => {
            format!("{}/{value} (avg)", current("averageValue"))
        }
        (None, Some(value), _) => format!("{}/{value}", current("averageValue")),
        (None, None, Some(value)) => format!("{}/{value}", current("value")),
        (None, None, None) => "<unknown>/<auto>".into(),
    };
    match name {
        "" => shares,
        name => format!("{name}: {shares}"),
    }
}

/// Returns the first non-empty field, since two versions have different names.
fn either<'o>(object: &'o Value, paths: &[&[&str]]) -> Option<&'o Value> {
    paths.iter().find_map(|path| object.at(path.iter().copied()).filter(|value| !value.is_null()))
}

/// Returns the time since an event was first and last seen.
fn event_times(event: &Value, now: Timestamp) -> (String, String) {
    let age = |paths: &[&[&str]]| describe::age(either(event, paths), now);
    let unknown = || "<unknown>".to_string();
    let first =
        age(&[&["firstTimestamp"], &["deprecatedFirstTimestamp"], &["eventTime"]]).unwrap_or_else(unknown);
    let last = age(&[&["series", "lastObservedTime"], &["lastTimestamp"], &["deprecatedLastTimestamp"]]);
    (first.clone(), last.unwrap_or(first))
}

fn event_object(event: &Value, _: Timestamp) -> Value {
    let about = either(event, &[&["involvedObject"], &["regarding"]]).cloned().unwrap_or_default();
    let (kind, name) = (path(&about, &["kind"]).to_lowercase(), path(&about, &["name"]));
    if name.is_empty() { kind.into() } else { format!("{kind}/{name}").into() }
}

fn event_source(event: &Value, _: Timestamp) -> Value {
    let text = |paths: &[&[&str]]| {
        let texts = paths.iter().map(|names| path(event, names));
        texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
    };
    let component = text(&[
        &["source", "component"],
        &["deprecatedSource", "component"],
        &["reportingComponent"],
        &["reportingController"],
    ]);
    let instance = text(&[&["source", "host"], &["deprecatedSource", "host"], &["reportingInstance"]]);
    match (component, instance) {
        (component, "") => component.into(),
        (component, instance) => format!("{component}, {instance}").into(),
    }
}

fn event_count(event: &Value, _: Timestamp) -> Value {
    let counted =
        either(event, &[&["series", "count"], &["count"], &["deprecatedCount"]]).and_then(Value::as_i64);
    counted.filter(|count| *count != 0).unwrap_or(1).into()
}

fn event_message(event: &Value, _: Timestamp) -> Value {
    let message = either(event, &[&["message"], &["note"]]).and_then(Value::as_str);
    message.unwrap_or_default().trim().into()
}

fn ingress_hosts(ingress: &Value, _: Timestamp) -> Value {
    let hosts = list(ingress, &["spec", "rules"]).iter().map(|rule| path(rule, &["host"]));
    describe::list(hosts.filter(|host| !host.is_empty()).map(String::from), ",", FEW, "*").into()
}

fn ingress_address(ingress: &Value, _: Timestamp) -> Value {
    let points = list(ingress, &["status", "loadBalancer", "ingress"]).iter().map(ingress_point);
    describe::list(points, ",", usize::MAX, "").into()
}

fn subjects(binding: &Value, kind: &str) -> Value {
    let named = list(binding, &["subjects"]).iter().filter(|subject| path(subject, &["kind"]) == kind);
    let text = |subject: &Value| match kind {
        "ServiceAccount" => format!("{}/{}", path(subject, &["namespace"]), path(subject, &["name"])),
        _ => path(subject, &["name"]).to_string(),
    };
    describe::list(named.map(text), ", ", usize::MAX, "").into()
}

fn quota(object: &Value, shown: impl Fn(&str) -> bool) -> Value {
    let hard =
        object.at(["status", "hard"]).and_then(Value::as_object).map(Object::fields).unwrap_or_default();
    let used = |name: &str| object.at(["status", "used", name]).map_or("0".into(), describe::plain);
    let line = |(name, most): &(tenure_value::Text, Value)| {
        format!("{name}: {}/{}", used(name), describe::plain(most))
    };
    describe::list(hard.iter().filter(|(name, _)| shown(name)).map(line), ", ", usize::MAX, "").into()
}

fn default_name(class: &Value, _: Timestamp) -> Value {
    let name = path(class, &["metadata", "name"]);
    let annotation = |name: &str| path(class, &["metadata", "annotations", name]) == "true";
    let marks =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    if marks.iter().any(|mark| annotation(mark)) { format!("{name} (default)").into() } else { name.into() }
}

fn controller(object: &Value, _: Timestamp) -> Value {
    let owner = list(object, &["metadata", "ownerReferences"])
        .iter()
        .find(|owner| owner.get("controller") == Some(&true.into()));
    let Some(owner) = owner else { return "<none>".into() };
    let group = path(owner, &["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
    let kind = path(owner, &["kind"]).to_lowercase();
    let kind = if group.is_empty() { kind } else { format!("{kind}.{group}") };
    format!("{kind}/{}", path(owner, &["name"])).into()
}

fn ingress_class_parameters(class: &Value, _: Timestamp) -> Value {
    let Some(parameters) = class.at(["spec", "parameters"]).filter(|parameters| !parameters.is_null()) else {
        return "<none>".into();
    };
    let group = path(parameters, &["apiGroup"]);
    let kind = path(parameters, &["kind"]);
    let kind = if group.is_empty() { kind.to_string() } else { format!("{kind}.{group}") };
    format!("{kind}/{}", path(parameters, &["name"])).into()
}

fn parent(address: &Value, _: Timestamp) -> Value {
    let parent = |name: &str| path(address, &["spec", "parentRef", name]);
    let resource = if parent("group").is_empty() {
        parent("resource").to_string()
    } else {
        format!("{}.{}", parent("resource"), parent("group"))
    };
    format!("{resource}/{}/{}", parent("namespace"), parent("name")).into()
}

fn request_condition(request: &Value, _: Timestamp) -> Value {
    let kinds =
        ["Approved", "Denied", "Failed"].into_iter().filter(|kind| condition(request, kind).is_some());
    let mut words: Vec<&str> = kinds.collect();
    if words.is_empty() {
        words.push("Pending");
    }
    if !path(request, &["status", "certificate"]).is_empty() {
        words.push("Issued");
    }
    words.join(",").into()
}

fn request_duration(request: &Value, _: Timestamp) -> Value {
    let seconds = request.at(["spec", "expirationSeconds"]).and_then(Value::as_i64);
    seconds.map_or("<none>".into(), time::age).into()
}

fn missing_level(schema: &Value, _: Timestamp) -> Value {
    or(condition(schema, "Dangling").map(|condition| path(condition, &["status"])).unwrap_or_default(), "?")
}

fn level_shares(level: &Value, _: Timestamp) -> Value {
    let shares = |kind: &str| {
        level.at(["spec", kind, "nominalConcurrencyShares"]).filter(|value| !value.is_null()).cloned()
    };
    shares("limited").or_else(|| shares("exempt")).unwrap_or("<none>".into())
}

fn claim_state(claim: &Value, _: Timestamp) -> Value {
    let allocated = claim.at(["status", "allocation"]).is_some_and(|allocation| !allocation.is_null());
    let reserved = !list(claim, &["status", "reservedFor"]).is_empty();
    let mut words = Vec::new();
    if is_deleted(claim) {
        words.push("deleted");
    }
    words.extend(
        [(allocated, "allocated"), (reserved, "reserved")]
            .iter()
            .filter(|(holds, _)| *holds)
            .map(|row| row.1),
    );
    if !allocated && !is_deleted(claim) {
        words.push("pending");
    }
    words.join(",").into()
}

fn slice_node(slice: &Value, _: Timestamp) -> Value {
    or(path(slice, &["spec", "nodeName"]), "<none>")
}
