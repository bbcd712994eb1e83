//! How large an object may be. One rule holds for whatever wrote it, a create, a patch, an apply or a webhook: the object can be
//! read and sent back in a PUT. So the body of a request may be nested deeper than an object, which has `managedFields` around
//! the names of its fields, and an object with its `managedFields` may be as large as a body.

use crate::object::{Stored, shown};
use tenure_apply::Managers;
use tenure_meta::{ApiError, Reason};
use tenure_value::{Limits, Value, json};

/// The most levels of nesting of an object, without its `managedFields`.
const DEPTH: usize = 200;
/// How many times longer the fields of a manager are as `FieldsV1` than the object that has them, at most.
const FIELDS_PER_BYTE: usize = 4;
/// How many bytes a byte of a text takes in JSON, at most: `\u0000`.
const ESCAPED: usize = 6;

/// The size of a document, in bytes without escapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    bytes: usize,
    values: usize,
    depth: usize,
}

impl Size {
    fn of(value: &Value) -> Size {
        let mut size = Size::default();
        size.add(value, 0);
        size
    }

    /// Adds a value at a depth. Most values are scalars, which are added where they are seen.
    fn add(&mut self, value: &Value, depth: usize) {
        self.values += 1;
        match value {
            Value::Array(items) => {
                self.depth = self.depth.max(depth + 1);
                self.bytes += items.len() + 1;
                items.iter().for_each(|item| self.add_part(item, depth + 1));
            }
            Value::Object(fields) => {
                self.depth = self.depth.max(depth + 1);
                self.bytes += 1;
                for (name, value) in fields {
                    self.bytes += name.len() + 4;
                    self.add_part(value, depth + 1);
                }
            }
            scalar => self.bytes += scalar_bytes(scalar),
        }
    }

    #[inline]
    fn add_part(&mut self, part: &Value, depth: usize) {
        match part {
            Value::Array(_) | Value::Object(_) => self.add(part, depth),
            scalar => {
                self.values += 1;
                self.bytes += scalar_bytes(scalar);
            }
        }
    }

    /// Returns what is too large, the limit and the size.
    fn excess(&self, depth: usize, limits: &Limits) -> Option<(&'static str, usize, usize)> {
        [
            ("levels of nesting", depth, self.depth),
            ("values", limits.nodes, self.values),
            ("bytes", limits.bytes, self.bytes),
        ]
        .into_iter()
        .find(|(_, limit, size)| size > limit)
    }
}

/// Returns the bytes of a scalar without escapes, at least.
#[inline]
fn scalar_bytes(scalar: &Value) -> usize {
    scalar.as_str().map_or(0, str::len) + 2
}

/// Checks that an object can be written back as clients see it, in a body within these limits. One that was larger before may become
/// smaller.
pub fn check_size(
    object: &Value,
    managers: &Managers,
    live: Option<&Stored>,
    limits: &Limits,
) -> Result<(), ApiError> {
    if live.is_some_and(|live| live.object.ptr_eq(object) && live.managers.same_fields(managers)) {
        return Ok(());
    }
    let excess = excess(object, managers, limits);
    let Some((what, limit, size)) = excess else { return Ok(()) };
    if let Some(live) = live
        && excess_of_live(live, what, limits).is_some_and(|before| size <= before)
    {
        return Ok(());
    }
    let message =
        format!("the object would have {size} {what}, with its managedFields; at most {limit} are allowed");
    Err(ApiError::new(Reason::RequestEntityTooLarge, message))
}

fn excess(object: &Value, managers: &Managers, limits: &Limits) -> Option<(&'static str, usize, usize)> {
    let size = Size::of(object);
    if let Some(excess) = size.excess(DEPTH, limits) {
        return Some(excess);
    }
    // The document of the managers is only made if it could be too large.
    let sets = managers.iter().count();
    let times = 1 + FIELDS_PER_BYTE * sets;
    if size.bytes * ESCAPED * times <= limits.bytes && size.values * times <= limits.nodes {
        return None;
    }
    let document = shown(object, Some(managers), None);
    Size { bytes: json::to_vec(&document).len(), ..Size::of(&document) }.excess(limits.depth, limits)
}

fn excess_of_live(live: &Stored, what: &str, limits: &Limits) -> Option<usize> {
    excess(&live.object, &live.managers, limits)
        .filter(|(exceeded, ..)| *exceeded == what)
        .map(|(_, _, size)| size)
}
