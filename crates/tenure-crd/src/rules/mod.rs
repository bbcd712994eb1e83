//! The rules of a schema (`x-kubernetes-validations`): checked with the definition, compiled when first used, run on
//! objects within a budget. A rule that does not look at the old value is not run on what is unchanged.

mod escape;
mod estimate;
mod eval;
mod foreign;
mod macros;
mod place;
mod signatures;
mod types;
mod value;
mod zone;

pub use estimate::check_definition;
pub use eval::{Budget, Trouble, run};
pub use types::{AUTHORITY, Type, type_of};
pub use value::Val;

use super::{
    node::Node,
    path::SimplePath,
    validate::{Correlated, MOST_FAULTS},
};
use kube_cel::cel::{IdedExpr, parser::Parser};
use std::sync::OnceLock;
use tenure_meta::{FieldError, FieldPath, Row};
use tenure_value::{Text, Value};

/// How long an expression may be, in bytes.
const MOST_BYTES: usize = 16 << 10;
/// How long the message that an expression makes may be, in bytes.
const MOST_MESSAGE_BYTES: usize = 5 << 10;

/// The reasons that a rule may give.
const REASONS: [&str; 4] =
    ["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"];

/// A rule of a schema.
#[derive(Debug)]
pub struct Rule {
    pub source: Text,
    pub message: Text,
    pub message_expression: Text,
    pub reason: Text,
    pub field_path: Text,
    pub optional_old_self: bool,
    program: OnceLock<Result<Program, String>>,
}

/// A rule, parsed.
#[derive(Debug)]
pub struct Program {
    pub rule: IdedExpr,
    pub message: Option<IdedExpr>,
    /// Whether the rule compares with the old value.
    pub is_transition: bool,
}

impl Rule {
    pub fn new(rule: &Value) -> Rule {
        Rule {
            source: rule.text("rule"),
            message: rule.text("message"),
            message_expression: rule.text("messageExpression"),
            reason: rule.text("reason"),
            field_path: rule.text("fieldPath"),
            optional_old_self: rule.flag("optionalOldSelf"),
            program: OnceLock::new(),
        }
    }

    pub fn program(&self) -> Result<&Program, &str> {
        let compiled = self.program.get_or_init(|| {
            let rule = parse(&self.source)?;
            let is_transition = types::mentions(&rule, "oldSelf");
            // A message that does not parse is reported with the definition; here the plain one stands in.
            let message = Some(self.message_expression.trim()).filter(|text| !text.is_empty());
            let message = message.and_then(|text| parse(text).ok());
            Ok(Program { rule, message, is_transition })
        });
        compiled.as_ref().map_err(String::as_str)
    }

    /// Returns what is said when the rule does not hold.
    fn words(&self) -> String {
        match self.message.trim() {
            "" => format!("failed rule: {}", self.source.trim()),
            message => message.to_string(),
        }
    }
}

/// Parses an expression.
pub fn parse(source: &str) -> Result<IdedExpr, String> {
    if source.len() > MOST_BYTES {
        return Err(format!("the expression is longer than {MOST_BYTES} bytes"));
    }
    let parsed = Parser::new().enable_optional_syntax(true).parse(source).map_err(|errors| {
        let told = errors.errors.iter().map(|error| {
            let why = match error.msg.contains("Syntax error") {
                true => error.msg.clone(),
                false => format!("Syntax error: {}", error.msg),
            };
            let place = usize::try_from(error.pos.0).ok().zip(usize::try_from(error.pos.1).ok());
            place::told(source, place, &why)
        });
        told.collect::<Vec<_>>().join("\n")
    })?;
    macros::expand(parsed).map_err(|misfit| misfit.told(source))
}

/// Runs the rules of a node and of all below it.
pub fn check(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    path: &FieldPath<'_>,
    budget: &mut Budget,
    errors: &mut Vec<FieldError>,
) {
    if !node.rules_within || value.is_null() || errors.len() >= MOST_FAULTS {
        return;
    }
    let unchanged = old.is_some_and(|old| old == value);
    for rule in &node.rules {
        if budget.is_spent() {
            return;
        }
        check_rule(rule, node, value, old.filter(|old| !old.is_null()), unchanged, path, budget, errors);
    }
    match value {
        Value::Object(fields) => {
            let before = old.and_then(Value::as_object);
            for (name, value) in fields {
                let Some(of) = node.under(name) else { continue };
                let old = before.and_then(|before| before.get(name));
                check(of, value, old, &path.field(name), budget, errors);
            }
        }
        Value::Array(items) => {
            let Some(of) = node.items.as_deref() else { return };
            let correlated = Correlated::new(&node.list, old.and_then(Value::as_array));
            for (at, item) in items.iter().enumerate() {
                // What stands in an unchanged list is unchanged, whether or not its items have a past.
                let before =
                    correlated.before(at, item).or(Some(item).filter(|_| unchanged && !of.has_transitions()));
                check(of, item, before, &path.index(at), budget, errors);
            }
        }
        _ => {}
    }
}

#[expect(clippy::too_many_arguments, reason = "one step of one walk")]
fn check_rule(
    rule: &Rule,
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    unchanged: bool,
    path: &FieldPath<'_>,
    budget: &mut Budget,
    errors: &mut Vec<FieldError>,
) {
    let place = match SimplePath::parse(&rule.field_path) {
        Some(below) => {
            let below = below.names.join(".");
            let path = path.to_string();
            if path.is_empty() { below } else { format!("{path}.{below}") }
        }
        None => path.to_string(),
    };
    let program = match rule.program() {
        Ok(program) => program,
        Err(why) => {
            return errors.push(FieldError::invalid(
                place,
                &shown(value),
                &format!("{why} in rule: {}", rule.source),
            ));
        }
    };
    if !program.is_transition && unchanged {
        return;
    }
    let mut variables = vec![("self", Val::of(value, Some(node)))];
    if program.is_transition {
        match (old, rule.optional_old_self) {
            (None, false) => return,
            (Some(old), false) => variables.push(("oldSelf", Val::of(old, Some(node)))),
            (old, true) => {
                let old = old.map(|old| Box::new(Val::of(old, Some(node))));
                variables.push(("oldSelf", Val::Optional(old)));
            }
        }
    }
    let words = match eval::run(&program.rule, &variables, budget) {
        Ok(Val::Bool(true)) => return,
        Ok(Val::Bool(false)) => message_of(rule, program, &variables, budget),
        Ok(other) => {
            format!("a {} is not a result of a rule, true or false is: {}", other.type_word(), rule.source)
        }
        Err(Trouble::Error(why)) => {
            let named = Some(rule.message.trim()).filter(|message| !message.is_empty());
            format!("{why} evaluating rule: {}", named.unwrap_or_else(|| rule.source.trim()))
        }
        Err(Trouble::Cost) => {
            budget.exhaust();
            format!(
                "call cost exceeds limit for rule: {}; no further validation rules are run: make the value smaller, or the rule cheaper",
                rule.source
            )
        }
    };
    errors.push(match rule.reason.as_str() {
        "FieldValueForbidden" => FieldError::forbidden(place, &words),
        "FieldValueRequired" => FieldError::required(place, &words),
        "FieldValueDuplicate" => FieldError::duplicate(place, &shown(value)),
        _ => FieldError::invalid(place, &shown(value), &words),
    });
}

/// Returns the message that a rule makes, or the plain one where that fails.
fn message_of(
    rule: &Rule,
    program: &Program,
    variables: &[(&'static str, Val<'_>)],
    budget: &mut Budget,
) -> String {
    let made = program.message.as_ref().and_then(|of| message(eval::run(of, variables, budget).ok()?));
    made.unwrap_or_else(|| rule.words())
}

/// Returns the message that an expression made, if it can be one: a text of one line that is not too long.
pub fn message(made: Val<'_>) -> Option<String> {
    let Val::Text(text) = made else { return None };
    let fits = !text.trim().is_empty() && text.len() <= MOST_MESSAGE_BYTES && !text.contains('\n');
    fits.then(|| text.trim().to_string())
}

/// Objects and lists are named by their type, as they may be large.
fn shown(value: &Value) -> Value {
    match value {
        Value::Object(_) => Value::from("object"),
        Value::Array(_) => Value::from("array"),
        other => other.clone(),
    }
}

impl Node {
    /// Whether a rule here or below compares with the old value.
    pub fn has_transitions(&self) -> bool {
        let own = self.rules.iter().any(|rule| rule.program().is_ok_and(|program| program.is_transition));
        self.rules_within && (own || self.below().any(Node::has_transitions))
    }
}

/// Returns what is wrong with an expression that may use variables of these names, if something is; `is_right` tells
/// whether its result is of the type that is wanted.
pub fn expression_fault(source: &str, variables: &[&str], is_right: fn(&Type<'_>) -> bool) -> Option<String> {
    let parsed = match parse(source) {
        Ok(parsed) => parsed,
        Err(why) => return Some(format!("compilation failed: {why}")),
    };
    let mut scope: Vec<_> = variables.iter().map(|name| (name.to_string(), Type::Dyn)).collect();
    scope.push(("authorizer".into(), Type::Foreign(AUTHORITY)));
    match type_of(&parsed, &mut scope) {
        Err(misfit) => Some(format!("compilation failed: {}", misfit.told(source))),
        Ok(found) if !is_right(&found) => {
            Some(format!("must evaluate to another type than {}", found.word()))
        }
        Ok(_) => None,
    }
}
