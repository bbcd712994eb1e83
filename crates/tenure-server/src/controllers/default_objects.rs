//! What namespaces are given from outside: `default` the service that stands for the server, and, where the operator wants
//! it, every namespace the service account and the config map that programs written for clusters wait for. All of it is applied
//! by force, so that one request makes what is missing, mends what was changed, and writes nothing where all is well.

use super::{Outcome, namespaces};
use crate::{
    Failure, Query,
    server::{Request, Server},
    target::{Target, Verb},
};
use hyper::{HeaderMap, Method, header};
use std::{net::SocketAddr, sync::OnceLock};
use tenure_value::{Text, Value};

/// Who holds what is given.
const MANAGER: &str = "tenure-lifecycle";
/// The namespace of the service that stands for the server.
const HOME: &str = "default";

/// Something that namespaces are given: group and resource, name, and the rest of the object.
struct Piece {
    group: &'static str,
    resource: &'static str,
    name: &'static str,
    content: fn(&Furniture) -> Option<Value>,
}

/// The service that stands for the server.
const SERVER: Piece =
    Piece { group: "", resource: "services", name: "kubernetes", content: Furniture::service };
/// Where that service leads, in the old form and in the new.
const ENDPOINTS: Piece =
    Piece { group: "", resource: "endpoints", name: "kubernetes", content: Furniture::endpoints };
const SLICE: Piece = Piece {
    group: "discovery.k8s.io",
    resource: "endpointslices",
    name: "kubernetes",
    content: Furniture::slice,
};
/// The service account of pods that name none.
const ACCOUNT: Piece =
    Piece { group: "", resource: "serviceaccounts", name: "default", content: Furniture::account };
/// The certificates by which clients inside know the server.
const TRUST: Piece =
    Piece { group: "", resource: "configmaps", name: "kube-root-ca.crt", content: Furniture::trust };

/// All of what the home of the server is given; other namespaces get what begins at `EVERYWHERE`.
const PIECES: [Piece; 5] = [SERVER, ENDPOINTS, SLICE, ACCOUNT, TRUST];
const EVERYWHERE: usize = 3;

/// What namespaces are given.
#[derive(Debug, Default)]
pub(crate) struct Furniture {
    /// Where the server is reached.
    server: OnceLock<SocketAddr>,
    /// The certificates that clients trust; empty where there are none.
    authority: OnceLock<String>,
}

impl Server {
    /// Has the service `kubernetes` stand for the server in the namespace `default`; to be asked for before the life of
    /// objects starts.
    pub fn announce(&self, address: SocketAddr) {
        // Asked a second time, the first answer holds; here and below.
        let _ = self.furniture.server.set(address);
    }

    /// Has every namespace given the service account `default`, and the config map `kube-root-ca.crt` with the certificates
    /// that clients trust; to be asked for before the life of objects starts.
    pub fn furnish_namespaces(&self, authority: &str) {
        let _ = self.furniture.authority.set(authority.to_owned());
    }
}

impl Furniture {
    /// Returns the namespace to look after when an object under a key has changed.
    pub fn namespace_of<'a>(&self, key: &'a str) -> Option<&'a str> {
        let namespace = key.strip_prefix(namespaces::PLACE).or_else(|| TRUST.namespace(key))?;
        self.is_for(namespace).then_some(namespace)
    }

    /// Returns the namespace to look after when an object under a key has gone.
    pub fn bereft<'a>(&self, key: &'a str) -> Option<&'a str> {
        let namespace = PIECES.iter().find_map(|piece| piece.namespace(key))?;
        self.is_for(namespace).then_some(namespace)
    }

    fn is_for(&self, namespace: &str) -> bool {
        self.authority.get().is_some() || namespace == HOME && self.server.get().is_some()
    }

    fn pieces(namespace: &str) -> &'static [Piece] {
        if namespace == HOME { &PIECES } else { &PIECES[EVERYWHERE..] }
    }

    /// Returns where others reach the server; one that listens on loopback alone has no such place.
    fn reached(&self) -> Option<SocketAddr> {
        self.server.get().copied().filter(|at| !at.ip().is_loopback() && !at.ip().is_unspecified())
    }

    fn endpoints(&self) -> Option<Value> {
        let at = self.reached()?;
        let text = format!(
            r#"{{"metadata":{{"labels":{{"endpointslice.kubernetes.io/skip-mirror":"true"}}}},"subsets":[{{
            "addresses":[{{"ip":"{}"}}],"ports":[{{"name":"https","port":{},"protocol":"TCP"}}]}}]}}"#,
            at.ip(),
            at.port()
        );
        text.parse().ok()
    }

    fn slice(&self) -> Option<Value> {
        let at = self.reached()?;
        let family = if at.is_ipv4() { "IPv4" } else { "IPv6" };
        let text = format!(
            r#"{{"metadata":{{"labels":{{"kubernetes.io/service-name":"kubernetes"}}}},"addressType":"{family}",
            "endpoints":[{{"addresses":["{}"],"conditions":{{"ready":true}}}}],
            "ports":[{{"name":"https","port":{},"protocol":"TCP"}}]}}"#,
            at.ip(),
            at.port()
        );
        text.parse().ok()
    }

    fn service(&self) -> Option<Value> {
        let port = self.server.get()?.port();
        let text = format!(
            r#"{{"metadata":{{"labels":{{"component":"apiserver","provider":"kubernetes"}}}},"spec":{{"type":"ClusterIP",
            "clusterIP":"10.0.0.1","ports":[{{"name":"https","protocol":"TCP","port":443,"targetPort":{port}}}]}}}}"#
        );
        text.parse().ok()
    }

    fn account(&self) -> Option<Value> {
        self.authority.get().map(|_| Value::object::<&str>([]))
    }

    fn trust(&self) -> Option<Value> {
        let authority = self.authority.get()?;
        Some(Value::object([("data", Value::object([("ca.crt", Value::from(authority.as_str()))]))]))
    }
}

impl Piece {
    /// Returns the namespace of the piece that a key is of.
    fn namespace<'a>(&self, key: &'a str) -> Option<&'a str> {
        let group = if self.group.is_empty() { "core" } else { self.group };
        let rest = key.strip_prefix(super::OBJECTS)?.strip_prefix(group)?.strip_prefix('/')?;
        rest.strip_prefix(self.resource)?.strip_prefix('/')?.strip_suffix(self.name)?.strip_suffix('/')
    }
}

/// Gives a namespace what it lacks; one that is going gets nothing more.
pub(super) async fn furnish(api: &Server, namespace: &str) -> Result<Outcome, Failure> {
    for piece in Furniture::pieces(namespace) {
        let Some(content) = (piece.content)(&api.furniture) else { continue };
        let Some(place) = api.target_of_key(&format!("{}{namespace}", namespaces::PLACE)) else { break };
        let live = api.read(&place).await?;
        let stays = live.is_some_and(|live| live.object.at(["metadata", "deletionTimestamp"]).is_none());
        if !stays {
            break;
        }
        let target = Target {
            verb: Verb::Patch,
            served: api.served(piece.group, "v1", piece.resource)?,
            namespace: namespace.into(),
            name: piece.name.into(),
            subresource: Text::default(),
        };
        match api.modify(&target, &application(&target, &content)?).await {
            // The namespace has begun to go in between.
            Err(failure) if matches!(failure.code(), 403 | 404) => break,
            // Trying again changes nothing: somebody else has the address.
            Err(failure) if failure.code() == 422 => {
                tracing::warn!(%failure, namespace, piece.name, "cannot be given");
            }
            done => {
                done?;
            }
        }
    }
    Ok(Outcome::Done)
}

/// The request that applies an object by force.
fn application(target: &Target, content: &Value) -> Result<Request, Failure> {
    let fields = content.as_object().cloned().unwrap_or_default();
    let metadata = fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let object = fields
        .with("apiVersion", target.served.resource.api_version.clone())
        .with("kind", target.served.resource.kind.clone())
        .with("metadata", metadata.with("name", target.name.clone()));
    let media_type = header::HeaderValue::from_static("application/apply-patch+yaml");
    Ok(Request {
        method: Method::PATCH,
        query: Query::parse(&format!("fieldManager={MANAGER}&force=true"))?,
        headers: HeaderMap::from_iter([(header::CONTENT_TYPE, media_type)]),
        body: Value::from(object).to_string().into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_the_namespace_to_look_after() {
        let furniture = |server: bool, accounts: bool| {
            let furniture = Furniture::default();
            if server {
                furniture.server.set(([127, 0, 0, 1], 1).into()).unwrap();
            }
            if accounts {
                furniture.authority.set(String::new()).unwrap();
            }
            furniture
        };
        // The key; whose change and whose end is looked after by one that gives accounts.
        let cases = [
            ("objects/core/namespaces/a", Some("a"), None),
            ("objects/core/configmaps/a/kube-root-ca.crt", Some("a"), Some("a")),
            ("objects/core/serviceaccounts/a/default", None, Some("a")),
            ("objects/core/configmaps/a/other", None, None),
            ("objects/core/serviceaccounts/a/my-default", None, None),
            ("objects/example.com/configmaps/a/kube-root-ca.crt", None, None),
        ];
        for (key, changed, gone) in cases {
            let accounts = furniture(false, true);
            assert_eq!((accounts.namespace_of(key), accounts.bereft(key)), (changed, gone), "{key}");
            let server = furniture(true, false);
            assert_eq!((server.namespace_of(key), server.bereft(key)), (None, None), "{key}");
        }
        let server = furniture(true, false);
        assert_eq!(server.namespace_of("objects/core/namespaces/default"), Some("default"));
        assert_eq!(server.bereft("objects/core/services/default/kubernetes"), Some("default"));
        assert_eq!(furniture(false, false).bereft("objects/core/services/default/kubernetes"), None);
    }
}
