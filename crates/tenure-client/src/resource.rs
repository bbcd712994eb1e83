//! A kind as a server serves it: its names, and the paths of its objects.

use tenure_transport::escaped;

/// A kind and the paths of its objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The plural name, as in paths.
    pub plural: String,
    /// The singular name.
    pub singular: String,
    /// The short names.
    pub short_names: Vec<String>,
    /// Whether objects are in namespaces.
    pub scope: Scope,
    /// The verbs that the server supports.
    pub verbs: Vec<String>,
}

/// The scope of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Its objects are in namespaces.
    Namespaced,
    /// Its objects belong to the cluster.
    Cluster,
}

impl Resource {
    /// Whether its objects are in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// Returns the apiVersion of its objects.
    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Returns the name that `kubectl` prints, such as `deployment.apps`.
    pub fn word(&self) -> String {
        let singular =
            if self.singular.is_empty() { self.kind.to_lowercase() } else { self.singular.clone() };
        match self.group.as_str() {
            "" => singular,
            group => format!("{singular}.{group}"),
        }
    }

    /// Whether this is the kind of a name: plural, singular, short name or kind, optionally with the group, or version and
    /// group, after a dot.
    pub fn is_named(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let (word, rest) =
            name.split_once('.').map_or((name.as_str(), None), |(word, rest)| (word, Some(rest)));
        let known = self.plural == word
            || self.singular == word
            || self.kind.to_lowercase() == word
            || self.short_names.iter().any(|short| short == word);
        known
            && rest.is_none_or(|rest| {
                rest == self.group || rest == format!("{}.{}", self.version, self.group).trim_end_matches('.')
            })
    }

    /// Returns the path of all objects in a namespace, or in all.
    pub fn collection(&self, namespace: Option<&str>) -> String {
        let root = match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        match namespace.filter(|_| self.scope == Scope::Namespaced) {
            Some(namespace) => format!("{root}/namespaces/{}/{}", escaped(namespace), self.plural),
            None => format!("{root}/{}", self.plural),
        }
    }

    /// Returns the path of an object.
    pub fn path(&self, namespace: &str, name: &str) -> String {
        format!("{}/{}", self.collection(Some(namespace)), escaped(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment() -> Resource {
        Resource {
            group: "apps".into(),
            version: "v1".into(),
            kind: "Deployment".into(),
            plural: "deployments".into(),
            singular: "deployment".into(),
            short_names: vec!["deploy".into()],
            scope: Scope::Namespaced,
            verbs: Vec::new(),
        }
    }

    #[test]
    fn kinds_have_the_names_that_kubectl_takes() {
        for name in
            ["deployments", "deployment", "Deployment", "deploy", "deploy.apps", "deployments.v1.apps"]
        {
            assert!(deployment().is_named(name), "{name}");
        }
        for name in ["deployment.extensions", "pods", "deployments.v2.apps", "apps"] {
            assert!(!deployment().is_named(name), "{name}");
        }
        let core = Resource { group: String::new(), ..deployment() };
        assert!(core.is_named("deployments.v1"));
    }

    #[test]
    fn names_are_encoded_in_paths() {
        assert_eq!(deployment().path("default", "web"), "/apis/apps/v1/namespaces/default/deployments/web");
        let role = Resource { scope: Scope::Cluster, plural: "clusterroles".into(), ..deployment() };
        assert_eq!(role.path("default", "system:node"), "/apis/apps/v1/clusterroles/system%3Anode");
    }
}
