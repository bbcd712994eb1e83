//! The page behind a listener: alone, or in front of the API of a server.

use bytes::Bytes;
use hyper::{Request, body::Incoming};
use std::sync::Arc;
use tenure_http::{BodyStream, RequestBody, Response, ResponseBody, listener::Handler};
use tenure_server::Server;
use tenure_ui::{Page, PageBody};

/// Serves the page alone.
pub struct PageAlone(pub Arc<Page>);

impl Handler for PageAlone {
    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Response {
        answer(self.0.clone().respond(request).await)
    }
}

/// Serves the page, and at all other paths the API of a server.
pub struct PageAndApi {
    /// The page.
    pub page: Arc<Page>,
    /// The server.
    pub api: Arc<Server>,
}

impl Handler for PageAndApi {
    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Response {
        if Page::is_for_page(&request) {
            // Boxed, so that requests to the API do not carry the memory of the page.
            return answer(Box::pin(self.page.clone().respond(request)).await);
        }
        self.api.clone().respond(request.map(RequestBody::from)).await
    }
}

fn answer(response: http::Response<PageBody>) -> Response {
    let (head, body) = response.into_parts();
    let body = match body {
        PageBody::Whole(bytes) => ResponseBody::Whole(bytes.unwrap_or_else(Bytes::new)),
        PageBody::Lines(mut lines) => ResponseBody::Stream(BodyStream::new(|sender| async move {
            while let Some(line) = lines.recv().await {
                sender.send(line).await;
            }
        })),
    };
    Response { code: head.status, headers: head.headers, body, memory: None }
}
