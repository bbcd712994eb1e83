//! Certificates that a signer has issued for requests which name a duration. Kubernetes counts them, and those that last as long.

use tenure_meta::{
    base64,
    der::{self, Der, SEQUENCE, VERSION},
    pem_blocks,
};
use tenure_value::Value;

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
    let certificate = pem_blocks(&pem).find(|block| block.label == "CERTIFICATE")?.der()?;
    let mut fields = Der::new(&certificate).expect(SEQUENCE)?.inside().expect(SEQUENCE)?.inside();
    // The version, which may be missing, the serial number, the algorithm and the issuer come before the validity.
    let before = if fields.next()?.tag == VERSION { 3 } else { 2 };
    let mut validity = fields.nth(before).filter(|validity| validity.tag == SEQUENCE)?.inside();
    let mut time = || validity.next().and_then(|time| der::seconds(time.tag, time.content));
    let start = time()?;
    time()?.checked_sub(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UTC_TIME: u8 = 0x17;

    /// Returns a request with a certificate that is valid between two times.
    fn signed(start: &[u8], end: &[u8]) -> Value {
        let element = |tag: u8, content: &[u8]| [&[tag, content.len() as u8][..], content].concat();
        let validity = element(SEQUENCE, &[element(UTC_TIME, start), element(UTC_TIME, end)].concat());
        let before =
            [element(VERSION, &[]), element(2, &[1]), element(SEQUENCE, &[]), element(SEQUENCE, &[])];
        let whole = element(SEQUENCE, &element(SEQUENCE, &[before.concat(), validity].concat()));
        let pem =
            format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", base64::encode(whole));
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
