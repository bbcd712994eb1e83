//! Macros that the parser does not know: comprehensions over two variables, `sortBy`, and those of optional values. They are
//! written as the comprehensions that the rest of this module understands, so that types, costs and evaluation need no more.

use super::types::Misfit;
use kube_cel::cel::{
    IdedExpr,
    common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr, operators},
};

/// What is accumulated.
const RESULT: &str = "@result";
/// Adds an entry, or those of a map, to a map that is being made.
pub(super) const INSERT: &str = "@insert";
/// Sorts a list by a list of keys.
pub(super) const SORT_BY: &str = "@sortBy";
/// A list that is gone through several times.
const LIST: &str = "@list";

/// Writes the macros of an expression out; an error where what should be a name is none.
pub(super) fn expand(of: IdedExpr) -> Result<IdedExpr, Misfit> {
    let IdedExpr { id, expr } = of;
    let expr = match expr {
        Expr::Call(call) => return expand_call(id, call),
        Expr::Select(mut select) => {
            select.operand = Box::new(expand(*select.operand)?);
            Expr::Select(select)
        }
        Expr::List(mut list) => {
            list.elements = list.elements.into_iter().map(expand).collect::<Result<_, _>>()?;
            Expr::List(list)
        }
        Expr::Map(mut map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    entry.key = expand(std::mem::take(&mut entry.key))?;
                    entry.value = expand(std::mem::take(&mut entry.value))?;
                }
            }
            Expr::Map(map)
        }
        Expr::Struct(mut message) => {
            for entry in &mut message.entries {
                if let EntryExpr::StructField(field) = &mut entry.expr {
                    field.value = expand(std::mem::take(&mut field.value))?;
                }
            }
            Expr::Struct(message)
        }
        Expr::Comprehension(mut of) => {
            let parts =
                [&mut of.iter_range, &mut of.accu_init, &mut of.loop_cond, &mut of.loop_step, &mut of.result];
            for part in parts {
                *part = expand(std::mem::take(part))?;
            }
            Expr::Comprehension(of)
        }
        other => other,
    };
    Ok(IdedExpr { id, expr })
}

fn expand_call(id: u64, call: CallExpr) -> Result<IdedExpr, Misfit> {
    let CallExpr { func_name, target, args } = call;
    let target = target.map(|target| expand(*target)).transpose()?;
    let args = args.into_iter().map(expand).collect::<Result<Vec<_>, _>>()?;
    let Some(target) = target else { return Ok(plain(id, func_name, None, args)) };
    let count = args.len();
    let mut given = args.into_iter();
    let mut next = || given.next().unwrap_or_default();
    Ok(match (func_name.as_str(), count) {
        ("all", 3) => {
            let (key, value) = (name(next())?, name(next())?);
            let (condition, step) = (
                call_of(operators::NOT_STRICTLY_FALSE, [result()]),
                call_of(operators::LOGICAL_AND, [result(), next()]),
            );
            fold(target, key, value, literal(true), condition, step, result())
        }
        ("exists", 3) => {
            let (key, value) = (name(next())?, name(next())?);
            let not_yet = call_of(operators::LOGICAL_NOT, [result()]);
            let condition = call_of(operators::NOT_STRICTLY_FALSE, [not_yet]);
            let step = call_of(operators::LOGICAL_OR, [result(), next()]);
            fold(target, key, value, literal(false), condition, step, result())
        }
        ("exists_one" | "existsOne", 3) => {
            let (key, value) = (name(next())?, name(next())?);
            let more = call_of(operators::ADD, [result(), number(1)]);
            let step = call_of(operators::CONDITIONAL, [next(), more, result()]);
            let one = call_of(operators::EQUALS, [result(), number(1)]);
            fold(target, key, value, number(0), literal(true), step, one)
        }
        ("transformList", 3 | 4) => {
            let (key, value) = (name(next())?, name(next())?);
            let filter = (count == 4).then(&mut next);
            let step = call_of(operators::ADD, [result(), list([next()])]);
            fold(target, key, value, list([]), literal(true), filtered(filter, step), result())
        }
        ("transformMap", 3 | 4) => {
            let (key, value) = (name(next())?, name(next())?);
            let filter = (count == 4).then(&mut next);
            let step = call_of(INSERT, [result(), ident(&key), next()]);
            fold(target, key, value, empty_map(), literal(true), filtered(filter, step), result())
        }
        ("transformMapEntry", 3 | 4) => {
            let (key, value) = (name(next())?, name(next())?);
            let filter = (count == 4).then(&mut next);
            let step = call_of(INSERT, [result(), next()]);
            fold(target, key, value, empty_map(), literal(true), filtered(filter, step), result())
        }
        ("optMap" | "optFlatMap", 2) => {
            let (variable, body) = (name(next())?, next());
            let value = plain(0, "value".into(), Some(target.clone()), Vec::new());
            let bound = bind(variable, value, body);
            let optional = |name: &str, args| plain(0, name.into(), Some(ident("optional")), args);
            let some = if func_name == "optMap" { optional("of", vec![bound]) } else { bound };
            let has = plain(0, "hasValue".into(), Some(target), Vec::new());
            call_of(operators::CONDITIONAL, [has, some, optional("none", Vec::new())])
        }
        ("sortBy", 2) => {
            let (variable, key) = (name(next())?, next());
            let keys = made(Expr::Comprehension(Box::new(ComprehensionExpr {
                iter_range: ident(LIST),
                iter_var: variable,
                iter_var2: None,
                accu_var: RESULT.into(),
                accu_init: list([]),
                loop_cond: literal(true),
                loop_step: call_of(operators::ADD, [result(), list([key])]),
                result: result(),
            })));
            bind(LIST.into(), target, call_of(SORT_BY, [ident(LIST), keys]))
        }
        _ => plain(id, func_name, Some(target), given.collect()),
    })
}

fn name(of: IdedExpr) -> Result<String, Misfit> {
    match of.expr {
        Expr::Ident(name) => Ok(name),
        _ => Err(Misfit { part: of.id, why: "argument must be a simple name".into() }),
    }
}

/// Gives a value a name within an expression: a fold over nothing.
fn bind(name: String, value: IdedExpr, within: IdedExpr) -> IdedExpr {
    made(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: list([]),
        iter_var: "@unused".into(),
        iter_var2: None,
        accu_var: name,
        accu_init: value,
        loop_cond: literal(false),
        loop_step: literal(false),
        result: within,
    })))
}

fn fold(
    range: IdedExpr,
    key: String,
    value: String,
    start: IdedExpr,
    condition: IdedExpr,
    step: IdedExpr,
    result: IdedExpr,
) -> IdedExpr {
    made(Expr::Comprehension(Box::new(ComprehensionExpr {
        iter_range: range,
        iter_var: key,
        iter_var2: Some(value),
        accu_var: RESULT.into(),
        accu_init: start,
        loop_cond: condition,
        loop_step: step,
        result,
    })))
}

fn filtered(filter: Option<IdedExpr>, step: IdedExpr) -> IdedExpr {
    match filter {
        Some(filter) => call_of(operators::CONDITIONAL, [filter, step, result()]),
        None => step,
    }
}

fn made(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

fn plain(id: u64, func_name: String, target: Option<IdedExpr>, args: Vec<IdedExpr>) -> IdedExpr {
    IdedExpr { id, expr: Expr::Call(CallExpr { func_name, target: target.map(Box::new), args }) }
}

fn call_of<const COUNT: usize>(name: &str, args: [IdedExpr; COUNT]) -> IdedExpr {
    plain(0, name.into(), None, args.into())
}

fn ident(name: &str) -> IdedExpr {
    made(Expr::Ident(name.into()))
}

fn result() -> IdedExpr {
    ident(RESULT)
}

fn literal(flag: bool) -> IdedExpr {
    made(Expr::Literal(LiteralValue::Boolean(flag.into())))
}

fn number(number: i64) -> IdedExpr {
    made(Expr::Literal(LiteralValue::Int(number.into())))
}

fn list<const COUNT: usize>(elements: [IdedExpr; COUNT]) -> IdedExpr {
    made(Expr::List(ListExpr { elements: elements.into(), optional_indices: Vec::new() }))
}

fn empty_map() -> IdedExpr {
    made(Expr::Map(MapExpr { entries: Vec::new() }))
}
