//! The chain of admission plugins in the order of kube-apiserver.

use crate::{
    AdmissionAttributes, AdmissionConfig, AdmissionContext, AdmissionManifests, AdmissionPlugin,
    ManifestError, PluginConfiguration, ResourceAction, plugins, resource_quota::QuotaConfig,
};
use std::sync::Arc;
use tenure_meta::ApiError;

/// The name of the plugin that charges quotas.
const RESOURCE_QUOTA: &str = "ResourceQuota";

/// A row of the table of plugins.
struct Plugin {
    /// The name that Kubernetes gives the plugin.
    name: &'static str,
    /// Whether the plugin runs unless it is disabled.
    is_default: bool,
    stage: Stage,
}

/// Where a plugin runs.
enum Stage {
    /// In the chain; the function makes the plugin.
    Chain(fn(&PluginConfiguration) -> Box<dyn AdmissionPlugin>),
    /// In the commit of a write, since it must hold in the same transaction.
    Commit,
    /// Among the rules of the built-in kinds, or of the server for new objects.
    Rules,
}

const fn on(name: &'static str, plugin: fn(&PluginConfiguration) -> Box<dyn AdmissionPlugin>) -> Plugin {
    Plugin { name, is_default: true, stage: Stage::Chain(plugin) }
}

const fn off(name: &'static str, plugin: fn(&PluginConfiguration) -> Box<dyn AdmissionPlugin>) -> Plugin {
    Plugin { name, is_default: false, stage: Stage::Chain(plugin) }
}

const fn in_rules(name: &'static str) -> Plugin {
    Plugin { name, is_default: true, stage: Stage::Rules }
}

/// The plugins in the order in which they run. A further plugin is a row here.
const PLUGINS: [Plugin; 28] = [
    in_rules("NamespaceLifecycle"),
    on("LimitRanger", |_| Box::new(plugins::LimitRanger)),
    off("ServiceAccount", |_| Box::new(plugins::ServiceAccount)),
    off("NodeRestriction", |_| Box::new(plugins::NodeRestriction)),
    in_rules("TaintNodesByCondition"),
    off("AlwaysPullImages", |_| Box::new(plugins::ALWAYS_PULL_IMAGES)),
    on("PodSecurity", |config| Box::new(plugins::PodSecurity::new(config.pod_security.clone()))),
    on("Priority", |_| Box::new(plugins::Priority)),
    in_rules("DefaultTolerationSeconds"),
    off("ExtendedResourceToleration", |_| Box::new(plugins::EXTENDED_RESOURCE_TOLERATION)),
    on("DefaultStorageClass", |_| Box::new(plugins::DEFAULT_STORAGE_CLASS)),
    in_rules("StorageObjectInUseProtection"),
    on("PersistentVolumeClaimResize", |_| Box::new(plugins::PersistentVolumeClaimResize)),
    on("RuntimeClass", |_| Box::new(plugins::RuntimeClass)),
    on("CertificateApproval", |_| Box::new(plugins::CERTIFICATE_APPROVAL)),
    on("CertificateSigning", |_| Box::new(plugins::CERTIFICATE_SIGNING)),
    on("ClusterTrustBundleAttest", |_| Box::new(plugins::CLUSTER_TRUST_BUNDLE_ATTEST)),
    on("CertificateSubjectRestriction", |_| Box::new(plugins::CERTIFICATE_SUBJECT_RESTRICTION)),
    on("DefaultIngressClass", |_| Box::new(plugins::DEFAULT_INGRESS_CLASS)),
    off("DenyServiceExternalIPs", |_| Box::new(plugins::DENY_SERVICE_EXTERNAL_IPS)),
    on("PodTopologyLabels", |_| Box::new(plugins::PodTopologyLabels)),
    on("NodeDeclaredFeatureValidator", |_| Box::new(plugins::NodeDeclaredFeatureValidator)),
    on("PodResizeValidator", |_| Box::new(plugins::PodResizeValidator)),
    on("MutatingAdmissionPolicy", |_| Box::new(plugins::MutatingAdmissionPolicy)),
    on("MutatingAdmissionWebhook", |config| {
        Box::new(plugins::MutatingAdmissionWebhook(config.mutating_webhooks.clone()))
    }),
    on("ValidatingAdmissionPolicy", |_| Box::new(plugins::ValidatingAdmissionPolicy)),
    on("ValidatingAdmissionWebhook", |config| {
        Box::new(plugins::ValidatingAdmissionWebhook(config.validating_webhooks.clone()))
    }),
    Plugin { name: RESOURCE_QUOTA, is_default: true, stage: Stage::Commit },
];

/// Returns the names of all plugins in the order in which they run.
pub fn plugin_names() -> impl Iterator<Item = &'static str> {
    PLUGINS.iter().map(|plugin| plugin.name)
}

/// Which plugins run. By default those of Kubernetes do, except for `ServiceAccount`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginSelection {
    /// The names of plugins that are enabled in addition to the default ones.
    pub enabled: Vec<String>,
    /// The names of plugins that are disabled.
    pub disabled: Vec<String>,
}

/// Why a chain cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdmissionError {
    /// A plugin that does not exist was named. Use one of [`plugin_names`].
    #[error("unknown admission plugin {name:?}: use {}", plugin_names().collect::<Vec<_>>().join(", "))]
    UnknownPlugin {
        /// The name.
        name: String,
    },
    /// A plugin was both enabled and disabled. Remove it from one of the lists.
    #[error("admission plugin {name:?} is both enabled and disabled: remove it from one of the lists")]
    Contradiction {
        /// The name.
        name: String,
    },
    /// The manifests of a plugin cannot be used. Correct the file that the error names.
    #[error(transparent)]
    Manifests(#[from] ManifestError),
}

/// The admission plugins that run, in order.
pub struct AdmissionChain {
    plugins: Vec<Box<dyn AdmissionPlugin>>,
    /// The names of the plugins that run, wherever they run.
    names: Vec<&'static str>,
    /// The configuration of the plugin that charges quotas.
    quotas: QuotaConfig,
    /// The webhooks and policies of files.
    manifests: Option<Arc<AdmissionManifests>>,
}

impl Default for AdmissionChain {
    fn default() -> AdmissionChain {
        AdmissionChain::of(|plugin| plugin.is_default, &PluginConfiguration::default(), None)
    }
}

impl AdmissionChain {
    /// Creates a chain of the selected plugins.
    pub fn new(selection: &PluginSelection) -> Result<AdmissionChain, AdmissionError> {
        AdmissionChain::configured(selection, &PluginConfiguration::default())
    }

    /// Creates a chain of the selected plugins with their configurations.
    pub fn configured(
        selection: &PluginSelection,
        configuration: &PluginConfiguration,
    ) -> Result<AdmissionChain, AdmissionError> {
        for name in selection.enabled.iter().chain(&selection.disabled) {
            if !plugin_names().any(|known| known == name) {
                return Err(AdmissionError::UnknownPlugin { name: name.clone() });
            }
            if selection.enabled.contains(name) && selection.disabled.contains(name) {
                return Err(AdmissionError::Contradiction { name: name.clone() });
            }
        }
        let names = |list: &[String], name: &str| list.iter().any(|listed| listed == name);
        let is_enabled = |plugin: &Plugin| {
            names(&selection.enabled, plugin.name)
                || plugin.is_default && !names(&selection.disabled, plugin.name)
        };
        let is_enabled_by_name =
            |name: &str| PLUGINS.iter().any(|plugin| plugin.name == name && is_enabled(plugin));
        let manifests = AdmissionManifests::load(&configuration.manifests, is_enabled_by_name)?;
        Ok(AdmissionChain::of(is_enabled, configuration, manifests))
    }

    fn of(
        is_enabled: impl Fn(&Plugin) -> bool,
        configuration: &PluginConfiguration,
        manifests: Option<AdmissionManifests>,
    ) -> AdmissionChain {
        let enabled = || PLUGINS.iter().filter(|plugin| is_enabled(plugin));
        let plugins = enabled().filter_map(|plugin| match plugin.stage {
            Stage::Chain(make) => Some(make(configuration)),
            Stage::Commit | Stage::Rules => None,
        });
        let names = enabled().map(|plugin| plugin.name).collect();
        AdmissionChain {
            plugins: plugins.collect(),
            names,
            quotas: configuration.resource_quota.clone(),
            manifests: manifests.map(Arc::new),
        }
    }

    /// Whether a plugin runs, by its name.
    pub fn runs(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// Returns the webhooks and policies of files, if there are any.
    pub fn manifests(&self) -> Option<&Arc<AdmissionManifests>> {
        self.manifests.as_ref()
    }

    /// Whether writes are charged to the quotas of their namespaces.
    pub fn charges_quotas(&self) -> bool {
        self.runs(RESOURCE_QUOTA)
    }

    /// Returns which resources may be used only where a quota covers them.
    pub fn quotas(&self) -> &QuotaConfig {
        &self.quotas
    }

    /// Whether a plugin handles an action.
    pub fn handles(&self, action: &ResourceAction<'_>, config: &AdmissionConfig) -> bool {
        self.handles_in_namespace(action, config, |_| true)
    }

    /// Whether a plugin handles an action in a namespace. `has_labels` says whether the namespace has labels with a prefix.
    pub fn handles_in_namespace(
        &self,
        action: &ResourceAction<'_>,
        config: &AdmissionConfig,
        has_labels: impl Fn(&'static str) -> bool,
    ) -> bool {
        self.plugins.iter().any(|plugin| {
            plugin.handles(action, config) && plugin.label_prefix(action).is_none_or(&has_labels)
        })
    }

    /// Returns what the plugins have counted, in the text format of Prometheus.
    pub fn metrics(&self) -> String {
        let mut text = String::new();
        self.plugins.iter().for_each(|plugin| plugin.write_metrics(&mut text));
        self.manifests.iter().for_each(|manifests| manifests.write_metrics(&mut text));
        text
    }

    /// Resets the counters of the plugins.
    pub fn reset_metrics(&self) {
        self.plugins.iter().for_each(|plugin| plugin.reset_metrics());
    }

    /// Runs the mutating phase. If a policy or webhook has changed the object, the chain runs again, so that plugins
    /// see what later ones have set.
    pub async fn admit(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        for is_second_pass in [false, true] {
            attributes.reinvocation.is_second_pass = is_second_pass;
            for plugin in &self.plugins {
                if plugin.handles(&attributes.action(), context.config) {
                    plugin.admit(attributes, context).await?;
                }
            }
            if !attributes.reinvocation.is_needed {
                break;
            }
        }
        Ok(())
    }

    /// Runs the validating phase.
    pub async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        for plugin in &self.plugins {
            if plugin.handles(&attributes.action(), context.config) {
                plugin.validate(attributes, context).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;

    fn selection(enabled: &[&str], disabled: &[&str]) -> PluginSelection {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        PluginSelection { enabled: names(enabled), disabled: names(disabled) }
    }

    #[test]
    fn plugins_are_selected_by_name() {
        let pods =
            ResourceAction { operation: Operation::Create, group: "", resource: "pods", subresource: "" };
        let config = AdmissionConfig::default();
        assert!(AdmissionChain::default().handles(&pods, &config));
        let disabled =
            selection(&[], &["LimitRanger", "PodSecurity", "PodTopologyLabels", "Priority", "RuntimeClass"]);
        assert!(!AdmissionChain::new(&disabled).unwrap().handles(&pods, &config));
        assert!(AdmissionChain::new(&selection(&["LimitRanger"], &[])).is_ok());
        assert!(AdmissionChain::default().charges_quotas());
        assert!(!AdmissionChain::new(&selection(&[], &["ResourceQuota"])).unwrap().charges_quotas());
        let all = AdmissionChain::new(&selection(&["ServiceAccount", "ExtendedResourceToleration"], &[]))
            .unwrap()
            .plugins
            .len();
        assert_eq!(all - AdmissionChain::default().plugins.len(), 2);
        // Also those that are rules of the kinds or of the server.
        let without = AdmissionChain::new(&selection(&[], &["NamespaceLifecycle"])).unwrap();
        assert!(!without.runs("NamespaceLifecycle") && without.runs("DefaultTolerationSeconds"));
    }

    #[test]
    fn a_wrong_selection_is_an_error_with_the_remedy() {
        let error = |enabled: &[&str], disabled: &[&str]| {
            AdmissionChain::new(&selection(enabled, disabled)).err().map(|error| error.to_string())
        };
        assert!(error(&[], &["LimitRange"]).unwrap().contains("use NamespaceLifecycle, LimitRanger"));
        assert!(error(&["Priority"], &["Priority"]).unwrap().contains("both enabled and disabled"));
    }

    #[test]
    fn most_actions_are_not_handled() {
        let chain = AdmissionChain::default();
        let config = AdmissionConfig::default();
        for (operation, group, resource, subresource) in [
            (Operation::Create, "", "configmaps", ""),
            (Operation::Update, "", "pods", "status"),
            (Operation::Create, "", "pods", "eviction"),
            (Operation::Create, "example.com", "pods", ""),
        ] {
            let action = ResourceAction { operation, group, resource, subresource };
            assert!(!chain.handles(&action, &config), "{action:?}");
        }
        let update = ResourceAction {
            operation: Operation::Update,
            group: "apps",
            resource: "deployments",
            subresource: "",
        };
        assert!(chain.handles(&update, &config));
        assert!(!chain.handles_in_namespace(&update, &config, |_| false));
    }
}
