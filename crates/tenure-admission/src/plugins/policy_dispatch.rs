//! Applies the policies whose bindings match a request.

use super::webhook_dispatch::{at_variant, from_variant};
use crate::{
    AdmissionAttributes, AdmissionContext, ResourceVariant,
    failure_policy::FailurePolicy,
    plugin::plain_cause,
    policy::{Denial, Policy, PolicyBinding, PolicyInput, ValidationAction, apply_configuration},
    webhook::request,
};
use tenure_meta::{ApiError, Reason, Scope};
use tenure_value::{Text, Value};

/// The audit annotation that lists the validations that failed.
const VALIDATION_FAILURE: &str = "validation.policy.admission.k8s.io/validation_failure";

/// Returns the object as a mutating policy changes it; `None` if the policy does not apply.
pub(super) async fn mutate(
    policy: &Policy,
    attributes: &AdmissionAttributes,
    context: &AdmissionContext<'_>,
) -> Result<Option<Value>, ApiError> {
    let Some(variant) = policy.constraints.matching_variant(attributes) else { return Ok(None) };
    let mut changed: Option<Value> = None;
    for binding in matching_bindings(policy, attributes) {
        let outcome = match params(policy, binding, attributes, context).await? {
            Ok(params) => {
                let object = changed.as_ref().unwrap_or(&attributes.object);
                mutate_with(policy, &params, (attributes, variant), object, context).await?
            }
            Err(why) => Err(why),
        };
        match outcome {
            Ok(outcome) => changed = outcome.or(changed),
            Err(_) if policy.failure_policy == FailurePolicy::Ignore => {}
            Err(why) => {
                let named = format!("policy '{}' with binding '{}'", policy.name, binding.name);
                return Err(mutation_denied(attributes, format!("{named} denied request: {why}")));
            }
        }
    }
    Ok(changed)
}

/// Returns the error of a mutating policy that fails. Kubernetes combines the reason `Invalid` with the code of `Forbidden`, and
/// does not name the object in the message.
fn mutation_denied(attributes: &AdmissionAttributes, why: String) -> ApiError {
    let mut error = attributes.forbidden(&why);
    error.reason = Reason::Invalid;
    let mut answer = error.clone();
    answer.message.clone_from(&why);
    answer.causes = vec![plain_cause(why)];
    let code = Value::from(Reason::Forbidden.code());
    answer.given = answer.status().as_object().map(|status| status.with("code", code).into());
    error.or_in_kubernetes(answer)
}

/// Returns an object as the mutations of a policy change it with each of its parameters in turn; `None` if its
/// conditions are true with none of them. The inner error is a failure of the policy.
async fn mutate_with(
    policy: &Policy,
    params: &[Option<Value>],
    (attributes, variant): (&AdmissionAttributes, &ResourceVariant),
    object: &Value,
    context: &AdmissionContext<'_>,
) -> Result<Result<Option<Value>, String>, ApiError> {
    let request = request(attributes, variant);
    let old_object = at_variant(&attributes.old_object, attributes, variant, context).await?;
    let mut changed: Option<Value> = None;
    for params in params.iter().map(Option::as_ref) {
        let mut current =
            at_variant(changed.as_ref().unwrap_or(object), attributes, variant, context).await?;
        let input = PolicyInput {
            decide: context.decide,
            request: &request,
            object: &Value::Null,
            old_object: &old_object,
            namespace_object: &attributes.namespace_object,
        };
        match policy.applies(PolicyInput { object: &current, ..input }, params) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(why) => return Ok(Err(why)),
        }
        for mutation in &policy.mutations {
            let change = policy.change(mutation, PolicyInput { object: &current, ..input }, params);
            let merged = change
                .and_then(|change| apply_configuration::changed(context.cluster, &current, &change, variant));
            let completed = match merged {
                Ok(merged) => (context.complete)(&from_variant(merged, attributes, variant, context).await?)?,
                Err(why) => return Ok(Err(why)),
            };
            current = at_variant(&completed, attributes, variant, context).await?;
            changed = Some(completed);
        }
    }
    Ok(Ok(changed))
}

/// Checks an object against a validating policy, for each binding that matches.
pub(super) async fn validate(
    policy: &Policy,
    attributes: &mut AdmissionAttributes,
    context: &AdmissionContext<'_>,
) -> Result<(), ApiError> {
    let Some(variant) = policy.constraints.matching_variant(attributes) else { return Ok(()) };
    let object = at_variant(&attributes.object, attributes, variant, context).await?;
    let old_object = at_variant(&attributes.old_object, attributes, variant, context).await?;
    let request = request(attributes, variant);
    let namespace_object = attributes.namespace_object.clone();
    let input = PolicyInput {
        decide: context.decide,
        request: &request,
        object: &object,
        old_object: &old_object,
        namespace_object: &namespace_object,
    };
    let bindings: Vec<&PolicyBinding> = matching_bindings(policy, attributes).collect();
    for binding in bindings {
        let denials: Vec<Denial> = match params(policy, binding, attributes, context).await? {
            Ok(params) => {
                let mut denials = Vec::new();
                for params in &params {
                    denials.extend(policy.validate(input, params.as_ref()));
                    match policy.annotations(input, params.as_ref()) {
                        Ok(annotations) => attributes.audit_annotations.extend(annotations),
                        Err(why) => denials.extend(policy.failed(why)),
                    }
                }
                denials
            }
            Err(why) => policy.failed(why),
        };
        enforce(policy, binding, &denials, attributes)?;
    }
    Ok(())
}

/// Does with denials what a binding says.
fn enforce(
    policy: &Policy,
    binding: &PolicyBinding,
    denials: &[Denial],
    attributes: &mut AdmissionAttributes,
) -> Result<(), ApiError> {
    let named = format!("ValidatingAdmissionPolicy '{}' with binding '{}'", policy.name, binding.name);
    if binding.actions.contains(&ValidationAction::Warn) {
        let warnings =
            denials.iter().map(|denial| format!("Validation failed for {named}: {}", denial.message));
        attributes.warnings.extend(warnings);
    }
    if binding.actions.contains(&ValidationAction::Audit) && !denials.is_empty() {
        let failures: Vec<String> =
            denials.iter().map(|denial| validation_failure(policy, binding, denial)).collect();
        let failures = format!("[{}]", failures.join(","));
        attributes.audit_annotations.push((VALIDATION_FAILURE.into(), failures));
    }
    match denials.first().filter(|_| binding.actions.contains(&ValidationAction::Deny)) {
        None => Ok(()),
        Some(denial) => {
            let why = format!("{named} denied request: {}", denial.message);
            let mut error = attributes.forbidden(&why);
            error.reason = denial.reason;
            Err(error.with_causes(vec![plain_cause(why)]))
        }
    }
}

/// Describes a denial for the audit event, with the members in the order of Kubernetes.
fn validation_failure(policy: &Policy, binding: &PolicyBinding, denial: &Denial) -> String {
    let actions = Value::array(binding.actions.iter().map(|action| Value::from(action.word())));
    format!(
        r#"{{"message":{},"policy":{},"binding":{},"expressionIndex":{},"validationActions":{actions}}}"#,
        Value::from(denial.message.as_str()),
        Value::from(policy.name.clone()),
        Value::from(binding.name.clone()),
        denial.expression_index,
    )
}

/// Returns the bindings of a policy that match a request.
fn matching_bindings<'p>(
    policy: &'p Policy,
    attributes: &AdmissionAttributes,
) -> impl Iterator<Item = &'p PolicyBinding> {
    let is_selected = policy.constraints.selects(attributes);
    policy.bindings.iter().filter(move |binding| {
        let bound = &binding.constraints;
        is_selected
            && (!bound.has_rules() || bound.matching_variant(attributes).is_some())
            && bound.selects(attributes)
    })
}

/// Returns the parameters with which a policy is evaluated in turn: those that the binding refers to, or `None` once if
/// the policy has no parameters. The inner error is a failure of the policy.
async fn params(
    policy: &Policy,
    binding: &PolicyBinding,
    attributes: &AdmissionAttributes,
    context: &AdmissionContext<'_>,
) -> Result<Result<Vec<Option<Value>>, String>, ApiError> {
    let (Some((api_version, kind)), Some(reference)) = (&policy.param_kind, &binding.param_ref) else {
        return Ok(Ok(vec![None]));
    };
    let Some(scope) = context.cluster.scope(api_version, kind) else {
        return Ok(Err(format!(
            "failed to configure policy: failed to find resource referenced by paramKind: '{api_version}, Kind={kind}'"
        )));
    };
    let namespace = match (scope, reference.namespace.as_str()) {
        (Scope::Cluster, _) => Text::default(),
        (Scope::Namespaced, "") => attributes.namespace.clone(),
        (Scope::Namespaced, _) => reference.namespace.clone(),
    };
    let found: Vec<Option<Value>> = match reference.name.is_empty() {
        false => {
            let object = context.cluster.get(api_version, kind, &namespace, &reference.name).await?;
            object.into_iter().map(Some).collect()
        }
        true => {
            let objects = context.cluster.list(api_version, kind, &namespace).await?.into_iter();
            objects.filter(|object| reference.selector.selects(object)).map(Some).collect()
        }
    };
    Ok(match (found.is_empty(), reference.not_found_action) {
        (true, FailurePolicy::Fail) => Err(
            "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
                .into(),
        ),
        _ => Ok(found),
    })
}
