//! The flags of kube-apiserver: those that Tenure honours, those that cannot matter to it, and those that need something it
//! does not have. A flag that is neither in these tables nor shared with `tenure serve` is unknown.

use super::{
    flags::{FlagError, Flags, Kind, Syntax},
    shared_flags::SharedFlags,
};
use Kind::{Switch, Value};
use std::collections::BTreeMap;

/// The flags that Tenure honours, with their help; those that `tenure serve` shares are here only if their defaults differ.
const HONOURED: &[(&str, Kind, &str)] = &[
    ("admission-control", Value, "Admission plugins to run instead of the default ones (deprecated)."),
    ("admission-control-config-file", Value, "An AdmissionConfiguration: the configuration of PodSecurity."),
    ("advertise-address", Value, "The address of the endpoints of the service kubernetes."),
    (
        "authorization-mode",
        Value,
        "A list of Node, RBAC, ABAC, Webhook, AlwaysAllow and AlwaysDeny. [default=AlwaysAllow]",
    ),
    ("bind-address", Value, "The address to listen on. [default=0.0.0.0]"),
    (
        "cert-dir",
        Value,
        "The directory of apiserver.crt and apiserver.key, which are created if they are missing.",
    ),
    (
        "controllers",
        Value,
        "Controllers to run: *, or a list of names; -name turns one off. Tenure's own flag.",
    ),
    ("disable-admission-plugins", Value, "Default admission plugins that do not run."),
    ("enable-admission-plugins", Value, "Admission plugins that run besides the default ones."),
    ("enable-garbage-collector", Switch, "Whether dependents of deleted owners are deleted. [default=true]"),
    (
        "feature-gates",
        Value,
        "Feature gates as NAME=true or NAME=false. CBORServingAndStorage serves CBOR; others have no effect.",
    ),
    ("help", Switch, "Print this help."),
    (
        "min-request-timeout",
        Value,
        "How many seconds a watch that sets no timeout lasts at least; 0 is no limit. [default=1800]",
    ),
    ("secure-port", Value, "The port to listen on, with TLS. [default=6443]"),
    ("service-cluster-ip-range", Value, "The addresses of services. [default=10.0.0.0/16]"),
    ("tls-cert-file", Value, "The certificate to present, instead of that of --cert-dir."),
    ("tls-private-key-file", Value, "The key of --tls-cert-file."),
    ("v", Value, "The number of the log level verbosity; from 4 on requests are logged."),
    ("version", Switch, "Print the version."),
];

/// Switches that cannot matter: they tune caches, workers, logs or connections to parts that Tenure does not have.
const IGNORED_SWITCHES: &str = "aggregator-reject-forwarding-redirect allow-privileged audit-log-batch-throttle-enable \
    audit-log-truncate-enabled audit-webhook-batch-throttle-enable audit-webhook-truncate-enabled \
    contention-profiling disable-http2-serving emulation-forward-compatible \
    enable-logs-handler enable-priority-and-fairness \
    encryption-provider-config-automatic-reload log-json-split-stream log-text-split-stream permit-address-sharing \
    permit-port-sharing profiling runtime-config-emulation-forward-compatible service-account-extend-token-expiration \
    service-account-lookup shutdown-send-retry-after watch-cache";

/// Flags with a value that cannot matter, for the same reason.
const IGNORED_VALUES: &str = "allow-metric-labels allow-metric-labels-manifest apiserver-count \
    audit-log-batch-buffer-size audit-log-batch-max-size audit-log-batch-max-wait audit-log-batch-throttle-burst \
    audit-log-batch-throttle-qps \
    audit-log-truncate-max-batch-size audit-log-truncate-max-event-size audit-log-version \
    audit-webhook-batch-initial-backoff audit-webhook-batch-throttle-burst audit-webhook-batch-throttle-qps \
    audit-webhook-initial-backoff audit-webhook-mode audit-webhook-truncate-max-batch-size \
    audit-webhook-truncate-max-event-size audit-webhook-version coordinated-leadership-lease-duration \
    coordinated-leadership-renew-deadline coordinated-leadership-retry-period cors-allowed-origins debug-socket-path \
    default-not-ready-toleration-seconds default-unreachable-toleration-seconds default-watch-cache-size \
    delete-collection-workers disabled-metrics egress-selector-config-file emulated-version encryption-provider-config \
    endpoint-reconciler-type etcd-cafile etcd-certfile etcd-compaction-interval etcd-count-metric-poll-period \
    etcd-db-metric-poll-interval etcd-healthcheck-timeout etcd-keyfile etcd-prefix etcd-readycheck-timeout etcd-servers \
    etcd-servers-overrides event-ttl external-hostname goaway-chance http2-max-streams-per-connection \
    kubelet-certificate-authority kubelet-client-certificate kubelet-client-key kubelet-port \
    kubelet-preferred-address-types kubelet-read-only-port kubelet-timeout kubernetes-service-node-port \
    lease-reuse-duration-seconds livez-grace-period log-flush-frequency log-json-info-buffer-size \
    log-text-info-buffer-size logging-format master-count max-connection-bytes-per-sec max-mutating-requests-inflight \
    max-requests-inflight min-compatibility-version peer-advertise-ip peer-advertise-port \
    peer-ca-file request-timeout runtime-config service-node-port-range \
    show-hidden-metrics-for-version shutdown-delay-duration shutdown-watch-termination-grace-period storage-backend \
    storage-initialization-timeout storage-media-type strict-transport-security-directives target-ram-mb \
    tls-cipher-suites tls-curve-preferences tls-min-version tls-sni-cert-key tracing-config-file vmodule \
    watch-cache-sizes";

/// Flags that would change what users may do, and need something that Tenure does not have.
const UNSUPPORTED: &[(&str, &str)] =
    &[("service-account-signing-endpoint", "external signers of service account tokens")];

/// Reads a command line of kube-apiserver.
pub fn parse(arguments: &[String]) -> Result<Flags, FlagError> {
    let honoured = honoured();
    let flags = Flags::parse(arguments, Syntax::Posix, |name| kind(name, &honoured))?;
    for name in flags.names() {
        // An empty value is the default.
        let given = flags.all(name).iter().any(|value| !value.is_empty());
        if let Some((_, reason)) = UNSUPPORTED.iter().find(|(flag, _)| *flag == name && given) {
            return Err(FlagError::Unsupported { flag: name.to_owned(), reason });
        }
    }
    Ok(flags)
}

/// Returns the flags that Tenure honours by their names.
fn honoured() -> BTreeMap<String, (Kind, String)> {
    let own = HONOURED.iter().map(|(name, kind, help)| ((*name).to_owned(), *kind, (*help).to_owned()));
    SharedFlags::all().into_iter().chain(own).map(|(name, kind, help)| (name, (kind, help))).collect()
}

fn kind(name: &str, honoured: &BTreeMap<String, (Kind, String)>) -> Option<Kind> {
    let name = if name == "h" { "help" } else { name };
    let listed = |list: &str| list.split_whitespace().any(|flag| flag == name);
    let unsupported = || UNSUPPORTED.iter().any(|(flag, _)| *flag == name);
    let honoured = honoured.get(name).map(|(kind, _)| *kind);
    honoured
        .or_else(|| listed(IGNORED_SWITCHES).then_some(Switch))
        .or_else(|| (listed(IGNORED_VALUES) || unsupported()).then_some(Value))
}

/// Returns the help.
pub fn help() -> String {
    let mut text = String::from(
        "Tenure in the place of kube-apiserver, with its data in memory. It behaves as Kubernetes does.\n\n\
         Usage:\n  kube-apiserver [flags]\n\nFlags:\n",
    );
    let row = |name: &str, kind: Kind, help: &str| {
        let dashes = if name == "v" { "  -v, --" } else { "      --" };
        let value = if kind == Value { " string" } else { "" };
        format!("{dashes}{name}{value}\n                {help}\n")
    };
    for (name, (kind, help)) in honoured() {
        text += &row(&name, kind, &help);
    }
    text += "\nAccepted without effect:\n\n";
    for (list, kind) in [(IGNORED_SWITCHES, Switch), (IGNORED_VALUES, Value)] {
        for name in list.split_whitespace() {
            text += row(name, kind, "").trim_end();
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn parse_line(line: &str) -> Result<Flags, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn no_flag_is_listed_twice() {
        let mut seen = BTreeSet::new();
        let ignored = IGNORED_SWITCHES.split_whitespace().chain(IGNORED_VALUES.split_whitespace());
        let (honoured, unsupported) = (honoured(), UNSUPPORTED.iter().map(|(name, _)| *name));
        for name in honoured.keys().map(String::as_str).chain(ignored).chain(unsupported) {
            assert!(seen.insert(name.to_owned()), "{name}");
        }
    }

    #[test]
    fn the_command_lines_of_test_frameworks_are_accepted() {
        for line in [
            "--allow-privileged=true --authorization-mode=RBAC --bind-address=127.0.0.1 --cert-dir=/c \
             --client-ca-file=/c/client-cert-auth-ca.crt --disable-admission-plugins=ServiceAccount \
             --etcd-servers=http://127.0.0.1:1 --secure-port=6443 --service-account-issuer=https://127.0.0.1:6443/ \
             --service-account-key-file=/c/sa-signer.crt --service-account-signing-key-file=/c/sa-signer.key \
             --service-cluster-ip-range=10.0.0.0/24",
            "--cert-dir /c --secure-port 6443 --etcd-servers http://0.0.0.0:1 --authorization-mode RBAC \
             --service-account-issuer https://localhost --service-account-signing-key-file /c/apiserver.key \
             --service-account-key-file /c/apiserver.key --service-account-issuer /c/apiserver.crt \
             --disable-admission-plugins ServiceAccount --client-ca-file /c/client.crt \
             --service-cluster-ip-range 10.0.0.0/24 --allow-privileged",
            "--etcd-prefix=/registry --allow-privileged=true --admission-control= --runtime-config=api/all=true \
             --feature-gates=A=true,B=false --max-requests-inflight=0 --enable-priority-and-fairness=false \
             --authorization-mode=Node,RBAC --tls-cert-file=/a --tls-private-key-file=/k --secure-port=6443 \
             --proxy-client-key-file=/k --proxy-client-cert-file=/a --audit-policy-file=/p --audit-log-path=/l --v=4",
            "--requestheader-client-ca-file=/r --requestheader-username-headers=X-Remote-User --vmodule=a=1 -v 2 \
             --endpoint-reconciler-type=none --audit-log-maxsize=100 --audit-log-maxage 1",
        ] {
            let flags = parse_line(line).unwrap();
            assert!(flags.names().count() > 5, "{line}");
        }
    }

    #[test]
    fn other_flags_are_errors() {
        for (line, error) in [
            ("--insecure-port=0", "unknown flag: --insecure-port"),
            ("--such-flag", "unknown flag: --such-flag"),
            (
                "--service-account-signing-endpoint=/a",
                "flag not supported by Tenure: --service-account-signing-endpoint: external signers of service account tokens",
            ),
        ] {
            assert_eq!(parse_line(line).unwrap_err(), error);
        }
        assert!(parse_line("--service-account-signing-endpoint=").is_ok());
    }

    #[test]
    fn the_help_lists_what_frameworks_look_for() {
        let help = help();
        assert!(help.contains("\n      --secure-port string\n") && help.contains("\n  -v, --v string\n"));
        assert!(!help.contains("--insecure-port"), "frameworks would pass it");
    }
}
