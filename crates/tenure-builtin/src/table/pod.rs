//! The cells of a pod: a summary of its containers.

use std::collections::HashMap;
use tenure_meta::{Timestamp, time::Precision};
use tenure_value::Value;

fn items<'v>(value: &'v Value, path: [&str; 2]) -> &'v [Value] {
    value.at(path).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
}

fn text<'v>(value: Option<&'v Value>, name: &str) -> &'v str {
    value.and_then(|parent| parent.get(name)).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, name: &str) -> i64 {
    value.get(name).and_then(Value::as_i64).unwrap_or(0)
}

fn is_true(value: &Value, name: &str) -> bool {
    value.get(name) == Some(&Value::Bool(true))
}

/// The summary of the containers of a pod.
pub(super) struct Summary {
    pub ready: usize,
    pub total: usize,
    pub reason: String,
    pub restarts: i64,
    last_restart: Option<Timestamp>,
}

/// Whether a condition of the pod is true.
fn has_condition(pod: &Value, kind: &str) -> bool {
    let holds = |condition: &&Value| {
        text(Some(condition), "type") == kind && text(Some(condition), "status") == "True"
    };
    items(pod, ["status", "conditions"]).iter().any(|condition| holds(&condition))
}

/// Returns the status of a terminated container without a reason.
fn ending(terminated: &Value) -> String {
    match number(terminated, "signal") {
        0 => format!("ExitCode:{}", number(terminated, "exitCode")),
        signal => format!("Signal:{signal}"),
    }
}

impl Summary {
    /// Summarizes a pod.
    pub fn of(pod: &Value) -> Summary {
        let status = pod.get("status");
        let mut summary = Summary {
            ready: 0,
            total: items(pod, ["spec", "containers"]).len(),
            reason: text(status, "phase").to_string(),
            restarts: 0,
            last_restart: None,
        };
        if !text(status, "reason").is_empty() {
            summary.reason = text(status, "reason").to_string();
        }
        let gated = |condition: &Value| {
            let [name, reason] = ["type", "reason"].map(|field| text(Some(condition), field));
            (name, reason) == ("PodScheduled", "SchedulingGated")
        };
        if items(pod, ["status", "conditions"]).iter().any(gated) {
            summary.reason = "SchedulingGated".into();
        }
        let initializing = summary.init_containers(pod);
        if !initializing || has_condition(pod, "Initialized") {
            summary.containers(pod);
        }
        let deleted = pod.at(["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null());
        let ended = matches!(text(status, "phase"), "Succeeded" | "Failed");
        if deleted && text(status, "reason") == "NodeLost" {
            summary.reason = "Unknown".into();
        } else if deleted && !ended {
            summary.reason = "Terminating".into();
        }
        summary
    }

    /// Summarizes the init containers; returns whether the pod is still waiting for them.
    fn init_containers(&mut self, pod: &Value) -> bool {
        let specs = items(pod, ["spec", "initContainers"]);
        // The first of equal names is the last one to be collected.
        let policies: HashMap<&str, &str> = specs
            .iter()
            .rev()
            .map(|spec| (text(Some(spec), "name"), text(Some(spec), "restartPolicy")))
            .collect();
        let is_sidecar = |name: &str| policies.get(name) == Some(&"Always");
        self.total += specs.iter().filter(|spec| text(Some(spec), "restartPolicy") == "Always").count();
        let (mut all, mut sidecars) = ((0, None), (0, None));
        let mut initializing = false;
        for (at, container) in items(pod, ["status", "initContainerStatuses"]).iter().enumerate() {
            let sidecar = is_sidecar(text(Some(container), "name"));
            add_restarts(container, &mut all);
            if sidecar {
                add_restarts(container, &mut sidecars);
            }
            let state = |name: &str| container.at(["state", name]).filter(|state| !state.is_null());
            if state("terminated").is_some_and(|state| number(state, "exitCode") == 0) {
                continue;
            }
            if sidecar && is_true(container, "started") {
                self.ready += usize::from(is_true(container, "ready"));
                continue;
            }
            let waiting = text(state("waiting"), "reason");
            self.reason = match state("terminated") {
                Some(ended) if text(Some(ended), "reason").is_empty() => format!("Init:{}", ending(ended)),
                Some(ended) => format!("Init:{}", text(Some(ended), "reason")),
                None if !waiting.is_empty() && waiting != "PodInitializing" => format!("Init:{waiting}"),
                None => format!("Init:{at}/{}", specs.len()),
            };
            initializing = true;
            break;
        }
        // When the pod is running, only sidecars count among the init containers.
        (self.restarts, self.last_restart) = if initializing { all } else { sidecars };
        initializing
    }

    fn containers(&mut self, pod: &Value) {
        let mut running = false;
        let mut restarts = (self.restarts, self.last_restart);
        for container in items(pod, ["status", "containerStatuses"]).iter().rev() {
            add_restarts(container, &mut restarts);
            let state = |name: &str| container.at(["state", name]).filter(|state| !state.is_null());
            let (waiting, ended) = (text(state("waiting"), "reason"), state("terminated"));
            if !waiting.is_empty() {
                self.reason = waiting.into();
            } else if !text(ended, "reason").is_empty() {
                self.reason = text(ended, "reason").into();
            } else if let Some(ended) = ended {
                self.reason = ending(ended);
            } else if is_true(container, "ready") && state("running").is_some() {
                running = true;
                self.ready += 1;
            }
        }
        (self.restarts, self.last_restart) = restarts;
        if self.reason == "Completed" && running {
            self.reason = if has_condition(pod, "Ready") { "Running".into() } else { "NotReady".into() };
        }
    }

    /// Returns the number of restarts, and the time since the last one.
    pub fn restarts(&self, now: Timestamp) -> String {
        match self.last_restart {
            Some(last) if self.restarts != 0 => {
                let ago = tenure_meta::time::age(now.seconds_since(last));
                format!("{} ({ago} ago)", self.restarts)
            }
            _ => self.restarts.to_string(),
        }
    }
}

fn add_restarts(container: &Value, sum: &mut (i64, Option<Timestamp>)) {
    sum.0 += number(container, "restartCount");
    let finished = container.at(["lastState", "terminated", "finishedAt"]).and_then(Value::as_str);
    let finished = finished.and_then(|text| Timestamp::parse(text, Precision::Seconds));
    sum.1 = sum.1.max(finished);
}

/// Returns the number of passed readiness gates.
pub(super) fn gates(pod: &Value) -> String {
    let gates = items(pod, ["spec", "readinessGates"]);
    let open = gates.iter().filter(|gate| has_condition(pod, text(Some(gate), "conditionType"))).count();
    if gates.is_empty() { "<none>".into() } else { format!("{open}/{}", gates.len()) }
}
