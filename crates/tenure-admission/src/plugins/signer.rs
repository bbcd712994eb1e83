//! The plugins that protect signers: a permission on a resource is not enough, the client must also be permitted to
//! use the signer that the object names (`signers` in `certificates.k8s.io`, by name or by `DOMAIN/*`).

use super::{items, text};
use crate::{
    AdmissionAttributes, AdmissionConfig, AdmissionContext, AdmissionPlugin, Operation, ResourceAction,
};
use async_trait::async_trait;
use tenure_crd::rules::AccessAttributes;
use tenure_meta::ApiError;
use tenure_value::{Text, Value};

const GROUP: &str = "certificates.k8s.io";
const REQUESTS: &str = "certificatesigningrequests";

/// Approving or denying a certificate signing request needs the verb `approve` on its signer.
pub(crate) struct CertificateApproval;

/// Setting the certificate or the conditions of a certificate signing request needs the verb `sign` on its signer.
pub(crate) struct CertificateSigning;

/// Writing a cluster trust bundle of a signer needs the verb `attest` on the signer.
pub(crate) struct ClusterTrustBundleAttest;

#[async_trait]
impl AdmissionPlugin for CertificateApproval {
    fn handles(&self, action: &ResourceAction<'_>, _: &AdmissionConfig) -> bool {
        is_update_of(action, "approval")
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let signer = signer_of(&attributes.old_object);
        if may_use_signer(context, "approve", signer) {
            return Ok(());
        }
        Err(attributes
            .forbidden(&format!("user not permitted to approve requests with signerName {signer:?}")))
    }
}

#[async_trait]
impl AdmissionPlugin for CertificateSigning {
    fn handles(&self, action: &ResourceAction<'_>, _: &AdmissionConfig) -> bool {
        is_update_of(action, "status")
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let (old, new) = (&attributes.old_object, &attributes.object);
        let certificate =
            |of: &Value| Text::from(of.get("status").map_or("", |status| text(status, "certificate")));
        let conditions = |of: &Value| items(of.at(["status", "conditions"])).to_vec();
        if certificate(old) == certificate(new) && conditions(old) == conditions(new) {
            return Ok(());
        }
        let signer = signer_of(old);
        if may_use_signer(context, "sign", signer) {
            return Ok(());
        }
        Err(attributes.forbidden(&format!("user not permitted to sign requests with signerName {signer:?}")))
    }
}

#[async_trait]
impl AdmissionPlugin for ClusterTrustBundleAttest {
    fn handles(&self, action: &ResourceAction<'_>, _: &AdmissionConfig) -> bool {
        action.is(Operation::Create, GROUP, "clustertrustbundles")
            || action.is(Operation::Update, GROUP, "clustertrustbundles")
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let (old, new) = (signer_of(&attributes.old_object), signer_of(&attributes.object));
        // Metadata that only garbage collection uses can be changed without the signer.
        if !attributes.old_object.is_null()
            && attributes.old_object.get("spec") == attributes.object.get("spec")
        {
            return Ok(());
        }
        match [old, new]
            .into_iter()
            .find(|signer| !signer.is_empty() && !may_use_signer(context, "attest", signer))
        {
            None => Ok(()),
            Some(signer) => {
                Err(attributes.forbidden(&format!("user not permitted to attest for signerName {signer:?}")))
            }
        }
    }
}

fn is_update_of(action: &ResourceAction<'_>, subresource: &str) -> bool {
    action.operation == Operation::Update
        && (action.group, action.resource, action.subresource) == (GROUP, REQUESTS, subresource)
}

fn signer_of(object: &Value) -> &str {
    object.get("spec").map_or("", |spec| text(spec, "signerName"))
}

/// Whether the client has a verb on a signer, by its name or by all signers of its domain.
fn may_use_signer(context: &AdmissionContext<'_>, verb: &str, signer: &str) -> bool {
    let domain = signer.split_once('/').map_or(signer, |(domain, _)| domain);
    [signer, &format!("{domain}/*")].into_iter().any(|name| {
        let asked = AccessAttributes {
            verb: verb.into(),
            group: GROUP.into(),
            resource: "signers".into(),
            name: name.into(),
            ..AccessAttributes::default()
        };
        (context.decide)(&asked).allowed
    })
}
