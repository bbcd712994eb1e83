//! Admission policies: CEL expressions that validate or mutate objects that a binding selects.

pub(crate) mod apply_configuration;

use crate::{
    expression::{CelActivation, Expression, MatchCondition, Scope},
    failure_policy::FailurePolicy,
    matching::{MatchConstraints, Selector},
};
use std::sync::Arc;
use tenure_crd::rules::{Decide, Val, message};
use tenure_meta::{Reason, ValueExt};
use tenure_value::{Text, Value};

/// The reasons of a denial, the default first.
const REASONS: [(&str, Reason); 4] = [
    ("Invalid", Reason::Invalid),
    ("Forbidden", Reason::Forbidden),
    ("Unauthorized", Reason::Unauthorized),
    ("RequestEntityTooLarge", Reason::RequestEntityTooLarge),
];

/// The most bytes of the value of an audit annotation; the rest is cut off, as Kubernetes does.
const MAX_ANNOTATION_BYTES: usize = 10 << 10;

/// A policy with its bindings.
#[derive(Debug)]
pub(crate) struct Policy {
    pub name: Text,
    pub constraints: MatchConstraints,
    /// The `paramKind`: apiVersion and kind of the parameters.
    pub param_kind: Option<(Text, Text)>,
    pub bindings: Vec<PolicyBinding>,
    conditions: Vec<MatchCondition>,
    variables: Vec<(Text, Expression)>,
    validations: Vec<Validation>,
    /// Keys and expressions of the annotations of the audit event.
    audit_annotations: Vec<(Text, Expression)>,
    /// The mutations in order.
    pub mutations: Vec<Mutation>,
    /// Whether it is applied again if others have changed the object since (`reinvocationPolicy: IfNeeded`).
    pub is_reinvoked: bool,
    pub failure_policy: FailurePolicy,
}

/// An expression that yields a change of the object.
#[derive(Debug)]
pub(crate) struct Mutation {
    expression: Expression,
    change: fn(Value) -> PolicyChange,
}

/// A change of an object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PolicyChange {
    /// An apply configuration.
    Apply(Value),
    /// A JSON patch.
    Patch(Value),
}

/// A binding of a policy.
#[derive(Debug)]
pub(crate) struct PolicyBinding {
    pub name: Text,
    /// Narrows what the policy matches.
    pub constraints: MatchConstraints,
    pub param_ref: Option<ParamRef>,
    pub actions: Vec<ValidationAction>,
}

/// Which objects are the parameters of a policy.
#[derive(Debug)]
pub(crate) struct ParamRef {
    pub name: Text,
    pub namespace: Text,
    pub selector: Selector,
    /// What happens if there are none (`parameterNotFoundAction`).
    pub not_found_action: FailurePolicy,
}

/// What a binding does with a denial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValidationAction {
    Deny,
    Warn,
    Audit,
}

impl ValidationAction {
    /// Returns the name of the action in bindings.
    pub fn word(self) -> &'static str {
        match self {
            ValidationAction::Deny => "Deny",
            ValidationAction::Warn => "Warn",
            ValidationAction::Audit => "Audit",
        }
    }
}

#[derive(Debug)]
struct Validation {
    expression: Expression,
    message: Text,
    message_expression: Option<Expression>,
    reason: Reason,
}

/// Why a policy denies a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Denial {
    pub message: String,
    pub reason: Reason,
    /// The position of the validation in its policy.
    pub expression_index: usize,
}

impl Policy {
    /// Reads a policy with its bindings; `None` if it has none.
    pub fn read(policy: &Value, bindings: &[Value]) -> Option<Policy> {
        let name = policy.get("metadata")?.text("name");
        let spec = policy.get("spec")?;
        let bindings: Vec<PolicyBinding> = bindings
            .iter()
            .filter_map(PolicyBinding::read)
            .filter(|(listed, _)| *listed == name)
            .map(|(_, binding)| binding)
            .collect();
        if bindings.is_empty() {
            return None;
        }
        let mut scope = Scope::new();
        let variables = spec.items("variables").iter().map(|variable| {
            let name = variable.text("name");
            let expression = scope.add_variable(&name, variable.text("expression"));
            (name, expression)
        });
        let variables = variables.collect();
        Some(Policy {
            constraints: MatchConstraints::read(spec.get("matchConstraints").unwrap_or(&Value::Null)),
            param_kind: spec.get("paramKind").map(|kind| (kind.text("apiVersion"), kind.text("kind"))),
            bindings,
            conditions: spec.items("matchConditions").iter().map(MatchCondition::read).collect(),
            variables,
            validations: spec.items("validations").iter().map(|row| Validation::read(row, &scope)).collect(),
            audit_annotations: spec
                .items("auditAnnotations")
                .iter()
                .map(|annotation| (annotation.text("key"), scope.compile(annotation.text("valueExpression"))))
                .collect(),
            mutations: spec.items("mutations").iter().map(|row| Mutation::read(row, &scope)).collect(),
            is_reinvoked: spec.text("reinvocationPolicy") == "IfNeeded",
            failure_policy: FailurePolicy::read(spec),
            name,
        })
    }

    /// Whether the match conditions of the policy are true.
    pub fn applies(&self, input: PolicyInput<'_>, params: Option<&Value>) -> Result<bool, String> {
        MatchCondition::all(&self.conditions, &mut input.activation(params))
    }

    /// Evaluates a mutation.
    pub fn change(
        &self,
        mutation: &Mutation,
        input: PolicyInput<'_>,
        params: Option<&Value>,
    ) -> Result<PolicyChange, String> {
        let mut activation = input.activation(params);
        self.compute_variables(&mut activation);
        let failed =
            |why: String| format!("expression '{}' resulted in error: {why}", mutation.expression.source);
        let result = mutation.expression.evaluate(&mut activation).map_err(failed)?;
        let document = result.to_document().map_err(|error| failed(error.to_string()))?;
        Ok((mutation.change)(document))
    }

    /// Returns a denial for each validation that is false.
    pub fn validate(&self, input: PolicyInput<'_>, params: Option<&Value>) -> Vec<Denial> {
        match self.applies(input, params) {
            Ok(true) => {}
            Ok(false) => return Vec::new(),
            Err(why) => return self.failed(why),
        }
        let mut activation = input.activation(params);
        self.compute_variables(&mut activation);
        let denials = self.validations.iter().enumerate().flat_map(|(expression_index, validation)| {
            match validation.expression.evaluate_bool(&mut activation) {
                Ok(true) => Vec::new(),
                Ok(false) => {
                    let message = validation.message(&mut activation);
                    vec![Denial { message, reason: validation.reason, expression_index }]
                }
                Err(why) => self.failed(why),
            }
        });
        denials.collect()
    }

    /// Returns the annotations of the audit event; an expression that is `null` or empty has none.
    pub fn annotations(
        &self,
        input: PolicyInput<'_>,
        params: Option<&Value>,
    ) -> Result<Vec<(String, String)>, String> {
        if self.audit_annotations.is_empty() || !self.applies(input, params)? {
            return Ok(Vec::new());
        }
        let mut activation = input.activation(params);
        self.compute_variables(&mut activation);
        let mut annotations = Vec::new();
        for (key, expression) in &self.audit_annotations {
            let failed = |why: String| format!("expression '{}' resulted in error: {why}", expression.source);
            match expression.evaluate(&mut activation).map_err(failed)? {
                Val::String(value) if !value.trim().is_empty() => {
                    let value = value.trim();
                    let end =
                        value.char_indices().find(|(at, sign)| at + sign.len_utf8() > MAX_ANNOTATION_BYTES);
                    let value = value.get(..end.map_or(value.len(), |(at, _)| at)).unwrap_or(value);
                    annotations.push((format!("{}/{key}", self.name), value.to_string()));
                }
                Val::String(_) | Val::Null => {}
                other => {
                    return Err(format!(
                        "valueExpression '{}' resulted in unsupported return type: {}. Return type must be either string or null.",
                        expression.source,
                        other.type_name()
                    ));
                }
            }
        }
        Ok(annotations)
    }

    /// Returns the denials of a policy that could not be evaluated.
    pub fn failed(&self, why: String) -> Vec<Denial> {
        match self.failure_policy {
            FailurePolicy::Fail => vec![Denial { message: why, reason: REASONS[0].1, expression_index: 0 }],
            FailurePolicy::Ignore => Vec::new(),
        }
    }

    /// Computes the variables, each of which sees those before it. One that fails makes the expressions fail that use it.
    fn compute_variables(&self, activation: &mut CelActivation<'_>) {
        for (name, expression) in &self.variables {
            let value = expression.evaluate(activation).map_err(|why| {
                let fails = if expression.is_compiled() { "evaluate" } else { "compile" };
                format!("composited variable {:?} fails to {fails}: {why}", name.as_str())
            });
            activation.add_variable(value);
        }
    }
}

/// The documents that the expressions of a policy see.
#[derive(Clone, Copy)]
pub(crate) struct PolicyInput<'v> {
    pub decide: &'v Arc<Decide>,
    pub request: &'v Value,
    pub object: &'v Value,
    pub old_object: &'v Value,
    pub namespace_object: &'v Value,
}

impl<'v> PolicyInput<'v> {
    fn activation(self, params: Option<&'v Value>) -> CelActivation<'v> {
        let mut activation = CelActivation::new(self.request, self.object, self.old_object, self.decide);
        activation.set_document("namespaceObject", self.namespace_object);
        // Without parameters they are `null`.
        activation.set_document("params", params.unwrap_or(&Value::Null));
        activation
    }
}

impl Mutation {
    fn read(value: &Value, scope: &Scope) -> Mutation {
        let (name, change): (_, fn(Value) -> PolicyChange) = match value.text("patchType").as_str() {
            "JSONPatch" => ("jsonPatch", PolicyChange::Patch),
            _ => ("applyConfiguration", PolicyChange::Apply),
        };
        Mutation {
            expression: scope.compile(value.get(name).unwrap_or(&Value::Null).text("expression")),
            change,
        }
    }
}

impl Validation {
    fn read(value: &Value, scope: &Scope) -> Validation {
        let reason = value.text("reason");
        let message = value.text("messageExpression");
        Validation {
            expression: scope.compile(value.text("expression")),
            message: value.text("message"),
            message_expression: (!message.trim().is_empty()).then(|| scope.compile(message)),
            reason: REASONS.iter().find(|(word, _)| *word == reason.as_str()).unwrap_or(&REASONS[0]).1,
        }
    }

    /// Returns the message of a denial.
    fn message(&self, activation: &mut CelActivation<'_>) -> String {
        let evaluated = self
            .message_expression
            .as_ref()
            .and_then(|message_expression| message(message_expression.evaluate(activation).ok()?));
        if let Some(evaluated) = evaluated {
            return evaluated;
        }
        match self.message.trim() {
            "" => format!("failed expression: {}", self.expression.source.trim()),
            message => message.to_string(),
        }
    }
}

impl PolicyBinding {
    /// Reads a binding with the name of its policy.
    fn read(value: &Value) -> Option<(Text, PolicyBinding)> {
        let spec = value.get("spec")?;
        let actions = spec.texts("validationActions");
        let actions = actions.iter().filter_map(|word| match word.as_str() {
            "Deny" => Some(ValidationAction::Deny),
            "Warn" => Some(ValidationAction::Warn),
            "Audit" => Some(ValidationAction::Audit),
            _ => None,
        });
        let binding = PolicyBinding {
            name: value.get("metadata")?.text("name"),
            constraints: MatchConstraints::read(spec.get("matchResources").unwrap_or(&Value::Null)),
            param_ref: spec.get("paramRef").map(|reference| ParamRef {
                name: reference.text("name"),
                namespace: reference.text("namespace"),
                selector: Selector::read(reference.get("selector")),
                not_found_action: match reference.text("parameterNotFoundAction").as_str() {
                    "Allow" => FailurePolicy::Ignore,
                    _ => FailurePolicy::Fail,
                },
            }),
            actions: actions.collect(),
        };
        Some((spec.text("policyName"), binding))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_crd::rules::Decision;

    fn deny_all() -> Arc<Decide> {
        Arc::new(|_| Decision::default())
    }

    fn policy(spec: &str) -> Policy {
        let policy = format!(r#"{{"metadata":{{"name":"p"}},"spec":{spec}}}"#).parse().unwrap();
        let binding = r#"{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"]}}"#;
        Policy::read(&policy, &[binding.parse().unwrap()]).unwrap()
    }

    fn denials(spec: &str, parameters: Option<&str>) -> Vec<String> {
        let object: Value = r#"{"spec":{"replicas":7}}"#.parse().unwrap();
        let namespace: Value = r#"{"metadata":{"labels":{"tier":"test"}}}"#.parse().unwrap();
        let parameters: Option<Value> = parameters.map(|text| text.parse().unwrap());
        let (null, decide) = (Value::Null, deny_all());
        let input = PolicyInput {
            decide: &decide,
            request: &null,
            object: &object,
            old_object: &null,
            namespace_object: &namespace,
        };
        let denials = policy(spec).validate(input, parameters.as_ref());
        denials.into_iter().map(|denial| denial.message).collect()
    }

    #[test]
    fn a_policy_without_binding_has_no_effect() {
        assert!(Policy::read(&r#"{"metadata":{"name":"p"},"spec":{}}"#.parse().unwrap(), &[]).is_none());
    }

    #[test]
    fn each_false_validation_is_a_denial_with_its_message() {
        let spec = r#"{"validations":[
            {"expression":"object.spec.replicas <= 5"},
            {"expression":"object.spec.replicas > 0"},
            {"expression":"false","message":"plain"},
            {"expression":"false","message":"plain","messageExpression":"'has ' + string(object.spec.replicas)"}]}"#;
        assert_eq!(denials(spec, None), ["failed expression: object.spec.replicas <= 5", "plain", "has 7"]);
    }

    #[test]
    fn variables_see_earlier_ones_and_parameters() {
        let spec = r#"{"variables":[{"name":"a","expression":"object.spec.replicas + 1"},{"name":"b","expression":"variables.a * 2"}],
            "validations":[{"expression":"variables.b <= params.data.most && namespaceObject.metadata.labels.tier == 'test'","message":"too many"}]}"#;
        assert_eq!(denials(spec, Some(r#"{"data":{"most":16}}"#)), [""; 0]);
        assert_eq!(denials(spec, Some(r#"{"data":{"most":15}}"#)), ["too many"]);
    }

    #[test]
    fn errors_follow_the_failure_policy() {
        let spec = |policy: &str| {
            format!(
                r#"{{"failurePolicy":"{policy}","variables":[{{"name":"a","expression":"object.none"}}],"validations":[{{"expression":"variables.a == 1"}},{{"expression":"false"}}]}}"#
            )
        };
        let strict = denials(&spec("Fail"), None);
        assert!(
            strict[0].contains("composited variable \"a\" fails to evaluate: no such key: none"),
            "{strict:?}"
        );
        assert_eq!(strict.len(), 2);
        assert_eq!(denials(&spec("Ignore"), None), ["failed expression: false"]);
    }

    #[test]
    fn a_mutation_yields_an_apply_configuration_or_a_patch() {
        let object: Value = r#"{"metadata":{"labels":{"a/b":"x"}},"spec":{"replicas":7}}"#.parse().unwrap();
        let made = |mutation: &str| {
            let spec = format!(
                r#"{{"variables":[{{"name":"more","expression":"object.spec.replicas + 1"}}],"mutations":[{mutation}]}}"#
            );
            let policy = policy(&spec);
            let (null, decide) = (Value::Null, deny_all());
            let input = PolicyInput {
                decide: &decide,
                request: &null,
                object: &object,
                old_object: &null,
                namespace_object: &null,
            };
            policy.change(&policy.mutations[0], input, None)
        };
        let applied = made(
            r#"{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{spec: Object.spec{replicas: variables.more, ?paused: optional.none()}}"}}"#,
        );
        assert_eq!(applied, Ok(PolicyChange::Apply(r#"{"spec":{"replicas":8}}"#.parse().unwrap())));
        let patched = made(
            r#"{"patchType":"JSONPatch","jsonPatch":{"expression":"object.metadata.labels.map(k, JSONPatch{op: 'remove', path: '/metadata/labels/' + jsonpatch.escapeKey(k)})"}}"#,
        );
        let expected = r#"[{"op":"remove","path":"/metadata/labels/a~1b"}]"#.parse().unwrap();
        assert_eq!(patched, Ok(PolicyChange::Patch(expected)));
        let failed = made(r#"{"patchType":"JSONPatch","jsonPatch":{"expression":"object.none"}}"#);
        assert!(failed.unwrap_err().contains("object.none"));
    }

    #[test]
    fn match_conditions_decide_whether_a_policy_applies() {
        let spec = |condition: &str| {
            format!(
                r#"{{"matchConditions":[{{"name":"c","expression":"{condition}"}}],"validations":[{{"expression":"false"}}]}}"#
            )
        };
        assert_eq!(denials(&spec("object.spec.replicas > 10"), None), [""; 0]);
        assert_eq!(denials(&spec("object.spec.replicas > 5"), None).len(), 1);
    }
}
