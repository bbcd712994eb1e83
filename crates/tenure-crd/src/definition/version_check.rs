//! Validation of the versions of a definition and of their parts: schemas, subresources, columns and selectable fields. A part
//! that all versions have alike is checked once, as `spec.validation`, `spec.subresources` and so on.

use super::schema_check;
use crate::path::{Brackets, SimplePath};
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, Seen, ValueExt, format::dns1035};
use tenure_profile::Profile;
use tenure_value::{Value, go_text::is_printed, json};

const COLUMN_TYPES: &str = "boolean,date,integer,number,string";
const COLUMN_FORMATS: &str = "byte,date,date-time,double,float,int32,int64,password";
/// The maximum number of selectable fields of a version.
const MOST_SELECTABLE: usize = 8;
/// The maximum length of a deprecation warning, in bytes.
const MOST_WARNING: usize = 256;

/// The names of the parts.
const SCHEMA: &str = "schema";
const SUBRESOURCES: &str = "subresources";
const COLUMNS: &str = "additionalPrinterColumns";
const SELECTABLE: &str = "selectableFields";

/// Validates the versions; `check_names` comes between what each version has alone and what all have alike.
pub(super) fn check(
    spec: &Value,
    profile: Profile,
    errors: &mut FieldErrors,
    check_names: impl FnOnce(&mut FieldErrors),
) {
    let versions = spec.items("versions");
    for (at, _) in versions.iter().enumerate().filter(|(_, version)| schema_of(version).is_none()) {
        errors.push(FieldError::required(format!("spec.versions[{at}].schema.openAPIV3Schema"), ""));
    }
    for (at, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{at}]");
        let faults = dns1035(&version.text("name")).join(",");
        if !faults.is_empty() {
            errors.push(FieldError::invalid(format!("{path}.name"), &version.text("name").into(), faults));
        }
        check_warning(version, &path, errors);
        let has_status = has_status(version);
        let alone = Parts { version: Some(version), path, is_shared: false };
        alone.check(versions, has_status, profile, errors);
    }
    let mut names = Seen::default();
    if !versions.iter().all(|version| names.insert(version.text("name"))) {
        errors.push(wrong_versions(versions, "must contain unique version names"));
    }
    if versions.iter().filter(|version| version.flag("storage")).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        errors.push(wrong_versions(versions, detail));
    }
    // The name of the first version is what once was the only one.
    let first = versions.first().map(|version| version.text("name")).filter(|name| !name.is_empty());
    if let Some((name, faults)) =
        first.map(|name| (name.clone(), dns1035(&name).join(","))).filter(|(_, faults)| !faults.is_empty())
    {
        errors.push(FieldError::invalid("spec.version", &name.into(), faults));
    }
    check_names(errors);
    let shared = Parts { version: versions.first(), path: "spec".into(), is_shared: true };
    shared.check(versions, versions.iter().any(has_status), profile, errors);
}

/// The parts of a version that it has alone, or those that all versions have alike.
struct Parts<'v> {
    version: Option<&'v Value>,
    path: String,
    is_shared: bool,
}

impl Parts<'_> {
    fn check(&self, versions: &[Value], has_status: bool, profile: Profile, errors: &mut FieldErrors) {
        let (Some(version), path) = (self.version, &self.path) else { return };
        let is_here = |part: &str| is_shared(versions, part) == self.is_shared;
        if let Some(schema) = schema_of(version).filter(|_| is_here(SCHEMA)) {
            let name = if self.is_shared { "validation" } else { SCHEMA };
            schema_check::check(
                schema,
                &format!("{path}.{name}.openAPIV3Schema"),
                has_status,
                profile,
                errors,
            );
        }
        if is_here(SUBRESOURCES) {
            check_subresources(version.get(SUBRESOURCES).unwrap_or(&Value::Null), path, errors);
        }
        if is_here(COLUMNS) {
            for (index, column) in version.items(COLUMNS).iter().enumerate() {
                check_column(column, &format!("{path}.{COLUMNS}[{index}]"), errors);
            }
        }
        let fields = version.items(SELECTABLE);
        if fields.is_empty() || !is_here(SELECTABLE) {
            return;
        }
        let path = format!("{path}.{SELECTABLE}");
        match schema_of(version).filter(|_| is_here(SCHEMA)) {
            Some(schema) => check_selectable(fields, schema, &path, errors),
            None => {
                let detail = match self.is_shared {
                    true => "may only be set when validations.schema is included",
                    false => "may only be set when `version.schema.openAPIV3Schema` is not included",
                };
                errors.push(FieldError::invalid(path, &"".into(), detail));
            }
        }
    }
}

fn schema_of(version: &Value) -> Option<&Value> {
    version.at([SCHEMA, "openAPIV3Schema"]).filter(|schema| !schema.is_null())
}

fn has_status(version: &Value) -> bool {
    version.at([SUBRESOURCES, "status"]).is_some_and(|status| !status.is_null())
}

/// Whether all versions have a part alike; an empty list is as none.
fn is_shared(versions: &[Value], part: &str) -> bool {
    let part_of = |version: &Value| {
        let part = version.get(part).filter(|part| !part.is_null());
        part.filter(|part| part.as_array().is_none_or(|items| !items.is_empty())).cloned()
    };
    let first = versions.first().and_then(part_of);
    versions.iter().all(|version| part_of(version) == first)
}

/// Returns the error of the versions as a whole, which Kubernetes shows without the parts that all have alike.
fn wrong_versions(versions: &[Value], detail: &str) -> FieldError {
    let shared = [SCHEMA, SUBRESOURCES, COLUMNS, SELECTABLE].map(|part| is_shared(versions, part));
    let shown = versions.iter().map(|version| {
        let own = |at: usize, part: &str| match version.get(part).filter(|_| !shared[at]) {
            Some(part) => json::to_string(part),
            None => "null".to_string(),
        };
        format!(
            r#"{{"Name":{},"Served":{},"Storage":{},"Deprecated":{},"DeprecationWarning":{},"Schema":{},"Subresources":{},"AdditionalPrinterColumns":{},"SelectableFields":{}}}"#,
            json::to_string(&version.text("name").into()),
            version.flag("served"),
            version.flag("storage"),
            version.flag("deprecated"),
            json::to_string(version.get("deprecationWarning").unwrap_or(&Value::Null)),
            own(0, SCHEMA),
            own(1, SUBRESOURCES),
            own(2, COLUMNS),
            own(3, SELECTABLE)
        )
    });
    let shown = shown.collect::<Vec<_>>().join(",");
    FieldError::with_message(
        FieldErrorKind::Invalid,
        "spec.versions",
        format!("Invalid value: [{shown}]: {detail}"),
    )
}

fn check_warning(version: &Value, path: &str, errors: &mut FieldErrors) {
    let Some(warning) = version.get("deprecationWarning").filter(|warning| !warning.is_null()) else {
        return;
    };
    let mut fault = |detail: String| {
        errors.push(FieldError::invalid(format!("{path}.deprecationWarning"), warning, detail));
    };
    if !version.flag("deprecated") {
        return fault("can only be set for deprecated versions".into());
    }
    let text = warning.as_str().unwrap_or_default();
    if text.len() > MOST_WARNING {
        fault(format!("must be <= {MOST_WARNING} characters long"));
    }
    if text.is_empty() {
        fault("must not be an empty string".into());
    }
    if let Some((at, _)) = text.char_indices().find(|(_, sign)| !is_printed(*sign)) {
        let detail = "must only contain printable UTF-8 characters; non-printable character found at index";
        fault(format!("{detail} {at}"));
    }
}

fn check_subresources(value: &Value, path: &str, errors: &mut FieldErrors) {
    let Some(scale) = value.get("scale").filter(|scale| !scale.is_null()) else { return };
    for (name, roots, under, is_required) in [
        ("specReplicasPath", &[".spec."][..], ".spec", true),
        ("statusReplicasPath", &[".status."], ".status", true),
        ("labelSelectorPath", &[".spec.", ".status."], "either .spec or .status", false),
    ] {
        let (field, text) = (format!("{path}.subresources.scale.{name}"), scale.text(name));
        if text.is_empty() {
            if is_required {
                errors.push(FieldError::required(field, ""));
            }
        } else if !text.starts_with('.') {
            let detail = "must be a simple json path starting with .";
            errors.push(FieldError::invalid(field, &text.into(), detail));
        } else if !roots.iter().any(|root| text.starts_with(root)) {
            let detail = format!("should be a json path under {under}");
            errors.push(FieldError::invalid(field, &text.into(), &detail));
        }
    }
}

fn check_column(column: &Value, path: &str, errors: &mut FieldErrors) {
    let (column_type, format, text) = (column.text("type"), column.text("format"), column.text("jsonPath"));
    if column.text("name").is_empty() {
        errors.push(FieldError::required(format!("{path}.name"), ""));
    }
    let is_one_of = |words: &str, word: &str| words.split(',').any(|known| known == word);
    let detail = format!("must be one of {COLUMN_TYPES}");
    if column_type.is_empty() {
        errors.push(FieldError::required(format!("{path}.type"), detail));
    } else if !is_one_of(COLUMN_TYPES, &column_type) {
        errors.push(FieldError::invalid(format!("{path}.type"), &column_type.into(), detail));
    }
    if !format.is_empty() && !is_one_of(COLUMN_FORMATS, &format) {
        let detail = format!("must be one of {COLUMN_FORMATS}");
        errors.push(FieldError::invalid(format!("{path}.format"), &format.into(), detail));
    }
    if text.is_empty() {
        errors.push(FieldError::required(format!("{path}.JSONPath"), ""));
    } else if !text.starts_with('.') {
        let detail = "must be a simple json path starting with .";
        errors.push(FieldError::invalid(format!("{path}.JSONPath"), &text.into(), detail));
    }
}

fn check_selectable(fields: &[Value], schema: &Value, path: &str, errors: &mut FieldErrors) {
    let (mut seen, mut count) = (Seen::default(), 0);
    for (at, field) in fields.iter().enumerate() {
        let text = field.text("jsonPath");
        let path = format!("{path}[{at}].jsonPath");
        let invalid = |detail: &str| FieldError::invalid(path.clone(), &text.clone().into(), detail);
        if text.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let (simple, target) = match SimplePath::find(&text, schema, Brackets::Refused) {
            Ok(found) => found,
            Err(why) => {
                errors.push(invalid(&format!("is an invalid path: {why}")));
                continue;
            }
        };
        if simple.names.first().is_some_and(|name| name == "metadata") {
            errors.push(invalid("must not point to fields in metadata"));
        }
        if !matches!(target.text("type").as_str(), "string" | "integer" | "boolean") {
            errors.push(invalid(
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
            ));
        }
        if seen.insert(simple.names) {
            count += 1;
        } else {
            errors.push(FieldError::duplicate(path, &text.into()));
        }
    }
    if count > MOST_SELECTABLE {
        errors.push(FieldError::too_many(path, count, MOST_SELECTABLE as u64));
    }
}
