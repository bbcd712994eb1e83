//! Metrics in the text format of Prometheus: requests with their duration, conflicts, no-op writes and commits.
//! Only resources that are served become labels, label values are escaped, and the number of series is bounded: clients
//! cannot grow or break this by requesting paths that do not exist.

use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    fmt::{self, Write},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};
use tenure_value::Text;

/// Upper bounds of the buckets of request durations, in seconds.
const BUCKETS: [f64; 12] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0];
/// The most series of request durations. Requests beyond them are counted without their resource.
const MAX_SERIES: usize = 10_000;

/// The metrics of one server.
#[derive(Default)]
pub struct Metrics {
    requests: Mutex<BTreeMap<Request, Histogram>>,
    /// Applies refused because another manager owns a field.
    pub conflicts: AtomicU64,
    /// Writes that changed nothing and were not committed.
    pub noops: AtomicU64,
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
}

/// The labels of a request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
        let name = "tenure_request_duration_seconds";
        writeln!(text, "# HELP {name} Duration of requests by verb, resource and code.")?;
        writeln!(text, "# TYPE {name} histogram")?;
        for (Request { verb, group, resource, code }, histogram) in self.requests.lock().iter() {
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
