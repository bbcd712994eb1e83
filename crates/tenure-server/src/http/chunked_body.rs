//! A body of many pieces that exist already, such as the items of a list. They are joined a little at a time as the
//! client reads, and compressed then if it asked for that: a large list is never in memory a second time, and never
//! holds a thread for long.

use bytes::{Bytes, BytesMut};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;

/// How many bytes are joined at a time.
const STRIDE: usize = 64 * 1024;

/// What a body is joined of.
#[derive(Debug)]
pub struct ChunkedBody {
    /// What comes next, before the items.
    next: Option<Bytes>,
    items: std::vec::IntoIter<Bytes>,
    separator: &'static [u8],
    tail: Option<Bytes>,
    begun: bool,
    length: usize,
    packer: Option<GzEncoder<Vec<u8>>>,
}

impl ChunkedBody {
    /// Makes a body of a head, items with a separator between them, and a tail.
    pub fn new(head: Bytes, items: Vec<Bytes>, separator: &'static [u8], tail: Bytes) -> ChunkedBody {
        let between = separator.len() * items.len().saturating_sub(1);
        let length = head.len() + items.iter().map(Bytes::len).sum::<usize>() + between + tail.len();
        let items = items.into_iter();
        ChunkedBody {
            next: Some(head),
            items,
            separator,
            tail: Some(tail),
            begun: false,
            length,
            packer: None,
        }
    }

    /// Compresses the body, fast rather than small.
    pub fn packed(mut self) -> ChunkedBody {
        self.packer = Some(GzEncoder::new(Vec::with_capacity(STRIDE / 4), Compression::fast()));
        self
    }

    /// Returns the number of bytes before compression.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns the number of bytes still to come, if that is known.
    pub fn left(&self) -> Option<usize> {
        self.packer.is_none().then_some(self.length)
    }

    /// Joins the next bytes.
    pub fn take_next(&mut self) -> Option<Bytes> {
        let Some(mut packer) = self.packer.take() else { return self.stride() };
        while let Some(bytes) = self.stride() {
            // Writing to memory cannot fail.
            let _ = packer.write_all(&bytes);
            if packer.get_ref().len() >= STRIDE / 8 {
                let packed = std::mem::take(packer.get_mut());
                self.packer = Some(packer);
                return Some(packed.into());
            }
        }
        packer.finish().ok().filter(|rest| !rest.is_empty()).map(Bytes::from)
    }

    fn stride(&mut self) -> Option<Bytes> {
        let mut joined = BytesMut::new();
        while let Some(piece) = self.next.take().or_else(|| self.following()) {
            // A large piece goes as it is.
            if joined.is_empty() && piece.len() >= STRIDE {
                self.length -= piece.len();
                return Some(piece);
            }
            if joined.len() + piece.len() > STRIDE && !joined.is_empty() {
                self.next = Some(piece);
                break;
            }
            if joined.is_empty() {
                joined.reserve(STRIDE.min(self.length));
            }
            joined.extend_from_slice(&piece);
        }
        self.length -= joined.len();
        (!joined.is_empty()).then(|| joined.freeze())
    }

    fn following(&mut self) -> Option<Bytes> {
        if self.begun && !self.separator.is_empty() && !self.items.as_slice().is_empty() {
            self.begun = false;
            return Some(Bytes::from_static(self.separator));
        }
        self.begun = true;
        self.items.next().or_else(|| self.tail.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn pieces(items: usize, size: usize) -> (ChunkedBody, Vec<u8>) {
        let items: Vec<Bytes> = (0..items).map(|at| vec![b'a' + (at % 26) as u8; size].into()).collect();
        let whole = [b"[".to_vec(), items.join(&b","[..]), b"]".to_vec()].concat();
        (ChunkedBody::new(Bytes::from_static(b"["), items, b",", Bytes::from_static(b"]")), whole)
    }

    fn drain(mut pieces: ChunkedBody) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(bytes) = pieces.take_next() {
            assert!(!bytes.is_empty());
            all.extend_from_slice(&bytes);
        }
        assert_eq!(pieces.take_next(), None);
        all
    }

    #[test]
    fn what_is_joined_is_whole_whatever_the_sizes() {
        for (items, size) in
            [(0, 0), (1, 1), (3, 10), (2000, 100), (3, STRIDE), (5, STRIDE - 1), (2, 3 * STRIDE)]
        {
            let (joined, whole) = pieces(items, size);
            assert_eq!((joined.length(), joined.left()), (whole.len(), Some(whole.len())));
            assert!(drain(joined) == whole, "{items} of {size}");
            let (packed, whole) = pieces(items, size);
            let mut unpacked = Vec::new();
            let packed = drain(packed.packed());
            flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
            assert!(unpacked == whole, "{items} of {size}, compressed");
        }
    }

    #[test]
    fn no_more_than_a_stride_is_joined_at_once() {
        let (mut joined, _) = pieces(5000, 100);
        while let Some(bytes) = joined.take_next() {
            assert!(bytes.len() <= STRIDE);
        }
    }
}
