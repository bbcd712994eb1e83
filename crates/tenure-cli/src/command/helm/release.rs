//! A release as Helm stores it: JSON, compressed with gzip, in base64, in a Secret (whose values are in base64 again) or a ConfigMap. The
//! newest deployed revision counts.

use crate::{Error, document::Document, place::Place};
use flate2::read::GzDecoder;
use std::io::Read;
use tenure_client::{ClientError, Cluster};
use tenure_transport::escaped;
use tenure_value::{Limits, Value, base64, json};

/// The type of the Secrets of releases.
const SECRET_TYPE: &str = "helm.sh/release.v1";

/// The most bytes of a release after decompression; a Secret has at most one mebibyte before.
const LIMIT: u64 = 64 << 20;

/// The limits of a release's document.
const LIMITS: Limits = Limits { bytes: LIMIT as usize, depth: Limits::DEPTH, nodes: 4_000_000 };

/// A revision of a release.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// The name.
    pub name: String,
    /// The namespace.
    pub namespace: String,
    /// The revision.
    pub revision: i64,
    /// The status, such as `deployed`.
    pub status: String,
    /// The rendered objects, as a YAML stream.
    pub manifest: String,
    /// The values that the user gave.
    pub config: Value,
    /// Whether it was applied on the server; releases of Helm 3 and of `--server-side=false` were not.
    pub is_server_side: bool,
}

impl Release {
    /// Reads a release from the text that Helm stores.
    pub fn decode(text: &[u8]) -> Result<Release, String> {
        let compressed = base64::decode(text.trim_ascii())
            .map_err(|at| format!("the release is not base64: illegal data at byte {at}"))?;
        let content = match compressed.starts_with(&[0x1f, 0x8b, 0x08]) {
            true => {
                let mut content = Vec::new();
                let mut reader = GzDecoder::new(compressed.as_slice()).take(LIMIT + 1);
                reader
                    .read_to_end(&mut content)
                    .map_err(|error| format!("the release is not gzip: {error}"))?;
                content
            }
            // Helm reads releases that were stored without compression.
            false => compressed,
        };
        if content.len() as u64 > LIMIT {
            return Err(format!("the release has more than {LIMIT} bytes when it is decompressed"));
        }
        let value =
            json::parse(&content, &LIMITS).map_err(|error| format!("the release is not JSON: {error}"))?;
        let text = |path: &[&str]| {
            value.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let (name, manifest) = (text(&["name"]), value.get("manifest").and_then(Value::as_str));
        let Some(manifest) = manifest.filter(|_| !name.is_empty()) else {
            return Err("the release has no name or no manifest; Helm stores both".to_owned());
        };
        Ok(Release {
            name,
            namespace: text(&["namespace"]),
            revision: value.get("version").and_then(Value::as_i64).unwrap_or_default(),
            status: text(&["info", "status"]),
            manifest: manifest.to_owned(),
            config: value.get("config").cloned().unwrap_or_default(),
            is_server_side: text(&["apply_method"]) == "ssa",
        })
    }

    /// Reads a release from its Secret or ConfigMap.
    pub fn stored(object: &Value) -> Result<Release, String> {
        let data = object.at(["data", "release"]).and_then(Value::as_str);
        let data = data.ok_or("there is no data.release; Helm stores a release there")?;
        if object.get("kind").and_then(Value::as_str) == Some("ConfigMap") {
            return Release::decode(data.as_bytes());
        }
        let inner = base64::decode(data.trim())
            .map_err(|at| format!("data.release is not base64: illegal data at byte {at}"))?;
        Release::decode(&inner)
    }

    /// Whether a document is the Secret of a release.
    pub fn is_stored_in(document: &Document) -> bool {
        let text = |name: &str| document.value.get(name).and_then(Value::as_str);
        text("kind") == Some("Secret") && text("type") == Some(SECRET_TYPE)
    }

    /// Finds a release on a server: its newest deployed revision, or its newest one.
    pub async fn find(name: &str, cluster: &Cluster) -> Result<Option<Release>, Error> {
        let selector = escaped(&format!("owner=helm,name={name}"));
        for kind in ["secrets", "configmaps"] {
            let path =
                format!("/api/v1/namespaces/{}/{kind}?labelSelector={selector}", escaped(&cluster.namespace));
            let list = match cluster.get(&path).await {
                Ok(list) => list,
                // Releases are in one of the two; a user of ConfigMaps may not be permitted to read Secrets.
                Err(ClientError::Refused { code: 403, .. }) if kind == "secrets" => continue,
                Err(error) => return Err(error.into()),
            };
            let items = list.get("items").and_then(Value::as_array);
            let label = |item: &Value, name: &str| {
                item.at(["metadata", "labels", name]).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let rank = |item: &&Value| {
                let version: i64 = label(item, "version").parse().unwrap_or_default();
                (label(item, "status") == "deployed", version)
            };
            let Some(newest) = items.into_iter().flatten().max_by_key(rank) else { continue };
            let name = newest.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
            let place = Place::of(format!("{kind}/{name}").as_ref());
            let kind = if kind == "secrets" { "Secret" } else { "ConfigMap" };
            let object = newest.as_object().cloned().unwrap_or_default().with("kind", kind);
            let release = Release::stored(&Value::Object(object))
                .map_err(|problem| Error::document(&place, problem))?;
            return Ok(Some(release));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn compressed(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_release_is_read_from_its_secret_and_its_config_map() {
        let content = br#"{"name":"web","namespace":"shop","version":3,"info":{"status":"deployed"},"manifest":"kind: A\n","apply_method":"ssa"}"#;
        for content in [compressed(content), content.to_vec()] {
            let inner = base64::encode(content);
            let object = |kind: &str, data: &str| {
                Value::object([
                    ("kind", Value::from(kind)),
                    ("data", Value::object([("release", Value::from(data))])),
                ])
            };
            let secret = Release::stored(&object("Secret", &base64::encode(&inner))).unwrap();
            assert_eq!(
                (secret.name.as_str(), secret.revision, secret.manifest.as_str(), secret.is_server_side),
                ("web", 3, "kind: A\n", true)
            );
            assert_eq!(Release::stored(&object("ConfigMap", &inner)).unwrap(), secret);
        }
    }

    #[test]
    fn a_broken_release_says_what_is_broken() {
        let whole = compressed(b"{\"name\":\"web\",\"manifest\":\"\"}");
        let bomb = compressed(&vec![b' '; LIMIT as usize + 2]);
        for (text, part) in [
            ("no base64 ~~".to_owned(), "not base64"),
            (base64::encode("plain text"), "not JSON"),
            (base64::encode(&whole[..whole.len() / 2]), "not gzip"),
            (base64::encode(compressed(b"{\"name\":1}")), "no name or no manifest"),
            (base64::encode(compressed(b"[]")), "no name or no manifest"),
            (base64::encode(bomb), "more than"),
        ] {
            let problem = Release::decode(text.as_bytes()).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}
