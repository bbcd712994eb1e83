//! Warnings about pods and templates of pods: entries that hide each other, selectors that match nothing, fields and annotations without
//! effect.

use super::{
    addresses::of_address,
    byte_amounts,
    fields::{is_missing, of_annotations, text},
    node_labels, overlapping_paths,
    volume_sources::{VOLUMES, source_name},
};
use std::{collections::HashMap, fmt};
use tenure_meta::{Seen, ValueExt};
use tenure_value::Value;

/// Annotations without effect, and the warnings about them.
const ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

/// How many earlier ports of the same number a port is compared with: comparing all pairs would take quadratic time.
pub(super) const COMPARED_PORTS: usize = 16;

pub(super) fn of_template(template: &Value, at: &str, warnings: &mut Vec<String>) {
    let spec = template.get("spec").unwrap_or(&Value::Null);
    let path = |label: &str| format!("{at}spec.nodeSelector[{label}]");
    node_labels::of_selector(spec.get("nodeSelector"), path, warnings);
    if let Some(affinity) = spec.at(["affinity", "nodeAffinity"]) {
        node_labels::of_affinity(affinity, &format!("{at}spec.affinity.nodeAffinity"), warnings);
    }
    for (index, constraint) in spec.items("topologySpreadConstraints").iter().enumerate() {
        let path = || format!("{at}spec.topologySpreadConstraints[{index}].topologyKey");
        node_labels::of_key(text(constraint, "topologyKey"), path, warnings);
        if is_missing(constraint, "labelSelector") {
            let path = format!("{at}spec.topologySpreadConstraints[{index}].labelSelector");
            warnings.push(format!("{path}: {NULL_SELECTOR}"));
        }
    }
    of_annotations(template, &ANNOTATIONS, at, warnings);
    let volumes = spec.items("volumes");
    for (index, volume) in volumes.iter().enumerate() {
        for (name, text) in VOLUMES.iter().filter(|(name, _)| !is_missing(volume, source_name(name))) {
            warnings.push(format!("{at}spec.volumes[{index}].{name}: {text}"));
        }
        if let Some(claim) = volume.at(["ephemeral", "volumeClaimTemplate", "spec"]) {
            let path = format!("{at}spec.volumes[{index}].ephemeral.volumeClaimTemplate.spec");
            byte_amounts::of_claim(claim, &path, warnings);
        }
    }
    overlapping_paths::of_volumes(volumes, warnings);
    let (aliases, secrets) = (spec.items("hostAliases"), spec.items("imagePullSecrets"));
    repeated(aliases, "ip", format_args!("{at}spec.hostAliases"), warnings);
    repeated(secrets, "name", format_args!("{at}spec.imagePullSecrets"), warnings);
    for (index, secret) in secrets.iter().enumerate() {
        if text(secret, "name").is_empty() {
            warnings.push(format!("{at}spec.imagePullSecrets[{index}].name: invalid empty name \"\""));
        }
    }
    let bytes = ["memory", "ephemeral-storage"];
    byte_amounts::of_map(spec.get("overhead"), &bytes, format_args!("{at}spec.overhead"), warnings);
    let containers: Vec<Part<'_>> = containers(spec, at).collect();
    for container in &containers {
        byte_amounts::of_container(container.value, container, warnings);
        hidden_variables(container, warnings);
    }
    ports(&containers, warnings);
    if spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds < 0) {
        let text = "must be >= 0; negative values are invalid and will be treated as 1";
        warnings.push(format!("{at}spec.terminationGracePeriodSeconds: {text}"));
    }
    for name in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = spec.at(["affinity", name]) else { continue };
        let path = format!("{at}spec.affinity.{name}");
        affinity_terms(affinity, "requiredDuringSchedulingIgnoredDuringExecution", None, &path, warnings);
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        affinity_terms(affinity, preferred, Some("podAffinityTerm"), &path, warnings);
    }
    if let Some(config) = spec.get("dnsConfig") {
        for (index, server) in config.items("nameservers").iter().enumerate() {
            warnings.extend(of_address(format_args!("{at}spec.dnsConfig.nameservers[{index}]"), server));
        }
    }
    for (index, alias) in aliases.iter().enumerate() {
        let path = format_args!("{at}spec.hostAliases[{index}].ip");
        warnings.extend(alias.get("ip").and_then(|ip| of_address(path, ip)));
    }
}

const NULL_SELECTOR: &str = "a null labelSelector results in matching no pod";

/// Warns of entries of a list that repeat a name; `path` is that of the list.
fn repeated(items: &[Value], key: &str, path: impl fmt::Display, warnings: &mut Vec<String>) {
    let mut seen = Seen::default();
    for (index, item) in items.iter().enumerate() {
        let name = text(item, key);
        if !seen.insert(name) {
            warnings.push(format!("{path}[{index}].{key}: duplicate {key} {name:?}"));
        }
    }
}

/// A container of a pod, or a port of it. Its path is only written into warnings, which are rare.
#[derive(Clone, Copy)]
struct Part<'v> {
    at: &'v str,
    list: &'static str,
    container: usize,
    port: Option<usize>,
    value: &'v Value,
}

impl fmt::Display for Part<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}spec.{}[{}]", self.at, self.list, self.container)?;
        self.port.map_or(Ok(()), |port| write!(formatter, ".ports[{port}]"))
    }
}

/// Returns the containers of a pod.
fn containers<'v>(spec: &'v Value, at: &'v str) -> impl Iterator<Item = Part<'v>> {
    ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(move |list| {
        let numbered = spec.items(list).iter().enumerate();
        numbered.map(move |(container, value)| Part { at, list, container, port: None, value })
    })
}

/// Warns of a variable that replaces an earlier one of the same name without referring to it.
fn hidden_variables(container: &Part<'_>, warnings: &mut Vec<String>) {
    let variables = container.value.items("env");
    let mut seen = Seen::default();
    for (index, variable) in variables.iter().enumerate() {
        let name = text(variable, "name");
        if seen.insert(name) {
            continue;
        }
        let (value, reference) = (text(variable, "value"), format!("$({name})"));
        let extends = value.contains(&reference) && value != reference && is_missing(variable, "valueFrom");
        if !extends {
            warnings.push(format!(
                "{container}.env[{index}]: hides previous definition of {name:?}, which may be dropped when using apply"
            ));
        }
    }
}

/// Warns of ports that are defined more than once in a pod, and of names that several ports have.
fn ports(containers: &[Part<'_>], warnings: &mut Vec<String>) {
    let ports = containers.iter().flat_map(|container| {
        let numbered = container.value.items("ports").iter().enumerate();
        numbered.map(move |(port, value)| Part { port: Some(port), value, ..*container })
    });
    let ports: Vec<Part<'_>> = ports.collect();
    for port in &ports {
        let (number, host_ip) = (
            |name: &str| port.value.get(name).and_then(Value::as_i64).unwrap_or(0),
            text(port.value, "hostIP"),
        );
        if !host_ip.is_empty() && number("hostPort") == 0 {
            warnings.push(format!(
                "{port}: hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{} Protocol:{} HostIP:{host_ip}}}",
                text(port.value, "name"),
                number("containerPort"),
                text(port.value, "protocol"),
            ));
        }
    }
    overlapping_ports(&ports, warnings);
    repeated_port_names(&ports, warnings);
}

fn overlapping_ports<'v>(ports: &[Part<'v>], warnings: &mut Vec<String>) {
    let number = |port: &Value, name: &str| port.get(name).and_then(Value::as_i64).unwrap_or(0);
    let key = |port: &Part<'v>| (number(port.value, "containerPort"), text(port.value, "protocol"));
    let mut seen = Seen::default();
    if ports.iter().all(|port| seen.insert(key(port))) {
        return;
    }
    let mut known: HashMap<(i64, &str), Vec<Part<'_>>> = HashMap::new();
    for port in ports {
        let others = known.entry(key(port)).or_default();
        for other in others.iter() {
            let (host, other_host) = (number(port.value, "hostPort"), number(other.value, "hostPort"));
            let (ip, other_ip) = (text(port.value, "hostIP"), text(other.value, "hostIP"));
            let what = match host == other_host {
                true if ip == other_ip => "duplicate",
                _ if host == 0 || other_host == 0 => "overlapping",
                true if ip.is_empty() != other_ip.is_empty() => "dangerously ambiguous",
                _ => continue,
            };
            warnings.push(format!("{port}: {what} port definition with {other}"));
        }
        if others.len() < COMPARED_PORTS {
            others.push(*port);
        }
    }
}

fn repeated_port_names(ports: &[Part<'_>], warnings: &mut Vec<String>) {
    let named = ports.iter().map(|port| (text(port.value, "name"), port));
    let named = named.filter(|(name, _)| !name.is_empty());
    let mut seen = Seen::default();
    if named.clone().all(|(name, _)| seen.insert(name)) {
        return;
    }
    let mut known: HashMap<&str, &Part<'_>> = HashMap::new();
    for (name, port) in named {
        match known.get(name) {
            Some(other) => warnings.push(format!(
                "{port}: duplicate port name {name:?} with {other}, services and probes that select ports by name will use {other}"
            )),
            None => drop(known.insert(name, port)),
        }
    }
}

fn affinity_terms(affinity: &Value, list: &str, inner: Option<&str>, at: &str, warnings: &mut Vec<String>) {
    for (index, term) in affinity.items(list).iter().enumerate() {
        let (term, below) = match inner {
            Some(inner) => (term.get(inner).unwrap_or(&Value::Null), format!(".{inner}")),
            None => (term, String::new()),
        };
        if is_missing(term, "labelSelector") {
            warnings.push(format!("{at}.{list}[{index}]{below}.labelSelector: {NULL_SELECTOR}"));
        }
    }
}
