//! Cron schedules: five fields of numbers, ranges, steps and names, or a descriptor such as `@daily`.

use tenure_meta::format::Verdict;
use tenure_value::go_text::Quoted;

/// The numbers of a field, and the names that they have.
struct Field {
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Minute, hour, day of the month, month and day of the week.
const FIELDS: [Field; 5] = [
    Field { least: 0, most: 59, names: &[] },
    Field { least: 0, most: 23, names: &[] },
    Field { least: 1, most: 31, names: &[] },
    Field { least: 1, most: 12, names: MONTHS },
    Field { least: 0, most: 6, names: DAYS },
];

const WORDS: [&str; 7] = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// Returns what is wrong with a schedule.
pub(crate) fn schedule(text: &str) -> Verdict {
    let zone = text
        .contains("TZ")
        .then(|| "cannot use TZ or CRON_TZ in schedule, use timeZone field instead".into());
    let placed = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ="));
    let fault = match placed.map(|rest| rest.split_once(' ').unwrap_or((rest, ""))) {
        // Kubernetes looks for the end of the zone and does not find it.
        Some((_, "")) if !text.contains(' ') => {
            Some("invalid schedule format: runtime error: slice bounds out of range [:-1]".into())
        }
        Some((place, _)) if !is_time_zone(place) => {
            Some(format!("provided bad location {place}: unknown time zone {place}"))
        }
        Some((_, schedule)) => parse(schedule.trim()).err(),
        None => parse(text).err(),
    };
    fault.into_iter().chain(zone).collect()
}

fn parse(text: &str) -> Result<(), String> {
    if text.starts_with('@') {
        return match text.strip_prefix("@every ") {
            Some(every) if is_duration(every) => Ok(()),
            Some(every) => Err(format!("failed to parse duration {text}: time: invalid duration {every:?}")),
            None if WORDS.contains(&text) => Ok(()),
            None => Err(format!("unrecognized descriptor: {text}")),
        };
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let (count, fields) = (fields.len(), fields.join(" "));
        return Err(format!("expected exactly 5 fields, found {count}: [{fields}]"));
    }
    fields.iter().zip(&FIELDS).try_for_each(|(text, field)| {
        text.split(',').filter(|part| !part.is_empty()).try_for_each(|part| range(part, field))
    })
}

/// Checks `from-to/step`, where `from` may be all or a single number.
fn range(part: &str, &Field { least, most, names }: &Field) -> Result<(), String> {
    let steps: Vec<&str> = part.split('/').collect();
    let span: Vec<&str> = steps[0].split('-').collect();
    let number = |text: &str| match names.iter().position(|known| known.eq_ignore_ascii_case(text)) {
        Some(at) => Ok(at as u32 + least),
        None => number(text),
    };
    let (from, mut to) = match *span {
        ["*" | "?", ..] => (least, most),
        [one] => (number(one)?, number(one)?),
        [from, to] => (number(from)?, number(to)?),
        [from, ..] => return number(from).and_then(|_| Err(format!("too many hyphens: {part}"))),
        [] => return Ok(()),
    };
    let step = match *steps {
        [_] => 1,
        [_, step] => {
            let step = self::number(step)?;
            if span.len() == 1 {
                to = most;
            }
            step
        }
        _ => return Err(format!("too many slashes: {part}")),
    };
    match () {
        () if from < least => Err(format!("beginning of range ({from}) below minimum ({least}): {part}")),
        () if to > most => Err(format!("end of range ({to}) above maximum ({most}): {part}")),
        () if from > to => Err(format!("beginning of range ({from}) beyond end of range ({to}): {part}")),
        () if step == 0 => Err(format!("step of range should be a positive number: {part}")),
        () => Ok(()),
    }
}

/// Reads a number that is not negative.
fn number(text: &str) -> Result<u32, String> {
    let parsed: Result<i64, _> = text.parse();
    match parsed {
        Ok(number) if number < 0 => Err(format!("negative number ({number}) not allowed: {text}")),
        Ok(number) => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
        Err(_) => Err(format!(
            "failed to parse int from {text}: strconv.Atoi: parsing {}: invalid syntax",
            Quoted(text)
        )),
    }
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
        "" => vec!["timeZone must be nil or non-empty string".into()],
        _ => {
            let implied = text.eq_ignore_ascii_case("local").then(|| {
                "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones".into()
            });
            let unknown = (!is_time_zone(text)).then(|| format!("unknown time zone {text}"));
            implied.into_iter().chain(unknown).collect()
        }
    }
}

/// Whether a name is that of a time zone, as Go reads it.
fn is_time_zone(name: &str) -> bool {
    matches!(name, "" | "Local") || TIME_ZONES.lines().any(|known| known == name)
}
