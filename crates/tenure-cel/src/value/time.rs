//! Timestamps and durations, with their CEL syntax.

use jiff::{civil, tz::TimeZone};
use std::fmt::Write;

const SECOND: i64 = 1_000_000_000;
/// The first second of the year 1 and the last of the year 9999, in Unix time.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// A timestamp between the years 1 and 9999, with nanosecond precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    seconds: i64,
    nanoseconds: u32,
}

/// A duration with nanosecond precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(i64);

impl Timestamp {
    /// Returns the timestamp of a Unix time.
    pub fn from_seconds(seconds: i64) -> Option<Timestamp> {
        SECONDS.contains(&seconds).then_some(Timestamp { seconds, nanoseconds: 0 })
    }

    /// Returns the Unix time in seconds.
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// Parses an RFC 3339 timestamp, such as `2020-01-31T12:00:00.5+01:00`.
    pub fn parse(text: &str) -> Option<Timestamp> {
        Timestamp::parse_with(text, false)
    }

    /// Parses a timestamp of a document, where the time zone may be missing.
    pub(crate) fn parse_document(text: &str) -> Option<Timestamp> {
        Timestamp::parse_with(text, true)
    }

    /// Parses a date.
    pub(crate) fn parse_date(text: &str) -> Option<Timestamp> {
        let (days, rest) = days(text)?;
        rest.is_empty().then(|| Timestamp::from_seconds(days * 86_400))?
    }

    fn parse_with(text: &str, zone_may_be_missing: bool) -> Option<Timestamp> {
        let (days, rest) = days(text)?;
        let rest = rest.strip_prefix(['T', 't'])?;
        let (hour, rest) = digits(rest, 2)?;
        let (minute, rest) = digits(rest.strip_prefix(':')?, 2)?;
        let (second, mut rest) = digits(rest.strip_prefix(':')?, 2)?;
        let mut nanoseconds = 0;
        if let Some(fraction) = rest.strip_prefix(['.', ',']) {
            let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
            let shown = fraction.get(..length.min(9)).filter(|shown| !shown.is_empty())?;
            nanoseconds = format!("{shown:0<9}").parse().ok()?;
            rest = fraction.get(length..)?;
        }
        let offset = match rest {
            "Z" | "z" => 0,
            "" if zone_may_be_missing => 0,
            _ => {
                let sign = if rest.starts_with('-') { -1 } else { 1 };
                let (hours, rest) = digits(rest.strip_prefix(['+', '-'])?, 2)?;
                let (minutes, rest) = digits(rest.strip_prefix(':')?, 2)?;
                if !rest.is_empty() || hours > 24 || minutes > 60 {
                    return None;
                }
                sign * (hours * 3600 + minutes * 60)
            }
        };
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset;
        SECONDS.contains(&seconds).then_some(Timestamp { seconds, nanoseconds })
    }

    /// Adds a duration.
    pub(crate) fn plus(self, length: Duration) -> Option<Timestamp> {
        let nanoseconds = i64::from(self.nanoseconds) + length.0.rem_euclid(SECOND);
        let seconds = self.seconds.checked_add(length.0.div_euclid(SECOND) + nanoseconds / SECOND)?;
        let nanoseconds = u32::try_from(nanoseconds % SECOND).ok()?;
        SECONDS.contains(&seconds).then_some(Timestamp { seconds, nanoseconds })
    }

    /// Returns the duration since an earlier timestamp.
    pub(crate) fn since(self, earlier: Timestamp) -> Option<Duration> {
        let nanoseconds = (i128::from(self.seconds) - i128::from(earlier.seconds)) * i128::from(SECOND)
            + i128::from(self.nanoseconds)
            - i128::from(earlier.nanoseconds);
        i64::try_from(nanoseconds).ok().map(Duration)
    }

    /// Returns the date and time in a time zone: a name (`Europe/Berlin`) or an offset (`+01:00`); UTC if
    /// empty.
    pub(crate) fn in_zone(self, zone: &str) -> Result<civil::DateTime, String> {
        let overflow = || "timestamp overflow".to_string();
        let offset = match fixed_offset(zone) {
            Some(seconds) => seconds,
            None => {
                let zone = TimeZone::get(zone).map_err(|_| format!("unknown time zone {zone}"))?;
                let moment = jiff::Timestamp::from_second(self.seconds).map_err(|_| overflow())?;
                zone.to_offset(moment).seconds()
            }
        };
        let local = self.seconds + i64::from(offset);
        let day = jiff::Span::new().try_days(local.div_euclid(86_400)).map_err(|_| overflow())?;
        let date = civil::date(1970, 1, 1).checked_add(day).map_err(|_| overflow())?;
        let part =
            |length: i64, count: i64| i8::try_from(local.rem_euclid(86_400) / length % count).unwrap_or(0);
        let nanoseconds = i32::try_from(self.nanoseconds).unwrap_or(0);
        Ok(date.at(part(3600, 24), part(60, 60), part(1, 60), nanoseconds))
    }
}

/// Parses a time zone offset: `UTC`, `+01:00`, `-02:30`, `02:30`.
fn fixed_offset(zone: &str) -> Option<i32> {
    if matches!(zone, "" | "UTC" | "Z") {
        return Some(0);
    }
    let (sign, rest) = match zone.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, zone.strip_prefix('+').unwrap_or(zone)),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
    (hours <= 23 && minutes <= 59).then(|| sign * (i32::from(hours) * 3600 + i32::from(minutes) * 60))
}

fn digits(text: &str, count: usize) -> Option<(i64, &str)> {
    let shown = text.get(..count).filter(|shown| shown.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some((shown.parse().ok()?, text.get(count..)?))
}

/// Parses `2020-01-31` and returns its days since the Unix epoch, and the rest of the text.
fn days(text: &str) -> Option<(i64, &str)> {
    let (year, rest) = digits(text, 4)?;
    let (month, rest) = digits(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = digits(rest.strip_prefix('-')?, 2)?;
    let date =
        civil::Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?)
            .ok()?;
    let epoch = civil::date(1970, 1, 1);
    Some((i64::from((date - epoch).get_days()), rest))
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let time = self.in_zone("UTC").map_err(|_| std::fmt::Error)?;
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            time.year(),
            time.month(),
            time.day(),
            time.hour(),
            time.minute(),
            time.second()
        )?;
        if self.nanoseconds > 0 {
            let digits = format!("{:09}", self.nanoseconds);
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

/// Units of durations, in nanoseconds.
const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3600 * SECOND),
];

impl Duration {
    /// Returns the duration of a number of nanoseconds.
    pub fn from_nanoseconds(nanoseconds: i64) -> Duration {
        Duration(nanoseconds)
    }

    /// Returns the nanoseconds.
    pub fn nanoseconds(self) -> i64 {
        self.0
    }

    /// Parses numbers with units, such as `1h30m`, `-1.5s` and `0`.
    pub fn parse(text: &str) -> Option<Duration> {
        let (sign, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest == "0" {
            return Some(Duration(0));
        }
        let mut sum: i128 = 0;
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let end = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.').filter(|end| *end > 0)?;
            let (number, after) = (rest.get(..end)?, rest.get(end..)?);
            let end = after.find(|sign: char| sign.is_ascii_digit() || sign == '.').unwrap_or(after.len());
            let (unit, after) = (after.get(..end)?, after.get(end..)?);
            let unit = UNITS.iter().find(|row| row.0 == unit)?.1;
            let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
            if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
                return None;
            }
            let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
            sum = sum.checked_add(whole.checked_mul(i128::from(unit))?)?;
            let shown = fraction.get(..fraction.len().min(18)).unwrap_or_default();
            if !shown.is_empty() {
                let digits: i128 = shown.parse().ok()?;
                sum = sum
                    .checked_add(digits * i128::from(unit) / 10i128.pow(u32::try_from(shown.len()).ok()?))?;
            }
            rest = after;
        }
        i64::try_from(sign * sum).ok().map(Duration)
    }

    /// Parses a duration of a document, which may use longer units, such as `2 days`.
    pub(crate) fn parse_document(text: &str) -> Option<Duration> {
        Duration::parse(text).or_else(|| {
            let mut sum: i64 = 0;
            let mut rest = text.trim();
            if rest.is_empty() {
                return None;
            }
            while !rest.is_empty() {
                let end = rest.find(|sign: char| !sign.is_ascii_digit())?;
                let number: i64 = rest.get(..end)?.parse().ok()?;
                let after = rest.get(end..)?.trim_start();
                let end = after.find(|sign: char| !sign.is_alphabetic()).unwrap_or(after.len());
                let unit = match after.get(..end)?.to_lowercase().as_str() {
                    "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => 1,
                    "us" | "µs" | "micro" | "micros" | "microsecond" | "microseconds" => 1_000,
                    "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 1_000_000,
                    "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
                    "m" | "min" | "mins" | "minute" | "minutes" => 60 * SECOND,
                    "h" | "hr" | "hrs" | "hour" | "hours" => 3600 * SECOND,
                    "d" | "day" | "days" => 24 * 3600 * SECOND,
                    "w" | "wk" | "week" | "weeks" => 7 * 24 * 3600 * SECOND,
                    _ => return None,
                };
                sum = sum.checked_add(number.checked_mul(unit)?)?;
                rest = after.get(end..)?.trim_start();
            }
            Some(Duration(sum))
        })
    }
}

/// Prints seconds, such as `5400s` and `1.5s`.
impl std::fmt::Display for Duration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let amount = self.0.unsigned_abs();
        let (whole, part) = (amount / SECOND.unsigned_abs(), amount % SECOND.unsigned_abs());
        let mut text = String::new();
        write!(text, "{}{whole}", if self.0 < 0 { "-" } else { "" })?;
        if part > 0 {
            write!(text, ".{}", format!("{part:09}").trim_end_matches('0'))?;
        }
        write!(f, "{text}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_parse_and_format() {
        for (text, expected) in [
            ("90m", "5400s"),
            ("1h30m", "5400s"),
            ("-1.5s", "-1.5s"),
            ("0", "0s"),
            ("1ms", "0.001s"),
            (".5s", "0.5s"),
        ] {
            assert_eq!(Duration::parse(text).unwrap().to_string(), expected, "{text}");
        }
        for wrong in ["", "1", "1x", "s", "-", "1.2.3s", ".s", "9999999999h"] {
            assert_eq!(Duration::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Duration::parse_document("2 days"), Duration::parse("48h"));
    }

    #[test]
    fn timestamps_parse_and_format() {
        for (text, expected) in [
            ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
            ("2020-01-01T01:00:00+01:00", "2020-01-01T00:00:00Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
            ("2020-02-29T12:00:00.120Z", "2020-02-29T12:00:00.12Z"),
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), expected, "{text}");
        }
        for wrong in [
            "2020-01-01",
            "2020-02-30T00:00:00Z",
            "2020-01-01T24:00:00Z",
            "2020-01-01T00:00:00",
            "x",
            "0000-01-01T00:00:00Z",
        ] {
            assert_eq!(Timestamp::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn time_zones_are_names_or_offsets() {
        let moment = Timestamp::parse("2020-01-01T23:00:00Z").unwrap();
        for (zone, hour) in
            [("", 23), ("UTC", 23), ("Europe/Berlin", 0), ("+01:00", 0), ("-02:30", 20), ("02:00", 1)]
        {
            assert_eq!(moment.in_zone(zone).unwrap().hour(), hour, "{zone}");
        }
        for zone in ["Nowhere/Town", "+24:00", "../etc/passwd"] {
            assert!(moment.in_zone(zone).is_err(), "{zone}");
        }
    }
}
