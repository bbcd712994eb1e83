//! All encodings are lossless: arbitrary sets and managers round-trip.

use crate::{arbitrary, corpus};
use proptest::{collection::vec, prelude::*};
use tenure_fields::{
    FieldSet,
    compact::{binary, nested_lists, tables},
    fields_v1,
};

/// Sets compare numbers by value; their text also distinguishes `1` from `1.0`.
fn same(found: &FieldSet, expected: &FieldSet) {
    assert_eq!(found, expected);
    assert_eq!(nested_lists::to_text(found), nested_lists::to_text(expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn sets_round_trip_through_every_encoding(set in arbitrary::set()) {
        same(&nested_lists::parse(&nested_lists::to_text(&set)).unwrap(), &set);
        same(&nested_lists::parse_with_table(&nested_lists::to_text_with_table(&set).unwrap()).unwrap(), &set);
        same(&binary::decode(&binary::encode(&set).unwrap()).unwrap(), &set);
    }

    #[test]
    fn sets_and_managers_round_trip_with_every_table(set in arbitrary::set(), records in vec(arbitrary::record(), 0..4)) {
        for table in tables::all() {
            same(&binary::decode(&binary::encode_with(&set, table).unwrap()).unwrap(), &set);
            let bytes = binary::encode_object_with(&records, table).unwrap();
            prop_assert_eq!(u32::from(bytes[0] & 0x7F), table.version());
            prop_assert_eq!(&binary::decode_object(&bytes).unwrap(), &records);
        }
    }

    #[test]
    fn managers_round_trip(records in vec(arbitrary::record(), 0..5)) {
        let bytes = binary::encode_object(&records).unwrap();
        let found = binary::decode_object(&bytes).unwrap();
        prop_assert_eq!(&found, &records);
        prop_assert_eq!(binary::encode_object(&found).unwrap(), bytes, "decoded managers encode to the same bytes");
    }

    #[test]
    fn an_encoder_is_independent_of_earlier_documents(
        first in arbitrary::set(),
        second in vec(arbitrary::record(), 0..3),
    ) {
        let mut encoder = binary::Encoder::default();
        prop_assert_eq!(encoder.encode(&first).unwrap(), binary::encode(&first).unwrap());
        prop_assert_eq!(encoder.encode_object(&second).unwrap(), binary::encode_object(&second).unwrap());
        prop_assert_eq!(encoder.encode(&first).unwrap(), binary::encode(&first).unwrap());
    }

    #[test]
    fn a_decoder_is_independent_of_earlier_documents(first in arbitrary::set(), cut in 0..200usize, second in arbitrary::set()) {
        let mut decoder = binary::Decoder::default();
        let bytes = binary::encode(&first).unwrap();
        let _ = decoder.decode(bytes.get(..cut).unwrap_or(&bytes));
        same(&decoder.decode(&binary::encode(&second).unwrap()).unwrap(), &second);
    }
}

#[test]
fn encodings_preserve_fields_v1() {
    for text in include_str!("../samples/recorded.jsonl").lines() {
        let set = fields_v1::parse(text.as_bytes()).unwrap();
        let through = binary::decode(&binary::encode(&set).unwrap()).unwrap();
        assert_eq!(fields_v1::to_vec(&through), fields_v1::to_vec(&set));
        let through = nested_lists::parse(&nested_lists::to_text(&set)).unwrap();
        assert_eq!(fields_v1::to_vec(&through), fields_v1::to_vec(&set));
    }
}

#[test]
fn levels_shared_by_managers_share_memory() {
    let Some(object) = corpus::deployment_with_two_owners() else { panic!("the set can be read") };
    let bytes = binary::encode_object(&object).unwrap();
    let alone = binary::encode_object(&object[..1]).unwrap();
    assert!(bytes.len() < alone.len() + 20, "{} bytes for two, {} for one", bytes.len(), alone.len());
    let records = binary::decode_object(&bytes).unwrap();
    match (&records[0].fields, &records[1].fields) {
        (Some(first), Some(second)) => assert!(first.ptr_eq(second)),
        _ => panic!("both have sets"),
    }
}

#[test]
fn empty_sets_and_empty_lists_of_managers_have_encodings() {
    let empty = FieldSet::default();
    assert_eq!(nested_lists::to_text(&empty), "[]");
    assert_eq!(nested_lists::to_text_with_table(&empty).unwrap(), "[1]");
    assert_eq!(binary::encode(&empty).unwrap(), [1, 252]);
    assert_eq!(binary::encode_object(&[]).unwrap(), [129, 0]);
    same(&binary::decode(&[1, 252]).unwrap(), &empty);
    assert_eq!(binary::decode_object(&[129, 0]).unwrap(), []);
}
