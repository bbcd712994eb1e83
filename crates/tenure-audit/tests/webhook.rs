//! The webhook: events come in batches, a batch that is refused is sent again, and an unavailable server loses events but
//! never delays a request.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};
use tenure_audit::{
    AuditOptions, Auditor, Event, Level, ObjectReference, Policy, RequestRecord, RequestText, Stage,
    WebhookOptions,
};
use tenure_meta::Attributes;
use tenure_value::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
};

const PATIENCE: Duration = Duration::from_secs(20);

/// A server that receives events. It responds with the given codes, and then with 200; 0 means no response.
struct Sink {
    directory: tempfile::TempDir,
    batches: mpsc::UnboundedReceiver<Batch>,
    codes: Arc<Mutex<VecDeque<u16>>>,
}

/// A request that the server got: its path, the audit IDs of its events, and the code of the response.
#[derive(Debug, PartialEq)]
struct Batch {
    path: String,
    ids: Vec<String>,
    code: u16,
}

impl Sink {
    async fn start(codes: &[u16]) -> Sink {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let kubeconfig = format!(
            "{{apiVersion: v1, kind: Config, clusters: [{{name: c, cluster: {{server: 'http://{address}/audit/sink'}}}}], \
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}], current-context: c, users: [{{name: u, user: {{token: secret}}}}]}}"
        );
        std::fs::write(directory.path().join("kubeconfig"), kubeconfig).unwrap();
        let codes = Arc::new(Mutex::new(codes.iter().copied().collect::<VecDeque<_>>()));
        let (sender, batches) = mpsc::unbounded_channel();
        let answers = codes.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (sender, answers) = (sender.clone(), answers.clone());
                tokio::spawn(async move {
                    loop {
                        let Some((head, body)) = read_request(&mut stream).await else { return };
                        assert!(head.to_lowercase().contains("authorization: bearer secret"), "{head}");
                        let code = answers.lock().unwrap().pop_front().unwrap_or(200);
                        let path = head.split(' ').nth(1).unwrap_or_default().to_string();
                        let _ = sender.send(Batch { path, ids: ids(&body), code });
                        if code == 0 {
                            return std::future::pending().await;
                        }
                        let answer = format!("HTTP/1.1 {code} X\r\nContent-Length: 0\r\n\r\n");
                        if stream.write_all(answer.as_bytes()).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Sink { directory, batches, codes }
    }

    async fn auditor(&self, change: impl FnOnce(&mut WebhookOptions)) -> Arc<Auditor> {
        let mut webhook = WebhookOptions::new(self.directory.path().join("kubeconfig"));
        webhook.batch_wait = Duration::from_secs(3600);
        webhook.initial_backoff = Duration::from_millis(5);
        change(&mut webhook);
        let policy = Policy::everything_at(Level::Metadata);
        Auditor::start(AuditOptions { policy, log: None, webhook: Some(webhook) }).await.unwrap()
    }

    async fn next(&mut self) -> Batch {
        tokio::time::timeout(PATIENCE, self.batches.recv()).await.expect("a batch in time").unwrap()
    }
}

async fn read_request(stream: &mut tokio::net::TcpStream) -> Option<(String, Value)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, String::from_utf8(body).ok()?.parse().ok()?))
}

fn ids(list: &Value) -> Vec<String> {
    assert_eq!(list.get("kind").and_then(Value::as_str), Some("EventList"));
    let items = list.get("items").and_then(Value::as_array).unwrap();
    items.iter().map(|event| event.get("auditID").and_then(Value::as_str).unwrap().to_string()).collect()
}

fn record(auditor: &Auditor, ids: impl IntoIterator<Item = u32>) {
    let attributes = Attributes::NonResource { verb: "get".into(), path: "/version".into() };
    for id in ids {
        let (id, object) = (id.to_string(), ObjectReference::default());
        let text = RequestText::new(&RequestRecord {
            level: Level::Metadata,
            audit_id: &id,
            attributes: &attributes,
            request_uri: "/version",
            user: None,
            source_ips: &[],
            user_agent: "",
        });
        auditor.record(&Event {
            text: &text,
            level: Level::Metadata,
            stage: Stage::ResponseComplete,
            attributes: &attributes,
            impersonated_user: None,
            impersonation_constraint: None,
            object: &object,
            response_status: None,
            request_object: None,
            response_object: None,
            annotations: &[],
            received: "",
            reached: "",
        });
    }
}

fn batch(ids: &[u32], code: u16) -> Batch {
    Batch { path: "/audit/sink".into(), ids: ids.iter().map(u32::to_string).collect(), code }
}

#[tokio::test]
async fn events_come_in_order_in_batches_and_the_rest_on_close() {
    let mut sink = Sink::start(&[]).await;
    let auditor = sink.auditor(|options| options.batch_size = 3).await;
    record(&auditor, 1..=7);
    assert_eq!(sink.next().await, batch(&[1, 2, 3], 200));
    assert_eq!(sink.next().await, batch(&[4, 5, 6], 200));
    auditor.close().await;
    assert_eq!(sink.next().await, batch(&[7], 200));
    assert_eq!(auditor.dropped(), 0);
}

#[tokio::test]
async fn a_batch_does_not_wait_for_ever() {
    let mut sink = Sink::start(&[]).await;
    let auditor = sink.auditor(|options| options.batch_wait = Duration::from_millis(20)).await;
    record(&auditor, 1..=2);
    assert_eq!(sink.next().await, batch(&[1, 2], 200));
}

#[tokio::test]
async fn a_batch_that_is_refused_is_sent_again() {
    let mut sink = Sink::start(&[500, 503]).await;
    let auditor = sink.auditor(|options| options.batch_size = 2).await;
    record(&auditor, 1..=4);
    for code in [500, 503, 200] {
        assert_eq!(sink.next().await, batch(&[1, 2], code));
    }
    assert_eq!(sink.next().await, batch(&[3, 4], 200));
    assert_eq!(auditor.dropped(), 0);
}

#[tokio::test]
async fn a_batch_that_is_never_accepted_is_counted_and_the_next_one_is_sent() {
    let mut sink = Sink::start(&[500; 5]).await;
    let auditor = sink.auditor(|options| options.batch_size = 2).await;
    record(&auditor, 1..=4);
    for _ in 0..5 {
        assert_eq!(sink.next().await, batch(&[1, 2], 500));
    }
    assert_eq!(sink.next().await, batch(&[3, 4], 200));
    assert_eq!(auditor.dropped(), 2);
}

#[tokio::test]
async fn a_server_that_does_not_answer_costs_events_and_no_request() {
    let mut sink = Sink::start(&[0]).await;
    let auditor = sink.auditor(|options| (options.batch_size, options.queue) = (1, 2)).await;
    record(&auditor, [1]);
    // From here on the worker waits for the response, and two more events fit into the queue.
    assert_eq!(sink.next().await, batch(&[1], 0));
    record(&auditor, 2..=10);
    assert_eq!(auditor.dropped(), 7);
    assert!(sink.codes.lock().unwrap().is_empty());
}
