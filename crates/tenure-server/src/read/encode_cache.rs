//! Objects as clients read them, encoded once per revision and format: reads, lists and watches share the bytes. A cached form
//! belongs to a key and a revision, so that it can be missing but never out of date: only the store knows what is current.

use crate::read::{
    Reader,
    frame::{Event, around},
};
use bytes::Bytes;
use tenure_apply::ManagedFieldsForm;
use tenure_catalog::{
    Cache, Objects, ResourceHandler, Spliced, TypeMeta,
    object::{Stored, partial, shown_as},
    splice,
};
use tenure_codec::protobuf::ShownManagers;
use tenure_fields::fields_v1;
use tenure_http::{Encoding, Format, View};
use tenure_meta::ApiError;
use tenure_store::{Entry, Revision};
use tenure_value::{Text, Value, json};

/// The most bytes of all encoded objects together.
const CAPACITY: usize = 32 * 1024 * 1024;
/// A larger collection, as it is stored, is encoded while it is sent.
const STREAM_FROM: usize = 16 * 1024 * 1024;
/// The weight of an object besides its bytes.
const OVERHEAD: usize = 320;

/// Where an encoded object is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Alone, as a response or in an event.
    Alone,
    /// As an item of a list.
    InList,
    /// As an event of type `ADDED`, complete with its frame.
    Added,
}

/// What the encodings of one state of an object differ in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EncodedForm {
    /// The generation of the strategy: a definition that changes reads its objects differently.
    generation: u64,
    api_version: Text,
    format: Format,
    standing: Placement,
}

impl EncodedForm {
    /// Returns the form of objects in a format; `None` if it depends on more than the object, as a table does.
    pub fn of(handler: &ResourceHandler, format: Format, standing: Placement) -> Option<EncodedForm> {
        let view = match (format.view, standing) {
            (View::Whole, _) => View::Whole,
            (View::PartialObjectMetadata, Placement::Alone | Placement::Added)
            | (View::PartialObjectMetadataList, Placement::InList) => View::PartialObjectMetadata,
            _ => return None,
        };
        if format.encoding == Encoding::Yaml {
            return None;
        }
        let api_version = handler.resource.api_version.clone();
        Some(EncodedForm {
            generation: handler.generation(),
            api_version,
            format: Format { view, ..format },
            standing,
        })
    }

    /// Returns the form of the events of a watch that starts with all objects.
    pub fn added(handler: &ResourceHandler, format: Format) -> Option<EncodedForm> {
        let view = match format.view {
            View::Whole => View::Whole,
            View::Table => return None,
            _ => View::PartialObjectMetadata,
        };
        EncodedForm::of(handler, Format { view, ..format }, Placement::Added)
    }

    /// Returns what is between two encoded objects.
    pub fn separator(&self) -> &'static [u8] {
        match (self.format.encoding, self.standing) {
            (Encoding::Json, Placement::InList) => b",",
            _ => b"",
        }
    }

    /// Returns the bytes, as they are stored, of the largest collection that is kept encoded.
    pub fn most_kept(&self) -> usize {
        match (self.format.encoding, self.standing) {
            // Its length is needed before it is sent.
            (Encoding::Protobuf, Placement::InList) => 4 * STREAM_FROM,
            _ => STREAM_FROM,
        }
    }

    /// Encodes the object of an entry. For handlers without a conversion webhook.
    pub fn encode_entry(
        &self,
        objects: &Objects,
        handler: &ResourceHandler,
        entry: &Entry,
    ) -> Result<EncodedObject, ApiError> {
        if let Some(Spliced { text, labels }) = self.splice(handler, entry) {
            let bytes = match self.standing {
                Placement::Added => around(Event::Added, &text, self.format.encoding),
                _ => text.into_boxed_slice().into(),
            };
            return Ok(EncodedObject { labels, bytes });
        }
        self.encode(handler, &objects.read_stored(handler, entry)?)
    }

    /// Returns the JSON of an object of a kind that is stored as it is served, without reading it as a document.
    fn splice(&self, handler: &ResourceHandler, entry: &Entry) -> Option<Spliced> {
        let is_text = (self.format.encoding, self.format.view) == (Encoding::Json, View::Whole);
        if !is_text || handler.is_custom() || !handler.strategy().stores_as_served() {
            return None;
        }
        let type_meta = if self.standing == Placement::InList { TypeMeta::Omitted } else { TypeMeta::Kept };
        let is_shown = |text: &[u8]| handler.strategy().is_read_as_stored(text);
        splice(entry, self.format.managed_fields, type_meta, is_shown)
    }

    /// Encodes an object.
    pub fn encode(&self, handler: &ResourceHandler, stored: &Stored) -> Result<EncodedObject, ApiError> {
        if self.standing == Placement::Added {
            let alone = EncodedForm { standing: Placement::Alone, ..self.clone() };
            let EncodedObject { labels, bytes } = alone.encode(handler, stored)?;
            let bytes = around(Event::Added, &bytes, self.format.encoding);
            return Ok(EncodedObject { labels, bytes });
        }
        let labels = stored.object.at(["metadata", "labels"]).cloned().unwrap_or_default();
        if (self.format.encoding, self.format.view) == (Encoding::Json, View::Whole) {
            let object = match self.standing {
                Placement::Alone | Placement::Added => stored.object.clone(),
                Placement::InList => handler.list_item(stored.object.clone()),
            };
            let form = self.format.managed_fields;
            let text = Stored { object, ..stored.clone() }.to_json(form, fields_v1::write);
            return Ok(EncodedObject { labels, bytes: text.into_boxed_slice().into() });
        }
        let form = self.format.managed_fields;
        // Protobuf writes the managers without a document of them.
        let in_tree = match self.format.encoding {
            Encoding::Protobuf => ManagedFieldsForm::Omitted,
            _ => form,
        };
        let object = shown_as(&stored.object, &stored.managers, in_tree, stored.revision);
        let managers = Some(ShownManagers { managers: &stored.managers, form });
        let object = match self.format.view {
            View::Whole => object,
            _ => partial(&object, self.format.meta_version),
        };
        let bytes = match (self.format.encoding, self.standing) {
            // A copy without spare capacity, since it is kept.
            (Encoding::Protobuf, Placement::Alone | Placement::Added) => {
                tenure_codec::protobuf::encode_with_managers(&object, managers)
                    .map(|bytes| Bytes::copy_from_slice(&bytes))
            }
            (Encoding::Protobuf, Placement::InList) => {
                tenure_codec::protobuf::item_with_managers(&object, managers)
                    .map(|bytes| Bytes::copy_from_slice(&bytes))
            }
            (Encoding::Cbor, Placement::Alone | Placement::Added) => {
                Ok(tenure_codec::cbor::encode(&object).into_boxed_slice().into())
            }
            (Encoding::Cbor, Placement::InList) => {
                let object = match self.format.view {
                    View::Whole => handler.list_item(object),
                    _ => object,
                };
                let resource = &handler.resource;
                let bytes = tenure_codec::cbor::item(&object, &resource.api_version, &resource.kind);
                Ok(bytes.into_boxed_slice().into())
            }
            _ => Ok(json::to_vec(&object).into_boxed_slice().into()),
        };
        let bytes = bytes.map_err(|error| ApiError::internal(error.to_string()))?;
        Ok(EncodedObject { labels, bytes })
    }
}

/// An encoded object, with what label selectors look at.
#[derive(Clone, Debug)]
pub struct EncodedObject {
    /// Its labels.
    pub labels: Value,
    /// The bytes that a client gets.
    pub bytes: Bytes,
}

/// Encoded objects by their keys; of each object the newest known state.
pub(super) struct EncodeCache(Cache<Bytes, Forms>);

/// One state of an object in the forms that were asked for.
struct Forms {
    revision: Revision,
    labels: Value,
    encoded: Vec<(EncodedForm, EncodedObject)>,
}

impl Default for EncodeCache {
    fn default() -> EncodeCache {
        EncodeCache(Cache::new(CAPACITY, |forms: &Forms| {
            OVERHEAD + forms.encoded.iter().map(|(_, encoded)| encoded.bytes.len()).sum::<usize>()
        }))
    }
}

impl EncodeCache {
    /// Returns an object at a revision, if it has been encoded in this form.
    pub fn get(&self, key: &Bytes, revision: Revision, form: &EncodedForm) -> Option<EncodedObject> {
        self.0.look(key, |forms| {
            let mut encoded = forms.encoded.iter().filter(|_| forms.revision == revision);
            encoded.find(|(key, _)| key == form).map(|(_, encoded)| encoded.clone())
        })
    }

    /// Returns the labels that an object has at a revision, if they are known.
    pub fn labels(&self, key: &Bytes, revision: Revision) -> Option<Value> {
        self.0.look(key, |forms| (forms.revision == revision).then(|| forms.labels.clone()))
    }

    /// Keeps the labels of an object that a selector rejected, if there is room, so that the next one need not decode it.
    pub fn put_labels(&self, key: &Bytes, revision: Revision, labels: Value) {
        let forms = Forms { revision, labels, encoded: Vec::new() };
        self.0.insert_if_room(key, forms, |known| known.revision < revision);
    }

    /// Keeps an encoded object, unless a newer state of it is known.
    pub fn put(&self, key: &Bytes, revision: Revision, form: EncodedForm, object: EncodedObject) {
        self.0.update(key, |known| {
            let labels = object.labels.clone();
            let Some(forms) = known else {
                return Some(Forms { revision, labels, encoded: vec![(form, object)] });
            };
            if revision > forms.revision {
                *forms = Forms { revision, labels, encoded: Vec::new() };
            }
            if revision == forms.revision {
                // Forms of a former definition are of no use any more.
                forms.encoded.retain(|(key, _)| *key != form && key.generation >= form.generation);
                forms.encoded.push((form, object));
            }
            None
        });
    }

    pub fn drop_unread(&self) {
        self.0.drop_unread();
    }
}

impl Reader {
    /// Returns the object of an entry in a form, encoded on first use. What a conversion webhook returns is not kept, since
    /// it may return something else the next time.
    pub(super) async fn encoded(
        &self,
        handler: &ResourceHandler,
        entry: &Entry,
        form: &EncodedForm,
    ) -> Result<EncodedObject, ApiError> {
        let is_kept = !handler.has_conversion_webhook();
        match self.encode_cache.get(&entry.key, entry.modified, form).filter(|_| is_kept) {
            Some(encoded) => Ok(encoded),
            // Boxed, so that the future of a read of what is known is small.
            None => Box::pin(self.encode_anew(handler, entry, form)).await,
        }
    }

    /// Encodes the object of an entry.
    async fn encode_anew(
        &self,
        handler: &ResourceHandler,
        entry: &Entry,
        form: &EncodedForm,
    ) -> Result<EncodedObject, ApiError> {
        if handler.has_conversion_webhook() {
            let stored = self.objects.convert_one_from_storage(handler, self.objects.decode(entry)?).await?;
            return form.encode(handler, &stored);
        }
        let encode = async { form.encode_entry(&self.objects, handler, entry) };
        let encoded = self.limits.offload.run_for(entry.value.len(), encode).await?;
        self.encode_cache.put(&entry.key, entry.modified, form.clone(), encoded.clone());
        Ok(encoded)
    }

    /// Returns the live object under a key in a form, encoded on first use.
    pub fn encoded_live(
        &self,
        handler: &ResourceHandler,
        key: &Bytes,
        live: &Stored,
        form: &EncodedForm,
    ) -> Result<EncodedObject, ApiError> {
        let keep = !handler.has_conversion_webhook();
        match self.encode_cache.get(key, live.revision, form).filter(|_| keep) {
            Some(encoded) => Ok(encoded),
            None => self.encode(handler, key, live, form),
        }
    }

    /// Encodes an object and keeps it, unless it comes from a conversion webhook.
    fn encode(
        &self,
        handler: &ResourceHandler,
        key: &Bytes,
        stored: &Stored,
        form: &EncodedForm,
    ) -> Result<EncodedObject, ApiError> {
        let encoded = form.encode(handler, stored)?;
        if !handler.has_conversion_webhook() {
            self.encode_cache.put(key, stored.revision, form.clone(), encoded.clone());
        }
        Ok(encoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_http::PLAIN;

    fn form(generation: u64, standing: Placement) -> EncodedForm {
        EncodedForm { generation, api_version: "v1".into(), format: PLAIN, standing }
    }

    fn encoded(size: usize) -> EncodedObject {
        EncodedObject { labels: Value::Null, bytes: vec![b'x'; size].into() }
    }

    fn key(at: usize) -> Bytes {
        format!("objects/core/pods/default/{at}").into()
    }

    fn revision(number: u64) -> Revision {
        Revision::from_number(number)
    }

    #[test]
    fn an_encoded_object_is_found_at_its_revision_only() {
        let (cache, form) = (EncodeCache::default(), form(0, Placement::Alone));
        cache.put(&key(1), revision(5), form.clone(), encoded(10));
        assert!(cache.get(&key(1), revision(5), &form).is_some());
        assert!(cache.get(&key(1), revision(6), &form).is_none());
        cache.put(&key(1), revision(6), form.clone(), encoded(11));
        assert!(cache.get(&key(1), revision(5), &form).is_none());
        // A reader of an older state does not replace the newer one.
        cache.put(&key(1), revision(5), form.clone(), encoded(10));
        assert_eq!(cache.get(&key(1), revision(6), &form).unwrap().bytes.len(), 11);
        assert_eq!(cache.0.size(), (1, OVERHEAD + 11));
    }

    #[test]
    fn a_changed_definition_replaces_encoded_objects() {
        let cache = EncodeCache::default();
        cache.put(&key(1), revision(5), form(1, Placement::Alone), encoded(10));
        cache.put(&key(1), revision(5), form(1, Placement::InList), encoded(10));
        assert_eq!(cache.0.size(), (1, OVERHEAD + 20));
        cache.put(&key(1), revision(5), form(2, Placement::Alone), encoded(10));
        assert_eq!(cache.0.size(), (1, OVERHEAD + 10));
        assert!(cache.get(&key(1), revision(5), &form(1, Placement::InList)).is_none());
    }

    #[test]
    fn labels_are_known_at_their_revision_and_evict_nothing() {
        let (cache, form) = (EncodeCache::default(), form(0, Placement::Alone));
        let labels = |text: &str| text.parse::<Value>().unwrap();
        cache.put_labels(&key(1), revision(5), labels(r#"{"a":"1"}"#));
        assert_eq!(cache.labels(&key(1), revision(5)), Some(labels(r#"{"a":"1"}"#)));
        assert_eq!(cache.labels(&key(1), revision(6)), None);
        cache.put_labels(&key(1), revision(6), labels(r#"{"a":"2"}"#));
        cache.put_labels(&key(1), revision(5), labels(r#"{"a":"1"}"#));
        assert_eq!(cache.labels(&key(1), revision(6)), Some(labels(r#"{"a":"2"}"#)));
        assert_eq!(cache.0.size(), (1, OVERHEAD));
        cache.put(&key(1), revision(7), form.clone(), encoded(10));
        assert_eq!(cache.labels(&key(1), revision(7)), Some(Value::Null));
        cache.put(&key(2), revision(1), form, encoded(CAPACITY / 4 * 3));
        cache.put_labels(&key(3), revision(1), Value::Null);
        assert_eq!(cache.labels(&key(3), revision(1)), None);
    }
}
