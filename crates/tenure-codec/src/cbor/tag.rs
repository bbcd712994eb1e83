//! Times in tags: RFC 3339 text in tag 0, seconds since 1970 in tag 1. JSON has the text.

use tenure_value::{
    Value,
    time::{Precision, Timestamp},
};

/// The time of 0001-01-01T00:00:00Z and of 9999-12-31T23:59:59Z: times outside have no text.
const YEARS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// Returns the text of a time in tag 0, without needless digits.
pub(crate) fn text_time(content: &Value) -> Option<String> {
    let text = content.as_str()?;
    Timestamp::parse(text, Precision::Seconds)?;
    let (until, rest) = text.split_at_checked(19)?;
    let zone = rest.trim_start_matches(['.', ',', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    let fraction = rest.get(1..rest.len() - zone.len()).unwrap_or_default();
    let fraction = fraction.get(..9).unwrap_or(fraction).trim_end_matches('0');
    let zone = if matches!(zone, "+00:00" | "-00:00") { "Z" } else { zone };
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{until}{point}{fraction}{zone}"))
}

/// Returns the text of a time in tag 1.
pub(crate) fn epoch_time(content: &Value) -> Option<String> {
    let (seconds, nanos) = match content {
        Value::Int(seconds) => (*seconds, 0),
        Value::Float(number) => {
            let number = number.get();
            let nanos = (number.fract() * 1e9) as i64;
            let seconds = (number.trunc() as i64).checked_add(nanos.div_euclid(1_000_000_000))?;
            (seconds, nanos.rem_euclid(1_000_000_000) as u32)
        }
        _ => return None,
    };
    YEARS.contains(&seconds).then(|| {
        let text = Timestamp { seconds, nanos }.format(Precision::Seconds);
        let fraction = format!("{nanos:09}");
        match fraction.trim_end_matches('0') {
            "" => text,
            fraction => format!("{}.{fraction}Z", text.trim_end_matches('Z')),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_the_text_of_json() {
        for (given, text) in [
            ("2024-01-02T03:04:05Z", Some("2024-01-02T03:04:05Z")),
            ("2024-01-02T03:04:05.500Z", Some("2024-01-02T03:04:05.5Z")),
            ("2024-01-02T03:04:05.000+02:00", Some("2024-01-02T03:04:05+02:00")),
            ("2024-01-02T03:04:05+00:00", Some("2024-01-02T03:04:05Z")),
            ("2024-01-02T03:04:05.1234567891Z", Some("2024-01-02T03:04:05.123456789Z")),
            ("yesterday", None),
        ] {
            assert_eq!(text_time(&Value::from(given)).as_deref(), text, "{given}");
        }
        let float = |number: f64| Value::float(number).unwrap();
        for (given, text) in [
            (Value::Int(1_700_000_000), Some("2023-11-14T22:13:20Z")),
            (float(1_700_000_000.5), Some("2023-11-14T22:13:20.5Z")),
            (float(-0.5), Some("1969-12-31T23:59:59.5Z")),
            (Value::Int(i64::MAX), None),
            (float(1e300), None),
            (Value::from("x"), None),
        ] {
            assert_eq!(epoch_time(&given).as_deref(), text, "{given:?}");
        }
    }
}
