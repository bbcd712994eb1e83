//! CertificateSubjectRestriction: no certificate of a client of the API may be requested for the group `system:masters`,
//! whose members may do everything.

use crate::{AdmissionAttributes, ObjectPlugin, Operation, ResourceRule};
use base64::{Engine, engine::general_purpose::STANDARD};
use tenure_meta::ApiError;
use tenure_value::Value;

const SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const MASTERS: &str = "system:masters";
const PEM_BEGIN: &str = "-----BEGIN CERTIFICATE REQUEST-----";
const PEM_END: &str = "-----END CERTIFICATE REQUEST-----";
/// The object identifier of an organization, 2.5.4.10.
const ORGANIZATION: [u8; 3] = [0x55, 0x04, 0x0a];
/// The object identifier of a common name, 2.5.4.3.
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];
/// The tags of DER that a request is made of.
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// Checks the subjects of certificate signing requests.
pub(crate) const CERTIFICATE_SUBJECT_RESTRICTION: ObjectPlugin = ObjectPlugin::validating(
    &[ResourceRule::new(&[Operation::Create], "certificates.k8s.io", "certificatesigningrequests")],
    check,
);

fn check(attributes: &AdmissionAttributes) -> Result<(), ApiError> {
    let text =
        |field: &str| attributes.object.at(["spec", field]).and_then(Value::as_str).unwrap_or_default();
    if text("signerName") != SIGNER {
        return Ok(());
    }
    match organizations(text("request")) {
        Err(why) => Err(attributes.forbidden(&format!("failed to parse CSR: {why}"))),
        Ok(groups) if groups.iter().any(|group| group == MASTERS) => {
            Err(attributes.forbidden(&format!("use of {SIGNER} signer with {MASTERS} group is not allowed")))
        }
        Ok(_) => Ok(()),
    }
}

/// Returns the organizations in the subject of a request, which is base64 of PEM.
fn organizations(request: &str) -> Result<Vec<String>, &'static str> {
    subject_values(request, ORGANIZATION)
}

/// Returns the common names in the subject of a request, which is base64 of PEM.
pub(super) fn common_names(request: &str) -> Result<Vec<String>, &'static str> {
    subject_values(request, COMMON_NAME)
}

/// Returns the values of an attribute in the subject of a request.
fn subject_values(request: &str, identifier: [u8; 3]) -> Result<Vec<String>, &'static str> {
    const NOT_PEM: &str = "PEM block type must be CERTIFICATE REQUEST";
    let pem = STANDARD.decode(request).map_err(|_| "the request is not base64")?;
    let pem = std::str::from_utf8(&pem).map_err(|_| NOT_PEM)?;
    let (_, body) = pem.split_once(PEM_BEGIN).ok_or(NOT_PEM)?;
    let (body, _) = body.split_once(PEM_END).ok_or(NOT_PEM)?;
    let body: String = body.split_whitespace().collect();
    let der = STANDARD.decode(body).map_err(|_| "the PEM block is not base64")?;
    values(&der, identifier).ok_or("the PEM block is not a certificate request")
}

/// Reads the values of an attribute of the subject of a PKCS #10 request.
fn values(der: &[u8], identifier: [u8; 3]) -> Option<Vec<String>> {
    let (request, _) = element(der, SEQUENCE)?;
    let (information, _) = element(request, SEQUENCE)?;
    let (_, after_version) = element(information, INTEGER)?;
    let (mut names, _) = element(after_version, SEQUENCE)?;
    let mut found = Vec::new();
    while !names.is_empty() {
        let (mut attributes, rest) = element(names, SET)?;
        names = rest;
        while !attributes.is_empty() {
            let (attribute, rest) = element(attributes, SEQUENCE)?;
            attributes = rest;
            let (kind, value) = element(attribute, OBJECT_IDENTIFIER)?;
            if kind == identifier {
                let (text, _) = element(value, *value.first()?)?;
                found.push(String::from_utf8_lossy(text).into_owned());
            }
        }
    }
    Some(found)
}

/// Reads an element of a tag; returns its content and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, length], rest) = der.split_first_chunk::<2>()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match length {
        short @ 0..=0x7f => (usize::from(short), rest),
        long => {
            let (bytes, rest) =
                rest.split_at_checked(usize::from(long & 0x7f)).filter(|(length, _)| length.len() <= 4)?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
    };
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(organizations: &[&str]) -> String {
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, "someone");
        for organization in organizations {
            params.distinguished_name.push(rcgen::DnType::OrganizationName, *organization);
        }
        let key = rcgen::KeyPair::generate().unwrap();
        let pem = params.serialize_request(&key).unwrap().pem().unwrap();
        STANDARD.encode(pem)
    }

    #[test]
    fn organizations_are_read_from_requests() {
        assert_eq!(organizations(&request(&[])), Ok(vec![]));
        assert_eq!(organizations(&request(&[MASTERS])), Ok(vec![MASTERS.to_string()]));
    }

    #[test]
    fn what_is_not_a_request_is_an_error() {
        for (given, expected) in [
            ("?".to_string(), "the request is not base64"),
            (STANDARD.encode("x"), "PEM block type must be CERTIFICATE REQUEST"),
            (STANDARD.encode(format!("{PEM_BEGIN}?{PEM_END}")), "the PEM block is not base64"),
            (
                STANDARD.encode(format!("{PEM_BEGIN}MIIB{PEM_END}")),
                "the PEM block is not a certificate request",
            ),
        ] {
            assert_eq!(organizations(&given), Err(expected), "{given}");
        }
    }
}
