//! The frames of a watch: an event and the object it is about, in JSON, protobuf or CBOR.

use bytes::Bytes;
use tenure_catalog::object::{Stored, partial, shown_as};
use tenure_http::{Encoding, Format, View};
use tenure_meta::ApiError;
use tenure_store::Revision;
use tenure_value::{Value, json};

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
}

impl Event {
    pub fn word(self) -> &'static str {
        match self {
            Event::Added => "ADDED",
            Event::Modified => "MODIFIED",
            Event::Deleted => "DELETED",
            Event::Bookmark => "BOOKMARK",
            Event::Error => "ERROR",
        }
    }
}

/// Returns the frame of an object at a revision.
pub(super) fn object_frame(stored: &Stored, revision: Revision, format: Format, event: Event) -> Bytes {
    let object = shown_as(&stored.object, &stored.managers, format.managed_fields, revision);
    let object = match format.view {
        View::Whole => object,
        _ => partial(&object, format.meta_version),
    };
    frame(event, &object, format.encoding)
}

/// Returns the frame of a document.
pub(super) fn frame(event: Event, object: &Value, encoding: Encoding) -> Bytes {
    match encoding {
        Encoding::Protobuf => tenure_codec::protobuf::event(event.word(), object).unwrap_or_else(|error| {
            let failure = ApiError::internal(error.to_string());
            tenure_codec::protobuf::event(Event::Error.word(), &failure.status()).unwrap_or_default()
        }),
        Encoding::Cbor => tenure_codec::cbor::event(event.word(), object),
        _ => around(event, &json::to_vec(object), encoding),
    }
}

/// Returns the frame of a document that is encoded already.
pub(super) fn around(event: Event, document: &[u8], encoding: Encoding) -> Bytes {
    match encoding {
        Encoding::Protobuf => {
            return tenure_codec::protobuf::event_from_encoded(event.word(), document).unwrap_or_default();
        }
        Encoding::Cbor => return tenure_codec::cbor::event_from_encoded(event.word(), document),
        Encoding::Json | Encoding::Yaml => {}
    }
    let parts: [&[u8]; 5] = [b"{\"type\":\"", event.word().as_bytes(), b"\",\"object\":", document, b"}\n"];
    Bytes::from(parts.concat())
}
