//! Validation of definitions: names, versions and what was stored; the parts of a version are in `version_check`. Errors are those
//! of Kubernetes, with its paths: it checks what all versions have alike once, as a part of the spec.
//! The metadata is validated like that of every kind.

use super::{conversion_check, version_check};
use tenure_meta::{
    FieldError, FieldErrors, Seen, ValueExt,
    format::{dns_subdomain, dns1035},
};
use tenure_profile::Profile;
use tenure_value::{Text, Value};

const APPROVAL: &str = "api-approved.kubernetes.io";

/// Returns the errors of a new definition.
pub fn check_create(object: &Value, profile: Profile) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    check_spec(object, profile, &mut errors);
    check_stored_versions(object, &[], &mut errors);
    check_approval(object, &mut errors);
    check_preserved(object, &mut errors);
    errors.into_vec()
}

/// Returns the errors of an updated definition.
pub fn check_update(new: &Value, old: &Value, profile: Profile) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    check_spec(new, profile, &mut errors);
    let status = old.get("status").unwrap_or(&Value::Null);
    let is_established = status
        .items("conditions")
        .iter()
        .any(|condition| condition.text("type") == "Established" && condition.text("status") == "True");
    let stored: [&[&str]; 4] = [&["scope"], &["names", "kind"], &["group"], &["names", "plural"]];
    for path in stored.into_iter().skip(if is_established { 0 } else { 2 }) {
        let at = |definition: &Value| {
            definition.get("spec").and_then(|spec| spec.at(path.iter().copied())).cloned().unwrap_or_default()
        };
        if at(new) != at(old) {
            errors.push(FieldError::invalid(
                format!("spec.{}", path.join(".")),
                &at(new),
                "field is immutable",
            ));
        }
    }
    check_names(status.get("acceptedNames").unwrap_or(&Value::Null), "status.acceptedNames", &mut errors);
    check_stored_versions(new, &status.texts("storedVersions"), &mut errors);
    if approval_of(new) != approval_of(old) {
        check_approval(new, &mut errors);
    }
    if old.at(["spec", "preserveUnknownFields"]) != Some(&Value::Bool(true)) {
        check_preserved(new, &mut errors);
    }
    errors.into_vec()
}

fn check_spec(object: &Value, profile: Profile, errors: &mut FieldErrors) {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let group = spec.text("group");
    match dns_subdomain(&group).join(",") {
        _ if group.is_empty() => errors.push(FieldError::required("spec.group", "")),
        faults if !faults.is_empty() => errors.push(FieldError::invalid("spec.group", &group.into(), faults)),
        _ if !group.contains('.') => errors.push(FieldError::invalid(
            "spec.group",
            &group.into(),
            "should be a domain with at least one dot",
        )),
        _ => {}
    }
    match spec.text("scope").as_str() {
        "" => errors.push(FieldError::required("spec.scope", "")),
        "Cluster" | "Namespaced" => {}
        other => {
            let allowed = ["Cluster", "Namespaced"].map(Value::from);
            errors.push(FieldError::not_supported("spec.scope", &other.into(), &allowed));
        }
    }
    version_check::check(spec, profile, errors, |errors| {
        let names = spec.get("names").unwrap_or(&Value::Null);
        check_required_names(names, errors);
        check_names(names, "spec.names", errors);
    });
    conversion_check::check(spec, errors);
}

/// The names that a definition must have; the last three follow from the kind where they are missing.
fn check_required_names(names: &Value, errors: &mut FieldErrors) {
    let has_kind = !names.text("kind").is_empty();
    for (name, follows) in [("plural", false), ("singular", true), ("kind", true), ("listKind", true)] {
        if names.text(name).is_empty() && !(follows && has_kind) {
            errors.push(FieldError::required(format!("spec.names.{name}"), ""));
        }
    }
}

fn check_names(names: &Value, path: &str, errors: &mut FieldErrors) {
    let label = |errors: &mut FieldErrors, field: String, text: &Text, case: Case| {
        let faults = match case {
            Case::Lower => dns1035(text).join(","),
            Case::Mixed => dns1035(&text.to_lowercase()).join(","),
        };
        if !faults.is_empty() {
            let before = match case {
                Case::Lower => "",
                Case::Mixed => "may have mixed case, but should otherwise match: ",
            };
            errors.push(FieldError::invalid(field, &text.clone().into(), before.to_owned() + &faults));
        }
    };
    for (name, case) in
        [("plural", Case::Lower), ("singular", Case::Lower), ("kind", Case::Mixed), ("listKind", Case::Mixed)]
    {
        let text = names.text(name);
        if !text.is_empty() {
            label(errors, format!("{path}.{name}"), &text, case);
        }
    }
    for (at, word) in names.texts("shortNames").iter().enumerate() {
        label(errors, format!("{path}.shortNames[{at}]"), word, Case::Lower);
    }
    let (kind, list_kind) = (names.text("kind"), names.text("listKind"));
    if !kind.is_empty() && kind == list_kind {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(format!("{path}.listKind"), &kind.into(), detail));
    }
    for (at, word) in names.texts("categories").iter().enumerate() {
        label(errors, format!("{path}.categories[{at}]"), word, Case::Lower);
    }
}

#[derive(Clone, Copy)]
enum Case {
    Lower,
    Mixed,
}

/// Versions in which objects were stored must exist, and the first storage version is one of them.
fn check_stored_versions(object: &Value, stored: &[Text], errors: &mut FieldErrors) {
    const PATH: &str = "status.storedVersions";
    let versions = object.get("spec").unwrap_or(&Value::Null).items("versions");
    let mut stored: Vec<Text> = stored.to_vec();
    let storage =
        || versions.iter().filter(|version| version.flag("storage")).map(|version| version.text("name"));
    stored.extend(storage().next().filter(|name| !stored.contains(name)));
    let shown = || Value::array(stored.iter().cloned().map(Value::from));
    if stored.is_empty() {
        let detail = "must have at least one stored version";
        return errors.push(FieldError::invalid(PATH, &Value::Null, detail));
    }
    let known: Seen<&Text> = stored.iter().collect();
    for name in storage().filter(|name| !known.contains(&name)) {
        errors.push(FieldError::invalid(PATH, &shown(), format!("must have the storage version {name}")));
    }
    let names: Seen<Text> = versions.iter().map(|version| version.text("name")).collect();
    for (at, name) in stored.iter().enumerate().filter(|(_, name)| !names.contains(*name)) {
        let detail = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
        );
        errors.push(FieldError::invalid(format!("{PATH}[{at}]"), &name.clone().into(), detail));
    }
}

fn approval_of(object: &Value) -> Option<&str> {
    object.at(["metadata", "annotations", APPROVAL]).and_then(Value::as_str)
}

/// Groups of the Kubernetes project require an approval annotation.
fn check_approval(object: &Value, errors: &mut FieldErrors) {
    let group = object.at(["spec", "group"]).and_then(Value::as_str).unwrap_or_default();
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    let approval = approval_of(object).unwrap_or_default();
    let path = format!("metadata.annotations[{APPROVAL}]");
    if !is_protected || approval.starts_with("https://") || approval.starts_with("unapproved") {
        return;
    }
    errors.push(match approval {
        "" => FieldError::required(
            path,
            "protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111",
        ),
        other => FieldError::invalid(
            path,
            &other.into(),
            "protected groups must have approval annotation \"api-approved.kubernetes.io\" with either a URL or a reason starting with \"unapproved\"",
        ),
    });
}

fn check_preserved(object: &Value, errors: &mut FieldErrors) {
    if object.get("spec").is_some_and(|spec| spec.flag("preserveUnknownFields")) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", &true.into(), detail));
    }
}
