//! The rules of a schema (`x-kubernetes-validations`): validated with the definition, compiled on first use,
//! evaluated on objects within a budget. A rule that does not use the old value is not evaluated on unchanged
//! values.

mod admission;
mod authorizer;
mod budget;
mod declare;
mod definition;

pub use admission::{admission_env, compile_expression, document_decl, message_env, with_policy_variable};
pub use authorizer::{AccessAttributes, Decide, Decision, authorizer, request_resource};
pub use budget::Budget;
pub use definition::check_definition;
pub use tenure_cel::{Env, Type, Val};

use super::{
    correlate::{Correlated, is_unchanged},
    node::{Node, NodeType},
    path::SimplePath,
    rule::{Program, Rule},
    validate::MOST_FAULTS,
};
use tenure_cel::Error;
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, FieldPath};
use tenure_value::Value;

/// The maximum length of a message from an expression, in bytes.
const MOST_MESSAGE_BYTES: usize = 5 << 10;

/// The valid reasons of a rule.
const REASONS: [&str; 4] =
    ["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"];

/// The evaluation of the rules of an object.
#[derive(Debug)]
pub struct Validation<'e> {
    budget: Budget,
    errors: &'e mut FieldErrors,
    /// Violations by values that did not change.
    warnings: Vec<String>,
    is_stopped: bool,
}

impl<'e> Validation<'e> {
    /// Evaluates the rules of a node and its descendants, and returns the warnings about values that are invalid, but were so before.
    pub fn run(node: &Node, value: &Value, old: Option<&Value>, errors: &'e mut FieldErrors) -> Vec<String> {
        let mut validation =
            Validation { budget: Budget::of_object(), errors, warnings: Vec::new(), is_stopped: false };
        validation.check(node, value, old, false, &FieldPath::root());
        validation.warnings
    }

    /// Evaluates the rules of a node and its descendants; a value without an old one is as unchanged as what it is in.
    fn check(
        &mut self,
        node: &Node,
        value: &Value,
        old: Option<&Value>,
        is_unchanged_above: bool,
        path: &FieldPath<'_>,
    ) {
        let is_done = || self.is_stopped || self.errors.len() + self.warnings.len() >= MOST_FAULTS;
        if !node.rules_within || value.is_null() || is_done() {
            return;
        }
        let unchanged = old.map_or(is_unchanged_above, |old| is_unchanged(node, value, old));
        for rule in &node.rules {
            self.check_rule(rule, node, value, old.filter(|old| !old.is_null()), unchanged, path);
            if self.is_stopped {
                return;
            }
        }
        match value {
            Value::Object(fields) => {
                let before = old.and_then(Value::as_object);
                for (name, value) in fields {
                    let Some(below) = node.under(name) else { continue };
                    let old = before.and_then(|before| before.get(name));
                    let path = if node.field(name).is_some() { path.field(name) } else { path.key(name) };
                    self.check(below, value, old, unchanged, &path);
                }
            }
            Value::Array(items) => {
                let Some(item_node) = node.items.as_deref() else { return };
                // The items of a value that is not declared as a list have no type.
                if node.node_type != NodeType::Array && item_node.rules_within {
                    let detail = "rule compiler initialization error: failed to convert to declType for CEL validation rules";
                    for at in 0..items.len().min(MOST_FAULTS) {
                        self.errors.push(FieldError::invalid(path.index(at), &type_name(item_node), detail));
                    }
                    return;
                }
                let correlated = Correlated::new(&node.list, old.and_then(Value::as_array));
                for (at, item) in items.iter().enumerate() {
                    self.check(item_node, item, correlated.before(at, item), unchanged, &path.index(at));
                }
            }
            _ => {}
        }
    }

    fn check_rule(
        &mut self,
        rule: &Rule,
        node: &Node,
        value: &Value,
        old: Option<&Value>,
        is_unchanged: bool,
        path: &FieldPath<'_>,
    ) {
        // What cannot be evaluated is reported with the type of the value.
        let fail = |detail: String| FieldError::invalid(path, &type_name(node), detail);
        let program = match rule.program(node.decl()) {
            Ok(program) => program,
            Err(why) => return self.errors.push(fail(format!("rule compile error: {why}"))),
        };
        if program.is_transition && old.is_none() && !rule.optional_old_self {
            return;
        }
        let error = match self.evaluate(rule, program, node, value, old) {
            Ok(None) => return,
            Ok(Some(message)) => violation(rule, value, path, &message),
            Err(Failure::Rule(why)) => return self.errors.push(fail(why)),
            Err(Failure::Budget(why)) => {
                self.is_stopped = true;
                return self.errors.push(fail(why));
            }
            Err(Failure::Message(why)) => {
                self.is_stopped = true;
                FieldError::invalid(place(rule, path), &type_name(node), why)
            }
        };
        match is_unchanged && !program.is_transition {
            true => self.warnings.push(error.to_string()),
            false => self.errors.push(error),
        }
    }

    /// Evaluates a rule and returns its message if it is violated.
    fn evaluate(
        &mut self,
        rule: &Rule,
        program: &Program,
        node: &Node,
        value: &Value,
        old: Option<&Value>,
    ) -> Result<Option<String>, Failure> {
        let decl = node.decl();
        let read = |value| Val::from_document(value, decl).map_err(|error| Failure::of(rule, &error));
        let old = old.map(read).transpose()?;
        let old = match rule.optional_old_self {
            true => Val::optional(old),
            false => old.unwrap_or(Val::Null),
        };
        let variables = [read(value)?, old];
        let result = self.budget.run(&program.rule, &variables).map_err(|error| match error {
            Error::CostLimit | Error::SizeLimit(_) if self.budget.is_spent() => {
                Failure::Budget(format!("validation failed due to {OUT_OF_BUDGET}"))
            }
            Error::CostLimit | Error::SizeLimit(_) => Failure::Budget(format!(
                "'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                rule.name()
            )),
            error => Failure::of(rule, &error),
        })?;
        match result {
            Val::Bool(true) => return Ok(None),
            Val::Bool(false) => {}
            other => {
                let why = format!("a {} is not a result of a rule", other.type_name());
                return Err(Failure::of(rule, &Error::evaluate(why)));
            }
        }
        let Some(Ok(expression)) = &program.message else { return Ok(Some(rule.words())) };
        match self.budget.run(expression, &variables) {
            Ok(made) => Ok(Some(message(made).unwrap_or_else(|| rule.words()))),
            Err(Error::CostLimit | Error::SizeLimit(_)) => {
                Err(Failure::Message(match self.budget.is_spent() {
                    true => format!("messageExpression evaluation failed due to {OUT_OF_BUDGET}"),
                    false => format!(
                        "no further validation rules will be run due to call cost exceeds limit for messageExpression: {:?}",
                        rule.message_expression
                    ),
                }))
            }
            Err(_) => Ok(Some(rule.words())),
        }
    }
}

const OUT_OF_BUDGET: &str = "running out of cost budget, no further validation rules will be run";

/// Why a rule has no result.
enum Failure {
    /// It cannot be evaluated on this value.
    Rule(String),
    /// It would cost too much; no other rule is evaluated.
    Budget(String),
    /// It is violated, and its message would cost too much; no other rule is evaluated.
    Message(String),
}

impl Failure {
    fn of(rule: &Rule, error: &Error) -> Failure {
        let (error, rule) = (error.to_string(), rule.name());
        Failure::Rule(match error.starts_with("no such overload") {
            true => format!(
                "'{error}': call arguments did not match a supported operator, function or macro signature for rule: {rule}"
            ),
            false => format!("{error} evaluating rule: {rule}"),
        })
    }
}

/// Returns where a violation of a rule is reported.
fn place(rule: &Rule, path: &FieldPath<'_>) -> String {
    let path = path.to_string();
    match SimplePath::parse(&rule.field_path) {
        Some(below) if path.is_empty() => below.names.join("."),
        Some(below) => format!("{path}.{}", below.names.join(".")),
        None => path,
    }
}

/// Returns the error of a violated rule. Objects and lists are not shown, since they may be large.
fn violation(rule: &Rule, value: &Value, path: &FieldPath<'_>, message: &str) -> FieldError {
    let place = place(rule, path);
    let is_shown = !matches!(value, Value::Object(_) | Value::Array(_));
    match rule.reason.as_str() {
        "FieldValueForbidden" => FieldError::forbidden(place, message),
        "FieldValueRequired" => FieldError::required(place, message),
        "FieldValueDuplicate" if is_shown => FieldError::duplicate(place, value),
        "FieldValueDuplicate" => {
            FieldError::with_message(FieldErrorKind::Duplicate, place, "Duplicate value")
        }
        _ if is_shown => FieldError::invalid(place, value, message),
        _ => FieldError::with_message(FieldErrorKind::Invalid, place, format!("Invalid value: {message}")),
    }
}

/// Returns the name of the type that the schema declares.
fn type_name(node: &Node) -> Value {
    match node.node_type {
        NodeType::IntOrString => Value::from(""),
        other => Value::from(other.word()),
    }
}

/// Returns the message of an expression if it is valid: a single line that is not too long.
pub fn message(made: Val<'_>) -> Option<String> {
    let Val::String(text) = made else { return None };
    let text = text.trim();
    let fits = !text.is_empty() && text.len() <= MOST_MESSAGE_BYTES && !text.contains('\n');
    fits.then(|| text.to_string())
}
