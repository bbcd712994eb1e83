//! Encryption at rest as Kubernetes configures it: an `EncryptionConfiguration` file names providers and keys for resources.
//! The file is read again while the server runs; a change takes effect without a restart and re-encrypts what is stored.

use clap::Args;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tenure_store::{Encryption, EncryptionProvider, EncryptionRule, Store};
use tenure_value::{Limits, Object, Value, base64, yaml};

const API_VERSION: &str = "apiserver.config.k8s.io/v1";
const KIND: &str = "EncryptionConfiguration";
/// How often the file is checked for changes.
const RELOAD: Duration = Duration::from_secs(10);

/// The flag that names the file.
#[derive(Args)]
pub struct EncryptionFlags {
    /// Encrypt values at rest: a Kubernetes EncryptionConfiguration file with the providers aesgcm, secretbox and identity. It
    /// is reloaded when it changes.
    #[arg(long, value_name = "FILE", env = "TENURE_ENCRYPTION_PROVIDER_CONFIG")]
    encryption_provider_config: Option<PathBuf>,
}

/// The encryption of the store, and the file that it follows.
pub struct EncryptionConfig {
    encryption: Encryption,
    file: Option<(PathBuf, Vec<u8>)>,
}

impl EncryptionFlags {
    /// Returns the flags that the environment sets, for commands without flags of their own.
    pub fn from_environment() -> EncryptionFlags {
        let file = std::env::var_os("TENURE_ENCRYPTION_PROVIDER_CONFIG").map(PathBuf::from);
        EncryptionFlags { encryption_provider_config: file }
    }

    /// Reads the file, if one is given.
    pub fn load(&self) -> Result<EncryptionConfig, String> {
        let Some(path) = &self.encryption_provider_config else {
            return Ok(EncryptionConfig { encryption: Encryption::default(), file: None });
        };
        let (text, rules) = read(path)?;
        Ok(EncryptionConfig { encryption: Encryption::new(rules), file: Some((path.clone(), text)) })
    }
}

impl EncryptionConfig {
    /// Returns the encryption for the options of a store.
    pub fn encryption(&self) -> Encryption {
        self.encryption.clone()
    }

    /// Encrypts what is stored with the current key, and again whenever the file changes.
    pub async fn follow(self, store: Arc<dyn Store>) {
        let Some((path, mut known)) = self.file else { return };
        let mut pending = true;
        loop {
            // Of the servers that share a store, the leader re-encrypts.
            if pending && store.leads() {
                pending = reencrypt(&*store).await.is_err();
            }
            tokio::time::sleep(RELOAD).await;
            let (text, rules) = match read(&path) {
                Ok(read) => read,
                Err(error) => {
                    tracing::error!(%error, "encryption configuration not reloaded, keeping the previous keys");
                    continue;
                }
            };
            if text != known {
                known = text;
                self.encryption.replace(rules);
                tracing::info!(path = %path.display(), "encryption configuration reloaded");
                pending = true;
            }
        }
    }
}

async fn reencrypt(store: &dyn Store) -> tenure_store::Result<()> {
    let done = store.reencrypt().await;
    match &done {
        Ok(()) => tracing::info!(
            "everything at rest is encrypted with the first key; the other keys may be removed"
        ),
        Err(error) => tracing::error!(%error, "re-encryption failed, retrying; keep the old keys"),
    }
    done
}

fn read(path: &Path) -> Result<(Vec<u8>, Vec<EncryptionRule>), String> {
    let at = |error: String| format!("--encryption-provider-config {}: {error}", path.display());
    let text = std::fs::read(path).map_err(|error| at(error.to_string()))?;
    let document = yaml::parse(&text, &Limits::default()).map_err(|error| at(error.to_string()))?;
    let rules = rules(&document).map_err(at)?;
    Ok((text, rules))
}

/// Reads the rules of an EncryptionConfiguration.
fn rules(document: &Value) -> Result<Vec<EncryptionRule>, String> {
    let root = object(document, "")?;
    known_fields(root, "", &["apiVersion", "kind", "resources"])?;
    for (field, expected) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        if root.get(field).and_then(Value::as_str) != Some(expected) {
            return Err(format!(".{field}: must be {expected:?}"));
        }
    }
    let resources = list(root, "", "resources")?;
    resources
        .iter()
        .enumerate()
        .map(|(number, entry)| rule(entry, &format!(".resources[{number}]")))
        .collect()
}

fn rule(entry: &Value, path: &str) -> Result<EncryptionRule, String> {
    let entry = object(entry, path)?;
    known_fields(entry, path, &["resources", "providers"])?;
    let mut prefixes = Vec::new();
    for (number, resource) in list(entry, path, "resources")?.iter().enumerate() {
        let path = format!("{path}.resources[{number}]");
        let name = resource.as_str().ok_or_else(|| format!("{path}: must be a string"))?;
        prefixes.push(prefix(name).ok_or_else(|| {
            format!("{path}: {name:?} is not a resource such as \"secrets\", \"deployments.apps\", \"*.apps\" or \"*.*\"")
        })?);
    }
    let mut providers = Vec::new();
    for (number, provider) in list(entry, path, "providers")?.iter().enumerate() {
        providers.extend(provider_keys(provider, &format!("{path}.providers[{number}]"))?);
    }
    Ok(EncryptionRule { prefixes: prefixes.into_iter().map(Into::into).collect(), providers })
}

/// Returns the prefix of the keys of a resource: `secrets`, `deployments.apps`, `*.apps`, `*.` (the core group) or `*.*`.
fn prefix(resource: &str) -> Option<String> {
    let label = |text: &str| text.chars().all(|one| one.is_ascii_alphanumeric() || "-.".contains(one));
    let (name, group) = resource.split_once('.').unwrap_or((resource, ""));
    let folder = if group.is_empty() { "core" } else { group };
    match (name, group) {
        ("*", "*") => Some("objects/".to_owned()),
        ("*", _) if resource.contains('.') && label(group) => Some(format!("objects/{folder}/")),
        ("" | "*", _) => None,
        _ if label(name) && label(group) => Some(format!("objects/{folder}/{name}/")),
        _ => None,
    }
}

/// Returns the providers of one entry: one for each of its keys.
fn provider_keys(provider: &Value, path: &str) -> Result<Vec<EncryptionProvider>, String> {
    let provider = object(provider, path)?;
    let mut entries = provider.iter();
    let (Some((kind, config)), None) = (entries.next(), entries.next()) else {
        return Err(format!("{path}: must have exactly one of aesgcm, secretbox and identity"));
    };
    let make = match &**kind {
        "identity" => return Ok(vec![EncryptionProvider::identity()]),
        "aesgcm" => EncryptionProvider::aes_gcm,
        "secretbox" => EncryptionProvider::secretbox,
        other => {
            return Err(format!(
                "{path}: provider {other:?} is not supported; use aesgcm, secretbox or identity"
            ));
        }
    };
    let path = format!("{path}.{kind}");
    let config = object(config, &path)?;
    known_fields(config, &path, &["keys"])?;
    let mut providers = Vec::new();
    for (number, key) in list(config, &path, "keys")?.iter().enumerate() {
        let path = format!("{path}.keys[{number}]");
        let key = object(key, &path)?;
        known_fields(key, &path, &["name", "secret"])?;
        let text = |field: &str| {
            key.get(field).and_then(Value::as_str).ok_or_else(|| format!("{path}.{field}: must be a string"))
        };
        let secret = base64::decode(text("secret")?.trim());
        let secret =
            secret.map_err(|at| format!("{path}.secret: not base64: illegal data at input byte {at}"))?;
        providers.push(make(text("name")?, &secret).map_err(|error| format!("{path}: {error}"))?);
    }
    if providers.is_empty() {
        return Err(format!("{path}.keys: at least one key is needed"));
    }
    Ok(providers)
}

fn object<'a>(value: &'a Value, path: &str) -> Result<&'a Object, String> {
    value.as_object().ok_or_else(|| format!("{path}: must be an object"))
}

fn list<'a>(object: &'a Object, path: &str, field: &str) -> Result<&'a [Value], String> {
    let items = object.get(field).and_then(Value::as_array).filter(|items| !items.is_empty());
    items
        .map(|items| &items[..])
        .ok_or_else(|| format!("{path}.{field}: must be a list with at least one item"))
}

fn known_fields(object: &Object, path: &str, known: &[&str]) -> Result<(), String> {
    match object.iter().find(|(name, _)| !known.contains(&&***name)) {
        Some((name, _)) => Err(format!("{path}.{name}: unknown field; known are {}", known.join(", "))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<EncryptionRule>, String> {
        rules(&yaml::parse(text.as_bytes(), &Limits::default()).unwrap())
    }

    const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

    fn configuration(resources: &str, providers: &str) -> String {
        format!(
            "apiVersion: {API_VERSION}\nkind: {KIND}\nresources: [{{resources: {resources}, providers: {providers}}}]"
        )
    }

    #[test]
    fn rules_follow_the_resources() {
        let cases = [
            ("[secrets]", vec!["objects/core/secrets/"]),
            ("[configmaps, deployments.apps]", vec!["objects/core/configmaps/", "objects/apps/deployments/"]),
            ("['*.apps', '*.', '*.*']", vec!["objects/apps/", "objects/core/", "objects/"]),
            ("[widgets.example.com]", vec!["objects/example.com/widgets/"]),
        ];
        let providers = format!("[{{aesgcm: {{keys: [{{name: k1, secret: {KEY}}}]}}}}, {{identity: {{}}}}]");
        for (resources, expected) in cases {
            let rules = parse(&configuration(resources, &providers)).unwrap();
            assert_eq!(rules[0].prefixes, expected, "{resources}");
            assert_eq!(rules[0].providers.len(), 2);
        }
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let key = format!("{{keys: [{{name: k1, secret: {KEY}}}]}}");
        let cases = [
            (configuration("[]", "[identity: {}]"), ".resources[0].resources: must be a list"),
            (configuration("['*']", "[identity: {}]"), ".resources[0].resources[0]: \"*\" is not a resource"),
            (configuration("[secrets]", "[]"), ".resources[0].providers: must be a list"),
            (
                configuration("[secrets]", "[{kms: {}}]"),
                ".resources[0].providers[0]: provider \"kms\" is not supported",
            ),
            (configuration("[secrets]", "[{aesgcm: {keys: []}}]"), ".aesgcm.keys: must be a list"),
            (
                configuration("[secrets]", "[{aesgcm: {keys: [{name: a, secret: '?'}]}}]"),
                "keys[0].secret: not base64",
            ),
            (
                configuration("[secrets]", "[{aesgcm: {keys: [{name: a, secret: YQ==}]}}]"),
                "1 bytes; aesgcm needs 16",
            ),
            (
                configuration("[secrets]", &format!("[{{secretbox: {key}, aesgcm: {key}}}]")),
                "must have exactly one of",
            ),
            (configuration("[secrets]", "[{identity: {}}]").replace("kind", "king"), ".king: unknown field"),
            (configuration("[secrets]", "[{identity: {}}]").replace("/v1", "/v2"), ".apiVersion: must be"),
        ];
        for (text, expected) in cases {
            let error = parse(&text).unwrap_err();
            assert!(error.contains(expected), "{expected:?} is not in {error:?}");
        }
    }
}
