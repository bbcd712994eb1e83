//! Whether the extension server of an APIService is available: its service, its endpoints, and its discovery document.

use crate::{
    Aggregator, ApiService, Routing,
    api_service::condition,
    resolver::{endpoint_slices, find_port, get_endpoints, get_service},
};
use futures::{StreamExt, stream::FuturesUnordered};
use std::time::Duration;
use tenure_meta::ValueExt;
use tenure_value::{Text, Value};

/// How long the discovery document may take.
const CHECK_TIME: Duration = Duration::from_secs(5);
/// How many times it is requested at once; one response is enough.
const ATTEMPTS: usize = 5;

/// The condition `Available` of an APIService.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Availability {
    pub status: &'static str,
    pub reason: &'static str,
    pub message: String,
}

impl Availability {
    /// The condition of what this server serves itself.
    pub fn local() -> Availability {
        let message = "Local APIServices are always available".into();
        Availability { status: "True", reason: "Local", message }
    }

    fn no(reason: &'static str, message: String) -> Availability {
        Availability { status: "False", reason, message }
    }

    /// Whether the extension server should be asked again soon.
    pub fn is_retried(&self) -> bool {
        self.reason == "FailedDiscoveryCheck"
    }

    /// Returns the status of an APIService with this condition; `None` if it has it already. The time of the last transition is
    /// that at which `status` changed.
    pub fn status_of(&self, object: &Value, now: Text) -> Option<Value> {
        let live = condition(object);
        let text = |name: &str| live.map(|condition| condition.text(name)).unwrap_or_default();
        if live.is_some()
            && text("status") == self.status
            && text("reason") == self.reason
            && text("message") == self.message
        {
            return None;
        }
        let since = text("lastTransitionTime");
        let since = if text("status") == self.status && !since.is_empty() { since } else { now };
        let new = Value::object([
            ("type", Value::from("Available")),
            ("status", self.status.into()),
            ("reason", self.reason.into()),
            ("message", Value::from(self.message.clone())),
            ("lastTransitionTime", Value::from(since)),
        ]);
        let conditions = object.at(["status", "conditions"]).and_then(Value::as_array);
        let conditions = conditions.map(|list| list.items()).unwrap_or_default().iter();
        let mut all: Vec<Value> = conditions.cloned().collect();
        match all.iter_mut().find(|condition| condition.text("type") == "Available") {
            Some(place) => *place = new,
            None => all.push(new),
        }
        let status = object.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
        Some(status.with("conditions", Value::array(all)).into())
    }
}

impl Aggregator {
    /// Checks whether the extension server of an APIService is available.
    pub(crate) async fn check(&self, service: &ApiService) -> Availability {
        match self.check_service(service).await {
            Err(unavailable) => unavailable,
            Ok(()) => match self.check_discovery(service).await {
                Ok(()) => {
                    Availability { status: "True", reason: "Passed", message: "all checks passed".into() }
                }
                Err(why) => Availability::no("FailedDiscoveryCheck", why),
            },
        }
    }

    /// Checks the service and its endpoints.
    async fn check_service(&self, service: &ApiService) -> Result<(), Availability> {
        let Some(reference) = service.proxied() else { return Ok(()) };
        let (name, namespace, port) = (&reference.name, reference.namespace.as_str(), reference.port);
        let unknown = |reason: &'static str, why: String| Availability {
            status: "Unknown",
            reason,
            message: format!("service/{name} in {namespace:?} cannot be checked due to: {why}"),
        };
        let object =
            get_service(&*self.store, reference).await.map_err(|why| unknown("ServiceAccessError", why))?;
        let Some(object) = object else {
            let message = format!("service/{name} in {namespace:?} is not present");
            return Err(Availability::no("ServiceNotFound", message));
        };
        let spec = object.get("spec").cloned().unwrap_or_default();
        if spec.text("type") != "ClusterIP" {
            return Ok(());
        }
        let Some(row) = find_port(&spec, port) else {
            let message = format!("service/{name} in {namespace:?} is not listening on port {port}");
            return Err(Availability::no("ServicePortError", message));
        };
        let port_name = row.text("name");
        let access = |why: String| unknown("EndpointsAccessError", why);
        let slices = endpoint_slices(&*self.store, reference).await.map_err(access)?;
        let endpoints = match self.routing {
            Routing::Automatic => get_endpoints(&*self.store, reference).await.map_err(access)?,
            Routing::Endpoints | Routing::ClusterIp => None,
        };
        if slices.is_empty() && endpoints.is_none() {
            let message = format!("cannot find endpointslices for service/{name} in {namespace:?}");
            return Err(Availability::no("EndpointsNotFound", message));
        }
        let has_port = |ports: &[Value]| {
            ports.iter().any(|port| port.text("name") == port_name && port.get("port").is_some())
        };
        let is_ready = |endpoint: &Value| endpoint.at(["conditions", "ready"]) != Some(&Value::Bool(false));
        let has_address = slices
            .iter()
            .any(|slice| slice.items("endpoints").iter().any(is_ready) && has_port(slice.items("ports")))
            || endpoints
                .iter()
                .flat_map(|endpoints| endpoints.items("subsets"))
                .any(|subset| !subset.items("addresses").is_empty() && has_port(subset.items("ports")));
        match has_address {
            true => Ok(()),
            false => {
                let port_name = port_name.as_str();
                let message = format!(
                    "endpointslices for service/{name} in {namespace:?} have no addresses with port name {port_name:?}"
                );
                Err(Availability::no("MissingEndpoints", message))
            }
        }
    }

    /// Requests the discovery document.
    async fn check_discovery(&self, service: &ApiService) -> Result<(), String> {
        let path = service.discovery_path();
        let mut attempts: FuturesUnordered<_> =
            (0..ATTEMPTS).map(|_| self.probe(service, &path, CHECK_TIME)).collect();
        let mut last = String::new();
        while let Some(outcome) = attempts.next().await {
            last = match outcome {
                Ok(code) if code.is_success() => return Ok(()),
                Ok(code) => format!("bad status from {path}: {}", code.as_u16()),
                Err(why) => why,
            };
        }
        Err(format!("failing or missing response from {path}: {last}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transition_is_that_of_the_status() {
        let passed = Availability { status: "True", reason: "Passed", message: "all checks passed".into() };
        let failed = Availability::no("ServiceNotFound", "m".into());
        let status = passed.status_of(&Value::Null, "t1".into()).unwrap();
        let expected = r#"{"conditions":[{"type":"Available","status":"True","reason":"Passed","message":"all checks passed","lastTransitionTime":"t1"}]}"#;
        assert_eq!(status, expected.parse::<Value>().unwrap());
        let object = |status: Value| Value::object([("status", status)]);
        assert_eq!(passed.status_of(&object(status.clone()), "t2".into()), None);
        let local = Availability { reason: "Local", ..passed };
        let same = local.status_of(&object(status.clone()), "t2".into()).unwrap();
        assert_eq!(condition(&object(same)).unwrap().text("lastTransitionTime"), "t1");
        let changed = failed.status_of(&object(status), "t2".into()).unwrap();
        assert_eq!(condition(&object(changed)).unwrap().text("lastTransitionTime"), "t2");
    }
}
