//! Hostile documents are refused with the byte and the field, in time and memory that their length bounds.

use crate::fuzzed;
use tenure_value::Limits;

fn refusal(bytes: &[u8]) -> String {
    fuzzed::cbor(bytes);
    tenure_codec::cbor::decode(bytes, &Limits::default()).unwrap_err().to_string()
}

#[test]
fn an_error_says_where_and_what() {
    for (bytes, message) in [
        (&b""[..], "byte 0: unexpected end of the document"),
        (b"\xd9\xd9\xf7", "byte 3: unexpected end of the document"),
        (b"\xff", "byte 0: 0xff does not start a data item"),
        (b"\x1c", "byte 0: 0x1c does not start a data item"),
        (b"\x1f", "byte 0: 0x1f does not start a data item"),
        (b"{\"a\":1}", "byte 7: unexpected end of the document"),
        (b"\x01\x02\x03", "byte 1: 2 bytes after the end of the document"),
        (b"\xa2\x41a\x01\x41a\x02", "byte 4: found duplicate map key \"a\""),
        (b"\xa2\x41a\x01\x61a\x02", "byte 4: found duplicate map key \"a\""),
        (b"\xbf\x41a\x01\x41a\x02\xff", "byte 4: found duplicate map key \"a\""),
        (b"\xa1\x44spec\x81\xa2\x41b\x01\x41b\x02", "byte 11, in spec[0]: found duplicate map key \"b\""),
        (b"\xa1\x01\x02", "byte 1: map key must be a string, got an integer"),
        (b"\xa1\xd6\x41a\x02", "byte 1: map key must be a string, got a tag"),
        (b"\xa1\x41a\x62\xff\xfe", "byte 3, in a: invalid UTF-8 string"),
        (b"\xa1\x41a\x42\xff\xfe", "byte 3, in a: invalid UTF-8 string"),
        (b"\xa1\x41\xff\x01", "byte 1: invalid UTF-8 string"),
        (b"\x7f\x61\xc3\x61\xbc\xff", "byte 1: invalid UTF-8 string"),
        (
            b"\x5f\x61a\xff",
            "byte 1: a chunk of an indefinite-length string must be a definite-length string of the same type",
        ),
        (
            b"\x5f\x5f\x41a\xff\xff",
            "byte 1: a chunk of an indefinite-length string must be a definite-length string of the same type",
        ),
        (b"\x1b\x80\0\0\0\0\0\0\0", "byte 0: integer is out of range; it must fit 64 signed bits"),
        (b"\x3b\x80\0\0\0\0\0\0\0", "byte 0: integer is out of range; it must fit 64 signed bits"),
        (b"\xf9\x7e\0", "byte 0: floating-point NaN has no representation in JSON"),
        (b"\xf9\x7c\0", "byte 0: floating-point infinity has no representation in JSON"),
        (b"\xfa\xff\x80\0\0", "byte 0: floating-point infinity has no representation in JSON"),
        (b"\xf7", "byte 0: simple value 23 is not accepted; only false, true and null are"),
        (b"\xf8\x20", "byte 0: simple value 32 is not accepted; only false, true and null are"),
        (b"\xe0", "byte 0: simple value 0 is not accepted; only false, true and null are"),
        (b"\xc2\x41\x01", "byte 0: tag 2 (bignum) is not accepted"),
        (b"\xc3\x41\x01", "byte 0: tag 3 (bignum) is not accepted"),
        (b"\xc0\x61x", "byte 0: tag 0 must enclose an RFC 3339 time"),
        (b"\xc1\x61x", "byte 0: tag 1 must enclose a number of seconds"),
        (b"\xc1\x1b\x7f\xff\xff\xff\xff\xff\xff\xff", "byte 0: tag 1 must enclose a number of seconds"),
        (b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff", "byte 9, in [0]: unexpected end of the document"),
        (b"\xbb\xff\xff\xff\xff\xff\xff\xff\xff", "byte 9: unexpected end of the document"),
        (b"\x5b\xff\xff\xff\xff\xff\xff\xff\xff", "byte 9: unexpected end of the document"),
    ] {
        assert_eq!(refusal(bytes), message, "{bytes:02x?}");
    }
}

#[test]
fn limits_are_enforced() {
    let nested = |first: &[u8], count: usize| [first.repeat(count), vec![0x01]].concat();
    for first in [&b"\x81"[..], b"\xa1\x40", b"\x9f", b"\xd9\x04\xd2", b"\xd6"] {
        let message = refusal(&nested(first, 1_000_000));
        assert!(message.ends_with("nested more than 256 levels deep"), "{}", message.len());
    }
    let deepest = [nested(b"\x81", Limits::DEPTH)].concat();
    assert!(tenure_codec::cbor::decode(&deepest, &Limits::default()).is_ok());
    let prefixed = [&tenure_codec::cbor::SELF_DESCRIBED[..], &deepest].concat();
    assert!(tenure_codec::cbor::decode(&prefixed, &Limits::default()).is_ok());
    let many = [&b"\x9a\x00\x0f\x42\x41"[..], &[0xf6; 1_000_001]].concat();
    assert_eq!(refusal(&many), "byte 1000004, in [999999]: the document has more than 1000000 values");
    let long = vec![0; (3 << 20) + 1];
    assert_eq!(refusal(&long), "byte 0: the document has 3145729 bytes; at most 3145728 are accepted");
    // A map of many keys takes no more than the time to sort them.
    let mut map = b"\xba\x00\x03\x0d\x40".to_vec();
    for at in (0..200_000u32).rev() {
        map.extend_from_slice(&[0x48]);
        map.extend_from_slice(format!("{at:08}").as_bytes());
        map.push(0xf6);
    }
    assert!(tenure_codec::cbor::decode(&map, &Limits::default()).is_ok());
}
