//! The Pod Security labels of a namespace.

use super::{Level, Version};
use std::fmt;
use tenure_value::Value;

/// The labels of Pod Security start with this.
pub const LABEL_PREFIX: &str = "pod-security.kubernetes.io/";

/// A level at a version of the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyLevel {
    /// The level.
    pub level: Level,
    /// The version.
    pub version: Version,
}

impl fmt::Display for PolicyLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.level.name(), self.version)
    }
}

/// What a namespace asks for: pods beyond `enforce` are refused, those beyond `audit` and `warn` are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Refuse.
    pub enforce: PolicyLevel,
    /// Annotate the audit event.
    pub audit: PolicyLevel,
    /// Warn the client.
    pub warn: PolicyLevel,
}

/// A label that is not a level or a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelError {
    /// The key of the label.
    pub label: String,
    /// Its value.
    pub value: String,
    /// What would be right.
    pub message: &'static str,
}

impl Policy {
    /// Reads the labels of a namespace. A level to enforce that cannot be read is the strictest, one to report is none;
    /// the errors are returned too.
    pub fn of_labels(labels: Option<&Value>) -> (Policy, Vec<LabelError>) {
        let mut errors = Vec::new();
        let label = |mode: &str, suffix: &str| -> Option<(String, String)> {
            let key = format!("{LABEL_PREFIX}{mode}{suffix}");
            let value = labels?.get(&key)?.as_str()?.to_string();
            Some((key, value))
        };
        let mut read = |mode: &str, unreadable: Level| -> (Option<Level>, Option<Version>) {
            let level = label(mode, "").map(|(label, value)| {
                let levels = [Level::Privileged, Level::Baseline, Level::Restricted];
                levels.into_iter().find(|level| level.name() == value).unwrap_or_else(|| {
                    let message = "must be one of privileged, baseline, restricted";
                    errors.push(LabelError { label, value, message });
                    unreadable
                })
            });
            let version = label(mode, "-version").map(|(label, value)| {
                parse_version(&value).unwrap_or_else(|| {
                    errors.push(LabelError { label, value, message: "must be \"latest\" or \"v1.x\"" });
                    Version::Latest
                })
            });
            (level, version)
        };
        let of = |(level, version): (Option<Level>, Option<Version>)| PolicyLevel {
            level: level.unwrap_or(Level::Privileged),
            version: version.unwrap_or(Version::Latest),
        };
        let enforce = of(read("enforce", Level::Restricted));
        let audit = of(read("audit", Level::Privileged));
        let (warn_level, warn_version) = read("warn", Level::Privileged);
        let is_enforced = label("enforce", "").is_some_and(|(_, value)| enforce.level.name() == value);
        // A namespace that enforces a level also warns of it, unless it says otherwise.
        let warn = match warn_level {
            None if is_enforced && enforce.level > Level::Privileged => {
                PolicyLevel { level: enforce.level, version: warn_version.unwrap_or(enforce.version) }
            }
            level => of((level, warn_version)),
        };
        (Policy { enforce, audit, warn }, errors)
    }
}

fn parse_version(text: &str) -> Option<Version> {
    if text == "latest" {
        return Some(Version::Latest);
    }
    let digits = text.strip_prefix("v1.")?;
    let is_number = digits == "0" || !digits.starts_with('0');
    digits
        .parse()
        .ok()
        .filter(|_| is_number && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .map(Version::Minor)
}
