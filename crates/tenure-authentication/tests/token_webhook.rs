//! Tokens that a webhook knows: who they are, for which audiences, and how long an answer counts.

#[path = "../../tenure-authorization/tests/support/http.rs"]
mod http;

use http::read_request;
use hyper::{HeaderMap, header};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tenure_authentication::{Authenticator, IdentityOptions, TokenWebhookOptions};
use tenure_catalog::Clock;
use tenure_http::Administrator;
use tenure_store::MemoryStore;
use tenure_transport::ReviewVersion;
use tenure_value::{Text, Value};
use tokio::{io::AsyncWriteExt, net::TcpListener};

/// Starts a webhook that knows a token, and returns the directory of its kubeconfig and the reviews that it was sent.
async fn webhook(status: &'static str) -> (tempfile::TempDir, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let kubeconfig = format!(
        "{{apiVersion: v1, kind: Config, clusters: [{{name: c, cluster: {{server: 'http://{address}/review'}}}}], \
         contexts: [{{name: c, context: {{cluster: c, user: u}}}}], current-context: c, users: [{{name: u, user: {{}}}}]}}"
    );
    std::fs::write(directory.path().join("kubeconfig"), kubeconfig).unwrap();
    let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
    let record = seen.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let record = record.clone();
            tokio::spawn(async move {
                while let Some((_, body)) = read_request(&mut stream).await {
                    let review: Value = body.parse().unwrap();
                    let token = review.at(["spec", "token"]).and_then(Value::as_str);
                    let status = if token == Some("known") { status } else { r#"{"authenticated":false}"# };
                    let body = format!(r#"{{"status":{status}}}"#);
                    record.lock().unwrap().push(review);
                    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                    if stream.write_all((head + &body).as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (directory, seen)
}

async fn authenticator(directory: &tempfile::TempDir, cache_ttl: Duration) -> Authenticator {
    let mut identity = IdentityOptions::default();
    identity.tokens.audiences = vec!["api".into()];
    identity.token_webhook = Some(TokenWebhookOptions {
        version: ReviewVersion::V1,
        cache_ttl,
        ..TokenWebhookOptions::new(directory.path().join("kubeconfig"))
    });
    let access = Administrator::Token("an-administrators-token".into());
    Authenticator::open(access, identity, Arc::new(MemoryStore::new()), Clock::default()).await.unwrap()
}

/// Returns the name and the groups of the user of a token.
async fn who(authenticator: &Authenticator, token: &str) -> Option<(String, Vec<Text>)> {
    let value = header::HeaderValue::try_from(format!("Bearer {token}")).unwrap();
    let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
    let identity = authenticator.authenticate("/api", &headers, (None, None)).await.ok()?;
    Some((identity.user.name.to_string(), identity.user.groups.clone()))
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_webhook_knows_tokens() {
    let (directory, seen) = webhook(
        r#"{"authenticated":true,"user":{"username":"ann","uid":"7","groups":["ops"],"extra":{"k":["v"]}}}"#,
    )
    .await;
    let authenticator = authenticator(&directory, MINUTE).await;
    let ann = ("ann".to_owned(), vec![Text::from("ops"), Text::from("system:authenticated")]);
    for _ in 0..2 {
        assert_eq!(who(&authenticator, "known").await, Some(ann.clone()));
        assert_eq!(who(&authenticator, "unknown").await, None);
    }
    let review = r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","metadata":{},"spec":{"audiences":["api"],"token":"known"}}"#;
    let want: Value = review.parse().unwrap();
    assert_eq!(seen.lock().unwrap().first(), Some(&want));
    assert_eq!(seen.lock().unwrap().len(), 2, "answers are remembered, whatever they are");
    let (user, audiences) = authenticator.review("known", &["api".into(), "other".into()]).await.unwrap();
    assert_eq!((user.name.as_str(), audiences), ("ann", vec!["api".into()]));
    assert_eq!(authenticator.review("unknown", &["api".into()]).await, Err("invalid bearer token".into()));
}

#[tokio::test]
async fn the_audiences_of_the_answer_count() {
    for (status, is_known) in [
        (r#"{"authenticated":true,"user":{"username":"ann"},"audiences":["api","x"]}"#, true),
        (r#"{"authenticated":true,"user":{"username":"ann"},"audiences":["x"]}"#, false),
        (r#"{"authenticated":false,"error":"expired"}"#, false),
    ] {
        let (directory, seen) = webhook(status).await;
        let authenticator = authenticator(&directory, Duration::ZERO).await;
        assert_eq!(who(&authenticator, "known").await.is_some(), is_known, "{status}");
        assert_eq!(who(&authenticator, "known").await.is_some(), is_known, "{status}");
        assert_eq!(seen.lock().unwrap().len(), 2, "without a cache each request asks");
        let reviewed = authenticator.review("known", &["api".into()]).await;
        if status.contains("expired") {
            assert_eq!(reviewed, Err("[invalid bearer token, expired]".into()));
        }
    }
}
