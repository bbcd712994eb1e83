//! The functions that checks name, and what each is given.

use super::{
    admission, aggregation, content, event, placement, pod, quota, resources, selector, service, source,
    workload,
};
use tenure_meta::{FieldError, FieldErrorKind, FieldPath};
use tenure_value::{Object, Text, Value};

/// Where a function looks.
pub(crate) struct Context<'c> {
    /// The whole object.
    pub root: &'c Value,
    /// The node of the check's type.
    pub node: &'c Object,
    /// The way to the node.
    pub path: &'c FieldPath<'c>,
}

impl Context<'_> {
    /// Returns a field of the node.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.node.get(name).filter(|value| !value.is_null())
    }

    /// Returns a string of the node; empty where there is none.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns an integer of the node.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(Value::as_i64)
    }

    /// Follows names down from the node.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.get(first)?, |value, name| value.get(name))
    }

    /// Returns the items of a list of the node.
    pub fn items(&self, name: &str) -> &[Value] {
        self.get(name).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
    }

    /// Returns the fields of a map of the node.
    pub fn fields(&self, name: &str) -> &[(Text, Value)] {
        self.get(name).and_then(Value::as_object).map(Object::fields).unwrap_or_default()
    }

    /// Makes a fault below the node.
    pub fn fault(&self, below: &str, kind: FieldErrorKind, value: &Value, detail: &str) -> FieldError {
        let base = self.path.to_string();
        let dot = if base.is_empty() || below.is_empty() || below.starts_with('[') { "" } else { "." };
        FieldError::new(kind, &format!("{base}{dot}{below}"), value, detail)
    }
}

/// A function that checks name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function(Body);

type Body = fn(&Context<'_>, &mut Vec<FieldError>);

/// The names of the functions.
const FUNCTIONS: [(&str, Body); 56] = [
    ("labelSelector", selector::label_selector),
    ("selectsTemplate", selector::selects_template),
    ("selectsTemplateByMap", selector::selects_template_by_map),
    ("podSpec", pod::spec),
    ("container", pod::container),
    ("env", pod::env),
    ("envFrom", pod::env_from),
    ("toleration", pod::toleration),
    ("port", pod::port),
    ("volume", pod::volume),
    ("requirements", resources::requirements),
    ("volumeRequirements", resources::volume_requirements),
    ("capacity", resources::capacity),
    ("limit", quota::limit),
    ("quota", quota::quota),
    ("quotaStatus", quota::status),
    ("podAddresses", pod::addresses),
    ("balancerStatus", service::status),
    ("namespacePhase", workload::namespace_phase),
    ("scopeRequirement", quota::scope_requirement),
    ("fixedOverhead", quota::fixed_overhead),
    ("nodeTerm", placement::node_term),
    ("topologies", placement::topologies),
    ("file", source::file),
    ("amount", source::amount),
    ("projected", source::projected),
    ("apiService", aggregation::api_service),
    ("rollingUpdate", workload::rolling_update),
    ("daemonUpdate", workload::daemon_update),
    ("statefulUpdate", workload::stateful_update),
    ("job", workload::job),
    ("budget", workload::budget),
    ("metric", workload::metric),
    ("service", service::service),
    ("configData", content::config_data),
    ("secretData", content::secret_data),
    ("policyRule", workload::policy_rule),
    ("subject", workload::subject),
    ("networkPort", workload::network_port),
    ("priorityClass", workload::priority_class),
    ("sliceAddresses", workload::slice_addresses),
    ("event", event::event),
    ("admissionWebhook", admission::webhook),
    ("admissionRule", admission::rule),
    ("admissionCondition", admission::condition),
    ("admissionValidation", admission::validation),
    ("admissionVariable", admission::variable),
    ("admissionPolicy", admission::policy),
    ("mutatingPolicy", admission::mutating_policy),
    ("admissionMutation", admission::mutation),
    ("admissionBinding", admission::binding),
    ("validatingBinding", admission::validating_binding),
    ("templateMetadata", selector::template_metadata),
    ("endpointPorts", workload::endpoint_ports),
    ("networkBlock", workload::network_block),
    ("serviceAccountNamespace", workload::account_namespace),
];

impl Function {
    pub(crate) fn named(name: &str) -> Option<Function> {
        FUNCTIONS.iter().find(|(of, _)| *of == name).map(|(_, function)| Function(*function))
    }

    pub(crate) fn call(self, context: &Context<'_>, errors: &mut Vec<FieldError>) {
        (self.0)(context, errors)
    }
}
