//! Estimates the maximum cost of an expression. Sizes of values come from literals, from functions, and from
//! the declared bounds on the path from a variable; if none of these applies, the size is unknown and the
//! cost exceeds every limit.

use crate::{
    Env,
    check::{Checked, Reference},
    cost::{Argument, Cost, LIST_COST, MAP_COST, STRUCT_COST, Size},
    syntax::{ACCUMULATOR, Comprehension, Expr, ExprId, Literal, operators as op},
    types::{Decl, Type},
};
use std::collections::HashMap;
use tenure_value::Text;

/// Returns the maximum cost of an expression.
pub(super) fn estimate(env: &Env, checked: &Checked) -> u64 {
    let mut estimator = Estimator { env, checked, known: HashMap::new(), locals: Vec::new() };
    estimator.expr(checked.ast.root).cost
}

/// How a value is reached from a variable.
#[derive(Clone, Debug)]
enum Path {
    /// Not from a variable: the value is a literal or the result of a function.
    None,
    /// Along a path that is not declared.
    Lost,
    At(Decl),
}

/// The sizes of the elements of a list or map.
#[derive(Clone, Copy, Debug)]
struct Elements {
    is_list: bool,
    key: Size,
    value: Size,
}

impl Elements {
    fn union(a: Option<Elements>, b: Option<Elements>) -> Option<Elements> {
        let (a, b) = (a?, b?);
        Some(Elements { is_list: a.is_list, key: a.key.union(b.key), value: a.value.union(b.value) })
    }
}

#[derive(Clone, Debug)]
struct Estimated {
    cost: u64,
    size: Option<Size>,
    elements: Option<Elements>,
    path: Path,
}

impl Estimated {
    fn size(&self) -> Size {
        self.size.unwrap_or(Size::UNKNOWN)
    }
}

struct Local {
    name: Text,
    path: Path,
    size: Option<Size>,
    elements: Option<Elements>,
}

struct Estimator<'e> {
    env: &'e Env,
    checked: &'e Checked,
    /// Estimates of nodes that macros use twice.
    known: HashMap<ExprId, Estimated>,
    locals: Vec<Local>,
}

impl Estimator<'_> {
    fn expr(&mut self, id: ExprId) -> Estimated {
        if let Some(known) = self.known.get(&id) {
            return known.clone();
        }
        let checked = self.checked;
        let estimated = match (checked.references.get(&id), checked.ast.node(id)) {
            // A qualified name is one reference.
            (Some(Reference::Variable(index)), Expr::Select { .. }) => {
                let _ = index;
                self.leaf(id, 1, self.root())
            }
            (_, Expr::Literal(literal)) => Estimated {
                cost: 0,
                size: Some(Size::fixed(literal_size(literal))),
                elements: None,
                path: Path::None,
            },
            (_, Expr::Ident(name)) => self.ident(id, name),
            (_, Expr::Select { operand, field, test }) => self.select(id, *operand, field, *test),
            (reference, Expr::Call { function, target, args }) => {
                self.call(id, reference, function, *target, args)
            }
            (_, Expr::List { elements, .. }) => self.list(elements),
            (_, Expr::Map(entries)) => {
                let mut cost = MAP_COST;
                let nothing = Size { min: u64::MAX, max: 0 };
                let (mut key, mut value) = (nothing, nothing);
                for entry in entries {
                    let (k, v) = (self.expr(entry.key), self.expr(entry.value));
                    cost = cost.saturating_add(k.cost).saturating_add(v.cost);
                    (key, value) = (key.union(k.size()), value.union(v.size()));
                }
                if entries.is_empty() {
                    (key, value) = (Size::fixed(0), Size::fixed(0));
                }
                let elements = Some(Elements { is_list: false, key, value });
                Estimated { cost, size: Some(Size::fixed(entries.len() as u64)), elements, path: Path::None }
            }
            (_, Expr::Struct { fields, .. }) => {
                let cost = fields
                    .iter()
                    .map(|field| self.expr(field.value).cost)
                    .fold(STRUCT_COST, u64::saturating_add);
                self.leaf(id, cost, Path::None)
            }
            (_, Expr::Comprehension(comprehension)) => self.comprehension(id, comprehension),
        };
        self.known.insert(id, estimated.clone());
        estimated
    }

    /// Returns the root of all paths: sizes are looked up from the first variable, regardless of its name.
    fn root(&self) -> Path {
        self.env.first_variable().map_or(Path::Lost, |decl| Path::At(decl.clone()))
    }

    /// Follows one step of a path; from a value that does not come from a variable, the step starts at the
    /// root.
    fn step(&self, path: &Path, next: impl FnOnce(&Decl) -> Option<Decl>) -> Path {
        match path {
            Path::None => self.root(),
            Path::Lost => Path::Lost,
            Path::At(decl) => next(decl).map_or(Path::Lost, Path::At),
        }
    }

    /// Returns the size from the declaration at a path, or from the type.
    fn declared_size(&self, id: ExprId, path: &Path) -> Option<Size> {
        match path {
            Path::At(decl) => Some(Size { min: 0, max: decl.max_elements() }),
            _ => self.checked.ty(id).is_scalar().then(|| Size::fixed(1)),
        }
    }

    fn leaf(&self, id: ExprId, cost: u64, path: Path) -> Estimated {
        Estimated { cost, size: self.declared_size(id, &path), elements: None, path }
    }

    fn ident(&self, id: ExprId, name: &Text) -> Estimated {
        match self.locals.iter().rev().find(|local| local.name == *name) {
            None => self.leaf(id, 1, self.root()),
            Some(local) => {
                let size = self.declared_size(id, &local.path).or(local.size);
                Estimated { cost: 1, size, elements: local.elements, path: local.path.clone() }
            }
        }
    }

    fn select(&mut self, id: ExprId, operand: ExprId, field: &Text, test: bool) -> Estimated {
        let operand_cost = self.expr(operand);
        if test {
            return self.leaf(id, operand_cost.cost, Path::None);
        }
        let costs = matches!(
            self.checked.ty(operand),
            Type::Map(..) | Type::Object(_) | Type::Named(_) | Type::Var(_)
        );
        let path = self.step(&operand_cost.path, |decl| Some(decl.field(field)?.decl.clone()));
        self.leaf(id, operand_cost.cost.saturating_add(u64::from(costs)), path)
    }

    fn list(&mut self, elements: &[ExprId]) -> Estimated {
        let mut cost = LIST_COST;
        let mut value = Size { min: u64::MAX, max: 0 };
        for element in elements {
            let element = self.expr(*element);
            cost = cost.saturating_add(element.cost);
            value = value.union(element.size());
        }
        if elements.is_empty() {
            value.min = 0;
        }
        let size = Some(Size::fixed(elements.len() as u64));
        let elements = Some(Elements { is_list: true, key: Size::fixed(1), value });
        Estimated { cost, size, elements, path: Path::None }
    }

    fn call(
        &mut self,
        id: ExprId,
        reference: Option<&Reference>,
        function: &Text,
        target: Option<ExprId>,
        args: &[ExprId],
    ) -> Estimated {
        let is_method = match reference {
            Some(Reference::Functions(overloads)) => {
                overloads.first().is_some_and(|overload| overload.method)
            }
            _ => false,
        };
        let ids: Vec<ExprId> = target.into_iter().filter(|_| is_method).chain(args.iter().copied()).collect();
        let parts: Vec<Estimated> = ids.iter().map(|part| self.expr(*part)).collect();
        let sum = parts.iter().map(|part| part.cost).fold(0, u64::saturating_add);
        match (function.as_str(), parts.as_slice()) {
            ("dyn", [operand]) => {
                return Estimated {
                    cost: operand.cost.saturating_add(1),
                    path: Path::None,
                    ..operand.clone()
                };
            }
            (op::AND | op::OR, _) => return self.leaf(id, sum, Path::None),
            (op::CONDITIONAL, [condition, yes, no]) => {
                return Estimated {
                    cost: condition.cost.saturating_add(yes.cost.max(no.cost)),
                    size: Some(yes.size().union(no.size())),
                    elements: Elements::union(yes.elements, no.elements),
                    path: Path::None,
                };
            }
            (op::INDEX, [operand, _]) => return self.index(id, *ids.first().unwrap_or(&id), operand, sum),
            (op::OPT_SELECT | op::OPT_INDEX, _) => return self.leaf(id, sum.saturating_add(1), Path::None),
            _ => {}
        }
        let Some(Reference::Functions(overloads)) = reference else { return self.leaf(id, 0, Path::None) };
        let arguments: Vec<Argument> =
            ids.iter().zip(&parts).map(|(id, part)| self.argument(*id, part)).collect();
        let (mut cost, mut size): (u64, Option<Size>) = (0, None);
        let mut elements = None;
        for overload in overloads {
            let (most, result) = overload.cost.estimate(&arguments);
            cost = cost.max(most);
            size = match (size, result) {
                (Some(a), Some(b)) => Some(a.union(b)),
                (a, b) => a.or(b),
            };
            if matches!(overload.cost, Cost::Concatenate | Cost::ConcatenateLists)
                && let [left, right] = parts.as_slice()
            {
                elements = Elements::union(left.elements, right.elements);
            }
        }
        let size = size.or_else(|| self.declared_size(id, &Path::None));
        Estimated { cost: cost.saturating_add(sum), size, elements, path: Path::None }
    }

    fn index(&self, id: ExprId, operand: ExprId, estimated: &Estimated, sum: u64) -> Estimated {
        let path = match self.checked.ty(operand) {
            Type::Optional(_) => Path::None,
            _ => self.step(&estimated.path, |decl| decl.element().cloned()),
        };
        let size =
            estimated.elements.map(|elements| elements.value).or_else(|| self.declared_size(id, &path));
        Estimated { cost: sum.saturating_add(1), size, elements: None, path }
    }

    fn argument(&self, id: ExprId, part: &Estimated) -> Argument {
        let ty = self.checked.ty(id).clone();
        let item = match &ty {
            Type::List(item) => {
                let size = match &part.path {
                    Path::None => Size::UNKNOWN,
                    path => match self.step(path, |decl| decl.element().cloned()) {
                        Path::At(decl) => Size { min: 0, max: decl.max_elements() },
                        _ => Size::UNKNOWN,
                    },
                };
                Some(((**item).clone(), size))
            }
            // Other types with parameters count as lists of their first parameter, of unknown size.
            Type::Map(key, _) => Some(((**key).clone(), Size::UNKNOWN)),
            _ => None,
        };
        let constant = match self.checked.ast.node(id) {
            Expr::Literal(Literal::Int(number)) => Some(*number),
            _ => None,
        };
        Argument { size: part.size(), ty, item, constant }
    }

    fn comprehension(&mut self, id: ExprId, fold: &Comprehension) -> Estimated {
        let range = self.expr(fold.range);
        let init = self.expr(fold.init);
        let mut cost = range.cost.saturating_add(init.cost);
        let depth = self.locals.len();
        let local = |name: &Text, path, size, elements| Local { name: name.clone(), path, size, elements };
        self.locals.push(local(&fold.accumulator, init.path.clone(), init.size, init.elements));
        let is_bind = matches!(self.checked.ast.node(fold.range), Expr::List { elements, .. } if elements.is_empty())
            && matches!(self.checked.ast.node(fold.condition), Expr::Literal(Literal::Bool(false)))
            && fold.accumulator != ACCUMULATOR;
        if is_bind {
            let result = self.expr(fold.result);
            self.locals.truncate(depth);
            cost = cost.saturating_add(result.cost);
            return Estimated { cost, path: Path::None, ..result };
        }
        let is_list = match range.elements {
            Some(elements) => elements.is_list,
            None => matches!(self.checked.ty(fold.range), Type::List(_)),
        };
        let values = self.step(&range.path, |decl| decl.element().cloned());
        // Keys are strings without a declared length; indices have no size.
        let keys = match is_list {
            true => self.step(&range.path, |_| None),
            false => self.step(&range.path, |decl| decl.is_map().then(|| Decl::of(Type::String))),
        };
        let (key_size, value_size) =
            (range.elements.map(|size| size.key), range.elements.map(|size| size.value));
        match &fold.second {
            Some(second) => {
                self.locals.push(local(&fold.variable, keys, key_size, None));
                self.locals.push(local(second, values, value_size, None));
            }
            None if is_list => self.locals.push(local(&fold.variable, values, value_size, None)),
            None => self.locals.push(local(&fold.variable, keys, key_size, None)),
        }
        let each = self.expr(fold.condition).cost;
        let step = self.expr(fold.step);
        let each = each.saturating_add(step.cost);
        self.locals.truncate(depth + 1);
        cost = cost.saturating_add(self.expr(fold.result).cost);
        self.locals.truncate(depth);
        let count = range.size();
        cost = cost.saturating_add(count.max.saturating_mul(each));
        let (size, elements) = match self.checked.ast.node(fold.init) {
            Expr::Literal(_) => (init.size, None),
            Expr::List { .. } | Expr::Map(_) => (Some(count), step.elements),
            _ => (self.declared_size(id, &Path::None), None),
        };
        Estimated { cost, size, elements, path: Path::None }
    }
}

fn literal_size(literal: &Literal) -> u64 {
    match literal {
        Literal::String(text) => text.chars().count() as u64,
        Literal::Bytes(bytes) => bytes.len() as u64,
        _ => 1,
    }
}
