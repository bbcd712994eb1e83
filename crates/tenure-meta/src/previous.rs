//! The live value beside the new one during a traversal. Parts that share its memory are already decoded,
//! defaulted and validated, so they are skipped: a write costs what it changes. `UNKNOWN` is always correct,
//! and only slower.

use tenure_value::{Object, Text, Value};

/// The value at the same path of the live object, if it is known; it must be decoded and valid.
#[derive(Clone, Copy, Debug)]
pub struct Previous<'v>(Option<&'v Value>);

/// A field that has changed.
pub struct ChangedField<'n, 'v> {
    /// The index among the fields.
    pub place: usize,
    /// The name.
    pub name: &'n Text,
    /// The value now.
    pub value: &'n Value,
    /// The value before.
    pub before: Previous<'v>,
}

impl<'v> Previous<'v> {
    /// The live value is not known.
    pub const UNKNOWN: Previous<'static> = Previous(None);

    /// Starts with the live object.
    pub fn of(live: &'v Value) -> Previous<'v> {
        Previous(Some(live))
    }

    /// Returns the live value of a field with this index and value; most fields keep their index, and
    /// skipping scalars gains nothing.
    pub fn field<N: AsRef<str> + ?Sized>(self, place: usize, name: &N, now: &Value) -> Previous<'v>
    where
        Text: PartialEq<N>,
    {
        if now.is_scalar() {
            return Previous::UNKNOWN;
        }
        let fields = self.0.and_then(Value::as_object);
        let same = fields.and_then(|fields| fields.fields().get(place)).filter(|(field, _)| field == name);
        Previous(same.map(|(_, value)| value).or_else(|| fields.and_then(|fields| fields.get(name))))
    }

    /// Returns the changed fields with their indices and live values, if the names of all fields are
    /// unchanged: then no field that is always shown is missing, and none is new.
    pub fn changes<'n>(self, now: &'n Object) -> Option<impl Iterator<Item = ChangedField<'n, 'v>>> {
        let before = self.0.and_then(Value::as_object).map(Object::fields)?;
        let now = now.fields();
        if before.len() != now.len() || !before.iter().zip(now).all(|(before, now)| before.0 == now.0) {
            return None;
        }
        let pairs = before.iter().zip(now).enumerate();
        let changed = pairs.filter(|(_, ((_, before), (_, now)))| match now.is_scalar() {
            true => now != before,
            false => !now.ptr_eq(before),
        });
        Some(changed.map(|(place, ((_, before), (name, now)))| ChangedField {
            place,
            name,
            value: now,
            before: Previous(Some(before)),
        }))
    }

    /// Returns the live item at an index of a list.
    pub fn item(self, at: usize) -> Previous<'v> {
        Previous(self.0.and_then(Value::as_array).and_then(|items| items.get(at)))
    }

    /// Whether the value is still the live one.
    pub fn is_unchanged(self, now: &Value) -> bool {
        self.0.is_some_and(|before| before.ptr_eq(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shared_memory_at_the_same_index_is_skipped() {
        let live: Value = r#"{"a":{"x":1},"b":[{"x":1},{"x":1}],"c":1}"#.parse().unwrap();
        let part = |names: &[&str]| live.at(names.iter().copied()).unwrap();
        let before = Previous::of(&live);
        assert!(before.is_unchanged(&live));
        for place in 0..4 {
            assert!(before.field(place, "a", part(&["a"])).is_unchanged(part(&["a"])));
            assert!(!before.field(place, "a", part(&["a"])).is_unchanged(&r#"{"x":1}"#.parse().unwrap()));
            assert!(!before.field(place, "c", part(&["c"])).is_unchanged(part(&["c"])));
        }
        let items = part(&["b"]).as_array().unwrap();
        let list = before.field(1, "b", part(&["b"]));
        assert!(list.item(1).is_unchanged(&items[1]));
        assert!(!list.item(0).is_unchanged(&items[1]) && !list.item(2).is_unchanged(&items[1]));
        assert!(!Previous::UNKNOWN.field(0, "a", part(&["a"])).is_unchanged(part(&["a"])));
    }

    #[test]
    fn changes_are_returned_only_if_all_names_are_unchanged() {
        let live: Value = r#"{"a":{"x":1},"b":1,"c":"t","d":null}"#.parse().unwrap();
        let fields = live.as_object().unwrap();
        let changes = |now: &Object| -> Option<Vec<(usize, String)>> {
            let changes = Previous::of(&live).changes(now)?;
            Some(changes.map(|change| (change.place, change.name.to_string())).collect())
        };
        assert_eq!(changes(fields), Some(vec![]));
        let other = fields.with("b", 2).with("c", "t").with("d", "new");
        assert_eq!(changes(&other), Some(vec![(1, "b".into()), (3, "d".into())]));
        let copied = fields.with("a", r#"{"x":1}"#.parse::<Value>().unwrap());
        assert_eq!(changes(&copied), Some(vec![(0, "a".into())]));
        assert_eq!(changes(&fields.without("d")), None);
        assert_eq!(changes(&fields.without("d").with("e", 1)), None);
        assert!(Previous::UNKNOWN.changes(fields).is_none());
    }
}
