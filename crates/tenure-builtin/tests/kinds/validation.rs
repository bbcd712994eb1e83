//! Validation of objects and updates, compared with recorded requests.

use crate::{
    defaults::{Recorded, named},
    facts::{self, items, text},
    recordings,
};
use tenure_builtin::{CreateContext, Endpoint, FieldError, Identity, Kinds, service};
use tenure_value::{Object, Value};

/// Creates an object as the server would, or returns the errors.
pub fn create(input: &Value, around: &mut Recorded<'_>) -> Result<Value, Vec<FieldError>> {
    let kinds = Kinds::at(recordings::version());
    let resource = kinds.registry().of_kind(text(input, "apiVersion"), text(input, "kind")).unwrap();
    let completed = match kinds.complete(resource, input, around.now()) {
        Ok(completed) => completed.value,
        Err(error) => return Err(vec![FieldError::invalid(&error.path, &Value::Null, error.message)]),
    };
    let name = completed.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
    let namespaced = resource.scope == tenure_builtin::Scope::Namespaced;
    let identity = Identity {
        name: name.into(),
        namespace: namespaced.then(|| "ns".into()),
        uid: around.uid(),
        now: around.now(),
        keeps_marks: false,
    };
    let identified = tenure_meta::update::with_system_metadata(resource, &completed, &identity);
    let created = kinds.create(resource, &identified, around);
    match kinds.validate_create(resource, &created) {
        errors if errors.is_empty() => Ok(created),
        errors => Err(errors),
    }
}

#[test]
fn every_recorded_creation_is_valid() {
    let facts = facts::read("defaults-examples.json");
    let mut failures = Vec::new();
    for example in items(&facts, "examples") {
        let output = example.get("output").unwrap();
        let input = named(example.get("input").unwrap(), output);
        // A recorded prefix stands for a generated name.
        if text(output.get("metadata").unwrap(), "name").ends_with('-') {
            continue;
        }
        if let Err(errors) = create(&input, &mut Recorded::of(output)) {
            let words: Vec<String> =
                errors.iter().map(|error| format!("{}: {}", error.path, error.message.clone())).collect();
            failures.push(format!("{}: {}", text(example, "name"), words.join(", ")));
        }
    }
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn recorded_creations_are_accepted_and_rejected_as_recorded() {
    let kinds = Kinds::at(recordings::version());
    let facts = facts::read("errors.json");
    let (mut failures, mut count) = (Vec::new(), 0);
    for case in items(&facts, "cases") {
        let request = case.get("request").cloned().unwrap_or_default();
        let code = case.get("code").and_then(Value::as_i64).unwrap_or(0);
        let body = text(&request, "body").parse::<Value>().unwrap_or_default();
        let known = kinds.registry().of_kind(text(&body, "apiVersion"), text(&body, "kind"));
        // Rejections because of the path, options or other objects are outside of the engine.
        let elsewhere = [
            "namespace",
            "generateName",
            "priority",
            "exist",
            "Version",
            "managedFields",
            "put",
            "apply",
            "clusterIP",
        ];
        let post = text(&request, "method") == "POST" && !text(&request, "path").contains('?');
        let content =
            post && known.is_some_and(|resource| text(&request, "path").ends_with(resource.name.as_str()));
        if !content
            || elsewhere.iter().any(|word| text(case, "name").contains(word))
            || !matches!(code, 201 | 400 | 422)
        {
            continue;
        }
        if text(case, "name") == "crd without schema" || text(case, "name") == "other group's kind" {
            continue;
        }
        count += 1;
        let result = create(&body, &mut Recorded::of(&body));
        if result.is_ok() != (code == 201) {
            failures.push(format!("{}: recorded {code}, here {result:?}", text(case, "name")));
        }
    }
    assert!(count > 40, "only {count} cases were tried");
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}

/// Changes the first value at a path with `[]` for list items; `None` if there is none.
fn changed(value: &Value, steps: &[&str], change: &dyn Fn(&Value) -> Option<Value>) -> Option<Value> {
    let [step, rest @ ..] = steps else { return change(value) };
    let (name, each) = step.strip_suffix("[]").map_or((*step, false), |name| (name, true));
    let fields = value.as_object()?;
    let below = fields.get(name)?;
    let new = match (below, each) {
        (Value::Array(list), true) => {
            let at = list.iter().position(|item| changed(item, rest, change).is_some())?;
            let replaced = |(index, item): (usize, &Value)| match index == at {
                true => changed(item, rest, change).unwrap_or_default(),
                false => item.clone(),
            };
            Value::array(list.iter().enumerate().map(replaced))
        }
        _ => changed(below, rest, change)?,
    };
    Some(fields.with(name, new).into())
}

/// Splits a path, whose map keys may contain dots, with the help of the object.
fn steps<'p>(object: &Value, path: &'p str) -> Vec<&'p str> {
    let mut steps = Vec::new();
    let (mut rest, mut at) = (path, object.clone());
    while !rest.is_empty() {
        let first = rest.split('.').next().unwrap_or(rest);
        let name = first.trim_end_matches("[]");
        let step = match at.as_object().filter(|fields| !fields.contains(name) && fields.contains(rest)) {
            Some(_) => rest,
            None => first,
        };
        steps.push(step);
        let name = step.trim_end_matches("[]");
        at = at.get(name).cloned().unwrap_or_default();
        if let Some(list) = at.as_array() {
            at = list.first().cloned().unwrap_or_default();
        }
        rest = rest[step.len()..].trim_start_matches('.');
    }
    steps
}

fn mutated(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => Some(format!("{text}z").into()),
        Value::Int(number) => Some((number + 1).into()),
        Value::Bool(flag) => Some((!flag).into()),
        _ => None,
    }
}

/// Whether an update is rejected.
fn is_refused(old: &Value, new: &Value) -> bool {
    let kinds = Kinds::at(recordings::version());
    let resource = kinds.registry().of_kind(text(old, "apiVersion"), text(old, "kind")).unwrap();
    let mut around = Recorded::of(old);
    let Ok(completed) = kinds.complete(resource, new, around.now()) else { return true };
    let prepared = kinds.prepare_update(resource, Endpoint::Main, old, &completed.value, &mut around);
    // Kubernetes allocates before it validates.
    let refusals = match &*resource.kind {
        "Service" => service::refusals(Some(old), &completed.value, around.ip_families()),
        _ => Vec::new(),
    };
    !refusals.is_empty() || !kinds.validate_update(resource, Endpoint::Main, old, &prepared).is_empty()
}

#[test]
fn recorded_updates_are_rejected_and_accepted_as_recorded() {
    let examples = facts::read("defaults-examples.json");
    let strategies = facts::read("strategies.json");
    let tables = strategies.get("immutability").and_then(Value::as_object).cloned().unwrap();
    let (mut failures, mut count) = (Vec::new(), 0);
    // Values that only the controllers of their kind can validate.
    // The recorded server rejects every patch of a controller revision, since it compares the same data in
    // two encodings.
    let beyond =
        ["revision", "spec.selectors[].cel.expression", "spec.validations[].expression", "spec.request"];
    for (title, table) in &tables {
        let name = title.split(" (").next().unwrap_or(title);
        let example =
            items(&examples, "examples").iter().find(|example| text(example, "name") == name).unwrap();
        let output = example.get("output").unwrap();
        let input = named(example.get("input").unwrap(), output);
        let Ok(old) = create(&input, &mut Recorded::of(output)) else { panic!("{title}") };
        let mut try_change = |path: &str, change: &dyn Fn(&Value) -> Option<Value>, refused: bool| {
            if beyond.contains(&path) {
                return;
            }
            let Some(new) = changed(&old, &steps(&old, path), change) else { return };
            count += 1;
            if is_refused(&old, &new) != refused {
                failures.push(format!(
                    "{title}: {path}: should be {}",
                    if refused { "refused" } else { "taken" }
                ));
            }
        };
        for (path, _) in table.get("refused").and_then(Value::as_object).unwrap_or(&Object::default()) {
            try_change(path, &mutated, true);
        }
        for row in items(table, "otherRefusals") {
            let row = row.as_array().unwrap();
            let value: Value = row[1].as_str().unwrap_or_default().parse().unwrap();
            let differs = |old: &Value| (*old != value).then(|| value.clone());
            try_change(row[0].as_str().unwrap_or_default(), &differs, true);
        }
        for path in items(table, "changeable").iter().filter_map(Value::as_str) {
            let numbers = |value: &Value| {
                if value.is_scalar() && value.as_str().is_none() { mutated(value) } else { None }
            };
            try_change(path, &numbers, false);
        }
    }
    assert!(count > 200, "only {count} changes were tried");
    assert!(failures.is_empty(), "{} of {count}\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn endpoints_are_addresses_that_others_can_reach() {
    let loopback = "may not be in the loopback range (127.0.0.0/8, ::1/128)";
    let link_local = "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
    let multicast = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
    const ITEM: &str = "endpoints[0].addresses[0]";
    type Faults<'f> = &'f [(&'f str, &'f str)];
    let cases: [(&str, &str, Faults<'_>); 15] = [
        ("IPv4", "10.0.0.1", &[]),
        ("IPv4", "127.0.0.1", &[(ITEM, loopback)]),
        ("IPv4", "0.0.0.0", &[(ITEM, "may not be unspecified (0.0.0.0)")]),
        ("IPv4", "169.254.169.254", &[(ITEM, link_local)]),
        ("IPv4", "224.0.0.1", &[(ITEM, multicast)]),
        ("IPv4", "::1", &[("endpoints[0].addresses", "must be an IPv4 address"), (ITEM, loopback)]),
        ("IPv4", "x", &[(ITEM, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]),
        ("IPv6", "2001:db8::1", &[]),
        ("IPv6", "10.0.0.1", &[("endpoints[0].addresses", "must be an IPv6 address")]),
        ("IPv6", "::1", &[(ITEM, loopback)]),
        ("IPv6", "fe80::1", &[(ITEM, link_local)]),
        ("IPv6", "ff02::1", &[(ITEM, multicast)]),
        ("FQDN", "db.example.com", &[]),
        ("FQDN", "db.example.com.", &[]),
        ("FQDN", "localhost", &[(ITEM, "should be a domain with at least two segments separated by dots")]),
    ];
    for (family, address, expected) in cases {
        let slice = format!(
            r#"{{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{{"name":"a"}},"addressType":"{family}","endpoints":[{{"addresses":["{address}"]}}],"ports":[]}}"#
        );
        let slice = slice.parse::<Value>().unwrap();
        let errors = create(&slice, &mut Recorded::of(&slice)).err().unwrap_or_default();
        let found: Vec<_> =
            errors.iter().map(|error| (error.path.as_str(), error.message.as_str())).collect();
        let prefix = format!("Invalid value: {address:?}: ");
        let told: Vec<_> =
            found.iter().filter_map(|(path, text)| Some((*path, text.strip_prefix(&prefix)?))).collect();
        assert_eq!(told, expected, "{family} {address}: {found:?}");
    }
}
