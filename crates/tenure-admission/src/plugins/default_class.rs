//! DefaultStorageClass and DefaultIngressClass: a new claim or ingress without a class gets the default one. Of several
//! defaults the newest counts, of those created in the same second the first by name.

use super::{fields, meta_text, with_spec};
use crate::{AdmissionAttributes, AdmissionContext, AdmissionPlugin, Operation, ResourceRule};
use async_trait::async_trait;
use std::cmp::Reverse;
use tenure_meta::ApiError;
use tenure_value::Value;

/// Sets the default class of the objects of a resource.
pub(crate) struct DefaultClass {
    /// Creations of the objects.
    rules: &'static [ResourceRule],
    /// The field of the spec that names the class.
    field: &'static str,
    /// The annotation that named the class before there was a field.
    annotation: &'static str,
    /// The apiVersion and kind of the classes.
    kind: (&'static str, &'static str),
    /// The annotations that mark a class as default.
    default_annotations: &'static [&'static str],
}

pub(crate) const DEFAULT_STORAGE_CLASS: DefaultClass = DefaultClass {
    rules: &[ResourceRule::new(&[Operation::Create], "", "persistentvolumeclaims")],
    field: "storageClassName",
    annotation: "volume.beta.kubernetes.io/storage-class",
    kind: ("storage.k8s.io/v1", "StorageClass"),
    default_annotations: &[
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ],
};

pub(crate) const DEFAULT_INGRESS_CLASS: DefaultClass = DefaultClass {
    rules: &[ResourceRule::new(&[Operation::Create], "networking.k8s.io", "ingresses")],
    field: "ingressClassName",
    annotation: "kubernetes.io/ingress.class",
    kind: ("networking.k8s.io/v1", "IngressClass"),
    default_annotations: &["ingressclass.kubernetes.io/is-default-class"],
};

#[async_trait]
impl AdmissionPlugin for DefaultClass {
    fn rules(&self) -> &'static [ResourceRule] {
        self.rules
    }

    async fn admit(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        if self.has_class(&attributes.object) {
            return Ok(());
        }
        let classes = context.cluster.list(self.kind.0, self.kind.1, "").await?;
        let newest = classes
            .iter()
            .filter(|class| self.is_default(class))
            .min_by_key(|class| (Reverse(meta_text(class, "creationTimestamp")), meta_text(class, "name")));
        if let Some(class) = newest {
            let spec = fields(attributes.object.get("spec")).with(self.field, meta_text(class, "name"));
            attributes.object = with_spec(&attributes.object, spec);
        }
        Ok(())
    }
}

impl DefaultClass {
    fn has_class(&self, object: &Value) -> bool {
        object.at(["spec", self.field]).is_some_and(|class| !class.is_null())
            || object.at(["metadata", "annotations", self.annotation]).is_some()
    }

    fn is_default(&self, class: &Value) -> bool {
        let annotation = |name: &&str| class.at(["metadata", "annotations", name]).and_then(Value::as_str);
        self.default_annotations.iter().any(|name| annotation(name) == Some("true"))
    }
}
