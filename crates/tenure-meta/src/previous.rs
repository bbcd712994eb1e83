//! The live value beside the new one during a traversal. Parts that share its memory are already decoded,
//! defaulted and validated, so they are skipped: a write costs what it changes. `UNKNOWN` is always correct,
//! and only slower.

use crate::NameFilter;
use tenure_value::{Object, Text, Value};

/// The most fields of an object whose changes are looked for one by one; no type of Kubernetes has as many.
const MOST_FIELDS: usize = u64::BITS as usize;

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

/// The fields of an object that have changed, in order.
#[derive(Clone)]
pub struct Changes<'n, 'v> {
    before: &'v [(Text, Value)],
    now: &'n [(Text, Value)],
    /// A bit for the index of each changed field.
    places: u64,
}

impl Changes<'_, '_> {
    /// Returns the names of the changed fields.
    pub fn names(&self) -> NameFilter {
        self.clone().map(|change| change.name.as_str()).collect()
    }
}

impl<'n, 'v> Iterator for Changes<'n, 'v> {
    type Item = ChangedField<'n, 'v>;

    fn next(&mut self) -> Option<ChangedField<'n, 'v>> {
        let place = self.places.trailing_zeros() as usize;
        let ((_, before), (name, value)) = self.before.get(place).zip(self.now.get(place))?;
        self.places &= self.places - 1;
        Some(ChangedField { place, name, value, before: Previous(Some(before)) })
    }
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
    pub fn changes<'n>(self, now: &'n Object) -> Option<Changes<'n, 'v>> {
        let before = self.0.and_then(Value::as_object).map(Object::fields)?;
        let now = now.fields();
        if before.len() != now.len() || now.len() > MOST_FIELDS {
            return None;
        }
        let (mut places, mut bit) = (0, 1);
        for ((name_before, before), (name, now)) in before.iter().zip(now) {
            if name_before != name {
                return None;
            }
            let is_changed = match now.is_scalar() {
                true => now != before,
                false => !now.ptr_eq(before),
            };
            places |= if is_changed { bit } else { 0 };
            bit <<= 1;
        }
        Some(Changes { before, now, places })
    }

    /// Returns the live value at a path of fields.
    pub fn at(self, path: &[&str]) -> Previous<'v> {
        Previous(self.0.and_then(|before| before.at(path.iter().copied())))
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
    fn as_many_fields_as_there_are_bits_are_compared() {
        for count in [63, 64, 65] {
            let object = |last: i64| {
                let fields =
                    (0..count).map(|at| (format!("f{at:02}"), if at + 1 == count { last } else { at }));
                Value::object(fields.map(|(name, value)| (name, Value::from(value))))
            };
            let (live, now) = (object(-1), object(-2));
            let changes = Previous::of(&live).changes(now.as_object().unwrap());
            let places: Option<Vec<usize>> =
                changes.map(|changes| changes.map(|change| change.place).collect());
            assert_eq!(places, (count <= 64).then(|| vec![count as usize - 1]), "{count}");
        }
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
        let names = |now: &Object| Previous::of(&live).changes(now).map(|changes| changes.names());
        assert_eq!(names(fields), Some(NameFilter::NONE));
        assert_eq!(names(&fields.with("b", 2).with("d", 1)), Some(["b", "d"].into_iter().collect()));
        let other = fields.with("b", 2).with("c", "t").with("d", "new");
        assert_eq!(changes(&other), Some(vec![(1, "b".into()), (3, "d".into())]));
        let copied = fields.with("a", r#"{"x":1}"#.parse::<Value>().unwrap());
        assert_eq!(changes(&copied), Some(vec![(0, "a".into())]));
        assert_eq!(changes(&fields.without("d")), None);
        assert_eq!(changes(&fields.without("d").with("e", 1)), None);
        assert!(Previous::UNKNOWN.changes(fields).is_none());
    }
}
