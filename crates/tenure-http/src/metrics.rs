//! Metrics in the text format of Prometheus: requests with their duration, conflicts, no-op writes and commits.
//! Only resources that are served become labels, label values are escaped, and the number of series is bounded: clients
//! cannot grow or break this by requesting paths that do not exist.

use crate::health::Check;
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashMap},
    fmt::{self, Write},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};
use tenure_value::Text;

/// Upper bounds of the buckets of request durations, in seconds.
const BUCKETS: [f64; 12] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0];
/// The most series of request durations. Requests beyond them are counted without their resource.
const MAX_SERIES: usize = 10_000;

/// The metrics of one server.
#[derive(Default)]
pub struct Metrics {
    requests: Mutex<HashMap<Request, Histogram, RandomState>>,
    /// Applies refused because another manager owns a field.
    pub conflicts: AtomicU64,
    /// Writes that changed nothing and were not committed.
    pub noops: AtomicU64,
    /// Those of them that were known to change nothing, because the same apply had changed nothing before.
    pub repeats: AtomicU64,
    /// Transactions that the store made durable.
    pub commits: AtomicU64,
    /// Writes retried because of a concurrent write.
    pub retries: AtomicU64,
    /// Open watches.
    pub watches: AtomicU64,
    /// Events sent to watchers.
    pub events: AtomicU64,
    /// Fields that managers fight over now.
    pub fights: AtomicU64,
    /// Fields that a manager took from another by changing their values.
    pub takeovers: AtomicU64,
    /// The health checks that were requested: name and endpoint, and how often they succeeded and failed.
    checks: Mutex<BTreeMap<(&'static str, &'static str), [u64; 2]>>,
    /// Certificates that were issued for requests with a duration, by signer, and how many of them last as long.
    certificates: Mutex<BTreeMap<String, [u64; 2]>>,
    start: Start,
}

/// When the server started.
struct Start(Instant);

impl Default for Start {
    fn default() -> Start {
        Start(Instant::now())
    }
}

/// The labels of a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request {
    /// The verb, such as `patch` or `list`.
    pub verb: &'static str,
    /// The group of the resource.
    pub group: Text,
    /// The resource; empty if the request is not for a served resource.
    pub resource: Text,
    /// The HTTP status code of the response.
    pub code: u16,
}

#[derive(Default)]
struct Histogram {
    count: u64,
    seconds: f64,
    buckets: [u64; BUCKETS.len()],
}

impl Histogram {
    fn observe(&mut self, seconds: f64) {
        self.count += 1;
        self.seconds += seconds;
        if let Some(bucket) = BUCKETS.iter().position(|bound| seconds <= *bound) {
            self.buckets[bucket] += 1;
        }
    }
}

impl Metrics {
    /// Counts a request. The caller names a resource only if it is served.
    pub fn request(&self, mut request: Request, duration: Duration) {
        let mut requests = self.requests.lock();
        if requests.len() >= MAX_SERIES && !requests.contains_key(&request) {
            (request.group, request.resource) = (Text::default(), Text::default());
        }
        requests.entry(request).or_default().observe(duration.as_secs_f64());
    }

    /// Counts a certificate that was issued for a request with a duration.
    pub fn certificate(&self, signer: &str, is_honored: bool) {
        let mut certificates = self.certificates.lock();
        if certificates.len() < MAX_SERIES || certificates.contains_key(signer) {
            let [issued, honored] = certificates.entry(signer.to_owned()).or_default();
            *issued += 1;
            *honored += u64::from(is_honored);
        }
    }

    /// Returns how long the server has run.
    pub fn up(&self) -> Duration {
        self.start.0.elapsed()
    }

    /// Counts the health checks of a request for an endpoint, such as `readyz`.
    pub fn health_checks(&self, endpoint: &'static str, checks: &[Check]) {
        let mut counted = self.checks.lock();
        for check in checks {
            counted.entry((check.name, endpoint)).or_default()[usize::from(check.fault.is_some())] += 1;
        }
    }

    /// Returns the state of the server in the text format, as `/metrics/slis` has it: how each check of each endpoint ends now, and
    /// how often it succeeded and failed when it was requested.
    pub fn health_text(&self, checks: &[(&'static str, Vec<Check>)]) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_health(&mut text, checks);
        text
    }

    fn write_health(&self, text: &mut String, checks: &[(&'static str, Vec<Check>)]) -> fmt::Result {
        let name = "kubernetes_healthcheck";
        writeln!(
            text,
            "# HELP {name} Whether a health check succeeds: 1, or 0 if it fails.\n# TYPE {name} gauge"
        )?;
        for (endpoint, checks) in checks {
            for check in checks {
                let value = u8::from(check.fault.is_none());
                writeln!(text, "{name}{{name=\"{}\",type=\"{endpoint}\"}} {value}", check.name)?;
            }
        }
        let name = "kubernetes_healthchecks_total";
        writeln!(text, "# HELP {name} Requested health checks by their results.\n# TYPE {name} counter")?;
        for ((check, endpoint), counts) in self.checks.lock().iter() {
            for (status, count) in
                ["success", "error"].into_iter().zip(counts).filter(|(_, count)| **count > 0)
            {
                let labels = format!("name=\"{check}\",status=\"{status}\",type=\"{endpoint}\"");
                writeln!(text, "{name}{{{labels}}} {count}")?;
            }
        }
        Ok(())
    }

    /// Resets the counters, as `DELETE /metrics` requests. Gauges, such as the open watches, stay.
    pub fn reset(&self) {
        self.requests.lock().clear();
        self.certificates.lock().clear();
        let counters = [
            &self.conflicts,
            &self.noops,
            &self.repeats,
            &self.commits,
            &self.retries,
            &self.events,
            &self.takeovers,
        ];
        counters.into_iter().for_each(|counter| counter.store(0, Relaxed));
    }

    /// Resets the counters of the health checks.
    pub fn reset_health(&self) {
        self.checks.lock().clear();
    }

    /// Returns the metrics in the text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        let metrics = [
            (
                "tenure_apply_conflicts_total",
                "counter",
                "Applies refused because another manager owns a field.",
                &self.conflicts,
            ),
            (
                "tenure_noop_writes_total",
                "counter",
                "Writes that changed nothing and were not committed.",
                &self.noops,
            ),
            (
                "tenure_repeated_applies_total",
                "counter",
                "Applies that were not merged, because the same apply had changed nothing in the same state of the object.",
                &self.repeats,
            ),
            (
                "tenure_store_commits_total",
                "counter",
                "Transactions that the store made durable.",
                &self.commits,
            ),
            (
                "tenure_write_retries_total",
                "counter",
                "Writes retried because another write came first.",
                &self.retries,
            ),
            ("tenure_watches", "gauge", "Open watches.", &self.watches),
            ("tenure_watch_events_total", "counter", "Events sent to watchers.", &self.events),
            ("tenure_field_fights", "gauge", "Fields that managers fight over now.", &self.fights),
            (
                "tenure_field_takeovers_total",
                "counter",
                "Fields that a manager took from another by changing their values.",
                &self.takeovers,
            ),
        ];
        for (name, kind, help, value) in metrics {
            writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {}", value.load(Relaxed))?;
        }
        let certificates = [
            ("csr_requested_duration_total", "Certificates issued for requests with a duration, by signer."),
            ("csr_honored_duration_total", "Those of them that last as long as was requested."),
        ];
        for (at, (name, help)) in certificates.into_iter().enumerate() {
            let name = format!("apiserver_certificates_registry_{name}");
            writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter")?;
            for (signer, counts) in self.certificates.lock().iter().filter(|(_, counts)| counts[at] > 0) {
                writeln!(text, "{name}{{signerName=\"{}\"}} {}", escaped(signer), counts[at])?;
            }
        }
        let name = "tenure_request_duration_seconds";
        writeln!(text, "# HELP {name} Duration of requests by verb, resource and code.")?;
        writeln!(text, "# TYPE {name} histogram")?;
        let requests = self.requests.lock();
        let mut sorted: Vec<_> = requests.iter().collect();
        sorted.sort_unstable_by_key(|(request, _)| *request);
        for (Request { verb, group, resource, code }, histogram) in sorted {
            let (group, resource) = (escaped(group), escaped(resource));
            let labels = format!("verb=\"{verb}\",group=\"{group}\",resource=\"{resource}\",code=\"{code}\"");
            let mut below = 0;
            for (bound, count) in BUCKETS.iter().zip(histogram.buckets) {
                below += count;
                writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {below}")?;
            }
            writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", histogram.count)?;
            writeln!(text, "{name}_sum{{{labels}}} {}", histogram.seconds)?;
            writeln!(text, "{name}_count{{{labels}}} {}", histogram.count)?;
        }
        Ok(())
    }
}

/// Escapes a label value.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(resource: &str) -> Request {
        Request { verb: "get", group: "apps".into(), resource: resource.into(), code: 200 }
    }

    #[test]
    fn buckets_are_cumulative() {
        let metrics = Metrics::default();
        for micros in [50, 300, 9_000_000] {
            metrics.request(get("deployments"), Duration::from_micros(micros));
        }
        let text = metrics.text();
        let labels = "verb=\"get\",group=\"apps\",resource=\"deployments\",code=\"200\"";
        for (bound, count) in [("0.0001", 1), ("0.0005", 2), ("5", 2), ("+Inf", 3)] {
            let line = format!("tenure_request_duration_seconds_bucket{{{labels},le=\"{bound}\"}} {count}");
            assert!(text.contains(&line), "{line}\n{text}");
        }
        assert!(text.contains(&format!("tenure_request_duration_seconds_count{{{labels}}} 3")));
    }

    #[test]
    fn certificates_are_counted_by_signer() {
        let metrics = Metrics::default();
        for (signer, is_honored) in [("kubernetes.io/a", true), ("kubernetes.io/a", false), ("other", false)]
        {
            metrics.certificate(signer, is_honored);
        }
        let text = metrics.text();
        let lines: Vec<&str> =
            text.lines().filter(|line| line.starts_with("apiserver_certificates")).collect();
        assert_eq!(
            lines,
            [
                r#"apiserver_certificates_registry_csr_requested_duration_total{signerName="kubernetes.io/a"} 2"#,
                r#"apiserver_certificates_registry_csr_requested_duration_total{signerName="other"} 1"#,
                r#"apiserver_certificates_registry_csr_honored_duration_total{signerName="kubernetes.io/a"} 1"#,
            ]
        );
    }

    #[test]
    fn health_checks_are_counted_by_their_results() {
        let metrics = Metrics::default();
        let check = |fault: Option<&str>| vec![Check { name: "store", fault: fault.map(String::from) }];
        for fault in [None, Some("full"), None] {
            metrics.health_checks("readyz", &check(fault));
        }
        let text = metrics.health_text(&[("livez", check(None)), ("readyz", check(Some("full")))]);
        for line in [
            "kubernetes_healthcheck{name=\"store\",type=\"livez\"} 1",
            "kubernetes_healthcheck{name=\"store\",type=\"readyz\"} 0",
            "kubernetes_healthchecks_total{name=\"store\",status=\"success\",type=\"readyz\"} 2",
            "kubernetes_healthchecks_total{name=\"store\",status=\"error\",type=\"readyz\"} 1",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        metrics.reset_health();
        assert!(!metrics.health_text(&[]).contains("success"));
    }

    #[test]
    fn a_reset_begins_to_count_anew() {
        let metrics = Metrics::default();
        metrics.request(get("deployments"), Duration::ZERO);
        metrics.commits.store(3, Relaxed);
        metrics.watches.store(2, Relaxed);
        metrics.reset();
        let text = metrics.text();
        assert!(
            text.contains("tenure_store_commits_total 0\n") && text.contains("tenure_watches 2\n"),
            "{text}"
        );
        assert!(!text.contains("deployments"), "{text}");
    }

    #[test]
    fn labels_are_escaped() {
        let metrics = Metrics::default();
        metrics.request(get("a\"b\\c\nd"), Duration::ZERO);
        assert!(metrics.text().contains(r#"resource="a\"b\\c\nd""#), "{}", metrics.text());
    }

    #[test]
    fn the_number_of_series_is_bounded() {
        let metrics = Metrics::default();
        for at in 0..2 * MAX_SERIES {
            metrics.request(get(&at.to_string()), Duration::ZERO);
        }
        let requests = metrics.requests.lock();
        assert_eq!(requests.len(), MAX_SERIES + 1);
        assert_eq!(requests.values().map(|histogram| histogram.count).sum::<u64>(), 2 * MAX_SERIES as u64);
    }
}
