//! The plugins that protect signers: a permission on a resource is not enough, the client must also be permitted to
//! use the signer that the object names (`signers` in `certificates.k8s.io`, by name or by `DOMAIN/*`).

use super::{items, text};
use crate::{AdmissionAttributes, AdmissionContext, AdmissionPlugin, Operation, ResourceRule};
use async_trait::async_trait;
use tenure_crd::rules::AccessAttributes;
use tenure_meta::ApiError;
use tenure_value::{Text, Value};

const GROUP: &str = "certificates.k8s.io";
const REQUESTS: &str = "certificatesigningrequests";

/// Checks that the client may use the signer of an object with a verb.
pub(crate) struct SignerPermission {
    rules: &'static [ResourceRule],
    verb: &'static str,
    /// What the client does with the signer, in the message of a refusal.
    action: &'static str,
    /// Returns the signers of a request that are checked.
    signers: fn(&AdmissionAttributes) -> Vec<&str>,
}

/// Approving or denying a certificate signing request needs the verb `approve` on its signer.
pub(crate) const CERTIFICATE_APPROVAL: SignerPermission = SignerPermission {
    rules: &[ResourceRule::new(&[Operation::Update], GROUP, REQUESTS).at(&["approval"])],
    verb: "approve",
    action: "approve requests with",
    signers: |attributes| vec![signer_of(&attributes.old_object)],
};

/// Setting the certificate or the conditions of a certificate signing request needs the verb `sign` on its signer.
pub(crate) const CERTIFICATE_SIGNING: SignerPermission = SignerPermission {
    rules: &[ResourceRule::new(&[Operation::Update], GROUP, REQUESTS).at(&["status"])],
    verb: "sign",
    action: "sign requests with",
    signers: |attributes| {
        let (old, new) = (&attributes.old_object, &attributes.object);
        let certificate = |request: &Value| {
            Text::from(request.get("status").map_or("", |status| text(status, "certificate")))
        };
        let conditions = |request: &Value| items(request.at(["status", "conditions"])).to_vec();
        match certificate(old) == certificate(new) && conditions(old) == conditions(new) {
            true => Vec::new(),
            false => vec![signer_of(old)],
        }
    },
};

/// Writing a cluster trust bundle of a signer needs the verb `attest` on the signer.
pub(crate) const CLUSTER_TRUST_BUNDLE_ATTEST: SignerPermission = SignerPermission {
    rules: &[ResourceRule::new(&[Operation::Create, Operation::Update], GROUP, "clustertrustbundles")],
    verb: "attest",
    action: "attest for",
    signers: |attributes| {
        let (old, new) = (&attributes.old_object, &attributes.object);
        // Metadata that only garbage collection uses can be changed without the permission.
        if !old.is_null() && without_collected(old) == without_collected(new) {
            return Vec::new();
        }
        // The signer of a bundle never changes, which validation has seen to.
        Vec::from_iter(Some(signer_of(new)).filter(|signer| !signer.is_empty()))
    },
};

#[async_trait]
impl AdmissionPlugin for SignerPermission {
    fn rules(&self) -> &'static [ResourceRule] {
        self.rules
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let mut signers = (self.signers)(attributes).into_iter();
        match signers.find(|signer| !may_use_signer(context, self.verb, signer)) {
            None => Ok(()),
            Some(signer) => {
                Err(attributes
                    .forbidden(&format!("user not permitted to {} signerName {signer:?}", self.action)))
            }
        }
    }
}

/// Returns an object without the metadata that garbage collection and the server change.
fn without_collected(object: &Value) -> Value {
    const COLLECTED: [&str; 4] = ["finalizers", "managedFields", "ownerReferences", "resourceVersion"];
    let fields = object.as_object().cloned().unwrap_or_default();
    let metadata = object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let metadata = COLLECTED.iter().fold(metadata, |metadata, name| metadata.without(name));
    Value::Object(fields.with("metadata", metadata))
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
