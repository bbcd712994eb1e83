//! The chain of admission plugins in the order of kube-apiserver.

use crate::{
    AdmissionAttributes, AdmissionConfig, AdmissionContext, AdmissionPlugin, ResourceAction, plugins,
};
use tenure_meta::ApiError;

/// The plugins in the order in which they run, by the names that Kubernetes gives them. A further plugin is a row here.
const PLUGINS: [(&str, &dyn AdmissionPlugin); 10] = [
    ("LimitRanger", &plugins::LimitRanger),
    ("Priority", &plugins::Priority),
    ("DefaultStorageClass", &plugins::DefaultStorageClass),
    ("PersistentVolumeClaimResize", &plugins::PersistentVolumeClaimResize),
    ("RuntimeClass", &plugins::RuntimeClass),
    ("DefaultIngressClass", &plugins::DefaultIngressClass),
    ("MutatingAdmissionPolicy", &plugins::MutatingAdmissionPolicy),
    ("MutatingAdmissionWebhook", &plugins::MutatingAdmissionWebhook),
    ("ValidatingAdmissionPolicy", &plugins::ValidatingAdmissionPolicy),
    ("ValidatingAdmissionWebhook", &plugins::ValidatingAdmissionWebhook),
];

/// Returns the names of all plugins in the order in which they run.
pub fn plugin_names() -> impl Iterator<Item = &'static str> {
    PLUGINS.iter().map(|(name, _)| *name)
}

/// Which plugins run. All are enabled by default.
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
}

/// The admission plugins that run, in order.
pub struct AdmissionChain {
    plugins: Vec<&'static dyn AdmissionPlugin>,
}

impl Default for AdmissionChain {
    fn default() -> AdmissionChain {
        AdmissionChain { plugins: PLUGINS.iter().map(|(_, plugin)| *plugin).collect() }
    }
}

impl AdmissionChain {
    /// Creates a chain of the selected plugins.
    pub fn new(selection: &PluginSelection) -> Result<AdmissionChain, AdmissionError> {
        for name in selection.enabled.iter().chain(&selection.disabled) {
            if !plugin_names().any(|known| known == name) {
                return Err(AdmissionError::UnknownPlugin { name: name.clone() });
            }
            if selection.enabled.contains(name) && selection.disabled.contains(name) {
                return Err(AdmissionError::Contradiction { name: name.clone() });
            }
        }
        let is_enabled = |name: &str| !selection.disabled.iter().any(|disabled| disabled == name);
        let plugins = PLUGINS.iter().filter(|(name, _)| is_enabled(name)).map(|(_, plugin)| *plugin);
        Ok(AdmissionChain { plugins: plugins.collect() })
    }

    /// Whether a plugin handles an action.
    pub fn handles(&self, action: &ResourceAction<'_>, config: &AdmissionConfig) -> bool {
        self.plugins.iter().any(|plugin| plugin.handles(action, config))
    }

    /// Runs the mutating phase. If a policy or webhook has changed the object, the chain runs once more, so that plugins
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
        let disabled = selection(&[], &["LimitRanger", "Priority", "RuntimeClass"]);
        assert!(!AdmissionChain::new(&disabled).unwrap().handles(&pods, &config));
        assert!(AdmissionChain::new(&selection(&["LimitRanger"], &[])).is_ok());
    }

    #[test]
    fn a_wrong_selection_is_an_error_with_the_remedy() {
        let error = |enabled: &[&str], disabled: &[&str]| {
            AdmissionChain::new(&selection(enabled, disabled)).err().map(|error| error.to_string())
        };
        assert!(error(&[], &["LimitRange"]).unwrap().contains("use LimitRanger, Priority"));
        assert!(error(&["Priority"], &["Priority"]).unwrap().contains("both enabled and disabled"));
    }

    #[test]
    fn most_actions_are_not_handled() {
        let chain = AdmissionChain::default();
        let config = AdmissionConfig::default();
        for (operation, group, resource, subresource) in [
            (Operation::Create, "", "configmaps", ""),
            (Operation::Update, "", "pods", ""),
            (Operation::Create, "", "pods", "eviction"),
            (Operation::Create, "example.com", "pods", ""),
        ] {
            let action = ResourceAction { operation, group, resource, subresource };
            assert!(!chain.handles(&action, &config), "{action:?}");
        }
    }
}
