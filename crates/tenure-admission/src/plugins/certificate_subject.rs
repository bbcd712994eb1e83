//! CertificateSubjectRestriction: no certificate of a client of the API may be requested for the group `system:masters`,
//! whose members may do everything.

use crate::{AdmissionAttributes, ObjectPlugin, Operation, ResourceRule};
use tenure_meta::{
    ApiError,
    der::{Der, INTEGER, OBJECT_IDENTIFIER, SEQUENCE, SET},
    pem_blocks,
};
use tenure_value::{Value, base64};

const SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const MASTERS: &str = "system:masters";
/// The object identifier of an organization, 2.5.4.10.
const ORGANIZATION: [u8; 3] = [0x55, 0x04, 0x0a];
/// The object identifier of a common name, 2.5.4.3.
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];

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
    let pem = base64::decode(request).map_err(|_| "the request is not base64")?;
    let pem = std::str::from_utf8(&pem).map_err(|_| NOT_PEM)?;
    let block = pem_blocks(pem).next().filter(|block| block.label == "CERTIFICATE REQUEST").ok_or(NOT_PEM)?;
    let der = block.der().ok_or("the PEM block is not base64")?;
    values(&der, identifier).ok_or("the PEM block is not a certificate request")
}

/// Reads the values of an attribute of the subject of a PKCS #10 request.
fn values(der: &[u8], identifier: [u8; 3]) -> Option<Vec<String>> {
    let mut information = Der::new(der).expect(SEQUENCE)?.inside().expect(SEQUENCE)?.inside();
    information.expect(INTEGER)?;
    let mut found = Vec::new();
    for names in information.expect(SEQUENCE)?.inside() {
        if names.tag != SET {
            return None;
        }
        for attribute in names.inside() {
            let mut parts = attribute.inside();
            if parts.expect(OBJECT_IDENTIFIER)?.content == identifier {
                found.push(String::from_utf8_lossy(parts.next()?.content).into_owned());
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pem_of(body: &str) -> String {
        format!("-----BEGIN CERTIFICATE REQUEST-----{body}-----END CERTIFICATE REQUEST-----")
    }

    fn request(organizations: &[&str]) -> String {
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, "someone");
        for organization in organizations {
            params.distinguished_name.push(rcgen::DnType::OrganizationName, *organization);
        }
        let key = rcgen::KeyPair::generate().unwrap();
        let pem = params.serialize_request(&key).unwrap().pem().unwrap();
        base64::encode(pem)
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
            (base64::encode("x"), "PEM block type must be CERTIFICATE REQUEST"),
            (base64::encode(pem_of("?")), "the PEM block is not base64"),
            (base64::encode(pem_of("MIIB")), "the PEM block is not a certificate request"),
        ] {
            assert_eq!(organizations(&given), Err(expected), "{given}");
        }
    }
}
