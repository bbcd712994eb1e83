//! Objects as clients read them, encoded once per revision and format: reads, lists and watches share the bytes. A form
//! belongs to a key *and* a revision, so that nothing kept here can be out of date: what is current, only the store
//! says. What nobody has read for longest goes first when there is no room.

use crate::{
    Encoding, Failure, Format, View,
    catalog::handler::Served,
    object::{ShowManagers, Stored, shown},
    protobuf,
    read::view::partial,
    server::Server,
};
use bytes::Bytes;
use std::{
    collections::{HashMap, VecDeque, hash_map::Entry as Place},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tenure_fields::fields_v1;
use tenure_store::{Entry, Revision};
use tenure_value::{Text, Value, json};

/// How many bytes are kept.
const BUDGET: usize = 32 * 1024 * 1024;
/// How many bytes may be kept for labels to be added of objects that nobody has asked for: they take no other's place.
const BUDGET_WITH_ROOM: usize = BUDGET / 4 * 3;
/// What keeping an object costs besides its bytes.
const OVERHEAD: usize = 320;

/// Where an object stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// For itself, as an answer or in an event.
    Alone,
    /// Among the items of a list.
    InList,
}

/// What encodings of one state of an object differ by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// The rules by which the object is read: those of a definition change with it.
    rules: u64,
    api_version: Text,
    format: Format,
    standing: Standing,
}

impl Form {
    /// Returns the form of objects in a format; none if it depends on more than the object, as a table does.
    pub fn of(served: &Served, format: Format, standing: Standing) -> Option<Form> {
        let view = match (format.view, standing) {
            (View::Whole, _) => View::Whole,
            (View::PartialObjectMetadata, Standing::Alone)
            | (View::PartialObjectMetadataList, Standing::InList) => View::PartialObjectMetadata,
            _ => return None,
        };
        if format.encoding == Encoding::Yaml {
            return None;
        }
        let api_version = served.resource.api_version.clone();
        Some(Form { rules: served.rules(), api_version, format: Format { view, ..format }, standing })
    }

    /// Returns the form of objects in lists for a client that asked for nothing in particular.
    #[cfg(test)]
    pub fn example() -> Form {
        Form { rules: 0, api_version: "v1".into(), format: crate::PLAIN, standing: Standing::InList }
    }

    /// Encodes an object.
    pub fn print(&self, served: &Served, stored: &Stored) -> Result<EncodedObject, Failure> {
        let labels = stored.object.at(["metadata", "labels"]).cloned().unwrap_or_default();
        if (self.format.encoding, self.format.view) == (Encoding::Json, View::Whole) {
            let object = match self.standing {
                Standing::Alone => stored.object.clone(),
                Standing::InList => served.as_item(stored.object.clone()),
            };
            let managers = if self.format.without_managers { ShowManagers::No } else { ShowManagers::Yes };
            let text = Stored { object, ..stored.clone() }.to_json(managers, fields_v1::write);
            return Ok(EncodedObject { labels, bytes: text.into_boxed_slice().into() });
        }
        let managers = (!self.format.without_managers).then_some(&stored.managers);
        let in_tree = managers.filter(|_| self.format.encoding != Encoding::Protobuf);
        let object = shown(&stored.object, in_tree, Some(stored.revision));
        let object = if self.format.view == View::Whole { object } else { partial(&object) };
        let bytes = match (self.format.encoding, self.standing) {
            // What is kept has no room to grow.
            (Encoding::Protobuf, Standing::Alone) => {
                protobuf::encode_held(&object, managers).map(|bytes| Bytes::copy_from_slice(&bytes))
            }
            (Encoding::Protobuf, Standing::InList) => {
                protobuf::item_held(&object, managers).map(|bytes| Bytes::copy_from_slice(&bytes))
            }
            _ => Ok(json::to_vec(&object).into_boxed_slice().into()),
        };
        let bytes = bytes.map_err(|error| Failure::internal(error.to_string()))?;
        Ok(EncodedObject { labels, bytes })
    }
}

/// An encoded object, with what label selectors look at.
#[derive(Clone, Debug)]
pub(crate) struct EncodedObject {
    pub labels: Value,
    pub bytes: Bytes,
}

/// The encoded objects that are kept.
#[derive(Default)]
pub(crate) struct EncodeCache(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    slots: HashMap<Bytes, Slot>,
    /// The keys of the slots; the first is the next to go unless it has been read since it was last first.
    order: VecDeque<Bytes>,
    bytes: usize,
}

struct Slot {
    revision: Revision,
    read: bool,
    labels: Value,
    printed: Vec<(Form, EncodedObject)>,
}

impl Slot {
    fn weight(&self) -> usize {
        OVERHEAD + self.printed.iter().map(|(_, printed)| printed.bytes.len()).sum::<usize>()
    }
}

impl EncodeCache {
    /// Returns an object as it was at a revision, if it has been encoded in this form.
    pub fn get(&self, key: &Bytes, revision: Revision, form: &Form) -> Option<EncodedObject> {
        let mut kept = self.kept();
        let slot = kept.slots.get_mut(key).filter(|slot| slot.revision == revision)?;
        slot.read = true;
        slot.printed.iter().find(|(of, _)| of == form).map(|(_, printed)| printed.clone())
    }

    /// Returns the labels that an object has at a revision, if they are known.
    pub fn labels(&self, key: &Bytes, revision: Revision) -> Option<Value> {
        let mut kept = self.kept();
        let slot = kept.slots.get_mut(key).filter(|slot| slot.revision == revision)?;
        slot.read = true;
        Some(slot.labels.clone())
    }

    /// Keeps the labels of an object that a selector has passed over, if there is room, so that the next one need not
    /// decode it.
    pub fn put_labels(&self, key: &Bytes, revision: Revision, labels: Value) {
        let mut kept = self.kept();
        if kept.bytes > BUDGET_WITH_ROOM || kept.slots.get(key).is_some_and(|slot| slot.revision >= revision)
        {
            return;
        }
        let slot = Slot { revision, read: false, labels, printed: Vec::new() };
        kept.bytes += slot.weight();
        match kept.slots.insert(key.clone(), slot) {
            Some(old) => kept.bytes -= old.weight(),
            None => kept.order.push_back(key.clone()),
        }
    }

    /// Keeps an encoded object. Of each object only its newest known state is kept.
    pub fn put(&self, key: &Bytes, revision: Revision, form: Form, printed: EncodedObject) {
        let mut kept = self.kept();
        let kept = &mut *kept;
        let slot = match kept.slots.entry(key.clone()) {
            Place::Occupied(slot) => slot.into_mut(),
            Place::Vacant(place) => {
                kept.order.push_back(key.clone());
                kept.bytes += OVERHEAD;
                let labels = printed.labels.clone();
                place.insert(Slot { revision, read: false, labels, printed: Vec::new() })
            }
        };
        if revision < slot.revision {
            return;
        }
        kept.bytes -= slot.weight();
        if revision > slot.revision {
            (slot.revision, slot.printed) = (revision, Vec::new());
            slot.labels = printed.labels.clone();
        }
        // EncodeCache by rules that are over are of no use to anybody.
        slot.printed.retain(|(of, _)| *of != form && of.rules >= form.rules);
        slot.printed.push((form, printed));
        kept.bytes += slot.weight();
        while kept.bytes > BUDGET && kept.forget_one() {}
    }

    /// Forgets what has not been read since the last time: a server at rest keeps nothing.
    pub fn rest(&self) {
        let mut kept = self.kept();
        let kept = &mut *kept;
        kept.slots.retain(|_, slot| std::mem::replace(&mut slot.read, false));
        kept.order.retain(|key| kept.slots.contains_key(key));
        kept.bytes = kept.slots.values().map(Slot::weight).sum();
        kept.slots.shrink_to_fit();
        kept.order.shrink_to_fit();
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Forgets the first that nobody has read; tells whether there was any.
    fn forget_one(&mut self) -> bool {
        while let Some(key) = self.order.pop_front() {
            match self.slots.entry(key) {
                Place::Occupied(mut slot) if slot.get().read => {
                    slot.get_mut().read = false;
                    self.order.push_back(slot.key().clone());
                }
                Place::Occupied(slot) => {
                    self.bytes -= slot.remove().weight();
                    return true;
                }
                Place::Vacant(_) => {}
            }
        }
        false
    }
}

impl Server {
    /// Returns an entry's object in a form, encoded by whoever needed it first. What a webhook makes of an object is
    /// not kept: nobody says when it would make something else of it.
    pub(crate) async fn printed(
        &self,
        served: &Served,
        entry: &Entry,
        form: &Form,
    ) -> Result<EncodedObject, Failure> {
        let keep = !served.asks();
        if keep && let Some(printed) = self.encode_cache.get(&entry.key, entry.modified, form) {
            return Ok(printed);
        }
        let stored = self.for_reading_one(served, self.decoded(entry)?).await?;
        self.print(served, &entry.key, &stored, form)
    }

    /// Returns the live object under a key in a form, encoded by whoever needed it first.
    pub(crate) fn printed_live(
        &self,
        served: &Served,
        key: &Bytes,
        live: &Stored,
        form: &Form,
    ) -> Result<EncodedObject, Failure> {
        let keep = !served.asks();
        match self.encode_cache.get(key, live.revision, form).filter(|_| keep) {
            Some(printed) => Ok(printed),
            None => self.print(served, key, live, form),
        }
    }

    /// Encodes an object, and keeps what does not come from a webhook.
    fn print(
        &self,
        served: &Served,
        key: &Bytes,
        stored: &Stored,
        form: &Form,
    ) -> Result<EncodedObject, Failure> {
        let printed = form.print(served, stored)?;
        if !served.asks() {
            self.encode_cache.put(key, stored.revision, form.clone(), printed.clone());
        }
        Ok(printed)
    }

    /// Decodes an entry that may have been decoded lately.
    pub(crate) fn decoded(&self, entry: &Entry) -> Result<Stored, Failure> {
        let recent =
            std::str::from_utf8(&entry.key).ok().and_then(|key| self.decode_cache.get(key, entry.modified));
        recent.map_or_else(|| Stored::read(entry), Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PLAIN;

    fn form(rules: u64, standing: Standing) -> Form {
        Form { rules, api_version: "v1".into(), format: PLAIN, standing }
    }

    fn printed(size: usize) -> EncodedObject {
        EncodedObject { labels: Value::Null, bytes: vec![b'x'; size].into() }
    }

    fn key(at: usize) -> Bytes {
        format!("objects/core/pods/default/{at}").into()
    }

    fn revision(number: u64) -> Revision {
        Revision::from_number(number)
    }

    #[test]
    fn a_form_is_found_at_its_revision_only() {
        let (forms, form) = (EncodeCache::default(), form(0, Standing::Alone));
        forms.put(&key(1), revision(5), form.clone(), printed(10));
        assert!(forms.get(&key(1), revision(5), &form).is_some());
        assert!(forms.get(&key(1), revision(6), &form).is_none());
        forms.put(&key(1), revision(6), form.clone(), printed(11));
        assert!(forms.get(&key(1), revision(5), &form).is_none());
        // Somebody who read an older state does not take the place of the newer one.
        forms.put(&key(1), revision(5), form.clone(), printed(10));
        assert_eq!(forms.get(&key(1), revision(6), &form).unwrap().bytes.len(), 11);
        assert_eq!(forms.kept().bytes, OVERHEAD + 11);
    }

    #[test]
    fn new_rules_take_the_place_of_old_ones() {
        let forms = EncodeCache::default();
        forms.put(&key(1), revision(5), form(1, Standing::Alone), printed(10));
        forms.put(&key(1), revision(5), form(1, Standing::InList), printed(10));
        assert_eq!(forms.kept().bytes, OVERHEAD + 20);
        forms.put(&key(1), revision(5), form(2, Standing::Alone), printed(10));
        assert_eq!(forms.kept().bytes, OVERHEAD + 10);
        assert!(forms.get(&key(1), revision(5), &form(1, Standing::InList)).is_none());
    }

    #[test]
    fn memory_is_bounded_and_what_is_read_stays() {
        let (forms, form) = (EncodeCache::default(), form(0, Standing::Alone));
        let size = 64 * 1024;
        for at in 0..2 * BUDGET / size {
            forms.put(&key(at), revision(1), form.clone(), printed(size));
            assert!(forms.get(&key(0), revision(1), &form).is_some(), "the first is read all the time");
        }
        let kept = forms.kept();
        assert!(kept.bytes <= BUDGET);
        assert_eq!(kept.slots.values().map(Slot::weight).sum::<usize>(), kept.bytes);
        assert_eq!(kept.order.len(), kept.slots.len());
    }

    #[test]
    fn labels_are_known_at_their_revision_and_take_no_others_place() {
        let (forms, form) = (EncodeCache::default(), form(0, Standing::Alone));
        let labels = |text: &str| text.parse::<Value>().unwrap();
        forms.put_labels(&key(1), revision(5), labels(r#"{"a":"1"}"#));
        assert_eq!(forms.labels(&key(1), revision(5)), Some(labels(r#"{"a":"1"}"#)));
        assert_eq!(forms.labels(&key(1), revision(6)), None);
        forms.put_labels(&key(1), revision(6), labels(r#"{"a":"2"}"#));
        forms.put_labels(&key(1), revision(5), labels(r#"{"a":"1"}"#));
        assert_eq!(forms.labels(&key(1), revision(6)), Some(labels(r#"{"a":"2"}"#)));
        assert_eq!(forms.kept().bytes, OVERHEAD);
        forms.put(&key(1), revision(7), form.clone(), printed(10));
        assert_eq!(forms.labels(&key(1), revision(7)), Some(Value::Null));
        forms.put(&key(2), revision(1), form, printed(BUDGET_WITH_ROOM));
        forms.put_labels(&key(3), revision(1), Value::Null);
        assert_eq!(forms.labels(&key(3), revision(1)), None);
        let kept = forms.kept();
        assert_eq!(kept.slots.values().map(Slot::weight).sum::<usize>(), kept.bytes);
        assert_eq!(kept.order.len(), kept.slots.len());
    }

    #[test]
    fn a_server_at_rest_keeps_nothing() {
        let (forms, form) = (EncodeCache::default(), form(0, Standing::Alone));
        for at in 0..10 {
            forms.put(&key(at), revision(1), form.clone(), printed(10));
        }
        forms.get(&key(3), revision(1), &form);
        forms.rest();
        assert!(forms.get(&key(3), revision(1), &form).is_some());
        assert_eq!(forms.kept().slots.len(), 1);
        forms.rest();
        forms.rest();
        let kept = forms.kept();
        assert!(kept.bytes == 0 && kept.order.is_empty());
    }
}
