//! Programs: compiled expressions, their estimated cost and their evaluation.

mod compile;
mod estimate;
mod evaluate;
mod node;

pub(crate) use compile::compile;
pub use evaluate::{Evaluation, Variables};

use crate::{
    meter::{Limits, Meter},
    types::Type,
    value::Val,
};
use node::{Node, NodeId};

/// A compiled expression. It can be evaluated any number of times, from many threads.
#[derive(Debug)]
pub struct Program {
    nodes: Vec<Node>,
    root: NodeId,
    /// The maximum number of loop variables at one time.
    locals: usize,
    result_type: Type,
    estimated_cost: u64,
    /// For each variable of the environment, whether the expression reads it.
    reads: Vec<bool>,
}

impl Program {
    /// Returns the type of the result.
    pub fn result_type(&self) -> &Type {
        &self.result_type
    }

    /// Returns the maximum cost of the expression on values within their declared bounds.
    ///
    /// ```
    /// use tenure_cel::{Decl, Env};
    ///
    /// let env = |names| Env::kubernetes().with_variable("self", names);
    /// let names = Decl::list(Decl::string().max_length(10));
    /// let cost = |names| env(names).compile("self.all(n, n.contains('abc'))").unwrap().estimated_cost();
    /// assert_eq!(cost(names.clone().max_items(10)), 82);
    /// assert!(cost(names) > 8_000_000);
    /// ```
    pub fn estimated_cost(&self) -> u64 {
        self.estimated_cost
    }

    /// Whether the expression reads a variable, by the order in which variables were added.
    pub fn reads(&self, variable: usize) -> bool {
        self.reads.get(variable).copied().unwrap_or(false)
    }

    /// Evaluates the expression with the values of its variables, in the order in which they were added.
    ///
    /// ```
    /// use tenure_cel::{Decl, Env, Limits, Val};
    /// use tenure_value::Value;
    ///
    /// let replicas = Decl::object("self", [("replicas", Decl::int(), false)]);
    /// let program = Env::kubernetes().with_variable("self", replicas.clone()).compile("self.replicas <= 5")?;
    /// let document: Value = r#"{"replicas": 7}"#.parse().unwrap();
    /// let evaluation = program.eval(&[Val::from_document(&document, Some(&replicas))?], Limits::new());
    /// assert!(matches!(evaluation.result, Ok(Val::Bool(false))));
    /// assert_eq!(evaluation.cost, 3);
    /// # Ok::<(), tenure_cel::Error>(())
    /// ```
    pub fn eval<'v>(&self, variables: &dyn Variables<'v>, limits: Limits) -> Evaluation<'v> {
        let mut meter = Meter::new(limits);
        let result = evaluate::run(self, variables, &mut meter);
        Evaluation { result, cost: meter.cost(), scanned: meter.scanned() }
    }

    /// Returns the result of an expression that consists of constants only.
    pub fn constant(&self) -> Option<&Val<'static>> {
        match self.nodes.get(self.root.index()) {
            Some(Node::Const(value)) => Some(value),
            _ => None,
        }
    }
}
