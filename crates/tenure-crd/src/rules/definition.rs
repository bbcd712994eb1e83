//! Validation of the rules of a definition: they compile, return a boolean, and do not cost too much on the
//! largest object that the schema allows.

use super::REASONS;
use crate::rule::{MOST_BYTES, Rule};
use crate::{
    node::{Additional, ListKind, Node, NodeType},
    path::{Brackets, SimplePath},
};
use tenure_cel::excess;
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, FieldPath, ValueExt};
use tenure_value::{Value, json};

/// The maximum estimated cost of a rule, over all values that it is evaluated for.
const PER_RULE: u64 = 10_000_000;
/// The maximum estimated cost of all rules of a schema.
const PER_SCHEMA: u64 = 100_000_000;
/// The number of rules reported when a schema costs too much, among those that cost at least a hundredth of
/// the limit.
const MOST_EXPENSIVE: usize = 4;
/// Advice about costs.
const ADVICE: &str = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

/// Validates the rules of a schema.
pub fn check_definition(node: &Node, schema: &Value, root: &str, errors: &mut FieldErrors) {
    let path = FieldPath::root();
    let mut check = Check { errors, total: 0, expensive: Vec::new() };
    check.node(node, schema, &Place { count: Some(1), uncorrelatable: None }, &path.field(root));
    if check.total > PER_SCHEMA {
        for (path, _) in std::mem::take(&mut check.expensive) {
            let detail =
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            check.errors.push(FieldError::forbidden(path, detail));
        }
        let detail = format!(
            "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of {} {ADVICE}",
            excess(check.total, PER_SCHEMA)
        );
        check.errors.push(FieldError::forbidden(root, &detail));
    }
}

/// The context of all values of a node.
#[derive(Clone)]
struct Place {
    /// The maximum number of these values in an object; `None` if an enclosing list or map is unbounded.
    count: Option<u64>,
    /// The enclosing list whose items have no old value.
    uncorrelatable: Option<String>,
}

impl Place {
    /// Returns the context of children that occur up to `count` times.
    fn below(&self, most: Option<u64>) -> Place {
        let count = self.count.zip(most).map(|(count, most)| count.saturating_mul(most));
        Place { count, ..self.clone() }
    }
}

struct Check<'f> {
    errors: &'f mut FieldErrors,
    total: u64,
    /// The most expensive rules, in descending order.
    expensive: Vec<(String, u64)>,
}

impl Check<'_> {
    fn node(&mut self, node: &Node, schema: &Value, place: &Place, path: &FieldPath<'_>) {
        if !node.rules_within {
            return;
        }
        let marker = path.field("x-kubernetes-validations");
        let start = self.errors.len();
        for (at, rule) in node.rules.iter().enumerate() {
            check_words(rule, schema, &marker.index(at), self.errors);
        }
        // Expressions are not compiled where something is wrong beside them.
        let is_valid = self.errors.len() == start;
        let rules = node.rules.iter().zip(schema.items("x-kubernetes-validations")).enumerate();
        for (at, (rule, written)) in rules.filter(|_| is_valid) {
            self.rule(rule, written, node, place, &marker.index(at));
        }
        let empty = Value::Null;
        let bounds = node.bounds.as_deref();
        for (name, below) in &node.fields {
            let schema = schema.at(["properties", name.as_str()]).unwrap_or(&empty);
            self.node(below, schema, place, &path.field("properties").key(name));
        }
        if let Additional::Each(below) = &node.additional {
            let schema = schema.get("additionalProperties").unwrap_or(&empty);
            let place = place.below(bounds.and_then(|bounds| bounds.max_properties));
            self.node(below, schema, &place, &path.field("additionalProperties"));
        }
        if let Some(below) = node.items.as_deref().filter(|_| node.node_type == NodeType::Array) {
            let schema = schema.get("items").unwrap_or(&empty);
            let mut place = place.below(bounds.and_then(|bounds| bounds.max_items));
            if !matches!(node.list, ListKind::Keyed(_)) && place.uncorrelatable.is_none() {
                place.uncorrelatable = Some(path.to_string());
            }
            self.node(below, schema, &place, &path.field("items"));
        }
    }

    fn rule(&mut self, rule: &Rule, written: &Value, node: &Node, place: &Place, path: &FieldPath<'_>) {
        let program = match rule.program(node.decl()) {
            Ok(program) => program,
            Err(why) => return self.errors.push(invalid(&path.field("rule"), written, why)),
        };
        let count = place.count.or_else(|| node.decl().map(|decl| decl.max_count())).unwrap_or(1);
        let cost = program.rule.estimated_cost().saturating_mul(count);
        self.charge(cost, "estimated rule cost", &path.field("rule"));
        match &program.message {
            Some(Err(why)) => self.errors.push(invalid(&path.field("messageExpression"), written, why)),
            Some(Ok(message)) => {
                let path = path.field("messageExpression");
                self.charge(message.estimated_cost(), "estimated messageExpression cost", &path);
            }
            None => {}
        }
        match (&place.uncorrelatable, program.is_transition) {
            (Some(within), true) => {
                let source = Value::from(rule.source.clone());
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
                );
                self.errors.push(FieldError::invalid(path.field("rule"), &source, &detail));
            }
            (_, false) => {
                if let Some(given) = written.get("optionalOldSelf").filter(|given| !given.is_null()) {
                    let detail = "may not be set if oldSelf is not used in rule";
                    self.errors.push(FieldError::invalid(path.field("optionalOldSelf"), given, detail));
                }
            }
            (None, true) => {}
        }
    }

    fn charge(&mut self, cost: u64, what: &str, path: &FieldPath<'_>) {
        if cost > PER_RULE {
            let detail = format!("{what} exceeds budget by factor of {} {ADVICE}", excess(cost, PER_RULE));
            self.errors.push(FieldError::forbidden(path, &detail));
        }
        self.total = self.total.saturating_add(cost);
        if cost >= PER_SCHEMA / 100 {
            let at = self.expensive.partition_point(|(_, other)| *other >= cost);
            self.expensive.insert(at, (path.to_string(), cost));
            self.expensive.truncate(MOST_EXPENSIVE);
        }
    }
}

/// Validates what a rule says beside its expression.
fn check_words(rule: &Rule, schema: &Value, path: &FieldPath<'_>, errors: &mut FieldErrors) {
    let breaks = |text: &str| text.contains(['\n', '\r']);
    let message = Value::from(rule.message.clone());
    if rule.source.trim().is_empty() {
        errors.push(FieldError::required(path.field("rule"), "rule is not specified"));
    } else if !rule.message.is_empty() && rule.message.trim().is_empty() {
        errors.push(FieldError::invalid(path.field("message"), &message, "must be non-empty if specified"));
    } else if breaks(rule.message.trim()) {
        errors.push(FieldError::invalid(path.field("message"), &message, "must not contain line breaks"));
    } else if breaks(rule.source.trim()) && rule.message.is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(path.field("message"), detail));
    }
    if rule.source.len() > MOST_BYTES {
        errors.push(FieldError::too_long(path.field("rule"), MOST_BYTES as u64));
    }
    if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(path.field("messageExpression"), detail));
    }
    if !rule.reason.is_empty() && !REASONS.contains(&rule.reason.as_str()) {
        let mut allowed = REASONS.map(Value::from);
        allowed.sort();
        errors.push(FieldError::not_supported(path.field("reason"), &rule.reason.clone().into(), &allowed));
    }
    let field_path = Value::from(rule.field_path.clone());
    let mut invalid =
        |detail: &str| errors.push(FieldError::invalid(path.field("fieldPath"), &field_path, detail));
    if !rule.field_path.is_empty() && rule.field_path.trim().is_empty() {
        invalid("must be non-empty if specified");
    }
    if breaks(&rule.field_path) {
        invalid("must not contain line breaks");
    }
    if !rule.field_path.is_empty() && SimplePath::find(&rule.field_path, schema, Brackets::Allowed).is_err() {
        invalid("must be a valid path");
    }
}

/// Returns the error of a rule, which contains the complete rule as in Kubernetes.
fn invalid(path: &FieldPath<'_>, rule: &Value, detail: &str) -> FieldError {
    let text = |name: &str| quoted(&rule.text(name));
    let reason = match rule.text("reason").as_str() {
        "" => "null".to_string(),
        reason => quoted(reason),
    };
    let optional = match rule.get("optionalOldSelf") {
        Some(Value::Bool(flag)) => flag.to_string(),
        _ => "null".to_string(),
    };
    let shown = format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{reason},\"FieldPath\":{},\"OptionalOldSelf\":{optional}}}",
        text("rule"),
        text("message"),
        text("messageExpression"),
        text("fieldPath"),
    );
    FieldError::with_message(FieldErrorKind::Invalid, path, format!("Invalid value: {shown}: {detail}"))
}

/// Quotes a string as JSON that is safe in HTML.
fn quoted(text: &str) -> String {
    let quoted = json::to_string(&Value::from(text));
    quoted.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
