//! Times of managers as seconds. Only the format that Kubernetes writes, `2026-01-02T03:04:05Z`, is
//! converted; every other text is preserved as a string.

use std::ops::Range;
use tenure_value::time::{Precision, Timestamp};

/// The times with a four-digit year.
const YEARS: Range<i64> = -62_167_219_200..253_402_300_800;

/// The time that the first manager is relative to: 2025-01-01T00:00:00Z.
pub(super) const BASE: i64 = 1_735_689_600;

/// Returns the Unix time of a timestamp in the usual format.
pub(super) fn seconds(text: &str) -> Option<i64> {
    let time = Timestamp::parse(text, Precision::Seconds)?;
    // A time in any other format would not format to the same text.
    (spelled(time.seconds)? == text).then_some(time.seconds)
}

/// Formats a time between the years 0 and 9999.
pub(super) fn spelled(seconds: i64) -> Option<String> {
    YEARS.contains(&seconds).then(|| Timestamp { seconds, nanos: 0 }.format(Precision::Seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_format_round_trips() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2025-01-01T00:00:00Z", BASE),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2026-11-15T02:14:29Z", 1_794_708_869),
            ("0000-01-01T00:00:00Z", -62_167_219_200),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
            assert_eq!(spelled(expected).as_deref(), Some(text));
        }
    }

    #[test]
    fn other_formats_are_not_converted() {
        for text in [
            "",
            "TIME",
            "2026-11-15T02:14:29+00:00",
            "2026-11-15T02:14:29.5Z",
            "2026-11-15 02:14:29Z",
            "2026-11-15T02:14:60Z",
            "2026-02-30T02:14:29Z",
            "2026-13-01T02:14:29Z",
            "2026-11-15T02:14:-9Z",
            "２0２6-11-15T02:14Z",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
        assert_eq!(spelled(i64::MAX), None);
        assert_eq!(spelled(i64::MIN), None);
    }
}
