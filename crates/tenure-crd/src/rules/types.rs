//! What an expression is, before it runs: types follow from the schema, so that a field that does not exist or two
//! values that cannot be compared are found when the definition is made. What is not known for sure is not judged.

use super::{
    escape::{is_escaped, unescape},
    foreign, macros, place,
    signatures::{self, Known},
};
use crate::{
    format::duration_nanoseconds, node::Additional, node::Identity, node::Node, node::NodeType,
    pattern::Pattern,
};
use kube_cel::cel::{
    IdedExpr,
    common::ast::{CallExpr, EntryExpr, Expr, LiteralValue, operators},
};
use tenure_meta::{Timestamp, time::Precision};

/// The letter of an authorizer.
pub const AUTHORITY: char = 'Z';

/// The type of an expression.
#[derive(Clone, Debug)]
pub enum Type<'n> {
    /// Not known before the rule runs.
    Dyn,
    Null,
    Bool,
    Int,
    UInt,
    Double,
    Text,
    Bytes,
    /// Times, durations, addresses and the like, by the letter of the table of functions.
    Foreign(char),
    /// An object or a list of the schema.
    Node(&'n Node),
    /// The metadata of a whole object.
    Metadata,
    List(Box<Type<'n>>),
    Map(Box<Type<'n>>),
    Optional(Box<Type<'n>>),
}

impl<'n> Type<'n> {
    /// Returns the type of the values of a node.
    pub fn of(node: &'n Node) -> Type<'n> {
        match node.of {
            NodeType::Any | NodeType::IntOrString => Type::Dyn,
            NodeType::Object | NodeType::Array => Type::Node(node),
            NodeType::String => match node.format.as_str() {
                "byte" => Type::Bytes,
                "date" | "date-time" => Type::Foreign(TIME),
                "duration" => Type::Foreign(DURATION),
                _ => Type::Text,
            },
            NodeType::Integer => Type::Int,
            NodeType::Number => Type::Double,
            NodeType::Boolean => Type::Bool,
        }
    }

    /// Returns the word for messages.
    pub fn word(&self) -> &'static str {
        match self {
            Type::Dyn => "dyn",
            Type::Null => "null",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::UInt => "uint",
            Type::Double => "double",
            Type::Text => "string",
            Type::Bytes => "bytes",
            Type::Foreign(letter) => signatures::foreign_word(*letter),
            Type::Metadata => "object",
            Type::Node(node) if node.of == NodeType::Array => "list",
            Type::Node(_) => "object",
            Type::List(_) => "list",
            Type::Map(_) => "map",
            Type::Optional(_) => "optional",
        }
    }

    /// Returns the word with what is inside, for messages.
    fn described(&self) -> String {
        match self {
            Type::List(item) => format!("list({})", item.described()),
            Type::Node(node) if node.of == NodeType::Array => {
                format!("list({})", self.value().described())
            }
            Type::Node(node) if matches!(node.additional, Additional::Each(_)) => {
                format!("map(string, {})", self.value().described())
            }
            Type::Map(value) => format!("map(string, {})", value.described()),
            Type::Optional(of) => format!("optional_type({})", of.described()),
            other => other.word().into(),
        }
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        self.word() == "list"
    }

    /// Whether it is a map; an object is none, whether or not all its fields are named.
    pub fn is_map(&self) -> bool {
        match self {
            Type::Map(_) => true,
            Type::Node(node) => matches!(node.additional, Additional::Each(_)),
            _ => false,
        }
    }

    /// Returns the type below a field's name; an error where the schema has no such field.
    pub fn select(&self, written: &str) -> Result<Type<'n>, String> {
        let undefined = || Err(format!("undefined field '{written}'"));
        match self {
            Type::Node(node) if node.of == NodeType::Object => {
                let name = unescape(written);
                let each = match &node.additional {
                    Additional::Each(below) => Some(&**below),
                    _ => None,
                };
                match node.field(&name).filter(|_| is_escaped(written)).or(each) {
                    Some(below) if is_known(below) => return Ok(Type::of(below)),
                    Some(_) => return undefined(),
                    None => {}
                }
                match (&node.additional, node.identity, written) {
                    (Additional::Anything, _, _) => Ok(Type::Dyn),
                    (_, Identity::Root | Identity::Embedded, "metadata") => Ok(Type::Metadata),
                    (_, Identity::Root | Identity::Embedded, "apiVersion" | "kind") => Ok(Type::Text),
                    _ => undefined(),
                }
            }
            Type::Metadata => match written {
                "name" | "generateName" => Ok(Type::Text),
                _ => undefined(),
            },
            Type::Map(value) => Ok((**value).clone()),
            Type::Optional(of) => Ok(Type::Optional(Box::new(of.select(written)?))),
            Type::Dyn => Ok(Type::Dyn),
            Type::Foreign(AUTHORITY) if written == "requestResource" => Ok(self.clone()),
            other => Err(format!("type '{}' does not support field selection", other.word())),
        }
    }

    /// Returns the type of what a comprehension goes through.
    pub fn element(&self) -> Result<Type<'n>, String> {
        match self {
            Type::Node(node) if node.of == NodeType::Array => {
                Ok(node.items.as_deref().map_or(Type::Dyn, Type::of))
            }
            of if matches!(of, Type::Node(_)) && of.is_map() => Ok(Type::Text),
            // The keys of a map that a rule writes may be of any type.
            Type::Map(_) => Ok(Type::Dyn),
            Type::List(item) => Ok((**item).clone()),
            Type::Dyn => Ok(Type::Dyn),
            other => Err(format!(
                "expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)",
                other.word()
            )),
        }
    }

    /// Returns the type of what the values are found by.
    pub fn key(&self) -> Type<'n> {
        match self {
            of if of.is_list() => Type::Int,
            Type::Node(_) => Type::Text,
            _ => Type::Dyn,
        }
    }

    /// Returns the type of the values of a list, a map or an object.
    pub fn value(&self) -> Type<'n> {
        match self {
            Type::Node(node) if node.of == NodeType::Array => {
                node.items.as_deref().map_or(Type::Dyn, Type::of)
            }
            Type::Node(node) => match &node.additional {
                Additional::Each(below) => Type::of(below),
                _ => Type::Dyn,
            },
            Type::List(of) | Type::Map(of) => (**of).clone(),
            Type::Optional(of) => of.value(),
            _ => Type::Dyn,
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Type::Int | Type::UInt | Type::Double)
    }

    /// Whether values stand before and after each other.
    fn is_ordered(&self) -> bool {
        match self {
            Type::Foreign(letter) => matches!(*letter, TIME | DURATION),
            of => of.is_number() || matches!(of, Type::Bool | Type::Text | Type::Bytes | Type::Dyn),
        }
    }

    /// Whether a key finds something in it, as far as is known.
    fn is_indexed_by(&self, key: &Type<'n>) -> bool {
        match (self, key) {
            (Type::Dyn, _) | (_, Type::Dyn) => true,
            (Type::Optional(of), key) => of.is_indexed_by(key),
            (of, key) if of.is_list() => matches!(key, Type::Int),
            (Type::Map(_), _) => true,
            (of, key) if of.is_map() => matches!(key, Type::Text),
            _ => false,
        }
    }

    /// Whether equality makes sense, as far as is known.
    fn is_comparable(&self, other: &Type<'n>) -> bool {
        let class = |of: &Type<'n>| match of {
            Type::Dyn => 0,
            Type::Null => 9,
            Type::Optional(_) => 10,
            Type::Foreign(letter) => u32::from(*letter),
            Type::Bool => 1,
            Type::Int => 2,
            Type::UInt => 3,
            Type::Double => 4,
            Type::Text => 5,
            Type::Bytes => 6,
            Type::List(_) => 7,
            Type::Node(node) if node.of == NodeType::Array => 7,
            Type::Node(_) | Type::Map(_) | Type::Metadata => 8,
        };
        // Whatever is there or not can be null, and so can times; scalars, lists and maps cannot.
        let may_be_null = |of: &Type<'n>| match of {
            of @ Type::Node(node) => node.of == NodeType::Object && !of.is_map(),
            of => matches!(of, Type::Foreign(_) | Type::Optional(_) | Type::Metadata | Type::Null),
        };
        let (a, b) = (class(self), class(other));
        let nulls = matches!(self, Type::Null) && may_be_null(other)
            || matches!(other, Type::Null) && may_be_null(self);
        let inside = || match (self.is_list(), self.is_map() && other.is_map()) {
            (true, _) | (_, true) => self.value().is_comparable(&other.value()),
            _ => true,
        };
        a == 0 || b == 0 || nulls || a == b && inside()
    }
}

/// Whether a rule can see the values of a node: those of any type it cannot, nor lists and maps of them.
fn is_known(node: &Node) -> bool {
    let each = match &node.additional {
        Additional::Each(each) => Some(&**each),
        _ => None,
    };
    node.of != NodeType::Any && node.items.as_deref().into_iter().chain(each).all(is_known)
}

/// Letters of the table of functions.
const TIME: char = 'T';
const DURATION: char = 'R';

/// What operators make of times and durations.
const TIMES: [(&str, char, char, char); 6] = [
    (operators::ADD, TIME, DURATION, TIME),
    (operators::ADD, DURATION, TIME, TIME),
    (operators::ADD, DURATION, DURATION, DURATION),
    (operators::SUBSTRACT, TIME, TIME, DURATION),
    (operators::SUBSTRACT, TIME, DURATION, TIME),
    (operators::SUBSTRACT, DURATION, DURATION, DURATION),
];

/// The variables around an expression.
pub type Scope<'n> = Vec<(String, Type<'n>)>;

/// What is wrong with an expression.
#[derive(Debug)]
pub struct Misfit {
    /// The number of the part that is wrong; 0 where that is not known.
    pub part: u64,
    pub why: String,
}

impl From<String> for Misfit {
    fn from(why: String) -> Misfit {
        Misfit { part: 0, why }
    }
}

impl Misfit {
    /// Says what is wrong and where.
    pub fn told(&self, source: &str) -> String {
        place::told(source, place::find(source, self.part), &self.why)
    }
}

/// Returns the type of an expression, or what is wrong with it.
pub fn type_of<'n>(of: &IdedExpr, scope: &mut Scope<'n>) -> Result<Type<'n>, Misfit> {
    found_type(of, scope).map_err(|misfit| match misfit.part {
        0 => Misfit { part: of.id, ..misfit },
        _ => misfit,
    })
}

fn found_type<'n>(of: &IdedExpr, scope: &mut Scope<'n>) -> Result<Type<'n>, Misfit> {
    match &of.expr {
        Expr::Literal(literal) => Ok(match literal {
            LiteralValue::Boolean(_) => Type::Bool,
            LiteralValue::Bytes(_) => Type::Bytes,
            LiteralValue::Double(_) => Type::Double,
            LiteralValue::Int(_) => Type::Int,
            LiteralValue::Null => Type::Null,
            LiteralValue::String(_) => Type::Text,
            LiteralValue::UInt(_) => Type::UInt,
        }),
        Expr::Ident(name) => {
            let found = scope.iter().rev().find(|(of, _)| of == name).map(|(_, of)| of.clone());
            match found {
                Some(of) => Ok(of),
                None if signatures::TYPE_NAMES.contains(&name.as_str()) => Ok(Type::Foreign('#')),
                None => Err(format!("undeclared reference to '{name}' (in container '')").into()),
            }
        }
        Expr::Select(select) => {
            let below = type_of(&select.operand, scope)?.select(&select.field)?;
            Ok(if select.test { Type::Bool } else { below })
        }
        Expr::List(list) => {
            let types = list.elements.iter().map(|of| type_of(of, scope)).collect::<Result<Vec<_>, _>>()?;
            check_alike(&types, list.elements.iter().map(|of| of.id))?;
            Ok(Type::List(Box::new(uniform(types))))
        }
        Expr::Map(map) => {
            let (mut keys, mut values, mut parts) = (Vec::new(), Vec::new(), Vec::new());
            for entry in &map.entries {
                if let EntryExpr::MapEntry(entry) = &entry.expr {
                    keys.push(type_of(&entry.key, scope)?);
                    values.push(type_of(&entry.value, scope)?);
                    parts.push((entry.key.id, entry.value.id));
                }
            }
            check_alike(&keys, parts.iter().map(|part| part.0))?;
            check_alike(&values, parts.iter().map(|part| part.1))?;
            Ok(Type::Map(Box::new(uniform(values))))
        }
        Expr::Comprehension(of) => {
            let range = type_of(&of.iter_range, scope)?;
            let (element, start) = (range.element()?, type_of(&of.accu_init, scope)?);
            let depth = scope.len();
            // What is collected becomes known with the first item.
            let start = match start {
                Type::List(_) => Type::List(Box::new(Type::Dyn)),
                other => other,
            };
            scope.push((of.accu_var.clone(), start));
            match &of.iter_var2 {
                None => scope.push((of.iter_var.clone(), element)),
                Some(second) => {
                    scope.push((of.iter_var.clone(), range.key()));
                    scope.push((second.clone(), range.value()));
                }
            }
            let outcome = type_of(&of.loop_cond, scope).and_then(|_| type_of(&of.loop_step, scope));
            scope.truncate(depth + 1);
            let outcome = outcome.and_then(|step| {
                if let (Type::List(_) | Type::Map(_), Some(place)) = (&step, scope.get_mut(depth)) {
                    place.1 = step;
                }
                type_of(&of.result, scope)
            });
            scope.truncate(depth);
            outcome
        }
        Expr::Call(call) => call_type(call, scope),
        // What may be made is in scope under the first word of its type.
        Expr::Struct(of) => {
            let root = of.type_name.split('.').next().unwrap_or_default();
            if !scope.iter().any(|(name, _)| name == root) {
                return Err(format!("undeclared reference to '{}' (in container '')", of.type_name).into());
            }
            for entry in &of.entries {
                if let EntryExpr::StructField(field) = &entry.expr {
                    type_of(&field.value, scope)?;
                }
            }
            Ok(Type::Dyn)
        }
        Expr::Unspecified => Err(String::from("Syntax error: an empty expression").into()),
    }
}

/// Checks that what stands together in a list or a map is of one type.
fn check_alike(types: &[Type<'_>], parts: impl Iterator<Item = u64>) -> Result<(), Misfit> {
    let Some(first) = types.iter().find(|of| !matches!(of, Type::Dyn)) else { return Ok(()) };
    match types.iter().zip(parts).find(|(of, _)| !first.is_comparable(of)) {
        None => Ok(()),
        Some((of, part)) => {
            let why = format!("expected type '{}' but found '{}'", first.described(), of.described());
            Err(Misfit { part, why })
        }
    }
}

/// Returns the type that all have in common.
fn uniform<'n>(types: Vec<Type<'n>>) -> Type<'n> {
    let alike = types.windows(2).all(|pair| pair[0].described() == pair[1].described());
    types.into_iter().next().filter(|_| alike).unwrap_or(Type::Dyn)
}

fn call_type<'n>(call: &CallExpr, scope: &mut Scope<'n>) -> Result<Type<'n>, Misfit> {
    use operators as op;
    let name = call.func_name.as_str();
    let namespace = match call.target.as_deref().map(|target| &target.expr) {
        Some(Expr::Ident(name)) if !scope.iter().any(|(of, _)| of == name) => Some(name.as_str()),
        _ => None,
    };
    let target = match (&call.target, namespace) {
        (Some(target), None) => Some(type_of(target, scope)?),
        _ => None,
    };
    let args = call.args.iter().map(|arg| match (name, &arg.expr) {
        // What is put into a text may be of several types.
        ("format", Expr::List(list)) => {
            list.elements.iter().try_for_each(|of| type_of(of, scope).map(|_| ()))?;
            Ok(Type::List(Box::new(Type::Dyn)))
        }
        _ => type_of(arg, scope),
    });
    let args = args.collect::<Result<Vec<_>, Misfit>>()?;
    let mismatch = || Err(no_overload(name, target.as_ref(), &args).into());
    check_literal(call)?;
    match (name, args.as_slice()) {
        (op::LOGICAL_AND | op::LOGICAL_OR | op::LOGICAL_NOT, args) => {
            match args.iter().all(|arg| matches!(arg, Type::Bool | Type::Dyn)) {
                true => Ok(Type::Bool),
                false => mismatch(),
            }
        }
        (op::NOT_STRICTLY_FALSE, _) => Ok(Type::Bool),
        (op::CONDITIONAL, [Type::Bool | Type::Dyn, yes, no]) if yes.is_comparable(no) => {
            Ok(if yes.word() == no.word() { yes.clone() } else { Type::Dyn })
        }
        (op::EQUALS | op::NOT_EQUALS, [a, b]) if a.is_comparable(b) => Ok(Type::Bool),
        (op::IN, [item, of]) if of.element().is_ok_and(|of| of.is_comparable(item)) => Ok(Type::Bool),
        (op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS, [a, b])
            if a.is_ordered() && b.is_ordered() && (a.is_comparable(b) || a.is_number() && b.is_number()) =>
        {
            Ok(Type::Bool)
        }
        (op::INDEX, [of, key]) if of.is_indexed_by(key) => Ok(of.value()),
        (op::OPT_INDEX, [of, key]) if of.is_indexed_by(key) => Ok(Type::Optional(Box::new(of.value()))),
        (op::INDEX | op::OPT_INDEX, _) => mismatch(),
        (macros::INSERT, [_, _, value]) => Ok(Type::Map(Box::new(value.clone()))),
        (macros::INSERT, [_, entries]) if matches!(entries, Type::Map(_) | Type::Dyn) => Ok(entries.clone()),
        (op::OPT_SELECT, [of, _]) => match call.args.get(1).map(|arg| &arg.expr) {
            Some(Expr::Literal(LiteralValue::String(field))) => Ok(match of.select(field.inner())? {
                already @ Type::Optional(_) => already,
                below => Type::Optional(Box::new(below)),
            }),
            _ => Ok(Type::Optional(Box::new(Type::Dyn))),
        },
        (op::NEGATE, [of @ (Type::Int | Type::Double | Type::Dyn)]) => Ok(of.clone()),
        (op::ADD | op::SUBSTRACT | op::MULTIPLY | op::DIVIDE | op::MODULO, [a, b]) => match (a, b) {
            (Type::Dyn, _) | (_, Type::Dyn) => Ok(Type::Dyn),
            (Type::Foreign(a), Type::Foreign(b)) => {
                let row = TIMES.iter().find(|row| (row.0, row.1, row.2) == (name, *a, *b));
                row.map_or_else(mismatch, |row| Ok(Type::Foreign(row.3)))
            }
            (a, b) if a.is_number() && a.word() == b.word() => Ok(a.clone()),
            (Type::Text, Type::Text) if name == op::ADD => Ok(Type::Text),
            (Type::Bytes, Type::Bytes) if name == op::ADD => Ok(Type::Bytes),
            (a, b) if name == op::ADD && a.word() == "list" && b.word() == "list" => {
                let (left, right) = (a.element()?, b.element()?);
                let item = match (&left, &right) {
                    (Type::Dyn, _) => right.clone(),
                    _ => left.clone(),
                };
                Ok(Type::List(Box::new(item)))
            }
            _ => mismatch(),
        },
        (op::EQUALS | op::NOT_EQUALS | op::IN | op::CONDITIONAL | op::NEGATE, _) => mismatch(),
        (op::LESS | op::LESS_EQUALS | op::GREATER | op::GREATER_EQUALS, _) => mismatch(),
        (macros::SORT_BY, [list, keys]) if list.is_list() && keys.value().is_ordered() => Ok(list.clone()),
        (macros::SORT_BY, args) => {
            Err(no_overload("sortBy", args.first(), &args[args.len().min(1)..]).into())
        }
        _ => Ok(function_type(name, namespace, target.as_ref(), &args)?),
    }
}

/// Checks what a function is given word for word, where it can only fail: an expression that is none, a time that is none.
fn check_literal(call: &CallExpr) -> Result<(), Misfit> {
    let given = match call.func_name.as_str() {
        "matches" => call.args.last(),
        _ => call.args.first(),
    };
    let Some(Expr::Literal(LiteralValue::String(text))) = given.map(|arg| &arg.expr) else { return Ok(()) };
    let text = text.inner();
    let wrong = match call.func_name.as_str() {
        "matches" | "find" | "findAll" => Pattern::fault(text).is_some(),
        "duration" => duration_nanoseconds(text).is_none(),
        "timestamp" => Timestamp::parse(text, Precision::Seconds).is_none(),
        _ => false,
    };
    match given.filter(|_| wrong) {
        Some(arg) => Err(Misfit { part: arg.id, why: format!("invalid {} argument", call.func_name) }),
        None => Ok(()),
    }
}

fn function_type<'n>(
    name: &str,
    namespace: Option<&str>,
    target: Option<&Type<'n>>,
    args: &[Type<'n>],
) -> Result<Type<'n>, String> {
    match (namespace, name, target) {
        (Some("optional"), "none", _) => return Ok(Type::Optional(Box::new(Type::Dyn))),
        (Some("optional"), "of" | "ofNonZeroValue", _) => {
            return Ok(Type::Optional(Box::new(args.first().cloned().unwrap_or(Type::Dyn))));
        }
        (None, "value" | "orValue", Some(Type::Optional(of))) => return Ok((**of).clone()),
        (None, "or", Some(of @ Type::Optional(_))) => return Ok(of.clone()),
        _ => {}
    }
    let full = namespace.map_or_else(|| name.to_string(), |namespace| format!("{namespace}.{name}"));
    match signatures::look_up(&full, target, args) {
        Known::Gives(of) => Ok(of),
        Known::Refused => Err(no_overload(&full, target, args)),
        Known::Nothing if namespace == Some("format") && foreign::has_function(name, namespace) => {
            Ok(Type::Foreign('F'))
        }
        Known::Nothing if foreign::has_function(name, namespace) => Ok(Type::Dyn),
        Known::Nothing => Err(format!("undeclared reference to '{full}' (in container '')")),
    }
}

/// Says that a function or an operator does not take what it is given.
fn no_overload(name: &str, target: Option<&Type<'_>>, args: &[Type<'_>]) -> String {
    let words: Vec<String> = args.iter().map(Type::described).collect();
    let on = target.map(|target| format!("{}.", target.described())).unwrap_or_default();
    format!("found no matching overload for '{name}' applied to '{on}({})'", words.join(", "))
}

/// Whether an expression refers to a variable.
pub fn mentions(of: &IdedExpr, name: &str) -> bool {
    match &of.expr {
        Expr::Ident(found) => found == name,
        Expr::Select(select) => mentions(&select.operand, name),
        Expr::Call(call) => {
            call.target.as_deref().is_some_and(|target| mentions(target, name))
                || call.args.iter().any(|arg| mentions(arg, name))
        }
        Expr::List(list) => list.elements.iter().any(|of| mentions(of, name)),
        Expr::Map(map) => map.entries.iter().any(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => mentions(&entry.key, name) || mentions(&entry.value, name),
            EntryExpr::StructField(field) => mentions(&field.value, name),
        }),
        Expr::Comprehension(of) => [&of.iter_range, &of.accu_init, &of.loop_cond, &of.loop_step, &of.result]
            .iter()
            .any(|of| mentions(of, name)),
        Expr::Struct(of) => of.entries.iter().any(|entry| match &entry.expr {
            EntryExpr::StructField(field) => mentions(&field.value, name),
            EntryExpr::MapEntry(_) => false,
        }),
        Expr::Literal(_) | Expr::Unspecified => false,
    }
}
