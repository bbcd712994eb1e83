//! The expressions of conditions and policies. They see documents as they are, whatever their kinds, and run within the
//! same budget as the rules of a schema.

use crate::{
    custom::rules::{Budget, Trouble, Val, parse, run},
    kinds::Row,
};
use kube_cel::cel::IdedExpr;
use tenure_value::{Text, Value};

/// An expression, parsed.
#[derive(Debug)]
pub(crate) struct Expression {
    pub source: Text,
    parsed: Result<IdedExpr, String>,
}

impl Expression {
    pub fn new(source: Text) -> Expression {
        let parsed = parse(&source);
        Expression { source, parsed }
    }

    /// Returns what the expression is, or why it is nothing.
    pub fn run<'v>(&self, scene: &mut Scene<'v>) -> Result<Val<'v>, String> {
        let parsed = self.parsed.as_ref().map_err(|why| format!("compilation error: {why}"))?;
        run(parsed, &scene.known, &mut scene.budget).map_err(|trouble| match trouble {
            Trouble::Error(why) => why,
            Trouble::Cost => "it costs more than one request may: make it cheaper".into(),
        })
    }

    /// Returns whether the expression holds, or why that cannot be told.
    pub fn holds(&self, scene: &mut Scene<'_>) -> Result<bool, String> {
        let told = |why: String| format!("expression '{}' resulted in error: {why}", self.source);
        match self.run(scene).map_err(told)? {
            Val::Bool(holds) => Ok(holds),
            other => Err(told(format!("it is a {}, not true or false", other.type_word()))),
        }
    }
}

/// What an expression sees.
pub(crate) struct Scene<'v> {
    known: Vec<(&'static str, Val<'v>)>,
    budget: Budget,
}

impl<'v> Scene<'v> {
    /// Shows the request, and the object as it will be and as it was.
    pub fn new(request: &'v Value, object: &'v Value, old: &'v Value) -> Scene<'v> {
        let all = [("request", request), ("object", object), ("oldObject", old)];
        let mut known: Vec<_> = all.map(|(name, value)| (name, Val::untyped(value))).into();
        known.push(("authorizer", Val::Authority));
        Scene { known, budget: Budget::of_object() }
    }

    /// Shows one more thing, or another in place of what went by that name.
    pub fn show(&mut self, name: &'static str, value: Val<'v>) {
        self.known.retain(|(known, _)| *known != name);
        self.known.push((name, value));
    }
}

/// A condition under which a webhook or a policy has a say.
#[derive(Debug)]
pub(crate) struct Condition(Expression);

impl Condition {
    pub fn read(of: &Value) -> Condition {
        Condition(Expression::new(of.text("expression")))
    }

    /// Returns whether all conditions hold. One that does not decides, even if others cannot be told.
    pub fn all(conditions: &[Condition], scene: &mut Scene<'_>) -> Result<bool, String> {
        let mut unknown = None;
        for Condition(expression) in conditions {
            match expression.holds(scene) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(why) => unknown = unknown.or(Some(why)),
            }
        }
        unknown.map_or(Ok(true), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::custom::rules::Type;

    #[test]
    fn conditions_hold_together_and_one_that_does_not_decides() {
        let (request, object): (Value, Value) =
            (r#"{"operation":"CREATE"}"#.parse().unwrap(), r#"{"spec":{"replicas":3}}"#.parse().unwrap());
        let all = |sources: &[&str]| {
            let conditions: Vec<Condition> =
                sources.iter().map(|source| Condition(Expression::new((*source).into()))).collect();
            Condition::all(&conditions, &mut Scene::new(&request, &object, &Value::Null))
        };
        assert_eq!(all(&[]), Ok(true));
        assert_eq!(all(&["object.spec.replicas > 2", "request.operation == 'CREATE'"]), Ok(true));
        assert_eq!(all(&["oldObject == null && has(object.spec.replicas)"]), Ok(true));
        assert_eq!(all(&["object.spec.missing == 1", "false"]), Ok(false));
        let may = "authorizer.serviceAccount('n', 'a').group('').resource('pods').check('get')";
        assert_eq!(all(&[&format!("{may}.allowed() && !{may}.errored() && {may}.reason() == ''")]), Ok(true));
        assert_eq!(all(&["authorizer.requestResource.check('custom').allowed()"]), Ok(true));
        assert!(all(&["object.spec.missing == 1"]).unwrap_err().contains("missing"));
        assert!(all(&["1 + 1"]).unwrap_err().contains("not true or false"));
        assert!(all(&["1 +"]).unwrap_err().contains("compilation error"));
    }

    #[test]
    fn what_cannot_be_an_expression_is_found_beforehand() {
        let fault = |source: &str| {
            crate::custom::rules::expression_fault(source, &["object"], |of| {
                matches!(of, Type::Bool | Type::Dyn)
            })
        };
        assert_eq!(fault("object.a == 1 && has(object.b)"), None);
        assert_eq!(fault("object.a"), None);
        assert_eq!(fault("authorizer.group('g').resource('r').name('n').check('v').allowed()"), None);
        assert!(fault("authorizer.crowd('g')").is_some());
        for (source, about) in [("object.", "Syntax error"), ("thing.a", "thing"), ("1 + 1", "int")] {
            let why = fault(source).unwrap();
            assert!(why.contains(about), "{source}: {why}");
        }
    }
}
