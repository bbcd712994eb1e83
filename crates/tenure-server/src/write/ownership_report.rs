//! The ownership report of a dry-run apply: what each manager would gain, lose, share, and what would be removed.

use crate::{
    Answer, Failure, Format,
    object::Stored,
    server::{Request, Server},
    target::Target,
    write::update::owner,
};
use hyper::StatusCode;
use tenure_apply::{OwnershipChange, State};
use tenure_fields::{FieldSet, Path};
use tenure_value::{Object, Value};

/// The query parameter that asks for a report.
pub(crate) const PARAMETER: &str = "ownershipReport";

/// Whether a request asks for a report, which only a dry run can give.
pub(crate) fn is_asked(request: &Request, dry_run: bool) -> Result<bool, Failure> {
    if !request.query.flag(PARAMETER) {
        return Ok(false);
    }
    if !dry_run {
        let message = "Forbidden: a report tells what an apply would do; add dryRun=All";
        return Err(Failure::invalid_option("PatchOptions", "FieldValueForbidden", PARAMETER, message));
    }
    Ok(true)
}

impl Server {
    /// Answers with what an apply would change in who holds what.
    pub(crate) fn show_report(
        &self,
        target: &Target,
        before: Option<&Stored>,
        after: &Stored,
        format: Format,
    ) -> Answer {
        let state =
            |stored: &Stored| State { object: stored.object.clone(), managers: stored.managers.clone() };
        let nothing = || State { object: target.served.empty(), managers: Default::default() };
        let before = before.map_or_else(nothing, state);
        let changes = tenure_apply::ownership_changes(&before, &state(after), target.served.type_ref());
        let report = Value::object([
            ("apiVersion", Value::from("tenure.dev/v1")),
            ("kind", Value::from("OwnershipReport")),
            ("managers", Value::array(changes.iter().map(change))),
            ("object", after.shown()),
        ]);
        Answer::document(StatusCode::OK, &report, format)
    }
}

fn change(change: &OwnershipChange) -> Value {
    let mut fields = owner(&change.owner).as_object().cloned().unwrap_or_default();
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
