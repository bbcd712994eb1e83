//! JSON pointers (RFC 6901), and what Kubernetes accepts as one: it skips text before the first slash, and accepts
//! negative and padded list indexes.

use tenure_value::Text;

/// How JSON pointers and operations are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// What Kubernetes accepts: `replace` creates an absent field, an absent `value` is `null`, a `test` for `null`
    /// holds for an absent field, indexes may count from the end, and the whole document can be replaced but not
    /// added.
    #[default]
    Kubernetes,
    /// RFC 6902.
    Standard,
}

/// A pointer, as its reference tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    tokens: Vec<Text>,
}

impl Pointer {
    /// Reads a pointer; the error says what is wrong.
    pub(crate) fn read(text: &str, dialect: Dialect) -> Result<Pointer, &'static str> {
        if text.is_empty() {
            return Ok(Pointer { tokens: Vec::new() });
        }
        let rest = match (text.split_once('/'), dialect) {
            (Some(("", rest)) | Some((_, rest)), Dialect::Kubernetes) | (Some(("", rest)), _) => rest,
            _ => return Err("a pointer must begin with a slash"),
        };
        let tokens = rest.split('/').map(|token| unescape(token, dialect)).collect::<Result<_, _>>()?;
        Ok(Pointer { tokens })
    }

    /// Returns the tokens.
    pub(crate) fn tokens(&self) -> &[Text] {
        &self.tokens
    }

    /// Splits off the last token; `None` for the pointer to the whole document.
    pub(crate) fn split(&self) -> Option<(&[Text], &Text)> {
        self.tokens.split_last().map(|(last, parents)| (parents, last))
    }

    /// Whether this points to the target of another pointer or below it.
    pub(crate) fn is_within(&self, other: &Pointer) -> bool {
        self.tokens.starts_with(&other.tokens)
    }
}

/// Escapes a token for a pointer.
pub(crate) fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

fn unescape(token: &str, dialect: Dialect) -> Result<Text, &'static str> {
    if !token.contains('~') {
        return Ok(token.into());
    }
    let valid = token.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    if !valid && dialect == Dialect::Standard {
        return Err("a tilde must be followed by 0 or 1");
    }
    Ok(token.replace("~1", "/").replace("~0", "~").into())
}

/// Reads a token as an index into a list of this length.
pub(crate) fn index(token: &str, length: usize, dialect: Dialect) -> Option<usize> {
    match dialect {
        Dialect::Standard => {
            let digits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
            let padded = token.len() > 1 && token.starts_with('0');
            let number: usize = if digits && !padded { token.parse().ok()? } else { return None };
            (number < length).then_some(number)
        }
        Dialect::Kubernetes => {
            let number: i64 = token.parse().ok()?;
            let length = i64::try_from(length).ok()?;
            let number = if number < 0 { number.checked_add(length)? } else { number };
            usize::try_from(number).ok().filter(|_| number < length)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_unescaped_in_the_right_order() {
        let pointer = Pointer::read("/a~1b/m~0n/~01/", Dialect::Standard).unwrap();
        assert_eq!(pointer.tokens(), ["a/b", "m~n", "~1", ""]);
        assert_eq!(escape("a/b~1"), "a~1b~01");
        assert!(Pointer::read("/~2", Dialect::Standard).is_err());
        assert!(Pointer::read("a/b", Dialect::Standard).is_err());
        assert_eq!(Pointer::read("a/b", Dialect::Kubernetes).unwrap().tokens(), ["b"]);
        assert!(Pointer::read("a", Dialect::Kubernetes).is_err());
    }

    #[test]
    fn indexes_follow_the_dialect() {
        for (token, standard, kubernetes) in [
            ("0", Some(0), Some(0)),
            ("2", Some(2), Some(2)),
            ("3", None, None),
            ("00", None, Some(0)),
            ("-1", None, Some(2)),
            ("-4", None, None),
            ("-", None, None),
            ("x", None, None),
            ("", None, None),
        ] {
            assert_eq!(index(token, 3, Dialect::Standard), standard, "{token}");
            assert_eq!(index(token, 3, Dialect::Kubernetes), kubernetes, "{token}");
        }
    }
}
