//! Runs rules. The parser and the functions are those of the `cel` and `kube-cel` crates; the evaluator is our own,
//! for three reasons: every step is charged against a budget, so that no rule runs away; the document is looked at
//! in place instead of copied; and a field that is not there is an error, never a `false`.

use super::{
    foreign::{self, Target},
    macros,
    signatures::TYPE_NAMES,
    value::Val,
    zone,
};
use crate::pattern;
use kube_cel::cel::{
    self, IdedExpr,
    common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr, operators},
};
use std::{cmp::Ordering, collections::HashMap, sync::Arc};
use tenure_value::{Text, Value};

/// What one evaluation of one rule may cost.
pub const PER_RULE: u64 = 1_000_000;
/// What all rules of one object may cost together.
pub const PER_OBJECT: u64 = 10_000_000;

/// The names of formats that rules can ask for.
const FORMATS: [&str; 13] = [
    "byte",
    "date",
    "datetime",
    "dns1035Label",
    "dns1035LabelPrefix",
    "dns1123Label",
    "dns1123LabelPrefix",
    "dns1123Subdomain",
    "dns1123SubdomainPrefix",
    "labelValue",
    "qualifiedName",
    "uri",
    "uuid",
];

/// Why a rule has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The budget is used up; nothing absorbs this.
    Cost,
    /// The expression cannot be evaluated on this value.
    Error(String),
}

type Outcome<'v> = Result<Val<'v>, Trouble>;

fn error<'v>(words: impl Into<String>) -> Outcome<'v> {
    Err(Trouble::Error(words.into()))
}

/// What is left to spend.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    left: u64,
}

impl Budget {
    /// What the rules of one object may spend.
    pub fn of_object() -> Budget {
        Budget { left: PER_OBJECT }
    }

    /// Leaves nothing for further rules.
    pub fn exhaust(&mut self) {
        self.left = 0;
    }

    pub fn is_spent(&self) -> bool {
        self.left == 0
    }

    fn spend(&mut self, cost: u64) -> Result<(), Trouble> {
        match self.left.checked_sub(cost) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(Trouble::Cost)
            }
        }
    }
}

/// Evaluates an expression over variables; the cost is taken from the budget.
pub fn run<'v>(
    expression: &IdedExpr,
    variables: &[(&'static str, Val<'v>)],
    budget: &mut Budget,
) -> Outcome<'v> {
    let own = Budget { left: PER_RULE.min(budget.left) };
    let scope = variables.iter().map(|(name, value)| (Text::new_static(name), value.clone())).collect();
    let mut run = Run { scope, budget: own, patterns: HashMap::new() };
    let outcome = run.expression(expression);
    budget.left -= own.left.saturating_sub(run.budget.left).min(budget.left);
    outcome
}

/// Computes with whole numbers; what does not fit is an error.
macro_rules! arithmetic {
    ($name:expr, $a:expr, $b:expr, $made:expr) => {{
        let result = match $name {
            operators::ADD => $a.checked_add(*$b),
            operators::SUBSTRACT => $a.checked_sub(*$b),
            operators::MULTIPLY => $a.checked_mul(*$b),
            _ if *$b == 0 => return error("division by zero"),
            operators::DIVIDE => $a.checked_div(*$b),
            _ => $a.checked_rem(*$b),
        };
        result.map_or_else(overflow, |result| Ok($made(result)))
    }};
}

struct Run<'v> {
    scope: Vec<(Text, Val<'v>)>,
    budget: Budget,
    patterns: HashMap<Text, Option<regex::Regex>>,
}

impl<'v> Run<'v> {
    fn variable(&self, name: &str) -> Option<&Val<'v>> {
        self.scope.iter().rev().find(|(of, _)| of == name).map(|(_, value)| value)
    }

    fn expression(&mut self, of: &IdedExpr) -> Outcome<'v> {
        match &of.expr {
            Expr::Literal(literal) => Ok(literal_value(literal)),
            Expr::Ident(name) => {
                // What the macros keep for themselves costs nothing.
                self.budget.spend(u64::from(!name.starts_with('@')))?;
                match self.variable(name) {
                    Some(value) => Ok(value.clone()),
                    None if TYPE_NAMES.contains(&name.as_str()) => Ok(Val::Text(name.as_str().into())),
                    None => error(format!("undeclared reference to '{name}'")),
                }
            }
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(of) => self.comprehension(of),
            Expr::List(list) => {
                self.budget.spend(1 + list.elements.len() as u64)?;
                let mut items = Vec::with_capacity(list.elements.len());
                for (at, element) in list.elements.iter().enumerate() {
                    match (self.expression(element)?, list.optional_indices.contains(&at)) {
                        (Val::Optional(value), true) => items.extend(value.map(|value| *value)),
                        (value, _) => items.push(value),
                    }
                }
                Ok(Val::List(Arc::new(items)))
            }
            Expr::Map(map) => {
                self.budget.spend(1 + map.entries.len() as u64)?;
                let mut entries = Vec::with_capacity(map.entries.len());
                for entry in &map.entries {
                    let EntryExpr::MapEntry(entry) = &entry.expr else {
                        return error("messages cannot be made in rules");
                    };
                    let (key, value) = (self.expression(&entry.key)?, self.expression(&entry.value)?);
                    match (value, entry.optional) {
                        (Val::Optional(value), true) => entries.extend(value.map(|value| (key, *value))),
                        (value, _) => entries.push((key, value)),
                    }
                }
                Ok(Val::Map(Arc::new(entries)))
            }
            // A message is a map; which may be made is decided before an expression runs.
            Expr::Struct(of) => {
                self.budget.spend(1 + of.entries.len() as u64)?;
                let mut entries = Vec::with_capacity(of.entries.len());
                for entry in &of.entries {
                    let EntryExpr::StructField(field) = &entry.expr else { continue };
                    let name = Val::Text(field.field.as_str().into());
                    match (self.expression(&field.value)?, field.optional) {
                        (Val::Optional(value), true) => entries.extend(value.map(|value| (name, *value))),
                        (value, _) => entries.push((name, value)),
                    }
                }
                Ok(Val::Map(Arc::new(entries)))
            }
            Expr::Unspecified => error("an empty expression"),
        }
    }

    fn select(&mut self, select: &SelectExpr) -> Outcome<'v> {
        self.budget.spend(1)?;
        let operand = self.expression(&select.operand)?;
        let found = match &operand {
            Val::Optional(None) => return Ok(Val::Optional(None)),
            Val::Optional(Some(value)) => {
                let found = value.select(&select.field);
                return Ok(match select.test {
                    true => Val::Bool(found.is_some()),
                    false => Val::Optional(found.map(Box::new)),
                });
            }
            Val::Part(Value::Object(_), _) | Val::Map(_) | Val::Authority => operand.select(&select.field),
            other => return error(format!("a {} has no field '{}'", other.type_word(), select.field)),
        };
        match (select.test, found) {
            (true, found) => Ok(Val::Bool(found.is_some())),
            (false, Some(value)) => {
                self.decoded(&value)?;
                Ok(value)
            }
            (false, None) => error(format!("no such key: {}", select.field)),
        }
    }

    /// Charges for bytes, which are decoded each time that they are read.
    fn decoded(&mut self, value: &Val<'v>) -> Result<(), Trouble> {
        self.budget.spend(if matches!(value, Val::Bytes(_)) { value.weight() } else { 0 })
    }

    fn truth(&mut self, of: &IdedExpr) -> Result<bool, Trouble> {
        match self.expression(of)? {
            Val::Bool(flag) => Ok(flag),
            other => Err(Trouble::Error(format!("a {} is not a condition", other.type_word()))),
        }
    }

    /// Evaluates `&&` and `||`: a side that decides does so whatever the other's trouble is.
    fn junction(&mut self, args: &[IdedExpr], deciding: bool) -> Outcome<'v> {
        let [left, right] = args else { return error("two sides are needed") };
        let left = match self.truth(left) {
            Ok(flag) if flag == deciding => return Ok(Val::Bool(deciding)),
            Err(Trouble::Cost) => return Err(Trouble::Cost),
            other => other,
        };
        match (left, self.truth(right)) {
            (_, Err(Trouble::Cost)) => Err(Trouble::Cost),
            (_, Ok(flag)) if flag == deciding => Ok(Val::Bool(deciding)),
            (Err(trouble), _) | (_, Err(trouble)) => Err(trouble),
            (Ok(_), Ok(flag)) => Ok(Val::Bool(flag)),
        }
    }

    fn call(&mut self, call: &CallExpr) -> Outcome<'v> {
        let name = call.func_name.as_str();
        match (name, call.args.as_slice()) {
            (operators::LOGICAL_AND, args) => return self.junction(args, false),
            (operators::LOGICAL_OR, args) => return self.junction(args, true),
            (operators::CONDITIONAL, [condition, yes, no]) => {
                return if self.truth(condition)? { self.expression(yes) } else { self.expression(no) };
            }
            (operators::NOT_STRICTLY_FALSE, [of]) => {
                return match self.truth(of) {
                    Err(Trouble::Cost) => Err(Trouble::Cost),
                    other => Ok(Val::Bool(other.unwrap_or(true))),
                };
            }
            _ => {}
        }
        self.budget.spend(1)?;
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            args.push(self.expression(arg)?);
        }
        match &call.target {
            None => self.apply(name, Target::None, &args),
            Some(target) => match &target.expr {
                Expr::Ident(namespace) if self.variable(namespace).is_none() => {
                    self.apply(name, Target::Namespace(namespace), &args)
                }
                _ => {
                    let target = self.expression(target)?;
                    self.apply(name, Target::Value(target), &args)
                }
            },
        }
    }

    fn apply(&mut self, name: &str, target: Target<'_, 'v>, args: &[Val<'v>]) -> Outcome<'v> {
        match (target, args) {
            (Target::None, [one]) => self.unary(name, one),
            (Target::None, [left, right]) => self.binary(name, left, right),
            (Target::Value(Val::Authority), _) => Ok(match name {
                "allowed" => Val::Bool(true),
                "errored" => Val::Bool(false),
                "error" | "reason" => Val::Text(Text::default()),
                _ => Val::Authority,
            }),
            (Target::Namespace("jsonpatch"), [Val::Text(key)]) if name == "escapeKey" => {
                Ok(Val::Text(key.replace('~', "~0").replace('/', "~1").into()))
            }
            (Target::Namespace("optional"), args) => match (name, args) {
                ("none", []) => Ok(Val::Optional(None)),
                ("of", [value]) => Ok(Val::Optional(Some(Box::new(value.clone())))),
                ("ofNonZeroValue", [value]) => {
                    Ok(Val::Optional((!is_zero(value)).then(|| Box::new(value.clone()))))
                }
                _ => error(format!("undeclared reference to 'optional.{name}'")),
            },
            (Target::Namespace("format"), [Val::Text(of)]) if name == "named" => {
                // A format that is not known is none, and no error.
                if !FORMATS.contains(&of.as_str()) {
                    return Ok(Val::Optional(None));
                }
                let format = self.foreign(name, Target::Namespace("format"), args)?;
                Ok(Val::Optional(Some(Box::new(format))))
            }
            (Target::Value(Val::Optional(value)), args) => optional(name, value, args),
            (Target::Value(target), args) => self.method(name, target, args),
            (target, args) => self.foreign(name, target, args),
        }
    }

    fn foreign(&mut self, name: &str, target: Target<'_, 'v>, args: &[Val<'v>]) -> Outcome<'v> {
        let own = match &target {
            Target::Value(value) => value.weight(),
            _ => 0,
        };
        // Values are copied there and back, and some functions compare each item with each.
        let weight = args.iter().map(Val::weight).fold(own, u64::saturating_add);
        let pairs = match (&target, args) {
            (Target::Namespace("sets"), [a, b]) => {
                a.size().unwrap_or(1) as u64 * b.size().unwrap_or(1) as u64
            }
            (Target::Value(value), _) if matches!(name, "distinct" | "replace" | "join" | "flatten") => {
                value.size().unwrap_or(1) as u64
            }
            _ => 0,
        };
        self.budget.spend(weight.saturating_mul(2).saturating_add(pairs))?;
        if name == "range" {
            // A list out of nothing is charged by its length.
            let length = match args {
                [Val::Int(length)] => u64::try_from(*length).unwrap_or(0),
                _ => 0,
            };
            self.budget.spend(length)?;
        }
        let result = foreign::call(name, target, args)?;
        self.budget.spend(result.weight())?;
        Ok(result)
    }

    fn unary(&mut self, name: &str, of: &Val<'v>) -> Outcome<'v> {
        match (name, of) {
            (operators::LOGICAL_NOT, Val::Bool(flag)) => Ok(Val::Bool(!flag)),
            (operators::NEGATE, Val::Int(number)) => {
                number.checked_neg().map_or_else(overflow, |of| Ok(Val::Int(of)))
            }
            (operators::NEGATE, Val::Double(number)) => Ok(Val::Double(-number)),
            ("size", of) => self.size(of),
            ("dyn", of) => Ok(of.clone()),
            ("type", Val::Null) => Ok(Val::Text("null_type".into())),
            ("type", of) => Ok(Val::Text(of.type_word().into())),
            ("bool", Val::Bool(flag)) => Ok(Val::Bool(*flag)),
            ("bool", Val::Text(text)) => match text.as_str() {
                "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
                "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
                other => error(format!("{other:?} is neither true nor false")),
            },
            (name, of) => self.foreign(name, Target::None, std::slice::from_ref(of)),
        }
    }

    fn size(&mut self, of: &Val<'v>) -> Outcome<'v> {
        self.budget.spend(if matches!(of, Val::Text(_)) { of.weight() } else { 0 })?;
        match of.size() {
            Some(size) => Ok(Val::Int(size as i64)),
            None => error(format!("a {} has no size", of.type_word())),
        }
    }

    fn binary(&mut self, name: &str, left: &Val<'v>, right: &Val<'v>) -> Outcome<'v> {
        use operators as op;
        match (name, left, right) {
            (op::EQUALS, left, right) => self.equal(left, right).map(Val::Bool),
            (op::NOT_EQUALS, left, right) => self.equal(left, right).map(|equal| Val::Bool(!equal)),
            (op::INDEX, of, key) => match self.index(of, key)? {
                Some(value) => Ok(value),
                None => error(format!("no such key or index: {key:?}")),
            },
            (op::OPT_INDEX | op::OPT_SELECT, Val::Optional(None), _) => Ok(Val::Optional(None)),
            (op::OPT_INDEX, Val::Optional(Some(of)), key) => {
                Ok(Val::Optional(self.index(of, key)?.map(Box::new)))
            }
            (op::OPT_INDEX, of, key) => Ok(Val::Optional(self.index(of, key)?.map(Box::new))),
            (op::OPT_SELECT, Val::Optional(Some(of)), Val::Text(name)) => {
                Ok(Val::Optional(of.select(name).map(Box::new)))
            }
            (op::OPT_SELECT, of, Val::Text(name)) => Ok(Val::Optional(of.select(name).map(Box::new))),
            (op::IN, item, of) => self.contains(of, item).map(Val::Bool),
            (op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS, left, right) => {
                self.compare(name, left, right)
            }
            (op::ADD, Val::Text(a), Val::Text(b)) => {
                self.budget.spend((a.len() + b.len()) as u64 / 10)?;
                Ok(Val::Text(format!("{a}{b}").into()))
            }
            (op::ADD, a, b) if is_list(a) && is_list(b) => {
                let (mut all, more) = (a.range().unwrap_or_default(), b.range().unwrap_or_default());
                self.budget.spend((all.len() + more.len()) as u64)?;
                all.extend(more);
                Ok(Val::List(Arc::new(all)))
            }
            (op::ADD | op::SUBSTRACT | op::MULTIPLY | op::DIVIDE | op::MODULO, Val::Int(a), Val::Int(b)) => {
                arithmetic!(name, a, b, Val::Int)
            }
            (
                op::ADD | op::SUBSTRACT | op::MULTIPLY | op::DIVIDE | op::MODULO,
                Val::UInt(a),
                Val::UInt(b),
            ) => {
                arithmetic!(name, a, b, Val::UInt)
            }
            (op::ADD, Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
            (op::SUBSTRACT, Val::Double(a), Val::Double(b)) => Ok(Val::Double(a - b)),
            (op::MULTIPLY, Val::Double(a), Val::Double(b)) => Ok(Val::Double(a * b)),
            (op::DIVIDE, Val::Double(a), Val::Double(b)) => Ok(Val::Double(a / b)),
            (op::ADD | op::SUBSTRACT, Val::Foreign(_), _) | (op::ADD, _, Val::Foreign(_)) => {
                self.foreign(name, Target::None, &[left.clone(), right.clone()])
            }
            (op::ADD | op::SUBSTRACT | op::MULTIPLY | op::DIVIDE | op::MODULO, a, b) => {
                error(format!("no such overload: {} {name} {}", a.type_word(), b.type_word()))
            }
            ("matches", Val::Text(_), Val::Text(_)) => {
                self.method(name, left.clone(), std::slice::from_ref(right))
            }
            (macros::SORT_BY, list, keys) => self.sorted(list, keys),
            (name, left, right) => self.foreign(name, Target::None, &[left.clone(), right.clone()]),
        }
    }

    fn equal(&mut self, left: &Val<'v>, right: &Val<'v>) -> Result<bool, Trouble> {
        // Where the sizes decide, nothing else is looked at or charged.
        let differs = match (left, right) {
            (Val::Text(a), Val::Text(b)) => a.len() != b.len(),
            (Val::Text(_), _) | (_, Val::Text(_)) => true,
            (left, right) => left.size() != right.size(),
        };
        if differs {
            return Ok(false);
        }
        self.budget.spend(left.weight().max(right.weight()).saturating_add(left.pairs_with(right)))?;
        Ok(left.equals(right))
    }

    fn index(&mut self, of: &Val<'v>, key: &Val<'v>) -> Result<Option<Val<'v>>, Trouble> {
        if is_list(of) {
            return match key {
                Val::Int(at) => Ok(usize::try_from(*at).ok().and_then(|at| of.item(at))),
                Val::UInt(at) => Ok(usize::try_from(*at).ok().and_then(|at| of.item(at))),
                Val::Double(at) if at.fract() == 0.0 && *at >= 0.0 => Ok(of.item(*at as usize)),
                other => Err(Trouble::Error(format!("a {} is no index of a list", other.type_word()))),
            };
        }
        match (of, key) {
            (Val::Part(Value::Object(fields), node), Val::Text(name)) => {
                let below = node.and_then(|node| node.under(name));
                Ok(fields.get(name).map(|value| Val::of(value, below)))
            }
            (Val::Map(entries), key) => {
                self.budget.spend(entries.len() as u64)?;
                Ok(entries.iter().find(|(of, _)| of.equals(key)).map(|(_, value)| value.clone()))
            }
            (of, key) => {
                Err(Trouble::Error(format!("a {} has no {} as index", of.type_word(), key.type_word())))
            }
        }
    }

    fn contains(&mut self, of: &Val<'v>, item: &Val<'v>) -> Result<bool, Trouble> {
        if let (Val::Part(Value::Object(fields), _), Val::Text(name)) = (of, item) {
            return Ok(fields.contains(name));
        }
        let size = of.size().unwrap_or(0) as u64;
        self.budget.spend(size.saturating_mul(1 + item.weight()))?;
        match of.range().filter(|_| !matches!(of, Val::Text(_))) {
            Some(items) => Ok(items.iter().any(|of| of.equals(item))),
            None => Err(Trouble::Error(format!("a {} contains nothing", of.type_word()))),
        }
    }

    fn compare(&mut self, name: &str, left: &Val<'v>, right: &Val<'v>) -> Outcome<'v> {
        let order = match (left, right) {
            (Val::Text(a), Val::Text(b)) => {
                self.budget.spend(a.len().min(b.len()) as u64 / 10)?;
                Some(a.cmp(b))
            }
            (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
            (Val::Bytes(a), Val::Bytes(b)) => Some(a.cmp(b)),
            (Val::Foreign(_), _) | (_, Val::Foreign(_)) => {
                return self.foreign(name, Target::None, &[left.clone(), right.clone()]);
            }
            _ => match left.compare_number(right) {
                Some(order) => Some(order),
                None if matches!((left, right), (Val::Double(_), _) | (_, Val::Double(_))) => None,
                None => {
                    return error(format!(
                        "no such overload: {} {name} {}",
                        left.type_word(),
                        right.type_word()
                    ));
                }
            },
        };
        Ok(Val::Bool(match name {
            operators::LESS => order == Some(Ordering::Less),
            operators::LESS_EQUALS => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            operators::GREATER => order == Some(Ordering::Greater),
            _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }))
    }

    /// Sorts a list by keys, of which each item has one; what has equal keys stays in its order.
    fn sorted(&mut self, list: &Val<'v>, keys: &Val<'v>) -> Outcome<'v> {
        let (items, keys) = (list.range().unwrap_or_default(), keys.range().unwrap_or_default());
        let count = keys.len() as u64;
        let rounds = u64::from(count.checked_ilog2().unwrap_or(0)) + 1;
        self.budget.spend(keys.iter().map(|key| 1 + key.weight()).sum::<u64>().saturating_mul(rounds))?;
        if let Some(first) = keys.first()
            && let Some(other) = keys.iter().find(|key| first.order(key).is_none())
        {
            return error(format!(
                "sortBy: a {} and a {} have no order; all keys must be of one ordered type",
                first.type_word(),
                other.type_word()
            ));
        }
        let mut pairs: Vec<(Val<'v>, Val<'v>)> = keys.into_iter().zip(items).collect();
        pairs.sort_by(|(a, _), (b, _)| a.order(b).unwrap_or(Ordering::Equal));
        Ok(Val::List(Arc::new(pairs.into_iter().map(|(_, item)| item).collect())))
    }

    fn method(&mut self, name: &str, target: Val<'v>, args: &[Val<'v>]) -> Outcome<'v> {
        match (name, &target, args) {
            ("size", of, []) => self.size(of),
            ("contains" | "startsWith" | "endsWith" | "matches", Val::Text(text), [Val::Text(part)]) => {
                self.budget.spend(1 + text.len() as u64 / 10 * (1 + part.len() as u64 / 4))?;
                match name {
                    "contains" => Ok(Val::Bool(text.contains(part.as_str()))),
                    "startsWith" => Ok(Val::Bool(text.starts_with(part.as_str()))),
                    "endsWith" => Ok(Val::Bool(text.ends_with(part.as_str()))),
                    _ => {
                        let compiled =
                            self.patterns.entry(part.clone()).or_insert_with(|| pattern::compile(part).ok());
                        match compiled {
                            Some(pattern) => Ok(Val::Bool(pattern.is_match(text))),
                            None => error(format!("{part:?} is no regular expression")),
                        }
                    }
                }
            }
            (name, Val::Foreign(cel::Value::Timestamp(time)), [Val::Text(zone)])
                if name.starts_with("get") =>
            {
                let offset = zone::seconds_east(zone, time.timestamp()).map_err(Trouble::Error)?;
                let offset = foreign::duration(offset.saturating_mul(1_000_000_000));
                let there = self.binary(operators::ADD, &target, &offset)?;
                self.foreign(name, Target::Value(there), &[])
            }
            _ => self.foreign(name, Target::Value(target), args),
        }
    }

    fn comprehension(&mut self, of: &ComprehensionExpr) -> Outcome<'v> {
        let range = self.expression(&of.iter_range)?;
        let Some(items) = range.range() else {
            return error(format!("a {} cannot be gone through", range.type_word()));
        };
        self.budget.spend(items.len() as u64 / 10)?;
        items.iter().try_for_each(|item| self.decoded(item))?;
        let start = self.expression(&of.accu_init)?;
        let depth = self.scope.len();
        self.scope.push((of.accu_var.as_str().into(), start));
        let outcome = self.steps(of, &range, items, depth);
        self.scope.truncate(depth);
        outcome
    }

    fn steps(
        &mut self,
        of: &ComprehensionExpr,
        range: &Val<'v>,
        items: Vec<Val<'v>>,
        depth: usize,
    ) -> Outcome<'v> {
        let collected = collects(of);
        let mut list: Vec<Val<'v>> = Vec::new();
        let mut map: Vec<(Val<'v>, Val<'v>)> = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            self.scope.truncate(depth + 1);
            if !self.truth(&of.loop_cond)? {
                break;
            }
            self.budget.spend(1)?;
            match &of.iter_var2 {
                None => self.scope.push((of.iter_var.as_str().into(), item)),
                Some(second) => {
                    let (key, value) = match is_list(range) {
                        true => (Val::Int(at as i64), item),
                        false => (item.clone(), self.index(range, &item)?.unwrap_or(Val::Null)),
                    };
                    self.scope.push((of.iter_var.as_str().into(), key));
                    self.scope.push((second.as_str().into(), value));
                }
            }
            match collected {
                // Lists grow in place: adding one item at a time would copy the list each time.
                Some((condition, item)) => {
                    if condition.map_or(Ok(true), |condition| self.truth(condition))? {
                        let item = self.expression(item)?;
                        list.push(item);
                    }
                }
                None if of.accu_var.starts_with('@') && inserts(&of.loop_step).is_some() => {
                    let (condition, entry) = inserts(&of.loop_step).unwrap_or_default();
                    if condition.map_or(Ok(true), |condition| self.truth(condition))? {
                        self.insert(entry, &mut map)?;
                    }
                }
                None => {
                    let next = self.expression(&of.loop_step)?;
                    if let Some(place) = self.scope.get_mut(depth) {
                        place.1 = next;
                    }
                }
            }
        }
        self.scope.truncate(depth + 1);
        match collected {
            Some(_) => Ok(Val::List(Arc::new(list))),
            None if inserts(&of.loop_step).is_some() => Ok(Val::Map(Arc::new(map))),
            None => self.expression(&of.result),
        }
    }
}

impl<'v> Run<'v> {
    /// Adds what a step makes to the map that is being made: a key and a value, or the entries of a map.
    fn insert(&mut self, made: &[IdedExpr], map: &mut Vec<(Val<'v>, Val<'v>)>) -> Result<(), Trouble> {
        let entries = match made {
            [key, value] => vec![(self.expression(key)?, self.expression(value)?)],
            [entries] => {
                let entries = self.expression(entries)?;
                let word = entries.type_word();
                entries
                    .entries()
                    .ok_or_else(|| Trouble::Error(format!("a {word} has no entries to insert")))?
            }
            _ => Vec::new(),
        };
        for (key, value) in entries {
            self.budget.spend(1 + map.len() as u64 / 10)?;
            if map.iter().any(|(known, _)| known.equals(&key)) {
                return Err(Trouble::Error(format!("insert failed: key {key:?} already exists")));
            }
            map.push((key, value));
        }
        Ok(())
    }
}

/// Returns condition and entry of a step that only makes a map.
fn inserts(step: &IdedExpr) -> Option<(Option<&IdedExpr>, &[IdedExpr])> {
    let Expr::Call(call) = &step.expr else { return None };
    match (call.func_name.as_str(), call.args.as_slice()) {
        (macros::INSERT, [_, entry @ ..]) => Some((None, entry)),
        (operators::CONDITIONAL, [condition, yes, _]) => match inserts(yes)? {
            (None, entry) => Some((Some(condition), entry)),
            _ => None,
        },
        _ => None,
    }
}

/// Returns condition and item of a comprehension that only collects a list (`map` and `filter`).
fn collects(of: &ComprehensionExpr) -> Option<(Option<&IdedExpr>, &IdedExpr)> {
    let is_accumulator =
        |of_expr: &IdedExpr| matches!(&of_expr.expr, Expr::Ident(name) if *name == of.accu_var);
    if !is_accumulator(&of.result)
        || !matches!(&of.accu_init.expr, Expr::List(list) if list.elements.is_empty())
    {
        return None;
    }
    if let Some(item) = appended(&of.loop_step, &of.accu_var) {
        return Some((None, item));
    }
    match &of.loop_step.expr {
        Expr::Call(call) if call.func_name == operators::CONDITIONAL => match call.args.as_slice() {
            [condition, yes, no] if is_accumulator(no) => {
                appended(yes, &of.accu_var).map(|item| (Some(condition), item))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns the item that a step adds to the list it accumulates.
fn appended<'e>(step: &'e IdedExpr, accumulator: &str) -> Option<&'e IdedExpr> {
    let Expr::Call(call) = &step.expr else { return None };
    match (call.func_name.as_str(), call.args.as_slice()) {
        (
            operators::ADD,
            [IdedExpr { expr: Expr::Ident(name), .. }, IdedExpr { expr: Expr::List(list), .. }],
        ) if name == accumulator => match list.elements.as_slice() {
            [one] => Some(one),
            _ => None,
        },
        _ => None,
    }
}

fn optional<'v>(name: &str, value: Option<Box<Val<'v>>>, args: &[Val<'v>]) -> Outcome<'v> {
    match (name, value, args) {
        ("hasValue", value, []) => Ok(Val::Bool(value.is_some())),
        ("value", Some(value), []) => Ok(*value),
        ("value", None, []) => error("optional.none() has no value"),
        ("orValue", Some(value), [_]) => Ok(*value),
        ("orValue", None, [other]) => Ok(other.clone()),
        ("or", Some(value), [_]) => Ok(Val::Optional(Some(value))),
        ("or", None, [other]) => Ok(other.clone()),
        _ => error(format!("an optional has no function '{name}'")),
    }
}

fn overflow<'v>() -> Outcome<'v> {
    error("integer overflow")
}

fn is_list(of: &Val<'_>) -> bool {
    matches!(of, Val::Part(Value::Array(_), _) | Val::List(_))
}

fn is_zero(of: &Val<'_>) -> bool {
    match of {
        Val::Null | Val::Bool(false) | Val::Int(0) | Val::UInt(0) => true,
        Val::Double(number) => *number == 0.0,
        other => other.size() == Some(0),
    }
}

fn literal_value<'v>(literal: &LiteralValue) -> Val<'v> {
    match literal {
        LiteralValue::Boolean(flag) => Val::Bool(*flag.inner()),
        LiteralValue::Bytes(bytes) => Val::Bytes(bytes.inner().into()),
        LiteralValue::Double(number) => Val::Double(*number.inner()),
        LiteralValue::Int(number) => Val::Int(*number.inner()),
        LiteralValue::Null => Val::Null,
        LiteralValue::String(text) => Val::Text(Text::new(text.inner())),
        LiteralValue::UInt(number) => Val::UInt(*number.inner()),
    }
}
