//! Nothing is lost: any set and any managers come back from every form as they were.

use crate::{arbitrary, corpus};
use proptest::{collection::vec, prelude::*};
use tenure_fields::{
    FieldSet,
    compact::{binary, nested_lists},
    fields_v1,
};

/// Sets compare numbers by amount; their text tells `1` from `1.0` too.
fn same(found: &FieldSet, expected: &FieldSet) {
    assert_eq!(found, expected);
    assert_eq!(nested_lists::to_text(found), nested_lists::to_text(expected));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_set_comes_back_from_every_form(set in arbitrary::set()) {
        same(&nested_lists::parse(&nested_lists::to_text(&set)).unwrap(), &set);
        same(&nested_lists::parse_with_table(&nested_lists::to_text_with_table(&set).unwrap()).unwrap(), &set);
        same(&binary::decode(&binary::encode(&set).unwrap()).unwrap(), &set);
    }

    #[test]
    fn any_managers_come_back(records in vec(arbitrary::record(), 0..5)) {
        let bytes = binary::encode_object(&records).unwrap();
        let found = binary::decode_object(&bytes).unwrap();
        prop_assert_eq!(&found, &records);
        prop_assert_eq!(binary::encode_object(&found).unwrap(), bytes, "what was decoded is encoded the same");
    }

    #[test]
    fn an_encoder_is_not_disturbed_by_what_it_encoded_before(
        first in arbitrary::set(),
        second in vec(arbitrary::record(), 0..3),
    ) {
        let mut encoder = binary::Encoder::default();
        prop_assert_eq!(encoder.encode(&first).unwrap(), binary::encode(&first).unwrap());
        prop_assert_eq!(encoder.encode_object(&second).unwrap(), binary::encode_object(&second).unwrap());
        prop_assert_eq!(encoder.encode(&first).unwrap(), binary::encode(&first).unwrap());
    }

    #[test]
    fn a_decoder_is_not_disturbed_by_what_it_decoded_before(first in arbitrary::set(), cut in 0..200usize, second in arbitrary::set()) {
        let mut decoder = binary::Decoder::default();
        let bytes = binary::encode(&first).unwrap();
        let _ = decoder.decode(bytes.get(..cut).unwrap_or(&bytes));
        same(&decoder.decode(&binary::encode(&second).unwrap()).unwrap(), &second);
    }
}

#[test]
fn the_forms_keep_fields_v1_as_it_was() {
    for text in include_str!("../samples/recorded.jsonl").lines() {
        let set = fields_v1::parse(text.as_bytes()).unwrap();
        let through = binary::decode(&binary::encode(&set).unwrap()).unwrap();
        assert_eq!(fields_v1::to_vec(&through), fields_v1::to_vec(&set));
        let through = nested_lists::parse(&nested_lists::to_text(&set)).unwrap();
        assert_eq!(fields_v1::to_vec(&through), fields_v1::to_vec(&set));
    }
}

#[test]
fn levels_that_managers_share_are_shared_in_memory() {
    let Some(object) = corpus::deployment_held_twice() else { panic!("the set can be read") };
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
fn an_empty_set_and_no_managers_have_a_form() {
    let empty = FieldSet::default();
    assert_eq!(nested_lists::to_text(&empty), "[]");
    assert_eq!(nested_lists::to_text_with_table(&empty).unwrap(), "[1]");
    assert_eq!(binary::encode(&empty).unwrap(), [1, 252]);
    assert_eq!(binary::encode_object(&[]).unwrap(), [129, 0]);
    same(&binary::decode(&[1, 252]).unwrap(), &empty);
    assert_eq!(binary::decode_object(&[129, 0]).unwrap(), []);
}
