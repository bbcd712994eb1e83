//! The tree of an expression, kept in one list: a node names its parts by their index, parts come before the node. So
//! a tree is dropped and walked without recursion, and what is known of a node is a list beside the tree.

use super::source::Source;
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

/// A constant as it is written.
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

/// An entry of a map that is written out.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: ExprId,
    /// The value.
    pub value: ExprId,
    /// Whether the entry is left out where its value is an empty optional: `{?"k": v}`.
    pub optional: bool,
}

/// A field of a message that is written out.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name.
    pub name: Text,
    /// The value.
    pub value: ExprId,
    /// Whether the field is left out where its value is an empty optional.
    pub optional: bool,
    /// Where the colon stands, as a byte offset.
    pub offset: usize,
}

/// A loop over a list or a map; macros are written in terms of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Comprehension {
    /// What is gone through.
    pub range: ExprId,
    /// The variable of the loop: an item of a list, a key of a map; an index with two variables.
    pub variable: Text,
    /// The second variable: an item of a list, a value of a map.
    pub second: Option<Text>,
    /// The name of the accumulator.
    pub accumulator: Text,
    /// What the accumulator begins with.
    pub init: ExprId,
    /// Whether the loop goes on.
    pub condition: ExprId,
    /// What the accumulator becomes with an item.
    pub step: ExprId,
    /// The result, in terms of the accumulator.
    pub result: ExprId,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Literal(Literal),
    /// A name.
    Ident(Text),
    /// `operand.field`, or whether there is one (`has`).
    Select {
        /// What has the field.
        operand: ExprId,
        /// The name of the field.
        field: Text,
        /// Whether only its presence is asked.
        test: bool,
    },
    /// A function, an operator (by its CEL name, such as `_+_`) or a method.
    Call {
        /// The name.
        function: Text,
        /// What a method is called on.
        target: Option<ExprId>,
        /// The arguments.
        args: Box<[ExprId]>,
    },
    /// `[a, b]`.
    List {
        /// The elements.
        elements: Box<[ExprId]>,
        /// The indices of those that are left out where they are empty optionals: `[?a]`.
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

/// An expression as a tree. A parsed tree has macros as the calls that they are written as; see
/// [`Ast::to_string`](std::fmt::Display).
#[derive(Clone, Debug)]
pub struct Ast {
    pub(crate) source: Arc<Source>,
    pub(crate) nodes: Vec<Expr>,
    /// Where each node stands, as a byte offset.
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

    /// Returns the whole expression's node.
    pub fn root(&self) -> ExprId {
        self.root
    }

    /// Returns a node. Indices come from this tree, so every one of them names a node.
    pub fn node(&self, id: ExprId) -> &Expr {
        &self.nodes[id.index()]
    }

    /// Returns where a node stands in the text, as a byte offset.
    pub fn offset(&self, id: ExprId) -> usize {
        self.offsets[id.index()] as usize
    }

    /// Returns the text that the tree was read from.
    pub fn source(&self) -> &Source {
        &self.source
    }
}

impl Expr {
    /// Calls a function with every part, in the order of evaluation.
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
            Expr::Comprehension(of) => {
                [of.range, of.init, of.condition, of.step, of.result].into_iter().for_each(each)
            }
        }
    }
}

/// Two trees are equal when they say the same, wherever their parts stand in their texts.
impl PartialEq for Ast {
    fn eq(&self, other: &Ast) -> bool {
        // Parts come before what holds them and in the same order in both, whatever else the lists hold.
        let mut pairs = vec![(self.root, other.root)];
        while let Some((a, b)) = pairs.pop() {
            let (left, right) = (self.node(a), other.node(b));
            if !left.says_the_same_as(right) {
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
    /// Whether both are alike apart from their parts.
    fn says_the_same_as(&self, other: &Expr) -> bool {
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
