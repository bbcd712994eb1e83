//! Points in time as `managedFields` shows them: whole seconds, UTC. Nothing here asks what time it is; the
//! caller says so with every write.

use std::fmt;

/// A second in UTC, shown as `2026-11-15T02:00:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

const DAY: i64 = 86_400;

impl Timestamp {
    /// Makes the point that many seconds after 1970 began.
    pub fn from_unix(seconds: i64) -> Timestamp {
        Timestamp(seconds)
    }

    /// Returns how many seconds after 1970 began this is.
    pub fn unix(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339; an offset is turned into UTC, a fraction of a second is dropped.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let bytes = text.as_bytes();
        let digits = |from: usize, to: usize| -> Option<i64> {
            let part = bytes.get(from..to)?;
            part.iter().all(u8::is_ascii_digit).then(|| text[from..to].parse().ok()).flatten()
        };
        let mark = |at: usize, allowed: &[u8]| bytes.get(at).is_some_and(|byte| allowed.contains(byte));
        if !(mark(4, b"-") && mark(7, b"-") && mark(10, b"Tt") && mark(13, b":") && mark(16, b":")) {
            return None;
        }
        let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
        let (hour, minute, second) = (digits(11, 13)?, digits(14, 16)?, digits(17, 19)?);
        if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
            return None;
        }
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let mut rest = 19;
        if mark(rest, b".,") {
            rest += 1;
            let fraction = bytes.get(rest..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if fraction == 0 {
                return None;
            }
            rest += fraction;
        }
        let offset = match bytes.get(rest..)? {
            [b'Z' | b'z'] => 0,
            [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
                let (hours, minutes) = (digits(rest + 1, rest + 3)?, digits(rest + 4, rest + 6)?);
                if hours > 23 || minutes > 59 {
                    return None;
                }
                (hours * 60 + minutes) * if *sign == b'-' { -60 } else { 60 }
            }
            _ => return None,
        };
        let of_day = hour * 3600 + minute * 60 + second;
        Some(Timestamp(days_before(year, month, day) * DAY + of_day - offset))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut days, of_day) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        let mut year = 1970 + days.div_euclid(366);
        days -= days_before(year, 1, 1);
        while days >= days_of(year) {
            days -= days_of(year);
            year += 1;
        }
        while days < 0 {
            year -= 1;
            days += days_of(year);
        }
        let mut month = 1;
        while days >= days_in(year, month) {
            days -= days_in(year, month);
            month += 1;
        }
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(f, "{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", days + 1)
    }
}

fn leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64) -> i64 {
    if leap(year) { 366 } else { 365 }
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the days between the start of 1970 and that date.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let past = year - 1;
    let leaps = |year: i64| year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let years = (year - 1970) * 365 + leaps(past) - leaps(1969);
    years + (1..month).map(|month| days_in(year, month)).sum::<i64>() + day - 1
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
    fn what_is_no_time_is_refused() {
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
