//! Values of Secrets in clones: digests under a key that is not part of the clone but in a private directory of the user. The same value
//! has the same digest, so that manifests can be compared with the clone, and a copy of the clone reveals nothing.

use crate::{Error, state};
use ring::hmac;
use std::{fs, io::ErrorKind, path::PathBuf};
use tenure_apply::LAST_APPLIED;
use tenure_transport::{NoRandomness, random_bytes, random_hex};
use tenure_value::{Object, Text, Value, base64};

const BYTES: usize = 32;

/// Keys whose values must be JSON.
const JSON_KEYS: [&str; 2] = [".dockerconfigjson", ".dockercfg"];

/// The key of the digests of a clone.
pub struct SecretKey(hmac::Key);

/// Returns a name that no other clone has.
pub fn random_name() -> Result<String, Error> {
    random_hex::<16>().map_err(no_randomness)
}

fn no_randomness(error: NoRandomness) -> Error {
    Error::usage(error.to_string())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn file(id: &str) -> Result<PathBuf, Error> {
    // The identifier comes from a file; it must not name another directory.
    let is_name = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let directory = state::directory().map(|state| state.join("clone-keys")).filter(|_| is_name);
    directory.map(|directory| directory.join(id)).ok_or_else(|| {
        Error::usage("there is no home directory for the key of the clone; use --secret-values")
    })
}

impl SecretKey {
    /// Returns the key of a clone, and makes it if there is none yet.
    pub fn find_or_make(id: &str) -> Result<SecretKey, Error> {
        if let Some(key) = SecretKey::find(id)? {
            return Ok(key);
        }
        let path = file(id)?;
        let failed = |source| Error::Write { path: path.clone(), source };
        if let Some(directory) = path.parent() {
            tenure_files::create_directory(directory).map_err(failed)?;
        }
        let bytes = random_bytes::<BYTES>().map_err(no_randomness)?;
        tenure_files::create_new(&path, &bytes).map_err(failed)?;
        Ok(SecretKey(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// Returns the key of a clone, if this machine has it.
    pub fn find(id: &str) -> Result<Option<SecretKey>, Error> {
        let path = file(id)?;
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(SecretKey(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Read { path, source }),
        }
    }

    /// Returns an object; the values of a Secret are digests, of which the same value always has the same.
    pub fn withhold(&self, object: &Value) -> Value {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let Some(fields) =
            object.as_object().filter(|_| (text("apiVersion"), text("kind")) == ("v1", "Secret"))
        else {
            return object.clone();
        };
        let mut fields = fields.clone();
        for map in ["data", "stringData"] {
            if let Some(Value::Object(values)) = fields.get(map) {
                let values = values.iter().map(|(name, value)| (name.clone(), self.value(map, name, value)));
                fields = fields.with(map, Object::from_sorted(values.collect::<Vec<_>>()));
            }
        }
        let metadata = fields.get("metadata").and_then(Value::as_object);
        let annotations = metadata.and_then(|metadata| metadata.get("annotations")?.as_object());
        if let (Some(metadata), Some(annotations)) = (metadata, annotations)
            && annotations.contains(LAST_APPLIED)
        {
            // It repeats the values.
            let annotations = annotations.without(LAST_APPLIED);
            fields = fields.with("metadata", metadata.with("annotations", annotations));
        }
        Value::Object(fields)
    }

    fn value(&self, map: &str, name: &Text, value: &Value) -> Value {
        let Some(text) = value.as_str() else { return value.clone() };
        let bytes = match map {
            "data" => base64::decode(text).unwrap_or_else(|_| text.into()),
            _ => text.into(),
        };
        let digest = format!("hmac-sha256:{}", hex(hmac::sign(&self.0, &bytes).as_ref()));
        let shown = match JSON_KEYS.contains(&name.as_str()) {
            true => format!(r#"{{"auths":{{"{digest}":{{}}}}}}"#),
            false => digest,
        };
        Value::from(if map == "data" { base64::encode(shown) } else { shown })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_the_same_digest_in_both_maps_and_is_not_shown() {
        let key = SecretKey(hmac::Key::new(hmac::HMAC_SHA256, b"key"));
        let secret = |map: &str, value: &str| -> Value {
            format!(r#"{{"apiVersion":"v1","kind":"Secret","{map}":{{"p":"{value}"}}}}"#).parse().unwrap()
        };
        let data = key.withhold(&secret("data", "aHVudGVyMg=="));
        let text = key.withhold(&secret("stringData", "hunter2"));
        let (data, text) = (data.at(["data", "p"]).unwrap(), text.at(["stringData", "p"]).unwrap());
        assert_eq!(data.as_str().unwrap(), base64::encode(text.as_str().unwrap()));
        assert!(text.as_str().unwrap().starts_with("hmac-sha256:"));
        let other = key.withhold(&secret("stringData", "other"));
        assert_ne!(other.at(["stringData", "p"]), Some(text));
    }
}
