//! Compression of large responses for clients that accept gzip.

use super::{ChunkedBody, Response, ResponseBody};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use hyper::{HeaderMap, StatusCode, header};
use std::io::Write;

/// Responses from this size on are compressed for clients that accept it.
const COMPRESS_FROM: usize = 128 * 1024;

/// Whether a client accepts gzip.
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted =
        headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|coding| coding.split(';').next().is_some_and(|coding| coding.trim() == "gzip"))
}

/// Returns a chunk of a stream as a whole of its own: what is decompressed from all of them is the stream.
pub fn gzipped(chunk: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(chunk.len() / 4), Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(chunk);
    encoder.finish().unwrap_or_default().into()
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
