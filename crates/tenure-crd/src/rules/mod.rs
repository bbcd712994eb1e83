//! The rules of a schema (`x-kubernetes-validations`): validated with the definition, compiled on first use,
//! evaluated on objects within a budget. A rule that does not use the old value is not evaluated on unchanged
//! values.

mod admission;
mod authorizer;
mod budget;
mod declare;
mod definition;

pub use admission::{OTHER_TYPE, admission_env, expression_fault};
pub use authorizer::{AccessAttributes, Decide, Decision, authorizer, request_resource};
pub use budget::Budget;
pub use definition::check_definition;
pub use tenure_cel::{Type, Val};

use super::{
    correlate::{Correlated, is_unchanged},
    node::{Node, NodeType},
    path::SimplePath,
    rule::{Program, Rule},
    validate::MOST_FAULTS,
};
use tenure_cel::Error;
use tenure_meta::{FieldError, FieldErrors, FieldPath};
use tenure_value::Value;

/// The maximum length of a message from an expression, in bytes.
const MOST_MESSAGE_BYTES: usize = 5 << 10;

/// The valid reasons of a rule.
const REASONS: [&str; 4] =
    ["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"];

/// Evaluates the rules of a node and its descendants.
pub fn check(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    path: &FieldPath<'_>,
    budget: &mut Budget,
    errors: &mut FieldErrors,
) {
    if !node.rules_within || value.is_null() || errors.len() >= MOST_FAULTS {
        return;
    }
    let unchanged = old.is_some_and(|old| is_unchanged(node, value, old));
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
                let Some(below) = node.under(name) else { continue };
                let old = before.and_then(|before| before.get(name));
                check(below, value, old, &path.field(name), budget, errors);
            }
        }
        Value::Array(items) => {
            let Some(item_node) = node.items.as_deref() else { return };
            // The items of a value that is not declared as a list have no type.
            if node.node_type != NodeType::Array && item_node.rules_within {
                let detail = "rule compiler initialization error: failed to convert to declType for CEL validation rules";
                for (at, item) in items.iter().enumerate().take(MOST_FAULTS) {
                    errors.push(FieldError::invalid(path.index(at), &shown(item), detail));
                }
                return;
            }
            let correlated = Correlated::new(&node.list, old.and_then(Value::as_array));
            for (at, item) in items.iter().enumerate() {
                // The content of an unchanged list is unchanged, whether or not its items can be matched with
                // old ones.
                let before = correlated
                    .before(at, item)
                    .or(Some(item).filter(|_| unchanged && !item_node.has_transitions()));
                check(item_node, item, before, &path.index(at), budget, errors);
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
    errors: &mut FieldErrors,
) {
    let place = match SimplePath::parse(&rule.field_path) {
        Some(below) => {
            let below = below.names.join(".");
            let path = path.to_string();
            if path.is_empty() { below } else { format!("{path}.{below}") }
        }
        None => path.to_string(),
    };
    let program = match rule.program(node.decl()) {
        Ok(program) => program,
        Err(why) => {
            return errors.push(FieldError::invalid(
                place,
                &shown(value),
                format!("{why} in rule: {}", rule.source),
            ));
        }
    };
    if !program.is_transition && unchanged {
        return;
    }
    if program.is_transition && old.is_none() && !rule.optional_old_self {
        return;
    }
    let words = match evaluate(rule, program, node, value, old, budget) {
        Ok(None) => return,
        Ok(Some(words)) => words,
        Err(Error::CostLimit | Error::SizeLimit(_)) => {
            budget.exhaust();
            format!(
                "call cost exceeds limit for rule: {}; no further validation rules are run: make the value smaller, or the rule cheaper",
                rule.source
            )
        }
        Err(error) => {
            let named = Some(rule.message.trim()).filter(|message| !message.is_empty());
            format!("{error} evaluating rule: {}", named.unwrap_or_else(|| rule.source.trim()))
        }
    };
    errors.push(match rule.reason.as_str() {
        "FieldValueForbidden" => FieldError::forbidden(place, &words),
        "FieldValueRequired" => FieldError::required(place, &words),
        "FieldValueDuplicate" => FieldError::duplicate(place, &shown(value)),
        _ => FieldError::invalid(place, &shown(value), &words),
    });
}

/// Evaluates a rule and returns its message if it is violated.
fn evaluate(
    rule: &Rule,
    program: &Program,
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    budget: &mut Budget,
) -> Result<Option<String>, Error> {
    let decl = node.decl();
    let old = old.map(|old| Val::from_document(old, decl)).transpose()?;
    let old = match rule.optional_old_self {
        true => Val::optional(old),
        false => old.unwrap_or(Val::Null),
    };
    let variables = [Val::from_document(value, decl)?, old];
    match budget.run(&program.rule, &variables)? {
        Val::Bool(true) => Ok(None),
        Val::Bool(false) => {
            let made = match &program.message {
                Some(Ok(expression)) => budget.run(expression, &variables).ok().and_then(message),
                _ => None,
            };
            Ok(Some(made.unwrap_or_else(|| rule.words())))
        }
        other => Err(Error::evaluate(format!("a {} is not a result of a rule", other.type_name()))),
    }
}

/// Returns the message of an expression if it is valid: a single line that is not too long.
pub fn message(made: Val<'_>) -> Option<String> {
    let Val::String(text) = made else { return None };
    let fits = !text.trim().is_empty() && text.len() <= MOST_MESSAGE_BYTES && !text.contains('\n');
    fits.then(|| text.trim().to_string())
}

/// Objects and lists are represented by their type, since they may be large.
fn shown(value: &Value) -> Value {
    match value {
        Value::Object(_) => Value::from("object"),
        Value::Array(_) => Value::from("array"),
        other => other.clone(),
    }
}

impl Node {
    /// Whether a rule of this node or a descendant is a transition rule.
    pub fn has_transitions(&self) -> bool {
        let own = self
            .rules
            .iter()
            .any(|rule| rule.program(self.decl()).is_ok_and(|program| program.is_transition));
        self.rules_within && (own || self.below().any(Node::has_transitions))
    }
}
