//! Costs of functions as formulas over the sizes of their arguments: once as an estimate over ranges of
//! sizes, once for the arguments of a call. The constants are those of Kubernetes, which accepts and stops
//! rules by them.

use super::size::{Size, scaled};
use crate::{types::Type, value::Val};

/// Scanning a string, per character.
const PER_CHARACTER: f64 = 0.1;
/// Applying a regular expression, per character of the expression.
const PER_PATTERN_CHARACTER: f64 = 0.25;
/// Creating a list.
pub(crate) const LIST_COST: u64 = 10;
/// Creating a map.
pub(crate) const MAP_COST: u64 = 30;
/// Creating an object of a named type.
pub(crate) const STRUCT_COST: u64 = 40;
/// The length that a format's pattern is assumed to have in estimates.
const FORMAT_PATTERN: f64 = 128.0;
/// The longest name of a format.
const FORMAT_NAME: u64 = 64;

/// The cost of a function. Arguments are counted from zero; the receiver of a method is the first.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cost {
    /// A constant cost.
    Fixed(u64),
    /// Scanning the first argument, times a factor; the size of the result is unknown.
    Scan(f64),
    /// Scanning the first argument, times a factor; the result has the same size.
    ScanText(f64),
    /// Comparing every item of a list, or scanning a string.
    ScanItems,
    /// `text.replace(old, new)`.
    Replace,
    /// `text.split(separator)`.
    Split,
    /// `list.join(separator)`.
    Join,
    /// Finding a regular expression, the second argument, in the first.
    Find,
    /// Matching a regular expression, the second argument, against the first.
    Matches,
    /// Finding the second string in the first.
    Contains,
    /// `text.startsWith(other)`: estimated by the second argument, charged by the first.
    Affix,
    /// The same as Kubernetes 1.37 charges it: by the second argument.
    AffixOfLength,
    /// `item in list`.
    In,
    /// `==`, `!=` and comparisons of strings and bytes.
    Compare,
    /// Concatenating strings or bytes.
    Concatenate,
    /// Concatenating lists.
    ConcatenateLists,
    /// Encoding a string as bytes.
    Encode,
    /// Decoding bytes as a string.
    Decode,
    /// `strings.quote(text)`.
    Quote,
    /// `text.format(args)`.
    Format,
    /// Parsing a selector, the second argument.
    Selector,
    /// Comparing a network with an address; whether the address is a text that must be parsed.
    ContainsAddress(bool),
    /// Comparing a network with another; whether that is a text that must be parsed.
    ContainsNetwork(bool),
    /// Checking the second argument against a format.
    Validate,
    /// Comparing all items of two lists, times a factor.
    Sets(f64),
    /// `list.slice(from, to)`.
    Slice,
    /// `lists.range(count)`.
    Range,
    /// `list.reverse()`.
    Reverse,
    /// `list.flatten(depth)`.
    Flatten,
    /// `list.distinct()`.
    Distinct,
    /// Sorting by the argument of this index.
    Sort(usize),
}

/// The known properties of an argument when costs are estimated.
pub(crate) struct Argument {
    pub size: Size,
    pub ty: Type,
    /// The type and the size of the items, if this is a list.
    pub item: Option<(Type, Size)>,
    /// The argument, if it is a constant integer.
    pub constant: Option<i64>,
}

fn is_text(ty: &Type) -> bool {
    matches!(ty, Type::String | Type::Bytes)
}

/// The cost of creating a list of this many elements.
fn allocated(elements: Size, each: f64) -> (u64, Option<Size>) {
    (elements.cost(each).saturating_add(1 + LIST_COST), Some(elements))
}

impl Cost {
    /// Estimates the most that a call costs, and the size of its result where that is known.
    pub(crate) fn estimate(self, args: &[Argument]) -> (u64, Option<Size>) {
        let size = |at: usize| args.get(at).map_or(Size::UNKNOWN, |arg| arg.size);
        let constant = |at: usize, otherwise: u64| match args.get(at).and_then(|arg| arg.constant) {
            Some(number) => u64::try_from(number).unwrap_or(0),
            None => otherwise,
        };
        let first = size(0);
        match self {
            Cost::Fixed(cost) => (cost, None),
            Cost::Scan(factor) => (first.cost(factor * PER_CHARACTER), None),
            Cost::ScanText(factor) => (first.cost(factor * PER_CHARACTER), Some(first)),
            Cost::ScanItems => match args.first().and_then(|arg| arg.item.as_ref()) {
                Some((ty, item)) => {
                    let each = if is_text(ty) { item.cost(PER_CHARACTER) } else { 0 };
                    (first.max.saturating_mul(each.saturating_add(1)), None)
                }
                None => (first.cost(PER_CHARACTER), None),
            },
            Cost::Replace => (first.cost(2.0 * PER_CHARACTER), Some(replaced(first, size(1), size(2)))),
            Cost::Split => {
                let max = match args.get(2).and_then(|arg| arg.constant) {
                    Some(limit) => limit as u64,
                    None => first.max,
                };
                (first.cost(2.0 * PER_CHARACTER), Some(Size { min: 0, max }))
            }
            Cost::Join => {
                let items =
                    args.first().and_then(|arg| arg.item.as_ref()).map_or(Size::fixed(0), |item| item.1);
                let mut result = first.times(items);
                if args.len() > 1 {
                    let between = Size { min: first.min.saturating_sub(1), max: first.max.saturating_sub(1) };
                    result = result.plus(size(1).times(between));
                }
                (result.cost(PER_CHARACTER), Some(result))
            }
            Cost::Find | Cost::Matches => {
                let text = first.plus(Size::fixed(1)).cost(PER_CHARACTER);
                let cost = text.saturating_mul(size(1).cost(PER_PATTERN_CHARACTER));
                (cost, (self == Cost::Find).then_some(Size { min: 0, max: first.max }))
            }
            Cost::Contains => (first.cost(PER_CHARACTER).saturating_mul(size(1).cost(PER_CHARACTER)), None),
            Cost::Affix | Cost::AffixOfLength => (size(1).cost(PER_CHARACTER), None),
            Cost::In => (size(1).max, None),
            Cost::Compare => (self.estimate_comparison(args), None),
            Cost::Concatenate => {
                let result = first.plus(size(1));
                (result.cost(PER_CHARACTER), Some(result))
            }
            Cost::ConcatenateLists => (1, Some(first.plus(size(1)))),
            Cost::Encode => {
                (first.cost(PER_CHARACTER), Some(Size { min: first.min, max: first.max.saturating_mul(4) }))
            }
            Cost::Decode => (first.cost(PER_CHARACTER), Some(Size { min: first.min / 4, max: first.max })),
            Cost::Quote => {
                let max = first.max.saturating_mul(2).saturating_add(2);
                (first.cost(PER_CHARACTER), Some(Size { min: first.min.saturating_add(2), max }))
            }
            Cost::Format => (first.cost(PER_CHARACTER), None),
            Cost::Selector => (selector(size(1).max), None),
            Cost::ContainsAddress(parse) => {
                let address = Size { min: 4, max: 16 };
                let cost = address.plus(address).cost(PER_CHARACTER);
                (cost.saturating_add(if parse { size(1).cost(PER_CHARACTER) } else { 0 }), None)
            }
            Cost::ContainsNetwork(parse) => {
                let address = Size { min: 4, max: 16 };
                let cost = address.plus(address).cost(PER_CHARACTER) + address.cost(PER_CHARACTER) + 1;
                (cost.saturating_add(if parse { size(1).cost(PER_CHARACTER) } else { 0 }), None)
            }
            Cost::Validate => {
                (scaled(size(1).cost(PER_CHARACTER), FORMAT_PATTERN * PER_PATTERN_CHARACTER), None)
            }
            Cost::Sets(factor) => (scaled(first.times(size(1)).max, factor).saturating_add(1), None),
            Cost::Slice => {
                let (from, to) = (constant(1, 0), constant(2, first.max));
                allocated(Size::fixed(to.wrapping_sub(from)), 1.0)
            }
            Cost::Range => allocated(Size::fixed(constant(0, u64::MAX)), 1.0),
            Cost::Reverse => allocated(first, 1.0),
            Cost::Flatten => {
                let depth = if args.len() > 1 { constant(1, u64::MAX) } else { 1 };
                allocated(first, depth as f64)
            }
            Cost::Distinct => allocated(first.times(first), 2.0),
            Cost::Sort(keys) => {
                let key_size = size(keys);
                let texts =
                    args.get(keys).and_then(|arg| arg.item.as_ref()).is_some_and(|item| is_text(&item.0));
                allocated(key_size.times(key_size), if texts { 2.0 + PER_CHARACTER } else { 2.0 })
            }
        }
    }

    /// Equality of types that are not texts or collections is settled at once.
    fn estimate_comparison(self, args: &[Argument]) -> u64 {
        let [left, right] = args else { return 1 };
        if let (Type::Named(name), true) = (&left.ty, left.ty == right.ty) {
            return match name.as_str() {
                // The texts are gone through where their sizes are known.
                "kubernetes.URL" if right.size == Size::UNKNOWN => 1,
                "kubernetes.URL" => right.size.cost(PER_CHARACTER),
                "kubernetes.NamedFormat" => scaled(FORMAT_NAME, PER_CHARACTER),
                _ => 1,
            };
        }
        scaled(left.size.max.min(right.size.max), PER_CHARACTER)
    }

    /// Returns the cost of matching a regular expression, by the lengths of text and expression.
    pub(crate) fn regex(text: u64, pattern: u64) -> u64 {
        scaled(text.saturating_add(1), PER_CHARACTER).saturating_mul(scaled(pattern, PER_PATTERN_CHARACTER))
    }

    /// Returns the cost of a call before it runs.
    pub(crate) fn actual(self, args: &[Val<'_>]) -> u64 {
        let size = |at: usize| args.get(at).map_or(0, actual_size);
        let constant = |at: usize| match args.get(at) {
            Some(Val::Int(number)) => u64::try_from(*number).unwrap_or(0),
            _ => 0,
        };
        let list = |elements: u64, each: f64| ((elements as f64 * each) as u64).saturating_add(1 + LIST_COST);
        match self {
            Cost::Fixed(cost) => cost,
            Cost::Scan(factor) | Cost::ScanText(factor) => scaled(size(0), factor * PER_CHARACTER),
            Cost::ScanItems => args.first().map_or(0, |list| traversal(list, &mut { MAX_TRAVERSED })),
            Cost::Replace | Cost::Split => scaled(size(0), 2.0 * PER_CHARACTER),
            Cost::Join => scaled(joined_size(args), 2.0 * PER_CHARACTER),
            Cost::Find | Cost::Matches => Cost::regex(size(0), size(1)),
            Cost::Contains => scaled(size(0), PER_CHARACTER).saturating_mul(scaled(size(1), PER_CHARACTER)),
            Cost::Affix | Cost::Encode | Cost::Decode | Cost::Quote | Cost::Format => {
                scaled(size(0), PER_CHARACTER)
            }
            Cost::AffixOfLength => scaled(size(1), PER_CHARACTER),
            Cost::In => size(1),
            Cost::Compare => match args {
                [Val::Opaque(_), _] => 1,
                [a, b] => scaled(smaller_size(a, b), PER_CHARACTER),
                _ => 1,
            },
            Cost::Concatenate => scaled(size(0).saturating_add(size(1)), PER_CHARACTER),
            Cost::ConcatenateLists => 1,
            Cost::Selector => selector(size(1)),
            Cost::ContainsAddress(parse) => {
                scaled(size(0).saturating_mul(2), PER_CHARACTER)
                    + if parse { scaled(size(1), PER_CHARACTER) } else { 0 }
            }
            Cost::ContainsNetwork(parse) => {
                let own = size(0);
                let cost = scaled(own.saturating_mul(2), PER_CHARACTER) + scaled(own, PER_CHARACTER) + 1;
                cost + if parse { scaled(size(1), PER_CHARACTER) } else { 0 }
            }
            Cost::Validate => Cost::regex(size(1), size(0)),
            Cost::Sets(factor) => scaled(size(0).saturating_mul(size(1)), factor).saturating_add(1),
            Cost::Slice => list(constant(2).saturating_sub(constant(1)).min(size(0)), 1.0),
            Cost::Range => list(constant(0), 1.0),
            Cost::Reverse => list(size(0), 1.0),
            Cost::Flatten => list(size(0), if args.len() > 1 { constant(1) as f64 } else { 1.0 }),
            Cost::Distinct => self_comparison(args.first()),
            Cost::Sort(keys) => self_comparison(args.get(keys)),
        }
    }
}

/// Returns the size that costs are counted by: one for everything that has none.
fn actual_size(value: &Val<'_>) -> u64 {
    match value {
        Val::Optional(Some(value)) => value.size().unwrap_or(1),
        value => value.size().unwrap_or(1),
    }
}

/// Returns the smaller of two sizes, without counting the characters of a text that is much longer.
fn smaller_size(a: &Val<'_>, b: &Val<'_>) -> u64 {
    let (short, long) = match (a, b) {
        (Val::String(x), Val::String(y)) if x.len() > y.len() => (b, a),
        (Val::String(_), Val::String(_)) => (a, b),
        _ => return actual_size(a).min(actual_size(b)),
    };
    let size = actual_size(short);
    match long {
        // A character takes four bytes at most.
        Val::String(text) if text.len() as u64 / 4 >= size => size,
        long => size.min(actual_size(long)),
    }
}

/// The most values that are gone through to learn what going through them costs: more than fit into a document.
const MAX_TRAVERSED: usize = 1 << 20;

/// Returns what going through everything in a value costs; the most there is if there are more values than `left`.
fn traversal(value: &Val<'_>, left: &mut usize) -> u64 {
    let Some(fewer) = left.checked_sub(1) else { return u64::MAX };
    *left = fewer;
    let mut sum = 0_u64;
    match value {
        Val::String(text) => return text.len() as u64 / 10,
        Val::Bytes(bytes) => return bytes.len() as u64 / 10,
        Val::List(list) => {
            for item in list.iter().flatten() {
                sum = sum.saturating_add(traversal(&item, left));
                if sum == u64::MAX {
                    break;
                }
            }
        }
        Val::Map(map) => {
            for (key, value) in map.entries().unwrap_or_default().iter() {
                sum = sum.saturating_add(traversal(&key.to_val(), left));
                sum = sum.saturating_add(traversal(value, left));
                if sum == u64::MAX {
                    break;
                }
            }
        }
        _ => return 1,
    }
    sum
}

/// Returns how many characters joining the texts of a list makes.
fn joined_size(args: &[Val<'_>]) -> u64 {
    let Some(Val::List(list)) = args.first() else { return 0 };
    let items = list.iter().flatten().filter_map(|item| item.size()).fold(0, u64::saturating_add);
    let separators = (list.len() as u64).saturating_sub(1);
    items.saturating_add(args.get(1).and_then(Val::size).unwrap_or(0).saturating_mul(separators))
}

/// Returns the cost of comparing the items of a list with each other.
fn self_comparison(list: Option<&Val<'_>>) -> u64 {
    let Some(Val::List(list)) = list else { return 1 + LIST_COST };
    let texts = matches!(list.get(0), Some(Ok(Val::String(_) | Val::Bytes(_))));
    let factor = if texts { 2.0 + PER_CHARACTER } else { 2.0 };
    let pairs = (list.len() as u64).saturating_mul(list.len() as u64);
    ((pairs as f64 * factor) as u64).saturating_add(1 + LIST_COST)
}

/// A selector is a list of requirements, each of at least two characters, that take a list and an object each.
fn selector(length: u64) -> u64 {
    let requirements = scaled(length, 0.5);
    let each = (LIST_COST + STRUCT_COST) as f64;
    LIST_COST.saturating_add(scaled(length, PER_CHARACTER)).saturating_add(scaled(requirements, each))
}

/// Returns the size of a text after a replacement.
fn replaced(text: Size, old: Size, new: Size) -> Size {
    let max = if old.min == 0 {
        // An empty text is found around every character.
        text.max.saturating_add(1).saturating_mul(new.max).saturating_add(text.max)
    } else if new.max <= old.min {
        text.max
    } else {
        ((text.max as f64 / old.min as f64).ceil() as u64).saturating_mul(new.max)
    };
    let min = if old.max == 0 {
        text.min.saturating_add(1).saturating_mul(new.min).saturating_add(text.min)
    } else if old.max <= new.min {
        text.min
    } else {
        ((text.min as f64 / old.max as f64).ceil() as u64).saturating_mul(new.min)
    };
    Size { min, max }
}
