//! What the server counts, in the text form of Prometheus: requests with their time, conflicts, writes that
//! changed nothing, and commits of the store.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tenure_value::Text;

/// Upper bounds of the buckets of request times, in seconds.
const BUCKETS: [f64; 12] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1.0, 5.0];

/// The counters of one server.
#[derive(Default)]
pub struct Metrics {
    requests: Mutex<BTreeMap<Request, Times>>,
    /// Applies refused because another manager holds a field.
    pub conflicts: AtomicU64,
    /// Writes that changed nothing and so wrote nothing.
    pub noops: AtomicU64,
    /// Transactions that the store made durable.
    pub commits: AtomicU64,
    /// Writes tried again because another came first.
    pub retries: AtomicU64,
    /// Watches under way.
    pub watches: AtomicU64,
    /// Events sent to watchers.
    pub events: AtomicU64,
}

/// What requests are told apart by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// The verb, such as `patch` or `list`.
    pub verb: &'static str,
    /// The group of the resource.
    pub group: Text,
    /// The resource, or empty for what is none.
    pub resource: Text,
    /// The HTTP code of the answer.
    pub code: u16,
}

#[derive(Default)]
struct Times {
    count: u64,
    seconds: f64,
    buckets: [u64; BUCKETS.len()],
}

impl Metrics {
    /// Counts a request.
    pub fn request(&self, request: Request, time: Duration) {
        let seconds = time.as_secs_f64();
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let times = requests.entry(request).or_default();
        times.count += 1;
        times.seconds += seconds;
        if let Some(bucket) = BUCKETS.iter().position(|bound| seconds <= *bound) {
            times.buckets[bucket] += 1;
        }
    }

    /// Returns the text that Prometheus reads.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let counters = [
            (
                "tenure_apply_conflicts_total",
                "counter",
                "Applies refused because another manager holds a field.",
                &self.conflicts,
            ),
            (
                "tenure_noop_writes_total",
                "counter",
                "Writes that changed nothing and so wrote nothing.",
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
                "Writes tried again because another came first.",
                &self.retries,
            ),
            ("tenure_watches", "gauge", "Watches under way.", &self.watches),
            ("tenure_watch_events_total", "counter", "Events sent to watchers.", &self.events),
        ];
        for (name, kind, help, counter) in counters {
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {}",
                counter.load(Relaxed)
            );
        }
        let name = "tenure_request_duration_seconds";
        let _ = writeln!(
            text,
            "# HELP {name} Requests with their time, by verb, resource and code.\n# TYPE {name} histogram"
        );
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        for (Request { verb, group, resource, code }, times) in requests.iter() {
            let labels = format!("verb=\"{verb}\",group=\"{group}\",resource=\"{resource}\",code=\"{code}\"");
            let mut below = 0;
            for (bound, count) in BUCKETS.iter().zip(times.buckets) {
                below += count;
                let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {below}");
            }
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", times.count);
            let _ = writeln!(
                text,
                "{name}_sum{{{labels}}} {}\n{name}_count{{{labels}}} {}",
                times.seconds, times.count
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_add_up() {
        let metrics = Metrics::default();
        let request =
            || Request { verb: "get", group: "apps".into(), resource: "deployments".into(), code: 200 };
        for micros in [50, 300, 9_000_000] {
            metrics.request(request(), Duration::from_micros(micros));
        }
        let text = metrics.text();
        let labels = "verb=\"get\",group=\"apps\",resource=\"deployments\",code=\"200\"";
        for (bound, count) in [("0.0001", 1), ("0.0005", 2), ("5", 2), ("+Inf", 3)] {
            let line = format!("tenure_request_duration_seconds_bucket{{{labels},le=\"{bound}\"}} {count}");
            assert!(text.contains(&line), "{line}\n{text}");
        }
        assert!(text.contains(&format!("tenure_request_duration_seconds_count{{{labels}}} 3")));
    }
}
