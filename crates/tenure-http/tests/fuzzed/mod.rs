//! The body of the fuzz target of connections, which an ordinary test runs too. A client and a server talk over a wire in memory that
//! cuts what is written and read into pieces, breaks off or changes a byte, as the fuzzed bytes say.
//!
//! However the wire cuts, the client gets the answers that its requests have; if the wire breaks, a beginning of them, and the server
//! ends and drops what it was sending. Nothing waits for a time: if neither side can go on, that is the failure.

mod conversation;
mod wire;

use conversation::{Conversation, Streams};
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, Wake, Waker},
};
use tenure_http::listener::serve_stream;
use tenure_transport::serving::Tls;
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::{
    TlsAcceptor, TlsConnector,
    rustls::{
        ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion,
        crypto::ring,
        pki_types::{PrivateKeyDer, ServerName},
        version::{TLS12, TLS13},
    },
};
use wire::{Fault, Side, wire};

/// Timers exist here and never fire: time does not pass.
static TIMERS: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));
static SERVER: LazyLock<(Arc<ServerConfig>, RootCertStore)> = LazyLock::new(server);

/// Who speaks TLS for the server.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Implementation {
    None,
    /// The crate's own stream.
    Own,
    /// tokio-rustls.
    Library,
}

/// Has a conversation over a wire, both of which the bytes describe.
pub fn connection(bytes: &[u8]) {
    let [version, kind, low, high, first, second, third, steps @ ..] = bytes else { return };
    let position = usize::from(*low) | usize::from(*high) << 8;
    let conversation = Conversation::new([*first, *second, *third]);
    let fault = Fault::new(*kind, position);
    let (version, implementations) = match version % 3 {
        0 => (&TLS13, &[Implementation::None][..]),
        1 => (&TLS12, &[Implementation::Library, Implementation::Own][..]),
        _ => (&TLS13, &[Implementation::Library, Implementation::Own][..]),
    };
    for implementation in implementations {
        // What changes on the way is noticed with TLS alone.
        if *implementation != Implementation::None || !fault.is_change() {
            converse(&conversation, *implementation, version, fault, steps);
        }
    }
}

fn converse(
    conversation: &Conversation,
    implementation: Implementation,
    version: &'static SupportedProtocolVersion,
    fault: Fault,
    steps: &[u8],
) {
    let _timers = TIMERS.enter();
    let streams = Arc::new(Streams);
    let (near, far) = wire(fault, steps);
    let server: Pending<'_, ()> = Box::pin(serve(far, implementation, streams.clone()));
    let mut client: Pending<'_, conversation::Received> = Box::pin(async {
        match implementation {
            Implementation::None => conversation.hold(near).await,
            _ => {
                let name = ServerName::try_from("localhost").expect("a name");
                match client(version).connect(name, near).await {
                    Ok(stream) => conversation.hold(stream).await,
                    Err(error) => conversation::Received { answers: Vec::new(), end: Err(error) },
                }
            }
        }
    });
    let mut server = Some(server);
    let received = drive(&mut server, &mut client);
    drop(client);
    // A record whose length was changed may never arrive: both wait, until the client leaves.
    assert!(received.is_some() || fault.is_change(), "neither side can go on: {implementation:?}");
    if let Some(received) = received {
        conversation.check(&received, fault);
    }
    if let Some(mut server) = server.take() {
        drive(&mut None, &mut server).expect("the server waits for a client that has left");
    }
    assert_eq!(Arc::strong_count(&streams), 1, "the server keeps a stream whose client has left");
}

async fn serve(side: Side, implementation: Implementation, streams: Arc<Streams>) {
    let config = &SERVER.0;
    // How a connection ends is the client's to judge.
    let _ = match implementation {
        Implementation::None => serve_stream(side, None, streams).await,
        Implementation::Own => {
            let tls = Tls { config: config.clone(), authorities: None };
            serve_stream(side, Some(Arc::new(tls)), streams).await
        }
        Implementation::Library => match TlsAcceptor::from(config.clone()).accept(side).await {
            Ok(stream) => serve_stream(stream, None, streams).await,
            Err(_) => return,
        },
    };
}

type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Runs both until the second ends. Returns `None` if neither can go on.
fn drive<T>(first: &mut Option<Pending<'_, ()>>, second: &mut Pending<'_, T>) -> Option<T> {
    struct Woken(AtomicBool);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Relaxed);
        }
    }
    let woken = Arc::new(Woken(true.into()));
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    while woken.0.swap(false, Relaxed) {
        if first.as_mut().is_some_and(|first| first.as_mut().poll(&mut context).is_ready()) {
            *first = None;
        }
        if let Poll::Ready(result) = second.as_mut().poll(&mut context) {
            return Some(result);
        }
    }
    None
}

/// Returns the configuration of a server, and what its clients trust.
fn server() -> (Arc<ServerConfig>, RootCertStore) {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("a certificate");
    let (certificate, key) = (certified.cert.der().clone(), certified.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], PrivateKeyDer::Pkcs8(key.into()))
        .expect("a key");
    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect("a root");
    (Arc::new(config), roots)
}

fn client(version: &'static SupportedProtocolVersion) -> TlsConnector {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .expect("a version")
        .with_root_certificates(SERVER.1.clone())
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}
