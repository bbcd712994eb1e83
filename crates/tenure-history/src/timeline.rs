//! The way back: from the live object, one record after the other, to the versions that came before.

use crate::{HistoryError, Record};
use tenure_apply::State;

/// A record as the store keeps it.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'r> {
    /// The revision of the change.
    pub revision: u64,
    /// When it was committed, in milliseconds since 1970.
    pub written_at: u64,
    /// The record.
    pub bytes: &'r [u8],
}

/// A version of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Rebuilt {
    /// The object and its managers.
    pub state: State,
    /// The revision that stored it: its `resourceVersion`.
    pub revision: u64,
}

/// One change, with the versions before and after it.
#[derive(Clone, Debug)]
pub struct TimelineStep<'r> {
    /// The revision of the change.
    pub revision: u64,
    /// When it was committed, in milliseconds since 1970.
    pub written_at: u64,
    /// The record of the change.
    pub record: Record<'r>,
    /// The version before; `None` if the object did not exist.
    pub before: Option<Rebuilt>,
    /// The version after; `None` if the object was removed.
    pub after: Option<Rebuilt>,
}

/// Walks the changes of an object, newest first. It ends where the records no longer lead from one version to the one before.
pub struct Timeline<'r, I> {
    current: Option<Rebuilt>,
    records: I,
    /// The oldest revision that could be rebuilt, once a gap was found.
    gap: Option<u64>,
    _records: std::marker::PhantomData<&'r ()>,
}

impl<'r, I: Iterator<Item = Entry<'r>>> Timeline<'r, I> {
    /// Starts at the live object, `None` if it does not exist, with its records, newest first.
    pub fn new(live: Option<Rebuilt>, records: I) -> Timeline<'r, I> {
        Timeline { current: live, records, gap: None, _records: std::marker::PhantomData }
    }

    /// Returns the version that the walk has reached: the oldest so far; `None` if the object did not exist then.
    pub fn current(&self) -> Option<&Rebuilt> {
        self.current.as_ref()
    }

    /// Returns the oldest revision that can be rebuilt, if a record was missing.
    pub fn gap(&self) -> Option<u64> {
        self.gap
    }

    fn step(&mut self, entry: Entry<'r>) -> Result<Option<TimelineStep<'r>>, HistoryError> {
        let record = Record::decode(entry.bytes, entry.revision)?;
        let fits = match &self.current {
            Some(current) => record.remains && current.revision == entry.revision,
            None => !record.remains,
        };
        if !fits {
            self.gap = Some(self.current.as_ref().map_or(entry.revision, |current| current.revision));
            return Ok(None);
        }
        let after = self.current.take();
        let before = record.undo(after.as_ref().map(|after| &after.state))?;
        let revision = record.previous.unwrap_or_default();
        self.current = before.map(|state| Rebuilt { state, revision });
        let (revision, written_at) = (entry.revision, entry.written_at);
        Ok(Some(TimelineStep { revision, written_at, record, before: self.current.clone(), after }))
    }
}

impl<'r, I: Iterator<Item = Entry<'r>>> Iterator for Timeline<'r, I> {
    type Item = Result<TimelineStep<'r>, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.gap.is_some() {
            return None;
        }
        let entry = self.records.next()?;
        let step = self.step(entry).transpose();
        if matches!(step, Some(Err(_))) {
            // Nothing older can be rebuilt without this one.
            self.gap = Some(entry.revision);
        }
        step
    }
}

/// Which version is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The one that was current at this revision.
    Revision(u64),
    /// The one that was current at this time, in milliseconds since 1970.
    Time(u64),
}

impl Moment {
    fn is_at_or_after(self, entry: &Entry<'_>) -> bool {
        match self {
            Moment::Revision(revision) => entry.revision <= revision,
            Moment::Time(time) => entry.written_at <= time,
        }
    }
}

/// Rebuilds the version that was current at a moment, from the live object and its records, newest first.
pub fn rebuild<'r>(
    live: Option<Rebuilt>,
    records: impl Iterator<Item = Entry<'r>>,
    moment: Moment,
) -> Result<Rebuilt, HistoryError> {
    // A revision says that the live object is old enough even where its record is gone; a time does not.
    let is_reached = |current: &Rebuilt| match moment {
        Moment::Revision(revision) => current.revision <= revision,
        Moment::Time(_) => false,
    };
    let mut records = records.peekable();
    let newer = std::iter::from_fn(|| records.next_if(|entry| !moment.is_at_or_after(entry)));
    let mut timeline = Timeline::new(live, newer);
    while !timeline.current().is_some_and(is_reached) {
        match timeline.next() {
            Some(step) => drop(step?),
            None => break,
        }
    }
    let (gap, current) = (timeline.gap, timeline.current);
    if let Some(oldest) = gap {
        return Err(HistoryError::TooOld { oldest });
    }
    match (current, records.peek()) {
        (None, _) => Err(HistoryError::Absent {
            revision: match (moment, records.peek()) {
                (Moment::Revision(revision), _) => revision,
                (Moment::Time(_), entry) => entry.map_or(0, |entry| entry.revision),
            },
        }),
        (Some(current), _) if is_reached(&current) => Ok(current),
        (Some(current), Some(entry)) if entry.revision == current.revision => Ok(current),
        (Some(current), _) => Err(HistoryError::TooOld { oldest: current.revision }),
    }
}
