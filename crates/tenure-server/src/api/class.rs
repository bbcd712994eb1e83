//! Classes by default: a new claim of storage or ingress that names no class is given the one that is marked as the default.
//! Of several that are marked the newest holds, of those of one second the first by name.

use super::{
    Api,
    object::{fields, meta_text},
    target::Target,
};
use crate::Failure;
use std::cmp::Reverse;
use tenure_value::Value;

/// A kind whose objects are of a class.
struct Classed {
    /// Group and resource of the objects.
    of: (&'static str, &'static str),
    /// The field of the spec that names the class.
    field: &'static str,
    /// The annotation that did so before there was the field.
    annotation: &'static str,
    /// Group and resource of the classes.
    classes: (&'static str, &'static str),
    /// The annotations by which a class is marked.
    marks: &'static [&'static str],
}

const CLASSED: [Classed; 2] = [
    Classed {
        of: ("", "persistentvolumeclaims"),
        field: "storageClassName",
        annotation: "volume.beta.kubernetes.io/storage-class",
        classes: ("storage.k8s.io", "storageclasses"),
        marks: &[
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        ],
    },
    Classed {
        of: ("networking.k8s.io", "ingresses"),
        field: "ingressClassName",
        annotation: "kubernetes.io/ingress.class",
        classes: ("networking.k8s.io", "ingressclasses"),
        marks: &["ingressclass.kubernetes.io/is-default-class"],
    },
];

impl Api {
    /// Returns a new object with the default class of its kind, if it names none and there is one.
    pub(crate) async fn with_class(&self, target: &Target, object: Value) -> Result<Value, Failure> {
        let resource = &target.served.resource;
        let kind = CLASSED.iter().find(|kind| kind.of == (resource.group.as_str(), resource.name.as_str()));
        let Some(kind) = kind.filter(|kind| kind.is_open(&object)) else { return Ok(object) };
        let (group, name) = kind.classes;
        let Some(classes) = crate::kinds::registry().find(group, "v1", name) else { return Ok(object) };
        let classes = self.read_all(classes, "").await?;
        let marked = classes.iter().map(|class| &class.object).filter(|class| kind.is_default(class));
        let newest = marked
            .min_by_key(|class| (Reverse(meta_text(class, "creationTimestamp")), meta_text(class, "name")));
        let Some(class) = newest else { return Ok(object) };
        let spec = fields(object.get("spec")).with(kind.field, meta_text(class, "name"));
        Ok(fields(Some(&object)).with("spec", spec).into())
    }
}

impl Classed {
    /// Whether an object says nothing of its class.
    fn is_open(&self, object: &Value) -> bool {
        let given = |path: [&str; 3]| object.at(path).is_some();
        object.at(["spec", self.field]).is_none_or(Value::is_null)
            && !given(["metadata", "annotations", self.annotation])
    }

    fn is_default(&self, class: &Value) -> bool {
        let mark = |name: &&str| class.at(["metadata", "annotations", name]).and_then(Value::as_str);
        self.marks.iter().any(|name| mark(name) == Some("true"))
    }
}
