//! The ownership report of a dry-run apply: which fields each manager would gain, lose and share, and which would be removed.

use super::ownership::owner_document;
use hyper::StatusCode;
use tenure_apply::{OwnershipChange, State};
use tenure_catalog::{Target, object::Stored};
use tenure_fields::{FieldSet, Path};
use tenure_http::{Format, Request, Response};
use tenure_meta::ApiError;
use tenure_value::{Object, Value};

/// The query parameter that requests a report.
const PARAMETER: &str = "ownershipReport";

/// Whether a request wants a report; only a dry run can.
pub(super) fn is_requested(request: &Request, dry_run: bool) -> Result<bool, ApiError> {
    if !request.query.flag(PARAMETER) {
        return Ok(false);
    }
    if !dry_run {
        let message = "Forbidden: a report requires a dry run; add dryRun=All";
        return Err(ApiError::invalid_option("PatchOptions", "FieldValueForbidden", PARAMETER, message));
    }
    Ok(true)
}

/// Returns the report of a dry run.
pub(super) fn response(target: &Target, before: Option<&Stored>, after: &Stored, format: Format) -> Response {
    let state = |stored: &Stored| State { object: stored.object.clone(), managers: stored.managers.clone() };
    let nothing = || State { object: target.handler.empty(), managers: Default::default() };
    let before = before.map_or_else(nothing, state);
    let changes = tenure_apply::ownership_changes(&before, &state(after), target.handler.type_ref());
    let report = Value::object([
        ("apiVersion", Value::from("tenure.dev/v1")),
        ("kind", Value::from("OwnershipReport")),
        ("managers", Value::array(changes.iter().map(change))),
        ("object", after.shown()),
    ]);
    Response::document(StatusCode::OK, &report, format)
}

fn change(change: &OwnershipChange) -> Value {
    let mut fields = owner_document(&change.owner).as_object().cloned().unwrap_or_default();
    for (name, set) in [
        ("gained", &change.gained),
        ("lost", &change.lost),
        ("shared", &change.shared),
        ("removed", &change.removed),
    ] {
        fields = with_paths(fields, name, set);
    }
    Value::Object(fields)
}

fn with_paths(fields: Object, name: &str, set: &FieldSet) -> Object {
    let mut paths = Vec::new();
    set.visit(|elements| paths.push(Value::from(elements.iter().cloned().collect::<Path>().to_string())));
    fields.with(name, Value::array(paths))
}
