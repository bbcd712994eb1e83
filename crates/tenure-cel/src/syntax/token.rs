//! The lexer. It reads one token at a time, so a long text needs no list of tokens.

use crate::{error::Issue, syntax::literal};
use tenure_value::Text;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    End,
    Ident(Text),
    Int(Text),
    UInt(Text),
    Double(Text),
    String(Text),
    Bytes(Vec<u8>),
    /// An operator, a bracket or another symbol.
    Sign(&'static str),
    True,
    False,
    Null,
    In,
}

/// The symbols, longest first.
const SIGNS: [&str; 23] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":",
    "+", "*", "/",
];

/// Reads tokens from a text.
#[derive(Clone)]
pub(crate) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

/// A token with its position in the text.
#[derive(Clone, Debug)]
pub(crate) struct Spanned {
    pub token: Token,
    pub start: usize,
    pub end: usize,
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str) -> Lexer<'t> {
        Lexer { text, at: 0 }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn skip_space(&mut self) {
        loop {
            match self.byte(0) {
                Some(b' ' | b'\t' | b'\r' | b'\n' | 0x0c) => self.at += 1,
                Some(b'/') if self.byte(1) == Some(b'/') => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                _ => return,
            }
        }
    }

    pub fn next(&mut self) -> Result<Spanned, Issue> {
        self.skip_space();
        let start = self.at;
        let token = self.token(start)?;
        Ok(Spanned { token, start, end: self.at })
    }

    fn token(&mut self, start: usize) -> Result<Token, Issue> {
        let Some(first) = self.byte(0) else { return Ok(Token::End) };
        match first {
            b'0'..=b'9' => Ok(self.number()),
            b'.' if self.byte(1).is_some_and(|byte| byte.is_ascii_digit()) => Ok(self.number()),
            b'"' | b'\'' => self.quoted(false, false),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
            b'`' => Err(Issue { offset: start, message: "unsupported syntax: '`'".into() }),
            b'%' => {
                self.at += 1;
                Ok(Token::Sign("%"))
            }
            _ => {
                let rest = self.rest();
                if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                    self.at += sign.len();
                    return Ok(Token::Sign(sign));
                }
                let letter: String = rest.chars().take(1).collect();
                let message = format!("Syntax error: token recognition error at: '{letter}'");
                Err(Issue { offset: start, message })
            }
        }
    }

    fn word(&mut self) -> Result<Token, Issue> {
        if let Some((raw, bytes, length)) = quote_prefix(self.rest().as_bytes()) {
            self.at += length;
            return self.quoted(raw, bytes);
        }
        let rest = self.rest();
        let end =
            rest.find(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '_')).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        self.at += end;
        Ok(match word {
            "true" => Token::True,
            "false" => Token::False,
            "null" => Token::Null,
            "in" => Token::In,
            _ => Token::Ident(word.into()),
        })
    }

    fn digits(&mut self, is_digit: fn(&u8) -> bool) -> usize {
        let count = self.rest().bytes().take_while(is_digit).count();
        self.at += count;
        count
    }

    fn number(&mut self) -> Token {
        let start = self.at;
        let text = |lexer: &Lexer<'_>| Text::new(lexer.text.get(start..lexer.at).unwrap_or_default());
        let is_hex =
            self.rest().starts_with("0x") && self.byte(2).is_some_and(|byte| byte.is_ascii_hexdigit());
        if is_hex {
            self.at += 2;
            self.digits(u8::is_ascii_hexdigit);
        } else {
            self.digits(u8::is_ascii_digit);
            let mut is_double = false;
            if self.byte(0) == Some(b'.') && self.byte(1).is_some_and(|byte| byte.is_ascii_digit()) {
                self.at += 1;
                self.digits(u8::is_ascii_digit);
                is_double = true;
            }
            if matches!(self.byte(0), Some(b'e' | b'E')) {
                let sign = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
                if self.byte(1 + sign).is_some_and(|byte| byte.is_ascii_digit()) {
                    self.at += 1 + sign;
                    self.digits(u8::is_ascii_digit);
                    is_double = true;
                }
            }
            if is_double {
                return Token::Double(text(self));
            }
        }
        let number = text(self);
        if matches!(self.byte(0), Some(b'u' | b'U')) {
            self.at += 1;
            return Token::UInt(number);
        }
        Token::Int(number)
    }

    fn quoted(&mut self, raw: bool, bytes: bool) -> Result<Token, Issue> {
        let start = self.at;
        let rest = self.rest();
        let quote = rest.get(..1).unwrap_or_default();
        let triple =
            rest.get(..3).filter(|three| three.bytes().all(|byte| Some(byte) == quote.bytes().next()));
        let (open, is_triple) = match triple {
            Some(three) if closes(rest.get(3..).unwrap_or_default(), three, raw, true).is_some() => {
                (three, true)
            }
            _ => (quote, false),
        };
        let body = rest.get(open.len()..).unwrap_or_default();
        let Some(length) = closes(body, open, raw, is_triple) else {
            let line = rest.split('\n').next().unwrap_or_default();
            let message = format!("Syntax error: token recognition error at: '{line}'");
            return Err(Issue { offset: start, message });
        };
        let body = body.get(..length).unwrap_or_default();
        self.at += open.len() * 2 + length;
        let invalid = |message: String| Issue { offset: start, message };
        match bytes {
            true => literal::unescape_bytes(body, raw).map(Token::Bytes).map_err(invalid),
            false => literal::unescape(body, raw).map(Token::String).map_err(invalid),
        }
    }
}

/// Returns whether a literal has a raw or bytes prefix, and the length of the prefix.
fn quote_prefix(text: &[u8]) -> Option<(bool, bool, usize)> {
    let is_quote = |at: usize| matches!(text.get(at), Some(b'"' | b'\''));
    let lower = |at: usize| text.get(at).map(u8::to_ascii_lowercase);
    match (lower(0)?, lower(1)) {
        (b'r', _) if is_quote(1) => Some((true, false, 1)),
        (b'b', _) if is_quote(1) => Some((false, true, 1)),
        (b'b', Some(b'r')) if is_quote(2) => Some((true, true, 2)),
        _ => None,
    }
}

/// Returns the length of a literal up to its closing quote.
fn closes(body: &str, quote: &str, raw: bool, lines: bool) -> Option<usize> {
    let bytes = body.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if !raw => at += 2,
            b'\n' | b'\r' if !lines => return None,
            _ if bytes.get(at..).is_some_and(|rest| rest.starts_with(quote.as_bytes())) => return Some(at),
            _ => at += 1,
        }
    }
    None
}

impl Token {
    /// Returns the text of the token as it appears in messages.
    pub fn shown<'t>(&self, text: &'t str, start: usize, end: usize) -> &'t str {
        match self {
            Token::End => "<EOF>",
            _ => text.get(start..end).unwrap_or_default(),
        }
    }
}
