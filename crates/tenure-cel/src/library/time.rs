//! Timestamps and durations.

use super::{ONE, Row, fail, no_such_overload};
use crate::{
    function::EvalResult,
    value::{Duration, Val},
};
use jiff::civil::DateTime;

/// The rows of a date component, in UTC and in a time zone.
macro_rules! parts {
    ($($name:literal, $part:expr;)*) => {
        &[$(
            (concat!("timestamp.", $name, "(): int"), ONE, |_, args| part(args, $part)),
            (concat!("timestamp.", $name, "(string): int"), ONE, |_, args| part(args, $part)),
        )*
        ("duration.getHours(): int", ONE, |_, args| units(args, 3_600_000_000_000)),
        ("duration.getMinutes(): int", ONE, |_, args| units(args, 60_000_000_000)),
        ("duration.getSeconds(): int", ONE, |_, args| units(args, 1_000_000_000)),
        ("duration.getMilliseconds(): int", ONE, |_, args| units(args, 1_000_000)),
        ("`_+_`(duration, duration): duration", ONE, |_, args| match args {
            [Val::Duration(a), Val::Duration(b)] => length(a.nanoseconds().checked_add(b.nanoseconds())),
            _ => no_such_overload(),
        }),
        ("`_-_`(duration, duration): duration", ONE, |_, args| match args {
            [Val::Duration(a), Val::Duration(b)] => length(a.nanoseconds().checked_sub(b.nanoseconds())),
            _ => no_such_overload(),
        }),
        ("`_+_`(timestamp, duration): timestamp", ONE, |_, args| later(args.first(), args.get(1), false)),
        ("`_+_`(duration, timestamp): timestamp", ONE, |_, args| later(args.get(1), args.first(), false)),
        ("`_-_`(timestamp, duration): timestamp", ONE, |_, args| later(args.first(), args.get(1), true)),
        ("`_-_`(timestamp, timestamp): duration", ONE, |_, args| match args {
            [Val::Timestamp(a), Val::Timestamp(b)] => length(a.since(*b).map(Duration::nanoseconds)),
            _ => no_such_overload(),
        }),
        ]
    };
}

pub(super) const FUNCTIONS: &[Row] = parts! {
    "getFullYear", |time| i64::from(time.year());
    "getMonth", |time| i64::from(time.month()) - 1;
    "getDate", |time| i64::from(time.day());
    "getDayOfMonth", |time| i64::from(time.day()) - 1;
    "getDayOfYear", |time| i64::from(time.day_of_year()) - 1;
    "getDayOfWeek", |time| i64::from(time.weekday().to_sunday_zero_offset());
    "getHours", |time| i64::from(time.hour());
    "getMinutes", |time| i64::from(time.minute());
    "getSeconds", |time| i64::from(time.second());
    "getMilliseconds", |time| i64::from(time.millisecond());
};

fn part<'v>(args: &[Val<'v>], part: fn(DateTime) -> i64) -> EvalResult<'v> {
    let (timestamp, zone) = match args {
        [Val::Timestamp(timestamp)] => (timestamp, ""),
        [Val::Timestamp(timestamp), Val::String(zone)] => (timestamp, zone.as_str()),
        _ => return no_such_overload(),
    };
    match timestamp.in_zone(zone) {
        Ok(date) => Ok(Val::Int(part(date))),
        Err(why) => fail(why),
    }
}

fn units<'v>(args: &[Val<'v>], nanoseconds: i64) -> EvalResult<'v> {
    match args {
        [Val::Duration(duration)] => Ok(Val::Int(duration.nanoseconds() / nanoseconds)),
        _ => no_such_overload(),
    }
}

fn length<'v>(nanoseconds: Option<i64>) -> EvalResult<'v> {
    match nanoseconds {
        Some(nanoseconds) => Ok(Val::Duration(Duration::from_nanoseconds(nanoseconds))),
        None => fail("duration overflow"),
    }
}

fn later<'v>(moment: Option<&Val<'v>>, length: Option<&Val<'v>>, backwards: bool) -> EvalResult<'v> {
    let (Some(Val::Timestamp(moment)), Some(Val::Duration(by))) = (moment, length) else {
        return no_such_overload();
    };
    let nanoseconds = if backwards { by.nanoseconds().checked_neg() } else { Some(by.nanoseconds()) };
    let moment = nanoseconds.and_then(|by| moment.plus(Duration::from_nanoseconds(by)));
    moment.map_or_else(|| fail("timestamp overflow"), |moment| Ok(Val::Timestamp(moment)))
}
