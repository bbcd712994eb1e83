//! Function names of operators.

pub(crate) const NOT: &str = "!_";
pub(crate) const NEGATE: &str = "-_";
pub(crate) const ADD: &str = "_+_";
pub(crate) const SUBTRACT: &str = "_-_";
pub(crate) const MULTIPLY: &str = "_*_";
pub(crate) const DIVIDE: &str = "_/_";
pub(crate) const MODULO: &str = "_%_";
pub(crate) const EQUALS: &str = "_==_";
pub(crate) const NOT_EQUALS: &str = "_!=_";
pub(crate) const LESS: &str = "_<_";
pub(crate) const LESS_EQUALS: &str = "_<=_";
pub(crate) const GREATER: &str = "_>_";
pub(crate) const GREATER_EQUALS: &str = "_>=_";
pub(crate) const IN: &str = "@in";
pub(crate) const AND: &str = "_&&_";
pub(crate) const OR: &str = "_||_";
pub(crate) const CONDITIONAL: &str = "_?_:_";
pub(crate) const INDEX: &str = "_[_]";
pub(crate) const OPT_INDEX: &str = "_[?_]";
pub(crate) const OPT_SELECT: &str = "_?._";
pub(crate) const NOT_STRICTLY_FALSE: &str = "@not_strictly_false";

/// Binary operators: symbol, name, precedence. A higher precedence binds tighter; all are left-associative.
pub(crate) const BINARY: [(&str, &str, u8); 12] = [
    ("<", LESS, 1),
    ("<=", LESS_EQUALS, 1),
    (">=", GREATER_EQUALS, 1),
    (">", GREATER, 1),
    ("==", EQUALS, 1),
    ("!=", NOT_EQUALS, 1),
    ("in", IN, 1),
    ("+", ADD, 2),
    ("-", SUBTRACT, 2),
    ("*", MULTIPLY, 3),
    ("/", DIVIDE, 3),
    ("%", MODULO, 3),
];
