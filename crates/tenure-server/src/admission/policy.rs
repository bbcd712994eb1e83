//! A policy: expressions that what is written must hold to, or that say how it is changed, where a binding says so.

use super::{
    expression::{Condition, Expression, Scene},
    hook::OnFailure,
    matching::{Constraints, Selector},
};
use crate::{
    Reason,
    custom::rules::{Val, message},
    kinds::Row,
};
use std::sync::Arc;
use tenure_value::{Text, Value};

/// The reasons that a policy may give for a refusal; the first is meant where none is given.
const REASONS: [(&str, Reason); 4] = [
    ("Invalid", Reason::Invalid),
    ("Forbidden", Reason::Forbidden),
    ("Unauthorized", Reason::Unauthorized),
    ("RequestEntityTooLarge", Reason::RequestEntityTooLarge),
];

/// A policy with its bindings.
#[derive(Debug)]
pub(crate) struct Policy {
    pub name: Text,
    pub constraints: Constraints,
    /// The apiVersion and the kind of the objects that its bindings name as parameters.
    pub parameters: Option<(Text, Text)>,
    pub bindings: Vec<Binding>,
    conditions: Vec<Condition>,
    variables: Vec<(Text, Expression)>,
    validations: Vec<Validation>,
    /// How what is written is changed, one after the other.
    pub mutations: Vec<Mutation>,
    /// Whether it is asked again when others have changed the object since.
    pub is_reinvoked: bool,
    pub on_failure: OnFailure,
}

/// An expression that says how an object is changed.
#[derive(Debug)]
pub(crate) struct Mutation {
    expression: Expression,
    made: fn(Value) -> Change,
}

/// How an object is changed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// By applying a part of it.
    Apply(Value),
    /// By a JSON patch.
    Patch(Value),
}

/// What puts a policy into effect.
#[derive(Debug)]
pub(crate) struct Binding {
    pub name: Text,
    /// What it is about, of what its policy is about.
    pub constraints: Constraints,
    pub parameters: Option<Parameters>,
    pub actions: Vec<Action>,
}

/// Which objects are the parameters of a policy.
#[derive(Debug)]
pub(crate) struct Parameters {
    pub name: Text,
    pub namespace: Text,
    pub selector: Selector,
    /// What is done where there are none.
    pub on_absence: OnFailure,
}

/// What is done about something that does not hold to a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Deny,
    Warn,
    Audit,
}

#[derive(Debug)]
struct Validation {
    expression: Expression,
    message: Text,
    message_expression: Option<Expression>,
    reason: Reason,
}

/// Why something does not hold to a policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub message: String,
    pub reason: Reason,
}

impl Policy {
    /// Reads a policy; nothing if no binding puts it into effect.
    pub fn read(policy: &Value, bindings: &[Value]) -> Option<Policy> {
        let name = policy.get("metadata")?.text("name");
        let spec = policy.get("spec")?;
        let bindings: Vec<Binding> = bindings
            .iter()
            .filter_map(Binding::read)
            .filter(|(of, _)| *of == name)
            .map(|(_, of)| of)
            .collect();
        if bindings.is_empty() {
            return None;
        }
        let expressions =
            |list: &str| spec.items(list).iter().map(|of| (of.text("name"), of.text("expression")));
        Some(Policy {
            constraints: Constraints::read(spec.get("matchConstraints").unwrap_or(&Value::Null)),
            parameters: spec.get("paramKind").map(|kind| (kind.text("apiVersion"), kind.text("kind"))),
            bindings,
            conditions: spec.items("matchConditions").iter().map(Condition::read).collect(),
            variables: expressions("variables").map(|(name, of)| (name, Expression::new(of))).collect(),
            validations: spec.items("validations").iter().map(Validation::read).collect(),
            mutations: spec.items("mutations").iter().map(Mutation::read).collect(),
            is_reinvoked: spec.text("reinvocationPolicy") == "IfNeeded",
            on_failure: OnFailure::read(spec),
            name,
        })
    }

    /// Returns whether the conditions of the policy hold.
    pub fn applies(&self, seen: [&Value; 4], parameters: Option<&Value>) -> Result<bool, String> {
        Condition::all(&self.conditions, &mut scene(seen, parameters))
    }

    /// Returns how one of its mutations changes an object.
    pub fn change(
        &self,
        mutation: &Mutation,
        seen: [&Value; 4],
        parameters: Option<&Value>,
    ) -> Result<Change, String> {
        let mut scene = scene(seen, parameters);
        let because = self.compute_variables(&mut scene);
        let told = |why: String| {
            format!("expression '{}' resulted in error: {why}{because}", mutation.expression.source)
        };
        let made = mutation.expression.run(&mut scene).map_err(told)?;
        let document = made.to_document().ok_or_else(|| told("it makes no document".into()))?;
        Ok((mutation.made)(document))
    }

    /// Returns why an object does not hold to the policy, by each expression that it does not hold to.
    pub fn judge(&self, seen: [&Value; 4], parameters: Option<&Value>) -> Vec<Refusal> {
        match self.applies(seen, parameters) {
            Ok(true) => {}
            Ok(false) => return Vec::new(),
            Err(why) => return self.unknown(why),
        }
        let mut scene = scene(seen, parameters);
        let because = self.compute_variables(&mut scene);
        let judged =
            self.validations.iter().flat_map(|validation| match validation.expression.holds(&mut scene) {
                Ok(true) => Vec::new(),
                Ok(false) => {
                    vec![Refusal { message: validation.words(&mut scene), reason: validation.reason }]
                }
                Err(why) => self.unknown(format!("{why}{because}")),
            });
        judged.collect()
    }

    /// Returns what follows when it cannot be told whether an object holds to the policy.
    pub fn unknown(&self, why: String) -> Vec<Refusal> {
        match self.on_failure {
            OnFailure::Refuse => vec![Refusal { message: why, reason: REASONS[0].1 }],
            OnFailure::GoOn => Vec::new(),
        }
    }

    /// Shows the variables, each to those behind it. One that cannot be computed is not there, which fails whoever uses
    /// it; why the first was not is returned, in brackets.
    fn compute_variables(&self, scene: &mut Scene<'_>) -> String {
        let mut computed = Vec::with_capacity(self.variables.len());
        let mut failed = String::new();
        for (name, expression) in &self.variables {
            match expression.run(scene) {
                Ok(value) => {
                    computed.push((Val::Text(name.clone()), value));
                    scene.show("variables", Val::Map(Arc::new(computed.clone())));
                }
                Err(why) if failed.is_empty() => {
                    failed = format!(" (variable {:?} cannot be computed: {why})", name.as_str());
                }
                Err(_) => {}
            }
        }
        scene.show("variables", Val::Map(Arc::new(computed)));
        failed
    }
}

/// Returns what the expressions of a policy see.
fn scene<'v>([request, object, old, namespace]: [&'v Value; 4], parameters: Option<&'v Value>) -> Scene<'v> {
    let mut scene = Scene::new(request, object, old);
    scene.show("namespaceObject", Val::untyped(namespace));
    if let Some(parameters) = parameters {
        scene.show("params", Val::untyped(parameters));
    }
    scene
}

impl Mutation {
    fn read(of: &Value) -> Mutation {
        let (name, made): (_, fn(Value) -> Change) = match of.text("patchType").as_str() {
            "JSONPatch" => ("jsonPatch", Change::Patch),
            _ => ("applyConfiguration", Change::Apply),
        };
        Mutation {
            expression: Expression::new(of.get(name).unwrap_or(&Value::Null).text("expression")),
            made,
        }
    }
}

impl Validation {
    fn read(of: &Value) -> Validation {
        let reason = of.text("reason");
        let message = of.text("messageExpression");
        Validation {
            expression: Expression::new(of.text("expression")),
            message: of.text("message"),
            message_expression: (!message.trim().is_empty()).then(|| Expression::new(message)),
            reason: REASONS.iter().find(|(word, _)| *word == reason.as_str()).unwrap_or(&REASONS[0]).1,
        }
    }

    /// Returns what is said when the expression does not hold.
    fn words(&self, scene: &mut Scene<'_>) -> String {
        let made = self.message_expression.as_ref().and_then(|of| message(of.run(scene).ok()?));
        if let Some(made) = made {
            return made;
        }
        match self.message.trim() {
            "" => format!("failed expression: {}", self.expression.source.trim()),
            message => message.to_string(),
        }
    }
}

impl Binding {
    /// Reads a binding with the name of its policy.
    fn read(of: &Value) -> Option<(Text, Binding)> {
        let spec = of.get("spec")?;
        let actions = spec.texts("validationActions");
        let actions = actions.iter().filter_map(|word| match word.as_str() {
            "Deny" => Some(Action::Deny),
            "Warn" => Some(Action::Warn),
            "Audit" => Some(Action::Audit),
            _ => None,
        });
        let binding = Binding {
            name: of.get("metadata")?.text("name"),
            constraints: Constraints::read(spec.get("matchResources").unwrap_or(&Value::Null)),
            parameters: spec.get("paramRef").map(|of| Parameters {
                name: of.text("name"),
                namespace: of.text("namespace"),
                selector: Selector::read(of.get("selector")),
                on_absence: match of.text("parameterNotFoundAction").as_str() {
                    "Allow" => OnFailure::GoOn,
                    _ => OnFailure::Refuse,
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

    fn policy(spec: &str) -> Policy {
        let policy = format!(r#"{{"metadata":{{"name":"p"}},"spec":{spec}}}"#).parse().unwrap();
        let binding = r#"{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"]}}"#;
        Policy::read(&policy, &[binding.parse().unwrap()]).unwrap()
    }

    fn judged(spec: &str, parameters: Option<&str>) -> Vec<String> {
        let object: Value = r#"{"spec":{"replicas":7}}"#.parse().unwrap();
        let namespace: Value = r#"{"metadata":{"labels":{"tier":"test"}}}"#.parse().unwrap();
        let parameters: Option<Value> = parameters.map(|text| text.parse().unwrap());
        let null = Value::Null;
        let refusals = policy(spec).judge([&null, &object, &null, &namespace], parameters.as_ref());
        refusals.into_iter().map(|refusal| refusal.message).collect()
    }

    #[test]
    fn a_policy_that_nothing_binds_is_none() {
        assert!(Policy::read(&r#"{"metadata":{"name":"p"},"spec":{}}"#.parse().unwrap(), &[]).is_none());
    }

    #[test]
    fn each_expression_that_does_not_hold_is_told_in_its_words() {
        let spec = r#"{"validations":[
            {"expression":"object.spec.replicas <= 5"},
            {"expression":"object.spec.replicas > 0"},
            {"expression":"false","message":"plain"},
            {"expression":"false","message":"plain","messageExpression":"'has ' + string(object.spec.replicas)"}]}"#;
        assert_eq!(judged(spec, None), ["failed expression: object.spec.replicas <= 5", "plain", "has 7"]);
    }

    #[test]
    fn variables_build_on_each_other_and_parameters_are_seen() {
        let spec = r#"{"variables":[{"name":"a","expression":"object.spec.replicas + 1"},{"name":"b","expression":"variables.a * 2"}],
            "validations":[{"expression":"variables.b <= params.data.most && namespaceObject.metadata.labels.tier == 'test'","message":"too many"}]}"#;
        assert_eq!(judged(spec, Some(r#"{"data":{"most":16}}"#)), [""; 0]);
        assert_eq!(judged(spec, Some(r#"{"data":{"most":15}}"#)), ["too many"]);
    }

    #[test]
    fn what_cannot_be_told_refuses_or_not() {
        let spec = |policy: &str| {
            format!(
                r#"{{"failurePolicy":"{policy}","variables":[{{"name":"a","expression":"object.none"}}],"validations":[{{"expression":"variables.a == 1"}},{{"expression":"false"}}]}}"#
            )
        };
        let strict = judged(&spec("Fail"), None);
        assert!(strict[0].contains("variable \"a\" cannot be computed"), "{strict:?}");
        assert_eq!(strict.len(), 2);
        assert_eq!(judged(&spec("Ignore"), None), ["failed expression: false"]);
    }

    #[test]
    fn a_mutation_makes_a_part_of_an_object_or_a_patch() {
        let object: Value = r#"{"metadata":{"labels":{"a/b":"x"}},"spec":{"replicas":7}}"#.parse().unwrap();
        let made = |mutation: &str| {
            let spec = format!(
                r#"{{"variables":[{{"name":"more","expression":"object.spec.replicas + 1"}}],"mutations":[{mutation}]}}"#
            );
            let policy = policy(&spec);
            let null = Value::Null;
            policy.change(&policy.mutations[0], [&null, &object, &null, &null], None)
        };
        let applied = made(
            r#"{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{spec: Object.spec{replicas: variables.more, ?paused: optional.none()}}"}}"#,
        );
        assert_eq!(applied, Ok(Change::Apply(r#"{"spec":{"replicas":8}}"#.parse().unwrap())));
        let patched = made(
            r#"{"patchType":"JSONPatch","jsonPatch":{"expression":"object.metadata.labels.map(k, JSONPatch{op: 'remove', path: '/metadata/labels/' + jsonpatch.escapeKey(k)})"}}"#,
        );
        let expected = r#"[{"op":"remove","path":"/metadata/labels/a~1b"}]"#.parse().unwrap();
        assert_eq!(patched, Ok(Change::Patch(expected)));
        let failed = made(r#"{"patchType":"JSONPatch","jsonPatch":{"expression":"object.none"}}"#);
        assert!(failed.unwrap_err().contains("object.none"));
    }

    #[test]
    fn conditions_decide_whether_it_is_asked() {
        let spec = |condition: &str| {
            format!(
                r#"{{"matchConditions":[{{"name":"c","expression":"{condition}"}}],"validations":[{{"expression":"false"}}]}}"#
            )
        };
        assert_eq!(judged(&spec("object.spec.replicas > 10"), None), [""; 0]);
        assert_eq!(judged(&spec("object.spec.replicas > 5"), None).len(), 1);
    }
}
