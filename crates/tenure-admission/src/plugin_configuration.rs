//! The configurations of plugins: `AdmissionConfiguration` of `apiserver.config.k8s.io`, the file of
//! `--admission-control-config-file`.

use crate::{pod_security::PodSecurityConfig, resource_quota::QuotaConfig};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use tenure_meta::{FieldError, Row};
use tenure_value::{Limits, Value, yaml};

const KIND: &str = "AdmissionConfiguration";
const VERSIONS: [&str; 2] = ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"];
/// The plugins that have a configuration.
const POD_SECURITY: &str = "PodSecurity";
const RESOURCE_QUOTA: &str = "ResourceQuota";

/// The configurations of plugins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginConfiguration {
    /// That of `PodSecurity`.
    pub pod_security: PodSecurityConfig,
    /// That of `ResourceQuota`.
    pub resource_quota: QuotaConfig,
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
    /// Reads a file of configurations, and the files that it names, which are relative to it.
    pub fn read(path: &Path) -> Result<PluginConfiguration, PluginConfigurationError> {
        let file = document(path)?;
        let invalid = |errors| PluginConfigurationError::Invalid { path: path.into(), errors };
        let mut errors = Vec::new();
        unknown_fields(&file, "", &["apiVersion", "kind", "plugins"], &mut errors);
        for (field, expected) in [("kind", &[KIND][..]), ("apiVersion", &VERSIONS)] {
            if !expected.contains(&file.text(field).as_str()) {
                let allowed: Vec<Value> = expected.iter().map(|of| Value::from(*of)).collect();
                errors.push(FieldError::not_supported(field, &Value::from(file.text(field)), &allowed));
            }
        }
        let mut configuration = PluginConfiguration::default();
        for (at, plugin) in file.items("plugins").iter().enumerate() {
            let at = format!("plugins[{at}]");
            unknown_fields(plugin, &at, &["name", "path", "configuration"], &mut errors);
            let name = plugin.text("name");
            if ![POD_SECURITY, RESOURCE_QUOTA].contains(&name.as_str()) {
                let allowed = [POD_SECURITY, RESOURCE_QUOTA].map(Value::from);
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
                (Some(inline), None) => {
                    if let Err(wrong) = configuration.set(&name, inline) {
                        let below = |error: FieldError| error.below(format!("{at}.configuration"));
                        errors.extend(wrong.into_iter().map(below));
                    }
                }
                (None, Some(other)) => {
                    let path = path.parent().unwrap_or(Path::new("")).join(other.as_str());
                    let read = configuration.set(&name, &document(&path)?);
                    read.map_err(|errors| PluginConfigurationError::Invalid { path, errors })?;
                }
                (None, None) => {}
            }
        }
        if errors.is_empty() { Ok(configuration) } else { Err(invalid(errors)) }
    }

    /// Reads the configuration of a plugin.
    fn set(&mut self, plugin: &str, config: &Value) -> Result<(), Vec<FieldError>> {
        match plugin {
            RESOURCE_QUOTA => self.resource_quota = QuotaConfig::read(config)?,
            _ => self.pod_security = PodSecurityConfig::read(config)?,
        }
        Ok(())
    }
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
        PluginConfiguration::read(&path).map_err(|error| error.to_string())
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
                "plugins[0].name: Unsupported value: \"EventRateLimit\": supported values: \"PodSecurity\", \"ResourceQuota\"",
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
}
