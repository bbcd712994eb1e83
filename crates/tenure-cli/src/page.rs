//! The page as an endpoint beside the API, or alone: its requests pass the steps of all others first.

use bytes::Bytes;
use http::request::Parts;
use std::{future::poll_fn, pin::Pin, sync::Arc};
use tenure_http::{
    BodyStream, MemoryBudget, Response, ResponseBody, WebEndpoint, WebRequest, WebService, offload::Offload,
};
use tenure_meta::{ApiError, UserInfo};
use tenure_ui::{Page, PageBody};

/// The page as an endpoint.
pub struct PageEndpoint(pub Arc<Page>);

impl PageEndpoint {
    /// Returns the handler of a listener that serves the page alone.
    pub fn alone(page: Arc<Page>) -> WebService {
        WebService::new(Arc::new(PageEndpoint(page)), MemoryBudget::default(), Arc::default())
    }
}

impl WebEndpoint for PageEndpoint {
    fn is_for(&self, head: &Parts) -> bool {
        Page::is_for_page(head)
    }

    fn user(&self, head: &Parts) -> Option<Arc<UserInfo>> {
        let name = self.0.user(&head.headers)?;
        Some(Arc::new(UserInfo::new(name).with_group(UserInfo::AUTHENTICATED)))
    }

    fn is_quick(&self, head: &Parts) -> bool {
        !Page::is_for_endpoint(head)
    }

    fn refuse(&self, refusal: &ApiError) -> Response {
        let code = http::StatusCode::from_u16(refusal.code()).unwrap_or(http::StatusCode::BAD_REQUEST);
        response(Page::refuse(code, &refusal.to_string()), &Arc::default())
    }

    fn respond(self: Arc<Self>, request: WebRequest) -> Pin<Box<dyn Future<Output = Response> + Send>> {
        let WebRequest { head, body, client, offload } = request;
        let page = self.0.clone();
        Box::pin(async move {
            let answer = page.respond(http::Request::from_parts(head, body), client).await;
            response(answer, &offload)
        })
    }
}

/// Returns a response of the page as the listener sends it. What lasts computes where it keeps no one waiting.
fn response(answer: http::Response<PageBody>, offload: &Arc<Offload>) -> Response {
    let (head, body) = answer.into_parts();
    let body = match body {
        PageBody::Whole(bytes) => ResponseBody::Whole(bytes.unwrap_or_else(Bytes::new)),
        PageBody::Lines(mut lines) => {
            let offload = offload.clone();
            ResponseBody::Stream(BodyStream::new(|sender| async move {
                while let Some(line) = offload.run(poll_fn(|context| lines.poll_next(context))).await {
                    sender.send(line).await;
                }
            }))
        }
    };
    Response { code: head.status, headers: head.headers, body, memory: None }
}
