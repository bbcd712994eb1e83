//! String functions. Indices count characters.

use super::{ONE, Row, fail, format_text, no_such_overload};
use crate::{Error, cost::Cost, function::EvalResult, meter::Meter, value::Val};

pub(super) const FUNCTIONS: &[Row] = &[
    ("string.charAt(int): string", ONE, |meter, args| match args {
        [Val::String(text), Val::Int(at)] => {
            meter.scan(text.len())?;
            char_at(text, *at)
        }
        _ => no_such_overload(),
    }),
    ("string.indexOf(string): int", Cost::ScanItems, |_, args| index_of(args)),
    ("string.indexOf(string, int): int", Cost::ScanItems, |_, args| index_of(args)),
    ("string.lastIndexOf(string): int", Cost::ScanItems, |_, args| last_index_of(args)),
    ("string.lastIndexOf(string, int): int", Cost::ScanItems, |_, args| last_index_of(args)),
    ("string.lowerAscii(): string", Cost::ScanText(1.0), |meter, args| {
        changed(meter, args, str::to_ascii_lowercase)
    }),
    ("string.upperAscii(): string", Cost::ScanText(1.0), |meter, args| {
        changed(meter, args, str::to_ascii_uppercase)
    }),
    ("string.trim(): string", Cost::ScanText(1.0), |meter, args| {
        changed(meter, args, |text| text.trim().to_string())
    }),
    ("string.replace(string, string): string", Cost::Replace, |meter, args| replace(meter, args)),
    ("string.replace(string, string, int): string", Cost::Replace, |meter, args| replace(meter, args)),
    ("string.split(string): list(string)", Cost::Split, |meter, args| split(meter, args)),
    ("string.split(string, int): list(string)", Cost::Split, |meter, args| split(meter, args)),
    ("string.substring(int): string", Cost::ScanText(1.0), |meter, args| substring(meter, args)),
    ("string.substring(int, int): string", Cost::ScanText(1.0), |meter, args| substring(meter, args)),
    ("string.format(list(dyn)): string", Cost::Format, |meter, args| match args {
        [Val::String(text), Val::List(values)] => format_text::format(meter, text, values),
        _ => no_such_overload(),
    }),
    ("strings.quote(string): string", Cost::Quote, |meter, args| match args {
        [Val::String(text)] => quote(meter, text),
        _ => no_such_overload(),
    }),
    ("list(string).join(): string", Cost::Join, |meter, args| join(meter, args)),
    ("list(string).join(string): string", Cost::Join, |meter, args| join(meter, args)),
];

fn out_of_range<'v>(at: i64) -> EvalResult<'v> {
    fail(format!("index out of range: {at}"))
}

/// Returns the byte offset of a character, or of the end.
fn offset(text: &str, at: usize) -> Option<usize> {
    if text.is_ascii() {
        return (at <= text.len()).then_some(at);
    }
    text.char_indices().map(|(offset, _)| offset).chain([text.len()]).nth(at)
}

fn char_at<'v>(text: &str, at: i64) -> EvalResult<'v> {
    let Some(from) = usize::try_from(at).ok().and_then(|at| offset(text, at)) else {
        return out_of_range(at);
    };
    let letter = text.get(from..).and_then(|rest| rest.chars().next());
    Ok(Val::String(letter.map(String::from).unwrap_or_default().into()))
}

fn count(text: &str) -> i64 {
    i64::try_from(crate::value::count_chars(text)).unwrap_or(i64::MAX)
}

fn index_of<'v>(args: &[Val<'v>]) -> EvalResult<'v> {
    let (text, wanted, from) = match args {
        [Val::String(text), Val::String(wanted)] => (text, wanted, 0),
        [Val::String(text), Val::String(wanted), Val::Int(from)] => (text, wanted, *from),
        _ => return no_such_overload(),
    };
    let Some(start) = usize::try_from(from).ok().and_then(|from| offset(text, from)) else {
        return out_of_range(from);
    };
    let found = text.get(start..).and_then(|rest| rest.find(wanted.as_str()).and_then(|at| rest.get(..at)));
    Ok(Val::Int(found.map_or(-1, |before| from + count(before))))
}

fn last_index_of<'v>(args: &[Val<'v>]) -> EvalResult<'v> {
    let (text, wanted, last) = match args {
        [Val::String(text), Val::String(wanted)] => (text, wanted, None),
        [Val::String(text), Val::String(wanted), Val::Int(last)] => (text, wanted, Some(*last)),
        _ => return no_such_overload(),
    };
    let end = match last {
        None => text.len(),
        Some(last) => {
            let at = usize::try_from(last).ok().and_then(|at| offset(text, at));
            let Some(at) = at.filter(|at| *at < text.len() || wanted.is_empty()) else {
                return out_of_range(last);
            };
            (at + wanted.len()).min(text.len())
        }
    };
    let mut end = end;
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let within = text.get(..end).unwrap_or_default();
    let found = within.rfind(wanted.as_str()).and_then(|at| text.get(..at));
    Ok(Val::Int(found.map_or(-1, count)))
}

fn changed<'v>(meter: &mut Meter, args: &[Val<'v>], change: fn(&str) -> String) -> EvalResult<'v> {
    let [Val::String(text)] = args else { return no_such_overload() };
    meter.allocate(text.len())?;
    Ok(Val::String(change(text).into()))
}

fn replace<'v>(meter: &mut Meter, args: &[Val<'v>]) -> EvalResult<'v> {
    let (text, old, new, most) = match args {
        [Val::String(text), Val::String(old), Val::String(new)] => (text, old, new, -1),
        [Val::String(text), Val::String(old), Val::String(new), Val::Int(most)] => (text, old, new, *most),
        _ => return no_such_overload(),
    };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let times = match old.is_empty() {
        true => text.chars().count() + 1,
        false => text.matches(old.as_str()).count(),
    };
    let added = times.min(most).saturating_mul(new.len());
    meter.allocate(text.len().saturating_add(added))?;
    Ok(Val::String(text.replacen(old.as_str(), new, most).into()))
}

fn split<'v>(meter: &mut Meter, args: &[Val<'v>]) -> EvalResult<'v> {
    let (text, separator, most) = match args {
        [Val::String(text), Val::String(separator)] => (text, separator, -1),
        [Val::String(text), Val::String(separator), Val::Int(most)] => (text, separator, *most),
        _ => return no_such_overload(),
    };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let mut push = |meter: &mut Meter, part: &str| -> Result<(), Error> {
        meter.allocate(part.len() + size_of::<Val<'_>>())?;
        parts.push(Val::String(part.into()));
        Ok(())
    };
    if separator.is_empty() {
        let mut rest = text.as_str();
        let mut made = 0;
        while let Some(letter) = rest.chars().next() {
            made += 1;
            if made >= most {
                break;
            }
            let (first, after) = rest.split_at(letter.len_utf8());
            push(meter, first)?;
            rest = after;
        }
        if !rest.is_empty() && most > 0 {
            push(meter, rest)?;
        }
    } else if most > 0 {
        for part in text.splitn(most, separator.as_str()) {
            push(meter, part)?;
        }
    }
    Ok(Val::list(parts))
}

fn substring<'v>(meter: &mut Meter, args: &[Val<'v>]) -> EvalResult<'v> {
    let (text, from, to) = match args {
        [Val::String(text), Val::Int(from)] => (text, *from, None),
        [Val::String(text), Val::Int(from), Val::Int(to)] => (text, *from, Some(*to)),
        _ => return no_such_overload(),
    };
    if let Some(to) = to.filter(|to| from > *to) {
        return fail(format!("invalid substring range. start: {from}, end: {to}"));
    }
    let Some(start) = usize::try_from(from).ok().and_then(|at| offset(text, at)) else {
        return out_of_range(from);
    };
    let end = match to {
        None => text.len(),
        Some(to) => match usize::try_from(to).ok().and_then(|at| offset(text, at)) {
            Some(end) => end,
            None => return out_of_range(to),
        },
    };
    meter.allocate(end.saturating_sub(start))?;
    Ok(Val::String(text.get(start..end).unwrap_or_default().into()))
}

fn quote<'v>(meter: &mut Meter, text: &str) -> EvalResult<'v> {
    meter.allocate(text.len().saturating_mul(2) + 2)?;
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            other => out.push(other),
        }
    }
    out.push('"');
    Ok(Val::String(out.into()))
}

/// Joins strings. The size is counted before anything is allocated.
fn join<'v>(meter: &mut Meter, args: &[Val<'v>]) -> EvalResult<'v> {
    let (list, separator) = match args {
        [Val::List(list)] => (list, ""),
        [Val::List(list), Val::String(separator)] => (list, separator.as_str()),
        _ => return no_such_overload(),
    };
    let mut size = list.len().saturating_sub(1).saturating_mul(separator.len());
    for item in list.iter() {
        match item? {
            Val::String(text) => size = size.saturating_add(text.len()),
            other => return fail(format!("join: invalid input: {}", super::shown(&other))),
        }
    }
    meter.allocate(size)?;
    let mut out = String::with_capacity(size);
    for (at, item) in list.iter().enumerate() {
        if at > 0 {
            out.push_str(separator);
        }
        if let Val::String(text) = item? {
            out.push_str(&text);
        }
    }
    Ok(Val::String(out.into()))
}
