//! One operation of a JSON patch, read and checked before anything is done.

use crate::pointer::{Dialect, Pointer};
use tenure_value::{Object, Value};

/// An operation and the place it works on.
pub(super) struct Operation<'v> {
    /// The place as written.
    pub(super) path: &'v str,
    pub(super) pointer: Pointer,
    pub(super) kind: Kind<'v>,
}

/// What is done.
pub(super) enum Kind<'v> {
    Add(Value),
    Replace(Value),
    Test(Value),
    Remove,
    Move { from: Pointer, text: &'v str },
    Copy { from: Pointer, text: &'v str },
}

impl<'v> Operation<'v> {
    /// Reads an operation; the error says what is wrong with it.
    pub(super) fn read(value: &'v Value, dialect: Dialect) -> Result<Operation<'v>, &'static str> {
        let object = value.as_object().ok_or("an operation is an object")?;
        let name = object.get("op").ok_or("an operation has an \"op\"")?;
        let path = text(object, "path").ok_or("an operation has a \"path\"")?;
        let from = || {
            let text = text(object, "from").ok_or("this operation has a \"from\"")?;
            Ok((Pointer::read(text, dialect)?, text))
        };
        let operand = || match (object.get("value"), dialect) {
            (Some(value), _) => Ok(value.clone()),
            (None, Dialect::Kubernetes) => Ok(Value::Null),
            (None, Dialect::Standard) => Err("this operation has a \"value\""),
        };
        let kind = match name.as_str() {
            Some("add") => Kind::Add(operand()?),
            Some("replace") => Kind::Replace(operand()?),
            Some("test") => Kind::Test(operand()?),
            Some("remove") => Kind::Remove,
            Some("move") => from().map(|(from, text)| Kind::Move { from, text })?,
            Some("copy") => from().map(|(from, text)| Kind::Copy { from, text })?,
            _ => return Err("\"op\" is add, remove, replace, move, copy or test"),
        };
        Ok(Operation { path, pointer: Pointer::read(path, dialect)?, kind })
    }
}

fn text<'v>(object: &'v Object, name: &str) -> Option<&'v str> {
    object.get(name).and_then(Value::as_str)
}
