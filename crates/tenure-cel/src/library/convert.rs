//! Conversions between types.

use super::{ONE, Row, fail, no_such_overload};
use crate::{
    Error,
    cost::Cost,
    function::EvalResult,
    meter::Meter,
    value::{Duration, Timestamp, Val, go_float},
};

pub(super) const FUNCTIONS: &[Row] = &[
    ("dyn(T): dyn", ONE, |_, args| args.first().cloned().map_or_else(no_such_overload, Ok)),
    ("type(T): type", ONE, |_, args| match args {
        [value] => Ok(Val::Type(value.type_name().into())),
        _ => no_such_overload(),
    }),
    ("bool(bool): bool", ONE, |_, args| to_bool(args)),
    ("bool(string): bool", ONE, |_, args| to_bool(args)),
    ("bytes(bytes): bytes", ONE, |_, args| args.first().cloned().map_or_else(no_such_overload, Ok)),
    ("bytes(string): bytes", Cost::Encode, |meter, args| match args {
        [Val::String(text)] => {
            meter.allocate(text.len())?;
            Ok(Val::Bytes(text.as_bytes().into()))
        }
        _ => no_such_overload(),
    }),
    ("double(double): double", ONE, |_, args| to_double(args)),
    ("double(int): double", ONE, |_, args| to_double(args)),
    ("double(string): double", ONE, |meter, args| {
        scan(meter, args)?;
        to_double(args)
    }),
    ("double(uint): double", ONE, |_, args| to_double(args)),
    ("duration(duration): duration", ONE, |_, args| to_duration(args)),
    ("duration(int): duration", ONE, |_, args| to_duration(args)),
    ("duration(string): duration", ONE, |meter, args| {
        scan(meter, args)?;
        to_duration(args)
    }),
    ("int(int): int", ONE, |_, args| to_int(args)),
    ("int(double): int", ONE, |_, args| to_int(args)),
    ("int(duration): int", ONE, |_, args| to_int(args)),
    ("int(string): int", ONE, |_, args| to_int(args)),
    ("int(timestamp): int", ONE, |_, args| to_int(args)),
    ("int(uint): int", ONE, |_, args| to_int(args)),
    ("string(string): string", ONE, |_, args| to_string(args)),
    ("string(bool): string", ONE, |_, args| to_string(args)),
    ("string(bytes): string", Cost::Decode, |_, args| to_string(args)),
    ("string(double): string", ONE, |_, args| to_string(args)),
    ("string(duration): string", ONE, |_, args| to_string(args)),
    ("string(int): string", ONE, |_, args| to_string(args)),
    ("string(timestamp): string", ONE, |_, args| to_string(args)),
    ("string(uint): string", ONE, |_, args| to_string(args)),
    ("timestamp(timestamp): timestamp", ONE, |_, args| to_timestamp(args)),
    ("timestamp(int): timestamp", ONE, |_, args| to_timestamp(args)),
    ("timestamp(string): timestamp", ONE, |_, args| to_timestamp(args)),
    ("uint(uint): uint", ONE, |_, args| to_uint(args)),
    ("uint(double): uint", ONE, |_, args| to_uint(args)),
    ("uint(int): uint", ONE, |_, args| to_uint(args)),
    ("uint(string): uint", ONE, |_, args| to_uint(args)),
];

/// Counts the bytes that parsing a string scans.
fn scan(meter: &mut Meter, args: &[Val<'_>]) -> Result<(), Error> {
    match args {
        [Val::String(text)] => meter.scan(text.len()),
        _ => Ok(()),
    }
}

fn unconvertible<'v>(args: &[Val<'v>], to: &str) -> EvalResult<'v> {
    let from = args.first().map_or("", Val::type_name).to_string();
    fail(format!("type conversion error from '{from}' to '{to}'"))
}

fn to_bool<'v>(args: &[Val<'v>]) -> EvalResult<'v> {
    match args {
        [Val::Bool(flag)] => Ok(Val::Bool(*flag)),
        [Val::String(text)] => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => unconvertible(args, "bool"),
        },
        _ => unconvertible(args, "bool"),
    }
}

fn to_double<'v>(args: &[Val<'v>]) -> EvalResult<'v> {
    match args {
        [Val::Double(number)] => Ok(Val::Double(*number)),
        [Val::Int(number)] => Ok(Val::Double(*number as f64)),
        [Val::UInt(number)] => Ok(Val::Double(*number as f64)),
        [Val::String(text)] => match text.parse() {
            Ok(number) => Ok(Val::Double(number)),
            Err(_) => unconvertible(args, "double"),
        },
        _ => unconvertible(args, "double"),
    }
}

fn to_int<'v>(args: &[Val<'v>]) -> EvalResult<'v> {
    let overflow = || fail("integer overflow");
    match args {
        [Val::Int(number)] => Ok(Val::Int(*number)),
        [Val::UInt(number)] => {
            i64::try_from(*number).map_or_else(|_| overflow(), |number| Ok(Val::Int(number)))
        }
        [Val::Double(number)] => {
            // Both bounds are exclusive, because neither is exact as a floating point number.
            let fits = *number > -9_223_372_036_854_775_808.0 && *number < 9_223_372_036_854_775_807.0;
            if fits { Ok(Val::Int(*number as i64)) } else { overflow() }
        }
        [Val::Timestamp(timestamp)] => Ok(Val::Int(timestamp.seconds())),
        [Val::Duration(duration)] => Ok(Val::Int(duration.nanoseconds())),
        [Val::String(text)] => match text.parse() {
            Ok(number) => Ok(Val::Int(number)),
            Err(_) => unconvertible(args, "int"),
        },
        _ => unconvertible(args, "int"),
    }
}

fn to_uint<'v>(args: &[Val<'v>]) -> EvalResult<'v> {
    let overflow = || fail("unsigned integer overflow");
    match args {
        [Val::UInt(number)] => Ok(Val::UInt(*number)),
        [Val::Int(number)] => {
            u64::try_from(*number).map_or_else(|_| overflow(), |number| Ok(Val::UInt(number)))
        }
        [Val::Double(number)] => {
            let fits = *number >= 0.0 && *number < 18_446_744_073_709_551_615.0;
            if fits { Ok(Val::UInt(*number as u64)) } else { overflow() }
        }
        [Val::String(text)] => match text.parse() {
            Ok(number) => Ok(Val::UInt(number)),
            Err(_) => unconvertible(args, "uint"),
        },
        _ => unconvertible(args, "uint"),
    }
}

pub(super) fn to_string<'v>(args: &[Val<'v>]) -> EvalResult<'v> {
    Ok(Val::String(match args {
        [Val::String(text)] => text.clone(),
        [Val::Bool(flag)] => if *flag { "true" } else { "false" }.into(),
        [Val::Int(number)] => number.to_string().into(),
        [Val::UInt(number)] => number.to_string().into(),
        [Val::Double(number)] => go_float(*number).into(),
        [Val::Timestamp(timestamp)] => timestamp.to_string().into(),
        [Val::Duration(duration)] => duration.to_string().into(),
        [Val::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => return fail("invalid UTF-8 in bytes, cannot convert to string"),
        },
        _ => return unconvertible(args, "string"),
    }))
}

fn to_duration<'v>(args: &[Val<'v>]) -> EvalResult<'v> {
    match args {
        [Val::Duration(duration)] => Ok(Val::Duration(*duration)),
        [Val::Int(nanoseconds)] => Ok(Val::Duration(Duration::from_nanoseconds(*nanoseconds))),
        [Val::String(text)] => match Duration::parse(text) {
            Some(duration) => Ok(Val::Duration(duration)),
            None => unconvertible(args, "google.protobuf.Duration"),
        },
        _ => unconvertible(args, "google.protobuf.Duration"),
    }
}

fn to_timestamp<'v>(args: &[Val<'v>]) -> EvalResult<'v> {
    match args {
        [Val::Timestamp(timestamp)] => Ok(Val::Timestamp(*timestamp)),
        [Val::Int(seconds)] => match Timestamp::from_seconds(*seconds) {
            Some(timestamp) => Ok(Val::Timestamp(timestamp)),
            None => fail("timestamp overflow"),
        },
        [Val::String(text)] => match Timestamp::parse(text) {
            Some(timestamp) => Ok(Val::Timestamp(timestamp)),
            None => unconvertible(args, "google.protobuf.Timestamp"),
        },
        _ => unconvertible(args, "google.protobuf.Timestamp"),
    }
}
