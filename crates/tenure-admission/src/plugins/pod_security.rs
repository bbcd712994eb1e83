//! PodSecurity: refuses pods that break the level that their namespace enforces, and warns about pods and workloads that
//! break the level it warns of. The levels come from labels of the namespace, which must be valid, or else from the
//! configuration of the plugin, which also says who is exempt.

use super::{items, meta_text, text};
use crate::{
    AdmissionAttributes, AdmissionConfig, AdmissionContext, AdmissionPlugin, Operation, ResourceAction,
    pod_security::{
        LABEL_PREFIX, LabelError, Level, Mode, PodSecurityConfig, PodSecurityMetrics, Policy, PolicyLevel,
        RequestLabels, Violation, describe, violations,
    },
};
use async_trait::async_trait;
use std::collections::{BTreeMap, HashSet};
use tenure_meta::{ApiError, FieldError};
use tenure_value::{Text, Value};

/// How many existing pods are checked when a namespace enforces a stricter level.
const PODS_CHECKED: usize = 3000;
/// The subresources of pods that change what a pod may do.
const POD_SUBRESOURCES: [&str; 3] = ["", "ephemeralcontainers", "resize"];
/// The workloads by group and resource, and where they have the template of their pods.
const WORKLOADS: [(&str, &str, &[&str]); 8] = [
    ("", "podtemplates", &["template"]),
    ("", "replicationcontrollers", &["spec", "template"]),
    ("apps", "daemonsets", &["spec", "template"]),
    ("apps", "deployments", &["spec", "template"]),
    ("apps", "replicasets", &["spec", "template"]),
    ("apps", "statefulsets", &["spec", "template"]),
    ("batch", "cronjobs", &["spec", "jobTemplate", "spec", "template"]),
    ("batch", "jobs", &["spec", "template"]),
];

/// Applies the Pod Security standards.
#[derive(Default)]
pub(crate) struct PodSecurity {
    config: PodSecurityConfig,
    metrics: PodSecurityMetrics,
}

#[async_trait]
impl AdmissionPlugin for PodSecurity {
    fn handles(&self, action: &ResourceAction<'_>, _: &AdmissionConfig) -> bool {
        action.operation != Operation::Delete
            && (is_namespace(action) || is_pod(action) || template_path(action).is_some())
    }

    fn label_prefix(&self, action: &ResourceAction<'_>) -> Option<&'static str> {
        (!is_namespace(action) && self.config.defaults.is_privileged()).then_some(LABEL_PREFIX)
    }

    fn write_metrics(&self, text: &mut String) {
        self.metrics.write(text);
    }

    fn reset_metrics(&self) {
        self.metrics.reset();
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        if is_namespace(&attributes.action()) {
            return self.validate_namespace(attributes, context).await;
        }
        if let Some(reason) = self.exemption(attributes) {
            self.exempt(attributes, reason);
            return Ok(());
        }
        if is_pod(&attributes.action()) {
            return self.validate_pod(attributes, context).await;
        }
        let Some(path) = template_path(&attributes.action()) else { return Ok(()) };
        let Some(template) = attributes.object.at(path.iter().copied()).cloned() else { return Ok(()) };
        let policy = self.policy_of(attributes, context).await?;
        if policy.audit.level == Level::Privileged && policy.warn.level == Level::Privileged {
            return Ok(());
        }
        if self.is_exempt_class(&template) {
            self.exempt(attributes, "runtimeClass");
            return Ok(());
        }
        self.audit(attributes, &policy, &template);
        self.warn(attributes, &policy, &template);
        Ok(())
    }
}

impl PodSecurity {
    /// Returns the plugin with its configuration.
    pub fn new(config: PodSecurityConfig) -> PodSecurity {
        PodSecurity { config, metrics: PodSecurityMetrics::default() }
    }

    async fn validate_pod(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let policy = self.policy_of(attributes, context).await?;
        if policy.is_privileged() {
            annotate(attributes, "enforce-policy", policy.enforce.to_string());
            self.metrics.evaluated(Mode::Enforce, policy.enforce, false, labels(attributes));
            return Ok(());
        }
        let is_update = attributes.operation == Operation::Update;
        if is_update && !is_significant_update(&attributes.old_object, &attributes.object) {
            return Ok(());
        }
        let pod = attributes.object.clone();
        if self.is_exempt_class(&pod) {
            self.exempt(attributes, "runtimeClass");
            return Ok(());
        }
        annotate(attributes, "enforce-policy", policy.enforce.to_string());
        self.audit(attributes, &policy, &pod);
        let found = violations(policy.enforce, &pod);
        self.metrics.evaluated(Mode::Enforce, policy.enforce, !found.is_empty(), labels(attributes));
        if !found.is_empty() {
            let why = format!("violates PodSecurity \"{}\": {}", policy.enforce, describe(&found));
            return Err(attributes.forbidden(&why));
        }
        self.warn(attributes, &policy, &pod);
        Ok(())
    }

    /// Records that a request is exempt.
    fn exempt(&self, attributes: &mut AdmissionAttributes, reason: &str) {
        annotate(attributes, "exempt", reason.into());
        self.metrics.exempted(labels(attributes));
    }

    /// Records in the audit event what breaks the level that the namespace audits.
    fn audit(&self, attributes: &mut AdmissionAttributes, policy: &Policy, pod: &Value) {
        if let Some(violated) = violation(policy.audit, pod) {
            self.metrics.evaluated(Mode::Audit, policy.audit, true, labels(attributes));
            annotate(attributes, "audit-violations", violated);
        }
    }

    /// Warns about what in a pod breaks the level that the namespace warns of.
    fn warn(&self, attributes: &mut AdmissionAttributes, policy: &Policy, pod: &Value) {
        if let Some(violated) = violation(policy.warn, pod) {
            self.metrics.evaluated(Mode::Warn, policy.warn, true, labels(attributes));
            attributes.warnings.push(violated);
        }
    }

    /// Returns why the pods of a request are not checked.
    fn exemption(&self, attributes: &AdmissionAttributes) -> Option<&'static str> {
        let user = text(&attributes.user, "username");
        if self.config.namespaces.contains(&attributes.namespace) {
            return Some("namespace");
        }
        self.config.usernames.contains(user).then_some("user")
    }

    /// Whether pods of the runtime class of a pod or a template are not checked.
    fn is_exempt_class(&self, pod: &Value) -> bool {
        let class = pod.at(["spec", "runtimeClassName"]).and_then(Value::as_str);
        class.is_some_and(|class| self.config.runtime_classes.contains(class))
    }

    async fn policy_of(
        &self,
        attributes: &AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<Policy, ApiError> {
        let namespace = context.cluster.get("v1", "Namespace", "", &attributes.namespace).await?;
        let labels = namespace.as_ref().and_then(|namespace| namespace.at(["metadata", "labels"]));
        let (policy, errors) = Policy::of_labels(labels, self.config.defaults);
        if !errors.is_empty() {
            self.metrics.failed(self::labels(attributes));
        }
        Ok(policy)
    }

    /// Checks the labels of a namespace, and the existing pods if it enforces a stricter level than before.
    async fn validate_namespace(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let read =
            |namespace: &Value| Policy::of_labels(namespace.at(["metadata", "labels"]), self.config.defaults);
        let (policy, errors) = read(&attributes.object);
        let (old, old_errors) = read(&attributes.old_object);
        let is_update = attributes.operation == Operation::Update;
        // An update that leaves wrong labels as they are is accepted.
        if !errors.is_empty() && (!is_update || errors != old_errors) {
            let causes = errors.iter().map(|error| label_error(error).cause()).collect();
            return Err(ApiError::invalid("", "Namespace", &attributes.name, causes));
        }
        let (old, new) = (old.enforce, policy.enforce);
        let is_relaxed = new.version == old.version && new.level <= old.level;
        let is_checked = is_update && new != old && new.level != Level::Privileged && !is_relaxed;
        if self.config.namespaces.contains(&attributes.name) {
            let labels = attributes.object.at(["metadata", "labels"]);
            let ignored = policy.ignored(labels, &self.config.defaults).filter(|_| is_checked || !is_update);
            attributes.warnings.extend(ignored.map(|ignored| {
                let name = &attributes.name;
                format!("namespace \"{name}\" is exempt from Pod Security, and the policy ({ignored}) will be ignored")
            }));
        } else if is_checked {
            let mut pods = context.cluster.list("v1", "Pod", &attributes.name).await?;
            pods.retain(|pod| !self.is_exempt_class(pod));
            let warnings = pod_warnings(&attributes.name, new, &pods);
            attributes.warnings.extend(warnings);
        }
        Ok(())
    }
}

fn is_namespace(action: &ResourceAction<'_>) -> bool {
    action.group.is_empty() && action.resource == "namespaces" && action.subresource.is_empty()
}

fn is_pod(action: &ResourceAction<'_>) -> bool {
    action.group.is_empty() && action.resource == "pods" && POD_SUBRESOURCES.contains(&action.subresource)
}

/// Returns where an object of a workload has the template of its pods; `None` if the resource is not a workload.
fn template_path(action: &ResourceAction<'_>) -> Option<&'static [&'static str]> {
    let row = WORKLOADS.iter().find(|row| (row.0, row.1) == (action.group, action.resource))?;
    action.subresource.is_empty().then_some(row.2)
}

fn violation(level: PolicyLevel, pod: &Value) -> Option<String> {
    let found = violations(level, pod);
    (!found.is_empty()).then(|| format!("would violate PodSecurity \"{level}\": {}", describe(&found)))
}

/// Returns the request as the counters name it.
fn labels(attributes: &AdmissionAttributes) -> RequestLabels {
    let action = attributes.action();
    let subresource = POD_SUBRESOURCES.into_iter().find(|name| *name == action.subresource);
    RequestLabels {
        operation: if action.operation == Operation::Create { "create" } else { "update" },
        resource: if is_pod(&action) { "pod" } else { "controller" },
        subresource: subresource.unwrap_or_default(),
    }
}

/// Annotates the audit event.
fn annotate(attributes: &mut AdmissionAttributes, key: &str, value: String) {
    attributes.audit_annotations.push((format!("{LABEL_PREFIX}{key}"), value));
}

/// Whether an update changes what the checks look at: containers come or go, or run another image.
fn is_significant_update(old: &Value, new: &Value) -> bool {
    let images = |pod: &Value, list: &str| -> Vec<Text> {
        items(pod.at(["spec", list])).iter().map(|container| text(container, "image").into()).collect()
    };
    if ["containers", "initContainers"].into_iter().any(|list| images(old, list) != images(new, list)) {
        return true;
    }
    let ephemeral = |pod: &Value| -> BTreeMap<Text, Text> {
        let containers = items(pod.at(["spec", "ephemeralContainers"])).iter();
        containers
            .map(|container| (text(container, "name").into(), text(container, "image").into()))
            .collect()
    };
    let before = ephemeral(old);
    ephemeral(new).iter().any(|(name, image)| before.get(name) != Some(image))
}

fn label_error(error: &LabelError) -> FieldError {
    FieldError::invalid(
        format!("metadata.labels[{}]", error.label),
        &Value::from(error.value.as_str()),
        error.message,
    )
}

/// Returns the warnings about existing pods that break a level: one for each way in which pods break it, with the first
/// pod by name and the number of others.
fn pod_warnings(namespace: &str, level: PolicyLevel, pods: &[Value]) -> Vec<String> {
    let checked = one_of_each_controller_first(pods);
    let mut broken: BTreeMap<String, (&str, usize)> = BTreeMap::new();
    for pod in checked.iter().take(PODS_CHECKED) {
        let found = violations(level, pod);
        if found.is_empty() {
            continue;
        }
        let name = meta_text(pod, "name");
        let (first, count) = broken.entry(reasons(&found)).or_insert((name, 0));
        *first = (*first).min(name);
        *count += 1;
    }
    let mut warnings = Vec::new();
    if pods.len() > PODS_CHECKED {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {PODS_CHECKED} of {} existing pods",
            pods.len()
        ));
    }
    if !broken.is_empty() {
        warnings.push(format!(
            "existing pods in namespace \"{namespace}\" violate the new PodSecurity enforce level \"{level}\""
        ));
    }
    let mut each: Vec<String> = broken
        .iter()
        .map(|(reasons, (first, count))| match count {
            1 => format!("{first}: {reasons}"),
            2 => format!("{first} (and 1 other pod): {reasons}"),
            _ => format!("{first} (and {} other pods): {reasons}", count - 1),
        })
        .collect();
    each.sort();
    warnings.extend(each);
    warnings
}

fn reasons(violations: &[Violation]) -> String {
    violations.iter().map(|violation| violation.reason.as_str()).collect::<Vec<_>>().join(", ")
}

/// Orders pods so that one of each controller comes before its replicas, which are most likely equal.
fn one_of_each_controller_first(pods: &[Value]) -> Vec<&Value> {
    let mut controllers = HashSet::new();
    let (mut first, replicas): (Vec<&Value>, Vec<&Value>) =
        pods.iter().partition(|pod| controller_of(pod).is_none_or(|uid| controllers.insert(uid)));
    first.extend(replicas);
    first
}

fn controller_of(pod: &Value) -> Option<&str> {
    let owners = items(pod.at(["metadata", "ownerReferences"]));
    let controller = owners.iter().find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
    controller.get("uid").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod_security::Version;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    #[test]
    fn updates_of_images_and_containers_are_significant() {
        let cases = [
            (
                r#"{"containers":[{"name":"a","image":"i"}]}"#,
                r#"{"containers":[{"name":"a","image":"i"}],"tolerations":[{}]}"#,
                false,
            ),
            (
                r#"{"containers":[{"name":"a","image":"i"}]}"#,
                r#"{"containers":[{"name":"a","image":"j"}]}"#,
                true,
            ),
            (r#"{"initContainers":[{"image":"i"}]}"#, r#"{"initContainers":[{"image":"j"}]}"#, true),
            (r#"{}"#, r#"{"ephemeralContainers":[{"name":"e","image":"i"}]}"#, true),
            (
                r#"{"ephemeralContainers":[{"name":"e","image":"i"}]}"#,
                r#"{"ephemeralContainers":[{"name":"e","image":"i"}]}"#,
                false,
            ),
        ];
        for (old, new, expected) in cases {
            let pod = |spec: &str| value(&format!(r#"{{"spec":{spec}}}"#));
            assert_eq!(is_significant_update(&pod(old), &pod(new)), expected, "{old} {new}");
        }
    }

    #[test]
    fn existing_pods_are_summed_up_by_what_they_break() {
        let pod = |name: &str, field: &str| {
            value(&format!(
                r#"{{"metadata":{{"name":"{name}"}},"spec":{{{field}"containers":[{{"name":"c"}}]}}}}"#
            ))
        };
        let pods = [
            pod("c", r#""hostNetwork":true,"#),
            pod("b", r#""hostNetwork":true,"#),
            pod("d", r#""hostPID":true,"hostNetwork":true,"#),
            pod("a", ""),
            pod("e", r#""volumes":[{"name":"v","hostPath":{}}],"#),
        ];
        let level = PolicyLevel { level: Level::Baseline, version: Version::Latest };
        assert_eq!(
            pod_warnings("n", level, &pods),
            [
                "existing pods in namespace \"n\" violate the new PodSecurity enforce level \"baseline:latest\"",
                "b (and 2 other pods): host namespaces",
                "e: hostPath volumes",
            ]
        );
        assert!(pod_warnings("n", level, &pods[3..4]).is_empty());
    }

    #[test]
    fn namespaces_pods_and_workloads_are_handled() {
        let action = |group, resource, subresource| ResourceAction {
            operation: Operation::Update,
            group,
            resource,
            subresource,
        };
        for (action, expected) in [
            (action("", "pods", ""), true),
            (action("", "pods", "ephemeralcontainers"), true),
            (action("", "pods", "status"), false),
            (action("apps", "deployments", ""), true),
            (action("apps", "deployments", "scale"), false),
            (action("", "namespaces", ""), true),
            (action("", "configmaps", ""), false),
        ] {
            assert_eq!(
                PodSecurity::default().handles(&action, &AdmissionConfig::default()),
                expected,
                "{action:?}"
            );
        }
    }
}
