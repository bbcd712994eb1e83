//! Responses of a server.

use crate::ClientError;
use tenure_ownership::Refusal;
use tenure_value::Value;

/// A response.
#[derive(Debug)]
pub struct Response {
    /// The HTTP status code.
    pub code: u16,
    /// The body.
    pub value: Value,
    /// The warnings of the server.
    pub warnings: Vec<String>,
}

impl Response {
    /// Whether the request succeeded.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.code)
    }

    /// Returns the body of a success; otherwise an error that names the action.
    pub fn success(self, verb: &str, what: &str) -> Result<Value, ClientError> {
        if self.is_success() { Ok(self.value) } else { Err(self.error(verb, what)) }
    }

    /// Returns why the request was refused.
    pub fn refusal(&self) -> Refusal {
        Refusal::read(self.code, &self.value)
    }

    /// Returns the error of a request that was refused, with advice.
    pub fn error(&self, verb: &str, what: &str) -> ClientError {
        let advice = match self.code {
            401 => "; the server does not accept the credentials: check the user of the context",
            403 => "; ask for the permission, or use another user with --user",
            429 | 503 => "; the server is busy: try again",
            _ => "",
        };
        let message = match self.refusal().message {
            message if message.is_empty() => format!("the server responded with code {}", self.code),
            message => message,
        };
        ClientError::Refused {
            verb: verb.to_owned(),
            what: what.to_owned(),
            code: self.code,
            message,
            advice,
        }
    }
}

/// Returns the text of a `Warning` header, which reads `299 - "text"`.
pub(crate) fn warning(header: &str) -> String {
    let text = header
        .split_once('"')
        .map_or(header, |(_, text)| text.rsplit_once('"').map_or(text, |(text, _)| text));
    text.replace("\\\"", "\"").replace("\\\\", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_lose_their_code_and_quotes() {
        assert_eq!(warning(r#"299 - "unknown field \"spec.x\"""#), r#"unknown field "spec.x""#);
        assert_eq!(warning("odd"), "odd");
    }
}
