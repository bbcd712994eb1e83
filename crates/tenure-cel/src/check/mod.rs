//! The type checker: names are declared, fields exist, functions accept their arguments. It reports all
//! errors at once. Recursion is bounded, because the height of trees is.

mod unify;
mod validate;

use crate::{
    Error,
    env::Env,
    error::{Issue, Issues},
    function::Overload,
    syntax::{Ast, Comprehension, Entry, Expr, ExprId, Field, Literal, operators as op},
    types::Type,
};
use std::{collections::HashMap, sync::Arc};
use tenure_value::Text;
use unify::{Size, Solution, most_general};

/// What a name or a call refers to.
#[derive(Clone, Debug)]
pub(crate) enum Reference {
    /// A variable of the environment, by its index.
    Variable(usize),
    /// A loop variable.
    Local,
    /// A type, by its name.
    Type(Text),
    /// The overloads that match the argument types; the first one that accepts the values is called.
    Functions(Box<[Arc<Overload>]>),
    /// A presence test of a variable with a dotted name: there it is.
    Present,
}

/// An expression after type checking.
pub(crate) struct Checked {
    pub ast: Ast,
    /// The type of each node.
    pub types: Vec<Type>,
    /// The references of nodes.
    pub references: HashMap<ExprId, Reference>,
}

impl Checked {
    pub fn ty(&self, id: ExprId) -> &Type {
        self.types.get(id.index()).unwrap_or(&Type::Dyn)
    }
}

/// Checks an expanded expression.
pub(crate) fn check(env: &Env, ast: Ast) -> Result<Checked, Error> {
    let mut checker = Checker {
        env,
        types: vec![None; ast.nodes.len()],
        ast: &ast,
        references: HashMap::new(),
        scopes: Vec::new(),
        solution: Solution::default(),
        issues: Vec::new(),
    };
    checker.expr(ast.root);
    let Checker { types, references, solution, issues, .. } = checker;
    let fail = |issues| Err(Error::Compile(Issues::new(Arc::clone(&ast.source), issues)));
    if !issues.is_empty() {
        return fail(issues);
    }
    let types = types.iter().map(|ty| solution.resolve(ty.as_ref().unwrap_or(&Type::Dyn), true)).collect();
    let checked = Checked { ast, types, references };
    let issues = validate::validate(&checked);
    if !issues.is_empty() {
        return Err(Error::Compile(Issues::new(Arc::clone(&checked.ast.source), issues)));
    }
    Ok(checked)
}

struct Checker<'e> {
    env: &'e Env,
    ast: &'e Ast,
    types: Vec<Option<Type>>,
    references: HashMap<ExprId, Reference>,
    /// The variables of the enclosing loops, innermost last.
    scopes: Vec<(Text, Type)>,
    solution: Solution,
    issues: Vec<Issue>,
}

/// Names of types that can be used as values.
const TYPE_NAMES: [&str; 12] = [
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
    "type",
    "google.protobuf.Timestamp",
    "google.protobuf.Duration",
];

impl Checker<'_> {
    fn fail(&mut self, id: ExprId, message: String) {
        self.issues.push(Issue { offset: self.ast.offset(id), message });
    }

    /// Checks a node and returns its type. A node that macros use twice is checked once.
    fn expr(&mut self, id: ExprId) -> Type {
        if let Some(Some(known)) = self.types.get(id.index()) {
            return known.clone();
        }
        let ty = match self.ast.node(id) {
            Expr::Literal(literal) => literal_type(literal),
            Expr::Ident(name) => self.ident(id, name),
            Expr::Select { operand, field, test } => self.select(id, *operand, field, *test),
            Expr::Call { function, target, args } => self.call(id, function, *target, args),
            Expr::List { elements, optional } => self.list(elements, optional),
            Expr::Map(entries) => self.map(entries),
            Expr::Struct { name, fields } => self.object(id, name, fields),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
        };
        let ty = match Size::default().fits(&ty) {
            true => ty,
            false => {
                self.fail(id, "the type of the expression is nested too deeply".into());
                Type::Error
            }
        };
        if let Some(slot) = self.types.get_mut(id.index()) {
            *slot = Some(ty.clone());
        }
        ty
    }

    /// Returns the type and the reference of a name.
    fn resolve(&self, name: &str) -> Option<(Type, Reference)> {
        let global = name.strip_prefix('.');
        if global.is_none()
            && let Some((_, ty)) = self.scopes.iter().rev().find(|(bound, _)| bound == name)
        {
            return Some((ty.clone(), Reference::Local));
        }
        let name = global.unwrap_or(name);
        if let Some((index, decl)) = self.env.variable(name) {
            return Some((decl.ty(), Reference::Variable(index)));
        }
        let is_type =
            TYPE_NAMES.contains(&name) || self.env.objects().is_some_and(|objects| objects.contains(name));
        is_type.then(|| (Type::Type, Reference::Type(name.into())))
    }

    fn is_variable(&self, name: &str) -> bool {
        matches!(self.resolve(name), Some((_, Reference::Variable(_))))
    }

    fn ident(&mut self, id: ExprId, name: &Text) -> Type {
        match self.resolve(name) {
            Some((ty, reference)) => {
                self.references.insert(id, reference);
                ty
            }
            None => {
                let name = name.strip_prefix('.').unwrap_or(name);
                self.fail(id, format!("undeclared reference to '{name}' (in container '')"));
                Type::Error
            }
        }
    }

    /// Returns the qualified name of a chain of selections from an identifier.
    fn qualified_name(&self, id: ExprId) -> Option<String> {
        let mut parts = Vec::new();
        let mut at = id;
        loop {
            match self.ast.node(at) {
                Expr::Select { operand, field, test: false } => {
                    parts.push(field.as_str());
                    at = *operand;
                }
                Expr::Ident(name) => {
                    // A loop variable shadows qualified names that start with it.
                    if self.scopes.iter().any(|(bound, _)| bound == name) {
                        return None;
                    }
                    parts.push(name.strip_prefix('.').unwrap_or(name));
                    parts.reverse();
                    return Some(parts.join("."));
                }
                _ => return None,
            }
        }
    }

    fn select(&mut self, id: ExprId, operand: ExprId, field: &Text, test: bool) -> Type {
        if !test
            && let Some(name) = self.qualified_name(id)
            && let Some((ty, reference)) = self.resolve(&name)
        {
            self.references.insert(id, reference);
            return ty;
        }
        if test
            && let Some(object) = self.qualified_name(operand)
            && self.is_variable(&format!("{object}.{field}"))
        {
            self.references.insert(id, Reference::Present);
            return Type::Bool;
        }
        let ty = self.field_type(id, operand, field, false);
        if test { Type::Bool } else { ty }
    }

    fn field_type(&mut self, id: ExprId, operand: ExprId, field: &str, optional: bool) -> Type {
        let ty = self.expr(operand);
        let ty = self.solution.resolve(&ty, false);
        let (operand, is_optional) = match ty {
            Type::Optional(inner) => ((*inner).clone(), true),
            other => (other, false),
        };
        let result = match &operand {
            Type::Map(_, value) => (**value).clone(),
            Type::Object(decl) => match decl.field(field) {
                Some(field) => field.decl.ty(),
                None => {
                    self.fail(id, format!("undefined field '{field}'"));
                    Type::Error
                }
            },
            Type::Named(name) => {
                let known = self.env.objects().filter(|objects| objects.contains(name));
                match known.map(|objects| objects.field(name, field)) {
                    Some(Some(ty)) => ty,
                    Some(None) => {
                        self.fail(id, format!("undefined field '{field}'"));
                        Type::Error
                    }
                    None => {
                        self.fail(id, format!("type '{operand}' does not support field selection"));
                        Type::Dyn
                    }
                }
            }
            Type::Var(_) => {
                self.solution.is_assignable(&Type::Dyn, &operand);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            other => {
                let message = format!("type '{other}' does not support field selection");
                self.fail(id, message);
                Type::Dyn
            }
        };
        if is_optional || optional { Type::optional(result) } else { result }
    }

    fn call(&mut self, id: ExprId, function: &Text, target: Option<ExprId>, args: &[ExprId]) -> Type {
        if function == op::OPT_SELECT
            && let [operand, name] = args
            && let Expr::Literal(Literal::String(field)) = self.ast.node(*name)
        {
            self.expr(*name);
            return self.field_type(id, *operand, field, true);
        }
        let mut types: Vec<Type> = args.iter().map(|arg| self.expr(*arg)).collect();
        let undeclared = |name: &str| format!("undeclared reference to '{name}' (in container '')");
        let Some(target) = target else {
            let name = function.strip_prefix('.').unwrap_or(function);
            let Some(overloads) = self.env.function(name) else {
                self.fail(id, undeclared(name));
                return Type::Error;
            };
            return self.resolve_call(id, name, overloads, None, args, types);
        };
        if let Some(name) = self.qualified_name(target) {
            let name = format!("{name}.{function}");
            if let Some(overloads) = self.env.function(&name) {
                return self.resolve_call(id, &name, overloads, None, args, types);
            }
        }
        types.insert(0, self.expr(target));
        match self.env.function(function) {
            Some(overloads) => self.resolve_call(id, function, overloads, Some(target), args, types),
            None => {
                self.fail(id, undeclared(function));
                Type::Error
            }
        }
    }

    fn resolve_call(
        &mut self,
        id: ExprId,
        name: &str,
        overloads: &[Arc<Overload>],
        target: Option<ExprId>,
        args: &[ExprId],
        types: Vec<Type>,
    ) -> Type {
        if matches!(name, op::AND | op::OR) {
            return self.resolve_logic(id, overloads, args, &types);
        }
        let mut fitting = Vec::new();
        let mut result: Option<Type> = None;
        for overload in overloads.iter().filter(|overload| overload.method == target.is_some()) {
            let Some(ty) = self.try_overload(overload, &types) else { continue };
            fitting.push(Arc::clone(overload));
            result = Some(match result {
                None => ty,
                Some(before) if matches!(before, Type::Dyn) || before == ty => before,
                Some(_) => Type::Dyn,
            });
        }
        let Some(result) = result else {
            let shown: Vec<String> =
                types.iter().map(|ty| self.solution.resolve(ty, true).to_string()).collect();
            let signature = match (target, shown.split_first()) {
                (Some(_), Some((receiver, rest))) => format!("{receiver}.({})", rest.join(", ")),
                _ => format!("({})", shown.join(", ")),
            };
            self.fail(id, format!("found no matching overload for '{name}' applied to '{signature}'"));
            return Type::Error;
        };
        self.references.insert(id, Reference::Functions(fitting.into()));
        result
    }

    /// Returns the result type of an overload if it accepts arguments of these types.
    fn try_overload(&mut self, overload: &Overload, types: &[Type]) -> Option<Type> {
        if overload.params.len() != types.len() {
            return None;
        }
        let mut names: Vec<(Text, Type)> = Vec::new();
        let mark = self.solution.mark();
        for (param, ty) in overload.params.iter().zip(types) {
            let param = self.instantiate(param, &mut names);
            if !self.solution.is_assignable(ty, &param) {
                self.solution.rollback(mark);
                return None;
            }
        }
        let result = self.instantiate(&overload.result, &mut names);
        Some(self.solution.resolve(&result, false))
    }

    /// Replaces the type parameters of a signature with those of one call.
    fn instantiate(&mut self, ty: &Type, names: &mut Vec<(Text, Type)>) -> Type {
        match ty {
            Type::Param(name) => match names.iter().find(|(known, _)| known == name) {
                Some((_, var)) => var.clone(),
                None => {
                    let var = self.solution.fresh();
                    names.push((name.clone(), var.clone()));
                    var
                }
            },
            Type::List(item) => Type::list(self.instantiate(item, names)),
            Type::Optional(inner) => Type::optional(self.instantiate(inner, names)),
            Type::Map(key, value) => Type::map(self.instantiate(key, names), self.instantiate(value, names)),
            other => other.clone(),
        }
    }

    fn resolve_logic(
        &mut self,
        id: ExprId,
        overloads: &[Arc<Overload>],
        args: &[ExprId],
        types: &[Type],
    ) -> Type {
        let mut failed = false;
        for (arg, ty) in args.iter().zip(types) {
            if !self.solution.is_assignable(ty, &Type::Bool) {
                failed = true;
                let found = self.solution.resolve(ty, true);
                self.fail(*arg, format!("expected type 'bool' but found '{found}'"));
            }
        }
        self.references.insert(id, Reference::Functions(overloads.into()));
        if failed { Type::Error } else { Type::Bool }
    }

    /// Returns the type inside of an optional type.
    fn unwrapped(&mut self, id: ExprId, ty: Type) -> Type {
        match self.solution.resolve(&ty, false) {
            Type::Optional(inner) => (*inner).clone(),
            other => {
                if !other.is_dyn_or_error() {
                    let shown = self.solution.resolve(&other, true);
                    self.fail(id, format!("expected type 'optional_type({shown})' but found '{shown}'"));
                }
                other
            }
        }
    }

    fn join(&mut self, before: Option<Type>, ty: Type) -> Type {
        match before {
            None => ty,
            Some(before) if self.solution.is_assignable(&before, &ty) => most_general(&before, &ty),
            Some(_) => Type::Dyn,
        }
    }

    fn list(&mut self, elements: &[ExprId], optional: &[u32]) -> Type {
        let mut joined = None;
        for (at, element) in elements.iter().enumerate() {
            let mut ty = self.expr(*element);
            if optional.iter().any(|index| *index as usize == at) {
                ty = self.unwrapped(*element, ty);
            }
            joined = Some(self.join(joined, ty));
        }
        Type::list(joined.unwrap_or_else(|| self.solution.fresh()))
    }

    fn map(&mut self, entries: &[Entry]) -> Type {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            let key = self.expr(entry.key);
            keys = Some(self.join(keys, key));
            let mut value = self.expr(entry.value);
            if entry.optional {
                value = self.unwrapped(entry.value, value);
            }
            values = Some(self.join(values, value));
        }
        let key = keys.unwrap_or_else(|| self.solution.fresh());
        Type::map(key, values.unwrap_or_else(|| self.solution.fresh()))
    }

    fn object(&mut self, id: ExprId, name: &Text, fields: &[Field]) -> Type {
        let name = name.strip_prefix('.').unwrap_or(name);
        let env = self.env;
        let Some(objects) = env.objects().filter(|objects| objects.contains(name)) else {
            match TYPE_NAMES.contains(&name) {
                true => self.fail(id, format!("'{name}' is not a message type")),
                false => self.fail(id, format!("undeclared reference to '{name}' (in container '')")),
            }
            return Type::Error;
        };
        for field in fields {
            let mut ty = self.expr(field.value);
            if field.optional {
                ty = self.unwrapped(field.value, ty);
            }
            let message = match objects.field(name, &field.name) {
                None => format!("undefined field '{}'", field.name),
                Some(expected) if !self.solution.is_assignable(&expected, &ty) => {
                    let found = self.solution.resolve(&ty, true);
                    format!(
                        "expected type of field '{}' is '{expected}' but provided type is '{found}'",
                        field.name
                    )
                }
                Some(_) => continue,
            };
            self.issues.push(Issue { offset: field.offset, message });
        }
        Type::named(name)
    }

    fn comprehension(&mut self, node: &Comprehension) -> Type {
        let range = self.expr(node.range);
        let range = self.solution.resolve(&range, false);
        let accumulator = self.expr(node.init);
        let depth = self.scopes.len();
        self.scopes.push((node.accumulator.clone(), accumulator.clone()));
        let (first, second) = match &range {
            Type::List(item) if node.second.is_some() => (Type::Int, (**item).clone()),
            Type::List(item) => ((**item).clone(), Type::Dyn),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn | Type::Error => (Type::Dyn, Type::Dyn),
            Type::Var(_) => {
                self.solution.is_assignable(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.fail(node.range, message);
                (Type::Error, Type::Error)
            }
        };
        self.scopes.push((node.variable.clone(), first));
        if let Some(name) = &node.second {
            self.scopes.push((name.clone(), second));
        }
        let condition = self.expr(node.condition);
        self.assert_type(node.condition, &condition, &Type::Bool);
        let step = self.expr(node.step);
        self.assert_type(node.step, &step, &accumulator);
        self.scopes.truncate(depth + 1);
        let result = self.expr(node.result);
        self.scopes.truncate(depth);
        self.solution.resolve(&result, false)
    }

    fn assert_type(&mut self, id: ExprId, found: &Type, expected: &Type) {
        if !self.solution.is_assignable(found, expected) {
            let (found, expected) =
                (self.solution.resolve(found, true), self.solution.resolve(expected, true));
            self.fail(id, format!("expected type '{expected}' but found '{found}'"));
        }
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::UInt(_) => Type::UInt,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}
