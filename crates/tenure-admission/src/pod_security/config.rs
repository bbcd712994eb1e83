//! The configuration of Pod Security: `PodSecurityConfiguration` of `pod-security.admission.config.k8s.io`. It has the
//! levels of namespaces without labels, and exemptions.

use super::{Level, Policy, PolicyLevel, Version, namespace::parse_version};
use std::collections::HashSet;
use tenure_meta::{
    FieldError,
    format::{self, Verdict},
};
use tenure_value::{Object, Text, Value};

const KIND: &str = "PodSecurityConfiguration";
const VERSIONS: [&str; 3] = [
    "pod-security.admission.config.k8s.io/v1",
    "pod-security.admission.config.k8s.io/v1beta1",
    "pod-security.admission.config.k8s.io/v1alpha1",
];

/// The levels of namespaces without labels, and exemptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodSecurityConfig {
    /// The levels where the labels of a namespace set none.
    pub defaults: Policy,
    /// Users whose pods are not checked.
    pub usernames: HashSet<Text>,
    /// Runtime classes whose pods are not checked.
    pub runtime_classes: HashSet<Text>,
    /// Namespaces whose pods are not checked.
    pub namespaces: HashSet<Text>,
}

impl PodSecurityConfig {
    /// Reads a configuration; the errors are all that is wrong with it.
    pub fn read(value: &Value) -> Result<PodSecurityConfig, Vec<FieldError>> {
        let mut errors = Vec::new();
        let root =
            object(value, "", &["apiVersion", "kind", "metadata", "defaults", "exemptions"], &mut errors);
        for (field, expected) in [("kind", &[KIND][..]), ("apiVersion", &VERSIONS)] {
            let found = root.get(field).cloned().unwrap_or_default();
            if !found.as_str().is_some_and(|found| expected.contains(&found)) {
                let allowed: Vec<Value> = expected.iter().map(|name| Value::from(*name)).collect();
                errors.push(FieldError::not_supported(field, &found, &allowed));
            }
        }
        let known = ["enforce", "enforce-version", "audit", "audit-version", "warn", "warn-version"];
        let defaults = object(root.get("defaults").unwrap_or(&Value::Null), "defaults", &known, &mut errors);
        let defaults = Policy {
            enforce: level(&defaults, "enforce", &mut errors),
            audit: level(&defaults, "audit", &mut errors),
            warn: level(&defaults, "warn", &mut errors),
        };
        let exemptions = root.get("exemptions").unwrap_or(&Value::Null);
        let exemptions =
            object(exemptions, "exemptions", &["usernames", "runtimeClasses", "namespaces"], &mut errors);
        let config = PodSecurityConfig {
            defaults,
            usernames: names(&exemptions, "usernames", |_| Verdict::new(), &mut errors),
            runtime_classes: names(&exemptions, "runtimeClasses", format::dns_subdomain, &mut errors),
            namespaces: names(&exemptions, "namespaces", format::dns_label, &mut errors),
        };
        if errors.is_empty() { Ok(config) } else { Err(errors) }
    }
}

/// Returns an object, whose fields must be known.
fn object(value: &Value, path: &str, known: &[&str], errors: &mut Vec<FieldError>) -> Object {
    match value {
        Value::Null => Object::default(),
        Value::Object(object) => {
            for (name, _) in object.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
                let field = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
                let detail = format!("unknown field; use {}", known.join(", "));
                errors.push(FieldError::invalid(field, &Value::from(name.clone()), detail));
            }
            object.clone()
        }
        other => {
            errors.push(FieldError::invalid(path, other, "must be an object"));
            Object::default()
        }
    }
}

/// Reads the level of a mode; an absent one is `privileged` at the version `latest`.
fn level(defaults: &Object, mode: &str, errors: &mut Vec<FieldError>) -> PolicyLevel {
    let mut read = PolicyLevel::default();
    if let Some(found) = defaults.get(mode).filter(|found| !found.is_null()) {
        match found.as_str().and_then(Level::of_name) {
            Some(level) => read.level = level,
            None => {
                let detail = "must be one of privileged, baseline, restricted";
                errors.push(FieldError::invalid(format!("defaults.{mode}"), found, detail));
            }
        }
    }
    let field = format!("{mode}-version");
    if let Some(found) = defaults.get(&field).filter(|found| !found.is_null()) {
        match found.as_str().and_then(parse_version) {
            Some(version) => read.version = version,
            None => {
                let detail = "must be \"latest\" or \"v1.x\"";
                errors.push(FieldError::invalid(format!("defaults.{field}"), found, detail));
            }
        }
    }
    read
}

/// Reads a list of names, each of which must be right and occur once.
fn names(
    exemptions: &Object,
    field: &str,
    check: impl Fn(&str) -> Verdict,
    errors: &mut Vec<FieldError>,
) -> HashSet<Text> {
    let path = format!("exemptions.{field}");
    let list = match exemptions.get(field) {
        None | Some(Value::Null) => return HashSet::new(),
        Some(Value::Array(list)) => list,
        Some(other) => {
            errors.push(FieldError::invalid(path, other, "must be a list of strings"));
            return HashSet::new();
        }
    };
    let mut names = HashSet::new();
    for (at, item) in list.items().iter().enumerate() {
        let path = format!("{path}[{at}]");
        match item.as_str() {
            None | Some("") => errors.push(FieldError::invalid(path, item, "must be a name")),
            Some(name) => match check(name) {
                wrong if !wrong.is_empty() => {
                    errors.extend(wrong.into_iter().map(|why| FieldError::invalid(&path, item, why)));
                }
                _ if names.insert(Text::from(name)) => {}
                _ => errors.push(FieldError::duplicate(path, item)),
            },
        }
    }
    names
}

impl Default for PolicyLevel {
    /// Everything is allowed.
    fn default() -> PolicyLevel {
        PolicyLevel { level: Level::Privileged, version: Version::Latest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rest: &str) -> Result<PodSecurityConfig, String> {
        let text = format!(
            r#"{{"apiVersion":"pod-security.admission.config.k8s.io/v1","kind":"PodSecurityConfiguration"{rest}}}"#
        );
        let errors =
            |errors: Vec<FieldError>| errors.iter().map(FieldError::to_string).collect::<Vec<_>>().join("; ");
        PodSecurityConfig::read(&text.parse().unwrap()).map_err(errors)
    }

    #[test]
    fn levels_and_exemptions_are_read() {
        assert_eq!(read(""), Ok(PodSecurityConfig::default()));
        let config = read(
            r#","defaults":{"enforce":"baseline","enforce-version":"v1.30","warn":"restricted"},
               "exemptions":{"usernames":["ann"],"runtimeClasses":["kata"],"namespaces":["kube-system"]}"#,
        )
        .unwrap();
        assert_eq!(config.defaults.enforce.to_string(), "baseline:v1.30");
        assert_eq!(config.defaults.audit.to_string(), "privileged:latest");
        assert_eq!(config.defaults.warn.to_string(), "restricted:latest");
        assert!(config.usernames.contains("ann") && config.runtime_classes.contains("kata"));
        assert!(config.namespaces.contains("kube-system"));
    }

    #[test]
    fn every_error_is_reported() {
        for (rest, expected) in [
            (r#","default":{}"#, "default: Invalid value: \"default\": unknown field; use apiVersion,"),
            (
                r#","defaults":{"enforce":"strict"}"#,
                "defaults.enforce: Invalid value: \"strict\": must be one of privileged, baseline, restricted",
            ),
            (
                r#","defaults":{"warn-version":"1.30"}"#,
                "defaults.warn-version: Invalid value: \"1.30\": must be \"latest\" or \"v1.x\"",
            ),
            (
                r#","exemptions":{"namespaces":["A","b","b"],"usernames":[""]}"#,
                "exemptions.usernames[0]: Invalid value: \"\": must be a name; exemptions.namespaces[0]: Invalid value: \"A\"",
            ),
            (r#","exemptions":{"namespaces":["b","b"]}"#, "exemptions.namespaces[1]: Duplicate value: \"b\""),
            (r#","exemptions":{"usernames":"ann"}"#, "must be a list of strings"),
        ] {
            let error = read(rest).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert!(
            PodSecurityConfig::read(&"{}".parse().unwrap()).unwrap_err()[0]
                .to_string()
                .starts_with("kind: Unsupported value")
        );
    }
}
