//! A response body made of many existing chunks, such as the encoded items of a list. They are joined, and compressed
//! if the client accepts that, 64 KiB at a time as the client reads: a large list is never copied as a whole and never
//! occupies a thread for long.

use bytes::{Bytes, BytesMut};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;

/// How many bytes are joined at a time.
const BLOCK: usize = 64 * 1024;

/// A body of existing chunks.
#[derive(Debug)]
pub struct ChunkedBody {
    /// A chunk that precedes the remaining items.
    next: Option<Bytes>,
    items: std::vec::IntoIter<Bytes>,
    separator: &'static [u8],
    tail: Option<Bytes>,
    started: bool,
    length: usize,
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl ChunkedBody {
    /// Creates a body of a head, items with a separator between them, and a tail.
    pub fn new(head: Bytes, items: Vec<Bytes>, separator: &'static [u8], tail: Bytes) -> ChunkedBody {
        let between = separator.len() * items.len().saturating_sub(1);
        let length = head.len() + items.iter().map(Bytes::len).sum::<usize>() + between + tail.len();
        let items = items.into_iter();
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
        for (at, item) in self.items.as_slice().iter().enumerate() {
            if at > 0 || self.started {
                all.extend_from_slice(self.separator);
            }
            all.extend_from_slice(item);
        }
        all.extend_from_slice(self.tail.as_deref().unwrap_or_default());
        all
    }

    /// Returns the number of bytes left to send, if it is known.
    pub fn left(&self) -> Option<usize> {
        self.encoder.is_none().then_some(self.length)
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
                self.length -= chunk.len();
                return Some(chunk);
            }
            if joined.len() + chunk.len() > BLOCK && !joined.is_empty() {
                self.next = Some(chunk);
                break;
            }
            if joined.is_empty() {
                joined.reserve(BLOCK.min(self.length));
            }
            joined.extend_from_slice(&chunk);
        }
        self.length -= joined.len();
        (!joined.is_empty()).then(|| joined.freeze())
    }

    fn following(&mut self) -> Option<Bytes> {
        if self.started && !self.separator.is_empty() && !self.items.as_slice().is_empty() {
            self.started = false;
            return Some(Bytes::from_static(self.separator));
        }
        self.started = true;
        self.items.next().or_else(|| self.tail.take())
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
    fn no_more_than_a_block_is_joined_at_once() {
        let (mut joined, _) = body(5000, 100);
        while let Some(bytes) = joined.take_next() {
            assert!(bytes.len() <= BLOCK);
        }
    }
}
