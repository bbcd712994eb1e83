//! A proxy that translates requests to CBOR and their responses back to JSON.

use super::carry_protobuf::{Message, forward};
use std::{
    io,
    net::TcpStream,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};
use tenure_value::{Limits, Value, json, yaml};

const CBOR: &str = "application/cbor";
const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";

/// The number of bodies and responses that were sent as CBOR.
pub static COUNTS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Forwards one request and its response as CBOR.
pub fn carry(client: TcpStream, server: &str) -> io::Result<()> {
    forward(client, server, request_as_cbor, response_from_cbor)
}

fn request_as_cbor(request: &mut Message) {
    let is_json = request.is(JSON) || request.header("content-type").is_empty();
    let body = match request.first.split(' ').next() {
        Some("POST" | "PUT" | "DELETE") if is_json => as_cbor(&request.body, json::parse_checked),
        Some("PATCH") if request.is(APPLY) => as_cbor(&request.body, yaml::parse_checked),
        _ => None,
    };
    if let Some(body) = body {
        request.body = body;
        let media_type = if request.is(APPLY) { "application/apply-patch+cbor" } else { CBOR };
        request.set("content-type", media_type);
        COUNTS[0].fetch_add(1, Relaxed);
    }
    if matches!(request.header("accept"), "" | "*/*" | JSON) && !request.first.contains("watch") {
        request.set("accept", format!("{CBOR},{JSON};q=0.9"));
    }
}

fn response_from_cbor(response: &mut Message) {
    if response.is(CBOR) {
        let value = tenure_codec::cbor::decode(&response.body, &Limits::TRUSTED).expect("the body is CBOR");
        response.body = json::to_vec(&value);
        response.set("content-type", JSON);
        COUNTS[1].fetch_add(1, Relaxed);
    }
}

/// How a body is read: with the keys that occur twice.
type Parse<D> = fn(&[u8], &Limits) -> Result<(Value, Vec<D>), tenure_value::Error>;

/// Returns a body as CBOR if that is lossless.
fn as_cbor<D>(body: &[u8], parse: Parse<D>) -> Option<Vec<u8>> {
    let (value, duplicates) = parse(body, &Limits::default()).ok()?;
    let bytes = tenure_codec::cbor::encode(&value);
    let again = tenure_codec::cbor::decode(&bytes, &Limits::default()).ok()?;
    (duplicates.is_empty() && again == value).then_some(bytes)
}
