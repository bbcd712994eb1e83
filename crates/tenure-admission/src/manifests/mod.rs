//! Webhooks and policies of files. They are there before the first request, the API can neither change nor delete them, and they see
//! also the writes of the configurations of the API. A file that changes is read while the server runs; if a directory cannot be used
//! as a whole, what it had before stays.

mod loader;

use crate::{AdmissionConfig, CONFIGURATIONS};
use parking_lot::RwLock;
use std::{
    fmt::Write,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use tenure_profile::KubernetesVersion;
use tenure_value::Value;

pub use loader::ManifestError;

/// How the names of configurations of files end.
pub(crate) const NAME_SUFFIX: &str = ".static.k8s.io";

/// The plugins that read manifests, with the places of their resources in [`CONFIGURATIONS`] and their kinds: what acts, and what
/// binds it.
const PLUGINS: [ManifestPlugin; 4] = [
    ManifestPlugin::of(
        "MutatingAdmissionPolicy",
        &[(0, "MutatingAdmissionPolicy"), (1, "MutatingAdmissionPolicyBinding")],
    ),
    ManifestPlugin::of("MutatingAdmissionWebhook", &[(2, "MutatingWebhookConfiguration")]),
    ManifestPlugin::of(
        "ValidatingAdmissionPolicy",
        &[(4, "ValidatingAdmissionPolicy"), (5, "ValidatingAdmissionPolicyBinding")],
    ),
    ManifestPlugin::of("ValidatingAdmissionWebhook", &[(3, "ValidatingWebhookConfiguration")]),
];

/// A plugin that reads manifests.
#[derive(Clone, Copy, Debug)]
struct ManifestPlugin {
    name: &'static str,
    /// The places of its resources in [`CONFIGURATIONS`], and their kinds.
    kinds: &'static [(usize, &'static str)],
}

impl ManifestPlugin {
    const fn of(name: &'static str, kinds: &'static [(usize, &'static str)]) -> ManifestPlugin {
        ManifestPlugin { name, kinds }
    }
}

/// The directories of manifests, by the names of the plugins that read them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestDirectories {
    version: KubernetesVersion,
    directories: [Option<PathBuf>; PLUGINS.len()],
}

impl ManifestDirectories {
    /// Returns no directories, for a server of a version of Kubernetes.
    pub fn none(version: KubernetesVersion) -> ManifestDirectories {
        ManifestDirectories { version, directories: Default::default() }
    }

    /// Returns the version of Kubernetes whose rules manifests are checked by.
    pub fn version(&self) -> KubernetesVersion {
        self.version
    }

    /// Sets the directory of a plugin; there is no effect for a plugin that reads none.
    pub(crate) fn set(&mut self, plugin: &str, directory: PathBuf) {
        if let Some(at) = PLUGINS.iter().position(|known| known.name == plugin) {
            self.directories[at] = Some(directory);
        }
    }
}

/// The webhooks and policies of manifests, and what is counted about reading them.
pub struct AdmissionManifests {
    version: KubernetesVersion,
    directories: Vec<Directory>,
    state: RwLock<State>,
}

/// A directory of a plugin.
struct Directory {
    plugin: ManifestPlugin,
    path: PathBuf,
}

/// What the directories had when they were read.
#[derive(Default)]
struct State {
    config: Arc<AdmissionConfig>,
    /// The objects, in the places of their resources in [`CONFIGURATIONS`].
    objects: [Vec<Value>; CONFIGURATIONS.len()],
    counters: Vec<Counters>,
}

/// What is counted of one directory.
#[derive(Clone, Debug, Default)]
struct Counters {
    /// What identifies the content; empty without files.
    hash: String,
    successes: u64,
    failures: u64,
    /// When it was last read, in seconds since 1970.
    success_time: f64,
    failure_time: f64,
}

impl AdmissionManifests {
    /// Reads the directories of the plugins that run; `None` if none of them has one.
    pub(crate) fn load(
        directories: &ManifestDirectories,
        runs: impl Fn(&str) -> bool,
    ) -> Result<Option<AdmissionManifests>, ManifestError> {
        let with_directory = PLUGINS.into_iter().zip(&directories.directories);
        let directories_of_plugins: Vec<Directory> = with_directory
            .filter(|(plugin, _)| runs(plugin.name))
            .filter_map(|(plugin, path)| path.clone().map(|path| Directory { plugin, path }))
            .collect();
        if directories_of_plugins.is_empty() {
            return Ok(None);
        }
        let state =
            State { counters: vec![Counters::default(); directories_of_plugins.len()], ..State::default() };
        let (version, state) = (directories.version, RwLock::new(state));
        let manifests = AdmissionManifests { version, directories: directories_of_plugins, state };
        for at in 0..manifests.directories.len() {
            manifests.read(at)?;
        }
        Ok(Some(manifests))
    }

    /// Returns what the manifests configure.
    pub fn config(&self) -> Arc<AdmissionConfig> {
        self.state.read().config.clone()
    }

    /// Returns the directories that are read.
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        self.directories.iter().map(|directory| directory.path.as_path())
    }

    /// Reads all directories again. One that cannot be used is an error, and keeps what it had.
    pub fn reload(&self) -> Result<(), ManifestError> {
        let read: Vec<_> = (0..self.directories.len()).map(|at| self.read(at)).collect();
        read.into_iter().collect()
    }

    fn read(&self, at: usize) -> Result<(), ManifestError> {
        let Directory { plugin, path } = &self.directories[at];
        let loaded = loader::load(path, plugin.kinds, self.version);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
        let mut state = self.state.write();
        let counters = &mut state.counters[at];
        let loaded = match loaded {
            // A directory without files has no hash, and is read all the same.
            Ok(loaded) if counters.successes > 0 && loaded.hash == counters.hash => return Ok(()),
            Ok(loaded) => loaded,
            Err(error) => {
                (counters.failures, counters.failure_time) = (counters.failures + 1, now);
                return Err(error);
            }
        };
        (counters.successes, counters.success_time, counters.hash) =
            (counters.successes + 1, now, loaded.hash);
        for ((place, _), objects) in plugin.kinds.iter().zip(loaded.objects) {
            state.objects[*place] = objects;
        }
        state.config = Arc::new(AdmissionConfig::compile(&state.objects, self.version));
        Ok(())
    }

    /// Writes what was counted, in the text format of Prometheus.
    pub(crate) fn write_metrics(&self, text: &mut String) {
        const PREFIX: &str = "apiserver_manifest_admission_config_controller_";
        let state = self.state.read();
        let server = loader::identity_hash();
        let rows = || {
            self.directories
                .iter()
                .zip(&state.counters)
                .map(|(directory, counters)| (directory.plugin.name, counters))
        };
        let mut metric = |name: &str, kind: &str, help: &str, lines: &mut dyn Iterator<Item = String>| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP {PREFIX}{name} [ALPHA] {help}\n# TYPE {PREFIX}{name} {kind}");
            for line in lines {
                let _ = writeln!(text, "{PREFIX}{name}{line}");
            }
        };
        let by_status = |status: &str, plugin: &str, value: String| {
            format!("{{apiserver_id_hash=\"{server}\",plugin=\"{plugin}\",status=\"{status}\"}} {value}")
        };
        let failed = |counters: &Counters| counters.failures > 0;
        let mut totals = rows().flat_map(|(plugin, counters)| {
            let failures =
                failed(counters).then(|| by_status("failure", plugin, counters.failures.to_string()));
            failures.into_iter().chain([by_status("success", plugin, counters.successes.to_string())])
        });
        let help = "Total number of automatic reloads of admission manifest configuration split by status, plugin, and apiserver identity.";
        metric("automatic_reloads_total", "counter", help, &mut totals);
        let mut times = rows().flat_map(|(plugin, counters)| {
            let failures =
                failed(counters).then(|| by_status("failure", plugin, counters.failure_time.to_string()));
            failures.into_iter().chain([by_status("success", plugin, counters.success_time.to_string())])
        });
        let help = "Timestamp of the last automatic reload of admission manifest configuration split by status, plugin, and apiserver identity.";
        metric("automatic_reload_last_timestamp_seconds", "gauge", help, &mut times);
        let mut hashes = rows().map(|(plugin, counters)| {
            format!("{{apiserver_id_hash=\"{server}\",hash=\"{}\",plugin=\"{plugin}\"}} 1", counters.hash)
        });
        let help = "Information about the last applied admission manifest configuration with hash as label, split by plugin and apiserver identity.";
        metric("last_config_info", "gauge", help, &mut hashes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AdmissionChain, AdmissionError, PluginConfiguration, PluginSelection};
    use std::fs;

    const POLICY: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: a.static.k8s.io}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: 'object.metadata.name != \"x\"'}]
";
    const BINDING: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b.static.k8s.io}
spec: {policyName: a.static.k8s.io, validationActions: [Deny]}
";
    const WEBHOOKS: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: w.static.k8s.io}
webhooks:
- {name: a.b.c, clientConfig: {url: 'https://127.0.0.1:1/x'}, sideEffects: None, admissionReviewVersions: [v1]}
";

    /// Reads one file in a directory of a plugin.
    fn load(plugin: &str, file: &str, text: &str) -> Result<AdmissionManifests, String> {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(file), text).unwrap();
        let mut directories = ManifestDirectories::none(KubernetesVersion::V1_37);
        directories.set(plugin, directory.path().into());
        let loaded = AdmissionManifests::load(&directories, |_| true).map_err(|error| error.reason)?;
        Ok(loaded.unwrap())
    }

    #[test]
    fn what_the_api_would_refuse_and_what_depends_on_the_cluster_is_an_error() {
        const POLICIES: &str = "ValidatingAdmissionPolicy";
        const HOOKS: &str = "ValidatingAdmissionWebhook";
        let both = format!("{POLICY}---\n{BINDING}");
        let as_list = format!(
            "apiVersion: v1\nkind: List\nitems:\n- {}\n- {}\n",
            POLICY.trim_end().replace('\n', "\n  "),
            BINDING.trim_end().replace('\n', "\n  ")
        );
        let of_kind = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfigurationList\nitems: [{metadata: {name: w.static.k8s.io}}]\n";
        for (plugin, text) in [
            (POLICIES, both.as_str()),
            (POLICIES, &as_list),
            (POLICIES, POLICY),
            (POLICIES, ""),
            (HOOKS, WEBHOOKS),
            (HOOKS, of_kind),
            (HOOKS, "---\n---\n"),
        ] {
            let loaded = load(plugin, "a.YAML", text);
            assert!(loaded.is_ok(), "{text}: {:?}", loaded.err());
        }
        for (plugin, text, expected) in [
            (POLICIES, WEBHOOKS.to_owned(), "unsupported resource \"ValidatingWebhookConfiguration\""),
            (POLICIES, both.replace("k8s.io/v1\n", "k8s.io/v1beta1\n"), "unsupported resource"),
            (
                POLICIES,
                POLICY.replace("a.static.k8s.io", "a"),
                "must have a name that ends with \".static.k8s.io\"",
            ),
            (POLICIES, format!("{POLICY}---\n{POLICY}"), "duplicate name \"a.static.k8s.io\""),
            (
                POLICIES,
                BINDING.to_owned(),
                "references policy \"a.static.k8s.io\", which is not in the directory",
            ),
            (
                POLICIES,
                both.replace("policyName: a.static.k8s.io", "policyName: a"),
                "must end with \".static.k8s.io\"",
            ),
            (
                POLICIES,
                both.replace("[Deny]", "[Deny], paramRef: {name: p, parameterNotFoundAction: Deny}"),
                "spec.paramRef is not supported",
            ),
            (
                POLICIES,
                POLICY.replace("spec:\n", "spec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n"),
                "spec.paramKind is not supported",
            ),
            (POLICIES, POLICY.replace("spec:\n", "spec:\n  nope: 1\n"), "unknown field \"spec.nope\""),
            (POLICIES, POLICY.replace("spec:\n", "spec:\n  validations: []\n"), "given twice"),
            (
                POLICIES,
                POLICY.replace("object.metadata", "objekt.metadata"),
                "spec.validations[0].expression",
            ),
            (
                HOOKS,
                WEBHOOKS.replace("url: 'https://127.0.0.1:1/x'", "service: {name: s, namespace: ns}"),
                "clientConfig.service is not supported",
            ),
            (HOOKS, WEBHOOKS.replace("sideEffects: None", "sideEffects: Some"), "webhooks[0].sideEffects"),
            (HOOKS, "{".to_owned(), ""),
        ] {
            let error = load(plugin, "a.yaml", &text).err();
            assert!(error.as_deref().is_some_and(|error| error.contains(expected)), "{text}: {error:?}");
        }
        // Files that are not manifests are not read.
        assert!(load(POLICIES, "readme.txt", "{").is_ok());
    }

    #[test]
    fn a_directory_that_cannot_be_used_keeps_what_it_had() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a.yaml");
        fs::write(&file, WEBHOOKS).unwrap();
        let mut configuration = PluginConfiguration::default();
        configuration.manifests.set("ValidatingAdmissionWebhook", directory.path().into());
        let chain = AdmissionChain::configured(&PluginSelection::default(), &configuration).unwrap();
        let manifests = chain.manifests().unwrap().clone();
        let first = manifests.config();
        assert_eq!(manifests.reload(), Ok(()));
        assert!(Arc::ptr_eq(&first, &manifests.config()), "nothing changed");
        fs::write(&file, "kind: Other").unwrap();
        assert!(
            manifests.reload().unwrap_err().to_string().contains("a.yaml: unsupported resource \"Other\"")
        );
        assert!(Arc::ptr_eq(&first, &manifests.config()));
        fs::remove_file(&file).unwrap();
        assert_eq!(manifests.reload(), Ok(()));
        assert!(!Arc::ptr_eq(&first, &manifests.config()));
        let metrics = chain.metrics();
        let line = |name: &str, labels: &str| {
            let mut lines = metrics.lines().filter(|line| {
                line.starts_with(&format!("apiserver_manifest_admission_config_controller_{name}{{"))
            });
            lines.any(|line| line.contains(labels))
        };
        assert!(
            line("automatic_reloads_total", "plugin=\"ValidatingAdmissionWebhook\",status=\"failure\"} 1"),
            "{metrics}"
        );
        assert!(line("automatic_reloads_total", "status=\"success\"} 2"), "{metrics}");
        assert!(line("last_config_info", "hash=\"\",plugin"), "{metrics}");
        // A plugin that does not run reads nothing.
        fs::write(&file, "kind: Other").unwrap();
        let disabled =
            PluginSelection { disabled: vec!["ValidatingAdmissionWebhook".into()], ..Default::default() };
        assert!(AdmissionChain::configured(&disabled, &configuration).unwrap().manifests().is_none());
        let error = AdmissionChain::configured(&PluginSelection::default(), &configuration).err();
        assert!(matches!(error, Some(AdmissionError::Manifests(_))), "{error:?}");
    }
}
