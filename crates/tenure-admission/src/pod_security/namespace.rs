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

impl PolicyLevel {
    /// Whether two levels ask for the same: versions of `privileged` do not differ.
    fn is_equivalent(&self, other: &PolicyLevel) -> bool {
        self.level == other.level && (self.version == other.version || self.level == Level::Privileged)
    }
}

/// What a namespace asks for: pods beyond `enforce` are refused, those beyond `audit` and `warn` are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Reads the labels of a namespace; what they do not set is as in `defaults`. A level to enforce that cannot be read is
    /// the strictest, and one to report is absent; the errors are returned too.
    pub fn of_labels(labels: Option<&Value>, defaults: Policy) -> (Policy, Vec<LabelError>) {
        let mut errors = Vec::new();
        let label = |mode: &str, suffix: &str| -> Option<(String, String)> {
            let key = format!("{LABEL_PREFIX}{mode}{suffix}");
            let value = labels?.get(&key)?.as_str()?.to_string();
            Some((key, value))
        };
        let mut read = |mode: &str, unreadable: Level| -> (Option<Level>, Option<Version>) {
            let level = label(mode, "").map(|(label, value)| {
                Level::of_name(&value).unwrap_or_else(|| {
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
        let level_of = |(level, version): (Option<Level>, Option<Version>), default: PolicyLevel| {
            PolicyLevel { level: level.unwrap_or(default.level), version: version.unwrap_or(default.version) }
        };
        let enforce = level_of(read("enforce", Level::Restricted), defaults.enforce);
        let audit = level_of(read("audit", Level::Privileged), defaults.audit);
        let (warn_level, warn_version) = read("warn", Level::Privileged);
        let is_enforced = label("enforce", "").is_some_and(|(_, value)| enforce.level.name() == value);
        // A namespace that enforces a level also warns of it, unless it says otherwise.
        let warn = match warn_level {
            None if is_enforced && enforce.level > defaults.warn.level => {
                PolicyLevel { level: enforce.level, version: warn_version.unwrap_or(enforce.version) }
            }
            level => level_of((level, warn_version), defaults.warn),
        };
        (Policy { enforce, audit, warn }, errors)
    }

    /// Returns each mode with its name.
    fn modes(&self) -> [(&'static str, PolicyLevel); 3] {
        [("enforce", self.enforce), ("audit", self.audit), ("warn", self.warn)]
    }

    /// Whether everything is allowed and nothing reported.
    pub fn is_privileged(&self) -> bool {
        self.modes().iter().all(|(_, level)| level.level == Level::Privileged)
    }

    /// Returns the policy in the labels of an exempt namespace, which has no effect, such as `enforce=baseline:latest`; `None` if they
    /// ask for nothing that the defaults do not.
    pub fn ignored(&self, labels: Option<&Value>, defaults: &Policy) -> Option<String> {
        let mut pairs = self.modes().into_iter().zip(defaults.modes());
        if self.is_privileged() || pairs.all(|((_, own), (_, default))| own.is_equivalent(&default)) {
            return None;
        }
        let has = |key: String| labels.is_some_and(|labels| labels.get(&key).is_some());
        let asked = self.modes().into_iter().filter(|(mode, level)| {
            level.level != Level::Privileged
                && (has(format!("{LABEL_PREFIX}{mode}")) || has(format!("{LABEL_PREFIX}{mode}-version")))
        });
        Some(asked.map(|(mode, level)| format!("{mode}={level}")).collect::<Vec<_>>().join(", "))
    }
}

pub(super) fn parse_version(text: &str) -> Option<Version> {
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
