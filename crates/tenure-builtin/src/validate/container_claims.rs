//! Validation of the resource claims that containers use: each is a claim of the pod, and none is used twice.

use super::{
    context::{Context, items, text},
    pod::CONTAINERS,
};
use std::collections::BTreeSet;
use tenure_meta::{FieldErrorKind, FieldErrors, format};
use tenure_value::Value;

/// Validates the claims of all containers of a pod.
pub(crate) fn container_claims(context: &Context<'_>, errors: &mut FieldErrors) {
    for list in CONTAINERS {
        for (at, container) in context.items(list).iter().enumerate() {
            let claims = items(container.at(["resources", "claims"]));
            if !claims.is_empty() {
                of_container(context, &format!("{list}[{at}].resources.claims"), claims, errors);
            }
        }
    }
}

fn of_container(context: &Context<'_>, path: &str, claims: &[Value], errors: &mut FieldErrors) {
    let known: BTreeSet<&str> =
        context.items("resourceClaims").iter().map(|claim| text(claim, "name")).collect();
    // The uses so far: claims as a whole, those of which a request is used, and these requests.
    let (mut whole, mut parts, mut requests) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (at, claim) in claims.iter().enumerate() {
        let (name, request) = (text(claim, "name"), text(claim, "request"));
        let path = format!("{path}[{at}]");
        let mut repeated =
            |used: String| errors.push(context.fault(&path, FieldErrorKind::Duplicate, &used.into(), ""));
        if name.is_empty() {
            errors.push(context.required(&path, ""));
            continue;
        }
        if whole.contains(name) {
            repeated(name.into());
        } else if request.is_empty() {
            if parts.contains(name) {
                repeated(name.into());
            }
            whole.insert(name);
        } else {
            if !requests.insert((name, request)) {
                repeated(format!("{name}/{request}"));
            }
            parts.insert(name);
            let verdict = format::dns_label(request);
            context.invalid(&format!("{path}.request"), &request.into(), verdict, errors);
        }
        if !known.contains(name) {
            let known: Vec<&str> = known.iter().copied().collect();
            let are = match known.as_slice() {
                [] => " which is empty".into(),
                known => format!(": {}", known.join(", ")),
            };
            let detail = format!("must be one of the names in pod.spec.resourceClaims{are}");
            errors.push(context.fault(&path, FieldErrorKind::NotFound, &name.into(), &detail));
        }
    }
}
