//! The rules of a schema (`x-kubernetes-validations`): checked with the definition, compiled when first used, run on
//! objects within a budget. A rule that does not look at the old value is not run on what is unchanged.

mod admission;
mod authorizer;
mod budget;
mod declare;
mod definition;

pub use admission::{admission_env, expression_fault};
pub use authorizer::{AccessAttributes, Decide, Decision, authorizer, request_resource};
pub use budget::Budget;
pub use definition::check_definition;
pub use tenure_cel::{Type, Val};

use super::{
    node::Node,
    path::SimplePath,
    validate::{Correlated, MOST_FAULTS},
};
use std::sync::OnceLock;
use tenure_cel::{Decl, Env, Error};
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

/// A rule, compiled.
#[derive(Debug)]
pub struct Program {
    pub rule: tenure_cel::Program,
    /// The message that the rule makes; why it cannot, where its expression is wrong.
    pub message: Option<Result<tenure_cel::Program, String>>,
    /// Whether the rule compares with the old value.
    pub is_transition: bool,
}

/// The index of `oldSelf` among the variables; `self` comes first.
const OLD_SELF: usize = 1;

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

    /// Returns the rule compiled for the values of its node.
    pub fn program(&self, node: &Node) -> Result<&Program, &str> {
        self.program.get_or_init(|| self.compile(node)).as_ref().map_err(String::as_str)
    }

    fn compile(&self, node: &Node) -> Result<Program, String> {
        if self.source.len() > MOST_BYTES {
            return Err(format!("compilation failed: the expression is longer than {MOST_BYTES} bytes"));
        }
        let Some(decl) = node.decl() else {
            return Err("compilation failed: the schema does not say what the values here are".into());
        };
        let old = match self.optional_old_self {
            true => Decl::of(Type::optional(decl.ty())),
            false => decl.clone(),
        };
        let env = Env::kubernetes().with_variable("self", decl.clone()).with_variable("oldSelf", old);
        let rule = env.compile(&self.source).map_err(|error| compile_detail("", &error))?;
        if !matches!(rule.result_type(), Type::Bool) {
            return Err("cel expression must evaluate to a bool".into());
        }
        let message = (!self.message_expression.trim().is_empty()).then(|| {
            let message = env.compile(&self.message_expression);
            let message = message.map_err(|error| compile_detail("messageExpression ", &error))?;
            match message.result_type() {
                Type::String => Ok(message),
                _ => Err("messageExpression must evaluate to a string".to_string()),
            }
        });
        let is_transition = rule.reads(OLD_SELF);
        Ok(Program { rule, message, is_transition })
    }

    /// Returns what is said when the rule does not hold.
    fn words(&self) -> String {
        match self.message.trim() {
            "" => format!("failed rule: {}", self.source.trim()),
            message => message.to_string(),
        }
    }
}

/// Says why an expression cannot be compiled.
fn compile_detail(what: &str, error: &Error) -> String {
    match error {
        Error::Compile(issues) => format!("{what}compilation failed: {issues}"),
        other if what.is_empty() => format!("program instantiation failed: {other}"),
        other => format!("{what}instantiation failed: {other}"),
    }
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
    let program = match rule.program(node) {
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

/// Runs a rule and returns what is said when it does not hold.
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

/// Returns the message that an expression made, if it can be one: a text of one line that is not too long.
pub fn message(made: Val<'_>) -> Option<String> {
    let Val::String(text) = made else { return None };
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
        let own = self.rules.iter().any(|rule| rule.program(self).is_ok_and(|program| program.is_transition));
        self.rules_within && (own || self.below().any(Node::has_transitions))
    }
}
