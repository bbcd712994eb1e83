//! Semantic versions.

use super::{Row, fail, no_such_overload};
use crate::{
    cost::Cost,
    function::EvalResult,
    value::{Opaque, Val},
};
use std::{any::Any, cmp::Ordering};

const ONE: Cost = Cost::Fixed(1);
const PARSE: Cost = Cost::Scan(1.0);

pub(super) const FUNCTIONS: &[Row] = &[
    ("semver(string): kubernetes.Semver", PARSE, |_, args| version(args)),
    ("semver(string, bool): kubernetes.Semver", PARSE, |_, args| version(args)),
    ("isSemver(string): bool", PARSE, |_, args| Ok(Val::Bool(parsed(args).is_ok()))),
    ("isSemver(string, bool): bool", PARSE, |_, args| Ok(Val::Bool(parsed(args).is_ok()))),
    ("kubernetes.Semver.isGreaterThan(kubernetes.Semver): bool", ONE, |_, args| {
        compared(args, |order| Val::Bool(order == Ordering::Greater))
    }),
    ("kubernetes.Semver.isLessThan(kubernetes.Semver): bool", ONE, |_, args| {
        compared(args, |order| Val::Bool(order == Ordering::Less))
    }),
    ("kubernetes.Semver.compareTo(kubernetes.Semver): int", ONE, |_, args| {
        compared(args, |order| Val::Int(order as i64))
    }),
    ("kubernetes.Semver.major(): int", ONE, |_, args| number(args, 0)),
    ("kubernetes.Semver.minor(): int", ONE, |_, args| number(args, 1)),
    ("kubernetes.Semver.patch(): int", ONE, |_, args| number(args, 2)),
];

/// A version: three numbers and a prerelease.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    numbers: [u64; 3],
    prerelease: Vec<Identifier>,
}

/// An identifier of a prerelease: numbers sort before words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Version {
    fn parse(text: &str) -> Result<Version, String> {
        if text.is_empty() {
            return Err("Version string empty".into());
        }
        let (rest, build) = match text.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (text, None),
        };
        let (core, prerelease) = match rest.split_once('-') {
            Some((core, prerelease)) => (core, Some(prerelease)),
            None => (rest, None),
        };
        let parts: Vec<&str> = core.split('.').collect();
        let [major, minor, patch] = parts[..] else {
            return Err("No Major.Minor.Patch elements found".into());
        };
        let mut numbers = [0; 3];
        for (slot, part) in numbers.iter_mut().zip([major, minor, patch]) {
            *slot = numeric(part)?;
        }
        let mut identifiers = Vec::new();
        for part in prerelease.iter().flat_map(|prerelease| prerelease.split('.')) {
            identifiers.push(match part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty() {
                true => Identifier::Number(numeric(part)?),
                false => Identifier::Word(word(part)?.into()),
            });
        }
        for part in build.iter().flat_map(|build| build.split('.')) {
            word(part)?;
        }
        Ok(Version { numbers, prerelease: identifiers })
    }

    /// Parses a tolerant version: `v1.2`, `01.2.3`.
    fn parse_tolerant(text: &str) -> Result<Version, String> {
        let text = text.trim();
        let text = text.strip_prefix('v').unwrap_or(text);
        let end = text.find(['-', '+']).unwrap_or(text.len());
        let (core, rest) = (text.get(..end).unwrap_or_default(), text.get(end..).unwrap_or_default());
        let mut parts: Vec<String> = core
            .split('.')
            .map(|part| match part.trim_start_matches('0') {
                "" if !part.is_empty() => "0".into(),
                other => other.to_string(),
            })
            .collect();
        if parts.len() < 3 && !rest.is_empty() {
            return Err("short version cannot contain PreRelease/Build meta data".into());
        }
        while parts.len() < 3 {
            parts.push("0".into());
        }
        Version::parse(&format!("{}{rest}", parts.join(".")))
    }

    fn cmp(&self, other: &Version) -> Ordering {
        let release = || match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.prerelease.cmp(&other.prerelease),
        };
        self.numbers.cmp(&other.numbers).then_with(release)
    }
}

fn numeric(part: &str) -> Result<u64, String> {
    if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in number {part:?}"));
    }
    if part.len() > 1 && part.starts_with('0') {
        return Err(format!("Numeric PreRelease version must not contain leading zeroes {part:?}"));
    }
    part.parse().map_err(|_| format!("number {part:?} is out of range"))
}

fn word(part: &str) -> Result<&str, String> {
    match !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        true => Ok(part),
        false => Err(format!("Invalid character(s) found in {part:?}")),
    }
}

impl Opaque for Version {
    fn type_name(&self) -> &str {
        "kubernetes.Semver"
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref::<Version>().is_some_and(|other| self.cmp(other) == Ordering::Equal)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn parsed(args: &[Val<'_>]) -> Result<Version, String> {
    match args {
        [Val::String(text)] | [Val::String(text), Val::Bool(false)] => Version::parse(text),
        [Val::String(text), Val::Bool(true)] => Version::parse_tolerant(text),
        _ => Err("no such overload".into()),
    }
}

fn version<'v>(args: &[Val<'v>]) -> EvalResult<'v> {
    parsed(args).map_or_else(fail, |version| Ok(Val::opaque(version)))
}

fn compared<'v>(args: &[Val<'v>], result: fn(Ordering) -> Val<'static>) -> EvalResult<'v> {
    let versions =
        (args.first().and_then(Val::downcast::<Version>), args.get(1).and_then(Val::downcast::<Version>));
    match versions {
        (Some(a), Some(b)) => Ok(result(a.cmp(b))),
        _ => no_such_overload(),
    }
}

fn number<'v>(args: &[Val<'v>], at: usize) -> EvalResult<'v> {
    let number = args.first().and_then(Val::downcast::<Version>).and_then(|version| version.numbers.get(at));
    match number.and_then(|number| i64::try_from(*number).ok()) {
        Some(number) => Ok(Val::Int(number)),
        None => no_such_overload(),
    }
}
