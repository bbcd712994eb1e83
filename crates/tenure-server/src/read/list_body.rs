//! A list as an answer: items that are encoded already, and what stands around them.

use crate::{
    Answer, Encoding, Failure, Format, Pieces, View, catalog::handler::Served, protobuf,
    read::view::ListMetadata,
};
use bytes::Bytes;
use tenure_value::{Text, Value, json};

/// Makes an answer of the items of a list.
pub(crate) fn list_of(
    served: &Served,
    format: Format,
    items: Vec<Bytes>,
    metadata: &ListMetadata,
) -> Result<Answer, Failure> {
    let (api_version, kind, metadata) = match format.view {
        View::Whole => (
            served.resource.api_version.clone(),
            format!("{}List", served.resource.kind).into(),
            metadata.of(served),
        ),
        _ => (Text::new("meta.k8s.io/v1"), Text::new("PartialObjectMetadataList"), metadata.value()),
    };
    let media_type = format.encoding.media_type();
    if format.encoding == Encoding::Protobuf {
        let around = Value::object([
            ("apiVersion", Value::from(api_version)),
            ("kind", Value::from(kind)),
            ("metadata", metadata),
        ]);
        let bytes = items.iter().map(Bytes::len).sum();
        let (head, tail) =
            protobuf::list_around(&around, bytes).map_err(|error| Failure::internal(error.to_string()))?;
        return Ok(Answer::pieces(media_type, Pieces::new(head, items, b"", tail)));
    }
    // The members in the order in which every object is printed.
    let mut head = b"{\"apiVersion\":".to_vec();
    json::write(&Value::from(api_version), &mut head);
    head.extend_from_slice(b",\"items\":[");
    let mut tail = b"],\"kind\":".to_vec();
    json::write(&Value::from(kind), &mut tail);
    tail.extend_from_slice(b",\"metadata\":");
    json::write(&metadata, &mut tail);
    tail.push(b'}');
    Ok(Answer::pieces(media_type, Pieces::new(head.into(), items, b",", tail.into())))
}
