//! The bodies of the fuzz targets: properties of arbitrary input, also run by an ordinary test.

use tenure_fields::{Path, fields_v1, fields_v1::Order};
use tenure_schema::TypeRef;
use tenure_value::{Limits, json};

/// A text that parses as a field set formats and parses to the same set, and parses to the same set as part
/// of a document.
pub fn fields_v1(bytes: &[u8]) {
    let Ok((set, order)) = fields_v1::parse_ordered(bytes) else { return };
    let mut text = Vec::new();
    fields_v1::write_in(&set, order, &mut text);
    assert_eq!(fields_v1::parse(&text).as_ref(), Ok(&set));
    assert_eq!(fields_v1::from_value(&fields_v1::to_value(&set)).as_ref(), Ok(&set));
    if order == Order::Elements
        && let Ok(value) = json::parse(bytes, &Limits::default())
    {
        // In the order of elements none occurs twice, so the text has only one meaning.
        assert_eq!(fields_v1::from_value(&value).as_ref(), Ok(&set));
    }
    assert!(set.union(&set).ptr_eq(&set) && set.difference(&set).is_empty());
}

/// A text that parses as a path parses to the same path from its formatted text.
pub fn path(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(path) = Path::parse(text) {
        assert_eq!(Path::parse(&path.quoted().to_string()).as_ref(), Ok(&path));
        let _ = path.to_string();
    }
    if let Ok(path) = Path::parse_in(text, TypeRef::untyped(), None) {
        assert_eq!(Path::parse(&path.quoted().to_string()).as_ref(), Ok(&path));
    }
}
