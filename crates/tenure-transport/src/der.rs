//! A minimal DER reader that finds names and keys in certificates and key files.

use tenure_value::time::{Precision, Timestamp};

/// A reader of tag-length-value elements.
#[derive(Clone, Copy)]
pub struct Der<'d>(&'d [u8]);

/// The tag of an integer.
pub const INTEGER: u8 = 0x02;
/// The tag of a bit string.
pub const BIT_STRING: u8 = 0x03;
/// The tag of an object identifier.
pub const OBJECT_IDENTIFIER: u8 = 0x06;
/// The tag of a sequence.
pub const SEQUENCE: u8 = 0x30;
/// The tag of a set.
pub const SET: u8 = 0x31;
/// The explicitly tagged version of a certificate.
const VERSION: u8 = 0xa0;

/// One element.
#[derive(Clone, Copy)]
pub struct Element<'d> {
    /// Its tag.
    pub tag: u8,
    /// Its content.
    pub content: &'d [u8],
    /// The element with its tag and length.
    pub whole: &'d [u8],
}

impl<'d> Der<'d> {
    /// Returns a reader of the elements of bytes.
    pub fn new(bytes: &'d [u8]) -> Der<'d> {
        Der(bytes)
    }

    /// Reads the next element, which must have a tag.
    pub fn expect(&mut self, tag: u8) -> Option<Element<'d>> {
        self.next().filter(|element| element.tag == tag)
    }
}

impl<'d> Iterator for Der<'d> {
    type Item = Element<'d>;

    /// Reads the next element of any tag.
    fn next(&mut self) -> Option<Element<'d>> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first);
        if first & 0x80 != 0 {
            let count = usize::from(first & 0x7f);
            if count == 0 || count > 4 || rest.len() < count {
                return None;
            }
            let (digits, after) = rest.split_at(count);
            length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
            rest = after;
        }
        if rest.len() < length {
            return None;
        }
        let (content, after) = rest.split_at(length);
        let whole = &self.0[..self.0.len() - after.len()];
        self.0 = after;
        Some(Element { tag, content, whole })
    }
}

impl<'d> Element<'d> {
    /// Returns a reader of the elements inside.
    pub fn inside(&self) -> Der<'d> {
        Der(self.content)
    }
}

/// The parts of a certificate that identify its subject.
pub struct CertificateParts<'d> {
    /// The relative distinguished names.
    pub subject: Der<'d>,
    /// When the certificate expires, in seconds since 1970; `None` if that cannot be read.
    pub not_after: Option<i64>,
    /// The SubjectPublicKeyInfo with its tag.
    pub public_key: &'d [u8],
}

/// Finds the subject and the public key of a certificate.
pub fn certificate_parts(certificate: &[u8]) -> Option<CertificateParts<'_>> {
    let mut fields = Der::new(certificate).expect(SEQUENCE)?.inside().expect(SEQUENCE)?.inside();
    let first = fields.next()?;
    if first.tag == VERSION {
        fields.expect(INTEGER)?;
    }
    fields.expect(SEQUENCE)?; // signature algorithm
    fields.expect(SEQUENCE)?; // issuer
    let mut validity = fields.expect(SEQUENCE)?.inside();
    let not_after =
        validity.next().and_then(|_| validity.next()).and_then(|end| seconds(end.tag, end.content));
    let subject = fields.expect(SEQUENCE)?.inside();
    let public_key = fields.expect(SEQUENCE)?.whole;
    Some(CertificateParts { subject, not_after, public_key })
}

/// Reads a UTCTime or a GeneralizedTime, both of which end in `Z`.
fn seconds(tag: u8, content: &[u8]) -> Option<i64> {
    const UTC_TIME: u8 = 0x17;
    const GENERALIZED_TIME: u8 = 0x18;
    let text = std::str::from_utf8(content).ok().filter(|text| text.is_ascii())?;
    let text = match tag {
        // Years from 50 are of the last century.
        UTC_TIME if text.get(..2)? >= "50" => format!("19{text}"),
        UTC_TIME => format!("20{text}"),
        GENERALIZED_TIME => text.to_string(),
        _ => return None,
    };
    let part = |from: usize, to: usize| text.get(from..to);
    let time = format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4)?,
        part(4, 6)?,
        part(6, 8)?,
        part(8, 10)?,
        part(10, 12)?,
        part(12, 14)?
    );
    Timestamp::parse(&time, Precision::Seconds).map(|time| time.seconds)
}
