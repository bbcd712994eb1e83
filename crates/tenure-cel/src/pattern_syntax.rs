//! The syntax of Go's `regexp`: what it refuses, with its words. An expression that passes may still have a Unicode class that
//! does not exist.

/// The largest count of a repetition, and of repetitions in each other.
const MAX_REPEAT: u64 = 1000;

/// A part of an expression that Go refuses, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {reason}: `{part}`")]
pub struct SyntaxError {
    reason: &'static str,
    part: String,
}

impl SyntaxError {
    /// Returns the error of a character class that does not exist.
    pub fn unknown_class(part: &str) -> SyntaxError {
        fault("invalid character class range", part)
    }
}

fn fault(reason: &'static str, part: &str) -> SyntaxError {
    SyntaxError { reason, part: part.to_owned() }
}

/// Returns the text between a position and the rest that follows it.
fn until<'s>(from: &'s str, rest: &str) -> &'s str {
    from.get(..from.len() - rest.len()).unwrap_or_default()
}

/// What stands before a place inside of a group.
#[derive(Clone, Copy, Default)]
struct Group {
    /// How often the operand before this place is repeated; `None` if a repetition has no operand here.
    operand: Option<u64>,
    /// The most of any operand of the group.
    most: u64,
}

impl Group {
    fn push(&mut self, repeated: u64) {
        self.operand = Some(repeated);
        self.most = self.most.max(repeated);
    }
}

/// Checks an expression, in time linear in its length.
pub fn check(source: &str) -> Result<(), SyntaxError> {
    let mut groups = vec![Group::default()];
    let mut rest = source;
    // The repetition that ends here, to refuse another one.
    let mut repeated = "";
    while let Some(sign) = rest.chars().next() {
        let before = rest;
        let after = &rest[sign.len_utf8()..];
        let last = std::mem::take(&mut repeated);
        match sign {
            '(' if after.starts_with('?') => {
                let (opens, after) = flags(before)?;
                if opens {
                    groups.push(Group::default());
                }
                rest = after;
                continue;
            }
            '(' => groups.push(Group::default()),
            '|' => group(&mut groups).operand = None,
            ')' => match groups.pop() {
                Some(inner) if !groups.is_empty() => group(&mut groups).push(inner.most.max(1)),
                _ => return Err(fault("unexpected )", source)),
            },
            '[' => {
                rest = class(before)?;
                group(&mut groups).push(1);
                continue;
            }
            '*' | '+' | '?' => {
                rest = repeat(group(&mut groups), None, before, after, last)?;
                repeated = before;
                continue;
            }
            '{' => {
                if let Some((count, after)) = counted(after) {
                    let Some(count) = count else {
                        return Err(fault("invalid repeat count", until(before, after)));
                    };
                    rest = repeat(group(&mut groups), Some(count), before, after, last)?;
                    repeated = before;
                    continue;
                }
                group(&mut groups).push(1);
            }
            '\\' => {
                rest = escaped(before)?;
                group(&mut groups).push(1);
                continue;
            }
            _ => group(&mut groups).push(1),
        }
        rest = after;
    }
    match groups.len() {
        1 => Ok(()),
        _ => Err(fault("missing closing )", source)),
    }
}

/// Returns the innermost group; there is one until the last closing parenthesis, which is refused.
fn group(groups: &mut Vec<Group>) -> &mut Group {
    if groups.is_empty() {
        groups.push(Group::default());
    }
    let last = groups.len() - 1;
    &mut groups[last]
}

/// Applies a repetition to the operand before it, and returns what follows.
fn repeat<'s>(
    group: &mut Group,
    count: Option<u64>,
    before: &'s str,
    after: &'s str,
    last: &'s str,
) -> Result<&'s str, SyntaxError> {
    let after = after.strip_prefix('?').unwrap_or(after);
    if !last.is_empty() {
        return Err(fault("invalid nested repetition operator", until(last, after)));
    }
    let Some(operand) = group.operand else {
        return Err(fault("missing argument to repetition operator", until(before, after)));
    };
    let total = operand.saturating_mul(count.unwrap_or(1).max(1));
    if count.is_some_and(|count| count >= 2) && total > MAX_REPEAT {
        return Err(fault("invalid repeat count", until(before, after)));
    }
    group.push(total);
    Ok(after)
}

/// Reads what follows the brace of a repetition: its largest count, `None` inside if it is out of bounds, and what follows it.
/// Braces with anything else are literal.
fn counted(text: &str) -> Option<(Option<u64>, &str)> {
    let length = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b',').count();
    let (inside, after) = text.split_at(length);
    let after = after.strip_prefix('}')?;
    let (least, most) = match inside.split_once(',') {
        None => (inside, Some(inside)),
        Some((least, "")) => (least, None),
        Some((least, most)) => (least, Some(most)),
    };
    let is_number = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && (text.len() == 1 || !text.starts_with('0'))
    };
    if !is_number(least) || !most.is_none_or(is_number) {
        return None;
    }
    let number = |text: &str| text.parse::<u64>().ok().filter(|count| *count <= MAX_REPEAT);
    let count = match most {
        None => number(least),
        Some(most) => {
            number(least).zip(number(most)).filter(|(least, most)| least <= most).map(|both| both.1)
        }
    };
    Some((count, after))
}

/// Reads `(?…`: a named group, or flags. Returns whether a group begins, and what follows.
fn flags(before: &str) -> Result<(bool, &str), SyntaxError> {
    let named = ["(?P<", "(?<"].into_iter().find_map(|prefix| before.strip_prefix(prefix));
    if let Some(name) = named.filter(|name| !name.is_empty()) {
        let Some((name, after)) = name.split_once('>') else {
            return Err(fault("invalid named capture", before));
        };
        let is_word = |sign: char| sign == '_' || sign.is_ascii_alphanumeric();
        return match !name.is_empty() && name.chars().all(is_word) {
            true => Ok((true, after)),
            false => Err(fault("invalid named capture", until(before, after))),
        };
    }
    let mut rest = before.get(2..).unwrap_or_default();
    let (mut negated, mut seen) = (false, false);
    while let Some(sign) = rest.chars().next() {
        rest = &rest[sign.len_utf8()..];
        match sign {
            'i' | 'm' | 's' | 'U' => seen = true,
            '-' if !negated => (negated, seen) = (true, false),
            ':' | ')' if !negated || seen => return Ok((sign == ':', rest)),
            _ => break,
        }
    }
    Err(fault("invalid or unsupported Perl syntax", until(before, rest)))
}

/// Reads what a backslash begins outside of a class, and returns what follows.
fn escaped(before: &str) -> Result<&str, SyntaxError> {
    match before.as_bytes().get(1) {
        Some(b'A' | b'b' | b'B' | b'z') => Ok(&before[2..]),
        Some(b'C') => Err(fault("invalid escape sequence", &before[..2])),
        Some(b'Q') => {
            Ok(before.get(2..).and_then(|quoted| quoted.split_once("\\E")).map_or("", |both| both.1))
        }
        _ => class_escape(before),
    }
}

/// Reads what a backslash begins inside of a class, and elsewhere: a class, or a character.
fn class_escape(before: &str) -> Result<&str, SyntaxError> {
    match before.as_bytes().get(1) {
        Some(b'p' | b'P') => unicode_class(before),
        Some(b'd' | b'D' | b's' | b'S' | b'w' | b'W') => Ok(&before[2..]),
        _ => character(before),
    }
}

fn unicode_class(before: &str) -> Result<&str, SyntaxError> {
    let after = before.get(2..).unwrap_or_default();
    match after.chars().next() {
        // Go takes these for characters, which they are not either.
        None => Err(fault("invalid escape sequence", before)),
        Some('{') => match after.split_once('}') {
            Some((_, after)) => Ok(after),
            None => Err(SyntaxError::unknown_class(before)),
        },
        Some(letter) => Ok(&after[letter.len_utf8()..]),
    }
}

/// Reads an escaped character, and returns what follows.
fn character(before: &str) -> Result<&str, SyntaxError> {
    let after = before.get(1..).unwrap_or_default();
    let Some(sign) = after.chars().next() else {
        return Err(fault("trailing backslash at end of expression", ""));
    };
    let mut rest = &after[sign.len_utf8()..];
    let is_octal = |rest: &str| rest.bytes().next().is_some_and(|byte| matches!(byte, b'0'..=b'7'));
    let refused = |rest: &str| Err(fault("invalid escape sequence", until(before, rest)));
    match sign {
        'a' | 'f' | 'n' | 'r' | 't' | 'v' => Ok(rest),
        '0' | '1'..='7' if sign == '0' || is_octal(rest) => {
            for _ in 0..2 {
                rest = if is_octal(rest) { &rest[1..] } else { rest };
            }
            Ok(rest)
        }
        'x' if rest.starts_with('{') => {
            let digits = rest[1..].bytes().take_while(u8::is_ascii_hexdigit).count();
            let (code, after) = rest[1..].split_at(digits);
            let value = u32::from_str_radix(code, 16).ok().filter(|value| *value <= 0x0010_FFFF);
            match (value, after.chars().next()) {
                (Some(_), Some('}')) => Ok(&after[1..]),
                (_, Some(sign)) => refused(&after[sign.len_utf8()..]),
                (_, None) => refused(after),
            }
        }
        'x' => {
            let mut are_digits = true;
            for _ in 0..2 {
                let Some(digit) = rest.chars().next() else { return refused(rest) };
                are_digits &= digit.is_ascii_hexdigit();
                rest = &rest[digit.len_utf8()..];
            }
            if are_digits { Ok(rest) } else { refused(rest) }
        }
        sign if sign.is_ascii() && !sign.is_ascii_alphanumeric() => Ok(rest),
        _ => refused(rest),
    }
}

/// Reads a class, and returns what follows it.
fn class(before: &str) -> Result<&str, SyntaxError> {
    let missing = || fault("missing closing ]", before);
    let mut rest = before.get(1..).unwrap_or_default();
    rest = rest.strip_prefix('^').unwrap_or(rest);
    let (mut is_first, mut has_named) = (true, true);
    loop {
        if let Some(after) = rest.strip_prefix(']').filter(|_| !is_first) {
            return Ok(after);
        }
        is_first = false;
        if let Some(named) = rest.strip_prefix("[:").filter(|_| has_named) {
            match named.split_once(":]") {
                Some((name, after)) if is_posix(name) => {
                    rest = after;
                    continue;
                }
                Some((_, after)) => return Err(SyntaxError::unknown_class(until(rest, after))),
                // There is none further on either.
                None => has_named = false,
            }
        }
        if let Some(b'p' | b'P' | b'd' | b'D' | b's' | b'S' | b'w' | b'W') =
            rest.strip_prefix('\\').and_then(|after| after.as_bytes().first())
        {
            rest = class_escape(rest)?;
            continue;
        }
        let range = rest;
        let low;
        (low, rest) = class_character(rest).ok_or_else(missing)??;
        let end = rest.strip_prefix('-').filter(|after| !after.is_empty() && !after.starts_with(']'));
        if let Some(end) = end {
            let high;
            (high, rest) = class_character(end).ok_or_else(missing)??;
            if high < low {
                return Err(fault("invalid character class range", until(range, rest)));
            }
        }
    }
}

/// Reads a character of a class: its code, and what follows; `None` at the end of the expression.
fn class_character(text: &str) -> Option<Result<(u32, &str), SyntaxError>> {
    let sign = text.chars().next()?;
    if sign != '\\' {
        return Some(Ok((u32::from(sign), &text[sign.len_utf8()..])));
    }
    Some(character(text).map(|rest| (code(until(text, rest)), rest)))
}

/// Returns the code of an escaped character that was read.
fn code(written: &str) -> u32 {
    let after = written.get(1..).unwrap_or_default();
    let digits = after.trim_start_matches('x').trim_matches(['{', '}']);
    match after.chars().next() {
        Some('a') => 7,
        Some('f') => 12,
        Some('n') => 10,
        Some('r') => 13,
        Some('t') => 9,
        Some('v') => 11,
        Some('x') => u32::from_str_radix(digits, 16).unwrap_or_default(),
        Some('0'..='7') => u32::from_str_radix(after, 8).unwrap_or_default(),
        Some(sign) => u32::from(sign),
        None => 0,
    }
}

fn is_posix(name: &str) -> bool {
    let name = name.strip_prefix('^').unwrap_or(name);
    let names =
        "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split(' ');
    names.into_iter().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_of_go() {
        for (source, message) in [
            ("(", "missing closing ): `(`"),
            ("a)", "unexpected ): `a)`"),
            ("[a", "missing closing ]: `[a`"),
            ("x[]a", "missing closing ]: `[]a`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("(|*)", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a*?+", "invalid nested repetition operator: `*?+`"),
            ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("a{3,2}", "invalid repeat count: `{3,2}`"),
            ("(a{100}){11}", "invalid repeat count: `{11}`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
            (r"\q", r"invalid escape sequence: `\q`"),
            (r"\8", r"invalid escape sequence: `\8`"),
            (r"\x{zz}", r"invalid escape sequence: `\x{z`"),
            (r"\C", r"invalid escape sequence: `\C`"),
            ("a\\", "trailing backslash at end of expression: ``"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?<!a)", "invalid named capture: `(?<!a)`"),
            ("(?P<a b>c)", "invalid named capture: `(?P<a b>`"),
            ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
        ] {
            let error = check(source).map_err(|error| error.to_string());
            assert_eq!(error, Err(format!("error parsing regexp: {message}")), "{source}");
        }
    }

    #[test]
    fn what_go_takes_is_valid() {
        for source in [
            "",
            "a{,2}",
            "a{x",
            "{",
            "(?i)a",
            "(?i:a)*",
            "(?P<n>a)",
            "(?<n>a)",
            r"[\d-z]",
            "[]a]",
            "[^]a]",
            "[a-]",
            r"\Q(\E",
            r"\p{Greek}+",
            r"[\pL]",
            "(a{10}){100}",
            "a|b|",
            "()*",
            r"\x41\077",
            "[[:^alpha:]]",
            "a{0}",
            "é+",
            r"\_",
        ] {
            assert_eq!(check(source), Ok(()), "{source}");
        }
    }
}
