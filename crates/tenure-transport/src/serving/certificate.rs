//! The user of a client certificate: its common name, with its organizations as groups.

use ring::digest::{SHA256, digest};
use std::fmt::Write;
use tenure_meta::UserInfo;
use tenure_meta::der::{Der, OBJECT_IDENTIFIER, SEQUENCE, SET, certificate_parts};
use tenure_value::Text;

const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];
/// 1.3.6.1.4.1.57683.2, under which a subject has a uid.
const UID: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xc2, 0x53, 0x02];

/// The identity in a verified certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateUser {
    /// This user.
    User(UserInfo),
    /// It has no common name: it is ignored.
    Nameless,
    /// Its subject cannot be read or has two uids: the request is unauthorized.
    Invalid,
}

/// Returns the user of a certificate in DER that has been verified against an authority.
pub fn user_of_certificate(certificate: &[u8]) -> CertificateUser {
    let Some(parts) = certificate_parts(certificate) else { return CertificateUser::Invalid };
    let (mut name, mut uids, mut groups) = (None, Vec::new(), Vec::new());
    let Some(attributes) = attributes(parts.subject) else { return CertificateUser::Invalid };
    for (identifier, value) in attributes {
        match identifier {
            COMMON_NAME => name = Some(value),
            ORGANIZATION => groups.push(value),
            UID => uids.push(value),
            _ => {}
        }
    }
    let Some(name) = name.filter(|name| !name.is_empty()) else { return CertificateUser::Nameless };
    if uids.len() > 1 {
        return CertificateUser::Invalid;
    }
    let mut credential = String::from("X509SHA256=");
    for byte in digest(&SHA256, certificate).as_ref() {
        // Writing to a string does not fail.
        let _ = write!(credential, "{byte:02x}");
    }
    CertificateUser::User(UserInfo {
        name,
        uid: uids.pop().unwrap_or_default(),
        groups,
        extra: vec![("authentication.kubernetes.io/credential-id".into(), vec![credential.into()])],
    })
}

/// Returns when a certificate in DER expires, in seconds since 1970.
pub fn certificate_expiry(certificate: &[u8]) -> Option<i64> {
    certificate_parts(certificate)?.not_after
}

/// Reads the attributes of a distinguished name.
fn attributes(subject: Der<'_>) -> Option<Vec<(&[u8], Text)>> {
    let mut attributes = Vec::new();
    for set in subject {
        if set.tag != SET {
            return None;
        }
        for pair in set.inside() {
            if pair.tag != SEQUENCE {
                return None;
            }
            let mut pair = pair.inside();
            let identifier = pair.expect(OBJECT_IDENTIFIER)?.content;
            let value = pair.next()?;
            attributes.push((identifier, text(value.tag, value.content)?));
        }
    }
    Some(attributes)
}

/// Reads a string of a certificate by its tag.
fn text(tag: u8, content: &[u8]) -> Option<Text> {
    const BMP_STRING: u8 = 0x1e;
    if tag == BMP_STRING {
        let units: Vec<u16> =
            content.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
        return String::from_utf16(&units).ok().map(Text::from);
    }
    std::str::from_utf8(content).ok().map(Text::from)
}
