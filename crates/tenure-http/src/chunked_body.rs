//! A response body made of many existing chunks, such as the encoded items of a list. They are joined, and compressed
//! if the client accepts that, 64 KiB at a time as the client reads: a large list is never copied as a whole and never
//! occupies a thread for long. The items of a very large one are not even encoded before they are sent.

use bytes::{Bytes, BytesMut};
use flate2::{Compression, write::GzEncoder};
use std::{fmt, io::Write, sync::Arc};

/// How many bytes are joined at a time.
const BLOCK: usize = 64 * 1024;

/// Returns the item with a number; `None` if it cannot be encoded, which ends the body before its tail.
pub type Producer = dyn Fn(usize) -> Option<Bytes> + Send + Sync;

/// The items of a body that have not been sent.
enum Items {
    Encoded(std::vec::IntoIter<Bytes>),
    /// The number of the next item and of all.
    Produced(Arc<Producer>, usize, usize),
}

impl Items {
    fn is_empty(&self) -> bool {
        match self {
            Items::Encoded(items) => items.as_slice().is_empty(),
            Items::Produced(_, next, count) => next >= count,
        }
    }

    /// Returns the next item; `None` inside if it cannot be encoded.
    fn next(&mut self) -> Option<Option<Bytes>> {
        match self {
            Items::Encoded(items) => items.next().map(Some),
            Items::Produced(_, next, count) if *next >= *count => None,
            Items::Produced(produce, next, _) => {
                *next += 1;
                Some(produce(*next - 1))
            }
        }
    }
}

impl fmt::Debug for Items {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}

/// A body of existing chunks.
#[derive(Debug)]
pub struct ChunkedBody {
    /// A chunk that precedes the remaining items.
    next: Option<Bytes>,
    items: Items,
    separator: &'static [u8],
    tail: Option<Bytes>,
    started: bool,
    /// The bytes that are left; an estimate if items are produced.
    length: usize,
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl ChunkedBody {
    /// Creates a body of a head, items with a separator between them, and a tail.
    pub fn new(head: Bytes, items: Vec<Bytes>, separator: &'static [u8], tail: Bytes) -> ChunkedBody {
        let between = separator.len() * items.len().saturating_sub(1);
        let length = head.len() + items.iter().map(Bytes::len).sum::<usize>() + between + tail.len();
        let items = Items::Encoded(items.into_iter());
        ChunkedBody {
            next: Some(head),
            items,
            separator,
            tail: Some(tail),
            started: false,
            length,
            encoder: None,
        }
    }

    /// Creates a body whose items are produced while it is sent: so many, of about so many bytes together.
    pub fn produced(
        head: Bytes,
        (count, bytes): (usize, usize),
        produce: Arc<Producer>,
        separator: &'static [u8],
        tail: Bytes,
    ) -> ChunkedBody {
        let mut body = ChunkedBody::new(head, Vec::new(), separator, tail);
        body.items = Items::Produced(produce, 0, count);
        body.length += bytes;
        body
    }

    /// Compresses the body, preferring speed to size.
    pub fn gzipped(mut self) -> ChunkedBody {
        self.encoder = Some(GzEncoder::new(Vec::with_capacity(BLOCK / 4), Compression::fast()));
        self
    }

    /// Returns the number of bytes before compression.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns a copy of the whole body, before compression.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = Vec::with_capacity(self.length);
        all.extend_from_slice(self.next.as_deref().unwrap_or_default());
        let mut items = match &self.items {
            Items::Encoded(items) => Items::Encoded(items.clone()),
            Items::Produced(produce, next, count) => Items::Produced(produce.clone(), *next, *count),
        };
        let mut is_first = !self.started;
        while let Some(item) = items.next() {
            if !std::mem::take(&mut is_first) {
                all.extend_from_slice(self.separator);
            }
            all.extend_from_slice(&item.unwrap_or_default());
        }
        all.extend_from_slice(self.tail.as_deref().unwrap_or_default());
        all
    }

    /// Returns the number of bytes left to send, if it is known.
    pub fn left(&self) -> Option<usize> {
        (self.encoder.is_none() && matches!(self.items, Items::Encoded(_))).then_some(self.length)
    }

    /// Joins the next bytes.
    pub fn take_next(&mut self) -> Option<Bytes> {
        let Some(mut encoder) = self.encoder.take() else { return self.next_block() };
        while let Some(bytes) = self.next_block() {
            // Writing to memory cannot fail.
            let _ = encoder.write_all(&bytes);
            if encoder.get_ref().len() >= BLOCK / 8 {
                let gzipped = std::mem::take(encoder.get_mut());
                self.encoder = Some(encoder);
                return Some(gzipped.into());
            }
        }
        encoder.finish().ok().filter(|rest| !rest.is_empty()).map(Bytes::from)
    }

    fn next_block(&mut self) -> Option<Bytes> {
        let mut joined = BytesMut::new();
        while let Some(chunk) = self.next.take().or_else(|| self.following()) {
            // A large chunk is sent as it is.
            if joined.is_empty() && chunk.len() >= BLOCK {
                self.length = self.length.saturating_sub(chunk.len());
                return Some(chunk);
            }
            if joined.len() + chunk.len() > BLOCK && !joined.is_empty() {
                self.next = Some(chunk);
                break;
            }
            if joined.is_empty() {
                joined.reserve(BLOCK.min(self.length).max(chunk.len()));
            }
            joined.extend_from_slice(&chunk);
        }
        self.length = self.length.saturating_sub(joined.len());
        (!joined.is_empty()).then(|| joined.freeze())
    }

    fn following(&mut self) -> Option<Bytes> {
        if self.started && !self.separator.is_empty() && !self.items.is_empty() {
            self.started = false;
            return Some(Bytes::from_static(self.separator));
        }
        self.started = true;
        match self.items.next() {
            Some(Some(item)) => Some(item),
            // Without its end, the client does not take the document for a complete one.
            Some(None) => {
                (self.items, self.tail) = (Items::Encoded(Vec::new().into_iter()), None);
                None
            }
            None => self.tail.take(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn body(items: usize, size: usize) -> (ChunkedBody, Vec<u8>) {
        let items: Vec<Bytes> = (0..items).map(|at| vec![b'a' + (at % 26) as u8; size].into()).collect();
        let whole = [b"[".to_vec(), items.join(&b","[..]), b"]".to_vec()].concat();
        (ChunkedBody::new(Bytes::from_static(b"["), items, b",", Bytes::from_static(b"]")), whole)
    }

    fn drain(mut chunks: ChunkedBody) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(bytes) = chunks.take_next() {
            assert!(!bytes.is_empty());
            all.extend_from_slice(&bytes);
        }
        assert_eq!(chunks.take_next(), None);
        all
    }

    #[test]
    fn the_joined_body_is_complete_for_all_sizes() {
        for (items, size) in
            [(0, 0), (1, 1), (3, 10), (2000, 100), (3, BLOCK), (5, BLOCK - 1), (2, 3 * BLOCK)]
        {
            let (joined, whole) = body(items, size);
            assert_eq!((joined.length(), joined.left()), (whole.len(), Some(whole.len())));
            assert!(drain(joined) == whole, "{items} of {size}");
            let (gzipped, whole) = body(items, size);
            let mut unpacked = Vec::new();
            let gzipped = drain(gzipped.gzipped());
            flate2::read::GzDecoder::new(&gzipped[..]).read_to_end(&mut unpacked).unwrap();
            assert!(unpacked == whole, "{items} of {size}, compressed");
        }
    }

    #[test]
    fn produced_items_are_encoded_when_they_are_sent() {
        for (items, size) in [(0, 0), (1, 1), (2000, 100), (3, BLOCK), (5, BLOCK - 1)] {
            let whole = body(items, size).1;
            let made = Arc::new(std::sync::atomic::AtomicUsize::new(0));
            let count = made.clone();
            let produce = move |at: usize| {
                count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                Some(Bytes::from(vec![b'a' + (at % 26) as u8; size]))
            };
            let produce: Arc<Producer> = Arc::new(produce);
            let (head, tail) = (Bytes::from_static(b"["), Bytes::from_static(b"]"));
            let new = || ChunkedBody::produced(head.clone(), (items, 9), produce.clone(), b",", tail.clone());
            assert_eq!(new().left(), None);
            assert!(new().to_vec() == whole);
            assert!(drain(new()) == whole, "{items} of {size}");
            made.store(0, std::sync::atomic::Ordering::Relaxed);
            let first = new().take_next().unwrap().len();
            let made = made.load(std::sync::atomic::Ordering::Relaxed);
            assert!(made <= first / size.max(1) + 1, "{made} items for {first} bytes");
        }
    }

    #[test]
    fn a_body_with_an_item_that_cannot_be_encoded_has_no_end() {
        let produce: Arc<Producer> = Arc::new(|at| (at < 2).then(|| Bytes::from_static(b"x")));
        let (head, tail) = (Bytes::from_static(b"["), Bytes::from_static(b"]"));
        assert_eq!(drain(ChunkedBody::produced(head, (3, 3), produce, b",", tail)), b"[x,x,");
    }

    #[test]
    fn no_more_than_a_block_is_joined_at_once() {
        let (mut joined, _) = body(5000, 100);
        while let Some(bytes) = joined.take_next() {
            assert!(bytes.len() <= BLOCK);
        }
    }
}
