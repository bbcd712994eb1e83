//! The status of a definition: accepted names, whether the resource is established, stored versions. Two
//! definitions of a group cannot use the same name.

use super::ResourceNames;
use std::collections::HashSet;
use tenure_meta::{Seen, Timestamp, ValueExt, base64, der::SEQUENCE, pem_blocks, time::Precision};
use tenure_value::{Object, Text, Value};

/// The finalizer that delays the deletion of a definition until its objects are deleted.
pub const CLEANUP_FINALIZER: &str = tenure_meta::object_meta::CRD_CLEANUP_FINALIZER;

/// What a name of a definition is used for. Names of different uses do not collide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameUse {
    /// The plural, the singular, or a short name.
    Resource,
    /// The kind, or the kind of its list.
    Kind,
}

/// The names that a definition wants and that other definitions of its group use.
#[derive(Clone, Debug, Default)]
pub struct NamesInUse {
    resources: HashSet<Text>,
    kinds: HashSet<Text>,
}

impl NamesInUse {
    /// Asks for each name that a definition wants whether another definition uses it.
    pub fn among_wanted(definition: &Value, is_used: impl Fn(NameUse, &Text) -> bool) -> NamesInUse {
        let wanted = ResourceNames::read(definition.at(["spec", "names"]).unwrap_or(&Value::Null));
        let resources = [&wanted.plural, &wanted.singular].into_iter().chain(&wanted.short_names);
        let resources = resources.filter(|word| is_used(NameUse::Resource, word)).cloned().collect();
        let kinds = [&wanted.kind, &wanted.list_kind].into_iter();
        let kinds = kinds.filter(|word| is_used(NameUse::Kind, word)).cloned().collect();
        NamesInUse { resources, kinds }
    }
}

/// Returns the names that a definition uses: those that were accepted.
pub fn accepted_names(definition: &Value) -> impl Iterator<Item = (NameUse, Text)> {
    let accepted = definition.at(["status", "acceptedNames"]).unwrap_or(&Value::Null);
    let resources = ["plural", "singular"].map(|field| accepted.text(field)).into_iter();
    let resources = resources.chain(accepted.texts("shortNames")).map(|word| (NameUse::Resource, word));
    let kinds = ["kind", "listKind"].map(|field| (NameUse::Kind, accepted.text(field)));
    resources.chain(kinds).filter(|(_, word)| !word.is_empty()).collect::<Vec<_>>().into_iter()
}

/// A condition of the status.
struct Condition {
    condition_type: &'static str,
    holds: bool,
    reason: Text,
    message: String,
}

/// Returns the definition with its status: accepted names, the conditions `NamesAccepted` and `Established`,
/// and stored versions.
pub fn accept(definition: &Value, in_use: &NamesInUse, now: Timestamp) -> Value {
    let Some(fields) = definition.as_object() else { return definition.clone() };
    let spec = fields.get("spec").unwrap_or(&Value::Null);
    let wanted = ResourceNames::read(spec.get("names").unwrap_or(&Value::Null));
    let status = fields.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    let held = status.get("acceptedNames").cloned().unwrap_or_default();
    let (accepted, conflict) = accept_names(&wanted, &held, in_use);
    let was_established = holds(&status, "Established");
    let names = match &conflict {
        None => Condition {
            condition_type: "NamesAccepted",
            holds: true,
            reason: "NoConflicts".into(),
            message: "no conflicts found".into(),
        },
        Some((reason, message)) => Condition {
            condition_type: "NamesAccepted",
            holds: false,
            reason: reason.clone(),
            message: message.clone(),
        },
    };
    let established = match (was_established, conflict.is_none()) {
        (false, true) if !has_readable_bundle(spec) => Condition {
            condition_type: "Established",
            holds: false,
            reason: "InvalidCABundle".into(),
            message: "The conversion webhook CABundle is invalid".into(),
        },
        (false, false) => Condition {
            condition_type: "Established",
            holds: false,
            reason: "NotAccepted".into(),
            message: "not all names are accepted".into(),
        },
        _ => Condition {
            condition_type: "Established",
            holds: true,
            reason: "InitialNamesAccepted".into(),
            message: "the initial names have been accepted".into(),
        },
    };
    let conditions = with_condition(&status, names, now);
    let conditions = with_condition(&status.with("conditions", conditions), established, now);
    let conditions = match approval(definition) {
        Some(approval) => with_condition(&status.with("conditions", conditions), approval, now),
        None => conditions,
    };
    let status = status
        .with("acceptedNames", accepted)
        .with("conditions", conditions)
        .with("storedVersions", stored_versions(&status, spec));
    fields.with("status", status).into()
}

/// Returns a definition whose names are accepted by a later write, as Kubernetes stores it first: what it has of its status stays, a new
/// one has no conditions, and the storage version joins the stored ones.
pub fn unaccepted(definition: &Value) -> Value {
    let Some(fields) = definition.as_object() else { return definition.clone() };
    let spec = fields.get("spec").unwrap_or(&Value::Null);
    let status = fields.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    let stored = stored_versions(&status, spec);
    let status = match status.contains("acceptedNames") {
        true => status,
        false => {
            let names = Value::object([("kind", Value::from("")), ("plural", Value::from(""))]);
            status.with("acceptedNames", names).with("conditions", Value::Null)
        }
    };
    fields.with("status", status.with("storedVersions", stored)).into()
}

/// The annotation that says where an API in a group of the Kubernetes community was approved.
const APPROVED: &str = "api-approved.kubernetes.io";

/// Returns whether a definition in a group of the Kubernetes community follows its approval policy; `None` for other groups.
fn approval(definition: &Value) -> Option<Condition> {
    let group = definition.at(["spec", "group"])?.as_str()?;
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|suffix| group.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    if !is_protected {
        return None;
    }
    let given =
        definition.at(["metadata", "annotations", APPROVED]).and_then(Value::as_str).unwrap_or_default();
    let is_url = given
        .split_once("://")
        .is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty() && !rest.starts_with('/'));
    const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
    let (holds, reason, message) = match given {
        "" => {
            let needs = format!("protected groups must have approval annotation {APPROVED:?}, {SEE}");
            (false, "MissingAnnotation", needs)
        }
        given if given.starts_with("unapproved") => {
            (false, "UnapprovedAnnotation", format!("not approved: {given:?}"))
        }
        given if is_url => (true, "ApprovedAnnotation", format!("approved in {given}")),
        _ => {
            let needs = format!(
                "protected groups must have approval annotation {APPROVED:?} with either a URL or a reason starting with \"unapproved\", {SEE}"
            );
            (false, "InvalidAnnotation", needs)
        }
    };
    Some(Condition {
        condition_type: "KubernetesAPIApprovalPolicyConformant",
        holds,
        reason: reason.into(),
        message,
    })
}

/// Whether the certificates that a conversion webhook is trusted by are PEM, if there are any.
fn has_readable_bundle(spec: &Value) -> bool {
    let bundle = spec.at(["conversion", "webhook", "clientConfig", "caBundle"]).and_then(Value::as_str);
    let Some(bundle) = bundle.filter(|bundle| !bundle.is_empty()) else { return true };
    let pem = base64::decode(bundle).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let mut certificates = pem_blocks(&pem).filter(|block| block.label == "CERTIFICATE").peekable();
    certificates.peek().is_some()
        && certificates.all(|block| block.der().is_some_and(|der| der.first() == Some(&SEQUENCE)))
}

/// Returns the definition with the condition `Terminating`.
pub fn terminating(definition: &Value, now: Timestamp) -> Value {
    let Some(fields) = definition.as_object() else { return definition.clone() };
    let status = fields.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    let condition = Condition {
        condition_type: "Terminating",
        holds: true,
        reason: "InstanceDeletionPending".into(),
        message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
            .into(),
    };
    let conditions = with_condition(&status, condition, now);
    fields.with("status", status.with("conditions", conditions)).into()
}

/// Accepts each name that is not in use; otherwise keeps the previously accepted one.
fn accept_names(
    wanted: &ResourceNames,
    held: &Value,
    in_use: &NamesInUse,
) -> (Value, Option<(Text, String)>) {
    let mut conflict = None;
    let mut taken = |used: &HashSet<Text>, word: &Text, reason: &str| {
        let is_taken = used.contains(word);
        if is_taken {
            conflict = Some((Text::new(reason), format!("{word:?} is already in use")));
        }
        is_taken
    };
    let mut names = Object::default();
    for (field, word, used, reason) in [
        ("plural", &wanted.plural, &in_use.resources, "PluralConflict"),
        ("singular", &wanted.singular, &in_use.resources, "SingularConflict"),
        ("kind", &wanted.kind, &in_use.kinds, "KindConflict"),
        ("listKind", &wanted.list_kind, &in_use.kinds, "ListKindConflict"),
    ] {
        match (taken(used, word, reason), held.get(field)) {
            (false, _) => names = names.with(field, word.clone()),
            (true, Some(before)) => names = names.with(field, before.clone()),
            (true, None) => {}
        }
    }
    // A new short name may not be one of the names that the definition has itself, either.
    let own =
        |field: &str| held.get(field).and_then(Value::as_str).filter(|word| !word.is_empty()).map(Text::new);
    let own: HashSet<Text> = ["plural", "singular"].into_iter().filter_map(own).collect();
    let kept = held.texts("shortNames");
    let mut is_free = |word: &&Text| {
        !taken(&in_use.resources, word, "ShortNamesConflict")
            && (kept.contains(word) || !taken(&own, word, "ShortNamesConflict"))
    };
    let short: Vec<&Text> = wanted.short_names.iter().filter(|word| is_free(word)).collect();
    if !short.is_empty() {
        names =
            names.with("shortNames", Value::array(short.into_iter().map(|word| Value::from(word.clone()))));
    }
    if !wanted.categories.is_empty() {
        let categories = wanted.categories.iter().map(|word| Value::from(word.clone()));
        names = names.with("categories", Value::array(categories));
    }
    (names.into(), conflict)
}

fn conditions(status: &Object) -> &[Value] {
    status.get("conditions").and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
}

fn holds(status: &Object, name: &str) -> bool {
    conditions(status)
        .iter()
        .any(|condition| condition.text("type") == name && condition.text("status") == "True")
}

/// Sets a condition; its transition time changes only with its status.
fn with_condition(status: &Object, condition: Condition, now: Timestamp) -> Value {
    let word = if condition.holds { "True" } else { "False" };
    let before =
        conditions(status).iter().position(|existing| existing.text("type") == condition.condition_type);
    let since = before
        .and_then(|at| conditions(status).get(at))
        .filter(|existing| existing.text("status") == word)
        .map(|existing| existing.text("lastTransitionTime"));
    let since = since.unwrap_or_else(|| now.format(Precision::Seconds).into());
    let value = Value::object([
        ("lastTransitionTime", Value::from(since)),
        ("message", Value::from(condition.message)),
        ("reason", Value::from(condition.reason)),
        ("status", Value::from(word)),
        ("type", Value::from(condition.condition_type)),
    ]);
    let mut all = conditions(status).to_vec();
    match before.and_then(|at| all.get_mut(at)) {
        Some(place) => *place = value,
        None => all.push(value),
    }
    Value::array(all)
}

/// Adds the storage version to the stored versions.
fn stored_versions(status: &Object, spec: &Value) -> Value {
    let stored = status.get("storedVersions").and_then(Value::as_array);
    let mut stored: Vec<Value> = stored.map(|items| items.to_vec()).unwrap_or_default();
    let mut seen: Seen<Value> = stored.iter().cloned().collect();
    for version in spec.items("versions").iter().filter(|version| version.flag("storage")) {
        let name = Value::from(version.text("name"));
        if seen.insert(name.clone()) {
            stored.push(name);
        }
    }
    Value::array(stored)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(names: &str) -> Value {
        format!(
            r#"{{"metadata":{{"name":"things.example.com"}},"spec":{{"group":"example.com","names":{names},"scope":"Namespaced",
            "versions":[{{"name":"v1","served":true,"storage":true}}]}}}}"#
        )
        .parse()
        .unwrap()
    }

    fn later(seconds: i64) -> Timestamp {
        Timestamp::parse(&format!("2026-11-15T00:15:{seconds:02}Z"), Precision::Seconds).unwrap()
    }

    #[test]
    fn a_definition_without_conflicts_is_established_as_recorded() {
        let first =
            accept(&definition(r#"{"kind":"Thing","plural":"things"}"#), &NamesInUse::default(), later(55));
        let recorded: Value = r#"{"acceptedNames":{"kind":"Thing","listKind":"ThingList","plural":"things","singular":"thing"},
            "conditions":[{"lastTransitionTime":"2026-11-15T00:15:55Z","message":"no conflicts found","reason":"NoConflicts","status":"True","type":"NamesAccepted"},
            {"lastTransitionTime":"2026-11-15T00:15:55Z","message":"the initial names have been accepted","reason":"InitialNamesAccepted","status":"True","type":"Established"}],
            "storedVersions":["v1"]}"#.parse().unwrap();
        assert_eq!(first.get("status"), Some(&recorded));
        assert_eq!(accept(&first, &NamesInUse::default(), later(59)), first);
    }

    #[test]
    fn a_name_in_use_is_rejected() {
        let other = accept(
            &definition(r#"{"kind":"Thing","plural":"things","shortNames":["th"]}"#),
            &NamesInUse::default(),
            later(1),
        );
        let used: Vec<(NameUse, Text)> = accepted_names(&other).collect();
        assert_eq!(used.len(), 5);
        let wanted = definition(r#"{"kind":"Thing","plural":"items","shortNames":["th"]}"#);
        let in_use =
            NamesInUse::among_wanted(&wanted, |name_use, word| used.contains(&(name_use, word.clone())));
        let second = accept(&wanted, &in_use, later(2));
        let status = second.get("status").unwrap();
        assert_eq!(status.at(["acceptedNames", "plural"]), Some(&"items".into()));
        assert_eq!(status.at(["acceptedNames", "kind"]), None);
        let conditions = status.items("conditions");
        assert_eq!(conditions[0].text("status"), "False");
        assert_eq!(conditions[0].text("message"), "\"th\" is already in use");
        assert_eq!(
            (conditions[1].text("status"), conditions[1].text("reason")),
            ("False".into(), "NotAccepted".into())
        );
        // A word is used by a resource or by a kind, not by both.
        let swapped =
            NamesInUse::among_wanted(&wanted, |name_use, word| name_use == NameUse::Kind && word == "th");
        assert!(swapped.resources.is_empty() && swapped.kinds.is_empty());
    }

    #[test]
    fn a_group_of_the_community_needs_an_approval() {
        for (group, annotation, expected) in [
            ("example.com", "", None),
            ("notk8s.io", "", None),
            ("sigs.k8s.io", "", Some(("False", "MissingAnnotation"))),
            (
                "k8s.io",
                "https://github.com/kubernetes/kubernetes/pull/1",
                Some(("True", "ApprovedAnnotation")),
            ),
            ("x.kubernetes.io", "unapproved, experimental", Some(("False", "UnapprovedAnnotation"))),
            ("x.kubernetes.io", "yes", Some(("False", "InvalidAnnotation"))),
        ] {
            let definition = Value::object([
                (
                    "metadata",
                    Value::object([("annotations", Value::object([(APPROVED, Value::from(annotation))]))]),
                ),
                ("spec", Value::object([("group", Value::from(group))])),
            ]);
            let accepted = accept(&definition, &NamesInUse::default(), later(1));
            let conditions = accepted.get("status").unwrap().items("conditions");
            let condition = conditions
                .iter()
                .find(|condition| condition.text("type") == "KubernetesAPIApprovalPolicyConformant");
            let condition = condition.map(|condition| (condition.text("status"), condition.text("reason")));
            assert_eq!(
                condition,
                expected.map(|(status, reason)| (status.into(), reason.into())),
                "{group} {annotation}"
            );
        }
    }

    #[test]
    fn a_definition_with_an_unreadable_bundle_is_not_established() {
        for (bundle, is_readable) in [
            ("", true),
            ("Y2VydA==", false),
            ("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1BQT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=", true),
            ("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCioqCi0tLS0tRU5EIENFUlRJRklDQVRFLS0tLS0K", false),
        ] {
            let spec =
                format!(r#"{{"conversion":{{"webhook":{{"clientConfig":{{"caBundle":"{bundle}"}}}}}}}}"#);
            assert_eq!(has_readable_bundle(&spec.parse().unwrap()), is_readable, "{bundle}");
        }
    }

    #[test]
    fn a_new_storage_version_is_added_to_the_stored_versions() {
        let old =
            accept(&definition(r#"{"kind":"Thing","plural":"things"}"#), &NamesInUse::default(), later(1));
        let text = old.to_string().replace(r#""name":"v1","served":true"#, r#""name":"v2","served":true"#);
        let new = accept(&text.parse().unwrap(), &NamesInUse::default(), later(2));
        assert_eq!(new.at(["status", "storedVersions"]), Some(&Value::array(["v1".into(), "v2".into()])));
    }
}
