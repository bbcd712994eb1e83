//! Changes that several watchers see, decoded once and encoded once per format. Only the newest are kept: watchers
//! are mostly at the end of the history, and one that is behind decodes for itself.

use super::{Api, object::Stored, served::Served, watch::Event};
use crate::{Failure, Format};
use bytes::Bytes;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};
use tenure_store::{Change, Revision};
use tenure_value::Text;

/// How many changes are kept.
const KEPT: usize = 256;

/// The newest changes.
#[derive(Default)]
pub(crate) struct Feed(Mutex<VecDeque<(Revision, Bytes, Arc<Shared>)>>);

/// One change, shared by all who see it.
pub(crate) struct Shared {
    change: Change,
    previous: OnceLock<Option<Stored>>,
    current: OnceLock<Option<Stored>>,
    /// What a webhook made of the two, by version.
    converted: Mutex<Vec<(Side, Text, Stored)>>,
    frames: Mutex<Vec<(Key, Bytes)>>,
}

/// One of the two states around a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Previous,
    Current,
}

/// What frames of one change differ by: the version shown, the format, and what the change is to the watcher.
pub(crate) type Key = (Text, Format, Event);

impl Feed {
    /// Returns the change that a watch of the store gave, shared with whoever saw it before.
    pub fn change(&self, revision: Revision, change: &Change) -> Arc<Shared> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |(at, key, _): &&(Revision, Bytes, Arc<Shared>)| *at == revision && *key == change.key;
        if let Some((_, _, shared)) = kept.iter().rev().find(same) {
            return shared.clone();
        }
        let shared = Arc::new(Shared {
            change: change.clone(),
            previous: OnceLock::new(),
            current: OnceLock::new(),
            converted: Mutex::default(),
            frames: Mutex::default(),
        });
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back((revision, change.key.clone(), shared.clone()));
        shared
    }
}

impl Shared {
    /// Returns the object before the change; nothing if there was none.
    pub fn previous(&self) -> Option<&Stored> {
        self.previous
            .get_or_init(|| self.change.previous.as_ref().and_then(|entry| Stored::read(entry).ok()))
            .as_ref()
    }

    /// Returns the object after the change; nothing if it is gone.
    pub fn current(&self) -> Option<&Stored> {
        self.current
            .get_or_init(|| self.change.current.as_ref().and_then(|entry| Stored::read(entry).ok()))
            .as_ref()
    }

    /// Returns the object before or after the change at the version of a resource, made by the first who needs it.
    pub async fn at(&self, side: Side, api: &Api, served: &Served) -> Result<Option<Stored>, Failure> {
        let stored = match side {
            Side::Previous => self.previous(),
            Side::Current => self.current(),
        };
        let Some(stored) = stored else { return Ok(None) };
        if !served.asks_webhook(&stored.object) {
            return served.for_reading(stored.clone()).map(Some);
        }
        let version = &served.resource.api_version;
        let known = || self.converted.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |(of, at, _): &&(Side, Text, Stored)| *of == side && at == version;
        if let Some((_, _, stored)) = known().iter().find(same) {
            return Ok(Some(stored.clone()));
        }
        let stored = api.for_reading_one(served, stored.clone()).await?;
        known().push((side, version.clone(), stored.clone()));
        Ok(Some(stored))
    }

    /// Returns the frame of this change, made by the first who needs it.
    pub fn frame(&self, key: Key, make: impl FnOnce() -> Bytes) -> Bytes {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, frame)) = frames.iter().find(|(of, _)| *of == key) {
            return frame.clone();
        }
        let frame = make();
        frames.push((key, frame.clone()));
        frame
    }
}
