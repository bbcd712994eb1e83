//! Reads a directory of manifests. All of it is used, or none: every document is of a kind that the plugin reads, strictly decoded,
//! valid as one that is sent to the API, and refers to nothing that is not in the directory or outside of the cluster.

use super::NAME_SUFFIX;
use ring::digest::{Context, SHA256, digest};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};
use tenure_builtin::{FieldError, Kinds};
use tenure_meta::{Timestamp, ValueExt};
use tenure_profile::KubernetesVersion;
use tenure_value::{Limits, Object, Value, yaml};

/// The version of the API that manifests are written in.
const API_VERSION: &str = "admissionregistration.k8s.io/v1";
/// The endings of the names of files that are read.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// Why a directory of manifests cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("manifests of admission: {}: {reason}", path.display())]
pub struct ManifestError {
    /// The directory, or the file in it.
    pub path: PathBuf,
    /// What is wrong, and what would be right.
    pub reason: String,
}

/// What a directory has.
pub(super) struct Loaded {
    /// The objects of each kind, by name.
    pub objects: Vec<Vec<Value>>,
    /// What identifies the content of the files; empty without files.
    pub hash: String,
}

/// Reads a directory with objects of some kinds.
pub(super) fn load(
    directory: &Path,
    kinds: &[(usize, &str)],
    version: KubernetesVersion,
) -> Result<Loaded, ManifestError> {
    let wrong = |path: &Path, reason: String| ManifestError { path: path.into(), reason };
    let mut objects: Vec<BTreeMap<String, (Value, PathBuf)>> = vec![BTreeMap::new(); kinds.len()];
    let (mut hash, mut is_empty) = (Context::new(&SHA256), true);
    for path in files(directory).map_err(|error| wrong(directory, error.to_string()))? {
        let text = fs::read(&path).map_err(|error| wrong(&path, error.to_string()))?;
        if text.is_empty() {
            continue;
        }
        hash.update(&text);
        hash.update(&[0]);
        is_empty = false;
        let documents = yaml::parse_all_checked(&text, &Limits::default());
        let (documents, duplicates) = documents.map_err(|error| wrong(&path, error.to_string()))?;
        if let Some(duplicate) = duplicates.first() {
            return Err(wrong(
                &path,
                format!(
                    "a field is given twice: {}",
                    yaml::duplicates_message(std::slice::from_ref(duplicate))
                ),
            ));
        }
        for document in documents.iter().filter(|document| !document.is_null()) {
            for object in listed(document) {
                let (kind, object) = read(&object, kinds, version).map_err(|reason| wrong(&path, reason))?;
                let name = object.get("metadata").unwrap_or(&Value::Null).text("name").to_string();
                if let Some((_, other)) = objects[kind].get(&name) {
                    let other = other.display();
                    return Err(wrong(&path, format!("duplicate name {name:?}; it is also in {other}")));
                }
                objects[kind].insert(name, (object, path.clone()));
            }
        }
    }
    if let [policies, bindings] = &objects[..] {
        for (name, (binding, path)) in bindings {
            let policy = policy_of(binding);
            if !policies.contains_key(policy.as_str()) {
                let reason =
                    format!("binding {name:?} references policy {policy:?}, which is not in the directory");
                return Err(wrong(path, reason));
            }
        }
    }
    let objects = objects.into_iter().map(|all| all.into_values().map(|(object, _)| object).collect());
    let hash = if is_empty { String::new() } else { hex(hash.finish().as_ref()) };
    Ok(Loaded { objects: objects.collect(), hash })
}

/// Returns the manifests of a directory in the order of their names.
fn files(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str()) && !path.is_dir() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Returns the objects of a document, which may be a list of them: of any kind, or of one.
fn listed(document: &Value) -> Vec<Value> {
    let (version, kind) = (document.text("apiVersion"), document.text("kind"));
    let items = || document.items("items").to_vec();
    match kind.strip_suffix("List") {
        Some("") if version == "v1" => items().iter().flat_map(listed).collect(),
        Some(of) if version == API_VERSION => {
            // Items of a list of one kind need not name it.
            let named = |item: Value| {
                let fields = item.as_object().cloned().unwrap_or_else(|| Object::from_sorted(Vec::new()));
                Value::Object(fields.with("apiVersion", API_VERSION).with("kind", of))
            };
            items().into_iter().map(named).collect()
        }
        _ => vec![document.clone()],
    }
}

/// Decodes, defaults and validates an object; returns it with the place of its kind.
fn read(
    document: &Value,
    kinds: &[(usize, &str)],
    version: KubernetesVersion,
) -> Result<(usize, Value), String> {
    let (api_version, kind) = (document.text("apiVersion"), document.text("kind"));
    let known = kinds.iter().position(|(_, known)| api_version == API_VERSION && kind == *known);
    let builtin = Kinds::at(version);
    let resource = builtin.registry().of_kind(API_VERSION, &kind);
    let (Some(place), Some(resource)) = (known, resource) else {
        let known: Vec<&str> = kinds.iter().map(|(_, known)| *known).collect();
        let expected = known.join(" or ");
        return Err(format!(
            "unsupported resource {kind:?} of {api_version:?}; expected {expected} of {API_VERSION:?}"
        ));
    };
    let decoded =
        builtin.complete(resource, document, Timestamp::default()).map_err(|error| error.to_string())?;
    if let Some(error) = decoded.strict_errors.first() {
        return Err(format!("{kind}: {error}"));
    }
    let object = decoded.value;
    let name = object.get("metadata").unwrap_or(&Value::Null).text("name");
    let errors = builtin.validate_create(resource, &object);
    if !errors.is_empty() {
        let errors: Vec<String> = errors.iter().map(FieldError::to_string).collect();
        return Err(format!("{kind} {name:?}: {}", errors.join("; ")));
    }
    if !name.ends_with(NAME_SUFFIX) {
        return Err(format!("{kind} {name:?} must have a name that ends with {NAME_SUFFIX:?}"));
    }
    check_reach(&kind, &name, &object)?;
    Ok((place, object))
}

/// Checks that an object refers to nothing in the cluster.
fn check_reach(kind: &str, name: &str, object: &Value) -> Result<(), String> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let has = |field: &str| spec.get(field).is_some_and(|value| !value.is_null());
    for field in ["paramKind", "paramRef"] {
        if has(field) {
            return Err(format!("{kind} {name:?}: spec.{field} is not supported in manifests"));
        }
    }
    if kind.ends_with("Binding") && !policy_of(object).ends_with(NAME_SUFFIX) {
        let policy = policy_of(object);
        return Err(format!("{kind} {name:?}: spec.policyName {policy:?} must end with {NAME_SUFFIX:?}"));
    }
    for webhook in object.items("webhooks") {
        let client = webhook.get("clientConfig").unwrap_or(&Value::Null);
        let webhook = webhook.text("name");
        if client.get("service").is_some_and(|service| !service.is_null()) {
            return Err(format!(
                "webhook {webhook:?} of {name:?}: clientConfig.service is not supported in manifests; use clientConfig.url"
            ));
        }
        if client.text("url").is_empty() {
            return Err(format!(
                "webhook {webhook:?} of {name:?}: clientConfig.url is required in manifests"
            ));
        }
    }
    Ok(())
}

/// Returns the name of the policy of a binding.
fn policy_of(binding: &Value) -> tenure_value::Text {
    binding.get("spec").unwrap_or(&Value::Null).text("policyName")
}

fn hex(hash: &[u8]) -> String {
    let digits = hash.iter().map(|byte| format!("{byte:02x}"));
    std::iter::once("sha256:".to_owned()).chain(digits).collect()
}

/// Returns what identifies this server in metrics: the hash of the name of the machine, as far as it is known.
pub(super) fn identity_hash() -> &'static str {
    static HASH: LazyLock<String> = LazyLock::new(|| {
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let name = match name.trim() {
            "" => std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME")).unwrap_or_default(),
            name => name.to_owned(),
        };
        hex(digest(&SHA256, format!("apiserver-{name}").as_bytes()).as_ref())
    });
    &HASH
}
