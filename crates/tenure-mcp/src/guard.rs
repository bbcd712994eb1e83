//! What this server may be asked for: the limits that its flags set. Every object that a tool reads or plans passes [`Guard::check`].

use crate::reply::{Failure, Next, Reason};
use tenure_client::Resource;

/// The limits of a server.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Whether nothing is written.
    pub read_only: bool,
    /// The namespaces whose objects are shown and planned; all, and objects without a namespace, if empty.
    pub namespaces: Vec<String>,
    /// The kinds that are shown and planned, as `kubectl` takes them; all if empty.
    pub kinds: Vec<String>,
    /// The most objects of a plan.
    pub max_objects: usize,
    /// Whether values of Secrets are shown.
    pub show_secrets: bool,
}

impl Default for Guard {
    fn default() -> Guard {
        Guard {
            read_only: false,
            namespaces: Vec::new(),
            kinds: Vec::new(),
            max_objects: 50,
            show_secrets: false,
        }
    }
}

impl Guard {
    /// Checks that objects of a kind may be used.
    pub fn check_kind(&self, resource: &Resource) -> Result<(), Failure> {
        if self.kinds.is_empty() || self.kinds.iter().any(|kind| resource.is_named(kind)) {
            return Ok(());
        }
        let message = format!(
            "this server was started for the kinds {} only, not {}",
            self.kinds.join(", "),
            resource.word()
        );
        Err(not_allowed(message).at("kind"))
    }

    /// Checks that an object may be used.
    pub fn check(&self, resource: &Resource, namespace: &str) -> Result<(), Failure> {
        self.check_kind(resource)?;
        let allowed = self.namespaces.join(", ");
        let message = match resource.is_namespaced() {
            _ if self.namespaces.is_empty() => return Ok(()),
            true if self.namespaces.iter().any(|name| name == namespace) => return Ok(()),
            true => format!("this server was started for the namespaces {allowed} only, not {namespace}"),
            false => format!(
                "this server was started for the namespaces {allowed} only, and {} has none",
                resource.word()
            ),
        };
        Err(not_allowed(message).at("namespace"))
    }

    /// Whether an object of another document, such as a fight, may be shown.
    pub fn shows(&self, resource: Option<&Resource>, namespace: &str) -> bool {
        match resource {
            Some(resource) => self.check(resource, namespace).is_ok(),
            None => self.kinds.is_empty() && self.namespaces.is_empty(),
        }
    }

    /// Checks that writing is allowed.
    pub fn check_write(&self) -> Result<(), Failure> {
        if self.read_only {
            return Err(not_allowed("this server was started with --read-only and writes nothing"));
        }
        Ok(())
    }

    /// Checks the number of objects of a plan.
    pub fn check_number(&self, objects: usize) -> Result<(), Failure> {
        if objects <= self.max_objects {
            return Ok(());
        }
        let message =
            format!("the plan has {objects} objects; this server allows {} in one plan", self.max_objects);
        Err(not_allowed(message).suggest("plan fewer objects at once"))
    }
}

fn not_allowed(message: impl Into<String>) -> Failure {
    Failure::new(Reason::NotAllowed, message)
        .then(Next::person("the person who started the server can start it with other limits"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_client::Scope;

    fn resource(plural: &str, scope: Scope) -> Resource {
        Resource {
            group: String::new(),
            version: "v1".into(),
            kind: plural.trim_end_matches('s').into(),
            plural: plural.into(),
            singular: plural.trim_end_matches('s').into(),
            short_names: Vec::new(),
            scope,
            verbs: Vec::new(),
        }
    }

    #[test]
    fn limits_hold_for_kinds_namespaces_and_numbers() {
        let pods = resource("pods", Scope::Namespaced);
        let nodes = resource("nodes", Scope::Cluster);
        let free = Guard::default();
        assert!(
            free.check(&pods, "a").is_ok() && free.check(&nodes, "").is_ok() && free.check_write().is_ok()
        );
        let guard = Guard {
            read_only: true,
            namespaces: vec!["a".into()],
            kinds: vec!["pods".into(), "nodes".into()],
            max_objects: 2,
            show_secrets: false,
        };
        assert!(guard.check(&pods, "a").is_ok());
        for (resource, namespace) in
            [(&pods, "b"), (&pods, ""), (&nodes, ""), (&resource("secrets", Scope::Namespaced), "a")]
        {
            let failure = guard.check(resource, namespace).unwrap_err();
            assert_eq!(failure.reason, Reason::NotAllowed, "{failure:?}");
        }
        assert!(
            guard.check_write().is_err() && guard.check_number(2).is_ok() && guard.check_number(3).is_err()
        );
        assert!(!guard.shows(None, "a") && free.shows(None, "a"));
    }
}
