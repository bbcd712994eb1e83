//! One record for several writes of an object in one transaction: no reader sees the states between them, and a store that commits all of them
//! at one revision has room for one record of each object.

use super::{History, MAX_RECORD};
use crate::{catalog::ResourceHandler, object};
use tenure_history::{Author, Record, Verb, Version, encode};
use tenure_store::Entry;

impl History {
    /// Returns the record that stands for all records of an object in a transaction, in their order: `before` is the object before the
    /// first, `after` its value after the last. `None` if they are of several authors, of which none made all, or if it would be too large.
    pub fn joined(
        &self,
        handler: &ResourceHandler,
        records: &[&[u8]],
        before: Option<&Entry>,
        after: Option<&[u8]>,
    ) -> Option<Vec<u8>> {
        let records: Vec<Record<'_>> =
            records.iter().map(|bytes| Record::decode(bytes, 0).ok()).collect::<Option<_>>()?;
        let first = records.first()?;
        let is_one = |record: &Record<'_>| record.user == first.user && record.manager == first.manager;
        let known = before.map(|entry| entry.modified.get());
        if !records.iter().all(is_one) || first.previous != known || (known.is_none() && after.is_none()) {
            return None;
        }
        let verb = if after.is_none() { Verb::Delete } else { first.verb };
        let author =
            Author { verb, user: &first.user, manager: &first.manager, subresource: &first.subresource };
        let before = before.map(|entry| object::decode(&entry.value.bytes())).transpose().ok()?;
        let after = after.map(object::decode).transpose().ok()?;
        let before = before.as_ref().map(|(object, managers)| Version {
            object,
            managers,
            revision: known.unwrap_or_default(),
        });
        let after = after.as_ref().map(|(object, managers)| Version { object, managers, revision: 0 });
        let encoded = encode(&author, before, after, self.values(handler)).ok()?;
        (encoded.bytes.len() <= MAX_RECORD).then_some(encoded.bytes)
    }
}
