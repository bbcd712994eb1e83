//! Compiles checked expressions: names become indices, constants are folded, regular expressions are
//! compiled, and loops that collect items get their own nodes.

use super::{
    Program,
    estimate::estimate,
    node::{Access, Body, Call, Loop, Node, NodeId, Pattern, Search, Selection},
};
use crate::{
    Env, Error,
    check::{Checked, Reference},
    function::Overload,
    library::regex,
    meter::{Limits, Meter},
    syntax::{Comprehension, Expr, ExprId, Literal, operators as op},
    value::{MapKey, Val, count_chars},
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};
use tenure_value::Text;

/// Functions that are folded when their arguments are constants.
const CONVERSIONS: [&str; 8] = ["bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"];

pub(crate) fn compile(env: &Env, checked: Checked) -> Result<Program, Error> {
    let mut compiler = Compiler {
        checked: &checked,
        nodes: Vec::with_capacity(checked.ast.nodes.len()),
        places: HashMap::new(),
        scopes: Vec::new(),
        locals: 0,
        reads: vec![false; env.variable_count()],
    };
    let root = compiler.expr(checked.ast.root)?;
    let Compiler { nodes, locals, reads, .. } = compiler;
    Ok(Program {
        nodes,
        root,
        locals,
        reads,
        result_type: checked.ty(checked.ast.root).clone(),
        estimated_cost: estimate(env, &checked),
    })
}

struct Compiler<'c> {
    checked: &'c Checked,
    nodes: Vec<Node>,
    /// The node of the program for each node of the tree, since macros use some twice.
    places: HashMap<ExprId, NodeId>,
    /// The variables of the enclosing loops, with their slots.
    scopes: Vec<(Text, usize)>,
    locals: usize,
    reads: Vec<bool>,
}

impl Compiler<'_> {
    fn push(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX))
    }

    fn constant(&self, id: NodeId) -> Option<&Val<'static>> {
        match self.nodes.get(id.index()) {
            Some(Node::Const(value)) => Some(value),
            _ => None,
        }
    }

    fn slot(&mut self, name: &Text) -> usize {
        let slot = self.scopes.len();
        self.scopes.push((name.clone(), slot));
        self.locals = self.locals.max(slot + 1);
        slot
    }

    fn expr(&mut self, id: ExprId) -> Result<NodeId, Error> {
        if let Some(place) = self.places.get(&id) {
            return Ok(*place);
        }
        let checked = self.checked;
        let place = match (checked.references.get(&id), checked.ast.node(id)) {
            (Some(Reference::Variable(index)), _) => {
                if let Some(read) = self.reads.get_mut(*index) {
                    *read = true;
                }
                self.push(Node::Variable(*index))
            }
            (Some(Reference::Present), _) => self.push(Node::Const(Val::Bool(true))),
            (Some(Reference::Type(name)), _) => self.push(Node::Const(Val::Type(name.clone()))),
            (_, Expr::Ident(name)) => {
                let slot =
                    self.scopes.iter().rev().find(|(bound, _)| bound == name).map_or(0, |(_, slot)| *slot);
                self.push(Node::Local(slot))
            }
            (_, Expr::Literal(literal)) => self.push(Node::Const(constant(literal))),
            (_, Expr::Select { operand, field, test }) => {
                let access = if *test { Access::Test } else { Access::Required };
                self.select(*operand, field, access)?
            }
            (reference, Expr::Call { function, target, args }) => {
                self.call(reference, function, *target, args)?
            }
            (_, Expr::List { elements, optional }) => self.list(elements, optional)?,
            (_, Expr::Map(_)) => self.map(id)?,
            (_, Expr::Struct { name, fields }) => {
                let mut made = Vec::with_capacity(fields.len());
                for field in fields {
                    made.push((field.name.clone(), self.expr(field.value)?, field.optional));
                }
                let name = name.strip_prefix('.').unwrap_or(name).into();
                self.push(Node::Struct { name, fields: made.into() })
            }
            (_, Expr::Comprehension(comprehension)) => self.comprehension(comprehension)?,
        };
        self.places.insert(id, place);
        Ok(place)
    }

    /// Whether an operand is neither a variable nor a selection from one.
    fn is_relative(&self, id: NodeId) -> bool {
        !matches!(
            self.nodes.get(id.index()),
            Some(
                Node::Variable(_)
                    | Node::Local(_)
                    | Node::Select(_)
                    | Node::Index { .. }
                    | Node::Conditional(..)
            )
        )
    }

    fn select(&mut self, operand: ExprId, field: &Text, access: Access) -> Result<NodeId, Error> {
        let operand = self.expr(operand)?;
        let relative = self.is_relative(operand);
        Ok(self.push(Node::Select(Box::new(Selection { operand, field: field.clone(), access, relative }))))
    }

    fn call(
        &mut self,
        reference: Option<&Reference>,
        function: &Text,
        target: Option<ExprId>,
        args: &[ExprId],
    ) -> Result<NodeId, Error> {
        match (function.as_str(), args) {
            (op::OPT_SELECT, [operand, name]) => {
                if let Expr::Literal(Literal::String(field)) = self.checked.ast.node(*name) {
                    return self.select(*operand, field, Access::Optional);
                }
            }
            (op::AND, [left, right]) => {
                let (left, right) = (self.expr(*left)?, self.expr(*right)?);
                return Ok(self.push(Node::And(left, right)));
            }
            (op::OR, [left, right]) => {
                let (left, right) = (self.expr(*left)?, self.expr(*right)?);
                return Ok(self.push(Node::Or(left, right)));
            }
            (op::CONDITIONAL, [condition, yes, no]) => {
                let (condition, yes, no) = (self.expr(*condition)?, self.expr(*yes)?, self.expr(*no)?);
                return Ok(self.push(Node::Conditional(condition, yes, no)));
            }
            (op::NOT_STRICTLY_FALSE, [operand]) => {
                let operand = self.expr(*operand)?;
                return Ok(self.push(Node::NotStrictlyFalse(operand)));
            }
            (op::INDEX | op::OPT_INDEX, [operand, index]) => {
                let (operand, index) = (self.expr(*operand)?, self.expr(*index)?);
                let relative = self.is_relative(operand);
                return Ok(self.push(Node::Index {
                    operand,
                    index,
                    optional: function == op::OPT_INDEX,
                    relative,
                }));
            }
            _ => {}
        }
        let Some(Reference::Functions(overloads)) = reference else {
            return Err(Error::Instantiate(format!("no such overload: {function}")));
        };
        let is_method = overloads.first().is_some_and(|overload| overload.method);
        let target = target.filter(|_| is_method);
        let mut parts = Vec::with_capacity(args.len() + 1);
        for arg in target.iter().chain(args) {
            parts.push(self.expr(*arg)?);
        }
        if let Some(search) = self.search(function, &parts)? {
            return Ok(search);
        }
        match (function.as_str(), parts.as_slice()) {
            (op::IN, [item, list]) => {
                if let Some(keys) = self.constant(*list).and_then(constant_keys) {
                    return Ok(match keys.is_empty() {
                        true => self.push(Node::Const(Val::Bool(false))),
                        false => self.push(Node::Membership { item: *item, keys: Arc::new(keys) }),
                    });
                }
            }
            (name, [arg]) if CONVERSIONS.contains(&name) && target.is_none() => {
                if let Some(value) = self.constant(*arg).cloned() {
                    return self.folded(overloads, value);
                }
            }
            _ => {}
        }
        Ok(self.push(Node::Call(Box::new(Call { overloads: overloads.clone(), args: parts.into() }))))
    }

    /// Evaluates a conversion of a constant.
    fn folded(&mut self, overloads: &[Arc<Overload>], value: Val<'static>) -> Result<NodeId, Error> {
        let args = [value];
        let overload = overloads.iter().find(|overload| overload.accepts(&args));
        let mut meter = Meter::new(Limits::unlimited_cost());
        let result = match overload {
            Some(overload) => (overload.code)(&mut meter, &args),
            None => Err(Error::evaluate("no such overload")),
        };
        let value = result.map_err(|error| Error::Instantiate(error.to_string()))?;
        Ok(self.push(Node::Const(value)))
    }

    /// Compiles a constant regular expression.
    fn search(&mut self, function: &str, parts: &[NodeId]) -> Result<Option<NodeId>, Error> {
        let search = match function {
            "matches" => Search::Matches,
            "find" => Search::Find,
            "findAll" => Search::FindAll,
            _ => return Ok(None),
        };
        let [text, pattern, rest @ ..] = parts else { return Ok(None) };
        let Some(Val::String(source)) = self.constant(*pattern) else { return Ok(None) };
        let regex = regex::compile(source).map_err(Error::Instantiate)?;
        let pattern = Box::new(Pattern { regex, length: count_chars(source) });
        Ok(Some(self.push(Node::Search { search, text: *text, pattern, limit: rest.first().copied() })))
    }

    fn list(&mut self, elements: &[ExprId], optional: &[u32]) -> Result<NodeId, Error> {
        let mut parts = Vec::with_capacity(elements.len());
        for element in elements {
            parts.push(self.expr(*element)?);
        }
        if optional.is_empty() {
            let constants: Option<Vec<_>> = parts.iter().map(|part| self.constant(*part).cloned()).collect();
            if let Some(constants) = constants {
                return Ok(self.push(Node::Const(Val::list(constants))));
            }
        }
        Ok(self.push(Node::List { elements: parts.into(), optional: optional.into() }))
    }

    fn map(&mut self, id: ExprId) -> Result<NodeId, Error> {
        let Expr::Map(entries) = self.checked.ast.node(id) else {
            return Ok(self.push(Node::Const(Val::Null)));
        };
        let mut parts = Vec::with_capacity(entries.len());
        for entry in entries {
            parts.push((self.expr(entry.key)?, self.expr(entry.value)?, entry.optional));
        }
        let constants: Option<BTreeMap<_, _>> = parts
            .iter()
            .map(|(key, value, optional)| match optional {
                true => None,
                false => Some((MapKey::new(self.constant(*key)?)?, self.constant(*value)?.clone())),
            })
            .collect();
        Ok(match constants {
            Some(entries) => self.push(Node::Const(Val::map(entries))),
            None => self.push(Node::Map(parts.into())),
        })
    }

    fn comprehension(&mut self, fold: &Comprehension) -> Result<NodeId, Error> {
        if let (Expr::List { elements, .. }, Expr::Literal(Literal::Bool(false))) =
            (self.checked.ast.node(fold.range), self.checked.ast.node(fold.condition))
            && elements.is_empty()
        {
            let value = self.expr(fold.init)?;
            let depth = self.scopes.len();
            let slot = self.slot(&fold.accumulator);
            let body = self.expr(fold.result)?;
            self.scopes.truncate(depth);
            return Ok(self.push(Node::Bind { slot, value, body }));
        }
        let range = self.expr(fold.range)?;
        let init = self.expr(fold.init)?;
        let depth = self.scopes.len();
        let accumulator = self.slot(&fold.accumulator);
        let variable = self.slot(&fold.variable);
        let second = fold.second.as_ref().map(|name| self.slot(name));
        let condition = self.expr(fold.condition)?;
        let body = match self.collecting(fold)? {
            Some(body) => body,
            None => Body::Fold { init, condition, step: self.expr(fold.step)? },
        };
        self.scopes.truncate(depth + 1);
        let result = self.expr(fold.result)?;
        self.scopes.truncate(depth);
        Ok(self.push(Node::Loop(Box::new(Loop { range, variable, second, accumulator, body, result }))))
    }

    /// Recognizes the loops of macros that collect items, which need no new list per step.
    fn collecting(&mut self, comprehension: &Comprehension) -> Result<Option<Body>, Error> {
        let ast = &self.checked.ast;
        if !matches!(ast.node(comprehension.condition), Expr::Literal(Literal::Bool(true))) {
            return Ok(None);
        }
        let is_accumulator =
            |id: ExprId| matches!(ast.node(id), Expr::Ident(name) if *name == comprehension.accumulator);
        let (filter, step) = match ast.node(comprehension.step) {
            Expr::Call { function, args, .. } if function == op::CONDITIONAL => match args[..] {
                [filter, step, otherwise] if is_accumulator(otherwise) => (Some(filter), step),
                _ => return Ok(None),
            },
            _ => (None, comprehension.step),
        };
        let Expr::Call { function, args, .. } = ast.node(step) else { return Ok(None) };
        match (function.as_str(), &args[..], ast.node(comprehension.init)) {
            (op::ADD, [so_far, one], Expr::List { elements, .. })
                if is_accumulator(*so_far) && elements.is_empty() =>
            {
                let Expr::List { elements, .. } = ast.node(*one) else { return Ok(None) };
                let [item] = elements[..] else { return Ok(None) };
                let filter = filter.map(|filter| self.expr(filter)).transpose()?;
                Ok(Some(Body::Collect { filter, item: self.expr(item)? }))
            }
            ("cel.@mapInsert", [so_far, rest @ ..], Expr::Map(_)) if is_accumulator(*so_far) => {
                let (key, value) = match rest {
                    [key, value] => (Some(*key), *value),
                    [value] => (None, *value),
                    _ => return Ok(None),
                };
                let filter = filter.map(|filter| self.expr(filter)).transpose()?;
                let key = key.map(|key| self.expr(key)).transpose()?;
                Ok(Some(Body::CollectMap { filter, key, value: self.expr(value)? }))
            }
            _ => Ok(None),
        }
    }
}

fn constant(literal: &Literal) -> Val<'static> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(flag) => Val::Bool(*flag),
        Literal::Int(number) => Val::Int(*number),
        Literal::UInt(number) => Val::UInt(*number),
        Literal::Double(number) => Val::Double(*number),
        Literal::String(text) => Val::String(text.clone()),
        Literal::Bytes(bytes) => Val::Bytes(Arc::clone(bytes)),
    }
}

/// Returns the items of a constant list as map keys, if all of them can be keys.
fn constant_keys(list: &Val<'static>) -> Option<std::collections::HashSet<MapKey>> {
    let Val::List(list) = list else { return None };
    list.iter().map(|item| item.ok().as_ref().and_then(Val::hash_key)).collect()
}
