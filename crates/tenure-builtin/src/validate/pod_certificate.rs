//! Checks of requests for the certificates of pods: what a kubelet asks for, with the proof that the pod owns the key, and what a
//! signer answers. A request ends with one of three conditions, and its status never changes after that.

use super::{
    conditions,
    context::{Context, items, text},
    signer_name,
};
use crate::x509::{Blocks, Certificate, Curve, PublicKey, Request};
use std::cell::OnceCell;
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, FieldPath, Previous, base64, format};
use tenure_value::{
    Object, Value,
    time::{Precision, Timestamp},
};

/// The most bytes of a request in PKCS #10, of an identifier, of a chain of certificates, and of all annotations.
const MOST_REQUEST: usize = 10 * 1024;
const MOST_UID: usize = 128;
const MOST_CHAIN: usize = 100 * 1024;
const MOST_ANNOTATIONS: usize = 256 * 1024;

/// How many seconds a certificate lasts at least, and at most: one of a signer of Kubernetes, and any other.
pub(super) const SHORTEST: i64 = 60 * 60;
const LONGEST_OF_KUBERNETES: i64 = 24 * 60 * 60;
const LONGEST: i64 = 91 * 24 * 60 * 60;

/// The sizes of keys of RSA, in bits.
const RSA_SIZES: [usize; 2] = [3072, 4096];

/// How far from now a certificate may begin to be valid, and how far from its ends it may be renewed, in seconds.
const MOST_SKEW: i64 = 5 * 60;
const MARGIN: i64 = 10 * 60;

/// The conditions that end a request.
const ISSUED: &str = "Issued";
const DENIED: &str = "Denied";
const FAILED: &str = "Failed";

const CHAIN: &str = "status.certificateChain";
const NOT_BEFORE: &str = "status.notBefore";
const NOT_AFTER: &str = "status.notAfter";
const BEGIN_REFRESH: &str = "status.beginRefreshAt";

/// Checks the content of a new request.
pub(crate) fn request(context: &Context<'_>, errors: &mut FieldErrors) {
    errors.extend(signer_name::faults("spec.signerName", context.text("signerName")));
    errors.extend(annotation_faults(
        "spec.unverifiedUserAnnotations",
        context.get("unverifiedUserAnnotations"),
    ));
    for (name, uid) in
        [("podName", "podUID"), ("serviceAccountName", "serviceAccountUID"), ("nodeName", "nodeUID")]
    {
        let value = context.text(name);
        context.invalid(name, &value.into(), format::dns_subdomain(value), errors);
        let value = context.text(uid);
        if value.is_empty() {
            errors.push(context.fault(uid, FieldErrorKind::Invalid, &value.into(), "must not be empty"));
        }
        if value.len() > MOST_UID {
            errors.push(FieldError::too_long(format!("spec.{uid}"), MOST_UID as u64));
        }
    }
    let Some(seconds) = context.number("maxExpirationSeconds") else {
        errors.push(FieldError::required("spec.maxExpirationSeconds", "must be set"));
        return;
    };
    let longest = longest(context.text("signerName"));
    if !(SHORTEST..=longest).contains(&seconds) {
        let detail = format!("must be in the range [{SHORTEST}, {longest}]");
        errors.push(context.fault("maxExpirationSeconds", FieldErrorKind::Invalid, &seconds.into(), &detail));
    }
    errors.extend(proof_fault(context.text("stubPKCS10Request")));
}

/// Returns how many seconds a certificate of a signer may last.
pub(super) fn longest(signer: &str) -> i64 {
    if signer_name::is_of_kubernetes(signer) { LONGEST_OF_KUBERNETES } else { LONGEST }
}

/// Returns what is wrong with annotations for a signer: their keys have domains.
pub(super) fn annotation_faults(path: &str, annotations: Option<&Value>) -> Vec<FieldError> {
    let annotations = annotations.and_then(Value::as_object).map(Object::fields).unwrap_or_default();
    let mut errors = Vec::new();
    for (key, _) in annotations {
        let key = key.to_lowercase();
        if key.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let mut faults = format::qualified_name(&key);
        if faults.is_empty() && !key.contains('/') {
            faults.push("must be a domain-prefixed key (such as \"acme.io/foo\")".into());
        }
        errors.extend(faults.iter().map(|fault| FieldError::invalid(path, &key.as_str().into(), fault)));
    }
    let size = |(key, value): &(_, Value)| tenure_value::Text::len(key) + value.as_str().map_or(0, str::len);
    if annotations.iter().map(size).sum::<usize>() > MOST_ANNOTATIONS {
        errors.push(FieldError::too_long(path, MOST_ANNOTATIONS as u64));
    }
    errors
}

/// Returns an error that does not show the value.
fn unshown(path: &str, detail: &str) -> FieldError {
    FieldError::with_message(FieldErrorKind::Invalid, path, format!("Invalid value: {detail}"))
}

/// Returns what is wrong with the proof that the pod owns the key: a request signed by the key.
fn proof_fault(encoded: &str) -> Option<FieldError> {
    const PATH: &str = "spec.stubPKCS10Request";
    if encoded.is_empty() {
        let detail = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
        return Some(unshown("spec", detail));
    }
    let der = base64::decode(encoded).unwrap_or_default();
    if der.len() > MOST_REQUEST {
        return Some(FieldError::too_long(PATH, MOST_REQUEST as u64));
    }
    let Some(request) = Request::parse(&der) else {
        return Some(unshown(PATH, "must be a valid PKCS#10 CSR"));
    };
    match request.key {
        PublicKey::Ecdsa(Curve::P224, _) => {
            let detail = "elliptic public keys must use curve P256, P384, or P521";
            return Some(FieldError::invalid(PATH, &"curve P-224".into(), detail));
        }
        PublicKey::Other(..) => {
            return Some(unshown(
                PATH,
                "unknown public key type; supported types are Ed25519, ECDSA, and RSA",
            ));
        }
        PublicKey::Ed25519(_) | PublicKey::Ecdsa(..) | PublicKey::Rsa { .. } => {}
    }
    if let Some(bits) = request.key.modulus_bits().filter(|bits| !RSA_SIZES.contains(bits)) {
        let (found, detail) = (format!("{bits}-bit modulus"), "RSA keys must have modulus size 3072 or 4096");
        return Some(FieldError::invalid(PATH, &found.into(), detail));
    }
    (!request.is_signed()).then(|| unshown(PATH, "invalid signature"))
}

/// Checks a new status.
pub(super) fn status(old: &Value, new: &Value, now: Timestamp) -> Vec<FieldError> {
    let of = |object: &Value| object.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    let (was, is) = (of(old), of(new));
    let conditions = items(is.get("conditions"));
    let errors = condition_faults(new, &is, conditions);
    if !errors.is_empty() {
        return errors;
    }
    let is_so = |status: &Object, ends: &[&str]| {
        let conditions = items(status.get("conditions")).iter();
        conditions
            .filter(|condition| text(condition, "status") == "True")
            .any(|condition| ends.contains(&text(condition, "type")))
    };
    let fault = |is_wrong: bool, detail: &str| Vec::from_iter(is_wrong.then(|| unshown("status", detail)));
    if is_so(&was, &[ISSUED, DENIED, FAILED]) {
        let detail = "immutable after PodCertificateRequest is issued, denied, or failed";
        return fault(given(&was) != given(&is), detail);
    }
    if is_so(&is, &[DENIED, FAILED]) {
        let detail =
            "non-condition status fields must be empty when denying or failing the PodCertificateRequest";
        return fault(!given(&is.without("conditions")).is_empty(), detail);
    }
    if is_so(&is, &[ISSUED]) {
        return issue_faults(old, new, now).err().unwrap_or_default();
    }
    let detail = "status is immutable unless transitioning to \"Issued\", \"Denied\", or \"Failed\"";
    fault(given(&was) != given(&is), detail)
}

/// Returns the fields of a status that have a value.
fn given(status: &Object) -> Vec<(&str, &Value)> {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    status.iter().filter(|(_, value)| !is_empty(value)).map(|(name, value)| (name.as_str(), value)).collect()
}

/// Returns what is wrong with the conditions: each is a known one, of which there is one, and it is true.
fn condition_faults(root: &Value, status: &Object, conditions: &[Value]) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    let mut known = 0;
    for (at, condition) in conditions.iter().enumerate() {
        let path = |field: &str| format!("status.conditions.[{at}].{field}");
        let (kind, truth) = (text(condition, "type"), text(condition, "status"));
        if ![ISSUED, DENIED, FAILED].contains(&kind) {
            let allowed = [ISSUED, DENIED, FAILED].map(Value::from);
            errors.push(FieldError::not_supported(path("type"), &kind.into(), &allowed));
            continue;
        }
        known += 1;
        if known > 1 {
            let detail = "There may be at most one condition with type \"Issued\", \"Denied\", or \"Failed\"";
            errors.push(FieldError::invalid(path("type"), &kind.into(), detail));
        }
        if truth != "True" {
            errors.push(FieldError::not_supported(path("status"), &truth.into(), &[Value::from("True")]));
        }
    }
    let (object, above) = (FieldPath::root(), "status");
    let path = object.field(above);
    let context =
        Context { root, node: status, path: &path, before: Previous::UNKNOWN, scope: &OnceCell::new() };
    conditions::listed_conditions(&context, &mut errors);
    errors.into_vec()
}

/// Checks a status with an issued certificate: that is for the key of the request, and the times of the status are those of the
/// certificate. The first error ends the check, but for names and times that are all reported.
fn issue_faults(old: &Value, new: &Value, now: Timestamp) -> Result<(), Vec<FieldError>> {
    let status = new.get("status").unwrap_or(&Value::Null);
    let chain = text(status, "certificateChain");
    if chain.len() > MOST_CHAIN {
        return Err(vec![FieldError::too_long(CHAIN, MOST_CHAIN as u64)]);
    }
    let refuse =
        |path: &str, value: Value, detail: &str| Err(vec![FieldError::invalid(path, &value, detail)]);
    let mut blocks = Blocks::new(chain);
    let Some(leaf) = blocks.next() else {
        return refuse(CHAIN, chain.into(), "issued certificate chain must contain at least one certificate");
    };
    if leaf.kind != "CERTIFICATE" {
        let detail = "issued certificate chain must consist entirely of CERTIFICATE PEM blocks";
        return refuse(CHAIN, chain.into(), detail);
    }
    let Some(certificate) = Certificate::parse(&leaf.content) else {
        return refuse(CHAIN, chain.into(), "leaf certificate does not parse as valid X.509");
    };
    let mut errors = name_faults(&certificate);
    let der = old
        .at(["spec", "stubPKCS10Request"])
        .and_then(Value::as_str)
        .and_then(|text| base64::decode(text).ok());
    let der = der.unwrap_or_default();
    let Some(request) = Request::parse(&der) else {
        errors.push(unshown("spec.stubPKCS10Request", "must be a valid PKCS#10 CSR"));
        return Err(errors);
    };
    if request.key != certificate.key {
        let detail = "leaf certificate was not issued to the requested public key";
        errors.push(FieldError::invalid(CHAIN, &chain.into(), detail));
        return Err(errors);
    }
    let time = |field: &str| Timestamp::parse(text(status, field), Precision::Seconds);
    let times = [
        (time("notBefore"), NOT_BEFORE, "must be present and consistent with the issued certificate"),
        (time("notAfter"), NOT_AFTER, "must be present and consistent with the issued certificate"),
        (
            time("beginRefreshAt"),
            BEGIN_REFRESH,
            "must be present and in the range [notbefore+10min, notafter-10min]",
        ),
    ];
    let missing = times.iter().filter(|(time, ..)| time.is_none());
    errors.extend(missing.map(|(_, path, detail)| FieldError::required(path, detail)));
    let [Some(from), Some(until), Some(refresh)] = times.map(|(time, ..)| time.map(|time| time.seconds))
    else {
        return Err(errors);
    };
    if !errors.is_empty() {
        return Err(errors);
    }
    let shown = |seconds: i64| Value::from(Timestamp { seconds, nanos: 0 }.format(Precision::Seconds));
    if from != certificate.not_before {
        let detail = "must be set to the NotBefore time encoded in the leaf certificate";
        return refuse(NOT_BEFORE, shown(from), detail);
    }
    let skew = from.saturating_sub(now.seconds);
    let is_near = skew > -MOST_SKEW && (skew < MOST_SKEW || skew == MOST_SKEW && now.nanos > 0);
    if !is_near {
        let detail = "must be set to within 5 minutes of kube-apiserver's current time";
        return refuse(NOT_BEFORE, shown(from), detail);
    }
    if until != certificate.not_after {
        let detail = "must be set to the NotAfter time encoded in the leaf certificate";
        return refuse(NOT_AFTER, shown(until), detail);
    }
    let lifetime = until.saturating_sub(from);
    let nanos = Value::from(lifetime.saturating_mul(1_000_000_000));
    if lifetime < SHORTEST {
        return refuse(CHAIN, nanos, "leaf certificate lifetime must be >= 1 hour");
    }
    let longest = new.at(["spec", "maxExpirationSeconds"]).and_then(Value::as_i64).unwrap_or(0);
    if lifetime > longest {
        let detail = format!("leaf certificate lifetime must be <= spec.maxExpirationSeconds ({longest})");
        return refuse(CHAIN, nanos, &detail);
    }
    if refresh < from + MARGIN {
        return refuse(BEGIN_REFRESH, shown(refresh), "must be at least 10 minutes after status.notBefore");
    }
    if refresh > until - MARGIN {
        return refuse(BEGIN_REFRESH, shown(refresh), "must be at least 10 minutes before status.notAfter");
    }
    for block in blocks {
        if block.kind != "CERTIFICATE" {
            let detail = "issued certificate chain must consist entirely of CERTFICATE PEM blocks";
            return refuse(CHAIN, chain.into(), detail);
        }
        if Certificate::parse(&block.content).is_none() {
            return refuse(CHAIN, chain.into(), "intermediate certificate does not parse as valid X.509");
        }
    }
    Ok(())
}

/// Returns what is wrong with the names in a certificate.
fn name_faults(certificate: &Certificate<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in &certificate.dns_names {
        let faults = [
            (name.is_empty(), "leaf certificate should not contain empty DNSName"),
            (name.contains(".."), "leaf certificate's DNSName should not contain '..'"),
            (
                name.starts_with('.') || name.ends_with('.'),
                "leaf certificate's DNSName should not start or end with '.'",
            ),
        ];
        let faults = faults.into_iter().filter(|(is_wrong, _)| *is_wrong);
        errors.extend(faults.map(|(_, detail)| FieldError::invalid(CHAIN, &(*name).into(), detail)));
    }
    let wrong = certificate.emails.iter().filter(|address| !is_mail_address(address));
    let detail = "leaf certificate should not contain invalid EmailAddress";
    errors.extend(wrong.map(|address| FieldError::invalid(CHAIN, &(*address).into(), detail)));
    errors
}

/// Whether a text is the address of a mailbox: `local@domain`, or the same in `<…>` after a name.
fn is_mail_address(text: &str) -> bool {
    let address = match text.trim().strip_suffix('>') {
        Some(named) => match named.split_once('<') {
            Some((_, address)) => address,
            None => return false,
        },
        None => text.trim(),
    };
    let is_atom = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte);
    let is_dotted = |text: &str| text.split('.').all(|part| !part.is_empty() && part.bytes().all(is_atom));
    let is_quoted = |text: &str| text.len() > 1 && text.starts_with('"') && text.ends_with('"');
    let is_literal = |text: &str| text.starts_with('[') && text.ends_with(']');
    address.rsplit_once('@').is_some_and(|(local, domain)| {
        (is_dotted(local) || is_quoted(local)) && (is_dotted(domain) || is_literal(domain))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{
        CertificateParams, CertificateSigningRequest, Issuer, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519,
    };
    use time::OffsetDateTime;

    const NOW: i64 = 1_790_000_000;

    fn shown(seconds: i64) -> String {
        Timestamp { seconds, nanos: 0 }.format(Precision::Seconds)
    }

    /// A key with the request that proves its possession.
    struct Pod {
        key: KeyPair,
        request: CertificateSigningRequest,
    }

    impl Pod {
        fn new(algorithm: &'static rcgen::SignatureAlgorithm) -> Pod {
            let key = KeyPair::generate_for(algorithm).unwrap();
            let request = CertificateParams::new(Vec::new()).unwrap().serialize_request(&key).unwrap();
            Pod { key, request }
        }

        /// Returns a certificate for the key that is valid between two times.
        fn certificate(&self, from: i64, until: i64) -> String {
            let mut params = CertificateParams::new(vec!["pod.example".into()]).unwrap();
            params.not_before = OffsetDateTime::from_unix_timestamp(from).unwrap();
            params.not_after = OffsetDateTime::from_unix_timestamp(until).unwrap();
            let authority = KeyPair::generate().unwrap();
            let issuer = Issuer::new(CertificateParams::new(Vec::new()).unwrap(), authority);
            params.signed_by(&self.key, &issuer).unwrap().pem()
        }

        fn object(&self, status: Value) -> Value {
            let request = base64::encode(self.request.der());
            let spec: Value = format!(r#"{{"stubPKCS10Request":"{request}","maxExpirationSeconds":86400}}"#)
                .parse()
                .unwrap();
            Value::object([("spec", spec), ("status", status)])
        }
    }

    fn issued(chain: &str, [from, until, refresh]: [i64; 3]) -> Value {
        let condition = r#"{"type":"Issued","status":"True","reason":"R","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}"#;
        let status: Value = format!(
            r#"{{"conditions":[{condition}],"notBefore":"{}","notAfter":"{}","beginRefreshAt":"{}"}}"#,
            shown(from),
            shown(until),
            shown(refresh)
        )
        .parse()
        .unwrap();
        Value::Object(status.as_object().unwrap().with("certificateChain", chain))
    }

    #[test]
    fn a_certificate_is_for_the_key_and_the_times_of_the_request() {
        for algorithm in [&PKCS_ED25519, &PKCS_ECDSA_P256_SHA256] {
            let pod = Pod::new(algorithm);
            assert_eq!(proof_fault(&base64::encode(pod.request.der())), None);
            let mut altered = pod.request.der().to_vec();
            *altered.last_mut().unwrap() ^= 1;
            let fault = proof_fault(&base64::encode(&altered)).unwrap();
            assert_eq!(fault.to_string(), "spec.stubPKCS10Request: Invalid value: invalid signature");
            let old = pod.object(Value::object::<&str>([]));
            let outcome = |chain: &str, times: [i64; 3]| -> Vec<String> {
                let now = Timestamp { seconds: NOW, nanos: 0 };
                let errors = status(&old, &pod.object(issued(chain, times)), now);
                errors
                    .iter()
                    .map(|error| error.message.rsplit(": ").next().unwrap_or_default().to_owned())
                    .collect()
            };
            let hours = |hours: i64| NOW + hours * 3600;
            let day = pod.certificate(NOW, hours(24));
            assert_eq!(outcome(&day, [NOW, hours(24), hours(1)]), [""; 0]);
            let with_issuer = format!("{day}{}", Pod::new(&PKCS_ED25519).certificate(NOW, hours(1)));
            assert_eq!(outcome(&with_issuer, [NOW, hours(24), hours(1)]), [""; 0]);
            let cases = [
                (
                    NOW - 300,
                    hours(24),
                    hours(1),
                    "must be set to within 5 minutes of kube-apiserver's current time",
                ),
                (
                    NOW + 300,
                    hours(24),
                    hours(1),
                    "must be set to within 5 minutes of kube-apiserver's current time",
                ),
                (NOW - 299, NOW - 299 + 86_400, hours(1), ""),
                (NOW, NOW + 3_599, NOW + 600, "leaf certificate lifetime must be >= 1 hour"),
                (NOW, NOW + 3_600, NOW + 600, ""),
                (
                    NOW,
                    NOW + 86_401,
                    NOW + 600,
                    "leaf certificate lifetime must be <= spec.maxExpirationSeconds (86400)",
                ),
                (NOW, hours(2), NOW + 599, "must be at least 10 minutes after status.notBefore"),
                (NOW, hours(2), hours(2) - 599, "must be at least 10 minutes before status.notAfter"),
                (NOW, hours(2), hours(2) - 600, ""),
            ];
            for (from, until, refresh, expected) in cases {
                let errors = outcome(&pod.certificate(from, until), [from, until, refresh]);
                assert_eq!(errors.join("; "), expected, "{from} {until} {refresh}");
            }
            let later = outcome(&day, [NOW, hours(23), hours(1)]);
            assert_eq!(later, ["must be set to the NotAfter time encoded in the leaf certificate"]);
            let foreign = Pod::new(algorithm).certificate(NOW, hours(24));
            let errors = outcome(&foreign, [NOW, hours(24), hours(1)]);
            assert_eq!(errors, ["leaf certificate was not issued to the requested public key"]);
            let garbage = format!("{day}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
            let errors = outcome(&garbage, [NOW, hours(24), hours(1)]);
            assert_eq!(errors, ["intermediate certificate does not parse as valid X.509"]);
        }
    }

    #[test]
    fn addresses_of_mailboxes_have_two_parts() {
        for right in ["a@b", "a.b@c.d", "A <a@b.c>", "\"a b\"@c", "a@[10.0.0.1]"] {
            assert!(is_mail_address(right), "{right}");
        }
        for wrong in ["", "a", "@b", "a@", "a b@c", "a@b c", "a..b@c", "A a@b>", "<a@b"] {
            assert!(!is_mail_address(wrong), "{wrong}");
        }
    }
}
