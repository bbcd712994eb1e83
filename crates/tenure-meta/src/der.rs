//! A minimal reader of DER, which finds names, times and keys in certificates and key files.

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
const BOOLEAN: u8 = 0x01;
const OCTET_STRING: u8 = 0x04;
/// The tag of the version of a certificate.
pub const VERSION: u8 = 0xa0;
/// The tag of its extensions.
const EXTENSIONS: u8 = 0xa3;
/// Extensions, purposes of keys, and the bit of a key that signs certificates.
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x25];
const ANY_PURPOSE: &[u8] = &[0x55, 0x1d, 0x25, 0x00];
const CLIENT_AUTHENTICATION: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02];
const KEY_CERT_SIGN: u8 = 0x04;

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

/// What shows who signed a certificate, and whom it may sign.
pub struct SignedCertificate<'d> {
    /// 1, 2 or 3.
    pub version: u8,
    /// What is signed.
    pub signed: &'d [u8],
    /// The identifier of the algorithm of the signature, without its tag.
    pub signature_algorithm: &'d [u8],
    /// The signature.
    pub signature: &'d [u8],
    /// The name of the issuer, in DER.
    pub issuer: &'d [u8],
    /// The name of the subject, in DER.
    pub subject: &'d [u8],
    /// The first and the last second of its validity, since 1970.
    pub validity: (i64, i64),
    /// The identifier of the algorithm of the public key, without its tag.
    pub key_algorithm: &'d [u8],
    /// The public key.
    pub key: &'d [u8],
    /// The extension `basicConstraints`: whether it is an authority, and how many authorities may follow.
    pub authority: Option<(bool, Option<u8>)>,
    /// The extension `keyUsage`: whether its key signs certificates.
    pub signs_certificates: Option<bool>,
    /// The extension `extendedKeyUsage`: whether it is for clients, or those that it signs are.
    pub is_for_clients: Option<bool>,
}

/// Reads what shows who signed a certificate in DER.
pub fn signed_certificate(certificate: &[u8]) -> Option<SignedCertificate<'_>> {
    let mut outer = Der::new(certificate).expect(SEQUENCE)?.inside();
    let signed = outer.expect(SEQUENCE)?;
    let signature_algorithm = outer.expect(SEQUENCE)?.content;
    let signature = bits(outer.expect(BIT_STRING)?.content)?;
    let mut fields = signed.inside();
    let first = fields.next()?;
    let version = match first.tag {
        VERSION => {
            let version = first.inside().expect(INTEGER)?.content;
            fields.expect(INTEGER)?;
            version.first()? + 1
        }
        _ => 1,
    };
    fields.expect(SEQUENCE)?; // signature algorithm
    let issuer = fields.expect(SEQUENCE)?.whole;
    let mut validity = fields.expect(SEQUENCE)?.inside();
    let mut time = || validity.next().and_then(|time| seconds(time.tag, time.content));
    let validity = (time()?, time()?);
    let subject = fields.expect(SEQUENCE)?.whole;
    let mut key = fields.expect(SEQUENCE)?.inside();
    let (key_algorithm, key) = (key.expect(SEQUENCE)?.content, bits(key.expect(BIT_STRING)?.content)?);
    let mut read = SignedCertificate {
        version,
        signed: signed.whole,
        signature_algorithm,
        signature,
        issuer,
        subject,
        validity,
        key_algorithm,
        key,
        authority: None,
        signs_certificates: None,
        is_for_clients: None,
    };
    for field in fields {
        if field.tag == EXTENSIONS {
            let extensions = field.inside().expect(SEQUENCE)?.inside();
            for extension in extensions {
                read.read_extension(extension)?;
            }
        }
    }
    Some(read)
}

impl SignedCertificate<'_> {
    fn read_extension(&mut self, extension: Element<'_>) -> Option<()> {
        let mut parts = extension.inside();
        let identifier = parts.expect(OBJECT_IDENTIFIER)?.content;
        let value = match parts.next()? {
            critical if critical.tag == BOOLEAN => parts.expect(OCTET_STRING)?,
            value => Some(value).filter(|value| value.tag == OCTET_STRING)?,
        };
        match identifier {
            BASIC_CONSTRAINTS => {
                let constraints = value.inside().expect(SEQUENCE)?.inside();
                let (mut is_authority, mut length) = (false, None);
                for constraint in constraints {
                    match constraint.tag {
                        BOOLEAN => is_authority = constraint.content != [0],
                        INTEGER => length = constraint.content.last().copied(),
                        _ => return None,
                    }
                }
                self.authority = Some((is_authority, length));
            }
            KEY_USAGE => {
                let usage = bits_of_names(value.inside().expect(BIT_STRING)?.content);
                self.signs_certificates = Some(usage & KEY_CERT_SIGN != 0);
            }
            EXTENDED_KEY_USAGE => {
                let purposes = value.inside().expect(SEQUENCE)?.inside();
                let mut is_for_clients = false;
                for purpose in purposes {
                    is_for_clients |= [CLIENT_AUTHENTICATION, ANY_PURPOSE].contains(&purpose.content);
                }
                self.is_for_clients = Some(is_for_clients);
            }
            _ => {}
        }
        Some(())
    }
}

/// Returns the bytes of a bit string without unused bits.
fn bits(content: &[u8]) -> Option<&[u8]> {
    content.split_first().filter(|(unused, _)| **unused == 0).map(|(_, bytes)| bytes)
}

/// Returns the first eight bits of a bit string whose bits have names.
fn bits_of_names(content: &[u8]) -> u8 {
    content.get(1).copied().unwrap_or_default()
}

/// Reads a UTCTime or a GeneralizedTime, both of which end in `Z`, as seconds since 1970.
pub fn seconds(tag: u8, content: &[u8]) -> Option<i64> {
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
