//! Watches by selector: a change wakes only those watchers of a collection whose selector it can match. The watchers of a
//! label or field with a value share a topic; one task per collection follows the store, looks at each change once and notes it in
//! the topics of the values that the object had before or has now. A topic is a hint, not a queue: it remembers revisions, and refers
//! to the changes in the history of the store without keeping them there.

use super::{Collection, poll};
use crate::{catalog::ResourceHandler, objects::Objects};
use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    task::Poll,
    time::Duration,
};
use tenure_meta::{ApiError, IndexTerm, IndexedBy};
use tenure_store::{
    Changes, Error, KeyChange, Revision, Signal, Store, Watch, WatchRequest, WatchSource, WeakChanges,
};
use tenure_value::{Text, Value};
use tokio::sync::Notify;

/// How many revisions a topic remembers; a watcher that is further behind reads the history itself.
const RECENT: usize = 256;
/// How often a collection without changes tells how far it has been followed.
const PROGRESS: Duration = Duration::from_millis(500);

/// The collections that are watched by selectors.
#[derive(Clone, Default)]
pub struct WatchDispatch {
    groups: Arc<Mutex<HashMap<Collection, Arc<Group>>>>,
}

/// The watchers of one collection.
struct Group {
    state: Mutex<GroupState>,
    /// Tells the task that the last watcher has left.
    left: Notify,
}

struct GroupState {
    /// How far the collection has been followed.
    seen: Revision,
    /// Whether the task has ended, so that watchers follow the store themselves.
    has_ended: bool,
    watchers: usize,
    by: HashMap<IndexedBy, Values>,
}

/// The topics of a label or field.
#[derive(Default)]
struct Values {
    /// Of the watchers of any value.
    any: Vec<Arc<Topic>>,
    by_value: HashMap<Text, Vec<Arc<Topic>>>,
}

/// What watchers with the same requirement share.
struct Topic {
    term: IndexTerm,
    changed: Notify,
    state: Mutex<TopicState>,
}

/// The changes that matched, all of those after `complete_after`.
struct TopicState {
    watchers: usize,
    complete_after: Revision,
    recent: VecDeque<(Revision, WeakChanges)>,
}

/// Where a watcher finds its next change.
enum Next {
    At(Revision, WeakChanges),
    /// No change up to this revision.
    None(Revision),
    /// In the history up to this revision.
    Behind(Revision),
    /// In the store: no task follows the collection for the watcher.
    Ended,
}

impl Topic {
    fn matched(&self, changes: &Changes) {
        let revision = changes.revision();
        let mut state = self.state.lock();
        if state.recent.back().is_some_and(|(newest, _)| *newest == revision) {
            return;
        }
        if state.recent.len() == RECENT
            && let Some((oldest, _)) = state.recent.pop_front()
        {
            state.complete_after = oldest;
        }
        state.recent.push_back((revision, changes.downgrade()));
        drop(state);
        self.changed.notify_waiters();
    }
}

impl Values {
    /// Calls a function with the topics that a requirement belongs to.
    fn places(&mut self, values: Option<&Vec<Text>>, mut change: impl FnMut(&mut Vec<Arc<Topic>>)) {
        match values {
            None => change(&mut self.any),
            Some(values) => {
                for value in values {
                    let topics = self.by_value.entry(value.clone()).or_default();
                    change(topics);
                    if topics.is_empty() {
                        self.by_value.remove(value);
                    }
                }
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.any.is_empty() && self.by_value.is_empty()
    }
}

impl GroupState {
    /// Adds a watcher; those with the same requirement share a topic.
    fn join(&mut self, term: &IndexTerm) -> Arc<Topic> {
        self.watchers += 1;
        let values = self.by.entry(term.by.clone()).or_default();
        let first = match term.values.as_ref().map(|values| values.first()) {
            None => Some(&values.any),
            Some(first) => first.and_then(|first| values.by_value.get(first)),
        };
        let known = first.into_iter().flatten().find(|topic| topic.term == *term).cloned();
        if let Some(topic) = known {
            topic.state.lock().watchers += 1;
            return topic;
        }
        let state = TopicState { watchers: 1, complete_after: self.seen, recent: VecDeque::new() };
        let topic = Arc::new(Topic { term: term.clone(), changed: Notify::new(), state: Mutex::new(state) });
        values.places(term.values.as_ref(), |topics| topics.push(topic.clone()));
        topic
    }

    fn leave(&mut self, left: &Arc<Topic>) {
        self.watchers -= 1;
        let mut state = left.state.lock();
        state.watchers -= 1;
        if state.watchers > 0 {
            return;
        }
        let Some(values) = self.by.get_mut(&left.term.by) else { return };
        values.places(left.term.values.as_ref(), |topics| topics.retain(|topic| !Arc::ptr_eq(topic, left)));
        if values.is_empty() {
            self.by.remove(&left.term.by);
        }
    }

    /// Notes a change in the topics of an object that it is about, before or after.
    fn note(&self, object: &Value, changes: &Changes) {
        for (by, values) in &self.by {
            let Some(value) = by.value(object) else { continue };
            for topic in values.any.iter().chain(values.by_value.get(&value).into_iter().flatten()) {
                topic.matched(changes);
            }
        }
    }

    fn all_topics(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.by.values().flat_map(|values| values.any.iter().chain(values.by_value.values().flatten()))
    }
}

impl Group {
    fn next(&self, topic: &Topic, seen: Revision) -> Next {
        let group = self.state.lock();
        let state = topic.state.lock();
        if seen < state.complete_after {
            return Next::Behind(state.complete_after);
        }
        let before = state.recent.partition_point(|(revision, _)| *revision <= seen);
        match state.recent.get(before) {
            Some((revision, changes)) => Next::At(*revision, changes.clone()),
            None if group.has_ended => Next::Ended,
            None => Next::None(group.seen),
        }
    }

    /// Follows the collection until the last watcher has left or the store ends the watch.
    async fn follow(&self, objects: &Objects, handler: &ResourceHandler, mut watch: Watch) {
        loop {
            let signal = tokio::select! {
                signal = watch.next() => signal,
                () = self.left.notified() => return,
            };
            match signal {
                Ok(Signal::Progress(revision)) => {
                    let mut state = self.state.lock();
                    state.seen = state.seen.max(revision);
                }
                Ok(Signal::Changes(changes)) => {
                    let both =
                        changes.iter().flat_map(|change: &KeyChange| [&change.previous, &change.current]);
                    let objects: Result<Vec<Value>, ApiError> =
                        both.flatten().map(|entry| objects.read_object(handler, entry)).collect();
                    let mut state = self.state.lock();
                    state.seen = changes.revision();
                    match objects {
                        Ok(objects) => objects.iter().for_each(|object| state.note(object, &changes)),
                        // The watchers report what cannot be read.
                        Err(_) => state.all_topics().for_each(|topic| topic.matched(&changes)),
                    }
                }
                Err(_) => {
                    let mut state = self.state.lock();
                    state.has_ended = true;
                    state.all_topics().for_each(|topic| topic.changed.notify_waiters());
                    return;
                }
            }
        }
    }
}

impl WatchDispatch {
    /// Watches the objects under a prefix that meet a requirement. Changes of others may be delivered too.
    pub async fn watch(
        &self,
        objects: &Arc<Objects>,
        handler: &ResourceHandler,
        term: &IndexTerm,
        request: &WatchRequest,
    ) -> Result<Watch, Error> {
        let store = &objects.store;
        let prefix = String::from_utf8_lossy(&request.prefix).into_owned();
        let key = (prefix, handler.resource.api_version.clone(), handler.generation());
        let now = store.revision().await?;
        let seen = request.after.unwrap_or(now);
        // Refuses what the history does not have, and starts to follow the collection if no task does yet.
        let followed = WatchRequest::prefix(request.prefix.clone()).progress(PROGRESS).after(seen);
        let watch = store.watch(followed).await?;
        let (group, topic) = {
            let mut groups = self.groups.lock();
            let known = groups.get(&key).filter(|group| !group.state.lock().has_ended).cloned();
            let group = known.unwrap_or_else(|| {
                let state = GroupState { seen, has_ended: false, watchers: 0, by: HashMap::new() };
                let group = Arc::new(Group { state: Mutex::new(state), left: Notify::new() });
                groups.insert(key.clone(), group.clone());
                let (group_of_task, objects, handler) = (group.clone(), objects.clone(), handler.clone());
                tokio::spawn(async move { group_of_task.follow(&objects, &handler, watch).await });
                group
            });
            let topic = group.state.lock().join(term);
            (group, topic)
        };
        let (dispatch, store, prefix) = (self.clone(), store.clone(), request.prefix.clone());
        Ok(Watch::new(SelectedWatch { dispatch, key, group, topic, store, prefix, seen, reading: None }))
    }

    fn leave(&self, key: &Collection, group: &Arc<Group>, topic: &Arc<Topic>) {
        let mut groups = self.groups.lock();
        let is_last = {
            let mut state = group.state.lock();
            state.leave(topic);
            state.watchers == 0
        };
        if is_last {
            group.left.notify_one();
            if groups.get(key).is_some_and(|known| Arc::ptr_eq(known, group)) {
                groups.remove(key);
            }
        }
    }
}

/// A watch of what a topic tells.
struct SelectedWatch {
    dispatch: WatchDispatch,
    key: Collection,
    group: Arc<Group>,
    topic: Arc<Topic>,
    store: Arc<dyn Store>,
    prefix: Bytes,
    seen: Revision,
    /// The history that is being read, and up to where; `None` for everything that follows.
    reading: Option<(Watch, Option<Revision>)>,
}

impl SelectedWatch {
    /// Begins to read the history after a revision.
    async fn read_after(&mut self, revision: Revision, until: Option<Revision>) -> Result<(), Error> {
        let request = WatchRequest::prefix(self.prefix.clone()).after(revision);
        self.reading = Some((self.store.watch(request).await?, until));
        Ok(())
    }

    /// Returns the next change of the history that is being read.
    async fn read(&mut self) -> Result<Option<Signal>, Error> {
        let Some((watch, until)) = &mut self.reading else { return Ok(None) };
        let Some(until) = *until else {
            let signal = watch.next().await?;
            self.seen = signal.revision();
            return Ok(Some(signal));
        };
        match poll(watch) {
            Poll::Ready(Ok(changes)) if changes.revision() <= until => {
                self.seen = changes.revision();
                if self.seen == until {
                    self.reading = None;
                }
                return Ok(Some(Signal::Changes(changes)));
            }
            Poll::Ready(Err(error)) => return Err(error),
            Poll::Ready(Ok(_)) | Poll::Pending => {}
        }
        self.seen = self.seen.max(until);
        self.reading = None;
        Ok(None)
    }
}

#[async_trait]
impl WatchSource for SelectedWatch {
    async fn next(&mut self) -> Result<Signal, Error> {
        loop {
            while self.reading.is_some() {
                // Boxed, like all that is rare, so that a watcher that waits does not keep its memory.
                if let Some(signal) = Box::pin(self.read()).await? {
                    return Ok(signal);
                }
            }
            let (topic, seen) = (self.topic.clone(), self.seen);
            let changed = topic.changed.notified();
            tokio::pin!(changed);
            // From here on no notification is missed; a change from just before is found below.
            changed.as_mut().enable();
            match self.group.next(&topic, seen) {
                Next::At(revision, changes) => {
                    if let Some(changes) = changes.upgrade() {
                        self.seen = revision;
                        return Ok(Signal::Changes(changes));
                    }
                    let before = Revision::from_number(revision.get() - 1);
                    Box::pin(self.read_after(before.max(seen), Some(revision))).await?;
                }
                Next::Behind(until) => Box::pin(self.read_after(seen, Some(until))).await?,
                Next::Ended => Box::pin(self.read_after(seen, None)).await?,
                Next::None(until) => {
                    self.seen = seen.max(until);
                    changed.await;
                }
            }
        }
    }

    fn progress(&mut self) -> Revision {
        if let Some((watch, None)) = &mut self.reading {
            self.seen = watch.progress();
        } else if self.reading.is_none()
            && let Next::None(until) = self.group.next(&self.topic, self.seen)
        {
            self.seen = self.seen.max(until);
        }
        self.seen
    }

    fn skip_to(&mut self, revision: Revision) {
        self.seen = self.seen.max(revision);
        if let Some((watch, until)) = &mut self.reading {
            watch.skip_to(revision);
            if until.is_some_and(|until| until <= revision) {
                self.reading = None;
            }
        }
    }

    fn audience(&self) -> usize {
        self.topic.state.lock().watchers
    }
}

impl Drop for SelectedWatch {
    fn drop(&mut self) {
        self.dispatch.leave(&self.key, &self.group, &self.topic);
    }
}
