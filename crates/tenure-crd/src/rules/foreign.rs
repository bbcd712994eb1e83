//! The way to the functions of the `kube-cel` crate: times, addresses, amounts, versions, formats and all that
//! Kubernetes adds to the language. Values are handed over by copy, so only what is not in `eval` goes this way.

use super::{eval::Trouble, value::Val};
use kube_cel::{
    KubeCelExt,
    cel::{
        self, Context, ExecutionError, IdedExpr,
        common::ast::{CallExpr, Expr},
        objects::{Key, Map, OptionalValue},
    },
};
use std::sync::Arc;
use tenure_value::{Text, Value};

thread_local! {
    static FUNCTIONS: Context<'static> = Context::default().with_all();
}

/// The names under which arguments are handed over.
const ARGUMENTS: [&str; 8] = ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"];

/// What a call is made on.
pub enum Target<'a, 'v> {
    /// Nothing: `url(x)`.
    None,
    /// A namespace: `math.greatest(x)`.
    Namespace(&'a str),
    /// A value: `x.split(",")`.
    Value(Val<'v>),
}

/// Calls a function or an operator of the crate.
pub fn call<'v>(name: &str, target: Target<'_, 'v>, args: &[Val<'v>]) -> Result<Val<'v>, Trouble> {
    if args.len() >= ARGUMENTS.len() {
        return Err(Trouble::Error(format!("{name}: at most {} arguments", ARGUMENTS.len() - 1)));
    }
    let mut given = args.iter().map(to_cel).collect::<Result<Vec<_>, _>>()?;
    let ident = |name: &str| IdedExpr { id: 0, expr: Expr::Ident(name.into()) };
    let target = match target {
        Target::None => None,
        Target::Namespace(name) => Some(Box::new(ident(name))),
        Target::Value(value) => {
            given.push(to_cel(&value)?);
            Some(Box::new(ident(ARGUMENTS.get(args.len()).copied().unwrap_or_default())))
        }
    };
    let args = ARGUMENTS.iter().take(args.len()).map(|name| ident(name)).collect();
    let call = IdedExpr { id: 0, expr: Expr::Call(CallExpr { func_name: name.into(), target, args }) };
    FUNCTIONS.with(|functions| {
        let mut scope = functions.new_inner_scope();
        for (name, value) in ARGUMENTS.iter().zip(given) {
            scope.add_variable_from_value(*name, value);
        }
        scope.resolve(&call).map_err(trouble).and_then(from_cel)
    })
}

/// Whether the crate has a function, plain or in a namespace.
pub fn has_function(name: &str, namespace: Option<&str>) -> bool {
    let target = namespace.map(|name| Box::new(IdedExpr { id: 0, expr: Expr::Ident(name.into()) }));
    let call =
        IdedExpr { id: 0, expr: Expr::Call(CallExpr { func_name: name.into(), target, args: Vec::new() }) };
    let wanted = namespace.map_or_else(|| name.to_string(), |namespace| format!("{namespace}.{name}"));
    let missing = |found: &str| found == name || found == wanted || Some(found) == namespace;
    FUNCTIONS.with(|functions| {
        !matches!(functions.resolve(&call), Err(ExecutionError::UndeclaredReference(found)) if missing(&found))
    })
}

fn trouble(error: ExecutionError) -> Trouble {
    Trouble::Error(match error {
        ExecutionError::NoSuchOverload => "no such overload".into(),
        ExecutionError::UndeclaredReference(name) => format!("undeclared reference to '{name}'"),
        other => other.to_string(),
    })
}

/// Reads a time; a text that is none stays a text.
pub fn timestamp<'v>(text: &str) -> Val<'v> {
    let written = Val::Text(Text::new(text));
    call("timestamp", Target::None, std::slice::from_ref(&written)).unwrap_or(written)
}

/// Makes a duration.
pub fn duration<'v>(nanoseconds: i64) -> Val<'v> {
    let written = Val::Text(Text::from(format!("{nanoseconds}ns")));
    call("duration", Target::None, std::slice::from_ref(&written)).unwrap_or(written)
}

fn to_cel(value: &Val<'_>) -> Result<cel::Value, Trouble> {
    Ok(match value {
        Val::Null => cel::Value::Null,
        Val::Bool(flag) => cel::Value::Bool(*flag),
        Val::Int(number) => cel::Value::Int(*number),
        Val::UInt(number) => cel::Value::UInt(*number),
        Val::Double(number) => cel::Value::Float(*number),
        Val::Text(text) => cel::Value::String(Arc::new(text.to_string())),
        Val::Bytes(bytes) => cel::Value::Bytes(Arc::new(bytes.to_vec())),
        Val::Foreign(value) => value.clone(),
        Val::Authority => return Err(Trouble::Error("an authorizer is only asked".into())),
        Val::Optional(None) => cel::Value::Opaque(Arc::new(OptionalValue::none())),
        Val::Optional(Some(value)) => cel::Value::Opaque(Arc::new(OptionalValue::of(to_cel(value)?))),
        Val::List(_) | Val::Part(Value::Array(_), _) => {
            let items = value.range().unwrap_or_default();
            cel::Value::List(Arc::new(items.iter().map(to_cel).collect::<Result<_, _>>()?))
        }
        Val::Map(_) | Val::Part(..) => {
            let entries = value.entries().unwrap_or_default();
            let entries = entries.iter().map(|(key, value)| Ok((to_key(key)?, to_cel(value)?)));
            cel::Value::Map(Map { map: Arc::new(entries.collect::<Result<_, Trouble>>()?) })
        }
    })
}

fn to_key(key: &Val<'_>) -> Result<Key, Trouble> {
    Ok(match key {
        Val::Bool(flag) => Key::Bool(*flag),
        Val::Int(number) => Key::Int(*number),
        Val::UInt(number) => Key::Uint(*number),
        Val::Text(text) => Key::String(Arc::new(text.to_string())),
        other => return Err(Trouble::Error(format!("a {} cannot be the key of a map", other.type_word()))),
    })
}

fn from_cel<'v>(value: cel::Value) -> Result<Val<'v>, Trouble> {
    Ok(match value {
        cel::Value::Null => Val::Null,
        cel::Value::Bool(flag) => Val::Bool(flag),
        cel::Value::Int(number) => Val::Int(number),
        cel::Value::UInt(number) => Val::UInt(number),
        cel::Value::Float(number) => Val::Double(number),
        cel::Value::String(text) => Val::Text(Text::new(text.as_str())),
        cel::Value::Bytes(bytes) => Val::Bytes(bytes.as_slice().into()),
        cel::Value::List(items) => {
            let items = items.iter().cloned().map(from_cel).collect::<Result<Vec<_>, _>>()?;
            Val::List(Arc::new(items))
        }
        cel::Value::Map(map) => {
            let key = |key: &Key| match key {
                Key::Int(number) => Val::Int(*number),
                Key::Uint(number) => Val::UInt(*number),
                Key::Bool(flag) => Val::Bool(*flag),
                Key::String(text) => Val::Text(Text::new(text.as_str())),
            };
            let entries = map.map.iter().map(|(name, value)| Ok((key(name), from_cel(value.clone())?)));
            Val::Map(Arc::new(entries.collect::<Result<_, Trouble>>()?))
        }
        cel::Value::Function(name, _) => {
            return Err(Trouble::Error(format!("{name} is a function, not a value")));
        }
        other => match <&OptionalValue>::try_from(&other) {
            Ok(optional) => match optional.value() {
                Some(value) => Val::Optional(Some(Box::new(from_cel(value.clone())?))),
                None => Val::Optional(None),
            },
            Err(_) => Val::Foreign(other),
        },
    })
}
