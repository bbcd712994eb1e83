//! Moments as people say them: `10m` ago, `yesterday`, a time of today, a date; and as servers know them: revisions and times.

use crate::Error;
use tenure_apply::Timestamp;

/// Seconds per unit of an age.
const UNITS: [(char, i64); 5] = [('s', 1), ('m', 60), ('h', 3600), ('d', DAY), ('w', 7 * DAY)];
const DAY: i64 = 86_400;

/// Returns a moment as a server takes it: a revision, or a time in UTC.
pub fn moment(text: &str, now: Timestamp) -> Result<String, Error> {
    let text = text.trim();
    let is_revision = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_revision || Timestamp::parse(text).is_some() || text.contains('.') {
        return Ok(text.to_owned());
    }
    match seconds(text, now) {
        Some(seconds) => Ok(Timestamp::from_unix(seconds).to_string()),
        None => Err(Error::usage(format!(
            "{text:?} is not a moment; write a revision such as 4711, an age such as 10m, 2h or 3d, yesterday, today, 14:30, 2026-01-02 \
             or 2026-01-02T03:04:05Z (times are in UTC)"
        ))),
    }
}

fn seconds(text: &str, now: Timestamp) -> Option<i64> {
    let today = now.unix() - now.unix().rem_euclid(DAY);
    match text.to_lowercase().as_str() {
        "now" => return Some(now.unix()),
        "today" => return Some(today),
        "yesterday" => return Some(now.unix() - DAY),
        _ => {}
    }
    if let Some(time) = Timestamp::parse(&format!("{text}T00:00:00Z")) {
        return Some(time.unix());
    }
    if let Some((hours, minutes)) = text.split_once(':') {
        let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
        let time = ((0..24).contains(&hours) && (0..60).contains(&minutes))
            .then_some(today + hours * 3600 + minutes * 60)?;
        // A time that is still to come today was yesterday.
        return Some(if time > now.unix() { time - DAY } else { time });
    }
    age(text.strip_suffix(" ago").unwrap_or(text)).map(|age| now.unix() - age)
}

/// Returns the seconds of an age, such as `1h30m`.
fn age(text: &str) -> Option<i64> {
    let (mut total, mut rest) = (0i64, text);
    while !rest.is_empty() {
        let end = rest.find(|character: char| !character.is_ascii_digit())?;
        let number: i64 = rest.get(..end)?.parse().ok()?;
        let unit = rest.get(end..)?.chars().next()?;
        let (_, size) = UNITS.iter().find(|(letter, _)| *letter == unit)?;
        total = total.checked_add(number.checked_mul(*size)?)?;
        rest = rest.get(end + unit.len_utf8()..)?;
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_said_as_people_say_them() {
        let now = Timestamp::parse("2026-03-10T12:30:00Z").unwrap();
        for (text, expected) in [
            ("4711", "4711"),
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05.5Z", "2026-01-02T03:04:05.5Z"),
            ("10m", "2026-03-10T12:20:00Z"),
            ("1h30m", "2026-03-10T11:00:00Z"),
            ("2d ago", "2026-03-08T12:30:00Z"),
            ("yesterday", "2026-03-09T12:30:00Z"),
            ("today", "2026-03-10T00:00:00Z"),
            ("now", "2026-03-10T12:30:00Z"),
            ("09:15", "2026-03-10T09:15:00Z"),
            ("23:15", "2026-03-09T23:15:00Z"),
            ("2026-01-02", "2026-01-02T00:00:00Z"),
        ] {
            assert_eq!(moment(text, now).unwrap(), expected, "{text}");
        }
        for wrong in ["", "soon", "10", "10x", "25:00", "m"] {
            assert!(wrong == "10" || moment(wrong, now).is_err(), "{wrong}");
        }
    }
}
