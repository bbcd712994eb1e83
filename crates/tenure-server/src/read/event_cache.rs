//! Events that several watchers receive, decoded once and encoded once per format. Only the newest are kept: most watchers are at
//! the end of the history, and those that are behind encode their own.

use crate::read::{
    Reader,
    encode_cache::{EncodedForm, Placement},
    frame::{Event, around, object_frame},
};
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::Arc;
use tenure_catalog::{Cache, ResourceHandler, object::Stored};
use tenure_http::{Format, View};
use tenure_meta::ApiError;
use tenure_store::{Entry, KeyChange, Revision};
use tokio::sync::OnceCell;

/// The most bytes of all events together: enough that watchers who are a second or two behind still share them.
const CAPACITY: usize = 6 * 1024 * 1024;
/// The weight of an event besides the values of its entries.
const OVERHEAD: usize = 512;

/// The newest events.
pub(super) struct EventCache(Cache<EventKey, Arc<SharedEvent>>);

/// An event of one resource.
#[derive(Clone, PartialEq, Eq, Hash)]
struct EventKey {
    revision: Revision,
    /// The key of what changed.
    key: Bytes,
    /// The rules by which it is read.
    generation: u64,
    /// The address of the resource.
    resource: usize,
}

/// One change, shared by all watchers of one version of its resource.
pub(super) struct SharedEvent {
    pub revision: Revision,
    pub change: KeyChange,
    handler: ResourceHandler,
    previous: OnceCell<Option<Stored>>,
    current: OnceCell<Option<Stored>>,
    frames: Mutex<Vec<(Format, Event, Bytes)>>,
}

impl Default for EventCache {
    fn default() -> EventCache {
        EventCache(Cache::new(CAPACITY, |event| event.weight()))
    }
}

impl EventCache {
    /// Returns the event of a change, shared with the watchers that have received it.
    pub fn event(
        &self,
        handler: &ResourceHandler,
        revision: Revision,
        change: &KeyChange,
    ) -> Arc<SharedEvent> {
        // The event keeps the resource alive, so that no other resource has its address.
        let resource = Arc::as_ptr(&handler.resource) as usize;
        let key = EventKey { revision, key: change.key.clone(), generation: handler.generation(), resource };
        if let Some(event) = self.0.get(&key) {
            return event;
        }
        let event = Arc::new(SharedEvent {
            revision,
            change: change.clone(),
            handler: handler.clone(),
            previous: OnceCell::new(),
            current: OnceCell::new(),
            frames: Mutex::default(),
        });
        // Of two concurrent watchers the first one's event is kept.
        let mut shared = event.clone();
        self.0.update(&key, |known| match known {
            Some(known) => {
                shared = known.clone();
                None
            }
            None => Some(event),
        });
        shared
    }

    pub fn drop_unread(&self) {
        self.0.drop_unread();
    }
}

impl SharedEvent {
    fn weight(&self) -> usize {
        let size = |entry: &Option<Entry>| entry.as_ref().map_or(0, |entry| entry.value.len());
        OVERHEAD + size(&self.change.previous) + size(&self.change.current)
    }

    /// Returns the object before the change; `None` if it did not exist.
    pub async fn previous(&self, reader: &Reader) -> Result<Option<&Stored>, ApiError> {
        self.read(reader, &self.previous, self.change.previous.as_ref()).await
    }

    /// Returns the object after the change; `None` if it was deleted.
    pub async fn current(&self, reader: &Reader) -> Result<Option<&Stored>, ApiError> {
        self.read(reader, &self.current, self.change.current.as_ref()).await
    }

    async fn read<'a>(
        &self,
        reader: &Reader,
        kept: &'a OnceCell<Option<Stored>>,
        entry: Option<&Entry>,
    ) -> Result<Option<&'a Stored>, ApiError> {
        if let Some(stored) = kept.get() {
            return Ok(stored.as_ref());
        }
        let read = async || match entry {
            Some(entry) => reader
                .objects
                .convert_one_from_storage(&self.handler, reader.objects.decode(entry)?)
                .await
                .map(Some),
            None => Ok(None),
        };
        // Boxed, like all shared work, to keep the future of a watch small.
        Box::pin(kept.get_or_try_init(read)).await.map(Option::as_ref)
    }

    /// Returns the frame of this event, made on first use.
    pub async fn frame(&self, reader: &Reader, format: Format, event: Event) -> Result<Bytes, ApiError> {
        // Two watchers at once may both make it; neither waits for the other.
        let known = |frames: &[(Format, Event, Bytes)]| {
            frames
                .iter()
                .find(|cached| (cached.0, cached.1) == (format, event))
                .map(|(_, _, frame)| frame.clone())
        };
        if let Some(frame) = known(&self.frames.lock()) {
            return Ok(frame);
        }
        let frame = Box::pin(self.make_frame(reader, format, event)).await?;
        self.frames.lock().push((format, event, frame.clone()));
        Ok(frame)
    }

    async fn make_frame(&self, reader: &Reader, format: Format, event: Event) -> Result<Bytes, ApiError> {
        let gone = || ApiError::internal("a change without an object");
        match (&self.change.current, event) {
            (Some(entry), Event::Added | Event::Modified) if !self.handler.has_conversion_webhook() => {
                entry_frame(reader, &self.handler, entry, format, event).await
            }
            (Some(_), Event::Added | Event::Modified) => {
                let is = self.current(reader).await?.ok_or_else(gone)?;
                Ok(object_frame(is, is.revision, format, event))
            }
            // The last state, with the revision of the deletion.
            _ => {
                let was = self.previous(reader).await?.ok_or_else(gone)?;
                Ok(object_frame(was, self.revision, format, event))
            }
        }
    }
}

/// Returns the frame of an entry.
async fn entry_frame(
    reader: &Reader,
    handler: &ResourceHandler,
    entry: &Entry,
    format: Format,
    event: Event,
) -> Result<Bytes, ApiError> {
    let encoded = reader.encoded(handler, entry, &form(handler, format)?).await?;
    Ok(around(event, &encoded.bytes, format.encoding))
}

/// Returns the form of objects in a watch.
fn form(handler: &ResourceHandler, format: Format) -> Result<EncodedForm, ApiError> {
    let view = if format.view == View::Whole { View::Whole } else { View::PartialObjectMetadata };
    EncodedForm::of(handler, Format { view, ..format }, Placement::Alone)
        .ok_or_else(|| ApiError::internal("a watch in a format that has no frames"))
}
