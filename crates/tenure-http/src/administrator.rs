//! The administrator: the client with the token, or every client of a server without TLS on a loopback socket.

/// Who the administrator is.
#[derive(Clone)]
pub enum Administrator {
    /// Only the holder of this bearer token is the administrator. An empty token authenticates no client.
    Token(String),
    /// Every client is the administrator; the server listens on a loopback address only.
    Anyone,
}

impl Administrator {
    /// Whether a token is that of the administrator.
    pub fn knows(&self, given: &str) -> bool {
        matches!(self, Administrator::Token(token) if same_secret(given.as_bytes(), token.as_bytes()))
    }
}

/// Compares in constant time for secrets of equal length. An empty secret equals nothing.
fn same_secret(given: &[u8], secret: &[u8]) -> bool {
    !secret.is_empty()
        && given.len() == secret.len()
        && given.iter().zip(secret).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_is_known() {
        let token = Administrator::Token("secret".into());
        assert!(token.knows("secret"));
        for wrong in ["wrong!", "secret2", "", "secre"] {
            assert!(!token.knows(wrong), "{wrong:?}");
        }
        assert!(!Administrator::Anyone.knows("secret"));
    }

    #[test]
    fn an_empty_token_does_not_authenticate() {
        let empty = Administrator::Token(String::new());
        assert!(!empty.knows(""));
    }
}
