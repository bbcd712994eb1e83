//! Inference of the type parameters of calls.

use crate::types::Type;

/// How deep a type may be nested, and how many types it may contain. Loops nest types far deeper than expressions are, and a type
/// can contain another twice.
const MAX_DEPTH: usize = 500;
const MAX_TYPES: usize = 5_000;

/// The types that type parameters are bound to so far. Failed attempts are undone by [`Solution::rollback`].
#[derive(Default)]
pub(super) struct Solution {
    vars: Vec<Option<Type>>,
    /// The bindings that changed, with their previous values.
    log: Vec<(u32, Option<Type>)>,
    /// How deep the types are that are compared.
    depth: usize,
}

impl Solution {
    pub fn fresh(&mut self) -> Type {
        self.vars.push(None);
        Type::Var(u32::try_from(self.vars.len() - 1).unwrap_or(u32::MAX))
    }

    fn get(&self, var: u32) -> Option<&Type> {
        self.vars.get(var as usize)?.as_ref()
    }

    fn set(&mut self, var: u32, ty: Type) {
        if let Some(slot) = self.vars.get_mut(var as usize) {
            self.log.push((var, slot.replace(ty)));
        }
    }

    pub fn mark(&self) -> usize {
        self.log.len()
    }

    pub fn rollback(&mut self, mark: usize) {
        while self.log.len() > mark {
            let Some((var, before)) = self.log.pop() else { return };
            if let Some(slot) = self.vars.get_mut(var as usize) {
                *slot = before;
            }
        }
    }

    /// Whether a value of one type can be used as another; on success, parameters are bound.
    pub fn is_assignable(&mut self, from: &Type, to: &Type) -> bool {
        let mark = self.mark();
        let fits = self.assign(from, to);
        if !fits {
            self.rollback(mark);
        }
        fits
    }

    fn assign(&mut self, from: &Type, to: &Type) -> bool {
        self.depth += 1;
        let fits = self.depth <= MAX_DEPTH && self.assign_parts(from, to);
        self.depth -= 1;
        fits
    }

    fn assign_parts(&mut self, from: &Type, to: &Type) -> bool {
        if let Type::Var(var) = to {
            match self.bind(from, *var) {
                (true, _) => return true,
                (false, true) => return false,
                (false, false) => {}
            }
        }
        if let Type::Var(var) = from {
            return self.bind(to, *var).0;
        }
        if from.is_dyn_or_error() || to.is_dyn_or_error() {
            return true;
        }
        match (from, to) {
            (Type::Null, other) | (other, Type::Null) => is_nullable(other),
            (Type::Type, Type::Type) => true,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.assign(a, b),
            (Type::Map(k, v), Type::Map(l, w)) => self.assign(k, l) && self.assign(v, w),
            (a, b) => a == b,
        }
    }

    /// Tries to bind a parameter to a type. Returns whether that is possible, and whether it was bound
    /// before.
    fn bind(&mut self, ty: &Type, var: u32) -> (bool, bool) {
        if *ty == Type::Var(var) {
            return (true, true);
        }
        match self.get(var).cloned() {
            Some(bound) => {
                if *ty == bound {
                    return (true, true);
                }
                if !self.assign(ty, &bound) {
                    return (false, true);
                }
                let general = most_general(ty, &bound);
                if !self.occurs(var, &general, &mut Size::default()) {
                    self.set(var, general);
                }
                (true, true)
            }
            None if self.occurs(var, ty, &mut Size::default()) => (false, false),
            None => {
                self.set(var, ty.clone());
                (true, false)
            }
        }
    }

    /// Whether a parameter is part of a type; a type that is too large is taken to contain it.
    fn occurs(&self, var: u32, within: &Type, size: &mut Size) -> bool {
        if !size.enter() {
            return true;
        }
        let occurs = match within {
            Type::Var(other) => {
                *other == var || self.get(*other).is_some_and(|ty| self.occurs(var, ty, size))
            }
            Type::List(inner) | Type::Optional(inner) => self.occurs(var, inner, size),
            Type::Map(key, value) => self.occurs(var, key, size) || self.occurs(var, value, size),
            _ => false,
        };
        size.leave();
        occurs
    }

    /// Replaces parameters by the types they are bound to; unbound ones become `dyn` on request, and so does what is too large.
    pub fn resolve(&self, ty: &Type, unbound_to_dyn: bool) -> Type {
        self.resolve_within(ty, unbound_to_dyn, &mut Size::default())
    }

    fn resolve_within(&self, ty: &Type, unbound_to_dyn: bool, size: &mut Size) -> Type {
        if !size.enter() {
            return Type::Dyn;
        }
        let mut part = |inner: &Type| self.resolve_within(inner, unbound_to_dyn, size);
        let resolved = match ty {
            Type::Var(var) => match self.get(*var) {
                Some(bound) => part(bound),
                None if unbound_to_dyn => Type::Dyn,
                None => ty.clone(),
            },
            Type::List(item) => Type::list(part(item)),
            Type::Optional(inner) => Type::optional(part(inner)),
            Type::Map(key, value) => Type::map(part(key), part(value)),
            other => other.clone(),
        };
        size.leave();
        resolved
    }
}

/// Counts the types that a type contains.
#[derive(Default)]
pub(super) struct Size {
    depth: usize,
    types: usize,
}

impl Size {
    /// Counts a type; false if it is one too many.
    fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH || self.types >= MAX_TYPES {
            return false;
        }
        self.depth += 1;
        self.types += 1;
        true
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Whether a type is not too large.
    pub fn fits(&mut self, ty: &Type) -> bool {
        if !self.enter() {
            return false;
        }
        let fits = match ty {
            Type::List(inner) | Type::Optional(inner) => self.fits(inner),
            Type::Map(key, value) => self.fits(key) && self.fits(value),
            _ => true,
        };
        self.leave();
        fits
    }
}

fn is_nullable(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Null | Type::Object(_) | Type::Named(_) | Type::Optional(_) | Type::Duration | Type::Timestamp
    )
}

/// Returns the less specific of two compatible types.
pub(super) fn most_general(a: &Type, b: &Type) -> Type {
    if is_less_specific(a, b) { a.clone() } else { b.clone() }
}

fn is_less_specific(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Var(_), _) => true,
        (_, Type::Dyn | Type::Var(_)) => false,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => is_less_specific(a, b),
        (Type::Map(k, v), Type::Map(l, w)) => is_less_specific(k, l) && is_less_specific(v, w),
        (a, b) => a == b,
    }
}
