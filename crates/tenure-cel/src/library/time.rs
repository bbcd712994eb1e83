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
    "getFullYear", |of| i64::from(of.year());
    "getMonth", |of| i64::from(of.month()) - 1;
    "getDate", |of| i64::from(of.day());
    "getDayOfMonth", |of| i64::from(of.day()) - 1;
    "getDayOfYear", |of| i64::from(of.day_of_year()) - 1;
    "getDayOfWeek", |of| i64::from(of.weekday().to_sunday_zero_offset());
    "getHours", |of| i64::from(of.hour());
    "getMinutes", |of| i64::from(of.minute());
    "getSeconds", |of| i64::from(of.second());
    "getMilliseconds", |of| i64::from(of.millisecond());
};

fn part<'v>(args: &[Val<'v>], part: fn(DateTime) -> i64) -> EvalResult<'v> {
    let (of, zone) = match args {
        [Val::Timestamp(of)] => (of, ""),
        [Val::Timestamp(of), Val::String(zone)] => (of, zone.as_str()),
        _ => return no_such_overload(),
    };
    match of.in_zone(zone) {
        Ok(date) => Ok(Val::Int(part(date))),
        Err(why) => fail(why),
    }
}

fn units<'v>(args: &[Val<'v>], nanoseconds: i64) -> EvalResult<'v> {
    match args {
        [Val::Duration(of)] => Ok(Val::Int(of.nanoseconds() / nanoseconds)),
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
