//! Values of Secrets are kept as keyed digests: two versions with the same value have the same digest, and without the key, which
//! never leaves the directory, a digest says nothing about short values.

use crate::RecorderError;
use ring::hmac;
use std::{io::ErrorKind, path::Path};
use tenure_history::secret::{self, WITHHELD};
use tenure_transport::random_bytes;
use tenure_value::{Value, json};

/// The bytes of a key.
const KEY: usize = 32;
/// How many bytes of a digest are kept: enough to tell values of one object apart.
const SHOWN: usize = 8;

/// The key of the digests of one archive.
pub(crate) struct SecretKey(hmac::Key);

impl SecretKey {
    /// Reads the key, or makes one.
    pub fn open(path: &Path) -> Result<SecretKey, RecorderError> {
        let failed = |source| RecorderError::File { path: path.to_owned(), source };
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let bytes = random_bytes::<KEY>()
                    .map_err(|error| RecorderError::Invalid(error.to_string()))?
                    .to_vec();
                tenure_files::create_new(path, &bytes).map_err(failed)?;
                bytes
            }
            Err(error) => return Err(failed(error)),
        };
        if bytes.len() != KEY {
            let problem = format!("{}: not a key of {KEY} bytes", path.display());
            return Err(RecorderError::Invalid(problem));
        }
        Ok(SecretKey(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// Returns a Secret with digests in the place of its values.
    pub fn hide(&self, object: &Value) -> Value {
        secret::replaced(object, &|value| {
            let tag = hmac::sign(&self.0, &json::to_vec(value));
            let digest: String = tag.as_ref().iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
            Value::from(format!("{WITHHELD} {digest}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_equal_digests_and_nothing_else_is_hidden() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        let key = SecretKey::open(&path).unwrap();
        let hide = |key: &SecretKey, text: &str| key.hide(&text.parse().unwrap());
        let secret = r#"{"kind":"Secret","metadata":{"name":"a","annotations":{"x":"y"}},"data":{"p":"aGk=","q":"aGk=","r":"eA=="}}"#;
        let hidden = hide(&key, secret);
        let at = |name: &str| hidden.at(["data", name]).unwrap().as_str().unwrap().to_owned();
        assert_eq!(at("p"), at("q"));
        assert_ne!(at("p"), at("r"));
        assert!(secret::is_withheld(hidden.at(["data", "p"]).unwrap()));
        assert_eq!(hidden.at(["metadata", "annotations", "x"]).unwrap().as_str(), Some("y"));
        // The key is kept, and another archive has another.
        assert_eq!(hide(&SecretKey::open(&path).unwrap(), secret), hidden);
        assert_ne!(hide(&SecretKey::open(&directory.path().join("other")).unwrap(), secret), hidden);
    }
}
