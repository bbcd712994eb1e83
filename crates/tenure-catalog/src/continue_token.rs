//! The token with which a list continues: a token that names the revision of the first page and the key
//! the next one starts with. Opaque to clients, in the format of Kubernetes.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use tenure_meta::{ApiError, Reason};
use tenure_store::Revision;
use tenure_value::{Limits, Value, json};

/// The place in a collection where the next page starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The revision of the first page; `None` if the list continues at the current revision.
    pub revision: Option<Revision>,
    /// The first key of the page, below the collection's prefix.
    pub start: String,
}

/// The format of the token.
const FORMAT: &str = "meta.k8s.io/v1";

impl Page {
    /// Writes the token.
    pub fn token(&self) -> String {
        let revision = self.revision.map_or(-1, |revision| revision.get() as i64);
        let token = Value::object([
            ("v", Value::from(FORMAT)),
            ("rv", Value::from(revision)),
            ("start", Value::from(self.start.as_str())),
        ]);
        URL_SAFE_NO_PAD.encode(json::to_vec(&token))
    }

    /// Reads a token that a client sent back.
    pub fn parse(token: &str) -> Result<Page, ApiError> {
        let fault = |why: String| {
            ApiError::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| {
            let wrong = |byte: u8| !byte.is_ascii_alphanumeric() && !b"-_".contains(&byte);
            let at = token.bytes().position(wrong).unwrap_or(token.len() - token.len() % 4);
            fault(format!("illegal base64 data at input byte {at}"))
        })?;
        let value = json::parse(&bytes, &Limits::default()).map_err(|error| fault(error.problem()))?;
        let version = value.get("v").and_then(Value::as_str).unwrap_or_default();
        if version != FORMAT {
            return Err(fault(format!("server does not recognize this encoded version {version}")));
        }
        let start = value.get("start").and_then(Value::as_str).unwrap_or_default();
        if start.is_empty() || start.split('/').any(|segment| segment == "." || segment == "..") {
            return Err(fault("it does not say where to start".into()));
        }
        let revision = match value.get("rv").and_then(Value::as_i64) {
            Some(-1) => None,
            Some(number) if number > 0 => Some(Revision::from_number(number as u64)),
            _ => return Err(fault("it names no revision".into())),
        };
        Ok(Page { revision, start: start.to_string() })
    }

    /// The error for a token whose revision has been compacted; it has a token that continues without one.
    pub fn expired(&self) -> ApiError {
        let mut failure = ApiError::new(
            Reason::Expired,
            "The provided continue parameter is too old to display a consistent list result. You can start a new list \
             without the continue parameter, or use the continue token in this response to retrieve the remainder of \
             the results at the newest revision, in which objects that changed in between may be missing or repeated.",
        );
        failure.resume = Some(Page { revision: None, start: self.start.clone() }.token());
        failure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back() {
        for revision in [Some(Revision::from_number(7)), None] {
            let page = Page { revision, start: "ns/name".into() };
            assert_eq!(Page::parse(&page.token()).unwrap(), page);
        }
    }

    #[test]
    fn invalid_tokens_are_refused() {
        let encoded = |text: &str| URL_SAFE_NO_PAD.encode(text);
        for token in [
            "bogus",
            "zzz",
            &encoded("{}"),
            &encoded(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a"}"#),
            &encoded(r#"{"v":"meta.k8s.io/v1","rv":5,"start":"../a"}"#),
        ] {
            assert_eq!(Page::parse(token).unwrap_err().code(), 400, "{token}");
        }
    }
}
