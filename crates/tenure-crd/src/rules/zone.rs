//! Time zones of rules: names of the time zone database (`Europe/Berlin`), which is part of the program so that every
//! server of a control plane gives the same answer, and offsets (`+01:00`).

use jiff::{Timestamp, tz::TimeZone};

/// Returns how many seconds a zone is ahead of UTC at a moment, given in seconds of Unix time; an error where there is
/// no such zone.
pub(super) fn seconds_east(zone: &str, moment: i64) -> Result<i64, String> {
    if let Some(offset) = fixed(zone) {
        return Ok(offset);
    }
    let unknown = |_| {
        format!(
            "unknown time zone {zone:?}: a name such as Europe/Berlin or an offset such as +01:00 is understood"
        )
    };
    let named = TimeZone::get(zone).map_err(unknown)?;
    let moment = Timestamp::from_second(moment).map_err(unknown)?;
    Ok(i64::from(named.to_offset(moment).seconds()))
}

/// Reads a time zone that is an offset: `UTC`, `+01:00`, `-02:30`.
fn fixed(zone: &str) -> Option<i64> {
    if matches!(zone, "" | "UTC" | "Z") {
        return Some(0);
    }
    let (sign, rest) = match zone.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, zone.strip_prefix('+').unwrap_or(zone)),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
    (hours <= 23 && minutes <= 59).then(|| sign * (i64::from(hours) * 3600 + i64::from(minutes) * 60))
}

#[cfg(test)]
mod tests {
    use super::seconds_east;

    #[test]
    fn a_zone_is_a_name_or_an_offset() {
        let (january, july) = (1_704_164_645, 1_719_889_445);
        for (zone, winter, summer) in [
            ("", 0, 0),
            ("UTC", 0, 0),
            ("+01:00", 3600, 3600),
            ("02:30", 9000, 9000),
            ("-02:30", -9000, -9000),
            ("Europe/Berlin", 3600, 7200),
            ("America/New_York", -18000, -14400),
            ("Asia/Kolkata", 19800, 19800),
        ] {
            assert_eq!(
                (seconds_east(zone, january), seconds_east(zone, july)),
                (Ok(winter), Ok(summer)),
                "{zone}"
            );
        }
        for zone in ["Nowhere/Town", "+24:00", "+1", "../etc/passwd", " "] {
            assert!(seconds_east(zone, january).unwrap_err().contains("unknown time zone"), "{zone}");
        }
        assert!(seconds_east("Europe/Berlin", i64::MAX).is_err());
    }
}
