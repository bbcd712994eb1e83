//! The rules of the options of lists and watches, which exclude each other in part.

use tenure_http::Query;
use tenure_meta::{ApiError, FieldError};
use tenure_value::Value;

const MATCH: &str = "resourceVersionMatch";

/// Checks that the numbers among the options are numbers.
pub(crate) fn check_numbers(query: &Query) -> Result<(), ApiError> {
    query.integer("timeoutSeconds")?;
    query.integer("limit")?;
    Ok(())
}

/// Checks the options of a list, or of a watch.
pub(crate) fn check(query: &Query) -> Result<(), ApiError> {
    let errors = if query.flag("watch") { watch_errors(query) } else { list_errors(query) };
    if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid_options("ListOptions", &errors)) }
}

fn list_errors(query: &Query) -> Vec<FieldError> {
    let (version, matching) = (query.given("resourceVersion"), query.given(MATCH));
    let mut errors = Vec::new();
    let mut forbid = |detail: &str| errors.push(FieldError::forbidden(MATCH, detail));
    if let Some(matching) = matching {
        if version.is_none() {
            forbid("resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if query.given("continue").is_some() {
            forbid("resourceVersionMatch is forbidden when continue is provided");
        }
        if matching == "Exact" && version.is_some_and(|version| version == "0") {
            forbid("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
        if matching != "Exact" && matching != "NotOlderThan" {
            let allowed = ["Exact", "NotOlderThan", ""].map(Value::from);
            errors.push(FieldError::not_supported(MATCH, &matching.clone().into(), &allowed));
        }
    }
    if query.get("sendInitialEvents").is_some() {
        errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    errors
}

fn watch_errors(query: &Query) -> Vec<FieldError> {
    let (initial, matching) = (query.get("sendInitialEvents"), query.given(MATCH));
    let mut errors = Vec::new();
    if initial.is_some() && matching.is_none_or(|matching| matching != "NotOlderThan") {
        let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(FieldError::forbidden(MATCH, detail));
    }
    if let Some(matching) = matching {
        if initial.is_none() {
            let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(FieldError::forbidden(MATCH, detail));
        }
        if matching != "NotOlderThan" {
            let allowed = [Value::from("NotOlderThan")];
            errors.push(FieldError::not_supported(MATCH, &matching.clone().into(), &allowed));
        }
        if query.given("continue").is_some() {
            let detail = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(FieldError::forbidden(MATCH, detail));
        }
    }
    errors
}
