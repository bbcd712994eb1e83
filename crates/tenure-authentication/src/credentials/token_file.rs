//! A file of static tokens: one line each with token, user name, uid and, in quotes, groups.

use std::collections::HashMap;
use tenure_meta::UserInfo;
use tenure_value::Text;

/// The tokens of a file.
///
/// ```
/// use tenure_authentication::credentials::TokenFile;
///
/// let file = TokenFile::parse("0123456789abcdef,ann,uid-1,\"devs,ops\"\n")?;
/// assert_eq!(file.user("0123456789abcdef").map(|user| user.groups.len()), Some(2));
/// # Ok::<(), tenure_authentication::credentials::TokenFileError>(())
/// ```
#[derive(Clone, Default)]
pub struct TokenFile {
    users: HashMap<String, UserInfo>,
}

/// An error in a token file. The message never contains a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}; a line is TOKEN,USER,UID or TOKEN,USER,UID,\"GROUP,GROUP\"")]
pub struct TokenFileError {
    /// The line, from 1.
    pub line: usize,
    /// The problem.
    pub message: &'static str,
}

/// A token that can be guessed. The message never contains a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the token of {user:?} is shorter than {least} bytes and can be guessed; a good one is: openssl rand -hex 32"
)]
pub struct ShortToken {
    /// The user of the token.
    pub user: String,
    /// How many bytes it must have.
    pub least: usize,
}

impl TokenFile {
    /// Reads a file. An empty token, which would admit requests without one, is an error.
    pub fn parse(text: &str) -> Result<TokenFile, TokenFileError> {
        let mut users = HashMap::new();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |message| TokenFileError { line: at + 1, message };
            let columns = columns(line).ok_or_else(|| wrong("a quote is not closed"))?;
            let [token, name, uid, groups @ ..] = &columns[..] else {
                return Err(wrong("fewer than three columns"));
            };
            if token.is_empty() {
                return Err(wrong("the token is empty"));
            }
            if name.is_empty() {
                return Err(wrong("the user name is empty"));
            }
            let groups = groups.first().map(String::as_str).unwrap_or_default();
            let groups = groups.split(',').map(str::trim).filter(|group| !group.is_empty());
            let user = UserInfo {
                name: name.into(),
                uid: uid.into(),
                groups: groups.map(Text::from).collect(),
                extra: Vec::new(),
            };
            if users.insert(token.clone(), user).is_some() {
                return Err(wrong("the token is that of an earlier line"));
            }
        }
        Ok(TokenFile { users })
    }

    /// Returns the same file if none of its tokens can be guessed: each has at least so many bytes.
    pub fn with_least_bytes(self, least: usize) -> Result<TokenFile, ShortToken> {
        match self.users.iter().find(|(token, _)| token.len() < least) {
            Some((_, user)) => Err(ShortToken { user: user.name.to_string(), least }),
            None => Ok(self),
        }
    }

    /// Returns the user of a token.
    pub fn user(&self, token: &str) -> Option<&UserInfo> {
        self.users.get(token)
    }
}

/// Splits a line at its commas; a column in double quotes may contain commas, and a doubled quote is one quote.
fn columns(line: &str) -> Option<Vec<String>> {
    let (mut columns, mut column, mut quoted) = (Vec::new(), String::new(), false);
    let mut characters = line.trim_end_matches('\r').chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.next_if_eq(&'"').is_some() => column.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => columns.push(std::mem::take(&mut column)),
            other => column.push(other),
        }
    }
    columns.push(column);
    (!quoted).then_some(columns)
}
