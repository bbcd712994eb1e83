//! One operation of a JSON patch, read and checked before it is applied.

use crate::pointer::{Dialect, Pointer};
use tenure_value::{Object, Value};

/// An operation and its target.
pub(super) struct Operation<'v> {
    /// The target, as written.
    pub(super) path: &'v str,
    pub(super) pointer: Pointer,
    pub(super) action: Action<'v>,
}

/// What an operation does.
pub(super) enum Action<'v> {
    Add(Value),
    Replace(Value),
    Test(Value),
    Remove,
    Move { from: Pointer, text: &'v str },
    Copy { from: Pointer, text: &'v str },
}

impl<'v> Operation<'v> {
    /// Reads an operation; the error says what is wrong.
    pub(super) fn read(value: &'v Value, dialect: Dialect) -> Result<Operation<'v>, &'static str> {
        let object = value.as_object().ok_or("an operation must be an object")?;
        let name = object.get("op").ok_or("an operation needs \"op\"")?;
        let path = text(object, "path").ok_or("an operation needs \"path\"")?;
        let from = || -> Result<(Pointer, &str), &'static str> {
            let text = text(object, "from").ok_or("this operation needs \"from\"")?;
            Ok((Pointer::read(text, dialect)?, text))
        };
        let operand = || match (object.get("value"), dialect) {
            (Some(value), _) => Ok(value.clone()),
            (None, Dialect::Kubernetes) => Ok(Value::Null),
            (None, Dialect::Standard) => Err("this operation needs \"value\""),
        };
        let action = match name.as_str() {
            Some("add") => Action::Add(operand()?),
            Some("replace") => Action::Replace(operand()?),
            Some("test") => Action::Test(operand()?),
            Some("remove") => Action::Remove,
            Some("move") => from().map(|(from, text)| Action::Move { from, text })?,
            Some("copy") => from().map(|(from, text)| Action::Copy { from, text })?,
            _ => return Err("\"op\" must be add, remove, replace, move, copy or test"),
        };
        Ok(Operation { path, pointer: Pointer::read(path, dialect)?, action })
    }
}

fn text<'v>(object: &'v Object, name: &str) -> Option<&'v str> {
    object.get(name).and_then(Value::as_str)
}
