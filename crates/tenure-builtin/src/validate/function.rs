//! The validation functions that the data refers to, by name.

use super::{
    admission, aggregation, autoscaler, certificate, conditions, container_claims, content, context::Context,
    device, event, flow, job, placement, pod, pod_certificate, pod_parts, prefixed_path, projection, quota,
    resources, selector, service, signer_name, source, trust_bundle, volume, workload,
};
use tenure_meta::{FieldErrors, NameFilter};

/// A validation function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    body: Body,
    reads: NameFilter,
}

type Body = fn(&Context<'_>, &mut FieldErrors);

/// The functions by name.
const FUNCTIONS: [(&str, Body); 116] = [
    ("projectionSource", projection::source),
    ("listedConditions", conditions::listed_conditions),
    ("clusterTrustBundleProjection", projection::cluster_trust_bundle),
    ("podCertificateProjection", projection::pod_certificate),
    ("podCertificateRequest", pod_certificate::request),
    ("signerName", signer_name::spec),
    ("trustBundle", trust_bundle::bundle),
    ("trustBundleName", trust_bundle::name),
    ("labelSelector", selector::label_selector),
    ("selectsTemplate", selector::selects_template),
    ("selectsTemplateByMap", selector::selects_template_by_map),
    ("schedulingGate", pod_parts::scheduling_gate),
    ("operatingSystem", pod_parts::operating_system),
    ("resourceClaim", pod_parts::resource_claim),
    ("resizePolicies", pod_parts::resize_policies),
    ("aggregatedSelectors", selector::aggregated),
    ("provisioner", volume::provisioner),
    ("podSpec", pod::spec),
    ("podMounts", pod::mounts),
    ("container", pod::container),
    ("env", pod::env),
    ("envFrom", pod::env_from),
    ("toleration", pod::toleration),
    ("port", pod::port),
    ("volume", pod::volume),
    ("requirements", resources::requirements),
    ("volumeRequirements", resources::volume_requirements),
    ("capacity", resources::capacity),
    ("containerClaims", container_claims::container_claims),
    ("nodeResources", resources::of_node),
    ("nodeStatusResources", resources::of_whole_node),
    ("limit", quota::limit),
    ("quota", quota::quota),
    ("quotaStatus", quota::status),
    ("podAddresses", pod::addresses),
    ("balancerStatus", service::status),
    ("namespacePhase", workload::namespace_phase),
    ("scopeRequirement", quota::scope_requirement),
    ("fixedOverhead", quota::fixed_overhead),
    ("nodeTerm", placement::node_term),
    ("affinityTerm", placement::affinity_term),
    ("weight", placement::weight),
    ("spreadConstraint", placement::spread_constraint),
    ("spreadConstraints", placement::spread_constraints),
    ("topologies", placement::topologies),
    ("file", source::file),
    ("amount", source::amount),
    ("projected", source::projected),
    ("apiService", aggregation::api_service),
    ("rollingUpdate", workload::rolling_update),
    ("daemonUpdate", workload::daemon_update),
    ("statefulUpdate", workload::stateful_update),
    ("statefulClaims", workload::stateful_claims),
    ("job", job::job),
    ("budget", workload::budget),
    ("metric", autoscaler::metric),
    ("mostReplicas", autoscaler::most_replicas),
    ("moreThanLeast", autoscaler::more_than_least),
    ("scalesToZero", autoscaler::scales_to_zero),
    ("ingressController", prefixed_path::controller),
    ("ingressContent", workload::ingress_content),
    ("service", service::service),
    ("serviceCidr", service::service_cidr),
    ("configData", content::config_data),
    ("secretData", content::secret_data),
    ("policyRule", workload::policy_rule),
    ("subject", workload::subject),
    ("roleRef", workload::role_ref),
    ("ingressBackend", workload::ingress_backend),
    ("nodeTaints", workload::node_taints),
    ("networkPort", workload::network_port),
    ("priorityClass", workload::priority_class),
    ("sliceAddresses", workload::slice_addresses),
    ("event", event::event),
    ("admissionWebhook", admission::webhook),
    ("admissionRule", admission::rule),
    ("admissionCondition", admission::condition),
    ("admissionValidation", admission::validation),
    ("admissionVariable", admission::variable),
    ("admissionPolicy", admission::policy),
    ("mutatingPolicy", admission::mutating_policy),
    ("admissionMutation", admission::mutation),
    ("admissionBinding", admission::mutating_binding),
    ("validatingBinding", admission::validating_binding),
    ("templateMetadata", selector::template_metadata),
    ("endpointPorts", workload::endpoint_ports),
    ("networkBlock", workload::network_block),
    ("certificateRequest", certificate::request),
    ("certificateStatus", certificate::status),
    ("serviceAccountNamespace", workload::account_namespace),
    ("auditAnnotation", admission::audit_annotation),
    ("azureDisk", volume::azure_disk),
    ("quobyte", volume::quobyte),
    ("attachmentSource", volume::attachment_source),
    ("fibreChannel", volume::fibre_channel),
    ("driverName", volume::driver_name),
    ("httpGet", pod::http_get),
    ("sizeLimit", pod::size_limit),
    ("scalingPolicy", autoscaler::scaling_policy),
    ("scalingRules", autoscaler::scaling_rules),
    ("claimSources", volume::claim_sources),
    ("flowResourceRule", flow::resource_rule),
    ("flowPathRule", flow::path_rule),
    ("flowLevel", flow::level),
    ("flowQueuing", flow::queuing),
    ("flowSchema", flow::schema),
    ("flowSubject", flow::subject),
    ("deviceSelector", device::selector),
    ("deviceAttribute", device::attribute),
    ("deviceAttributes", device::attributes),
    ("deviceCount", device::count),
    ("devicePool", device::pool),
    ("deviceSlice", device::slice),
    ("requestReferences", device::request_references),
    ("conditions", conditions::conditions),
    ("podClaims", device::pod_claims),
];

/// The fields that functions read which look at little of their node, and so need not run whenever something in it changes.
const READS: [(&str, &[&str]); 3] = [
    ("rollingUpdate", &["minReadySeconds", "progressDeadlineSeconds", "strategy"]),
    ("selectsTemplate", &["selector", "template"]),
    ("templateMetadata", &["metadata"]),
];

impl Function {
    pub(crate) fn named(name: &str) -> Option<Function> {
        let (_, body) = FUNCTIONS.iter().find(|(known, _)| *known == name)?;
        let known = READS.iter().find(|(known, _)| *known == name);
        let reads = known.map_or(NameFilter::ALL, |(_, fields)| fields.iter().copied().collect());
        Some(Function { body: *body, reads })
    }

    /// Returns the fields of a node that the function reads; all where that is not known.
    pub(crate) fn reads(self) -> NameFilter {
        self.reads
    }

    pub(crate) fn call(self, context: &Context<'_>, errors: &mut FieldErrors) {
        (self.body)(context, errors)
    }
}
