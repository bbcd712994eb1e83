//! Cron schedules: five fields of numbers, ranges, steps and names, or a descriptor such as `@daily`.

use tenure_meta::format::Verdict;

/// Name, minimum, maximum and the names of numbers of each field.
const FIELDS: [(&str, u32, u32, &[&str]); 5] = [
    ("minute", 0, 59, &[]),
    ("hour", 0, 23, &[]),
    ("day of month", 1, 31, &[]),
    ("month", 1, 12, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
    ("day of week", 0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

const WORDS: [&str; 7] = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// Returns the error in a schedule.
pub(crate) fn schedule(text: &str) -> Verdict {
    if text.contains("TZ") {
        return Some("the time zone of a schedule belongs in spec.timeZone, not in the schedule".into());
    }
    if text.starts_with('@') {
        let every = text.strip_prefix("@every ").is_some_and(is_duration);
        return (!every && !WORDS.contains(&text)).then(|| format!("unrecognized descriptor: {text}"));
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Some(format!("expected exactly 5 fields, found {}: {fields:?}", fields.len()));
    }
    fields.iter().zip(FIELDS).find_map(|(field, of)| field.split(',').find_map(|part| range(part, of)))
}

fn range(part: &str, (name, least, most, names): (&str, u32, u32, &[&str])) -> Verdict {
    let (span, step) = part.split_once('/').map_or((part, None), |(span, step)| (span, Some(step)));
    let number = |text: &str| -> Result<u32, String> {
        let lower = text.to_lowercase();
        if let Some(at) = names.iter().position(|of| *of == lower) {
            return Ok(at as u32 + least);
        }
        text.parse().map_err(|_| {
            format!("failed to parse int from {text}: the {name} is a number from {least} to {most}")
        })
    };
    let check = || -> Result<(), String> {
        if let Some(step) = step {
            let step: u32 =
                step.parse().map_err(|_| format!("failed to parse int from {step}: a step is a number"))?;
            if step == 0 {
                return Err(format!("step of range should be a positive number: {part}"));
            }
        }
        if matches!(span, "*" | "?") {
            return Ok(());
        }
        let (from, to) = span.split_once('-').unwrap_or((span, span));
        let (from, to) = (number(from)?, number(to)?);
        match () {
            () if from < least => Err(format!("beginning of range ({from}) below minimum ({least}): {part}")),
            () if to > most => Err(format!("end of range ({to}) above maximum ({most}): {part}")),
            () if from > to => Err(format!("beginning of range ({from}) beyond end of range ({to}): {part}")),
            () => Ok(()),
        }
    };
    check().err()
}

fn is_duration(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let unit = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| at + digits);
        if digits == 0 || !matches!(&rest[digits..unit], "h" | "m" | "s" | "ms" | "us" | "ns") {
            return false;
        }
        rest = &rest[unit..];
    }
    !text.is_empty()
}

/// The names of the IANA time zone database.
const TIME_ZONES: &str = include_str!("../../data/time-zones.txt");

/// Returns the error in the name of a time zone.
pub(crate) fn time_zone(text: &str) -> Verdict {
    match text {
        "" => Some("timeZone must be nil or non-empty string".into()),
        _ if text.eq_ignore_ascii_case("local") => Some(
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones".into(),
        ),
        _ if TIME_ZONES.lines().any(|name| name == text) => None,
        _ => Some(format!("unknown time zone {text}")),
    }
}
