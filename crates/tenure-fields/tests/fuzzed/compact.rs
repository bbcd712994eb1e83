//! Properties of arbitrary bytes decoded as a compact encoding: they are rejected, or the decoded set
//! round-trips.

use tenure_fields::compact::{binary, nested_lists};

/// Decodes bytes with every compact encoding.
pub fn compact(bytes: &[u8]) {
    if let Ok(set) = binary::decode(bytes) {
        let again = binary::encode(&set).and_then(|bytes| binary::decode(&bytes));
        assert_eq!(again.as_ref(), Ok(&set), "a decoded set does not round-trip");
    }
    if let Ok(records) = binary::decode_object(bytes) {
        let again = binary::encode_object(&records).and_then(|bytes| binary::decode_object(&bytes));
        assert_eq!(again.as_ref(), Ok(&records), "decoded managers do not round-trip");
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(set) = nested_lists::parse(text) {
        assert_eq!(nested_lists::parse(&nested_lists::to_text(&set)).as_ref(), Ok(&set));
    }
    if let Ok(set) = nested_lists::parse_with_table(text) {
        let again =
            nested_lists::to_text_with_table(&set).and_then(|text| nested_lists::parse_with_table(&text));
        assert_eq!(again.as_ref(), Ok(&set));
    }
}
