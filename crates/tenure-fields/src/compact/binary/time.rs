//! Times of managers as seconds. Only the one spelling that Kubernetes writes, `2026-01-02T03:04:05Z`, is
//! taken; every other text is kept as text, so nothing is lost.

/// The time from which the first manager's is counted: 2025-01-01T00:00:00Z.
pub(super) const BASE: i64 = 1_735_689_600;

const DAY: i64 = 86_400;

/// Returns the seconds since 1970 of a time in its usual spelling.
pub(super) fn seconds(text: &str) -> Option<i64> {
    let digits = |at: usize, length: usize| {
        let digits = text.get(at..at + length)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i64>().ok())?
    };
    if text.len() != 20 {
        return None;
    }
    let day = days(digits(0, 4)?, digits(5, 2)?, digits(8, 2)?);
    let seconds = day * DAY + digits(11, 2)? * 3600 + digits(14, 2)? * 60 + digits(17, 2)?;
    // Whatever was not the usual spelling, or no time at all, comes out otherwise.
    (spelled(seconds)? == text).then_some(seconds)
}

/// Returns the usual spelling of a time, from the year 0 to the year 9999.
pub(super) fn spelled(seconds: i64) -> Option<String> {
    let (day, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = date(day);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    (0..=9999)
        .contains(&year)
        .then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

/// Days since 1970 of a date; years begin in March, so that the leap day is the last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a day since 1970.
fn date(day: i64) -> (i64, i64, i64) {
    let day = day.saturating_add(719_468);
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_spelling_is_seconds_and_back() {
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
    fn other_spellings_stay_text() {
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
