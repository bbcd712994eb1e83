//! The nodes of programs.

use crate::{
    function::Overload,
    value::{MapKey, Val},
};
use regex::Regex;
use std::{collections::HashSet, sync::Arc};
use tenure_value::Text;

/// The index of a node in its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(pub u32);

impl NodeId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a regular expression is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    Matches,
    Find,
    FindAll,
}

/// How a field is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// The field must exist.
    Required,
    /// Returns whether the field exists.
    Test,
    /// Returns an optional value.
    Optional,
}

#[derive(Debug)]
pub(crate) enum Node {
    Const(Val<'static>),
    Variable(usize),
    Local(usize),
    Select(Box<Selection>),
    Index {
        operand: NodeId,
        index: NodeId,
        optional: bool,
        relative: bool,
    },
    And(NodeId, NodeId),
    Or(NodeId, NodeId),
    Conditional(NodeId, NodeId, NodeId),
    NotStrictlyFalse(NodeId),
    Call(Box<Call>),
    /// A constant regular expression, compiled once.
    Search {
        search: Search,
        text: NodeId,
        pattern: Box<Pattern>,
        limit: Option<NodeId>,
    },
    /// `item in [constants]`.
    Membership {
        item: NodeId,
        keys: Arc<HashSet<MapKey>>,
    },
    List {
        elements: Box<[NodeId]>,
        optional: Box<[u32]>,
    },
    Map(Box<[(NodeId, NodeId, bool)]>),
    Struct {
        name: Text,
        fields: Box<[(Text, NodeId, bool)]>,
    },
    Loop(Box<Loop>),
    /// A value bound to a name.
    Bind {
        slot: usize,
        value: NodeId,
        body: NodeId,
    },
}

#[derive(Debug)]
pub(crate) struct Selection {
    pub operand: NodeId,
    pub field: Text,
    pub access: Access,
    /// Whether the operand is neither a variable nor a selection, which costs one more.
    pub relative: bool,
}

#[derive(Debug)]
pub(crate) struct Pattern {
    pub regex: Regex,
    /// The number of characters of the pattern.
    pub length: u64,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub overloads: Box<[Arc<Overload>]>,
    pub args: Box<[NodeId]>,
}

#[derive(Debug)]
pub(crate) struct Loop {
    pub range: NodeId,
    pub variable: usize,
    pub second: Option<usize>,
    pub accumulator: usize,
    pub body: Body,
    pub result: NodeId,
}

#[derive(Debug)]
pub(crate) enum Body {
    /// The accumulator becomes the value of the step while the condition holds.
    Fold { init: NodeId, condition: NodeId, step: NodeId },
    /// Items are collected in a list.
    Collect { filter: Option<NodeId>, item: NodeId },
    /// Entries are collected in a map.
    CollectMap { filter: Option<NodeId>, key: Option<NodeId>, value: NodeId },
}
