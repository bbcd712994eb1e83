//! Validation of the resource claims that containers use: each is a claim of the pod, and none is used twice.

use super::{
    context::{Context, items, text},
    pod::CONTAINERS,
};
use std::collections::BTreeSet;
use tenure_meta::{FieldErrorKind, FieldErrors, format};
use tenure_value::Value;

/// How many bytes of the names of claims an error lists at most.
const LISTED: usize = 4096;

/// Validates the claims of all containers of a pod.
pub(crate) fn container_claims(context: &Context<'_>, errors: &mut FieldErrors) {
    let mut known = None;
    for list in CONTAINERS {
        for (at, container) in context.items(list).iter().enumerate() {
            let claims = items(container.at(["resources", "claims"]));
            if !claims.is_empty() && !errors.is_full() {
                let known = known.get_or_insert_with(|| Known::of(context));
                of_container(context, known, &format!("{list}[{at}].resources.claims"), claims, errors);
            }
        }
    }
}

/// The claims of a pod.
struct Known<'v> {
    names: BTreeSet<&'v str>,
    /// What is said about another name.
    unknown: String,
}

impl<'v> Known<'v> {
    fn of(context: &'v Context<'v>) -> Known<'v> {
        let names: BTreeSet<&str> =
            context.items("resourceClaims").iter().map(|claim| text(claim, "name")).collect();
        let mut unknown = String::from("must be one of the names in pod.spec.resourceClaims");
        if names.is_empty() {
            unknown.push_str(" which is empty");
        }
        for (at, name) in names.iter().enumerate() {
            unknown.push_str(if at == 0 { ": " } else { ", " });
            if unknown.len() + name.len() > LISTED {
                unknown.push('…');
                break;
            }
            unknown.push_str(name);
        }
        Known { names, unknown }
    }
}

fn of_container(
    context: &Context<'_>,
    known: &Known<'_>,
    path: &str,
    claims: &[Value],
    errors: &mut FieldErrors,
) {
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
        if !known.names.contains(name) && !errors.is_full() {
            errors.push(context.fault(&path, FieldErrorKind::NotFound, &name.into(), &known.unknown));
        }
    }
}
