//! Documents of extension API servers that this server reads itself: bounded in size and in time.

use crate::{Aggregator, ApiService, headers::identify, resolver::resolve, transport::ProxyBody};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{HeaderMap, Request, Response, StatusCode, body::Incoming, header};
use std::time::Duration;
use tenure_meta::UserInfo;
use tenure_value::{Limits, Value, json};
use tokio::time::timeout;

/// The longest document that is read: a large multiple of the discovery and the OpenAPI of all that Kubernetes serves.
const DOCUMENT_BYTES: usize = 32 << 20;

/// A document, or the code of a response without one.
pub(crate) struct Fetched {
    pub code: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Fetched {
    /// Reads the body as JSON.
    pub fn document(&self) -> Result<Value, String> {
        let limits = Limits { bytes: DOCUMENT_BYTES, nodes: DOCUMENT_BYTES / 8, ..Limits::default() };
        json::parse(&self.body, &limits).map_err(|error| format!("not a JSON document: {error}"))
    }

    /// Returns the text of a header.
    pub fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// Returns the user of the aggregator's own requests.
pub(crate) fn aggregator_user() -> UserInfo {
    UserInfo::new("system:kube-aggregator").with_group(UserInfo::MASTERS)
}

impl Aggregator {
    /// Reads a document of an extension server, with the media types that are accepted and the entity tag that is known.
    pub(crate) async fn fetch(
        &self,
        service: &ApiService,
        path: &str,
        known: (&str, &str),
        time_limit: Duration,
    ) -> Result<Fetched, String> {
        let fetched = timeout(time_limit, async {
            let (head, body) = self.request(service, path, known).await?.into_parts();
            let (mut bytes, mut body) = (BytesMut::new(), Limited::new(body, DOCUMENT_BYTES));
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| error.to_string())?;
                bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
            }
            Ok(Fetched { code: head.status, headers: head.headers, body: bytes.freeze() })
        });
        fetched.await.unwrap_or_else(|_| Err(format!("Get \"{path}\": context deadline exceeded")))
    }

    /// Returns the code of the response to a request for a document, which is not read.
    pub(crate) async fn probe(
        &self,
        service: &ApiService,
        path: &str,
        time_limit: Duration,
    ) -> Result<StatusCode, String> {
        match timeout(time_limit, self.request(service, path, ("", ""))).await {
            Ok(response) => response.map(|response| response.status()),
            Err(_) => Err(format!("Get \"{path}\": context deadline exceeded")),
        }
    }

    async fn request(
        &self,
        service: &ApiService,
        path: &str,
        (accept, entity_tag): (&str, &str),
    ) -> Result<Response<Incoming>, String> {
        let reference = service.proxied().ok_or("the APIService has no service")?;
        let endpoint = resolve(&*self.store, self.routing, reference, path).await?;
        let mut request = Request::get(endpoint.url.clone());
        if !accept.is_empty() {
            request = request.header(header::ACCEPT, accept);
        }
        if !entity_tag.is_empty() {
            request = request.header(header::IF_NONE_MATCH, entity_tag);
        }
        let body: ProxyBody = Empty::new().map_err(|never| match never {}).boxed_unsync();
        let mut request = request
            .header(header::USER_AGENT, "tenure")
            .header(header::VIA, self.via.clone())
            .body(body)
            .map_err(|error| error.to_string())?;
        identify(request.headers_mut(), &aggregator_user());
        self.transport.send(service, &endpoint, request).await
    }
}
