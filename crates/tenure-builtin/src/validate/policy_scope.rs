//! What the expressions of a policy see: the documents of a request, and the variables before them.

use tenure_crd::rules::{Env, admission_env, compile_expression, message_env, with_policy_variable};
use tenure_meta::ValueExt;
use tenure_value::Value;

/// The documents of every expression.
const DOCUMENTS: [&str; 4] = ["object", "oldObject", "request", "namespaceObject"];

/// The environments of the expressions of a policy or a webhook, compiled once for all of them.
#[derive(Debug)]
pub(crate) struct PolicyScope {
    /// That of match conditions, which see no variables.
    conditions: Option<Env>,
    /// That of validations, mutations and annotations.
    all: Option<Env>,
    /// That of messages, which see no authorizer.
    messages: Option<Env>,
    /// The errors of the variables, each of which sees those before it.
    faults: Vec<Option<String>>,
}

impl PolicyScope {
    /// Returns the scope of an object.
    pub fn of(root: &Value) -> PolicyScope {
        let has_parameters = root.at(["spec", "paramKind"]).is_some_and(|kind| !kind.is_null());
        let mut documents = DOCUMENTS.to_vec();
        documents.extend(has_parameters.then_some("params"));
        let conditions = admission_env(&documents).ok();
        let variables = root.at(["spec", "variables"]).and_then(Value::as_array);
        let variables: Vec<&Value> = variables.into_iter().flat_map(|variables| variables.iter()).collect();
        let has_variables = !variables.is_empty() || root.text("kind") == "MutatingAdmissionPolicy";
        documents.extend(has_variables.then_some("variables"));
        let (mut all, mut messages) = (admission_env(&documents).ok(), message_env(&documents).ok());
        let mut faults = Vec::new();
        for variable in variables {
            let (Some(env), Some(message_env)) = (all.take(), messages.take()) else { break };
            let compiled = compile_expression(&env, &variable.text("expression"), &[]);
            let (name, program) = (variable.text("name"), compiled.as_ref().ok());
            all = Some(with_policy_variable(env, &name, program));
            messages = Some(with_policy_variable(message_env, &name, program));
            faults.push(compiled.err());
        }
        PolicyScope { conditions, all, messages, faults }
    }

    /// Returns the environment of messages.
    pub fn messages(&self) -> Option<&Env> {
        self.messages.as_ref()
    }

    /// Returns the environment of match conditions.
    pub fn conditions(&self) -> Option<&Env> {
        self.conditions.as_ref()
    }

    /// Returns the environment of validations, mutations and annotations.
    pub fn all(&self) -> Option<&Env> {
        self.all.as_ref()
    }

    /// Returns the error of the variable at a place.
    pub fn fault(&self, at: usize) -> Option<&str> {
        self.faults.get(at)?.as_deref()
    }
}
