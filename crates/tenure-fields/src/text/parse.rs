//! Parses unambiguous paths: names are plain words or quoted. Strings may use the escapes of JSON or of Go,
//! since conflict messages use the latter.

use crate::{Error, Path, PathElement};
use std::str::FromStr;
use tenure_value::{Limits, Text, Value, json};

impl Path {
    /// Parses a path whose names are plain words or quoted; the first dot is optional.
    ///
    /// ```
    /// use tenure_fields::Path;
    ///
    /// let text = r#".spec.containers[name="web"].ports[containerPort=80,protocol="TCP"].name"#;
    /// assert_eq!(Path::parse(text).map(|path| path.to_string()), Ok(text.to_owned()));
    /// ```
    pub fn parse(text: &str) -> Result<Path, Error> {
        let mut cursor = Cursor { text, at: 0 };
        let mut path = Path::default();
        while cursor.at < text.len() {
            if path.len() == Limits::DEPTH {
                return Err(cursor.wrong(format!("a path has at most {} steps", Limits::DEPTH)));
            }
            path.push(match cursor.peek() {
                Some('[') => cursor.bracket()?,
                Some('.') => {
                    cursor.at += 1;
                    cursor.field()?
                }
                _ if path.is_empty() => cursor.field()?,
                _ => return Err(cursor.wrong("expected a dot or an opening bracket")),
            });
        }
        Ok(path)
    }
}

/// Parses a path as [`Path::parse`] does.
impl FromStr for Path {
    type Err = Error;

    fn from_str(text: &str) -> Result<Path, Error> {
        Path::parse(text)
    }
}

/// A position in the text of a path.
pub(super) struct Cursor<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn wrong(&self, problem: impl Into<String>) -> Error {
        Error::Path { text: self.text.to_owned(), offset: self.at, problem: problem.into() }
    }

    fn field(&mut self) -> Result<PathElement, Error> {
        Ok(PathElement::Field(self.name(&['.', '['])?))
    }

    /// Parses a name that is quoted or ends before any of these characters.
    pub(super) fn name(&mut self, ends: &[char]) -> Result<Text, Error> {
        if self.peek() == Some('"') {
            return self.string().map(Text::from);
        }
        let rest = self.rest();
        let end = rest.find(ends).unwrap_or(rest.len());
        if end == 0 {
            return Err(self.wrong("expected a name; an empty one is written \"\""));
        }
        self.at += end;
        Ok(Text::new(&rest[..end]))
    }

    /// Parses the element of a list item, starting at its opening bracket.
    pub(super) fn bracket(&mut self) -> Result<PathElement, Error> {
        self.expect('[')?;
        if self.peek() == Some('=') {
            self.at += 1;
            let value = self.value(0)?;
            self.expect(']')?;
            return Ok(PathElement::Value(value));
        }
        if let Some((index, _)) = self.rest().split_once(']')
            && let Ok(number) = index.parse()
        {
            self.at += index.len() + 1;
            return Ok(PathElement::Index(number));
        }
        let mut keys: Vec<(Text, Value)> = Vec::new();
        while self.peek() != Some(']') {
            if !keys.is_empty() {
                self.expect(',')?;
            }
            let name = self.name(&['=', ']', ','])?;
            self.expect('=')?;
            if keys.iter().any(|(other, _)| *other == name) {
                return Err(self.wrong(format!("key {name:?} is given twice")));
            }
            keys.push((name, self.value(0)?));
        }
        self.expect(']')?;
        Ok(PathElement::key(keys))
    }

    pub(super) fn expect(&mut self, character: char) -> Result<(), Error> {
        if self.peek() == Some(character) {
            self.at += character.len_utf8();
            return Ok(());
        }
        Err(self.wrong(format!("expected {character:?}")))
    }

    /// Parses a value: JSON, except that strings may contain Go's escapes.
    pub(super) fn value(&mut self, depth: usize) -> Result<Value, Error> {
        match self.peek() {
            Some('"') => self.string().map(Value::from),
            Some('{') => self.object(),
            Some('[') if depth < Limits::DEPTH => {
                self.at += 1;
                let mut items = Vec::new();
                while self.peek() != Some(']') {
                    if !items.is_empty() {
                        self.expect(',')?;
                    }
                    items.push(self.value(depth + 1)?);
                }
                self.at += 1;
                Ok(Value::array(items))
            }
            _ => {
                let rest = self.rest();
                let token = rest.split([',', ']']).next().unwrap_or_default();
                let value = self.json(token)?;
                self.at += token.len();
                Ok(value)
            }
        }
    }

    /// Parses an object, which is JSON.
    fn object(&mut self) -> Result<Value, Error> {
        let rest = self.rest();
        let (mut open, mut quoted, mut escaped) = (0usize, false, false);
        for (at, byte) in rest.bytes().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                b'{' if !quoted => open += 1,
                b'}' if !quoted => {
                    open -= 1;
                    if open == 0 {
                        let value = self.json(&rest[..=at])?;
                        self.at += at + 1;
                        return Ok(value);
                    }
                }
                _ => {}
            }
        }
        Err(self.wrong("expected the closing brace of an object"))
    }

    fn json(&self, text: &str) -> Result<Value, Error> {
        json::parse(text.as_bytes(), &Limits::default())
            .map_err(|error| self.wrong(format!("expected a value in JSON: {}", error.problem())))
    }

    /// Parses a quoted string.
    pub(super) fn string(&mut self) -> Result<String, Error> {
        self.expect('"')?;
        let mut string = String::new();
        loop {
            let rest = self.rest();
            let plain = rest.find(['"', '\\']).ok_or_else(|| self.wrong("expected a closing quote"))?;
            string.push_str(&rest[..plain]);
            self.at += plain + 1;
            if rest[plain..].starts_with('"') {
                return Ok(string);
            }
            string.push(self.escape()?);
        }
    }

    /// Parses an escape after its backslash.
    fn escape(&mut self) -> Result<char, Error> {
        let letter = self.peek().ok_or_else(|| self.wrong("expected a closing quote"))?;
        self.at += letter.len_utf8();
        let digits = match letter {
            '"' | '\\' | '/' | '\'' => return Ok(letter),
            'a' => return Ok('\u{7}'),
            'b' => return Ok('\u{8}'),
            'f' => return Ok('\u{C}'),
            'n' => return Ok('\n'),
            'r' => return Ok('\r'),
            't' => return Ok('\t'),
            'v' => return Ok('\u{B}'),
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => return Err(self.wrong("expected an escape of JSON or Go")),
        };
        let mut number = self.hexadecimal(digits)?;
        // JSON encodes characters beyond the basic plane as surrogate pairs.
        if (0xD800..0xDC00).contains(&number) && self.rest().starts_with("\\u") {
            self.at += 2;
            let low = self.hexadecimal(4)?;
            number = 0x10000 + ((number - 0xD800) << 10) + (low.wrapping_sub(0xDC00) & 0x3FF);
        }
        char::from_u32(number).ok_or_else(|| self.wrong("expected a Unicode code point"))
    }

    fn hexadecimal(&mut self, digits: usize) -> Result<u32, Error> {
        let number =
            self.rest().get(..digits).filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let number = number.and_then(|text| u32::from_str_radix(text, 16).ok());
        let number = number.ok_or_else(|| self.wrong(format!("expected {digits} hexadecimal digits")))?;
        self.at += digits;
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_conflict_messages_are_parsed() {
        let field = |name: &str| PathElement::field(name);
        for (text, elements) in [
            ("", vec![]),
            (".spec.replicas", vec![field("spec"), field("replicas")]),
            ("spec.replicas", vec![field("spec"), field("replicas")]),
            (
                r#".ports[containerPort=80,protocol="TCP"].name"#,
                vec![
                    field("ports"),
                    PathElement::key([("containerPort", Value::from(80)), ("protocol", Value::from("TCP"))]),
                    field("name"),
                ],
            ),
            (r#".l[="a].b[\x41\u00e9\U0001f600"]"#, vec![field("l"), PathElement::Value("a].b[Aé😀".into())]),
            (r#".l[="\ud83d\ude00\v\/"]"#, vec![field("l"), PathElement::Value("😀\u{B}/".into())]),
            (".l[0][-1]", vec![field("l"), PathElement::Index(0), PathElement::Index(-1)]),
            (".l[=1.5e-07]", vec![field("l"), PathElement::Value(Value::float(1.5e-7).unwrap())]),
            (
                ".l[=null][=true]",
                vec![field("l"), PathElement::Value(Value::Null), PathElement::Value(true.into())],
            ),
            (
                r#".l[=["a",[1]]][={"a":"}\"]"}]"#,
                vec![
                    field("l"),
                    PathElement::Value(Value::array([Value::from("a"), Value::array([Value::from(1)])])),
                    PathElement::Value(Value::object([("a", Value::from("}\"]"))])),
                ],
            ),
            (r#"."a.b"."".c"#, vec![field("a.b"), field(""), field("c")]),
            (
                r#".l["a=b"=1][]"#,
                vec![
                    field("l"),
                    PathElement::key([("a=b", Value::from(1))]),
                    PathElement::key([("", Value::Null); 0]),
                ],
            ),
        ] {
            assert_eq!(Path::parse(text), Ok(elements.into_iter().collect()), "{text}");
        }
    }

    #[test]
    fn invalid_paths_are_rejected_with_the_position() {
        for (text, error) in [
            (".", r#"".", byte 1: expected a name; an empty one is written """#),
            (".a..b", r#"".a..b", byte 3: expected a name; an empty one is written """#),
            (".a[", r#"".a[", byte 3: expected a name; an empty one is written """#),
            (".a[b]", r#"".a[b]", byte 4: expected '='"#),
            (".a[0]b", r#"".a[0]b", byte 5: expected a dot or an opening bracket"#),
            (".a[b=1,b=2]", r#"".a[b=1,b=2]", byte 9: key "b" is given twice"#),
            (".a[b=1", r#"".a[b=1", byte 6: expected ','"#),
            (r#".a[="x"#, r#"".a[=\"x", byte 5: expected a closing quote"#),
            (r#".a[="\"#, r#"".a[=\"\\", byte 6: expected a closing quote"#),
            (r#".a[="\q"]"#, r#"".a[=\"\\q\"]", byte 7: expected an escape of JSON or Go"#),
            (r#".a[="\x4"]"#, r#"".a[=\"\\x4\"]", byte 7: expected 2 hexadecimal digits"#),
            (r#".a[="\ud800"]"#, r#"".a[=\"\\ud800\"]", byte 11: expected a Unicode code point"#),
            (".a[={]", r#"".a[={]", byte 4: expected the closing brace of an object"#),
        ] {
            assert_eq!(Path::parse(text).map_err(|error| error.to_string()), Err(error.to_owned()), "{text}");
        }
        assert!(Path::parse(".a[=x]").is_err());
        assert!(Path::parse(&"[".repeat(100_000)).is_err());
        assert!(Path::parse(&format!("[={}", "[".repeat(100_000))).is_err());
        assert!(Path::parse(&".a".repeat(100_000)).is_err());
    }
}
