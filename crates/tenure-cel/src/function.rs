//! Functions of expressions: the types that they take, their cost and their code.

use crate::{
    Error,
    cost::Cost,
    meter::Meter,
    types::{Signature, Type},
    value::Val,
};
use std::fmt;
use tenure_value::Text;

/// The result of a function.
pub type EvalResult<'v> = Result<Val<'v>, Error>;

/// The code of a function. Its cost is charged before it runs; the function reports its own allocations with
/// [`Meter::allocate`].
pub type Function = dyn for<'v> Fn(&mut Meter, &[Val<'v>]) -> EvalResult<'v> + Send + Sync;

/// One overload of a function: its parameter and result types, its cost and its code.
pub(crate) struct Overload {
    pub name: Text,
    pub method: bool,
    pub params: Box<[Type]>,
    pub result: Type,
    pub cost: Cost,
    pub code: Box<Function>,
}

impl fmt::Debug for Overload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}: {}", self.name, self.params, self.result)
    }
}

impl Overload {
    pub fn new(signature: &str, cost: Cost, code: Box<Function>) -> Result<Overload, String> {
        let Signature { name, method, params, result } = Signature::parse(signature)?;
        Ok(Overload { name, method, params: params.into(), result, cost, code })
    }

    /// Whether the overload accepts these arguments.
    pub fn accepts(&self, args: &[Val<'_>]) -> bool {
        self.params.len() == args.len() && self.params.iter().zip(args).all(|(param, arg)| fits(param, arg))
    }
}

/// Whether a value can be of a type. Of a list only the first item is checked.
fn fits(ty: &Type, value: &Val<'_>) -> bool {
    match (ty, value) {
        (Type::Dyn | Type::Error | Type::Param(_) | Type::Var(_), _) => true,
        (Type::Null, Val::Null)
        | (Type::Bool, Val::Bool(_))
        | (Type::Int, Val::Int(_))
        | (Type::UInt, Val::UInt(_))
        | (Type::Double, Val::Double(_))
        | (Type::String, Val::String(_))
        | (Type::Bytes, Val::Bytes(_))
        | (Type::Timestamp, Val::Timestamp(_))
        | (Type::Duration, Val::Duration(_))
        | (Type::Type, Val::Type(_))
        | (Type::Object(_), Val::Map(_))
        | (Type::Map(..), Val::Map(_))
        | (Type::Optional(_), Val::Optional(_)) => true,
        (Type::List(item), Val::List(list)) => match list.get(0) {
            Some(Ok(first)) => fits(item, &first),
            _ => true,
        },
        (Type::Named(name), Val::Opaque(value)) => value.type_name() == name,
        _ => false,
    }
}
