//! Compression of large responses for clients that accept gzip.

use super::{ChunkedBody, Response, ResponseBody};
use bytes::Bytes;
use flate2::{Compress, Compression, Crc, FlushCompress};
use hyper::{HeaderMap, StatusCode, header};

/// Responses from this size on are compressed for clients that accept it.
const COMPRESS_FROM: usize = 128 * 1024;

/// Whether a client accepts gzip.
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let Some(accepted) = accepted else { return false };
    accepted.split(',').any(|coding| coding.split(';').next().is_some_and(|coding| coding.trim() == "gzip"))
}

/// A stream in gzip whose pieces can be read as they arrive. It is one member, since many clients read no further than the first. Pieces are
/// compressed until [`store`](GzipStream::store); later ones are stored as they are, which needs neither time nor the 300 KB of a compressor.
pub struct GzipStream {
    compressor: Option<Compress>,
    checksum: Crc,
    has_begun: bool,
}

impl Default for GzipStream {
    fn default() -> GzipStream {
        let compressor = Some(Compress::new(Compression::fast(), false));
        GzipStream { compressor, checksum: Crc::new(), has_begun: false }
    }
}

impl GzipStream {
    /// Returns what to send for a piece.
    pub fn piece(&mut self, bytes: &[u8]) -> Bytes {
        let mut sent = self.begin(bytes.len() / 4);
        self.checksum.update(bytes);
        match &mut self.compressor {
            Some(compressor) => deflate(compressor, bytes, &mut sent),
            None => {
                bytes.chunks(usize::from(u16::MAX)).for_each(|part| store(part, false, &mut sent));
                // Some decoders, Go's among them, hand out what they have when they meet an empty block, not before.
                store(&[], false, &mut sent);
            }
        }
        sent.into()
    }

    /// Stores later pieces without compressing them.
    pub fn store(&mut self) {
        self.compressor = None;
    }

    /// Returns what ends the stream.
    pub fn finish(mut self) -> Bytes {
        let mut sent = self.begin(0);
        store(&[], true, &mut sent);
        sent.extend_from_slice(&self.checksum.sum().to_le_bytes());
        sent.extend_from_slice(&self.checksum.amount().to_le_bytes());
        sent.into()
    }

    /// Returns room for a piece, after the header if it is the first.
    fn begin(&mut self, room: usize) -> Vec<u8> {
        let mut sent = Vec::with_capacity(room + 64);
        if !std::mem::replace(&mut self.has_begun, true) {
            // Deflate, without a name or a time, of an unknown system.
            sent.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
        }
        sent
    }
}

/// Compresses bytes up to the end of a byte, where another block can begin.
fn deflate(compressor: &mut Compress, bytes: &[u8], sent: &mut Vec<u8>) {
    let start = compressor.total_in();
    loop {
        sent.reserve(1024);
        let consumed = usize::try_from(compressor.total_in() - start).unwrap_or(bytes.len());
        let rest = bytes.get(consumed..).unwrap_or_default();
        // Compressing to memory fails only if it is used wrongly; what is left over is tried again with more room.
        let has_failed = compressor.compress_vec(rest, sent, FlushCompress::Sync).is_err();
        let consumed = usize::try_from(compressor.total_in() - start).unwrap_or(bytes.len());
        if has_failed || (consumed >= bytes.len() && sent.len() < sent.capacity()) {
            return;
        }
    }
}

/// Adds a block that is not compressed, of at most 65,535 bytes.
fn store(bytes: &[u8], is_last: bool, sent: &mut Vec<u8>) {
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    sent.push(u8::from(is_last));
    sent.extend_from_slice(&length.to_le_bytes());
    sent.extend_from_slice(&(!length).to_le_bytes());
    sent.extend_from_slice(bytes);
}

/// Compresses a large successful response while it is sent.
pub fn compress(mut response: Response) -> Response {
    if response.headers.contains_key(header::CONTENT_ENCODING) {
        return response;
    }
    let chunks = match response.body {
        ResponseBody::Whole(bytes) if bytes.len() >= COMPRESS_FROM => {
            ChunkedBody::new(bytes, Vec::new(), b"", Bytes::new())
        }
        ResponseBody::Chunked(chunks) if chunks.length() >= COMPRESS_FROM => *chunks,
        _ => return response,
    };
    if response.code != StatusCode::OK {
        response.body = ResponseBody::Chunked(Box::new(chunks));
        return response;
    }
    response.body = ResponseBody::Chunked(Box::new(chunks.gzipped()));
    response.headers.insert(header::CONTENT_ENCODING, header::HeaderValue::from_static("gzip"));
    response.headers.append(header::VARY, header::HeaderValue::from_static("Accept-Encoding"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn pieces_can_be_read_as_they_arrive_and_are_one_member() {
        let large: Vec<u8> =
            (0..300_000_u32).map(|number| (number.wrapping_mul(number) >> 7) as u8).collect();
        for compressed in 0..=3 {
            let (mut stream, mut sent, mut expected) = (GzipStream::default(), Vec::new(), Vec::new());
            for (place, piece) in [&b"one\n"[..], &large, &[b'x'; 70_000], b""].into_iter().enumerate() {
                if place == compressed {
                    stream.store();
                }
                sent.extend_from_slice(&stream.piece(piece));
                assert!(
                    sent.ends_with(&[0, 0, 0xff, 0xff]),
                    "{place} of {compressed} ends with an empty block"
                );
                expected.extend_from_slice(piece);
                let mut read = vec![0; expected.len()];
                flate2::read::GzDecoder::new(&sent[..]).read_exact(&mut read).expect("what was sent so far");
                assert!(read == expected, "{place} of {compressed}");
            }
            sent.extend_from_slice(&stream.finish());
            let (mut decoder, mut read) = (flate2::bufread::GzDecoder::new(&sent[..]), Vec::new());
            decoder.read_to_end(&mut read).expect("a whole stream");
            assert!(read == expected && decoder.into_inner().is_empty());
        }
    }
}
