//! The authorization webhook: what it is sent, how long its answers count, and what counts if it fails.

#[path = "support/http.rs"]
mod http;

use http::read_request;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};
use tenure_authorization::{
    Authorization, Authorizer, AuthorizerOptions, Decision, Verdict, WebhookFailure, WebhookOptions,
};
use tenure_meta::{Attributes, ResourceAttributes, UserInfo};
use tenure_store::MemoryStore;
use tenure_transport::ReviewVersion;
use tenure_value::Value;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
};

/// A webhook that answers with the given codes and statuses, the last one again and again, and records what it was sent.
struct Server {
    directory: tempfile::TempDir,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl Server {
    async fn start(answers: &[(u16, &str)]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let kubeconfig = format!(
            "{{apiVersion: v1, kind: Config, clusters: [{{name: c, cluster: {{server: 'http://{address}/authorize'}}}}], \
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}], current-context: c, users: [{{name: u, user: {{token: secret}}}}]}}"
        );
        std::fs::write(directory.path().join("kubeconfig"), kubeconfig).unwrap();
        let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
        let answers: VecDeque<(u16, String)> =
            answers.iter().map(|(code, status)| (*code, (*status).to_owned())).collect();
        let (answers, record) = (Arc::new(Mutex::new(answers)), seen.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, answers.clone(), record.clone()));
            }
        });
        Server { directory, seen }
    }

    fn options(&self) -> WebhookOptions {
        WebhookOptions {
            version: ReviewVersion::V1,
            ..WebhookOptions::new(self.directory.path().join("kubeconfig"))
        }
    }

    fn reviews(&self) -> Vec<Value> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    answers: Arc<Mutex<VecDeque<(u16, String)>>>,
    seen: Arc<Mutex<Vec<Value>>>,
) {
    while let Some((head, body)) = read_request(&mut stream).await {
        assert!(head.starts_with("POST /authorize HTTP/1.1"), "{head}");
        assert!(head.to_lowercase().contains("authorization: bearer secret"), "{head}");
        seen.lock().unwrap().push(body.parse().unwrap());
        let (code, status) = {
            let mut answers = answers.lock().unwrap();
            if answers.len() > 1 { answers.pop_front().unwrap() } else { answers[0].clone() }
        };
        let body = format!(
            r#"{{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{status}}}"#
        );
        let answer = format!(
            "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn authorizer(authorizers: impl IntoIterator<Item = AuthorizerOptions>) -> Arc<Authorizer> {
    Authorizer::open(Arc::new(MemoryStore::new()), &Authorization::new(authorizers)).await.unwrap()
}

fn list(namespace: &str) -> Attributes {
    Attributes::Resource(ResourceAttributes {
        verb: "list".into(),
        version: "v1".into(),
        resource: "pods".into(),
        namespace: namespace.into(),
        field_selector: "spec.nodeName=a,status.phase!=Failed".into(),
        label_selector: "app in (x,y),!old".into(),
        ..ResourceAttributes::default()
    })
}

#[tokio::test]
async fn the_review_has_the_user_and_the_request() {
    let server = Server::start(&[(200, r#"{"allowed":true,"reason":"because"}"#)]).await;
    let user = UserInfo {
        uid: "7".into(),
        extra: vec![("k".into(), vec!["v".into()])],
        ..UserInfo::new("ann").with_group("ops")
    };
    let spec = r#""extra":{"k":["v"]},"groups":["ops"],"resourceAttributes":{"fieldSelector":{"requirements":[{"key":"spec.nodeName","operator":"In","values":["a"]},{"key":"status.phase","operator":"NotIn","values":["Failed"]}]},"labelSelector":{"requirements":[{"key":"app","operator":"In","values":["x","y"]},{"key":"old","operator":"DoesNotExist"}]},"namespace":"ns","resource":"pods","verb":"list","version":"v1"},"uid":"7","user":"ann""#;
    let v1 = format!(
        r#"{{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","metadata":{{}},"spec":{{{spec}}}}}"#
    );
    let v1beta1 = v1.replace("/v1\"", "/v1beta1\"").replace("groups", "group");
    for (version, want) in [(ReviewVersion::V1, v1), (ReviewVersion::V1beta1, v1beta1)] {
        let options = WebhookOptions { version, ..server.options() };
        let decision =
            authorizer([AuthorizerOptions::Webhook(options)]).await.decide(&user, &list("ns")).await;
        assert_eq!(decision, Decision::new(Verdict::Allow, "because"));
        let want: Value = want.parse().unwrap();
        assert_eq!(server.reviews().last(), Some(&want));
    }
}

#[tokio::test]
async fn the_answer_decides() {
    let failed =
        |verdict, error: &str| Decision { verdict, reason: "".into(), error: Some(error.to_owned()) };
    for (status, want) in [
        (r#"{"allowed":true}"#, Decision::allowed()),
        (r#"{"allowed":false,"denied":true,"reason":"no"}"#, Decision::new(Verdict::Deny, "no")),
        // The next authorizer allows it.
        (r#"{"allowed":false,"reason":"not mine"}"#, Decision::allowed()),
        (
            r#"{"allowed":true,"denied":true}"#,
            failed(Verdict::Deny, "webhook subject access review returned both allow and deny response"),
        ),
    ] {
        let server = Server::start(&[(200, status)]).await;
        let modes = [AuthorizerOptions::Webhook(server.options()), AuthorizerOptions::AlwaysAllow];
        assert_eq!(
            authorizer(modes).await.decide(&UserInfo::new("ann"), &list("ns")).await,
            want,
            "{status}"
        );
    }
}

#[tokio::test]
async fn members_of_masters_are_not_asked_about() {
    let server = Server::start(&[(200, r#"{"denied":true}"#)]).await;
    let authorizer = authorizer([AuthorizerOptions::Webhook(server.options())]).await;
    let master = UserInfo::new("root").with_group(UserInfo::MASTERS);
    assert_eq!(authorizer.decide(&master, &list("ns")).await, Decision::allowed());
    assert!(server.reviews().is_empty());
}

#[tokio::test]
async fn answers_count_for_a_while() {
    for (status, ttl, reviews) in [
        (r#"{"allowed":true}"#, (300, 0), 2),
        (r#"{"allowed":true}"#, (0, 300), 4),
        (r#"{"allowed":false}"#, (0, 300), 2),
        (r#"{"denied":true}"#, (300, 0), 4),
    ] {
        let server = Server::start(&[(200, status)]).await;
        let options = WebhookOptions {
            authorized_ttl: Duration::from_secs(ttl.0),
            unauthorized_ttl: Duration::from_secs(ttl.1),
            ..server.options()
        };
        let authorizer = authorizer([AuthorizerOptions::Webhook(options)]).await;
        for namespace in ["a", "b", "a", "b"] {
            authorizer.decide(&UserInfo::new("ann"), &list(namespace)).await;
        }
        assert_eq!(server.reviews().len(), reviews, "{status} {ttl:?}");
    }
}

#[tokio::test]
async fn a_webhook_that_fails_has_no_opinion_or_denies() {
    for (code, on_failure, next, is_allowed) in [
        (400, WebhookFailure::NoOpinion, AuthorizerOptions::AlwaysAllow, true),
        (400, WebhookFailure::NoOpinion, AuthorizerOptions::AlwaysDeny, false),
        (400, WebhookFailure::Deny, AuthorizerOptions::AlwaysAllow, false),
    ] {
        let server = Server::start(&[(code, "{}")]).await;
        let options = WebhookOptions { on_failure, ..server.options() };
        let decision = authorizer([AuthorizerOptions::Webhook(options), next])
            .await
            .decide(&UserInfo::new("ann"), &list("ns"))
            .await;
        assert_eq!(decision.is_allowed(), is_allowed);
        let error = decision.error.unwrap_or_default();
        assert_eq!(error.ends_with("answered with status 400"), !is_allowed, "{error}");
        assert_eq!(server.reviews().len(), 1);
    }
}

#[tokio::test]
async fn a_busy_webhook_is_asked_again() {
    let server = Server::start(&[(429, "{}"), (200, r#"{"allowed":true}"#)]).await;
    let authorizer = authorizer([AuthorizerOptions::Webhook(server.options())]).await;
    assert_eq!(authorizer.decide(&UserInfo::new("ann"), &list("ns")).await, Decision::allowed());
    assert_eq!(server.reviews().len(), 2);
}

/// Expressions cannot wait for a future.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expressions_ask_the_webhook_too() {
    let server = Server::start(&[(200, r#"{"allowed":true}"#)]).await;
    let authorizer = authorizer([AuthorizerOptions::Webhook(server.options())]).await;
    let decide = authorizer.decide_for(&Arc::new(UserInfo::new("ann")));
    let asked = tenure_crd::rules::AccessAttributes {
        verb: "get".into(),
        resource: "pods".into(),
        ..Default::default()
    };
    assert!(decide(&asked).allowed);
    assert!(authorizer.check(&UserInfo::new("bob"), &list("ns")).is_ok());
}

/// Each permission that impersonation needs is a review.
#[tokio::test]
async fn impersonation_is_reviewed() {
    let server = Server::start(&[(200, r#"{"allowed":true}"#)]).await;
    let options = WebhookOptions { authorized_ttl: Duration::ZERO, ..server.options() };
    let authorizer = authorizer([AuthorizerOptions::Webhook(options)]).await;
    let (requester, wanted) = (UserInfo::new("ann"), UserInfo::new("bob").with_group("ops"));
    let impersonated = authorizer.impersonate(&requester, &wanted, &list("ns")).await.unwrap();
    assert_eq!(impersonated.user.name, "bob");
    let verbs: Vec<String> = server
        .reviews()
        .iter()
        .filter_map(|review| review.at(["spec", "resourceAttributes", "verb"])?.as_str().map(str::to_owned))
        .collect();
    assert_eq!(verbs, ["impersonate-on:user-info:list", "impersonate:user-info", "impersonate:user-info"]);
}

/// Those of a configuration file are replaced when the file changes.
#[tokio::test]
async fn authorizers_are_replaced_while_the_server_runs() {
    let server = Server::start(&[(200, r#"{"allowed":true}"#)]).await;
    let options = Authorization::changing([AuthorizerOptions::AlwaysDeny]);
    let authorizer = Authorizer::open(Arc::new(MemoryStore::new()), &options).await.unwrap();
    let ann = UserInfo::new("ann");
    assert!(!authorizer.decide(&ann, &list("ns")).await.is_allowed());
    for authorizer in [AuthorizerOptions::Rbac, AuthorizerOptions::Node] {
        let refused = options.replace([authorizer]).unwrap_err();
        assert!(refused.ends_with("neither added nor removed without a restart"), "{refused}");
    }
    options.replace([AuthorizerOptions::Webhook(server.options())]).unwrap();
    tokio::time::timeout(Duration::from_secs(20), async {
        while !authorizer.decide(&ann, &list("ns")).await.is_allowed() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the webhook is asked");
    assert_eq!(server.reviews().len(), 1);
    // A kubeconfig that cannot be read changes nothing.
    options.replace([AuthorizerOptions::Webhook(WebhookOptions::new("/nowhere"))]).unwrap();
    tokio::task::yield_now().await;
    assert!(authorizer.decide(&ann, &list("ns")).await.is_allowed());
}
