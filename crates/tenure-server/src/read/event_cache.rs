//! Changes that several watchers see, decoded once and encoded once per format. Only the newest are kept: watchers
//! are mostly at the end of the history, and those that are behind share nothing.

use crate::{
    Encoding, Failure, Format, View,
    catalog::handler::Served,
    object::{Stored, shown},
    protobuf,
    read::{
        encode_cache::{Form, Standing},
        view::partial,
        watch::Event,
    },
    server::Server,
};
use bytes::Bytes;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};
use tenure_store::{Change, Entry, Revision};
use tenure_value::{Value, json};
use tokio::sync::OnceCell;

/// How many changes are kept: enough that watchers who are behind for a second or two still share them.
const KEPT: usize = 4096;
/// How many bytes of values the kept changes have, at most.
const KEPT_BYTES: usize = 6 * 1024 * 1024;

/// The newest changes.
#[derive(Default)]
pub(crate) struct EventCache(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    sights: HashMap<Revision, Vec<Arc<SharedEvent>>>,
    /// The revisions of all sights, in the order in which somebody saw them first.
    order: VecDeque<Revision>,
    bytes: usize,
}

/// One change as everyone sees it who watches one version of its resource.
pub(crate) struct SharedEvent {
    pub revision: Revision,
    pub change: Change,
    served: Served,
    previous: OnceCell<Option<Stored>>,
    current: OnceCell<Option<Stored>>,
    frames: Mutex<Vec<(Format, Event, Bytes)>>,
}

impl EventCache {
    /// Returns the change that a watch of the store gave, shared with whoever saw it before.
    pub fn sight(&self, served: &Served, revision: Revision, change: &Change) -> Arc<SharedEvent> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same =
            |sight: &&Arc<SharedEvent>| sight.change.key == change.key && sight.served.reads_like(served);
        if let Some(sight) = kept.sights.get(&revision).and_then(|sights| sights.iter().find(same)) {
            return sight.clone();
        }
        let sight = Arc::new(SharedEvent {
            revision,
            change: change.clone(),
            served: served.clone(),
            previous: OnceCell::new(),
            current: OnceCell::new(),
            frames: Mutex::default(),
        });
        kept.bytes += sight.weight();
        kept.order.push_back(revision);
        kept.sights.entry(revision).or_default().push(sight.clone());
        while kept.order.len() > KEPT || kept.bytes > KEPT_BYTES {
            let Some(oldest) = kept.order.pop_front() else { break };
            // All of one revision go together; what is left of the order finds nothing any more.
            let gone = kept.sights.remove(&oldest).unwrap_or_default();
            kept.bytes -= gone.iter().map(|sight| sight.weight()).sum::<usize>();
        }
        sight
    }
}

impl EventCache {
    /// Forgets all; whoever is behind makes anew what it needs.
    pub fn rest(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Kept::default();
    }
}

impl SharedEvent {
    fn weight(&self) -> usize {
        let size = |entry: &Option<Entry>| entry.as_ref().map_or(0, |entry| entry.value.len());
        size(&self.change.previous) + size(&self.change.current)
    }

    /// Returns the object before the change; nothing if there was none.
    pub async fn previous(&self, api: &Server) -> Result<Option<&Stored>, Failure> {
        self.read(api, &self.previous, self.change.previous.as_ref()).await
    }

    /// Returns the object after the change; nothing if it is gone.
    pub async fn current(&self, api: &Server) -> Result<Option<&Stored>, Failure> {
        self.read(api, &self.current, self.change.current.as_ref()).await
    }

    async fn read<'a>(
        &self,
        api: &Server,
        kept: &'a OnceCell<Option<Stored>>,
        entry: Option<&Entry>,
    ) -> Result<Option<&'a Stored>, Failure> {
        if let Some(stored) = kept.get() {
            return Ok(stored.as_ref());
        }
        let read = async || match entry {
            Some(entry) => api.for_reading_one(&self.served, api.decoded(entry)?).await.map(Some),
            None => Ok(None),
        };
        // Boxed, as is all that one watcher does for the others: each has room only for what it does itself.
        Box::pin(kept.get_or_try_init(read)).await.map(Option::as_ref)
    }

    /// Returns the frame that tells a watcher of this change, made by the first who needs it.
    pub async fn frame(&self, api: &Server, format: Format, event: Event) -> Result<Bytes, Failure> {
        // Two watchers who come at once may both make it; neither waits for the other.
        let known = |frames: &[(Format, Event, Bytes)]| {
            frames.iter().find(|of| (of.0, of.1) == (format, event)).map(|(_, _, frame)| frame.clone())
        };
        if let Some(frame) = known(&self.frames.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(frame);
        }
        let frame = Box::pin(self.make_frame(api, format, event)).await?;
        self.frames.lock().unwrap_or_else(PoisonError::into_inner).push((format, event, frame.clone()));
        Ok(frame)
    }

    async fn make_frame(&self, api: &Server, format: Format, event: Event) -> Result<Bytes, Failure> {
        let gone = || Failure::internal("a change without an object");
        match (&self.change.current, event) {
            (Some(entry), Event::Added | Event::Modified) if !self.served.asks() => {
                entry_frame(api, &self.served, entry, format, event).await
            }
            (Some(_), Event::Added | Event::Modified) => {
                let is = self.current(api).await?.ok_or_else(gone)?;
                Ok(object_frame(is, is.revision, format, event))
            }
            // What it last was, with the version of the change that took it away.
            _ => {
                let was = self.previous(api).await?.ok_or_else(gone)?;
                Ok(object_frame(was, self.revision, format, event))
            }
        }
    }
}

/// Returns the frame that tells a watcher of an entry of the store.
pub(crate) async fn entry_frame(
    api: &Server,
    served: &Served,
    entry: &Entry,
    format: Format,
    event: Event,
) -> Result<Bytes, Failure> {
    let printed = api.printed(served, entry, &form(served, format)?).await?;
    Ok(around(event, &printed.bytes, format.encoding))
}

/// Returns the frame that tells a watcher of the object under a key, which has been decoded already.
pub(crate) fn live_frame(
    api: &Server,
    served: &Served,
    key: &Bytes,
    live: &Stored,
    format: Format,
    event: Event,
) -> Result<Bytes, Failure> {
    let printed = api.printed_live(served, key, live, &form(served, format)?)?;
    Ok(around(event, &printed.bytes, format.encoding))
}

/// Returns the form in which a watch shows objects.
fn form(served: &Served, format: Format) -> Result<Form, Failure> {
    let view = if format.view == View::Whole { View::Whole } else { View::PartialObjectMetadata };
    Form::of(served, Format { view, ..format }, Standing::Alone)
        .ok_or_else(|| Failure::internal("a watch in a format that has no frames"))
}

/// Writes a frame with an object as it is shown at a revision.
pub(crate) fn object_frame(stored: &Stored, revision: Revision, format: Format, event: Event) -> Bytes {
    let managers = (!format.without_managers).then_some(&stored.managers);
    let object = shown(&stored.object, managers, Some(revision));
    let object = if format.view == View::Whole { object } else { partial(&object) };
    frame(event, &object, format.encoding)
}

/// Writes a frame with a document.
pub(crate) fn frame(event: Event, object: &Value, encoding: Encoding) -> Bytes {
    match encoding {
        Encoding::Protobuf => protobuf::event(event.word(), object).unwrap_or_else(|error| {
            let failure = Failure::internal(error.to_string());
            protobuf::event(Event::Error.word(), &failure.status()).unwrap_or_default()
        }),
        _ => around(event, &json::to_vec(object), encoding),
    }
}

/// Writes a frame around a document that is encoded already.
fn around(event: Event, document: &[u8], encoding: Encoding) -> Bytes {
    if encoding == Encoding::Protobuf {
        return protobuf::event_of(event.word(), document).unwrap_or_default();
    }
    let parts: [&[u8]; 5] = [b"{\"type\":\"", event.word().as_bytes(), b"\",\"object\":", document, b"}\n"];
    Bytes::from(parts.concat())
}
