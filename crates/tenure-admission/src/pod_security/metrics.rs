//! The counters of Pod Security, by the names and labels that Kubernetes has for them.

use super::{Level, PolicyLevel, Version};
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};

/// Why a policy was evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Pods that break it are refused.
    Enforce,
    /// Pods that break it are recorded.
    Audit,
    /// Clients are warned of pods that break it.
    Warn,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::Enforce => "enforce",
            Mode::Audit => "audit",
            Mode::Warn => "warn",
        }
    }
}

/// The request that a counter is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestLabels {
    /// `create` or `update`.
    pub operation: &'static str,
    /// `pod`, `namespace`, or `controller` for what has a template of pods.
    pub resource: &'static str,
    /// The subresource; empty if there is none.
    pub subresource: &'static str,
}

impl fmt::Display for RequestLabels {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RequestLabels { operation, resource, subresource } = self;
        write!(out, "request_operation=\"{operation}\",resource=\"{resource}\",subresource=\"{subresource}\"")
    }
}

/// The labels of an evaluation, in the order in which counters are written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Evaluation {
    /// Whether the pod breaks the policy.
    is_broken: bool,
    level: &'static str,
    version: String,
    /// Why the pod was compared with the policy.
    mode: Mode,
    request: RequestLabels,
}

/// What Pod Security has counted.
#[derive(Default)]
pub struct PodSecurityMetrics {
    evaluations: Mutex<BTreeMap<Evaluation, u64>>,
    exemptions: Mutex<BTreeMap<RequestLabels, u64>>,
    errors: Mutex<BTreeMap<RequestLabels, u64>>,
}

impl PodSecurityMetrics {
    /// Counts an evaluation.
    pub fn evaluated(&self, mode: Mode, policy: PolicyLevel, is_broken: bool, request: RequestLabels) {
        let version = match policy.version {
            // Everything is privileged, whatever the version.
            _ if policy.level == Level::Privileged => "latest".into(),
            Version::Minor(minor) if minor > Version::NEWEST => "future".into(),
            version => version.to_string(),
        };
        let labels = Evaluation { is_broken, level: policy.level.name(), version, mode, request };
        *self.evaluations.lock().entry(labels).or_default() += 1;
    }

    /// Counts a request that is exempt.
    pub fn exempted(&self, request: RequestLabels) {
        *self.exemptions.lock().entry(request).or_default() += 1;
    }

    /// Counts a request in a namespace whose labels are wrong.
    pub fn failed(&self, request: RequestLabels) {
        *self.errors.lock().entry(request).or_default() += 1;
    }

    /// Resets the counters.
    pub fn reset(&self) {
        self.evaluations.lock().clear();
        self.exemptions.lock().clear();
        self.errors.lock().clear();
    }

    /// Writes the counters in the text format of Prometheus. The most frequent ones are there before they count anything.
    pub fn write(&self, text: &mut String) {
        let pod = |operation| RequestLabels { operation, resource: "pod", subresource: "" };
        let controller = |operation| RequestLabels { operation, resource: "controller", subresource: "" };
        let mut evaluations = self.evaluations.lock().clone();
        for operation in ["create", "update"] {
            let labels = Evaluation {
                is_broken: false,
                level: Level::Privileged.name(),
                version: "latest".into(),
                mode: Mode::Enforce,
                request: pod(operation),
            };
            evaluations.entry(labels).or_default();
        }
        let mut exemptions = self.exemptions.lock().clone();
        for labels in
            ["create", "update"].into_iter().flat_map(|operation| [pod(operation), controller(operation)])
        {
            exemptions.entry(labels).or_default();
        }
        let evaluations = evaluations.into_iter().map(|(labels, count)| {
            let Evaluation { is_broken, level, version, mode, request } = labels;
            let (decision, mode) = (if is_broken { "deny" } else { "allow" }, mode.name());
            let policy = format!("mode=\"{mode}\",policy_level=\"{level}\",policy_version=\"{version}\"");
            (format!("decision=\"{decision}\",{policy},{request}"), count)
        });
        let plain = |(request, count): (RequestLabels, u64)| (request.to_string(), count);
        let failed = |(request, count): (RequestLabels, u64)| (format!("fatal=\"false\",{request}"), count);
        let help = "Pods and templates of pods that were compared with a policy.";
        counter(text, "pod_security_evaluations_total", help, evaluations);
        let help = "Requests that are exempt from the policy of their namespace.";
        counter(text, "pod_security_exemptions_total", help, exemptions.into_iter().map(plain));
        let help = "Requests in namespaces whose labels do not name a policy.";
        let errors = self.errors.lock().clone();
        counter(text, "pod_security_errors_total", help, errors.into_iter().map(failed));
    }
}

fn counter(text: &mut String, name: &str, help: &str, series: impl Iterator<Item = (String, u64)>) {
    let mut series = series.peekable();
    if series.peek().is_none() {
        return;
    }
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
    for (labels, count) in series {
        let _ = writeln!(text, "{name}{{{labels}}} {count}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluations_and_exemptions_are_counted_by_their_labels() {
        let metrics = PodSecurityMetrics::default();
        let request = |resource| RequestLabels { operation: "create", resource, subresource: "" };
        let policy = |level, version| PolicyLevel { level, version };
        metrics.evaluated(Mode::Enforce, policy(Level::Privileged, Version::Minor(3)), false, request("pod"));
        for _ in 0..2 {
            metrics.evaluated(
                Mode::Warn,
                policy(Level::Baseline, Version::Minor(25)),
                true,
                request("controller"),
            );
        }
        metrics.evaluated(Mode::Audit, policy(Level::Restricted, Version::Minor(99)), true, request("pod"));
        metrics.exempted(request("pod"));
        metrics.failed(request("pod"));
        let mut text = String::new();
        metrics.write(&mut text);
        let of_request =
            |resource: &str| format!("request_operation=\"create\",resource=\"{resource}\",subresource=\"\"");
        for line in [
            format!(
                "pod_security_evaluations_total{{decision=\"allow\",mode=\"enforce\",policy_level=\"privileged\",policy_version=\"latest\",{}}} 1",
                of_request("pod")
            ),
            format!(
                "pod_security_evaluations_total{{decision=\"deny\",mode=\"warn\",policy_level=\"baseline\",policy_version=\"v1.25\",{}}} 2",
                of_request("controller")
            ),
            format!(
                "pod_security_evaluations_total{{decision=\"deny\",mode=\"audit\",policy_level=\"restricted\",policy_version=\"future\",{}}} 1",
                of_request("pod")
            ),
            format!("pod_security_exemptions_total{{{}}} 1", of_request("pod")),
            format!("pod_security_exemptions_total{{{}}} 0", of_request("controller")),
            format!("pod_security_errors_total{{fatal=\"false\",{}}} 1", of_request("pod")),
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        metrics.reset();
        let mut text = String::new();
        metrics.write(&mut text);
        assert!(text.contains("pod_security_exemptions_total") && !text.contains("} 1"), "{text}");
    }
}
