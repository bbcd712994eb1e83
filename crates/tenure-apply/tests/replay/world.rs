//! The state of a scenario: definitions of custom resources, stored objects, and the resolution of request
//! paths.

use crate::recordings;
use std::collections::BTreeMap;
use tenure_apply::{Emptied, Evolution, Live, Managers, Presence, ResetFields, Versions};
use tenure_fields::{FieldSet, Path, PathElement};
use tenure_schema::{Schema, TypeRef, builtin, crd};
use tenure_value::{Object, Text, Value};

/// A parsed request path.
pub struct Target {
    pub api_version: String,
    pub resource: String,
    pub name: Option<String>,
    pub subresource: String,
}

impl Target {
    pub fn parse(path: &str) -> Option<Target> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (api_version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ((*version).to_owned(), rest),
            ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
            _ => return None,
        };
        let rest = match rest {
            ["namespaces", _, rest @ ..]
                if !rest.is_empty() && !["status", "finalize"].contains(&rest[0]) =>
            {
                rest
            }
            rest => rest,
        };
        let part = |at: usize| rest.get(at).map(|part| (*part).to_owned());
        Some(Target {
            api_version,
            resource: part(0)?,
            name: part(1),
            subresource: part(2).unwrap_or_default(),
        })
    }

    fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Returns the storage key of the object, independent of the version.
    pub fn key(&self, name: &str) -> String {
        format!("{}/{}/{name}", self.group(), self.resource)
    }
}

#[derive(Clone)]
pub struct Stored {
    pub object: Value,
    pub managers: Managers,
}

#[derive(Default)]
pub struct World {
    pub stored: BTreeMap<String, Stored>,
    customs: BTreeMap<String, Custom>,
}

/// The types of a custom resource, now and before the last change of its definition.
struct Custom {
    definition: Value,
    schema: Schema,
    former: Option<Schema>,
}

impl World {
    pub fn define(&mut self, definition: &Value) {
        let group = definition.at(["spec", "group"]).and_then(Value::as_str).unwrap_or_default().to_owned();
        let Ok(schema) = crd::compile(definition) else { return };
        let former = self.customs.remove(&group).map(|custom| custom.schema);
        self.customs.insert(group, Custom { definition: definition.clone(), schema, former });
    }

    pub fn kind<'w>(&'w self, target: &Target, kind: &str) -> Kind<'w> {
        Kind {
            custom: self.customs.get(target.group()),
            kind: kind.to_owned(),
            resource: target.resource.clone(),
        }
    }
}

/// A kind with its versions.
pub struct Kind<'w> {
    custom: Option<&'w Custom>,
    kind: String,
    resource: String,
}

impl Versions for Kind<'_> {
    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        match self.custom {
            Some(custom) => custom.schema.kind(api_version, &self.kind),
            None => Schema::builtin_at(recordings::version()).kind(api_version, &self.kind),
        }
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        let from = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let object = object.as_object().ok_or("no object")?;
        let object = match (from, api_version) {
            ("autoscaling/v1", "autoscaling/v2") => autoscaler_to_v2(object),
            ("autoscaling/v2", "autoscaling/v1") => autoscaler_to_v1(object),
            _ if self.custom.is_some() || from == api_version => object.clone(),
            _ => return Err(format!("this test cannot convert from {from}")),
        };
        Ok(Value::Object(object.with("apiVersion", Value::from(api_version))))
    }

    fn former_type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        self.custom?.former.as_ref()?.kind(api_version, &self.kind)
    }

    fn evolves(&self) -> Evolution {
        if self.custom.is_some() { Evolution::Possible } else { Evolution::None }
    }

    fn emptied(&self) -> Emptied {
        if self.custom.is_some() { Emptied::Stays } else { Emptied::IsNull }
    }
}

impl Kind<'_> {
    /// Returns the empty object of this kind.
    pub fn empty(&self, api_version: &str) -> Value {
        let builtin =
            builtin::empty_object(Schema::builtin_at(recordings::version()), api_version, &self.kind)
                .filter(|_| self.custom.is_none());
        let named = [("apiVersion", Value::from(api_version)), ("kind", Value::from(self.kind.as_str()))];
        builtin.unwrap_or_else(|| Value::object(named))
    }

    /// Returns the fields that an endpoint of this kind resets; with `AllBut`, those that it does not.
    pub fn reset(&self, subresource: &str) -> ResetFields {
        let set = |paths: &[&[&str]]| {
            let mut set = FieldSet::default();
            for path in paths {
                let path: Vec<PathElement> = path.iter().map(|name| PathElement::field(*name)).collect();
                set.insert(&path);
            }
            set
        };
        match (self.custom, subresource) {
            (Some(custom), "") if self.has_status(custom) => ResetFields::These(set(&[&["status"]])),
            (Some(_), "status") => ResetFields::AllBut(set(&[&["status"]])),
            (Some(_), _) => ResetFields::None,
            (None, "status") if self.resource == "deployments" => {
                ResetFields::These(set(&[&["spec"], &["metadata", "labels"]]))
            }
            (None, "status") => ResetFields::These(set(&[&["spec"]])),
            (None, "") => ResetFields::These(set(&[&["status"]])),
            (None, _) => ResetFields::None,
        }
    }

    fn has_status(&self, custom: &Custom) -> bool {
        let versions = custom.definition.at(["spec", "versions"]).and_then(Value::as_array);
        versions.is_some_and(|versions| {
            versions.iter().any(|version| version.at(["subresources", "status"]).is_some())
        })
    }

    /// Returns the path of the replicas.
    pub fn replicas(&self) -> Path {
        let versions = self.custom.and_then(|custom| custom.definition.at(["spec", "versions"])?.as_array());
        let path = versions.and_then(|versions| {
            versions
                .iter()
                .find_map(|version| version.at(["subresources", "scale", "specReplicasPath"])?.as_str())
        });
        let path = path.unwrap_or(".spec.replicas").trim_start_matches('.');
        path.split('.').map(|name| PathElement::field(Text::from(name))).collect()
    }
}

/// The only built-in kind that the recordings use in two versions: its CPU target is a field in one and a
/// list entry in the other.
fn autoscaler_to_v2(object: &Object) -> Object {
    let Some(spec) = object.get("spec").and_then(Value::as_object) else { return object.clone() };
    let Some(target) = spec.get("targetCPUUtilizationPercentage") else { return object.clone() };
    let target = Value::object([("averageUtilization", target.clone()), ("type", "Utilization".into())]);
    let resource = Value::object([("name", "cpu".into()), ("target", target)]);
    let metric = Value::object([("resource", resource), ("type", "Resource".into())]);
    object
        .with("spec", spec.without("targetCPUUtilizationPercentage").with("metrics", Value::array([metric])))
}

fn autoscaler_to_v1(object: &Object) -> Object {
    // Version 1 has no list of current metrics.
    let status = object.get("status").and_then(Value::as_object);
    let object = &match status {
        Some(status) => object.with("status", status.without("currentMetrics")),
        None => object.clone(),
    };
    let Some(spec) = object.get("spec").and_then(Value::as_object) else { return object.clone() };
    let metrics = spec.get("metrics").and_then(Value::as_array);
    let target =
        metrics.and_then(|metrics| metrics.first()?.at(["resource", "target", "averageUtilization"]));
    let Some(target) = target else { return object.clone() };
    object.with("spec", spec.without("metrics").with("targetCPUUtilizationPercentage", target.clone()))
}

impl Stored {
    pub fn live(&self) -> Live<'_> {
        Live { object: &self.object, managers: &self.managers, presence: Presence::Stored }
    }
}
