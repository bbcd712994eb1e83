//! Pod Security: the levels that the labels of a namespace request, and what in a pod breaks them.
//!
//! The checks are a table by level and version of the standard; each looks at the whole pod and returns one violation.

mod checks;
mod config;
mod metrics;
mod namespace;

pub use checks::{Violation, violations};
pub use config::PodSecurityConfig;
pub use metrics::{Mode, PodSecurityMetrics, RequestLabels};
pub use namespace::{LABEL_PREFIX, LabelError, Policy, PolicyLevel};

use std::fmt;

/// How much a pod may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Everything.
    Privileged,
    /// What is not known to escalate privileges.
    Baseline,
    /// What follows hardening practice.
    Restricted,
}

impl Level {
    /// Returns the level of a name in labels.
    pub fn of_name(name: &str) -> Option<Level> {
        [Level::Privileged, Level::Baseline, Level::Restricted].into_iter().find(|level| level.name() == name)
    }

    /// The name of the level in labels.
    pub fn name(self) -> &'static str {
        match self {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        }
    }
}

/// The version of the standard: a minor version of Kubernetes, or the newest that this server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The newest.
    Latest,
    /// `v1.N`.
    Minor(u32),
}

impl Version {
    /// The newest minor version whose checks are known.
    const NEWEST: u32 = 36;

    fn minor(self) -> u32 {
        match self {
            Version::Latest => Version::NEWEST,
            Version::Minor(minor) => minor.min(Version::NEWEST),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::Latest => write!(out, "latest"),
            Version::Minor(minor) => write!(out, "v1.{minor}"),
        }
    }
}

/// Joins violations as errors and warnings show them: `reason (detail), reason (detail)`.
pub fn describe(violations: &[Violation]) -> String {
    let each = violations.iter().map(|violation| format!("{} ({})", violation.reason, violation.detail));
    each.collect::<Vec<_>>().join(", ")
}
