//! CEL expressions of match conditions and policies. They see untyped documents and have the cost budget of the
//! validation rules of a schema.

use std::sync::Arc;
use tenure_cel::{Error, EvalResult, Program, Variables};
use tenure_crd::rules::{
    AccessAttributes, Budget, Decide, Env, Val, admission_env, authorizer, document_decl, request_resource,
    with_policy_variable,
};
use tenure_meta::ValueExt;
use tenure_value::{Text, Value};

/// The documents that expressions can see. `authorizer` and `authorizer.requestResource` follow them.
const DOCUMENTS: [&str; 6] = ["request", "object", "oldObject", "namespaceObject", "params", "variables"];
const AUTHORIZER: usize = DOCUMENTS.len();
const REQUEST_RESOURCE: usize = AUTHORIZER + 1;

/// Where the variables of a policy begin.
const VARIABLES: usize = REQUEST_RESOURCE + 1;

/// What the expressions of a policy see: documents, the authorizer, and the variables before them.
pub(crate) struct Scope(Result<Env, Error>);

impl Scope {
    /// Returns the scope of match conditions and of the first variable.
    pub fn new() -> Scope {
        Scope(admission_env(&DOCUMENTS))
    }

    /// Compiles an expression. An error is reported when it is evaluated.
    pub fn compile(&self, source: Text) -> Expression {
        let compiled = self.0.as_ref().map_err(Clone::clone).and_then(|env| env.compile(&source));
        Expression { source, compiled }
    }

    /// Compiles a variable, which later expressions see.
    pub fn add_variable(&mut self, name: &Text, source: Text) -> Expression {
        let expression = self.compile(source);
        if let Ok(env) = std::mem::replace(&mut self.0, Err(Error::evaluate(""))) {
            self.0 = Ok(with_policy_variable(env, name, expression.compiled.as_ref().ok()));
        }
        expression
    }
}

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Expression {
    pub source: Text,
    compiled: Result<Program, Error>,
}

impl Expression {
    /// Whether the expression can be evaluated.
    pub fn is_compiled(&self) -> bool {
        self.compiled.is_ok()
    }

    /// Evaluates the expression.
    pub fn evaluate<'v>(&self, activation: &mut CelActivation<'v>) -> Result<Val<'v>, String> {
        let compiled = self.compiled.as_ref().map_err(|error| format!("compilation error: {error}"))?;
        let CelActivation { variables, budget } = activation;
        budget.run(compiled, variables).map_err(|error| match error {
            Error::CostLimit | Error::SizeLimit(_) if budget.is_spent() => {
                "validation failed due to running out of cost budget, no further validation rules will be run"
                    .into()
            }
            Error::CostLimit | Error::SizeLimit(_) => {
                "operation cancelled: actual cost limit exceeded".to_string()
            }
            other => other.to_string(),
        })
    }

    /// Evaluates an expression that must be a boolean.
    pub fn evaluate_bool(&self, activation: &mut CelActivation<'_>) -> Result<bool, String> {
        let failed = |why: String| format!("expression '{}' resulted in error: {why}", self.source);
        match self.evaluate(activation).map_err(failed)? {
            Val::Bool(result) => Ok(result),
            other => Err(failed(format!("the result is a {}, not a bool", other.type_name()))),
        }
    }
}

/// The variables of an evaluation and its remaining budget.
pub(crate) struct CelActivation<'v> {
    variables: Bindings<'v>,
    budget: Budget,
}

/// The values of the documents, in the order of [`DOCUMENTS`], of the authorizers, and of the variables of a policy.
struct Bindings<'v> {
    documents: [Option<Val<'v>>; VARIABLES],
    variables: Vec<Result<Val<'v>, String>>,
}

impl<'v> Variables<'v> for Bindings<'v> {
    fn variable(&self, index: usize) -> EvalResult<'v> {
        if let Some(value) = index.checked_sub(VARIABLES).and_then(|at| self.variables.get(at)) {
            return value.clone().map_err(Error::evaluate);
        }
        let unset = || {
            let name = DOCUMENTS.get(index).copied().unwrap_or("authorizer");
            Error::evaluate(format!("no such attribute(s): {name}"))
        };
        self.documents.get(index).cloned().flatten().ok_or_else(unset)
    }
}

impl<'v> CelActivation<'v> {
    /// Creates an activation with `request`, `object`, `oldObject` and `authorizer`, whose checks `decide` answers.
    pub fn new(
        request: &'v Value,
        object: &'v Value,
        old: &'v Value,
        decide: &Arc<Decide>,
    ) -> CelActivation<'v> {
        let mut variables = Bindings { documents: Default::default(), variables: Vec::new() };
        variables.documents[REQUEST_RESOURCE] =
            Some(request_resource(Arc::clone(decide), requested_resource(request)));
        variables.documents[AUTHORIZER] = Some(authorizer(Arc::clone(decide)));
        let mut activation = CelActivation { variables, budget: Budget::of_object() };
        for (name, value) in [("request", request), ("object", object), ("oldObject", old)] {
            activation.set_document(name, value);
        }
        activation
    }

    /// Sets a document.
    pub fn set_document(&mut self, name: &'static str, value: &'v Value) {
        let slot = DOCUMENTS.iter().position(|known| *known == name);
        let slot = slot.and_then(|index| self.variables.documents.get_mut(index));
        // A document that is absent, or unlike its type, has no value.
        if let (Some(slot), Ok(value)) = (slot, Val::from_document(value, document_decl(name))) {
            *slot = Some(value);
        }
    }

    /// Sets the next variable of a policy, or why it has no value.
    pub fn add_variable(&mut self, value: Result<Val<'v>, String>) {
        self.variables.variables.push(value);
    }
}

/// Returns the resource of a request as a check asks about it.
fn requested_resource(request: &Value) -> AccessAttributes {
    let resource = request.get("resource").unwrap_or(&Value::Null);
    AccessAttributes {
        group: resource.text("group"),
        resource: resource.text("resource"),
        subresource: request.text("subResource"),
        namespace: request.text("namespace"),
        name: request.text("name"),
        ..AccessAttributes::default()
    }
}

/// A condition under which a webhook or a policy applies.
#[derive(Debug)]
pub(crate) struct MatchCondition(Expression);

impl MatchCondition {
    /// Reads an item of `matchConditions`.
    pub fn read(value: &Value) -> MatchCondition {
        MatchCondition(Scope::new().compile(value.text("expression")))
    }

    /// Whether all conditions are true. One that is false decides, even if others fail.
    pub fn all(conditions: &[MatchCondition], activation: &mut CelActivation<'_>) -> Result<bool, String> {
        let mut error = None;
        activation.budget = Budget::of_match_conditions();
        for MatchCondition(expression) in conditions {
            match expression.evaluate_bool(activation) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(why) => error = error.or(Some(why)),
            }
        }
        error.map_or(Ok(true), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_crd::rules::Decision;

    #[test]
    fn all_conditions_must_be_true_and_a_false_one_decides() {
        let (request, object): (Value, Value) =
            (r#"{"operation":"CREATE"}"#.parse().unwrap(), r#"{"spec":{"replicas":3}}"#.parse().unwrap());
        let all = |sources: &[&str]| {
            let conditions: Vec<MatchCondition> =
                sources.iter().map(|source| MatchCondition(Scope::new().compile((*source).into()))).collect();
            // The service account `a` and the client itself may do everything, others nothing.
            let decide: Arc<Decide> = Arc::new(|asked: &AccessAttributes| {
                let allowed = asked.service_account.as_ref().is_none_or(|(_, name)| name == "a");
                Decision { allowed, ..Decision::default() }
            });
            let mut activation = CelActivation::new(&request, &object, &Value::Null, &decide);
            MatchCondition::all(&conditions, &mut activation)
        };
        assert_eq!(all(&[]), Ok(true));
        assert_eq!(all(&["object.spec.replicas > 2", "request.operation == 'CREATE'"]), Ok(true));
        assert_eq!(all(&["oldObject == null && has(object.spec.replicas)"]), Ok(true));
        assert_eq!(all(&["object.spec.missing == 1", "false"]), Ok(false));
        let may = "authorizer.serviceAccount('n', 'a').group('').resource('pods').check('get')";
        assert_eq!(all(&[&format!("{may}.allowed() && {may}.reason() == ''")]), Ok(true));
        assert_eq!(all(&[&format!("{}.allowed()", may.replace("'a'", "'b'"))]), Ok(false));
        // A third check exceeds the cost limit, as in Kubernetes.
        assert!(all(&[&format!("{may}.allowed() && {may}.allowed() && {may}.allowed()")]).is_err());
        // So do two checks in each of several conditions.
        let twice = format!("{may}.allowed() && {may}.allowed()");
        assert!(all(&[twice.as_str(); 8]).unwrap_err().contains("running out of cost budget"));
        assert_eq!(all(&["authorizer.requestResource.check('custom').allowed()"]), Ok(true));
        assert!(all(&["object.spec.missing == 1"]).unwrap_err().contains("missing"));
        assert!(all(&["1 + 1"]).unwrap_err().contains("not a bool"));
        assert!(all(&["1 +"]).unwrap_err().contains("compilation error"));
    }
}
