//! Two ways to change an object without copying unchanged parts: [`Edit`] for changes of any field,
//! [`Rebuild`] for one pass in the order of the fields. Both return `None` if nothing changes.

use tenure_value::{Object, Text, Value};

/// How many fields are rarely exceeded by those that are added to an object.
const ADDED: usize = 4;

/// An object being changed; copied on the first change.
pub struct Edit<'o> {
    base: &'o Object,
    changed: Option<Vec<(Text, Value)>>,
}

impl<'o> Edit<'o> {
    /// Starts to change an object.
    pub fn new(base: &'o Object) -> Edit<'o> {
        Edit { base, changed: None }
    }

    /// Returns the current fields.
    pub fn fields(&self) -> &[(Text, Value)] {
        self.changed.as_deref().unwrap_or(self.base.fields())
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.fields().binary_search_by(|(field, _)| field.as_str().cmp(name))
    }

    /// Returns the current value of a field.
    pub fn get<N: AsRef<str> + ?Sized>(&self, name: &N) -> Option<&Value>
    where
        Text: PartialEq<N>,
    {
        /// Up to this length a linear scan is faster than a binary search: most names already differ in
        /// length.
        const FEW: usize = 16;
        let fields = self.fields();
        if fields.len() <= FEW {
            return fields.iter().find(|(field, _)| field == name).map(|(_, value)| value);
        }
        self.position(name.as_ref()).ok().map(|at| &fields[at].1)
    }

    /// Sets a field.
    pub fn set(&mut self, name: &Text, value: Value) {
        let place = self.position(name);
        let fields = self.changed.get_or_insert_with(|| {
            let mut copy = Vec::with_capacity(self.base.len() + ADDED);
            copy.extend_from_slice(self.base.fields());
            copy
        });
        match place {
            Ok(at) => fields[at].1 = value,
            Err(at) => fields.insert(at, (name.clone(), value)),
        }
    }

    /// Removes a field.
    pub fn remove(&mut self, name: &str) {
        if let Ok(at) = self.position(name) {
            self.changed.get_or_insert_with(|| self.base.fields().to_vec()).remove(at);
        }
    }

    /// Whether something changed.
    pub fn is_changed(&self) -> bool {
        self.changed.is_some()
    }

    /// Returns the changed object; `None` if nothing changed.
    pub fn finish(self) -> Option<Object> {
        self.changed.map(Object::from_sorted)
    }
}

/// One pass over the fields of an object that keeps, replaces, drops and inserts.
pub struct Rebuild<'o> {
    source: &'o [(Text, Value)],
    at: usize,
    out: Option<Vec<(Text, Value)>>,
}

impl<'o> Rebuild<'o> {
    /// Starts a pass over fields.
    pub fn new(source: &'o [(Text, Value)]) -> Rebuild<'o> {
        Rebuild { source, at: 0, out: None }
    }

    /// Returns the index of the next field.
    pub fn place(&self) -> usize {
        self.at
    }

    /// Returns the next field.
    pub fn next(&self) -> Option<&'o (Text, Value)> {
        self.source.get(self.at)
    }

    fn out(&mut self) -> &mut Vec<(Text, Value)> {
        self.out.get_or_insert_with(|| {
            let mut copy = Vec::with_capacity(self.source.len() + ADDED);
            copy.extend_from_slice(&self.source[..self.at]);
            copy
        })
    }

    /// Keeps the next field.
    pub fn keep(&mut self) {
        let at = self.at;
        if let Some(out) = &mut self.out {
            out.push(self.source[at].clone());
        }
        self.at += 1;
    }

    /// Keeps all fields before an index.
    pub fn keep_to(&mut self, place: usize) {
        let kept = &self.source[self.at..place];
        if let Some(out) = &mut self.out {
            out.extend_from_slice(kept);
        }
        self.at = place;
    }

    /// Replaces the value of the next field.
    pub fn replace(&mut self, value: Value) {
        let name = self.source[self.at].0.clone();
        self.out().push((name, value));
        self.at += 1;
    }

    /// Replaces the value of the next field if there is a new one, otherwise keeps it.
    pub fn replace_if(&mut self, value: Option<Value>) {
        match value {
            Some(value) => self.replace(value),
            None => self.keep(),
        }
    }

    /// Drops the next field.
    pub fn skip(&mut self) {
        self.out();
        self.at += 1;
    }

    /// Inserts a field before the next one.
    pub fn insert(&mut self, name: &Text, value: Value) {
        self.out().push((name.clone(), value));
    }

    /// Returns the new object; `None` if nothing changed.
    pub fn finish(mut self) -> Option<Object> {
        self.keep_to(self.source.len());
        self.out.map(Object::from_sorted)
    }
}

/// Maps the items of a list; `None` if none changes.
pub fn map_items(items: &[Value], mut change: impl FnMut(usize, &Value) -> Option<Value>) -> Option<Value> {
    let mut out: Option<Vec<Value>> = None;
    for (at, item) in items.iter().enumerate() {
        match (change(at, item), &mut out) {
            (Some(new), Some(out)) => out.push(new),
            (Some(new), None) => {
                let mut copy = Vec::with_capacity(items.len());
                copy.extend_from_slice(&items[..at]);
                copy.push(new);
                out = Some(copy);
            }
            (None, Some(out)) => out.push(item.clone()),
            (None, None) => {}
        }
    }
    out.map(|items| Value::Array(items.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        let value: Value = text.parse().unwrap();
        value.as_object().unwrap().clone()
    }

    #[test]
    fn an_edit_only_changes_the_edited_fields() {
        let base = object(r#"{"a":1,"c":3}"#);
        let mut edit = Edit::new(&base);
        edit.remove("absent");
        assert!(edit.finish().is_none());
        let mut edit = Edit::new(&base);
        edit.set(&"b".into(), 2.into());
        edit.remove("c");
        assert_eq!(edit.get("b"), Some(&2.into()));
        assert_eq!(edit.finish(), Some(object(r#"{"a":1,"b":2}"#)));
    }

    #[test]
    fn a_rebuild_keeps_the_order() {
        let base = object(r#"{"a":1,"c":3,"d":4}"#);
        let mut walk = Rebuild::new(base.fields());
        walk.keep();
        walk.insert(&"b".into(), 2.into());
        walk.skip();
        walk.replace(5.into());
        assert_eq!(walk.finish(), Some(object(r#"{"a":1,"b":2,"d":5}"#)));
    }

    #[test]
    fn skipped_fields_are_kept() {
        let base = object(r#"{"a":1,"b":2,"c":3,"d":4}"#);
        let mut walk = Rebuild::new(base.fields());
        walk.keep_to(1);
        assert!(Rebuild::new(base.fields()).finish().is_none());
        walk.replace(5.into());
        walk.keep_to(3);
        walk.skip();
        assert_eq!(walk.finish(), Some(object(r#"{"a":1,"b":5,"c":3}"#)));
    }
}
