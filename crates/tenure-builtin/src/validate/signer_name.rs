//! Names of signers: a domain and a path, such as `example.com/signer`.

use super::context::Context;
use tenure_meta::{
    FieldError, FieldErrors,
    format::{self, Format},
};

/// The most bytes of a domain, and of a whole name.
const MOST_DOMAIN: usize = 253;
const MOST: usize = MOST_DOMAIN + 253 + 63 + 2;

/// The domain of the signers of Kubernetes itself, and the end of its other domains.
const KUBERNETES: &str = "kubernetes.io";

/// Returns what is wrong with the name of a signer.
pub(super) fn faults(path: &str, name: &str) -> Vec<FieldError> {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let Some((domain, rest)) = name.split_once('/').filter(|(_, rest)| !rest.contains('/')) else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return vec![FieldError::invalid(path, &name.into(), detail)];
    };
    let too_long = |is_so: bool, most: usize| is_so.then(|| FieldError::too_long(path, most as u64));
    let mut errors = Vec::from_iter(too_long(domain.len() > MOST_DOMAIN, MOST_DOMAIN));
    errors.extend(label_faults(path, domain, format::dns_label));
    if !domain.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(path, &domain.into(), detail));
    }
    errors.extend(label_faults(path, rest, format::dns_subdomain));
    errors.extend(too_long(name.len() > MOST, MOST));
    errors
}

/// Checks the signer of a spec that names one.
pub(crate) fn spec(context: &Context<'_>, errors: &mut FieldErrors) {
    let signer = context.text("signerName");
    // A bundle of trust anchors may be of no signer; what must be there is required by the schema.
    if !signer.is_empty() {
        errors.extend(faults(&context.path_to("signerName"), signer));
    }
}

/// Returns what is wrong with the first wrong label of a part of a name: what is wrong with others would read the same.
fn label_faults(path: &str, part: &str, check: Format) -> Vec<FieldError> {
    let checked = part.split('.').map(|label| (label, check(label)));
    let wrong = checked.into_iter().find(|(_, faults)| !faults.is_empty());
    let faults = wrong.into_iter().flat_map(|(label, faults)| {
        faults.into_iter().map(move |fault| format!("validating label {label:?}: {fault}"))
    });
    faults.map(|detail| FieldError::invalid(path, &part.into(), detail)).collect()
}

/// Whether a signer is one of Kubernetes.
pub(super) fn is_of_kubernetes(name: &str) -> bool {
    let (domain, _) = name.split_once('/').unwrap_or((name, ""));
    domain.strip_suffix(KUBERNETES).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}
