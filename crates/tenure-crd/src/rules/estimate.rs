//! Checks the rules of a definition: that they parse, that the fields they read exist, that they give true or false,
//! and that they cannot cost too much on the largest object that the schema allows.

use super::{
    MOST_BYTES, REASONS, Rule, macros, parse,
    types::{Scope, Type, type_of},
};
use crate::{node::Additional, node::ListKind, node::Node, node::NodeType, path::SimplePath};
use kube_cel::cel::{
    IdedExpr,
    common::ast::{EntryExpr, Expr, LiteralValue, operators},
};
use tenure_meta::{FieldError, FieldPath, Row};
use tenure_value::Value;

/// What one rule may cost at most, on all the values that it is run on.
const PER_RULE: u64 = 10_000_000;
/// What all rules of a schema may cost at most.
const PER_SCHEMA: u64 = 100_000_000;
/// The largest request, in bytes; nothing in it can be larger.
const REQUEST_BYTES: u64 = 3 << 20;

/// Checks the rules of a schema.
pub fn check_definition(node: &Node, schema: &Value, root: &str, errors: &mut Vec<FieldError>) {
    let path = FieldPath::root();
    let mut check = Check { errors, total: 0 };
    check.node(node, schema, 1, Past::Known, &path.field(root));
    if check.total > PER_SCHEMA {
        let detail = format!(
            "x-kubernetes-validations estimated cost total for entire OpenAPIv3 schema exceeds budget by factor of {} (try simplifying the rules, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
            factor(check.total, PER_SCHEMA)
        );
        check.errors.push(FieldError::forbidden(root, &detail));
    }
}

/// Whether a value is found in the old object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Past {
    Known,
    /// It stands in a list whose items are not told apart.
    Unknown,
}

struct Check<'f> {
    errors: &'f mut Vec<FieldError>,
    total: u64,
}

impl Check<'_> {
    /// Checks a node of which a request can hold so many values.
    fn node(&mut self, node: &Node, schema: &Value, count: u64, past: Past, path: &FieldPath<'_>) {
        if !node.rules_within {
            return;
        }
        let marker = path.field("x-kubernetes-validations");
        for (at, (rule, written)) in
            node.rules.iter().zip(schema.items("x-kubernetes-validations")).enumerate()
        {
            self.rule(rule, written, node, count, past, &marker.index(at));
        }
        let empty = Value::Null;
        for (name, below) in &node.fields {
            let schema = schema.at(["properties", name.as_str()]).unwrap_or(&empty);
            self.node(below, schema, count, past, &path.field("properties").key(name));
        }
        if let Additional::Each(below) = &node.additional {
            let schema = schema.get("additionalProperties").unwrap_or(&empty);
            self.node(
                below,
                schema,
                count.saturating_mul(most(node)),
                past,
                &path.field("additionalProperties"),
            );
        }
        if let Some(below) = node.items.as_deref() {
            let schema = schema.get("items").unwrap_or(&empty);
            let past = if matches!(node.list, ListKind::Keyed(_)) { past } else { Past::Unknown };
            self.node(below, schema, count.saturating_mul(most(node)), past, &path.field("items"));
        }
    }

    fn rule(
        &mut self,
        rule: &Rule,
        written: &Value,
        node: &Node,
        count: u64,
        past: Past,
        path: &FieldPath<'_>,
    ) {
        let source = Value::from(rule.source.clone());
        self.words(rule, written, node, path);
        if rule.source.trim().is_empty() {
            return self.errors.push(FieldError::required(path.field("rule"), "rule is not specified"));
        }
        let failed = |why: &str| format!("compilation failed: {why}");
        let program = match rule.program() {
            Ok(program) => program,
            Err(why) => {
                return self.errors.push(FieldError::invalid(path.field("rule"), &source, &failed(why)));
            }
        };
        if program.is_transition && past == Past::Unknown {
            let detail = "oldSelf cannot be used on the uncorrelatable portion of the schema: items of lists that are not of x-kubernetes-list-type map have no old value";
            self.errors.push(FieldError::invalid(path.field("rule"), &source, detail));
        }
        if rule.optional_old_self && !program.is_transition {
            let detail = "may not be set if oldSelf is not used in rule";
            self.errors.push(FieldError::invalid(path.field("optionalOldSelf"), &true.into(), detail));
        }
        let old = match rule.optional_old_self {
            true => Type::Optional(Box::new(Type::of(node))),
            false => Type::of(node),
        };
        let mut scope: Scope<'_> = vec![("self".into(), Type::of(node)), ("oldSelf".into(), old)];
        match type_of(&program.rule, &mut scope) {
            Ok(Type::Bool | Type::Dyn) => {}
            Ok(_) => {
                self.errors.push(FieldError::invalid(path.field("rule"), &source, "must evaluate to a bool"))
            }
            Err(misfit) => {
                let why = failed(&misfit.told(&rule.source));
                return self.errors.push(FieldError::invalid(path.field("rule"), &source, &why));
            }
        }
        let cost = Estimate { scope: scope.clone() }.of(&program.rule, &mut Sizes::around(node)).cost;
        self.charge(cost.saturating_mul(count), "estimated rule cost", &path.field("rule"));
        if !rule.message_expression.is_empty() {
            self.message(rule, scope, node, count, &path.field("messageExpression"));
        }
    }

    fn message<'n>(
        &mut self,
        rule: &Rule,
        mut scope: Scope<'n>,
        node: &'n Node,
        count: u64,
        path: &FieldPath<'_>,
    ) {
        let source = Value::from(rule.message_expression.clone());
        let message = match parse(&rule.message_expression) {
            Ok(message) => message,
            Err(why) => {
                let detail = format!("messageExpression compilation failed: {why}");
                return self.errors.push(FieldError::invalid(path, &source, &detail));
            }
        };
        match type_of(&message, &mut scope) {
            Ok(Type::Text | Type::Dyn) => {}
            Ok(_) => {
                self.errors.push(FieldError::invalid(
                    path,
                    &source,
                    "messageExpression must evaluate to a string",
                ));
            }
            Err(misfit) => {
                let why = misfit.told(&rule.message_expression);
                let detail = format!("messageExpression compilation failed: {why}");
                return self.errors.push(FieldError::invalid(path, &source, &detail));
            }
        }
        let cost = Estimate { scope }.of(&message, &mut Sizes::around(node)).cost;
        self.charge(cost.saturating_mul(count), "estimated messageExpression cost", path);
    }

    fn charge(&mut self, cost: u64, what: &str, path: &FieldPath<'_>) {
        self.total = self.total.saturating_add(cost);
        if cost > PER_RULE {
            let detail = format!(
                "{what} exceeds budget by factor of {} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)",
                factor(cost, PER_RULE)
            );
            self.errors.push(FieldError::forbidden(path, &detail));
        }
    }

    /// Checks what stands beside the expression.
    fn words(&mut self, rule: &Rule, written: &Value, node: &Node, path: &FieldPath<'_>) {
        let message = Value::from(rule.message.clone());
        let given = |name: &str| written.get(name).is_some_and(|value| !value.is_null());
        if given("message") && rule.message.trim().is_empty() {
            self.errors.push(FieldError::invalid(
                path.field("message"),
                &message,
                "message must be non-empty if specified",
            ));
        }
        if rule.message.trim().contains('\n') {
            self.errors.push(FieldError::invalid(
                path.field("message"),
                &message,
                "message must not contain line breaks",
            ));
        }
        if rule.source.trim().contains('\n') && rule.message.is_empty() && rule.message_expression.is_empty()
        {
            let detail = "message must be specified if rule contains line breaks";
            self.errors.push(FieldError::required(path.field("message"), detail));
        }
        if rule.source.len() > MOST_BYTES {
            self.errors.push(FieldError::too_long(path.field("rule"), MOST_BYTES as u64));
        }
        if !rule.reason.is_empty() && !REASONS.contains(&rule.reason.as_str()) {
            let allowed = REASONS.map(Value::from);
            self.errors.push(FieldError::not_supported(
                path.field("reason"),
                &rule.reason.clone().into(),
                &allowed,
            ));
        }
        if !rule.field_path.is_empty() {
            let wanted = SimplePath::parse(&rule.field_path);
            let found =
                wanted.map(|path| path.names.iter().try_fold(node, |node, name| node.under(name)).is_some());
            let detail = match found {
                Some(true) => return,
                Some(false) => "fieldPath must be a valid path: it does not refer to a field of the schema",
                None => "fieldPath must be a path of names below this place, such as .foo.bar",
            };
            let value = rule.field_path.clone().into();
            self.errors.push(FieldError::invalid(path.field("fieldPath"), &value, detail));
        }
    }
}

fn factor(cost: u64, budget: u64) -> String {
    match cost / budget {
        times if times >= 100 => "more than 100x".into(),
        times => format!("{times}.{}x", cost % budget * 10 / budget),
    }
}

/// Returns how many items, entries or characters a value of a node can have in a request.
fn most(node: &Node) -> u64 {
    let bounds = node.bounds.as_deref();
    match node.of {
        NodeType::Array => {
            let item = node.items.as_deref().map_or(1, least_bytes);
            bounds.and_then(|bounds| bounds.max_items).unwrap_or(REQUEST_BYTES / (item + 1))
        }
        NodeType::Object => match &node.additional {
            Additional::Each(value) => bounds
                .and_then(|bounds| bounds.max_properties)
                .unwrap_or(REQUEST_BYTES / (least_bytes(value) + 4)),
            _ => node.fields.len() as u64,
        },
        NodeType::String => {
            let longest = bounds.and_then(|bounds| bounds.values.as_ref()).map(|values| {
                values.iter().map(|value| value.as_str().map_or(0, str::len) as u64).max().unwrap_or(0)
            });
            let known = match node.format.as_str() {
                "date-time" => Some(35),
                "date" => Some(10),
                "uuid" | "ipv6" => Some(45),
                "ipv4" => Some(15),
                _ => None,
            };
            longest.or(bounds.and_then(|bounds| bounds.max_length)).or(known).unwrap_or(REQUEST_BYTES)
        }
        _ => 1,
    }
}

/// Returns how many bytes a value takes at least.
fn least_bytes(node: &Node) -> u64 {
    match node.of {
        NodeType::Array | NodeType::String => 2,
        NodeType::Object => {
            let required = node.required.iter().map(|name| {
                name.len() as u64
                    + 4
                    + node
                        .field(name)
                        .map_or(1, |below| if below.default.is_some() { 0 } else { least_bytes(below) })
            });
            2 + required.sum::<u64>()
        }
        NodeType::Boolean => 4,
        _ => 1,
    }
}

/// What evaluating costs at most, and how large the result is.
#[derive(Clone, Copy)]
struct Cost {
    cost: u64,
    size: u64,
}

/// How large the variables are.
struct Sizes(Vec<(String, u64)>);

impl Sizes {
    fn around(node: &Node) -> Sizes {
        Sizes(vec![("self".into(), most(node)), ("oldSelf".into(), most(node))])
    }
}

struct Estimate<'n> {
    scope: Scope<'n>,
}

impl<'n> Estimate<'n> {
    fn of(&mut self, expression: &IdedExpr, sizes: &mut Sizes) -> Cost {
        match &expression.expr {
            Expr::Literal(LiteralValue::String(text)) => Cost { cost: 0, size: text.inner().len() as u64 },
            Expr::Literal(_) | Expr::Unspecified | Expr::Struct(_) => Cost { cost: 0, size: 1 },
            Expr::Ident(name) => {
                let size = sizes.0.iter().rev().find(|(of, _)| of == name).map_or(1, |(_, size)| *size);
                Cost { cost: u64::from(!name.starts_with('@')), size }
            }
            Expr::Select(select) => {
                let operand = self.of(&select.operand, sizes);
                Cost { cost: operand.cost.saturating_add(1), size: self.size_of(expression) }
            }
            Expr::List(list) => {
                let cost = self.sum(list.elements.iter(), sizes);
                Cost {
                    cost: cost.saturating_add(1 + list.elements.len() as u64),
                    size: list.elements.len() as u64,
                }
            }
            Expr::Map(map) => {
                let parts = map.entries.iter().filter_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => Some([&entry.key, &entry.value]),
                    EntryExpr::StructField(_) => None,
                });
                let cost = self.sum(parts.flatten(), sizes);
                Cost {
                    cost: cost.saturating_add(1 + map.entries.len() as u64),
                    size: map.entries.len() as u64,
                }
            }
            Expr::Call(call) => {
                let parts: Vec<&IdedExpr> = call.target.as_deref().into_iter().chain(&call.args).collect();
                let namespaced = matches!(call.target.as_deref(), Some(IdedExpr { expr: Expr::Ident(name), .. })
                    if !self.scope.iter().any(|(of, _)| of == name));
                let parts = if namespaced { parts.get(1..).unwrap_or_default() } else { &parts };
                let costs: Vec<Cost> = parts.iter().map(|part| self.of(part, sizes)).collect();
                self.call(&call.func_name, &costs, expression)
            }
            Expr::Comprehension(of) => {
                let range = self.of(&of.iter_range, sizes);
                let Ok(range_type) = type_of(&of.iter_range, &mut self.scope) else { return range };
                let element = range_type.element().unwrap_or(Type::Dyn);
                let start = self.of(&of.accu_init, sizes);
                let accumulated = type_of(&of.accu_init, &mut self.scope).unwrap_or(Type::Dyn);
                let accumulated = match accumulated {
                    Type::List(_) => Type::List(Box::new(Type::Dyn)),
                    other => other,
                };
                let (depth, names) = (sizes.0.len(), self.scope.len());
                let item = match &element {
                    Type::Node(node) => most(node),
                    Type::Text => self.text_size(&range_type),
                    _ => 1,
                };
                self.scope.push((of.accu_var.clone(), accumulated));
                sizes.0.push((of.accu_var.clone(), range.size.max(start.size)));
                match &of.iter_var2 {
                    None => {
                        self.scope.push((of.iter_var.clone(), element));
                        sizes.0.push((of.iter_var.clone(), item));
                    }
                    Some(second) => {
                        let value = range_type.value();
                        let size = if let Type::Node(node) = &value { most(node) } else { item };
                        self.scope.push((of.iter_var.clone(), range_type.key()));
                        self.scope.push((second.clone(), value));
                        sizes.0.push((of.iter_var.clone(), item));
                        sizes.0.push((second.clone(), size));
                    }
                }
                let step = self.of(&of.loop_step, sizes);
                sizes.0.truncate(depth + 1);
                self.scope.truncate(names + 1);
                let result = self.of(&of.result, sizes);
                sizes.0.truncate(depth);
                self.scope.truncate(names);
                let loops = range.size.saturating_mul(step.cost.saturating_add(1));
                let cost = range.cost.saturating_add(start.cost).saturating_add(loops);
                Cost { cost: cost.saturating_add(result.cost), size: range.size.max(result.size).max(1) }
            }
        }
    }

    fn sum<'e>(&mut self, parts: impl Iterator<Item = &'e IdedExpr>, sizes: &mut Sizes) -> u64 {
        parts.fold(0u64, |sum, part| sum.saturating_add(self.of(part, sizes).cost))
    }

    /// Returns the largest size of a value that is read from the document.
    fn size_of(&mut self, expression: &IdedExpr) -> u64 {
        match node_at(expression, &self.scope) {
            Some(node) => most(node),
            None => 1,
        }
    }

    /// Returns how long the texts of a list, or the keys of a map, can be.
    fn text_size(&self, range: &Type<'n>) -> u64 {
        match range {
            Type::Node(node) if node.of == NodeType::Array => node.items.as_deref().map_or(1, most),
            Type::Node(node) => REQUEST_BYTES / most(node).max(1),
            _ => 64,
        }
    }

    fn call(&self, name: &str, parts: &[Cost], expression: &IdedExpr) -> Cost {
        use operators as op;
        let own = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.cost));
        let size = |at: usize| parts.get(at).map_or(0, |part| part.size);
        let (extra, result) = match name {
            op::LOGICAL_AND | op::LOGICAL_OR | op::NOT_STRICTLY_FALSE => (0, 1),
            op::CONDITIONAL => {
                let (yes, no) =
                    (parts.get(1).map_or(0, |part| part.cost), parts.get(2).map_or(0, |part| part.cost));
                let cost = parts.first().map_or(0, |part| part.cost).saturating_add(yes.max(no));
                return Cost { cost, size: size(1).max(size(2)) };
            }
            op::EQUALS | op::NOT_EQUALS | op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS => {
                (1 + size(0).min(size(1)) / 10, 1)
            }
            op::IN => (1 + size(1), 1),
            op::ADD => {
                let sum = size(0).saturating_add(size(1));
                (1 + sum / 10, sum)
            }
            op::INDEX | op::OPT_INDEX => (1, node_at(expression, &self.scope).map_or(1, most)),
            "contains" | "startsWith" | "endsWith" | "matches" => {
                (1 + (size(0) / 10).saturating_mul(1 + size(1) / 4), 1)
            }
            "size" => (1, 1),
            macros::SORT_BY => {
                let count = size(0);
                (count.saturating_mul(u64::from(count.checked_ilog2().unwrap_or(0)) + 1), count)
            }
            _ => {
                let all = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.size));
                (1 + all / 10, all)
            }
        };
        Cost { cost: own.saturating_add(extra), size: result }
    }
}

/// Returns the node of a value that is read from the document by fields and places.
fn node_at<'n>(expression: &IdedExpr, scope: &Scope<'n>) -> Option<&'n Node> {
    match &expression.expr {
        Expr::Ident(name) => match scope.iter().rev().find(|(of, _)| of == name)?.1 {
            Type::Node(node) => Some(node),
            _ => None,
        },
        Expr::Select(select) => {
            let above = node_at(&select.operand, scope)?;
            above.under(&super::escape::unescape(&select.field))
        }
        Expr::Call(call) if matches!(call.func_name.as_str(), operators::INDEX | operators::OPT_INDEX) => {
            let above = node_at(call.args.first()?, scope)?;
            match &above.additional {
                Additional::Each(below) => Some(below),
                _ => above.items.as_deref(),
            }
        }
        _ => None,
    }
}
