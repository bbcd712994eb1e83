//! Whole collections as they were last listed, joined into long pieces. A roll holds for as long as nothing below its
//! prefix has changed, which a watch of the store knows; then a list costs what sending it costs. After a change the pieces
//! it did not touch go into the next roll as they are.

use crate::{
    Answer, Encoding, Failure, Format,
    read::{encode_cache::Form, list_body::list_of, scan::Scan, view::ListMetadata},
    server::Server,
    target::Target,
};
use bytes::Bytes;
use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Waker},
};
use tenure_store::{Entry, Revision, Store, Watch, WatchRequest};

/// How many bytes all rolls have, at most; a longer one is not kept.
const BUDGET: usize = 40 * 1024 * 1024;
/// From this size on a piece is long enough.
const PIECE: usize = 64 * 1024;
/// Shorter pieces are joined with what is next to them.
const SHORT: usize = PIECE / 4;
/// How many objects are encoded in one go.
const STRIDE: usize = 256;

/// An object of a roll: whose bytes they are, and where they end in the piece.
#[derive(Clone)]
struct Item {
    key: Bytes,
    revision: Revision,
    end: usize,
}

impl Item {
    fn is(&self, entry: &Entry) -> bool {
        self.revision == entry.modified && self.key == entry.key
    }
}

/// Objects that stand together, each with a separator before it.
#[derive(Clone)]
struct Piece {
    bytes: Bytes,
    items: Arc<[Item]>,
}

/// A collection in a form.
struct Roll {
    prefix: String,
    form: Form,
    pieces: Vec<Piece>,
    separator: &'static [u8],
    /// Tells of changes; none when there has been one.
    watch: Mutex<Option<Watch>>,
    read: AtomicBool,
}

impl Roll {
    fn weight(&self) -> usize {
        let items = |piece: &Piece| piece.items.len() * size_of::<Item>();
        self.pieces.iter().map(|piece| piece.bytes.len() + items(piece)).sum()
    }

    /// Returns the items of the list, many in one, without the separators between those.
    fn bytes(&self) -> Vec<Bytes> {
        let piece = |piece: &Piece| piece.bytes.slice(self.separator.len().min(piece.bytes.len())..);
        self.pieces.iter().map(piece).collect()
    }

    /// Returns a revision at which the collection is this: one that was asked for, or else one that is not before now.
    async fn holds(&self, store: &dyn Store, at: Option<Revision>) -> Result<Option<Revision>, Failure> {
        let now = match at {
            Some(at) => at,
            None => store.revision().await?,
        };
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = watch.as_mut() else { return Ok(None) };
        // An error is news as well: what is behind the watch is no longer what it was.
        if pin!(open.next()).poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            *watch = None;
            return Ok(None);
        }
        let known = open.progress();
        Ok((known == now || known > now && at.is_none()).then_some(known))
    }
}

/// The rolls that are kept, those read last at the end.
#[derive(Default)]
pub(crate) struct ListCache(Mutex<Vec<Arc<Roll>>>);

impl ListCache {
    fn get(&self, prefix: &str, form: &Form) -> Option<Arc<Roll>> {
        let mut kept = self.kept();
        let at = kept.iter().position(|roll| roll.prefix == prefix && roll.form == *form)?;
        let roll = kept.remove(at);
        roll.read.store(true, Relaxed);
        kept.push(roll.clone());
        Some(roll)
    }

    fn put(&self, roll: Roll) {
        let mut kept = self.kept();
        kept.retain(|other| other.prefix != roll.prefix || other.form != roll.form);
        kept.push(Arc::new(roll));
        let mut bytes = 0;
        // From the one read last; the first that is too much goes, and all before it.
        let enough = kept.iter().rposition(|roll| {
            bytes += roll.weight();
            bytes > BUDGET
        });
        kept.drain(..enough.map_or(0, |at| at + 1));
    }

    /// Forgets what has not been read since the last time.
    pub fn rest(&self) {
        self.kept().retain(|roll| roll.read.swap(false, Relaxed));
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Arc<Roll>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a roll, from a former one as far as that is the same.
struct ListBuilder {
    former: Option<Arc<Roll>>,
    /// The piece of the former roll that is next, and the item in it.
    next: (usize, usize),
    separator: &'static [u8],
    pieces: Vec<Piece>,
    bytes: Vec<u8>,
    items: Vec<Item>,
}

impl ListBuilder {
    fn new(former: Option<Arc<Roll>>, separator: &'static [u8]) -> ListBuilder {
        let (pieces, bytes, items) = (Vec::new(), Vec::new(), Vec::new());
        ListBuilder { former, next: (0, 0), separator, pieces, bytes, items }
    }

    /// Takes over a whole piece if the entries begin with what it has, and returns how many that are.
    fn take_piece(&mut self, entries: &[Entry]) -> usize {
        let Some(former) = self.former.clone() else { return 0 };
        if former.pieces.get(self.next.0).is_some_and(|piece| piece.items.len() == self.next.1) {
            self.next = (self.next.0 + 1, 0);
        }
        let (at, 0) = self.next else { return 0 };
        let Some(piece) = former.pieces.get(at) else { return 0 };
        let same = piece.items.len() <= entries.len()
            && piece.items.iter().zip(entries).all(|(item, entry)| item.is(entry));
        if !same {
            return 0;
        }
        self.next = (at + 1, 0);
        if self.bytes.is_empty() || piece.bytes.len() >= SHORT {
            self.close();
            self.pieces.push(piece.clone());
        } else {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(&piece.bytes);
            self.items.extend(piece.items.iter().map(|item| Item { end: start + item.end, ..item.clone() }));
            self.close_if_long();
        }
        piece.items.len()
    }

    /// Takes over the bytes of one entry if the former roll has them.
    fn take_item(&mut self, entry: &Entry) -> bool {
        let Some(former) = self.former.clone() else { return false };
        while let Some(piece) = former.pieces.get(self.next.0) {
            let Some(item) = piece.items.get(self.next.1) else {
                self.next = (self.next.0 + 1, 0);
                continue;
            };
            if item.key > entry.key {
                return false;
            }
            let start = self.next.1.checked_sub(1).and_then(|before| piece.items.get(before));
            let start = start.map_or(0, |before| before.end) + self.separator.len();
            self.next.1 += 1;
            if item.is(entry) {
                self.push(entry, piece.bytes.get(start..item.end).unwrap_or_default());
                return true;
            }
        }
        false
    }

    fn push(&mut self, entry: &Entry, bytes: &[u8]) {
        if self.bytes.is_empty() {
            self.bytes.reserve(PIECE + PIECE / 8);
        }
        self.bytes.extend_from_slice(self.separator);
        self.bytes.extend_from_slice(bytes);
        self.items.push(Item { key: entry.key.clone(), revision: entry.modified, end: self.bytes.len() });
        self.close_if_long();
    }

    fn close_if_long(&mut self) {
        if self.bytes.len() >= PIECE {
            self.close();
        }
    }

    fn close(&mut self) {
        if !self.items.is_empty() {
            let bytes = std::mem::take(&mut self.bytes).into_boxed_slice().into();
            self.pieces.push(Piece { bytes, items: std::mem::take(&mut self.items).into() });
        }
    }
}

impl Server {
    /// Answers with all of a collection.
    pub(crate) async fn list_whole(
        &self,
        target: &Target,
        format: Format,
        form: &Form,
        mut scan: Scan<'_>,
    ) -> Result<Answer, Failure> {
        let served = &target.served;
        let former = self.list_cache.get(scan.prefix(), form);
        if let Some(roll) = &former
            && let Some(revision) = roll.holds(&*self.store, scan.at()).await?
        {
            let metadata = ListMetadata { revision, ..ListMetadata::default() };
            return list_of(served, format, roll.bytes(), &metadata);
        }
        let separator: &[u8] = if format.encoding == Encoding::Protobuf { b"" } else { b"," };
        let mut maker = ListBuilder::new(former, separator);
        scan.read().await?;
        let (mut rest, mut encoded) = (scan.at_hand(), 0);
        while let [entry, after @ ..] = rest {
            match maker.take_piece(rest) {
                0 => rest = after,
                many => {
                    rest = rest.get(many..).unwrap_or_default();
                    continue;
                }
            }
            if !maker.take_item(entry) {
                let stored = self.for_reading_one(served, self.decoded(entry)?).await?;
                maker.push(entry, &form.print(served, &stored)?.bytes);
                encoded += 1;
                // A long walk lets others pass now and then.
                if encoded % STRIDE == 0 {
                    tokio::task::yield_now().await;
                }
            }
        }
        maker.close();
        let metadata = scan.metadata();
        let watch = WatchRequest::prefix(scan.prefix().to_owned()).after(metadata.revision);
        let roll = Roll {
            prefix: scan.prefix().to_owned(),
            form: form.clone(),
            pieces: maker.pieces,
            separator,
            // Without one, the roll is good for its pieces.
            watch: Mutex::new(self.store.watch(watch).await.ok()),
            read: AtomicBool::new(true),
        };
        let answer = list_of(served, format, roll.bytes(), &metadata);
        self.list_cache.put(roll);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Names and revisions, as a collection has them.
    type State = BTreeMap<String, u64>;

    fn entries(state: &State) -> Vec<Entry> {
        let entry = |(name, revision): (&String, &u64)| Entry {
            key: format!("pods/{name}").into(),
            value: Bytes::new(),
            created: Revision::from_number(1),
            modified: Revision::from_number(*revision),
        };
        state.iter().map(entry).collect()
    }

    fn text(entry: &Entry) -> Vec<u8> {
        let key = String::from_utf8_lossy(&entry.key);
        format!("{key}@{}{}", entry.modified, "x".repeat(700 + entry.modified.get() as usize % 300))
            .into_bytes()
    }

    /// ListCache a collection up, and says how many of its objects had to be encoded.
    fn roll(state: &State, former: Option<Arc<Roll>>) -> (Arc<Roll>, usize) {
        let (all, mut encoded) = (entries(state), 0);
        let mut maker = ListBuilder::new(former, b",");
        let mut rest = &all[..];
        while let [entry, after @ ..] = rest {
            match maker.take_piece(rest) {
                0 => rest = after,
                many => {
                    rest = &rest[many..];
                    continue;
                }
            }
            if !maker.take_item(entry) {
                maker.push(entry, &text(entry));
                encoded += 1;
            }
        }
        maker.close();
        let form = Form::example();
        let (pieces, watch, read) = (maker.pieces, Mutex::default(), AtomicBool::new(true));
        (Arc::new(Roll { prefix: "pods/".into(), form, pieces, separator: b",", watch, read }), encoded)
    }

    #[test]
    fn a_roll_is_what_its_collection_is_whatever_came_before() {
        let (mut state, mut former, mut revision) = (State::new(), None, 1);
        let mut random = 7u64;
        for round in 0..200 {
            // A few changes at random places; now and then many.
            for _ in 0..if round % 20 == 0 { 300 } else { round % 4 } {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let name = format!("{:03}", (random >> 33) % 600);
                revision += 1;
                match (random >> 20) % 3 {
                    0 => drop(state.remove(&name)),
                    _ => drop(state.insert(name, revision)),
                }
            }
            let (next, _) = roll(&state, former.clone());
            let expected: Vec<Vec<u8>> = entries(&state).iter().map(text).collect();
            assert!(next.bytes().join(&b',') == expected.join(&b','), "round {round}");
            let long = next.pieces.iter().filter(|piece| piece.bytes.len() >= SHORT).count();
            assert!(next.pieces.len() <= 2 * long + 2, "{} pieces, {long} long", next.pieces.len());
            former = Some(next);
        }
    }

    #[test]
    fn what_did_not_change_stays_where_it_is() {
        let mut state: State = (0..1000).map(|at| (format!("{at:04}"), 1)).collect();
        let (before, all) = roll(&state, None);
        assert_eq!(all, 1000);
        state.insert("0500".into(), 2);
        let (after, encoded) = roll(&state, Some(before.clone()));
        assert_eq!(encoded, 1);
        let shared = |piece: &Piece| before.pieces.iter().any(|of| of.bytes.as_ptr() == piece.bytes.as_ptr());
        let anew = after.pieces.iter().filter(|piece| !shared(piece)).count();
        assert!(after.pieces.len() > 5 && anew == 1, "{anew} of {} anew", after.pieces.len());
    }

    #[test]
    fn memory_is_bounded_and_what_was_read_last_stays() {
        let state: State = (0..16_000).map(|at| (format!("{at:05}"), 1)).collect();
        let (rolls, example) = (ListCache::default(), Form::example());
        for prefix in ["a/", "b/", "c/", "d/"] {
            let pieces = roll(&state, None).0.pieces.clone();
            let (form, watch, read) = (example.clone(), Mutex::default(), AtomicBool::new(true));
            rolls.put(Roll { prefix: prefix.into(), form, pieces, separator: b",", watch, read });
            rolls.get("a/", &example);
        }
        let weight: usize = rolls.kept().iter().map(|roll| roll.weight()).sum();
        assert!(weight <= BUDGET && weight > BUDGET / 2);
        assert!(rolls.get("a/", &example).is_some() && rolls.get("b/", &example).is_none());
        rolls.rest();
        assert!(rolls.get("a/", &example).is_some());
        rolls.rest();
        rolls.rest();
        assert!(rolls.kept().is_empty());
    }
}
