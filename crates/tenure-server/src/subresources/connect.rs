//! Connections to what runs on a node: `exec`, `attach`, `portforward` and `proxy`. They are answered as by a server that cannot
//! reach the node: this control plane opens no connections to kubelets.

use super::Subresources;
use tenure_builtin::role::{NODES, SERVICES};
use tenure_catalog::{Subresource, Target, Verb, object::fields};
use tenure_http::{Query, Request, ResourcePath, Response};
use tenure_meta::{ApiError, Attributes, GroupVersionResource, Reason, ResourceAttributes};
use tenure_value::{Text, Value};

/// The port of a kubelet that names none.
const KUBELET_PORT: i64 = 10_250;

impl Subresources {
    /// Refuses a connection, with the reason for which a server without a way to the node would.
    pub(crate) async fn connect(&self, target: &Target, request: &Request) -> Result<Response, ApiError> {
        // A WebSocket is opened by a GET, and does what a POST does.
        if target.verb == Verb::Get && target.part() != Some(Subresource::Proxy) {
            self.writer.authorizer.check(&request.user, &Attributes::Resource(creation(target)))?;
        }
        let options = connect_options(target, &request.query);
        let warnings = Box::pin(self.writer.admit_connection(target, request, options)).await?;
        Err(match self.refusal(target, request).await {
            Ok(error) | Err(error) => error.with_warnings(warnings),
        })
    }

    /// Returns why an admitted connection cannot be opened.
    async fn refusal(&self, target: &Target, request: &Request) -> Result<ApiError, ApiError> {
        let object = self.live(target).await?.object;
        Ok(match target.handler.resource.name.as_str() {
            name if name == SERVICES.resource => {
                let why = format!("no endpoints available for service {:?}", target.name.as_str());
                ApiError::new(Reason::ServiceUnavailable, why)
            }
            name if name == NODES.resource => unreachable(&object, &target.name),
            _ => {
                check_container(target, request, &object)?;
                let node = object.at(["spec", "nodeName"]).and_then(Value::as_str).unwrap_or_default();
                if node.is_empty() {
                    let why = format!("pod {} does not have a host assigned", target.name);
                    return Err(ApiError::bad_request(why));
                }
                let GroupVersionResource { group, resource: nodes, .. } = NODES;
                match self.writer.objects.find_builtin((group, nodes), node).await? {
                    Some(found) => unreachable(&found, node),
                    None => ApiError::not_found(group, nodes, node),
                }
            }
        })
    }
}

/// Moves what follows `proxy` in a path to the query, where the options of a connection have it.
pub(crate) fn take_proxied_path(path: &mut ResourcePath, query: &mut Query) {
    if Subresource::named(&path.subresource) == Some(Subresource::Proxy) && !path.rest.is_empty() {
        query.set("path", format!("/{}", std::mem::take(&mut path.rest)).into());
    }
}

/// Returns the options of a connection, which is what admission sees of it.
fn connect_options(target: &Target, query: &Query) -> Value {
    let kind =
        target.handler.resource.subresource(&target.subresource).map(|subresource| subresource.kind.clone());
    let mut fields = vec![("kind", Value::from(kind.unwrap_or_default())), ("apiVersion", "v1".into())];
    let text = |name: &'static str| query.given(name).map(|text| (name, Value::from(text.clone())));
    let all = |name: &'static str, read: fn(&Text) -> Option<Value>| {
        let values: Vec<Value> = query.all(name).filter_map(read).collect();
        (!values.is_empty()).then(|| (name, Value::array(values)))
    };
    match target.part() {
        Some(Subresource::Proxy) => fields.extend(text("path")),
        Some(Subresource::PortForward) => {
            fields.extend(all("ports", |port| port.parse::<i32>().ok().map(|port| Value::Int(port.into()))))
        }
        _ => {
            // The output is streamed unless the client says otherwise.
            for (name, default) in [("stdin", false), ("stdout", true), ("stderr", true), ("tty", false)] {
                let is_on = query.optional_flag(name).unwrap_or(default);
                fields.extend(is_on.then_some((name, Value::Bool(true))));
            }
            fields.extend(text("container"));
            fields.extend(all("command", |word| Some(Value::from(word.clone()))));
        }
    }
    Value::object(fields)
}

/// Returns the attributes of the request that a WebSocket stands for.
fn creation(target: &Target) -> ResourceAttributes {
    let resource = &target.handler.resource;
    ResourceAttributes {
        verb: Verb::Create.word().into(),
        group: resource.group.clone(),
        version: resource.version.clone(),
        resource: resource.name.clone(),
        subresource: target.subresource.clone(),
        namespace: target.namespace.clone(),
        name: target.name.clone(),
        ..ResourceAttributes::default()
    }
}

/// Checks that the pod has the container that a request names, or has one alone.
fn check_container(target: &Target, request: &Request, pod: &Value) -> Result<(), ApiError> {
    if !matches!(target.part(), Some(Subresource::Exec | Subresource::Attach)) {
        return Ok(());
    }
    let names = |list: &str| -> Vec<String> {
        let containers = pod.at(["spec", list]).and_then(Value::as_array);
        let containers = containers.map(|items| items.items()).unwrap_or_default().iter();
        containers.filter_map(|container| container.get("name")?.as_str().map(String::from)).collect()
    };
    let (main, init, ephemeral) =
        (names("containers"), names("initContainers"), names("ephemeralContainers"));
    let name = target.name.as_str();
    match request.query.given("container") {
        Some(wanted) => {
            match [&main, &init, &ephemeral]
                .iter()
                .any(|list| list.iter().any(|container| container == wanted))
            {
                true => Ok(()),
                false => {
                    Err(ApiError::bad_request(format!("container {wanted} is not valid for pod {name}")))
                }
            }
        }
        None if main.len() <= 1 => Ok(()),
        None => Err(ApiError::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]",
            main.join(" ")
        ))),
    }
}

/// Returns the error of a node that cannot be reached.
fn unreachable(node: &Value, name: &str) -> ApiError {
    let addresses = node.at(["status", "addresses"]).and_then(Value::as_array);
    let addresses = addresses.map(|items| items.items()).unwrap_or_default();
    let address = addresses.iter().find_map(|address| address.get("address")?.as_str());
    let port = fields(node.at(["status", "daemonEndpoints", "kubeletEndpoint"]));
    let port = port.get("Port").and_then(Value::as_i64).filter(|port| *port > 0).unwrap_or(KUBELET_PORT);
    ApiError::internal(match address {
        Some(address) => format!(
            "error dialing backend: dial tcp {address}:{port}: this control plane opens no connections to nodes"
        ),
        None => format!("no preferred addresses found for node {name:?}; known addresses: []"),
    })
}
