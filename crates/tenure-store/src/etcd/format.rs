//! The key that describes the store under the prefix: its format, the offset of its revisions, and whether an import is
//! complete.

use super::call_error::CallError;
use super::cluster::Cluster;
use super::keys::Keys;
use super::revisions::Offset;
use super::wire::{Compare, RANGE, RangeRequest, RangeResponse, RequestOp, TXN, TxnRequest, TxnResponse};
use crate::{Error, Result};
use bytes::Bytes;
use tokio::time::Instant;

const WORD: &str = "tenure-store";
const NUMBER: u32 = 2;

/// The state of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Complete.
    Ready,
    /// An import is under way or was interrupted.
    Importing,
}

/// The description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) offset: Offset,
    pub(super) state: State,
}

impl Format {
    pub(super) fn encode(self) -> Bytes {
        let state = match self.state {
            State::Ready => "ready",
            State::Importing => "importing",
        };
        format!("{WORD} {NUMBER} {} {state}\n", self.offset.0).into()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Format> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut words = text.split_whitespace();
        let known = words.next()? == WORD && words.next()?.parse() == Ok(NUMBER);
        let offset = Offset(words.next()?.parse().ok()?);
        let state = match words.next()? {
            "ready" => State::Ready,
            "importing" => State::Importing,
            _ => return None,
        };
        (known && words.next().is_none()).then_some(Format { offset, state })
    }
}

/// Reads the description, or creates one if there is none.
pub(super) async fn open(cluster: &Cluster, keys: &Keys, deadline: Instant) -> Result<Offset> {
    match read(cluster, keys, deadline).await? {
        Some(Format { offset, state: State::Ready }) => return Ok(offset),
        Some(Format { state: State::Importing, .. }) => {
            let reason =
                "an import into this prefix is under way or was interrupted; wait for it, or import again";
            return Err(Error::Invalid(reason.to_owned()));
        }
        None => {}
    }
    let new = Format { offset: Offset::default(), state: State::Ready };
    let request = TxnRequest {
        compare: vec![Compare::absent(keys.format())],
        success: vec![RequestOp::put(keys.format(), new.encode())],
        failure: Vec::new(),
    };
    let answer: TxnResponse = cluster.persist(TXN, &request, deadline).await.map_err(super::unavailable)?;
    if answer.succeeded {
        return Ok(new.offset);
    }
    match read(cluster, keys, deadline).await? {
        Some(Format { offset, state: State::Ready }) => Ok(offset),
        _ => {
            Err(super::unavailable(CallError::Unreachable("another server is creating the store".to_owned())))
        }
    }
}

/// Reads the description.
pub(super) async fn read(cluster: &Cluster, keys: &Keys, deadline: Instant) -> Result<Option<Format>> {
    let request = RangeRequest { key: keys.format(), ..RangeRequest::default() };
    let answer: RangeResponse =
        cluster.persist(RANGE, &request, deadline).await.map_err(super::unavailable)?;
    let Some(kv) = answer.kvs.first() else { return Ok(None) };
    match Format::decode(&kv.value) {
        Some(format) => Ok(Some(format)),
        None => Err(Error::Invalid(format!(
            "the etcd key {} says {:?}, which this version does not know; use the version that wrote it, or another prefix",
            kv.key.escape_ascii(),
            String::from_utf8_lossy(&kv.value)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_round_trip_and_others_are_refused() {
        for state in [State::Ready, State::Importing] {
            let format = Format { offset: Offset(77), state };
            assert_eq!(Format::decode(&format.encode()), Some(format));
        }
        let refused = [
            "",
            "tenure-store 1 0 ready",
            "tenure-store 3 0 ready",
            "tenure-store 2 x ready",
            "tenure-store 2 0 ready more",
            "other 2 0 ready",
        ];
        for text in refused {
            assert_eq!(Format::decode(text.as_bytes()), None, "{text}");
        }
    }
}
