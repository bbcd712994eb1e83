//! Streamable HTTP on a loopback address, for clients that do not start the server themselves. Every request needs the token; the `Host`
//! must be a loopback name and there must be no `Origin`, so that no page of a browser can use the server.

use crate::Server;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use ring::digest::{SHA256, digest};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use std::{convert::Infallible, future::Future, io, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tower_service::Service;

/// The path of the endpoint.
pub const PATH: &str = "/mcp";

/// The most bytes of a request.
const REQUEST_BYTES: usize = 8 << 20;
/// The most connections; others wait.
const CONNECTIONS: usize = 64;
/// How long the head of a request may take.
const HEAD_TIME: Duration = Duration::from_secs(10);

type Body = BoxBody<Bytes, Infallible>;
type Sessions = StreamableHttpService<Server, LocalSessionManager>;

/// Serves clients that have the token until `stop` completes; plans that are being carried out are finished first. The address must be
/// a loopback one.
pub async fn serve(
    listener: TcpListener,
    server: Server,
    token: &str,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{address} can be reached from other machines; listen on 127.0.0.1 or [::1]"),
        ));
    }
    let made = server.clone();
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(["localhost", "127.0.0.1", "::1"])
        .enforce_origin_validation()
        .with_max_request_body_bytes(REQUEST_BYTES);
    let cancellation = config.cancellation_token.clone();
    let sessions = StreamableHttpService::new(move || Ok(made.clone()), Arc::default(), config);
    let token = Arc::new(hashed(token.as_bytes()));
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    tokio::pin!(stop);
    loop {
        let accepted = async {
            let permit = connections.clone().acquire_owned().await.map_err(io::Error::other)?;
            Ok::<_, io::Error>((listener.accept().await?.0, permit))
        };
        let (stream, permit) = tokio::select! {
            accepted = accepted => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        let (sessions, token) = (sessions.clone(), token.clone());
        tokio::spawn(async move {
            connection(stream, sessions, token).await;
            drop(permit);
        });
    }
    cancellation.cancel();
    server.at_rest().await;
    Ok(())
}

async fn connection(stream: TcpStream, sessions: Sessions, token: Arc<[u8; 32]>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (mut sessions, token) = (sessions.clone(), token.clone());
        async move {
            if let Some(refusal) = refusal(request.headers(), request.uri().path(), &token) {
                return Ok(refusal);
            }
            sessions.call(request).await
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    // A client that disconnects early is not an error of the server.
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection ended");
    }
}

/// Returns the response to a request that may not be answered.
fn refusal(headers: &HeaderMap, path: &str, token: &[u8; 32]) -> Option<Response<Body>> {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    // Hashes are compared, so that the time says nothing about the token.
    let (status, text) = match path {
        _ if hashed(given.as_bytes()) != *token => {
            (StatusCode::UNAUTHORIZED, "give the token as `Authorization: Bearer TOKEN`\n")
        }
        PATH => return None,
        _ => (StatusCode::NOT_FOUND, "the endpoint is /mcp\n"),
    };
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
    }
    Some(response)
}

fn hashed(text: &[u8]) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest(&SHA256, text).as_ref());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_opens_the_endpoint() {
        let token = hashed(b"0123456789abcdef");
        for (authorization, path, expected) in [
            (Some("Bearer 0123456789abcdef"), "/mcp", None),
            (Some("Bearer 0123456789abcdef"), "/", Some(404)),
            (Some("Bearer 0123456789abcde"), "/mcp", Some(401)),
            (Some("bearer"), "/mcp", Some(401)),
            (Some("Basic 0123456789abcdef"), "/mcp", Some(401)),
            (None, "/mcp", Some(401)),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(value) = authorization {
                headers.insert(header::AUTHORIZATION, header::HeaderValue::from_static(value));
            }
            let code = refusal(&headers, path, &token).map(|response| response.status().as_u16());
            assert_eq!(code, expected, "{authorization:?} {path}");
        }
    }
}
