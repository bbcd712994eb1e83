//! The syntax tree of an expression, stored in one vector: a node refers to its children by index, and
//! children come before their parent. So a tree is dropped and traversed without recursion, and attributes of
//! nodes are vectors beside it.

use crate::source::Source;
use std::sync::Arc;
use tenure_value::Text;

/// The index of a node in its [`Ast`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(pub(crate) u32);

impl ExprId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// `1`.
    Int(i64),
    /// `1u`.
    UInt(u64),
    /// `1.5`.
    Double(f64),
    /// `"text"`.
    String(Text),
    /// `b"bytes"`.
    Bytes(Arc<[u8]>),
}

/// An entry of a map literal.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: ExprId,
    /// The value.
    pub value: ExprId,
    /// Whether the entry is omitted if its value is an empty optional: `{?"k": v}`.
    pub optional: bool,
}

/// A field of an object literal.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name.
    pub name: Text,
    /// The value.
    pub value: ExprId,
    /// Whether the field is omitted if its value is an empty optional.
    pub optional: bool,
    /// The position of the colon, as a byte offset.
    pub offset: usize,
}

/// A loop over a list or map, to which macros expand.
#[derive(Clone, Debug, PartialEq)]
pub struct Comprehension {
    /// The list or map to iterate over.
    pub range: ExprId,
    /// The loop variable: an item of a list or a key of a map; with two variables, an index or a key.
    pub variable: Text,
    /// The second variable: an item of a list, a value of a map.
    pub second: Option<Text>,
    /// The name of the accumulator.
    pub accumulator: Text,
    /// The initial value of the accumulator.
    pub init: ExprId,
    /// The condition to continue.
    pub condition: ExprId,
    /// The next value of the accumulator.
    pub step: ExprId,
    /// The result, computed from the accumulator.
    pub result: ExprId,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Literal(Literal),
    /// A name.
    Ident(Text),
    /// `operand.field`, or a presence test (`has`).
    Select {
        /// The operand.
        operand: ExprId,
        /// The name of the field.
        field: Text,
        /// Whether this is a presence test.
        test: bool,
    },
    /// A function, an operator (by its CEL name, such as `_+_`) or a method.
    Call {
        /// The name.
        function: Text,
        /// The receiver of a method.
        target: Option<ExprId>,
        /// The arguments.
        args: Box<[ExprId]>,
    },
    /// `[a, b]`.
    List {
        /// The elements.
        elements: Box<[ExprId]>,
        /// The indices of elements that are omitted if they are empty optionals: `[?a]`.
        optional: Box<[u32]>,
    },
    /// `{k: v}`.
    Map(Box<[Entry]>),
    /// `Type{field: value}`.
    Struct {
        /// The name of the type.
        name: Text,
        /// The fields.
        fields: Box<[Field]>,
    },
    /// A loop; only in expanded trees.
    Comprehension(Box<Comprehension>),
}

/// An expression as a syntax tree. A parsed tree contains macros as calls, as they were written; it prints
/// with [`Display`](std::fmt::Display).
#[derive(Clone, Debug)]
pub struct Ast {
    pub(crate) source: Arc<Source>,
    pub(crate) nodes: Vec<Expr>,
    /// The position of each node, as a byte offset.
    pub(crate) offsets: Vec<u32>,
    pub(crate) root: ExprId,
}

impl Ast {
    pub(crate) fn new(source: Arc<Source>) -> Ast {
        Ast { source, nodes: Vec::new(), offsets: Vec::new(), root: ExprId(0) }
    }

    pub(crate) fn push(&mut self, offset: usize, node: Expr) -> ExprId {
        let id = ExprId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node);
        self.offsets.push(u32::try_from(offset).unwrap_or(u32::MAX));
        id
    }

    /// Returns the root node.
    pub fn root(&self) -> ExprId {
        self.root
    }

    /// Returns a node. An `ExprId` always refers to a node of its own tree.
    pub fn node(&self, id: ExprId) -> &Expr {
        &self.nodes[id.index()]
    }

    /// Returns the position of a node in the text, as a byte offset.
    pub fn offset(&self, id: ExprId) -> usize {
        self.offsets[id.index()] as usize
    }

    /// Returns the source text of the tree.
    pub fn source(&self) -> &Source {
        &self.source
    }
}

impl Expr {
    /// Calls a function with every child, in the order of evaluation.
    pub fn for_each_part(&self, mut each: impl FnMut(ExprId)) {
        match self {
            Expr::Literal(_) | Expr::Ident(_) => {}
            Expr::Select { operand, .. } => each(*operand),
            Expr::Call { target, args, .. } => target.iter().chain(args).copied().for_each(each),
            Expr::List { elements, .. } => elements.iter().copied().for_each(each),
            Expr::Map(entries) => entries.iter().for_each(|entry| {
                each(entry.key);
                each(entry.value);
            }),
            Expr::Struct { fields, .. } => fields.iter().for_each(|field| each(field.value)),
            Expr::Comprehension(comprehension) => [
                comprehension.range,
                comprehension.init,
                comprehension.condition,
                comprehension.step,
                comprehension.result,
            ]
            .into_iter()
            .for_each(each),
        }
    }
}

/// Two trees are equal if their nodes are, regardless of positions.
impl PartialEq for Ast {
    fn eq(&self, other: &Ast) -> bool {
        // Children come before their parents, in the same order in both trees, regardless of what else
        // the vectors contain.
        let mut pairs = vec![(self.root, other.root)];
        while let Some((a, b)) = pairs.pop() {
            let (left, right) = (self.node(a), other.node(b));
            if !left.equals_shallowly(right) {
                return false;
            }
            let (mut lefts, mut rights) = (Vec::new(), Vec::new());
            left.for_each_part(|part| lefts.push(part));
            right.for_each_part(|part| rights.push(part));
            if lefts.len() != rights.len() {
                return false;
            }
            pairs.extend(lefts.into_iter().zip(rights));
        }
        true
    }
}

impl Expr {
    /// Whether both nodes are equal apart from their children.
    fn equals_shallowly(&self, other: &Expr) -> bool {
        match (self, other) {
            (Expr::Literal(Literal::Double(a)), Expr::Literal(Literal::Double(b))) => {
                a.to_bits() == b.to_bits()
            }
            (Expr::Literal(a), Expr::Literal(b)) => a == b,
            (Expr::Ident(a), Expr::Ident(b)) => a == b,
            (Expr::Select { field: a, test: m, .. }, Expr::Select { field: b, test: n, .. }) => {
                a == b && m == n
            }
            (
                Expr::Call { function: a, target: s, args: v },
                Expr::Call { function: b, target: t, args: w },
            ) => a == b && s.is_some() == t.is_some() && v.len() == w.len(),
            (Expr::List { optional: a, .. }, Expr::List { optional: b, .. }) => a == b,
            (Expr::Map(a), Expr::Map(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.optional == b.optional)
            }
            (Expr::Struct { name: a, fields: v }, Expr::Struct { name: b, fields: w }) => {
                a == b
                    && v.len() == w.len()
                    && v.iter().zip(w).all(|(v, w)| v.name == w.name && v.optional == w.optional)
            }
            (Expr::Comprehension(a), Expr::Comprehension(b)) => {
                (&a.variable, &a.second, &a.accumulator) == (&b.variable, &b.second, &b.accumulator)
            }
            _ => false,
        }
    }
}
