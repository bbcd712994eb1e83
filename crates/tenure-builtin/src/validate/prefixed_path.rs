//! Names of controllers: a domain and a path, such as `example.com/controller`.

use super::context::Context;
use tenure_meta::{FieldErrors, format};

/// Validates a field that must have a domain and a path, each of which is reported by itself.
pub(super) fn validate(context: &Context<'_>, field: &str, errors: &mut FieldErrors) {
    let name = context.text(field);
    match name.split_once('/').filter(|(domain, path)| !domain.is_empty() && !path.is_empty()) {
        _ if name.is_empty() => errors.push(context.required(field, "")),
        None => {
            let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            context.invalid(field, &name.into(), vec![detail.into()], errors);
        }
        Some((domain, path)) => {
            context.invalid(field, &domain.into(), format::dns_subdomain(domain), errors);
            context.invalid(field, &path.into(), format::http_path(path), errors);
        }
    }
}

/// Validates the name of the controller of an ingress class.
pub(crate) fn controller(context: &Context<'_>, errors: &mut FieldErrors) {
    validate(context, "controller", errors);
}
