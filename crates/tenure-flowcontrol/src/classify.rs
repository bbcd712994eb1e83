//! Which flow a request belongs to: the first schema with a rule for its user and for what it asks, and the user or the
//! namespace by which the schema distinguishes flows.

use crate::{
    Config, FlowSchema, PriorityLevel,
    config::Distinguisher,
    dealer::{mix, mix_text},
    rule::names_of,
};
use tenure_meta::{Attributes, NameFilter, UserInfo};

/// The flow of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The place of the schema in the configuration.
    pub schema: usize,
    /// The place of the level in the configuration.
    pub level: usize,
    /// A number that requests of one flow have in common.
    pub hash: u64,
}

impl Config {
    /// Returns the flow of a request. The mandatory schema `catch-all` takes what no other matches.
    pub fn classify(&self, user: &UserInfo, request: &Attributes) -> Flow {
        let schemas = self.schemas();
        // Most schemas are for others, which their names show.
        let names = names_of(user);
        let matches = |schema: &FlowSchema| schema.matches(user, names, request);
        let place = schemas.iter().position(matches).unwrap_or_else(|| {
            let is_catch_all = |schema: &FlowSchema| schema.name == "catch-all";
            schemas.iter().position(is_catch_all).unwrap_or(schemas.len().saturating_sub(1))
        });
        let schema = &schemas[place];
        let distinguished = match (schema.distinguisher, request) {
            (Distinguisher::ByUser, _) => &*user.name,
            (Distinguisher::ByNamespace, Attributes::Resource(resource)) => &*resource.namespace,
            _ => "",
        };
        let hash = mix(mix_text(schema.hash, distinguished));
        Flow { schema: place, level: schema.level, hash }
    }

    /// Returns the schema of a flow.
    pub fn schema(&self, flow: &Flow) -> &FlowSchema {
        &self.schemas()[flow.schema]
    }

    /// Returns the level of a flow.
    pub fn level(&self, flow: &Flow) -> &PriorityLevel {
        &self.levels()[flow.level]
    }
}

impl FlowSchema {
    fn matches(&self, user: &UserInfo, names: NameFilter, request: &Attributes) -> bool {
        self.names.meets(names) && self.rules.iter().any(|rule| rule.matches(user, names, request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_meta::ResourceAttributes;
    use tenure_value::Value;

    fn resource(verb: &str, path: &str) -> Attributes {
        let parts: Vec<&str> = path.split('/').collect();
        let [group, namespace, resource] = parts[..] else { panic!("{path}") };
        let (resource, subresource) = resource.split_once(':').unwrap_or((resource, ""));
        Attributes::Resource(ResourceAttributes {
            verb: verb.into(),
            group: group.into(),
            namespace: namespace.into(),
            resource: resource.into(),
            subresource: subresource.into(),
            ..Default::default()
        })
    }

    fn bootstrapped() -> Config {
        let objects: Vec<Value> =
            crate::bootstrap::objects().into_iter().map(|object| object.object).collect();
        let of_kind = |kind: &str| -> Vec<Value> {
            objects.iter().filter(|object| object.get("kind") == Some(&kind.into())).cloned().collect()
        };
        Config::read(&of_kind("FlowSchema"), &of_kind("PriorityLevelConfiguration"))
    }

    #[test]
    fn requests_match_the_bootstrap_schemas() {
        let config = bootstrapped();
        let known = |name: &str| UserInfo::new(name).with_group("system:authenticated");
        let node = known("system:node:a").with_group("system:nodes");
        let account =
            |namespace: &str| UserInfo::service_account(namespace, "a").with_group("system:authenticated");
        let url = |path: &str| Attributes::NonResource { verb: "get".into(), path: path.into() };
        for (user, request, schema, level) in [
            (known("admin").with_group("system:masters"), resource("list", "//pods"), "exempt", "exempt"),
            (UserInfo::anonymous(), url("/livez"), "probes", "exempt"),
            (UserInfo::anonymous(), url("/livez/ping"), "probes", "exempt"),
            (UserInfo::anonymous(), url("/livezz"), "global-default", "global-default"),
            (node.clone(), resource("update", "//nodes:status"), "system-node-high", "node-high"),
            (node.clone(), resource("update", "//nodes:proxy"), "system-nodes", "system"),
            (node.clone(), resource("get", "coordination.k8s.io/x/leases"), "system-node-high", "node-high"),
            (node, resource("list", "//pods"), "system-nodes", "system"),
            (
                known("system:kube-scheduler"),
                resource("get", "coordination.k8s.io/x/leases"),
                "system-leader-election",
                "leader-election",
            ),
            (
                known("system:kube-scheduler"),
                resource("list", "coordination.k8s.io/x/leases"),
                "kube-scheduler",
                "workload-high",
            ),
            (
                account("kube-system"),
                resource("list", "//pods"),
                "kube-system-service-accounts",
                "workload-high",
            ),
            (account("kube-system2"), resource("list", "//pods"), "service-accounts", "workload-low"),
            (known("ann"), resource("list", "/x/pods"), "global-default", "global-default"),
            (UserInfo::new("nobody"), resource("list", "/x/pods"), "catch-all", "catch-all"),
        ] {
            let flow = config.classify(&user, &request);
            let found = (config.schema(&flow).name.as_str(), config.level(&flow).name.as_str());
            assert_eq!(found, (schema, level), "{} {request:?}", user.name);
        }
    }

    #[test]
    fn flows_are_distinguished_by_user_or_namespace() {
        let config = bootstrapped();
        let hash = |user: &str, path: &str| {
            let user = UserInfo::new(user).with_group("system:authenticated");
            config.classify(&user, &resource("list", path)).hash
        };
        assert_ne!(hash("ann", "/x/pods"), hash("bob", "/x/pods"));
        assert_eq!(hash("ann", "/x/pods"), hash("ann", "/y/pods"));
        assert_ne!(hash("system:kube-scheduler", "/x/pods"), hash("system:kube-scheduler", "/y/pods"));
        assert_eq!(hash("system:kube-scheduler", "/x/pods"), hash("system:kube-scheduler", "/x/pods"));
    }

    #[test]
    fn a_schema_without_its_level_matches_nothing() {
        let schema = r#"{"metadata":{"name":"a"},"spec":{"matchingPrecedence":1,"priorityLevelConfiguration":{"name":"none"},
            "rules":[{"subjects":[{"kind":"Group","group":{"name":"*"}}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}}"#;
        let config = Config::read(&[schema.parse().unwrap()], &[]);
        let request = Attributes::NonResource { verb: "get".into(), path: "/".into() };
        let flow = config.classify(&UserInfo::anonymous(), &request);
        assert_eq!(config.schema(&flow).name, "catch-all");
    }
}
