//! CEL expressions of match conditions and policies. They see untyped documents and have the cost budget of the
//! validation rules of a schema.

use kube_cel::cel::IdedExpr;
use tenure_crd::rules::{Budget, Trouble, Val, parse, run};
use tenure_meta::Row;
use tenure_value::{Text, Value};

/// A parsed expression.
#[derive(Debug)]
pub(crate) struct Expression {
    pub source: Text,
    parsed: Result<IdedExpr, String>,
}

impl Expression {
    /// Parses an expression. A syntax error is reported when it is evaluated.
    pub fn new(source: Text) -> Expression {
        let parsed = parse(&source);
        Expression { source, parsed }
    }

    /// Evaluates the expression.
    pub fn evaluate<'v>(&self, activation: &mut CelActivation<'v>) -> Result<Val<'v>, String> {
        let parsed = self.parsed.as_ref().map_err(|why| format!("compilation error: {why}"))?;
        run(parsed, &activation.variables, &mut activation.budget).map_err(|trouble| match trouble {
            Trouble::Error(why) => why,
            Trouble::Cost => "the expression exceeds the cost limit of a request: make it cheaper".into(),
        })
    }

    /// Evaluates an expression that must be a boolean.
    pub fn evaluate_bool(&self, activation: &mut CelActivation<'_>) -> Result<bool, String> {
        let failed = |why: String| format!("expression '{}' resulted in error: {why}", self.source);
        match self.evaluate(activation).map_err(failed)? {
            Val::Bool(result) => Ok(result),
            other => Err(failed(format!("the result is a {}, not a bool", other.type_word()))),
        }
    }
}

/// The variables of an evaluation and its remaining budget.
pub(crate) struct CelActivation<'v> {
    variables: Vec<(&'static str, Val<'v>)>,
    budget: Budget,
}

impl<'v> CelActivation<'v> {
    /// Creates an activation with `request`, `object`, `oldObject` and `authorizer`.
    pub fn new(request: &'v Value, object: &'v Value, old: &'v Value) -> CelActivation<'v> {
        let all = [("request", request), ("object", object), ("oldObject", old)];
        let mut variables: Vec<_> = all.map(|(name, value)| (name, Val::untyped(value))).into();
        variables.push(("authorizer", Val::Authority));
        CelActivation { variables, budget: Budget::of_object() }
    }

    /// Sets a variable.
    pub fn set(&mut self, name: &'static str, value: Val<'v>) {
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value));
    }
}

/// A condition under which a webhook or a policy applies.
#[derive(Debug)]
pub(crate) struct MatchCondition(Expression);

impl MatchCondition {
    /// Reads an item of `matchConditions`.
    pub fn read(of: &Value) -> MatchCondition {
        MatchCondition(Expression::new(of.text("expression")))
    }

    /// Whether all conditions are true. One that is false decides, even if others fail.
    pub fn all(conditions: &[MatchCondition], activation: &mut CelActivation<'_>) -> Result<bool, String> {
        let mut error = None;
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

    #[test]
    fn all_conditions_must_be_true_and_a_false_one_decides() {
        let (request, object): (Value, Value) =
            (r#"{"operation":"CREATE"}"#.parse().unwrap(), r#"{"spec":{"replicas":3}}"#.parse().unwrap());
        let all = |sources: &[&str]| {
            let conditions: Vec<MatchCondition> =
                sources.iter().map(|source| MatchCondition(Expression::new((*source).into()))).collect();
            MatchCondition::all(&conditions, &mut CelActivation::new(&request, &object, &Value::Null))
        };
        assert_eq!(all(&[]), Ok(true));
        assert_eq!(all(&["object.spec.replicas > 2", "request.operation == 'CREATE'"]), Ok(true));
        assert_eq!(all(&["oldObject == null && has(object.spec.replicas)"]), Ok(true));
        assert_eq!(all(&["object.spec.missing == 1", "false"]), Ok(false));
        let may = "authorizer.serviceAccount('n', 'a').group('').resource('pods').check('get')";
        assert_eq!(all(&[&format!("{may}.allowed() && !{may}.errored() && {may}.reason() == ''")]), Ok(true));
        assert_eq!(all(&["authorizer.requestResource.check('custom').allowed()"]), Ok(true));
        assert!(all(&["object.spec.missing == 1"]).unwrap_err().contains("missing"));
        assert!(all(&["1 + 1"]).unwrap_err().contains("not a bool"));
        assert!(all(&["1 +"]).unwrap_err().contains("compilation error"));
    }
}
