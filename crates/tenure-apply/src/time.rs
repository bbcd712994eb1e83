//! Timestamps as `managedFields` has them: whole seconds, UTC. The crate never reads a clock; the caller passes the time.

use std::fmt;
use tenure_value::time::{self, Precision};

/// A second in UTC, shown as `2026-11-15T02:00:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Makes the point that many seconds after 1970 began.
    pub fn from_unix(seconds: i64) -> Timestamp {
        Timestamp(seconds)
    }

    /// Returns how many seconds after 1970 began this is.
    pub fn unix(self) -> i64 {
        self.0
    }

    /// Returns the text that is shown.
    pub fn text(self) -> String {
        time::Timestamp { seconds: self.0, nanos: 0 }.format(Precision::Seconds)
    }

    /// Reads RFC 3339; an offset is turned into UTC, a fraction of a second is dropped.
    pub fn parse(text: &str) -> Option<Timestamp> {
        time::Timestamp::parse(text, Precision::Seconds).map(|time| Timestamp(time.seconds))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_reads_back_as_it_was_written() {
        for (text, unix) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59Z", -1),
            ("2000-02-29T12:30:45Z", 951_827_445),
            ("2026-11-15T02:14:29Z", 1_794_708_869),
            ("2100-03-01T00:00:00Z", 4_107_542_400),
            ("1600-01-01T00:00:00Z", -11_676_096_000),
        ] {
            assert_eq!(Timestamp::parse(text), Some(Timestamp(unix)), "{text}");
            assert_eq!(Timestamp(unix).to_string(), text);
        }
    }

    #[test]
    fn offsets_become_utc_and_fractions_go() {
        let want = Timestamp::parse("2020-01-02T03:04:05Z");
        assert_eq!(Timestamp::parse("2020-01-02T05:04:05.999+02:00"), want);
        assert_eq!(Timestamp::parse("2020-01-01T22:34:05-04:30"), want);
    }

    #[test]
    fn invalid_times_are_refused() {
        for text in [
            "",
            "now",
            "2020-13-01T00:00:00Z",
            "2020-02-30T00:00:00Z",
            "2020-01-01T24:00:00Z",
            "2020-01-01T00:00:00",
            "2020-01-01 00:00:00Z",
            "2020-01-01T00:00:00.Z",
            "2020-01-01T00:00:00+1:00",
            "２０２０-01-01T00:00:00Z",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }
}
