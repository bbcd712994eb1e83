//! Certificates that a signer has issued for requests which name a duration. Kubernetes counts them, and those that last as long.

use crate::validate::{SEQUENCE, der_element};
use tenure_meta::{
    base64,
    time::{Precision, Timestamp},
};
use tenure_value::Value;

/// The tag of the version of a certificate.
const VERSION: u8 = 0xa0;
/// Times of the years 1950 to 2049.
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// How much earlier than now a certificate may begin to be valid, in seconds.
const BACKDATING: i64 = 5 * 60;

/// A certificate that was issued for a request with a duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuedCertificate {
    /// The signer if it is one of Kubernetes, or `other`.
    pub signer: String,
    /// Whether the certificate lasts about as long as was requested.
    pub is_honored: bool,
}

/// Returns the certificate that a write of the status has added to a CertificateSigningRequest with a duration.
pub fn issued_certificate(before: &Value, after: &Value) -> Option<IssuedCertificate> {
    let text = |object: &'_ Value, path: [&str; 2]| {
        object.at(path).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    const CERTIFICATE: [&str; 2] = ["status", "certificate"];
    let wanted = before.at(["spec", "expirationSeconds"]).and_then(Value::as_i64)?;
    let certificate = text(after, CERTIFICATE);
    if certificate.is_empty() || !text(before, CERTIFICATE).is_empty() {
        return None;
    }
    let signer = text(before, ["spec", "signerName"]);
    let signer = if signer.starts_with("kubernetes.io/") { signer } else { "other".into() };
    let is_close = |lasts: i64| wanted.abs_diff(lasts) < (BACKDATING + wanted / 20).unsigned_abs();
    Some(IssuedCertificate { signer, is_honored: lifetime(&certificate).is_some_and(is_close) })
}

/// Returns how many seconds the first certificate of a base64 text of PEM blocks is valid.
fn lifetime(encoded: &str) -> Option<i64> {
    let pem = String::from_utf8(base64::decode(encoded).ok()?).ok()?;
    let (_, rest) = pem.split_once("-----BEGIN CERTIFICATE-----")?;
    let (body, _) = rest.split_once("-----END CERTIFICATE-----")?;
    let der = base64::decode(&body.split_ascii_whitespace().collect::<String>()).ok()?;
    let sequence = |bytes| der_element(bytes).filter(|(tag, ..)| *tag == SEQUENCE);
    let (_, certificate, _) = sequence(&der)?;
    let (_, mut rest, _) = sequence(certificate)?;
    if let Some((VERSION, _, after)) = der_element(rest) {
        rest = after;
    }
    // The serial number, the algorithm and the issuer come before the validity.
    for _ in 0..3 {
        rest = der_element(rest)?.2;
    }
    let (_, validity, _) = sequence(rest)?;
    let (tag, start, rest) = der_element(validity)?;
    let start = seconds(tag, start)?;
    let (tag, end, _) = der_element(rest)?;
    seconds(tag, end)?.checked_sub(start)
}

/// Reads `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ`.
fn seconds(tag: u8, time: &[u8]) -> Option<i64> {
    let digits = std::str::from_utf8(time).ok()?.strip_suffix('Z')?;
    let full = match tag {
        UTC_TIME => format!("{}{digits}", if digits.get(..2)? < "50" { "20" } else { "19" }),
        GENERALIZED_TIME => digits.to_owned(),
        _ => return None,
    };
    let part = |from: usize, to: usize| full.get(from..to);
    let text = format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4)?,
        part(4, 6)?,
        part(6, 8)?,
        part(8, 10)?,
        part(10, 12)?,
        part(12, 14)?
    );
    Timestamp::parse(&text, Precision::Seconds).map(|time| time.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a request with a certificate that is valid between two times.
    fn signed(start: &[u8], end: &[u8]) -> Value {
        let element = |tag: u8, content: &[u8]| [&[tag, content.len() as u8][..], content].concat();
        let validity = element(SEQUENCE, &[element(UTC_TIME, start), element(UTC_TIME, end)].concat());
        let before =
            [element(VERSION, &[]), element(2, &[1]), element(SEQUENCE, &[]), element(SEQUENCE, &[])];
        let whole = element(SEQUENCE, &element(SEQUENCE, &[before.concat(), validity].concat()));
        let pem =
            format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", base64::encode(&whole));
        let certificate = base64::encode(pem.as_bytes());
        format!(
            r#"{{"spec":{{"expirationSeconds":3600,"signerName":"kubernetes.io/legacy-unknown"}},"status":{{"certificate":"{certificate}"}}}}"#
        )
        .parse()
        .unwrap()
    }

    #[test]
    fn certificates_are_counted_once_and_compared_with_what_was_requested() {
        let request = |more: &str| -> Value {
            format!(
                r#"{{"spec":{{"expirationSeconds":3600,"signerName":"kubernetes.io/legacy-unknown"{more}}}}}"#
            )
            .parse()
            .unwrap()
        };
        let issued = |end: &[u8]| issued_certificate(&request(""), &signed(b"260102030405Z", end));
        for (end, is_honored) in
            [(b"260102040905Z", true), (b"260102050405Z", false), (b"2601020304xxZ", false)]
        {
            let signer = "kubernetes.io/legacy-unknown".to_owned();
            assert_eq!(issued(end), Some(IssuedCertificate { signer, is_honored }));
        }
        let signed = signed(b"260102030405Z", b"260102040405Z");
        assert_eq!(issued_certificate(&signed, &signed), None);
        assert_eq!(issued_certificate(&request(""), &request("")), None);
        let other = request("").to_string().replace("kubernetes.io/legacy-unknown", "example.com/signer");
        let counted = issued_certificate(&other.parse().unwrap(), &signed);
        assert_eq!(counted.map(|issued| issued.signer), Some("other".into()));
        assert_eq!(issued_certificate(&r#"{"spec":{}}"#.parse().unwrap(), &signed), None);
    }
}
