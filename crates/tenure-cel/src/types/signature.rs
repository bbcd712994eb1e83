//! Function signatures as text, so that libraries are tables: `string.split(string, int): list(string)` is a
//! method of strings, `size(list(T)): int` a function, `sets.contains(list(T), list(T)): bool` a function
//! with a qualified name. Single letters are type parameters.

use super::Type;
use tenure_value::Text;

/// A signature.
pub(crate) struct Signature {
    pub name: Text,
    /// Whether the first parameter is the receiver, written before the dot.
    pub method: bool,
    pub params: Vec<Type>,
    pub result: Type,
}

impl Signature {
    /// Parses `receiver.name(params): result` (a method) or `name(params): result`. A receiver is a type; if
    /// the part before the dot is not a type, the name is a qualified name. A name in backticks is taken
    /// literally.
    pub fn parse(text: &str) -> Result<Signature, String> {
        let wrong = || {
            format!("'{text}' is not a signature: expected 'name(types): type' or 'type.name(types): type'")
        };
        let (head, result) = text.rsplit_once(':').ok_or_else(wrong)?;
        let head = head.trim().strip_suffix(')').ok_or_else(wrong)?;
        // The parameters begin at the outermost opening parenthesis.
        let mut depth = 0;
        let open = head.char_indices().rev().find(|(_, sign)| {
            depth += i32::from(*sign == ')') - i32::from(*sign == '(');
            depth < 0
        });
        let (open, _) = open.ok_or_else(wrong)?;
        let (path, args) = (head.get(..open).unwrap_or_default(), head.get(open + 1..).unwrap_or_default());
        let mut params = Vec::new();
        let (name, method) = match path.strip_prefix('`') {
            Some(quoted) => (quoted.trim_end_matches('`'), false),
            None => {
                match path.rsplit_once('.').and_then(|(receiver, name)| Some((parse_type(receiver)?, name))) {
                    Some((receiver, name)) => {
                        params.push(receiver);
                        (name, true)
                    }
                    None => (path, false),
                }
            }
        };
        if name.contains(['(', ')']) {
            return Err(wrong());
        }
        for arg in split(args) {
            params.push(parse_type(arg).ok_or_else(wrong)?);
        }
        let result = parse_type(result).ok_or_else(wrong)?;
        Ok(Signature { name: name.into(), method, params, result })
    }
}

/// Splits at commas outside of parentheses.
fn split(args: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, sign) in args.char_indices() {
        match sign {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(args.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(args.get(start..).unwrap_or_default());
    parts.retain(|part| !part.trim().is_empty());
    parts
}

/// Parses a type: a known word, `list(…)`, `map(…, …)`, `optional(…)`, a single capital letter, or
/// `a.b.Name`.
fn parse_type(text: &str) -> Option<Type> {
    let text = text.trim();
    if let Some((word, rest)) = text.split_once('(') {
        let parts = split(rest.strip_suffix(')')?);
        let mut parts = parts.into_iter().map(parse_type);
        let first = parts.next()??;
        return match word {
            "list" => Some(Type::list(first)),
            "optional" => Some(Type::optional(first)),
            "map" => Some(Type::map(first, parts.next()??)),
            _ => None,
        };
    }
    Some(match text {
        "dyn" => Type::Dyn,
        "null" => Type::Null,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::UInt,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "type" => Type::Type,
        letter if letter.len() == 1 && letter.bytes().all(|byte| byte.is_ascii_uppercase()) => {
            Type::Param(letter.into())
        }
        name => {
            let last = name.rsplit('.').next().unwrap_or_default();
            let is_name = name.contains('.') && last.starts_with(|first: char| first.is_ascii_uppercase());
            return is_name.then(|| Type::named(name));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_parsed() {
        for (text, name, method, params, result) in [
            ("string.split(string, int): list(string)", "split", true, "string, string, int", "list(string)"),
            ("size(map(K, V)): int", "size", false, "map(K, V)", "int"),
            ("list(list(T)).flatten(): list(T)", "flatten", true, "list(list(T))", "list(T)"),
            ("sets.contains(list(T), list(T)): bool", "sets.contains", false, "list(T), list(T)", "bool"),
            ("net.IP.family(): int", "family", true, "net.IP", "int"),
            ("`_?_:_`(bool, T, T): T", "_?_:_", false, "bool, T, T", "T"),
            ("optional.none(): optional(V)", "optional.none", false, "", "optional_type(V)"),
        ] {
            let read = Signature::parse(text).unwrap();
            let shown: Vec<String> = read.params.iter().map(Type::to_string).collect();
            assert_eq!((read.name.as_str(), read.method), (name, method), "{text}");
            assert_eq!(
                (shown.join(", ").as_str(), read.result.to_string().as_str()),
                (params, result),
                "{text}"
            );
        }
        for wrong in ["f", "f()", "f(int)", "f(what): int", "f(): what", "f(list(): int"] {
            assert!(Signature::parse(wrong).is_err(), "{wrong}");
        }
    }
}
