//! Evaluates programs. Every step is charged before it is done; errors are absorbed where CEL says so.

use super::{
    Program,
    node::{Access, Body, Call, Loop, Node, NodeId, Pattern, Search, Selection},
};
use crate::{
    Error,
    cost::{Cost, LIST_COST, MAP_COST, STRUCT_COST},
    function::EvalResult,
    library::regex,
    meter::Meter,
    value::{List, Made, Map, MapKey, Val},
};
use std::{collections::BTreeMap, sync::Arc};
use tenure_value::Text;

/// The result of an evaluation, and its cost.
#[derive(Debug)]
pub struct Evaluation<'v> {
    /// The result.
    pub result: EvalResult<'v>,
    /// The cost, also of an evaluation that failed.
    pub cost: u64,
    /// The bytes that were scanned at a cost that does not depend on their number.
    pub scanned: usize,
}

/// The values of an environment's variables, by their index. A variable is requested whenever an expression
/// reads it, so values can be computed on demand.
pub trait Variables<'v> {
    /// Returns the value of a variable.
    fn variable(&self, index: usize) -> EvalResult<'v>;
}

impl<'v, const N: usize> Variables<'v> for [Val<'v>; N] {
    fn variable(&self, index: usize) -> EvalResult<'v> {
        self.as_slice().get(index).cloned().ok_or_else(unset)
    }
}

impl<'v> Variables<'v> for Vec<Val<'v>> {
    fn variable(&self, index: usize) -> EvalResult<'v> {
        self.get(index).cloned().ok_or_else(unset)
    }
}

fn unset() -> Error {
    Error::evaluate("no such attribute: a variable has no value")
}

fn no_such_overload() -> Error {
    Error::evaluate("no such overload")
}

pub(super) fn run<'v>(program: &Program, variables: &dyn Variables<'v>, meter: &mut Meter) -> EvalResult<'v> {
    let locals = (0..program.locals).map(|_| Ok(Val::Null)).collect();
    Run { nodes: &program.nodes, variables, meter, locals }.eval(program.root)
}

struct Run<'r, 'v> {
    nodes: &'r [Node],
    variables: &'r dyn Variables<'v>,
    meter: &'r mut Meter,
    /// The values of loop variables. An accumulator can be an error that a later item absorbs.
    locals: Vec<EvalResult<'v>>,
}

impl<'v> Run<'_, 'v> {
    fn eval(&mut self, id: NodeId) -> EvalResult<'v> {
        match &self.nodes[id.index()] {
            Node::Const(value) => Ok(value.clone()),
            Node::Variable(index) => {
                self.meter.charge(1)?;
                self.variables.variable(*index)
            }
            Node::Local(slot) => {
                self.meter.charge(1)?;
                self.locals[*slot].clone()
            }
            Node::Select(selection) => {
                let value = self.select(selection);
                self.decoded(value)
            }
            Node::Index { operand, index, optional, relative } => {
                let value = self.index(*operand, *index, *optional, *relative);
                self.decoded(value)
            }
            Node::And(left, right) => self.logic(*left, *right, false),
            Node::Or(left, right) => self.logic(*left, *right, true),
            Node::Conditional(condition, yes, no) => {
                let chosen = if self.truth(*condition)? { *yes } else { *no };
                self.eval(chosen)
            }
            Node::NotStrictlyFalse(operand) => self.not_strictly_false(*operand),
            Node::Call(call) => self.call(call),
            Node::Search { search, text, pattern, limit } => self.search(*search, *text, pattern, *limit),
            Node::Membership { item, keys } => {
                let item = self.eval(*item)?;
                if let Val::String(text) = &item {
                    self.meter.scan(text.len())?;
                }
                Ok(Val::Bool(item.hash_key().is_some_and(|key| keys.contains(&key))))
            }
            Node::List { elements, optional } => self.list(elements, optional),
            Node::Map(entries) => self.map(entries),
            Node::Struct { name, fields } => self.object(name, fields),
            Node::Loop(comprehension) => self.comprehension(comprehension),
            Node::Bind { slot, value, body } => {
                let value = self.eval(*value);
                self.locals[*slot] = value;
                self.eval(*body)
            }
        }
    }

    /// Counts bytes, which are base64 in documents and decoded at every read.
    fn decoded(&mut self, value: EvalResult<'v>) -> EvalResult<'v> {
        if let Ok(Val::Bytes(bytes)) = &value {
            self.meter.scan(bytes.len().saturating_mul(4))?;
        }
        value
    }

    fn truth(&mut self, id: NodeId) -> Result<bool, Error> {
        match self.eval(id)? {
            Val::Bool(flag) => Ok(flag),
            _ => Err(no_such_overload()),
        }
    }

    /// Evaluates `&&` and `||`: if one side decides, errors of the other are absorbed.
    #[inline(never)]
    fn logic(&mut self, left: NodeId, right: NodeId, deciding: bool) -> EvalResult<'v> {
        let left = match self.truth(left) {
            Ok(flag) if flag == deciding => return Ok(Val::Bool(deciding)),
            Err(error) if !error.is_absorbable() => return Err(error),
            other => other,
        };
        match self.truth(right) {
            Ok(flag) if flag == deciding => Ok(Val::Bool(deciding)),
            Err(error) if !error.is_absorbable() => Err(error),
            right => {
                left?;
                right.map(Val::Bool)
            }
        }
    }

    #[inline(never)]
    fn not_strictly_false(&mut self, node: NodeId) -> EvalResult<'v> {
        let value = match self.truth(node) {
            Err(error) if !error.is_absorbable() => return Err(error),
            other => other.unwrap_or(true),
        };
        self.meter.charge(1)?;
        Ok(Val::Bool(value))
    }

    #[inline(never)]
    fn select(&mut self, selection: &Selection) -> EvalResult<'v> {
        let operand = self.eval(selection.operand)?;
        self.meter.charge(u64::from(selection.access != Access::Test) + u64::from(selection.relative))?;
        let field = &selection.field;
        match selection.access {
            Access::Required => match &operand {
                Val::Optional(None) => Ok(Val::Optional(None)),
                Val::Optional(Some(inner)) => Ok(Val::optional(field_of(inner, field).transpose()?)),
                operand => field_of(operand, field)
                    .unwrap_or_else(|| Err(Error::evaluate(format!("no such key: {field}")))),
            },
            Access::Test => match &operand {
                Val::Optional(None) => Ok(Val::Bool(false)),
                Val::Optional(Some(inner)) => Ok(Val::Bool(field_of(inner, field).is_some())),
                operand => Ok(Val::Bool(field_of(operand, field).is_some())),
            },
            Access::Optional => match &operand {
                Val::Optional(None) => Ok(Val::Optional(None)),
                Val::Optional(Some(inner)) => Ok(Val::optional(field_of(inner, field).transpose()?)),
                operand => Ok(Val::optional(field_of(operand, field).transpose()?)),
            },
        }
    }

    #[inline(never)]
    fn index(&mut self, operand: NodeId, index: NodeId, optional: bool, relative: bool) -> EvalResult<'v> {
        let operand = self.eval(operand)?;
        let index = self.eval(index)?;
        self.meter.charge(1 + u64::from(relative))?;
        match &operand {
            Val::Optional(None) => Ok(Val::Optional(None)),
            Val::Optional(Some(inner)) => Ok(Val::optional(item_of(inner, &index)?.transpose()?)),
            operand if optional => Ok(Val::optional(item_of(operand, &index)?.transpose()?)),
            operand => item_of(operand, &index)?.unwrap_or_else(|| Err(missing(operand, &index))),
        }
    }

    #[inline(never)]
    fn call(&mut self, call: &Call) -> EvalResult<'v> {
        match *call.args {
            [] => self.apply(call, &[]),
            [a] => {
                let a = self.eval(a)?;
                self.apply(call, &[a])
            }
            [a, b] => {
                let (a, b) = (self.eval(a)?, self.eval(b)?);
                self.apply(call, &[a, b])
            }
            _ => {
                let mut args = Vec::with_capacity(call.args.len());
                for arg in &call.args {
                    args.push(self.eval(*arg)?);
                }
                self.apply(call, &args)
            }
        }
    }

    fn apply(&mut self, call: &Call, args: &[Val<'v>]) -> EvalResult<'v> {
        let overload = match &*call.overloads {
            [only] if only.accepts(args) => only,
            several => several.iter().find(|overload| overload.accepts(args)).ok_or_else(no_such_overload)?,
        };
        self.meter.charge(overload.cost.actual(args))?;
        nested((overload.code)(self.meter, args)?)
    }

    #[inline(never)]
    fn search(
        &mut self,
        search: Search,
        text: NodeId,
        pattern: &Pattern,
        limit: Option<NodeId>,
    ) -> EvalResult<'v> {
        let text = self.eval(text)?;
        let limit = limit.map(|limit| self.eval(limit)).transpose()?;
        let Val::String(text) = &text else { return Err(no_such_overload()) };
        let length = Val::String(text.clone()).size().unwrap_or(0);
        self.meter.charge(Cost::regex(length, pattern.length))?;
        match search {
            Search::Matches => Ok(Val::Bool(pattern.regex.is_match(text))),
            Search::Find => Ok(regex::find(&pattern.regex, text)),
            Search::FindAll => regex::find_all(&pattern.regex, text, limit.as_ref(), self.meter),
        }
    }

    #[inline(never)]
    fn list(&mut self, elements: &[NodeId], optional: &[u32]) -> EvalResult<'v> {
        let mut items = Vec::with_capacity(elements.len());
        for (at, element) in elements.iter().enumerate() {
            let value = self.eval(*element)?;
            if !optional.iter().any(|index| *index as usize == at) {
                items.push(value);
                continue;
            }
            match value {
                Val::Optional(value) => items.extend(value.map(Arc::unwrap_or_clone)),
                _ => {
                    return Err(Error::evaluate(
                        "cannot initialize optional list element from non-optional value",
                    ));
                }
            }
        }
        self.meter.charge(LIST_COST)?;
        self.meter.allocate(items.len() * size_of::<Val<'_>>())?;
        nested(Val::list(items))
    }

    /// Evaluates the value of an entry; `None` if the entry is omitted.
    fn entry(&mut self, value: NodeId, optional: bool) -> Result<Option<Val<'v>>, Error> {
        match (self.eval(value)?, optional) {
            (value, false) => Ok(Some(value)),
            (Val::Optional(value), true) => Ok(value.map(Arc::unwrap_or_clone)),
            (_, true) => Err(Error::evaluate("cannot initialize optional entry from non-optional value")),
        }
    }

    #[inline(never)]
    fn map(&mut self, entries: &[(NodeId, NodeId, bool)]) -> EvalResult<'v> {
        let mut made = BTreeMap::new();
        for (key, value, optional) in entries {
            let key = self.eval(*key)?;
            let Some(value) = self.entry(*value, *optional)? else { continue };
            made.insert(map_key(&key)?, value);
        }
        self.meter.charge(MAP_COST)?;
        self.meter.allocate(made.len() * 2 * size_of::<Val<'_>>())?;
        nested(Val::map(made))
    }

    #[inline(never)]
    fn object(&mut self, name: &Text, fields: &[(Text, NodeId, bool)]) -> EvalResult<'v> {
        let mut made = BTreeMap::new();
        for (field, value, optional) in fields {
            if let Some(value) = self.entry(*value, *optional)? {
                made.insert(MapKey::String(field.clone()), value);
            }
        }
        self.meter.charge(STRUCT_COST)?;
        self.meter.allocate(made.len() * 2 * size_of::<Val<'_>>())?;
        nested(Val::Map(Map::Struct(name.clone(), Arc::new(Made::map(made)))))
    }

    #[inline(never)]
    fn comprehension(&mut self, shape: &Loop) -> EvalResult<'v> {
        let range = match self.eval(shape.range)? {
            Val::List(list) => Range::List(list, 0),
            Val::Map(map) => {
                let keys = map.keys();
                self.meter.allocate(keys.len() * size_of::<Val<'_>>())?;
                Range::Map(map, keys.into_iter())
            }
            _ => return Err(no_such_overload()),
        };
        let result = match shape.body {
            Body::Fold { init, condition, step } => self.fold(shape, range, init, condition, step),
            Body::Collect { filter, item } => self.collect(shape, range, filter, item),
            Body::CollectMap { filter, key, value } => self.collect_map(shape, range, filter, key, value),
        };
        match result {
            Err(error) if !error.is_absorbable() => return Err(error),
            other => self.locals[shape.accumulator] = other,
        }
        self.eval(shape.result)
    }

    /// Sets the loop variables to the next item and returns whether there is one.
    fn advance(&mut self, shape: &Loop, range: &mut Range<'v>) -> bool {
        let (first, second) = match range {
            Range::List(list, at) => {
                let Some(item) = list.get(*at) else { return false };
                *at += 1;
                match shape.second {
                    Some(_) => (Ok(Val::Int((*at - 1) as i64)), Some(item)),
                    None => (item, None),
                }
            }
            Range::Map(map, keys) => {
                let Some(key) = keys.next() else { return false };
                let value =
                    shape.second.map(|_| map.find(&key).unwrap_or_else(|| Err(missing(&Val::Null, &key))));
                (Ok(key), value)
            }
        };
        self.locals[shape.variable] = first;
        if let (Some(slot), Some(value)) = (shape.second, second) {
            self.locals[slot] = value;
        }
        true
    }

    fn fold(
        &mut self,
        shape: &Loop,
        mut range: Range<'v>,
        init: NodeId,
        condition: NodeId,
        step: NodeId,
    ) -> EvalResult<'v> {
        self.locals[shape.accumulator] = self.eval(init);
        while self.advance(shape, &mut range) {
            if matches!(self.eval(condition)?, Val::Bool(false)) {
                break;
            }
            let next = self.eval(step);
            if let Err(error) = &next
                && !error.is_absorbable()
            {
                return next;
            }
            self.locals[shape.accumulator] = next;
        }
        std::mem::replace(&mut self.locals[shape.accumulator], Ok(Val::Null))
    }

    fn collect(
        &mut self,
        shape: &Loop,
        mut range: Range<'v>,
        filter: Option<NodeId>,
        item: NodeId,
    ) -> EvalResult<'v> {
        let mut items = Vec::new();
        while self.advance(shape, &mut range) {
            if let Some(filter) = filter
                && !self.truth(filter)?
            {
                self.meter.charge(1)?;
                continue;
            }
            let item = self.eval(item)?;
            // A reference to the accumulator, a list of one item, and the concatenation of both.
            self.meter.charge(1 + LIST_COST + 1)?;
            self.meter.allocate(size_of::<Val<'_>>())?;
            items.push(item);
        }
        nested(Val::list(items))
    }

    fn collect_map(
        &mut self,
        shape: &Loop,
        mut range: Range<'v>,
        filter: Option<NodeId>,
        key: Option<NodeId>,
        value: NodeId,
    ) -> EvalResult<'v> {
        let mut made = BTreeMap::new();
        while self.advance(shape, &mut range) {
            if let Some(filter) = filter
                && !self.truth(filter)?
            {
                self.meter.charge(1)?;
                continue;
            }
            let key = key.map(|key| self.eval(key)).transpose()?;
            let value = self.eval(value)?;
            self.meter.charge(2)?;
            let added = match (key, value) {
                (Some(key), value) => vec![(map_key(&key)?, value)],
                (None, Val::Map(entries)) => {
                    entries.entries()?.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
                }
                _ => return Err(no_such_overload()),
            };
            self.meter.allocate(added.len() * 2 * size_of::<Val<'_>>())?;
            for (key, value) in added {
                if made.contains_key(&key) {
                    let shown = crate::library::shown(&key.to_val());
                    return Err(Error::evaluate(format!("insert failed: key {shown} already exists")));
                }
                made.insert(key, value);
            }
        }
        nested(Val::map(made))
    }
}

/// How deep values that an expression creates may be nested.
const MAX_NESTING: usize = 250;

/// Checks how deep a value is nested: loops and variables nest values far deeper than expressions are.
fn nested(value: Val<'_>) -> EvalResult<'_> {
    match value.depth() > MAX_NESTING {
        true => Err(Error::evaluate(format!("a value is nested more than {MAX_NESTING} levels deep"))),
        false => Ok(value),
    }
}

/// The list or map that a loop iterates over.
enum Range<'v> {
    List(List<'v>, usize),
    Map(Map<'v>, std::vec::IntoIter<Val<'v>>),
}

fn map_key(key: &Val<'_>) -> Result<MapKey, Error> {
    match key {
        Val::Double(_) => None,
        key => MapKey::new(key),
    }
    .ok_or_else(|| Error::evaluate(format!("unsupported key type: {}", key.type_name())))
}

fn field_of<'v>(value: &Val<'v>, field: &str) -> Option<EvalResult<'v>> {
    match value {
        Val::Map(map) => map.get(field),
        _ => None,
    }
}

fn item_of<'v>(value: &Val<'v>, index: &Val<'v>) -> Result<Option<EvalResult<'v>>, Error> {
    match (value, index) {
        (Val::List(list), index) => {
            let at = match index {
                Val::Double(number) if number.fract() == 0.0 => Some(*number as i128),
                other => other.as_integer(),
            };
            let at = at.ok_or_else(|| {
                Error::evaluate(format!("unsupported index type '{}' in list", index.type_name()))
            })?;
            Ok(usize::try_from(at).ok().and_then(|at| list.get(at)))
        }
        (Val::Map(map), key) => Ok(map.find(key)),
        _ => Err(no_such_overload()),
    }
}

fn missing(value: &Val<'_>, index: &Val<'_>) -> Error {
    let shown = crate::library::shown(index);
    match value {
        Val::List(_) => Error::evaluate(format!("index out of bounds: {shown}")),
        _ => Error::evaluate(format!("no such key: {shown}")),
    }
}
