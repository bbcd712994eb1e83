//! What stood at a place before a write. A part that is still the same memory has been through the rules already, so
//! walks leave it out: what a write costs follows what it changes. `NOTHING` is always right, and only slower.

use tenure_value::{Text, Value};

/// What stood at a place of the live object, if that is known; it must have been completed and found valid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before<'v>(Option<&'v Value>);

impl<'v> Before<'v> {
    /// Nothing is known.
    pub(crate) const NOTHING: Before<'static> = Before(None);

    /// The live object stood here.
    pub(crate) fn of(live: &'v Value) -> Before<'v> {
        Before(Some(live))
    }

    /// Returns what stood at a field that has this place among its siblings and this value now; most have the place
    /// they had, and of scalars nothing is to be gained.
    pub(crate) fn field<N: AsRef<str> + ?Sized>(self, place: usize, name: &N, now: &Value) -> Before<'v>
    where
        Text: PartialEq<N>,
    {
        if now.is_scalar() {
            return Before::NOTHING;
        }
        let fields = self.0.and_then(Value::as_object);
        let same = fields.and_then(|fields| fields.fields().get(place)).filter(|(of, _)| of == name);
        Before(same.map(|(_, value)| value).or_else(|| fields.and_then(|fields| fields.get(name))))
    }

    /// Returns what stood at a place of a list.
    pub(crate) fn item(self, at: usize) -> Before<'v> {
        Before(self.0.and_then(Value::as_array).and_then(|items| items.get(at)))
    }

    /// Whether it stands there still.
    pub(crate) fn still_is(self, now: &Value) -> bool {
        self.0.is_some_and(|before| before.ptr_eq(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_memory_at_the_same_place_is_left_out() {
        let live: Value = r#"{"a":{"x":1},"b":[{"x":1},{"x":1}],"c":1}"#.parse().unwrap();
        let part = |names: &[&str]| live.at(names.iter().copied()).unwrap();
        let before = Before::of(&live);
        assert!(before.still_is(&live));
        for place in 0..4 {
            assert!(before.field(place, "a", part(&["a"])).still_is(part(&["a"])));
            assert!(!before.field(place, "a", part(&["a"])).still_is(&r#"{"x":1}"#.parse().unwrap()));
            assert!(!before.field(place, "c", part(&["c"])).still_is(part(&["c"])));
        }
        let items = part(&["b"]).as_array().unwrap();
        let list = before.field(1, "b", part(&["b"]));
        assert!(list.item(1).still_is(&items[1]));
        assert!(!list.item(0).still_is(&items[1]) && !list.item(2).still_is(&items[1]));
        assert!(!Before::NOTHING.field(0, "a", part(&["a"])).still_is(part(&["a"])));
    }
}
