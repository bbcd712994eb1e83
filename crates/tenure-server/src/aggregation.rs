//! Aggregation in the server: requests for groups of extension API servers are passed on after authentication and authorization,
//! and the aggregator's own writes go through the pipeline of every write.

use crate::{flow_control::RequestFlow, request_time::requested_time, write::Writer};
use async_trait::async_trait;
use http_body_util::BodyExt;
use hyper::{
    Method,
    header::{self, HeaderValue},
    http::request::Parts,
};
use std::{pin::Pin, sync::Arc, time::Instant};
use tenure_aggregator::{Aggregator, ApiService, ApiServiceWriter, ProxyBody, ProxyRequest};
use tenure_catalog::{Subresource, Target, Verb, object::meta_text};
use tenure_http::{ClientAddress, Query, REQUEST_TIME, Request, RequestBody, RequestPath, Response};
use tenure_meta::{ApiError, GroupVersionResource, UserInfo, time::Precision};
use tenure_value::{Text, Value};

/// The component that writes APIServices.
const COMPONENT: &str = "kube-apiserver";

/// Passes a request on to the extension server of an APIService; `end` is when the credential of its user ends.
pub(crate) async fn proxy(
    aggregator: &Aggregator,
    service: &ApiService,
    (head, body, user): (Parts, RequestBody, Arc<UserInfo>),
    (address, query): (&RequestPath, &Query),
    flow: Option<RequestFlow>,
    end: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
) -> Result<Response, ApiError> {
    let lasts = match address {
        RequestPath::Resource(path) => {
            let part = Subresource::named(&path.subresource);
            path.watch || query.flag("watch") || part.is_some_and(Subresource::is_long_running)
        }
        _ => false,
    };
    let time = match query.given("timeout").filter(|_| !lasts) {
        Some(text) => requested_time(text)?,
        None => REQUEST_TIME,
    };
    let seat = match flow {
        // A response that lasts occupies a seat until it begins.
        Some(flow) => match flow.seats(1).await {
            Ok(seat) => seat,
            Err(refusal) => return Ok(refusal),
        },
        None => None,
    };
    let body: ProxyBody = body.map_err(Into::into).boxed_unsync();
    let (kept, begun): (Box<dyn Send>, _) = if lasts { (Box::new(()), seat) } else { (Box::new(seat), None) };
    let request = ProxyRequest {
        client: head.extensions.get::<ClientAddress>().map(|address| address.0.ip()),
        head,
        body,
        user,
        deadline: (!lasts).then(|| (Instant::now() + time).into()),
        end,
        guard: kept,
    };
    let response = Box::pin(aggregator.proxy(service, request)).await;
    drop(begun);
    Ok(response)
}

/// Writes objects for the aggregator.
pub(crate) struct AggregatorWriter {
    pub writer: Arc<Writer>,
}

impl AggregatorWriter {
    fn target(
        &self,
        verb: Verb,
        GroupVersionResource { group, version, resource }: GroupVersionResource,
        (namespace, name): (&str, &str),
    ) -> Result<Target, ApiError> {
        Ok(Target {
            verb,
            handler: self.writer.objects.catalog.resource(group, version, resource)?,
            namespace: namespace.into(),
            name: name.into(),
            subresource: Text::default(),
        })
    }
}

#[async_trait]
impl ApiServiceWriter for AggregatorWriter {
    async fn create(
        &self,
        resource: GroupVersionResource,
        namespace: &str,
        object: &Value,
    ) -> Result<(), ApiError> {
        let mut request = Request::internal(Method::POST, COMPONENT);
        request.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        request.body = object.to_string().into();
        let target = self.target(Verb::Create, resource, (namespace, ""))?;
        self.writer.create(&target, &request).await.map(drop)
    }

    async fn update(
        &self,
        resource: GroupVersionResource,
        namespace: &str,
        object: &Value,
    ) -> Result<(), ApiError> {
        let target = self.target(Verb::Update, resource, (namespace, meta_text(object, "name")))?;
        self.writer.put_own(&target, COMPONENT, object).await
    }

    async fn update_status(&self, resource: GroupVersionResource, object: &Value) -> Result<(), ApiError> {
        let target = self.target(Verb::Update, resource, ("", meta_text(object, "name")))?;
        let target = Target { subresource: "status".into(), ..target };
        self.writer.put_own(&target, COMPONENT, object).await
    }

    async fn delete(&self, resource: GroupVersionResource, name: &str) -> Result<(), ApiError> {
        let target = self.target(Verb::Delete, resource, ("", name))?;
        self.writer.delete(&target, &Request::internal(Method::DELETE, COMPONENT)).await.map(drop)
    }

    fn now(&self) -> Text {
        self.writer.objects.clock.now().format(Precision::Seconds).into()
    }
}
