//! Timestamps, and ages as tables show them. Nothing here reads the clock.

pub use tenure_value::time::{Precision, Timestamp};

/// Formats a duration in its two most significant units, as `kubectl` shows ages.
pub fn age(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |unit: i64, name: char, smaller: i64, less: char| {
        let rest = seconds % unit / smaller;
        if rest == 0 {
            format!("{}{name}", seconds / unit)
        } else {
            format!("{}{name}{rest}{less}", seconds / unit)
        }
    };
    match seconds {
        i64::MIN..-1 => "<invalid>".into(),
        -1..=0 => "0s".into(),
        1..120 => format!("{seconds}s"),
        120..600 => two(MINUTE, 'm', 1, 's'),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(HOUR, 'h', MINUTE, 'm'),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(DAY, 'd', HOUR, 'h'),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => two(YEAR, 'y', DAY, 'd'),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_their_most_significant_units() {
        for (seconds, text) in [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_100, "3h5m"),
            (28_800, "8h"),
            (172_800, "2d"),
            (176_400, "2d1h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            assert_eq!(age(seconds), text, "{seconds}");
        }
    }
}
