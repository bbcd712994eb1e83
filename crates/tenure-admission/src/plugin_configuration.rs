//! The configurations of plugins: `AdmissionConfiguration` of `apiserver.config.k8s.io`, the file of
//! `--admission-control-config-file`.

use crate::{
    ManifestDirectories, WebhookCredentials, pod_security::PodSecurityConfig, resource_quota::QuotaConfig,
};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use tenure_meta::{FieldError, ValueExt};
use tenure_profile::{Behaviour, KubernetesVersion};
use tenure_value::{Limits, Value, yaml};

const KIND: &str = "AdmissionConfiguration";
const VERSIONS: [&str; 2] = ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"];
/// The plugins that have a configuration.
const POD_SECURITY: &str = "PodSecurity";
const RESOURCE_QUOTA: &str = "ResourceQuota";
const MUTATING_WEBHOOKS: &str = "MutatingAdmissionWebhook";
const VALIDATING_WEBHOOKS: &str = "ValidatingAdmissionWebhook";
const MUTATING_POLICIES: &str = "MutatingAdmissionPolicy";
const VALIDATING_POLICIES: &str = "ValidatingAdmissionPolicy";
const CONFIGURABLE: [&str; 6] = [
    MUTATING_POLICIES,
    MUTATING_WEBHOOKS,
    POD_SECURITY,
    RESOURCE_QUOTA,
    VALIDATING_POLICIES,
    VALIDATING_WEBHOOKS,
];
/// The versions and kinds of the configuration of webhooks.
const WEBHOOK_KINDS: [(&str, &str); 2] = [
    ("apiserver.config.k8s.io/v1", "WebhookAdmissionConfiguration"),
    ("apiserver.config.k8s.io/v1alpha1", "WebhookAdmission"),
];

/// The configurations of plugins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginConfiguration {
    /// That of `PodSecurity`.
    pub pod_security: PodSecurityConfig,
    /// That of `ResourceQuota`.
    pub resource_quota: QuotaConfig,
    /// The credentials of mutating webhooks.
    pub mutating_webhooks: WebhookCredentials,
    /// The credentials of validating webhooks.
    pub validating_webhooks: WebhookCredentials,
    /// The directories of webhooks and policies.
    pub manifests: ManifestDirectories,
}

/// Why a file of configurations cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PluginConfigurationError {
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A file is not YAML or JSON.
    #[error("{}: {error}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        error: tenure_value::Error,
    },
    /// A file has invalid content.
    #[error("{}: {}", path.display(), errors.iter().map(FieldError::to_string).collect::<Vec<_>>().join("; "))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// All that is wrong.
        errors: Vec<FieldError>,
    },
}

impl PluginConfiguration {
    /// Reads a file of configurations for a version of Kubernetes, and the files that it names, which are relative to it.
    pub fn read(
        path: &Path,
        version: KubernetesVersion,
    ) -> Result<PluginConfiguration, PluginConfigurationError> {
        let file = document(path)?;
        let invalid = |errors| PluginConfigurationError::Invalid { path: path.into(), errors };
        let mut errors = Vec::new();
        unknown_fields(&file, "", &["apiVersion", "kind", "plugins"], &mut errors);
        for (field, expected) in [("kind", &[KIND][..]), ("apiVersion", &VERSIONS)] {
            if !expected.contains(&file.text(field).as_str()) {
                let allowed: Vec<Value> = expected.iter().map(|name| Value::from(*name)).collect();
                errors.push(FieldError::not_supported(field, &Value::from(file.text(field)), &allowed));
            }
        }
        let manifests = ManifestDirectories::none(version);
        let mut configuration = PluginConfiguration { manifests, ..PluginConfiguration::default() };
        for (at, plugin) in file.items("plugins").iter().enumerate() {
            let at = format!("plugins[{at}]");
            unknown_fields(plugin, &at, &["name", "path", "configuration"], &mut errors);
            let name = plugin.text("name");
            if !CONFIGURABLE.contains(&name.as_str()) {
                let allowed = CONFIGURABLE.map(Value::from);
                errors.push(FieldError::not_supported(format!("{at}.name"), &Value::from(name), &allowed));
                continue;
            }
            let inline = plugin.get("configuration").filter(|inline| !inline.is_null());
            let other = Some(plugin.text("path")).filter(|path| !path.is_empty());
            match (inline, other) {
                (Some(_), Some(_)) => {
                    let detail = "may not be specified together with path";
                    errors.push(FieldError::forbidden(format!("{at}.configuration"), detail));
                }
                (Some(inline), None) => match configuration.set(&name, inline) {
                    Err(Problem::Fields(wrong)) => {
                        let below = |error: FieldError| error.below(format!("{at}.configuration"));
                        errors.extend(wrong.into_iter().map(below));
                    }
                    Err(Problem::File(error)) => return Err(error),
                    Ok(()) => {}
                },
                (None, Some(other)) => {
                    let path = path.parent().unwrap_or(Path::new("")).join(other.as_str());
                    configuration.set(&name, &document(&path)?).map_err(|problem| match problem {
                        Problem::Fields(errors) => PluginConfigurationError::Invalid { path, errors },
                        Problem::File(error) => error,
                    })?;
                }
                (None, None) => {}
            }
        }
        if errors.is_empty() { Ok(configuration) } else { Err(invalid(errors)) }
    }

    /// Reads the configuration of a plugin.
    fn set(&mut self, plugin: &str, config: &Value) -> Result<(), Problem> {
        match plugin {
            RESOURCE_QUOTA => self.resource_quota = QuotaConfig::read(config).map_err(Problem::Fields)?,
            MUTATING_WEBHOOKS => {
                self.mutating_webhooks = webhook_credentials(config)?;
                self.set_manifests(plugin, config)?;
            }
            VALIDATING_WEBHOOKS => {
                self.validating_webhooks = webhook_credentials(config)?;
                self.set_manifests(plugin, config)?;
            }
            MUTATING_POLICIES | VALIDATING_POLICIES => {
                check_policy_configuration(plugin, config)?;
                self.set_manifests(plugin, config)?;
            }
            _ => self.pod_security = PodSecurityConfig::read(config).map_err(Problem::Fields)?,
        }
        Ok(())
    }
}

impl PluginConfiguration {
    /// Reads the directory of the webhooks or policies of a plugin.
    fn set_manifests(&mut self, plugin: &str, config: &Value) -> Result<(), Problem> {
        const FIELD: &str = "staticManifestsDir";
        let given = config.text(FIELD);
        let directory = Path::new(given.as_str());
        let invalid = |detail: &str| FieldError::invalid(FIELD, &Value::from(given.clone()), detail);
        let error = match fs::metadata(directory) {
            _ if given.is_empty() => return Ok(()),
            _ if !self.manifests.version().has(Behaviour::AdmissionManifests) => {
                let detail = "staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled";
                FieldError::forbidden(FIELD, detail)
            }
            _ if !directory.is_absolute() => invalid("must be an absolute file path"),
            Err(error) => invalid(&format!("unable to read: {error}")),
            Ok(found) if !found.is_dir() => invalid("must be a directory"),
            Ok(_) => {
                self.manifests.set(plugin, directory.into());
                return Ok(());
            }
        };
        Err(Problem::Fields(vec![error]))
    }
}

/// Checks the kind and the fields of the configuration of policies.
fn check_policy_configuration(plugin: &str, config: &Value) -> Result<(), Problem> {
    let mut errors = Vec::new();
    unknown_fields(config, "", &["apiVersion", "kind", "staticManifestsDir"], &mut errors);
    let expected = [("apiVersion", VERSIONS[0].to_owned()), ("kind", format!("{plugin}Configuration"))];
    for (field, expected) in expected {
        let found = config.text(field);
        if found != expected.as_str() {
            errors.push(FieldError::not_supported(field, &Value::from(found), &[Value::from(expected)]));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Problem::Fields(errors)) }
}

/// Why the configuration of a plugin cannot be used.
enum Problem {
    /// Its content.
    Fields(Vec<FieldError>),
    /// A file that it names.
    File(PluginConfigurationError),
}

/// Reads the configuration of webhooks: the kubeconfig that it names has the credentials.
fn webhook_credentials(config: &Value) -> Result<WebhookCredentials, Problem> {
    let mut errors = Vec::new();
    let known = ["apiVersion", "kind", "kubeConfigFile", "staticManifestsDir"];
    unknown_fields(config, "", &known, &mut errors);
    let (version, kind) = (config.text("apiVersion"), config.text("kind"));
    if !WEBHOOK_KINDS.contains(&(version.as_str(), kind.as_str())) {
        let allowed = WEBHOOK_KINDS.map(|(_, kind)| Value::from(kind));
        errors.push(FieldError::not_supported("kind", &Value::from(kind), &allowed));
    }
    let file = config.text("kubeConfigFile");
    let path = Path::new(file.as_str());
    if !file.is_empty() && !path.is_absolute() {
        let detail = "must be an absolute file path";
        errors.push(FieldError::invalid("kubeConfigFile", &Value::from(file.clone()), detail));
    }
    if !errors.is_empty() {
        return Err(Problem::Fields(errors));
    }
    if file.is_empty() {
        return Ok(WebhookCredentials::default());
    }
    let kubeconfig = document(path).map_err(Problem::File)?;
    WebhookCredentials::read(&kubeconfig, path.parent().unwrap_or(Path::new("")))
        .map_err(|errors| Problem::File(PluginConfigurationError::Invalid { path: path.into(), errors }))
}

fn document(path: &Path) -> Result<Value, PluginConfigurationError> {
    let text = fs::read(path).map_err(|error| PluginConfigurationError::Io { path: path.into(), error })?;
    yaml::parse_any(&text, &Limits::default())
        .map_err(|error| PluginConfigurationError::Syntax { path: path.into(), error })
}

fn unknown_fields(value: &Value, path: &str, known: &[&str], errors: &mut Vec<FieldError>) {
    let Some(object) = value.as_object() else {
        return errors.push(FieldError::invalid(path, value, "must be an object"));
    };
    for (name, _) in object.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
        let field = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        let detail = format!("unknown field; use {}", known.join(", "));
        errors.push(FieldError::invalid(field, &Value::from(name.clone()), detail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD_SECURITY_CONFIG: &str = "{apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, defaults: {enforce: baseline}}";

    fn read(text: &str) -> Result<PluginConfiguration, String> {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("security.yaml"), POD_SECURITY_CONFIG).unwrap();
        let path = directory.path().join("admission.yaml");
        fs::write(
            &path,
            format!("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n{text}"),
        )
        .unwrap();
        PluginConfiguration::read(&path, KubernetesVersion::V1_37).map_err(|error| error.to_string())
    }

    #[test]
    fn the_configuration_is_in_the_file_or_beside_it() {
        let inline =
            read(&format!("plugins: [{{name: PodSecurity, configuration: {POD_SECURITY_CONFIG}}}]")).unwrap();
        let beside = read("plugins: [{name: PodSecurity, path: security.yaml}]").unwrap();
        assert_eq!(inline, beside);
        assert_eq!(inline.pod_security.defaults.enforce.to_string(), "baseline:latest");
        assert_eq!(read("plugins: [{name: PodSecurity}]").unwrap(), PluginConfiguration::default());
        assert_eq!(read("").unwrap(), PluginConfiguration::default());
    }

    #[test]
    fn what_has_no_meaning_is_an_error() {
        for (text, expected) in [
            ("plugin: []", "plugin: Invalid value: \"plugin\": unknown field; use apiVersion, kind, plugins"),
            (
                "plugins: [{name: EventRateLimit}]",
                "plugins[0].name: Unsupported value: \"EventRateLimit\": supported values: \"MutatingAdmissionPolicy\", \"MutatingAdmissionWebhook\", \"PodSecurity\", \"ResourceQuota\", \"ValidatingAdmissionPolicy\", \"ValidatingAdmissionWebhook\"",
            ),
            ("plugins: [{name: PodSecurity, path: none.yaml}]", "none.yaml: "),
            (
                "plugins: [{name: PodSecurity, path: a, configuration: {}}]",
                "plugins[0].configuration: Forbidden",
            ),
            (
                "plugins: [{name: PodSecurity, configuration: {kind: x}}]",
                "plugins[0].configuration.kind: Unsupported value: \"x\"",
            ),
            ("plugins: [7]", "plugins[0]: Invalid value: 7: must be an object"),
            ("plugins: [", "admission.yaml: "),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn webhooks_have_the_credentials_of_a_kubeconfig() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kubeconfig");
        fs::write(&path, "users: [{name: '*', user: {token: secret}}]").unwrap();
        let with = |version: &str, kind: &str, file: &str| {
            read(&format!(
                "plugins: [{{name: MutatingAdmissionWebhook, configuration: {{apiVersion: {version}, kind: {kind}, kubeConfigFile: '{file}'}}}}]"
            ))
        };
        let path = path.display().to_string();
        let none = WebhookCredentials::default();
        for (version, kind) in WEBHOOK_KINDS {
            let read = with(version, kind, &path).unwrap();
            assert!(read.mutating_webhooks != none && read.validating_webhooks == none, "{version}");
        }
        let (version, kind) = WEBHOOK_KINDS[0];
        assert_eq!(with(version, kind, "").unwrap().mutating_webhooks, none);
        for (version, kind, file, expected) in [
            (version, "WebhookAdmission", path.as_str(), "plugins[0].configuration.kind: Unsupported value"),
            (version, kind, "kubeconfig", "plugins[0].configuration.kubeConfigFile: Invalid value"),
            (version, kind, "/none/kubeconfig", "cannot read /none/kubeconfig"),
        ] {
            let error = with(version, kind, file).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
