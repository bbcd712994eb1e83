//! Expands macros: calls such as `list.all(x, …)` become loops. Children come before their parents in a tree,
//! so one pass over its nodes suffices.

use super::{
    ast::{Ast, Comprehension, Entry, Expr, ExprId, Field, Literal},
    operators as op,
};
use crate::error::{Error, Issue, Issues};
use std::sync::Arc;
use tenure_value::Text;

/// The name of the accumulator of macros, which no expression can spell.
pub(crate) const ACCUMULATOR: &str = "@result";
/// The maximum height of an expanded tree, which bounds the stack of every traversal.
const MAX_HEIGHT: u16 = 320;

/// Returns the tree with macros expanded and chains of `&&` and `||` as balanced trees of pairs.
pub(crate) fn expand(parsed: &Ast) -> Result<Ast, Error> {
    let mut expansion = Expansion {
        ast: Ast::new(Arc::clone(&parsed.source)),
        heights: Vec::new(),
        places: Vec::with_capacity(parsed.nodes.len()),
        issues: Vec::new(),
    };
    for (at, node) in parsed.nodes.iter().enumerate() {
        let offset = parsed.offsets.get(at).map_or(0, |offset| *offset as usize);
        let place = expansion.node(parsed, offset, node);
        expansion.places.push(place);
        if expansion.heights.last().is_some_and(|height| *height > MAX_HEIGHT) {
            let message = format!("expression recursion limit exceeded: {MAX_HEIGHT} after macro expansion");
            expansion.issues.push(Issue { offset, message });
            break;
        }
    }
    if !expansion.issues.is_empty() {
        return Err(Error::Compile(Issues::new(Arc::clone(&parsed.source), expansion.issues)));
    }
    let mut ast = expansion.ast;
    ast.root = expansion.places.get(parsed.root.index()).copied().unwrap_or(ExprId(0));
    Ok(ast)
}

struct Expansion {
    ast: Ast,
    heights: Vec<u16>,
    /// The new node of each node of the parsed tree.
    places: Vec<ExprId>,
    issues: Vec<Issue>,
}

impl Expansion {
    fn push(&mut self, offset: usize, node: Expr) -> ExprId {
        let mut height = 0;
        node.for_each_part(|part| {
            height = self.heights.get(part.index()).map_or(height, |other| height.max(*other))
        });
        self.heights.push(height.saturating_add(1));
        self.ast.push(offset, node)
    }

    fn place(&self, id: ExprId) -> ExprId {
        self.places.get(id.index()).copied().unwrap_or(ExprId(0))
    }

    fn call(&mut self, at: usize, function: &str, args: Vec<ExprId>) -> ExprId {
        self.push(at, Expr::Call { function: Text::new(function), target: None, args: args.into() })
    }

    fn method(&mut self, at: usize, target: ExprId, function: &str, args: Vec<ExprId>) -> ExprId {
        self.push(at, Expr::Call { function: Text::new(function), target: Some(target), args: args.into() })
    }

    fn literal(&mut self, at: usize, literal: Literal) -> ExprId {
        self.push(at, Expr::Literal(literal))
    }

    fn accumulator(&mut self, at: usize) -> ExprId {
        self.push(at, Expr::Ident(Text::new_static(ACCUMULATOR)))
    }

    fn list(&mut self, at: usize, elements: Vec<ExprId>) -> ExprId {
        self.push(at, Expr::List { elements: elements.into(), optional: Box::default() })
    }

    fn node(&mut self, parsed: &Ast, at: usize, node: &Expr) -> ExprId {
        let node = match node {
            Expr::Call { function, target, args } => {
                let target = target.map(|target| self.place(target));
                let args: Vec<ExprId> = args.iter().map(|arg| self.place(*arg)).collect();
                match (function.as_str(), &target) {
                    (op::AND | op::OR, None) => return self.balanced(at, function, &args),
                    ("has", None) if args.len() == 1 => return self.has(at, &args),
                    (_, Some(target)) => {
                        if let Some(expanded) = self.method_macro(at, function, *target, &args) {
                            return expanded;
                        }
                    }
                    _ => {}
                }
                Expr::Call { function: function.clone(), target, args: args.into() }
            }
            Expr::Select { operand, field, test } => {
                Expr::Select { operand: self.place(*operand), field: field.clone(), test: *test }
            }
            Expr::List { elements, optional } => Expr::List {
                elements: elements.iter().map(|element| self.place(*element)).collect(),
                optional: optional.clone(),
            },
            Expr::Map(entries) => Expr::Map(
                entries
                    .iter()
                    .map(|entry| Entry {
                        key: self.place(entry.key),
                        value: self.place(entry.value),
                        optional: entry.optional,
                    })
                    .collect(),
            ),
            Expr::Struct { name, fields } => Expr::Struct {
                name: name.clone(),
                fields: fields
                    .iter()
                    .map(|field| Field { value: self.place(field.value), ..field.clone() })
                    .collect(),
            },
            other @ (Expr::Literal(_) | Expr::Ident(_) | Expr::Comprehension(_)) => other.clone(),
        };
        let _ = parsed;
        self.push(at, node)
    }

    /// Joins the terms of a chain as a tree of logarithmic depth.
    fn balanced(&mut self, at: usize, function: &str, terms: &[ExprId]) -> ExprId {
        match terms {
            [] => self.literal(at, Literal::Bool(function == op::AND)),
            [one] => *one,
            _ => {
                let (left, right) = terms.split_at(terms.len().div_ceil(2));
                let (left, right) = (self.balanced(at, function, left), self.balanced(at, function, right));
                self.call(at, function, vec![left, right])
            }
        }
    }

    fn fail(&mut self, id: ExprId, message: impl Into<String>) -> ExprId {
        self.issues.push(Issue { offset: self.ast.offset(id), message: message.into() });
        id
    }

    fn has(&mut self, at: usize, args: &[ExprId]) -> ExprId {
        let [arg] = args else { return ExprId(0) };
        match self.ast.node(*arg).clone() {
            Expr::Select { operand, field, test: false } => {
                self.push(at, Expr::Select { operand, field, test: true })
            }
            _ => self.fail(*arg, "invalid argument to has() macro"),
        }
    }

    /// Returns the name of a loop variable.
    fn variable(&mut self, id: ExprId, wrong: &str) -> Option<Text> {
        match self.ast.node(id) {
            Expr::Ident(name) if name == ACCUMULATOR || name == "__result__" => {
                self.fail(id, "iteration variable overwrites accumulator variable");
                None
            }
            Expr::Ident(name) if !name.starts_with('.') => Some(name.clone()),
            _ => {
                self.fail(id, wrong);
                None
            }
        }
    }

    fn method_macro(&mut self, at: usize, name: &str, target: ExprId, args: &[ExprId]) -> Option<ExprId> {
        const SIMPLE: &str = "argument must be a simple name";
        let expanded = match (name, args) {
            ("all" | "exists" | "exists_one" | "existsOne", [variable, body]) => {
                let Some(variable) = self.variable(*variable, SIMPLE) else { return Some(target) };
                self.quantifier(at, name, target, (variable, None), *body)
            }
            ("all" | "exists" | "exists_one" | "existsOne", [first, second, body]) => {
                let Some(variables) = self.two_variables(*first, *second) else { return Some(target) };
                self.quantifier(at, name, target, variables, *body)
            }
            ("map", [variable, rest @ ..]) if matches!(rest.len(), 1 | 2) => {
                let Some(variable) = self.variable(*variable, "argument is not an identifier") else {
                    return Some(target);
                };
                self.transform_list(at, target, (variable, None), rest)
            }
            ("filter", [variable, condition]) => {
                let item = *variable;
                let Some(variable) = self.variable(item, "argument is not an identifier") else {
                    return Some(target);
                };
                self.transform_list(at, target, (variable, None), &[*condition, item])
            }
            ("transformList", [first, second, rest @ ..]) if matches!(rest.len(), 1 | 2) => {
                let Some(variables) = self.two_variables(*first, *second) else { return Some(target) };
                self.transform_list(at, target, variables, rest)
            }
            ("transformMap" | "transformMapEntry", [first, second, rest @ ..])
                if matches!(rest.len(), 1 | 2) =>
            {
                let Some(variables) = self.two_variables(*first, *second) else { return Some(target) };
                self.transform_map(at, target, variables, rest, name == "transformMap")
            }
            ("optMap" | "optFlatMap", [variable, body]) => {
                let wrong = format!("{name}() variable name must be a simple identifier");
                let Some(variable) = self.variable(*variable, &wrong) else { return Some(target) };
                self.map_optional(at, target, variable, *body, name == "optMap")
            }
            ("sortBy", [variable, key]) => {
                let Some(variable) = self.variable(*variable, "argument is not an identifier") else {
                    return Some(target);
                };
                self.sort_by(at, target, variable, *key)
            }
            _ => return None,
        };
        Some(expanded)
    }

    fn two_variables(&mut self, first: ExprId, second: ExprId) -> Option<(Text, Option<Text>)> {
        let one = self.variable(first, "argument must be a simple name")?;
        let two = self.variable(second, "argument must be a simple name")?;
        if one == two {
            self.fail(second, format!("duplicate variable name: {one}"));
            return None;
        }
        Some((one, Some(two)))
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a loop")]
    fn comprehension(
        &mut self,
        at: usize,
        range: ExprId,
        (variable, second): (Text, Option<Text>),
        init: ExprId,
        condition: ExprId,
        step: ExprId,
        result: ExprId,
    ) -> ExprId {
        let accumulator = Text::new_static(ACCUMULATOR);
        let comprehension =
            Comprehension { range, variable, second, accumulator, init, condition, step, result };
        self.push(at, Expr::Comprehension(Box::new(comprehension)))
    }

    fn quantifier(
        &mut self,
        at: usize,
        name: &str,
        range: ExprId,
        variables: (Text, Option<Text>),
        body: ExprId,
    ) -> ExprId {
        let (init, condition, step, result);
        match name {
            "all" | "exists" => {
                init = self.literal(at, Literal::Bool(name == "all"));
                let mut so_far = self.accumulator(at);
                if name == "exists" {
                    so_far = self.call(at, op::NOT, vec![so_far]);
                }
                condition = self.call(at, op::NOT_STRICTLY_FALSE, vec![so_far]);
                let so_far = self.accumulator(at);
                step = self.call(at, if name == "all" { op::AND } else { op::OR }, vec![so_far, body]);
                result = self.accumulator(at);
            }
            _ => {
                init = self.literal(at, Literal::Int(0));
                condition = self.literal(at, Literal::Bool(true));
                let (so_far, one) = (self.accumulator(at), self.literal(at, Literal::Int(1)));
                let more = self.call(at, op::ADD, vec![so_far, one]);
                let unchanged = self.accumulator(at);
                step = self.call(at, op::CONDITIONAL, vec![body, more, unchanged]);
                let (count, one) = (self.accumulator(at), self.literal(at, Literal::Int(1)));
                result = self.call(at, op::EQUALS, vec![count, one]);
            }
        }
        self.comprehension(at, range, variables, init, condition, step, result)
    }

    /// Creates a loop over all items whose step applies only if a filter holds.
    fn filtered(
        &mut self,
        at: usize,
        range: ExprId,
        variables: (Text, Option<Text>),
        init: ExprId,
        filter: Option<ExprId>,
        mut step: ExprId,
    ) -> ExprId {
        if let Some(filter) = filter {
            let unchanged = self.accumulator(at);
            step = self.call(at, op::CONDITIONAL, vec![filter, step, unchanged]);
        }
        let condition = self.literal(at, Literal::Bool(true));
        let result = self.accumulator(at);
        self.comprehension(at, range, variables, init, condition, step, result)
    }

    fn transform_list(
        &mut self,
        at: usize,
        range: ExprId,
        variables: (Text, Option<Text>),
        rest: &[ExprId],
    ) -> ExprId {
        let (filter, item) = filter_and_body(rest);
        let init = self.list(at, Vec::new());
        let so_far = self.accumulator(at);
        let one = self.list(at, vec![item]);
        let step = self.call(at, op::ADD, vec![so_far, one]);
        self.filtered(at, range, variables, init, filter, step)
    }

    fn transform_map(
        &mut self,
        at: usize,
        range: ExprId,
        variables: (Text, Option<Text>),
        rest: &[ExprId],
        keyed: bool,
    ) -> ExprId {
        let (filter, value) = filter_and_body(rest);
        let init = self.push(at, Expr::Map(Box::default()));
        let mut args = vec![self.accumulator(at)];
        if keyed {
            args.push(self.push(at, Expr::Ident(variables.0.clone())));
        }
        args.push(value);
        let step = self.call(at, "cel.@mapInsert", args);
        self.filtered(at, range, variables, init, filter, step)
    }

    /// Binds a name to a value: a loop without iterations whose accumulator has that name.
    fn bind(&mut self, at: usize, name: Text, value: ExprId, body: ExprId) -> ExprId {
        let range = self.list(at, Vec::new());
        let condition = self.literal(at, Literal::Bool(false));
        let step = self.push(at, Expr::Ident(name.clone()));
        let comprehension = Comprehension {
            range,
            variable: Text::new_static("#unused"),
            second: None,
            accumulator: name,
            init: value,
            condition,
            step,
            result: body,
        };
        self.push(at, Expr::Comprehension(Box::new(comprehension)))
    }

    fn map_optional(
        &mut self,
        at: usize,
        target: ExprId,
        variable: Text,
        body: ExprId,
        wrap: bool,
    ) -> ExprId {
        let present = self.method(at, target, "hasValue", Vec::new());
        let value = self.method(at, target, "value", Vec::new());
        let mut bound = self.bind(at, variable, value, body);
        if wrap {
            bound = self.call(at, "optional.of", vec![bound]);
        }
        let none = self.call(at, "optional.none", Vec::new());
        self.call(at, op::CONDITIONAL, vec![present, bound, none])
    }

    fn sort_by(&mut self, at: usize, target: ExprId, variable: Text, key: ExprId) -> ExprId {
        const INPUT: &str = "@__sortBy_input__";
        let input = self.push(at, Expr::Ident(Text::new_static(INPUT)));
        let keys = self.transform_list(at, input, (variable, None), &[key]);
        let input = self.push(at, Expr::Ident(Text::new_static(INPUT)));
        let sorted = self.method(at, input, "@sortByAssociatedKeys", vec![keys]);
        self.bind(at, Text::new_static(INPUT), target, sorted)
    }
}

/// Splits the arguments after the variables into an optional filter and the expression.
fn filter_and_body(rest: &[ExprId]) -> (Option<ExprId>, ExprId) {
    match rest {
        [filter, body] => (Some(*filter), *body),
        [body, ..] => (None, *body),
        [] => (None, ExprId(0)),
    }
}
