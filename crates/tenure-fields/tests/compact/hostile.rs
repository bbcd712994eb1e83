//! Malicious input results in an error with a position, within the limits and without a panic.

use crate::{arbitrary, corpus, fuzzed::compact};
use proptest::{collection::vec, prelude::*};
use tenure_fields::{
    Error,
    compact::{binary, nested_lists},
};

/// Codes of the binary encoding, from `docs/internals/compact-fields.md`.
const FIELD_CHILDREN: u8 = 208 + 8;
const TEXT_ITSELF: u8 = 232;
const VALUE_ITSELF: u8 = 244;
const TEXT_CHILDREN: u8 = 233;
const END: u8 = 250;
const REPEAT: u8 = 251;
const DONE: u8 = 252;

fn refused(bytes: &[u8]) -> String {
    match binary::decode(bytes) {
        Ok(set) => panic!("{bytes:?} was decoded as {set:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn invalid_input_is_rejected_with_the_position() {
    let cases: &[(&[u8], &str)] = &[
        (&[], "byte 0: empty input, expected a version byte"),
        (&[0, DONE], "unknown table 0"),
        (
            &[77, DONE],
            "unknown table 77; this release supports tables up to 2, the data was written by a later release",
        ),
        (&[127, DONE], "byte 0: found a reserved version byte, used only by later releases"),
        (&[129, 0], "byte 0: found the managers of an object, expected one set"),
        (&[1], "byte 1: unexpected end of the document"),
        (&[1, DONE, DONE], "byte 2: unexpected bytes after the end"),
        (&[1, 255, 0], "byte 1: the table has no phrase with this number"),
        (&[1, END], "the outermost level must end with the set"),
        (&[1, REPEAT, 0], "byte 2: cannot repeat the level 0 before the last, there are 0"),
        (&[1, FIELD_CHILDREN, 0, DONE], "a level must have at least one node"),
        (&[1, FIELD_CHILDREN + 7, 255], "the table has no string with this number"),
        (&[1, TEXT_ITSELF, 0x80], "the document has no string 0 yet"),
        (&[1, TEXT_ITSELF, 0xB0, 0xFF, 0x7F], "the table has no string 16383"),
        (&[1, TEXT_ITSELF, 0xC4, b'x'], "a string shares more bytes with the previous one than that one has"),
        (&[1, TEXT_ITSELF, 0xBF], "code 191 does not start a string"),
        (&[1, TEXT_ITSELF, 2, 0xC3, 0x28], "byte 3: a string is not UTF-8"),
        (&[1, TEXT_ITSELF, 5, b'a'], "a length of 5 bytes exceeds the rest of the document"),
        (&[1, TEXT_ITSELF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F], "bytes exceeds the rest of the document"),
        (&[1, TEXT_ITSELF, b'b', TEXT_ITSELF, b'a', DONE], "follows"),
        (&[1, TEXT_ITSELF, b'b', TEXT_ITSELF, b'b', DONE], "follows"),
        (&[1, VALUE_ITSELF, 0xB7, 0x80, 0], "a number is truncated, not minimal or exceeds 64 bits"),
        (&[1, VALUE_ITSELF, 0xB9, 0, 0, 0, 0, 0, 0, 0xF8, 0x7F], "a float is not a finite number"),
        (&[1, VALUE_ITSELF, 0xBA, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F], "exceeds the remaining 0 bytes"),
        (&[1, VALUE_ITSELF, 0xBB, 2, b'b', 0xB4, b'a', 0xB4], "not in sorted order"),
        (&[1, 235, 99], "the table has no key pattern with this number"),
        (&[1, 238, 0], "the previous node has no key"),
    ];
    for (bytes, expected) in cases {
        let found = refused(bytes);
        assert!(found.contains(expected), "{bytes:?}: {found}");
    }
}

#[test]
fn invalid_managers_are_rejected() {
    for (bytes, expected) in [
        (&[1, DONE][..], "found one set, expected the managers of an object"),
        (&[129, 200, 1], "exceeds the remaining"),
        (&[129, 1, 0x80, b'm', 0, 2], "expected 0 (no set) or 1 (a set)"),
        (&[129, 1, 0x04, b'm', 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, DONE], "between 0 and 9999"),
        (&[129, 0, 0], "unexpected bytes after the end"),
    ] {
        let found = binary::decode_object(bytes).unwrap_err().to_string();
        assert!(found.contains(expected), "{bytes:?}: {found}");
    }
}

#[test]
fn nesting_beyond_the_limit_is_rejected() {
    let mut bytes = vec![1];
    for _ in 0..100_000 {
        bytes.extend([TEXT_CHILDREN, b'a']);
    }
    assert!(matches!(binary::decode(&bytes), Err(Error::TooDeep { .. })));
    let mut values = vec![1, VALUE_ITSELF];
    values.extend([0xBA, 1].repeat(100_000));
    assert!(matches!(binary::decode(&values), Err(Error::TooDeep { .. })));
    assert!(matches!(nested_lists::parse(&"[4,\"a\",".repeat(100_000)), Err(Error::TooDeep { .. })));
    assert!(matches!(
        nested_lists::parse(&format!("[1,{}", "[".repeat(100_000))),
        Err(Error::TooDeep { .. })
    ));
}

#[test]
fn exponential_repetition_is_rejected() {
    // Each level contains the previous one twice: forty of them would be 10¹² nodes.
    let mut bytes = vec![1];
    bytes.extend([TEXT_CHILDREN, b'a', TEXT_CHILDREN, b'a', TEXT_ITSELF, b'a', TEXT_ITSELF, b'b', END]);
    bytes.extend([TEXT_CHILDREN, b'b', REPEAT, 0, END]);
    for name in b'b'..b'b' + 40 {
        bytes.extend([
            TEXT_CHILDREN,
            name,
            TEXT_CHILDREN,
            b'a',
            REPEAT,
            0,
            TEXT_CHILDREN,
            b'b',
            REPEAT,
            0,
            END,
        ]);
    }
    bytes.push(DONE);
    assert!(
        matches!(binary::decode(&bytes), Err(Error::TooLarge { .. })),
        "{:?}",
        binary::decode(&bytes).map(|_| ())
    );
}

#[test]
fn truncated_or_corrupted_documents_never_panic() {
    let object = corpus::deployment_with_two_owners().expect("the set can be read");
    let bytes = binary::encode_object(&object).unwrap();
    for length in 0..bytes.len() {
        assert!(binary::decode_object(&bytes[..length]).is_err(), "cut to {length}");
    }
    for at in 0..bytes.len() {
        for change in [0x01, 0x80, 0xFF] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            compact(&changed);
        }
    }
}

#[test]
fn invalid_text_is_rejected_with_the_position() {
    for (text, expected) in [
        ("", "expected a list"),
        ("[0", "found the end of the text"),
        ("[12,\"a\"]", "expected a number from 0 to 11"),
        ("[0,1]", "found a integer, expected a string after 0"),
        ("[4,\"a\"]", "a comma and the list of children"),
        ("[4,\"a\",[]]", "expected elements in the list that 4 announces"),
        ("[0,\"b\",0,\"a\"]", "not sorted"),
        ("[0,!0]", "found '!', expected a string"),
        ("[0,\"a\"] x", "expected the end of the text"),
        ("[3,{\"a\":1,\"a\":2}]", "duplicate name"),
    ] {
        let found = nested_lists::parse(text).map(|set| format!("{set:?}")).unwrap_err().to_string();
        assert!(found.contains(expected), "{text}: {found}");
    }
    for (text, expected) in [
        ("[0,!0]", "unknown table 0"),
        ("[\"a\"]", "expected the version of a table"),
        ("[1,0,!zzzz]", "expected the number of one of the"),
        ("[1,0,!00]", "expected the number of one of the"),
        ("[1,0,!]", "expected the number of one of the"),
        ("[1,]", "an element after the comma"),
        ("[1 0,\"a\"]", "a comma or the end of the list"),
    ] {
        let found =
            nested_lists::parse_with_table(text).map(|set| format!("{set:?}")).unwrap_err().to_string();
        assert!(found.contains(expected), "{text}: {found}");
    }
}

#[test]
fn saved_fuzz_inputs_never_panic() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/compact");
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder).expect("the saved inputs exist").flatten() {
        let bytes = std::fs::read(entry.path()).expect("an input can be read");
        compact(&bytes);

        inputs += 1;
    }
    assert!(inputs > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in vec(any::<u8>(), 0..200), version in prop::sample::select(vec![1u8, 129])) {
        compact(&bytes);
        bytes.insert(0, version);
        compact(&bytes);
    }

    #[test]
    fn corrupted_documents_never_panic(set in arbitrary::set(), changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = binary::encode(&set).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        compact(&bytes);
    }

    #[test]
    fn arbitrary_text_never_panics(text in r#"[\[\]{}0-9,:!"a-c\\. -]{0,40}"#) {
        compact(text.as_bytes());
    }
}
