//! Timestamps as documents contain them: RFC 3339, in UTC, with whole seconds or microseconds. All parsing
//! and formatting of timestamps is here; nothing here reads a clock.

use std::fmt::Write;

/// A timestamp: Unix time in seconds and nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Unix time in seconds.
    pub seconds: i64,
    /// The nanoseconds within the second.
    pub nanos: u32,
}

/// The precision of a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Parses any fraction, formats whole seconds.
    Seconds,
    /// Parses and formats exactly six digits of fraction.
    Micros,
}

impl Timestamp {
    /// Parses RFC 3339; `None` if the text is invalid.
    pub fn parse(text: &str, precision: Precision) -> Option<Timestamp> {
        let bytes = text.as_bytes();
        let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
        if separators.iter().any(|(at, byte)| bytes.get(*at) != Some(byte)) {
            return None;
        }
        let number = |from: usize, to: usize| digits(bytes.get(from..to)?);
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        if !(1..=12).contains(&month) || !(1..=days_of(year, month)).contains(&day) {
            return None;
        }
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let (nanos, zone) = fraction(bytes.get(19..)?, precision)?;
        let days = days_since_1970(year, month, day);
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset(zone)?;
        Some(Timestamp { seconds, nanos })
    }

    /// Formats RFC 3339 in UTC.
    pub fn format(self, precision: Precision) -> String {
        let (days, rest) = (self.seconds.div_euclid(86_400), self.seconds.rem_euclid(86_400));
        let (year, month, day) = civil(days);
        let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
        if !(0..=9999).contains(&year) {
            let mut out = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
            if precision == Precision::Micros {
                // Writing to a string cannot fail.
                let _ = write!(out, ".{:06}", self.nanos / 1000);
            }
            out.push('Z');
            return out;
        }
        // Digits are written in their places: every write formats a few timestamps, and the formatter takes ten times as long.
        let mut out = *b"0000-00-00T00:00:00.000000Z";
        let mut put = |at: usize, number: u32| {
            out[at] += (number / 10) as u8;
            out[at + 1] += (number % 10) as u8;
        };
        // All of these are small.
        let [year, month, day] = [year, month, day].map(|number| number as u32);
        let [hour, minute, second] = [hour, minute, second].map(|number| number as u32);
        put(0, year / 100);
        put(2, year % 100);
        put(5, month);
        put(8, day);
        put(11, hour);
        put(14, minute);
        put(17, second);
        let length = match precision {
            Precision::Seconds => {
                out[19] = b'Z';
                20
            }
            Precision::Micros => {
                let micros = self.nanos / 1000;
                put(20, micros / 10_000 % 100);
                put(22, micros / 100 % 100);
                put(24, micros % 100);
                27
            }
        };
        std::str::from_utf8(&out[..length]).unwrap_or_default().to_owned()
    }

    /// Returns the whole seconds since an earlier timestamp, at least zero.
    pub fn seconds_since(self, earlier: Timestamp) -> i64 {
        self.seconds - earlier.seconds - i64::from(self.nanos < earlier.nanos)
    }
}

fn digits(bytes: &[u8]) -> Option<i64> {
    bytes
        .iter()
        .try_fold(0, |number, byte| byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0')))
}

/// Parses the fraction of a second and returns it with the rest of the text.
fn fraction(rest: &[u8], precision: Precision) -> Option<(u32, &[u8])> {
    let Some(after) = rest.strip_prefix(b".").or_else(|| rest.strip_prefix(b",")) else {
        return (precision == Precision::Seconds).then_some((0, rest));
    };
    let count = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 || precision == Precision::Micros && count != 6 {
        return None;
    }
    let nanos = (0..9).fold(0, |nanos, at| {
        nanos * 10
            + after.get(..count).and_then(|digits| digits.get(at)).map_or(0, |byte| u32::from(byte - b'0'))
    });
    Some((nanos, after.get(count..)?))
}

/// Parses `Z` or `+hh:mm` as seconds east of UTC.
fn offset(zone: &[u8]) -> Option<i64> {
    match zone {
        b"Z" => Some(0),
        [sign @ (b'+' | b'-'), a, b, b':', c, d] => {
            let (hours, minutes) = (digits(&[*a, *b])?, digits(&[*c, *d])?);
            let seconds = hours * 3600 + minutes * 60;
            (hours <= 24 && minutes <= 60).then_some(if *sign == b'-' { -seconds } else { seconds })
        }
        _ => None,
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && year % 100 != 0 || year % 400 == 0
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Counts days, with years that begin in March so that the leap day comes last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Returns year, month and day of a number of days since 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_parse_in_any_zone_and_format_in_utc() {
        for (text, utc) in [
            ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
            ("2024-01-01T00:00:00.999Z", "2024-01-01T00:00:00Z"),
            ("2024-02-29T23:30:00-01:00", "2024-03-01T00:30:00Z"),
            ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
            ("2000-02-29T12:34:56+02:00", "2000-02-29T10:34:56Z"),
        ] {
            let time = Timestamp::parse(text, Precision::Seconds);
            assert_eq!(time.map(|time| time.format(Precision::Seconds)).as_deref(), Some(utc), "{text}");
        }
        let micros = Timestamp::parse("2024-01-01T00:00:00.500000+00:00", Precision::Micros);
        assert_eq!(
            micros.map(|time| time.format(Precision::Micros)).as_deref(),
            Some("2024-01-01T00:00:00.500000Z")
        );
    }

    #[test]
    fn invalid_timestamps_are_rejected() {
        for text in [
            "",
            "yesterday",
            "2024-01-01",
            "2024-13-01T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:00:00",
            "2024-01-01T00:00:00.Z",
            "2024-01-01 00:00:00Z",
            "2024-01-01T00:00:00+0100",
            "2024-01-01T00:00:00Zz",
        ] {
            assert!(Timestamp::parse(text, Precision::Seconds).is_none(), "{text}");
        }
        for text in ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00.5Z", "2024-01-01T00:00:00.5000000Z"] {
            assert!(Timestamp::parse(text, Precision::Micros).is_none(), "{text}");
        }
    }
}
