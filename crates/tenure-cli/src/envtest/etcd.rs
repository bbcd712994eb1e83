//! The stand-in for `etcd`: it answers health checks until it is stopped. Nothing is stored.

use super::{
    Error,
    flags::{FlagError, Flags, Kind, Syntax, invalid},
};
use crate::signal::terminated;
use http::StatusCode;
use std::{net::ToSocketAddrs, sync::Arc};
use tenure_http::{
    GuardedRequest, Response,
    listener::{self, Handler},
};
use tokio::net::TcpListener;

/// Where etcd listens by default.
const DEFAULT_URL: &str = "http://localhost:2379";

/// The flags that matter, with their help.
const HONOURED: [(&str, Kind, &str); 3] = [
    ("listen-client-urls", Kind::Value, "URLs to listen on for health checks"),
    ("help", Kind::Switch, "print this help"),
    ("version", Kind::Switch, "print the version"),
];

/// Switches that are accepted; they are about storage, peers and security, of which there is none here.
const SWITCHES: &str = "auto-tls client-cert-auth enable-grpc-gateway enable-pprof enable-v2 force-new-cluster \
    initial-election-tick-advance log-rotation logger-rotation peer-auto-tls peer-client-cert-auth \
    peer-skip-client-san-verification pre-vote socket-reuse-address socket-reuse-port strict-reconfig-check \
    unsafe-no-fsync enable-log-rotation experimental-initial-corrupt-check experimental-enable-lease-checkpoint \
    feature-initial-corrupt-check";

/// Flags with a value that are accepted, for the same reason.
const VALUES: &str = "advertise-client-urls auth-token auto-compaction-mode auto-compaction-retention \
    backend-batch-interval backend-batch-limit bcrypt-cost cert-file cipher-suites client-crl-file config-file cors \
    data-dir discovery election-timeout experimental-watch-progress-notify-interval feature-gates \
    grpc-keepalive-interval grpc-keepalive-min-time grpc-keepalive-timeout heartbeat-interval host-whitelist \
    initial-advertise-peer-urls initial-cluster initial-cluster-state initial-cluster-token key-file listen-metrics-urls \
    listen-peer-urls log-format log-level log-outputs logger max-concurrent-streams max-learners max-request-bytes \
    max-snapshots max-txn-ops max-wals metrics name peer-cert-file peer-key-file peer-trusted-ca-file \
    quota-backend-bytes snapshot-count tls-max-version tls-min-version trusted-ca-file wal-dir \
    watch-progress-notify-interval";

fn kind(name: &str) -> Option<Kind> {
    let honoured = HONOURED.iter().find(|(flag, ..)| *flag == name).map(|(_, kind, _)| *kind);
    let listed = |list: &str| list.split_whitespace().any(|flag| flag == name);
    honoured
        .or_else(|| listed(SWITCHES).then_some(Kind::Switch))
        .or_else(|| listed(VALUES).then_some(Kind::Value))
}

/// Runs the stand-in until it receives a signal.
pub(super) fn run(arguments: &[String]) -> Result<(), Error> {
    let flags = Flags::parse(arguments, Syntax::Go, kind)?;
    if flags.switch("help") == Some(true) {
        print!("{}", help());
        return Ok(());
    }
    if flags.switch("version") == Some(true) {
        println!("etcd Version: 3.6.0\nTenure Version: {}", env!("CARGO_PKG_VERSION"));
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("cannot start: {error}"))?.block_on(serve(&flags))
}

async fn serve(flags: &Flags) -> Result<(), Error> {
    // Installed first: a signal before the handler would be lost.
    let stop = terminated().map_err(|error| format!("cannot handle signals: {error}"))?;
    let (stopping, _) = tokio::sync::watch::channel(false);
    let mut listening = tokio::task::JoinSet::new();
    let urls = flags.list("listen-client-urls").unwrap_or_else(|| vec![DEFAULT_URL.to_owned()]);
    for url in &urls {
        let socket = bind(url).await?;
        let mut stop = stopping.subscribe();
        listening.spawn(async move {
            let stopped = async move { stop.changed().await.unwrap_or_default() };
            listener::serve(socket, None, Arc::new(Health), stopped).await;
        });
    }
    stop.await;
    stopping.send_replace(true);
    while listening.join_next().await.is_some() {}
    Ok(())
}

async fn bind(url: &str) -> Result<TcpListener, Error> {
    let wrong = |reason: &str| invalid("listen-client-urls", url, reason);
    let authority = url.strip_prefix("http://").ok_or_else(|| {
        Error::Flag(match url.starts_with("https://") {
            true => FlagError::Unsupported {
                flag: "listen-client-urls".into(),
                reason: "the stand-in for etcd serves health checks over http only",
            },
            false => wrong("expected a URL such as http://127.0.0.1:2379"),
        })
    })?;
    let addresses = authority.trim_end_matches('/').to_socket_addrs();
    let addresses: Vec<_> =
        addresses.map_err(|_| wrong("expected a host and a port, such as http://127.0.0.1:2379"))?.collect();
    let bound = TcpListener::bind(&*addresses).await;
    bound.map_err(|error| Error::Run(format!("cannot listen on {url}: {error}")))
}

/// Responses health checks.
struct Health;

impl Handler for Health {
    async fn handle(self: Arc<Self>, request: GuardedRequest) -> Response {
        const JSON: &str = "application/json";
        match request.head().uri.path() {
            "/health" | "/readyz" | "/livez" => Response::new(StatusCode::OK, JSON, r#"{"health":"true"}"#),
            "/version" => {
                Response::new(StatusCode::OK, JSON, r#"{"etcdserver":"3.6.0","etcdcluster":"3.6.0"}"#)
            }
            _ => Response::text(StatusCode::NOT_FOUND, "404 page not found\n"),
        }
    }
}

fn help() -> String {
    let mut text = String::from(
        "Tenure in the place of etcd. It answers health checks; the data lives in Tenure's kube-apiserver.\n\n\
         Usage:\n  etcd [flags]\n\nFlags:\n",
    );
    for (name, _, help) in HONOURED {
        text += &format!("  --{name}\n        {help}\n");
    }
    text += "\nAccepted without effect:\n";
    for name in SWITCHES.split_whitespace().chain(VALUES.split_whitespace()) {
        text += &format!("  --{name}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_lines_of_test_frameworks_are_accepted() {
        for line in [
            "--advertise-client-urls=http://127.0.0.1:1 --data-dir=/d --listen-client-urls=http://127.0.0.1:1 \
             --listen-peer-urls=http://127.0.0.1:2 --unsafe-no-fsync=true",
            "-data-dir /d -wal-dir /w --listen-client-urls http://0.0.0.0:1 --advertise-client-urls http://0.0.0.0:1 \
             --initial-cluster default=http://localhost:2 --initial-advertise-peer-urls http://localhost:2 \
             --listen-peer-urls http://localhost:2",
        ] {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let flags = Flags::parse(&arguments, Syntax::Go, kind).unwrap();
            assert!(flags.list("listen-client-urls").unwrap()[0].ends_with(":1"), "{line}");
        }
        assert!(help().lines().any(|line| line == "  --unsafe-no-fsync"));
    }
}
