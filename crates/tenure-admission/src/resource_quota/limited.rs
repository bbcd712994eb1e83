//! Resources that may be used only where a quota covers them: `limitedResources` of the configuration of `ResourceQuota`.

use super::{GroupResource, Quota, scope, usage_of};
use std::collections::BTreeSet;
use tenure_meta::{FieldError, Quantity, ValueExt};
use tenure_value::{Text, Value};

const CONFIGURATIONS: [(&str, &str); 3] = [
    ("apiserver.config.k8s.io/v1", "ResourceQuotaConfiguration"),
    ("resourcequota.admission.k8s.io/v1beta1", "Configuration"),
    ("resourcequota.admission.k8s.io/v1alpha1", "Configuration"),
];

/// The configuration of `ResourceQuota`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuotaConfig {
    limited: Vec<LimitedResource>,
}

/// A resource that may be used only where a quota covers it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LimitedResource {
    group: Text,
    resource: Text,
    /// Parts of the names of limits that a quota must have.
    match_contains: Box<[Text]>,
    /// Scopes that a quota must have, for objects that they select.
    match_scopes: Vec<Value>,
}

impl QuotaConfig {
    /// Reads a `ResourceQuotaConfiguration`.
    pub fn read(config: &Value) -> Result<QuotaConfig, Vec<FieldError>> {
        let mut errors = Vec::new();
        let (version, kind) = (config.text("apiVersion"), config.text("kind"));
        if !CONFIGURATIONS.contains(&(version.as_str(), kind.as_str())) {
            let field = if CONFIGURATIONS.iter().any(|row| row.1 == kind) { "apiVersion" } else { "kind" };
            let allowed = CONFIGURATIONS.map(|row| Value::from(if field == "kind" { row.1 } else { row.0 }));
            let allowed: Vec<Value> = allowed.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
            errors.push(FieldError::not_supported(field, &config.text(field).into(), &allowed));
        }
        let limited = config.items("limitedResources").iter().enumerate().map(|(at, row)| {
            if row.text("resource").is_empty() {
                errors.push(FieldError::required(format!("limitedResources[{at}].resource"), ""));
            }
            LimitedResource {
                group: row.text("apiGroup"),
                resource: row.text("resource"),
                match_contains: row.texts("matchContains"),
                match_scopes: row.items("matchScopes").to_vec(),
            }
        });
        let limited = limited.collect();
        if errors.is_empty() { Ok(QuotaConfig { limited }) } else { Err(errors) }
    }

    /// Whether objects of a resource may need a quota.
    pub fn limits(&self, resource: GroupResource<'_>) -> bool {
        self.limited.iter().any(|limited| limited.is(resource))
    }

    /// Returns why an object may not be written: no quota of its namespace covers what it uses.
    pub fn uncovered(
        &self,
        resource: GroupResource<'_>,
        object: &Value,
        quotas: &[Quota<'_>],
    ) -> Option<String> {
        let limited = || self.limited.iter().filter(|limited| limited.is(resource));
        let used = usage_of(resource, object);
        let used = used.iter().filter(|(_, amount)| **amount > Quantity::ZERO).map(|(name, _)| name);
        let needed = used.filter(|name| {
            limited().any(|limited| limited.match_contains.iter().any(|part| name.contains(part.as_str())))
        });
        let counting: Vec<&Quota<'_>> =
            quotas.iter().filter(|quota| scope::matches(quota.spec, resource, object)).collect();
        let missing: Vec<&str> = needed
            .filter(|name| !counting.iter().any(|quota| quota.hard.contains_key(*name)))
            .map(Text::as_str)
            .collect();
        if !missing.is_empty() {
            return Some(format!("insufficient quota to consume: {}", missing.join(",")));
        }
        let scopes = limited().flat_map(|limited| &limited.match_scopes);
        let scopes = scopes.filter(|selector| scope::selector_matches(selector, resource, object));
        let missing: Vec<String> = scopes
            .filter(|selector| {
                let name = selector.text("scopeName");
                !quotas
                    .iter()
                    .any(|quota| scope::matching(quota.spec, resource, object).any(|scope| scope == name))
            })
            .map(|selector| {
                let values = selector.texts("values");
                format!(
                    "{{{} {} [{}]}}",
                    selector.text("scopeName"),
                    selector.text("operator"),
                    values.join(" ")
                )
            })
            .collect();
        (!missing.is_empty())
            .then(|| format!("insufficient quota to match these scopes: [{}]", missing.join(" ")))
    }
}

impl LimitedResource {
    fn is(&self, group_resource: GroupResource<'_>) -> bool {
        self.group == group_resource.group && self.resource == group_resource.resource
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PODS: GroupResource<'_> = GroupResource { group: "", resource: "pods" };

    fn config(limited: &str) -> QuotaConfig {
        let text = format!(
            r#"{{"apiVersion":"apiserver.config.k8s.io/v1","kind":"ResourceQuotaConfiguration","limitedResources":[{limited}]}}"#
        );
        QuotaConfig::read(&text.parse().unwrap()).unwrap()
    }

    #[test]
    fn limited_resources_need_a_quota_that_covers_them() {
        let pod: Value = r#"{"spec":{"priorityClassName":"high","containers":[{"name":"a","image":"i"}]}}"#
            .parse()
            .unwrap();
        let by_name = r#"{"resource":"pods","matchContains":["pods"]}"#;
        let by_scope = r#"{"resource":"pods","matchScopes":[{"scopeName":"PriorityClass","operator":"In","values":["high"]}]}"#;
        let other = r#"{"resource":"pods","matchScopes":[{"scopeName":"PriorityClass","operator":"In","values":["low"]}]}"#;
        let scoped = r#"{"spec":{"hard":{"pods":"1"},"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["high"]}]}}}"#;
        for (limited, quotas, expected) in [
            (by_name, &[][..], Some("insufficient quota to consume: count/pods,pods")),
            (
                by_name,
                &[r#"{"spec":{"hard":{"pods":"1"}}}"#],
                Some("insufficient quota to consume: count/pods"),
            ),
            (by_name, &[r#"{"spec":{"hard":{"pods":"1","count/pods":"1"}}}"#], None),
            (
                by_name,
                &[r#"{"spec":{"hard":{"pods":"1","count/pods":"1"},"scopes":["Terminating"]}}"#],
                Some("insufficient quota to consume: count/pods,pods"),
            ),
            (by_scope, &[], Some("insufficient quota to match these scopes: [{PriorityClass In [high]}]")),
            (by_scope, &[scoped], None),
            (other, &[], None),
        ] {
            let quotas: Vec<Value> = quotas.iter().map(|quota| quota.parse().unwrap()).collect();
            let quotas: Vec<Quota<'_>> = quotas.iter().map(Quota::read).collect();
            assert_eq!(config(limited).uncovered(PODS, &pod, &quotas).as_deref(), expected, "{limited}");
        }
        assert!(config(by_name).limits(PODS));
        assert!(!config(by_name).limits(GroupResource { group: "", resource: "services" }));
    }

    #[test]
    fn a_wrong_configuration_is_an_error() {
        for (text, expected) in [
            (r#"{"apiVersion":"v1","kind":"ResourceQuotaConfiguration"}"#, "apiVersion: Unsupported value"),
            (r#"{"apiVersion":"apiserver.config.k8s.io/v1","kind":"Quota"}"#, "kind: Unsupported value"),
            (
                r#"{"apiVersion":"resourcequota.admission.k8s.io/v1beta1","kind":"Configuration","limitedResources":[{}]}"#,
                "limitedResources[0].resource: Required value",
            ),
        ] {
            let errors = QuotaConfig::read(&text.parse().unwrap()).unwrap_err();
            assert!(errors[0].to_string().contains(expected), "{text}: {}", errors[0]);
        }
    }
}
