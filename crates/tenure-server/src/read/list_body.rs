//! A list as a response: items that are encoded already, or while they are sent, between the beginning and the end of the document.

use bytes::Bytes;
use std::sync::Arc;
use tenure_catalog::ResourceHandler;
use tenure_http::{ChunkedBody, Encoding, Format, Producer, Response, View};
use tenure_meta::ApiError;
use tenure_store::Revision;
use tenure_value::{Text, Value, json};

/// The metadata of a list.
#[derive(Default)]
pub struct ListMetadata {
    /// The revision that it shows.
    pub revision: Revision,
    /// The token of the next page.
    pub resume: Option<String>,
    /// How many objects follow, if that is known.
    pub remaining: Option<usize>,
    /// The selector of the shard that it shows.
    pub shard: Option<String>,
}

impl ListMetadata {
    /// Returns the `metadata` of a list of whole objects. The last page of custom objects has an empty token, that of a
    /// built-in kind has none.
    pub fn of(&self, handler: &ResourceHandler) -> Value {
        self.with_token(handler.is_custom().then_some(""))
    }

    /// Returns the `metadata` of a table, or of a list of metadata.
    pub fn value(&self) -> Value {
        self.with_token(None)
    }

    fn with_token(&self, at_the_end: Option<&str>) -> Value {
        let mut fields = vec![("resourceVersion", Value::from(self.revision.to_string()))];
        if let Some(token) = self.resume.as_deref().or(at_the_end) {
            fields.push(("continue", Value::from(token)));
        }
        if let Some(remaining) = self.remaining {
            fields.push(("remainingItemCount", Value::from(remaining as u64)));
        }
        if let Some(shard) = &self.shard {
            fields.push(("shardInfo", Value::object([("selector", Value::from(shard.as_str()))])));
        }
        Value::object(fields)
    }
}

/// The items of a list.
pub(crate) enum Items {
    /// Encoded: so many, in order; a piece may be several of them, joined.
    Encoded { count: usize, pieces: Vec<Bytes> },
    /// Encoded while they are sent: so many, of so many bytes, which need to be exact for protobuf only.
    Produced { count: usize, bytes: usize, produce: Arc<Producer> },
}

impl Items {
    fn count(&self) -> usize {
        match self {
            Items::Encoded { count, .. } | Items::Produced { count, .. } => *count,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Items::Encoded { pieces, .. } => pieces.iter().map(Bytes::len).sum(),
            Items::Produced { bytes, .. } => *bytes,
        }
    }

    fn between(self, head: Bytes, separator: &'static [u8], tail: Bytes) -> ChunkedBody {
        match self {
            Items::Encoded { pieces, .. } => ChunkedBody::new(head, pieces, separator, tail),
            Items::Produced { count, bytes, produce } => {
                ChunkedBody::produced(head, (count, bytes), produce, separator, tail)
            }
        }
    }
}

/// Returns a list of items.
pub(crate) fn list_of(
    handler: &ResourceHandler,
    format: Format,
    items: Items,
    metadata: &ListMetadata,
) -> Result<Response, ApiError> {
    let (api_version, kind, metadata) = match format.view {
        View::Whole => {
            (handler.resource.api_version.clone(), handler.resource.list_kind.clone(), metadata.of(handler))
        }
        _ => (
            Text::new_static(format.meta_version.api_version()),
            Text::new_static("PartialObjectMetadataList"),
            metadata.value(),
        ),
    };
    let media_type = format.encoding.media_type();
    if format.encoding == Encoding::Protobuf {
        let envelope = Value::object([
            ("apiVersion", Value::from(api_version)),
            ("kind", Value::from(kind)),
            ("metadata", metadata),
        ]);
        let (head, tail) = tenure_codec::protobuf::list_envelope(&envelope, items.bytes())
            .map_err(|error| ApiError::internal(error.to_string()))?;
        return Ok(Response::pieces(media_type, items.between(head, b"", tail)));
    }
    // A list of metadata without items has none at all, as in Kubernetes.
    let is_null = items.count() == 0 && format.view != View::Whole;
    if format.encoding == Encoding::Cbor {
        let count = (!is_null).then_some(items.count());
        let (head, tail) = tenure_codec::cbor::list_envelope(&api_version, &kind, &metadata, count);
        return Ok(Response::pieces(media_type, items.between(head, b"", tail)));
    }
    // The members in alphabetical order, as in every object.
    let mut head = b"{\"apiVersion\":".to_vec();
    json::write(&Value::from(api_version), &mut head);
    let open: &[u8] = if is_null { b",\"items\":null" } else { b",\"items\":[" };
    head.extend_from_slice(open);
    let mut tail = if is_null { b",\"kind\":".to_vec() } else { b"],\"kind\":".to_vec() };
    json::write(&Value::from(kind), &mut tail);
    tail.extend_from_slice(b",\"metadata\":");
    json::write(&metadata, &mut tail);
    tail.push(b'}');
    Ok(Response::pieces(media_type, items.between(head.into(), b",", tail.into())))
}
