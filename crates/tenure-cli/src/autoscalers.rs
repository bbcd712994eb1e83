//! The workloads that HorizontalPodAutoscalers scale: their replicas do not belong in manifests, whether or not they have an owner yet.

use crate::object_identity::{ObjectIdentity, group_of};
use std::collections::{BTreeSet, HashMap};
use tenure_client::{ClientError, Cluster};
use tenure_fields::{Path, PathElement};
use tenure_ownership::{ConflictCause, Plan, Target, diagnosis::RemedyKind};
use tenure_value::Value;

/// The autoscalers of some namespaces.
#[derive(Clone, Debug, Default)]
pub struct Autoscalers(HashMap<ObjectIdentity, String>);

impl Autoscalers {
    /// Reads the autoscalers of namespaces. A server that has none, or does not let them be read, scales nothing as far as is known.
    pub async fn read(namespaces: BTreeSet<&str>, cluster: &Cluster) -> Result<Autoscalers, ClientError> {
        let mut found = HashMap::new();
        for namespace in namespaces {
            let path = format!(
                "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
                tenure_transport::escaped(namespace)
            );
            let list = match cluster.find(&path).await {
                Ok(list) => list.unwrap_or_default(),
                Err(ClientError::Refused { code: 401 | 403, .. }) => continue,
                Err(error) => return Err(error),
            };
            for item in list.get("items").and_then(Value::as_array).into_iter().flatten() {
                let text = |path: &[&str]| {
                    item.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default().to_owned()
                };
                let scaled = ["spec", "scaleTargetRef"];
                let field_of = |name| text(&[scaled[0], scaled[1], name]);
                let workload = ObjectIdentity {
                    group: group_of(&field_of("apiVersion")).to_owned(),
                    kind: field_of("kind"),
                    namespace: namespace.to_owned(),
                    name: field_of("name"),
                };
                found.insert(workload, text(&["metadata", "name"]));
            }
        }
        Ok(Autoscalers(found))
    }

    /// Returns the name of the autoscaler of an object.
    pub fn of(&self, target: &Target) -> Option<&str> {
        let workload = ObjectIdentity {
            group: group_of(&target.api_version).to_owned(),
            kind: target.kind.clone(),
            namespace: target.namespace.clone(),
            name: target.name.clone(),
        };
        self.0.get(&workload).map(String::as_str)
    }

    /// Marks the conflicts of a plan about a field that an autoscaler scales, whichever manager scaled it last: the field is not moved to
    /// the applier, whose value would reset it.
    pub fn claim(&self, plan: &mut Plan) {
        let replicas = Autoscalers::replicas();
        let Some(name) = self.of(&plan.target) else { return };
        for cause in plan.causes.iter_mut().filter(|cause| cause.cause.is_left_over()) {
            if cause.paths != [replicas.clone()] {
                continue;
            }
            cause.cause = ConflictCause::Autoscaler;
            cause.sentence = format!(
                "HorizontalPodAutoscaler {name} scales it, and {} has scaled it last: a manifest with a fixed value resets what was scaled",
                cause.who
            );
            cause.remedies.retain(|remedy| matches!(remedy.kind, RemedyKind::LeaveOut | RemedyKind::Take));
            cause.remedies.sort_by_key(|remedy| remedy.kind != RemedyKind::LeaveOut);
        }
    }

    /// Returns the field that autoscalers set.
    pub fn replicas() -> Path {
        ["spec", "replicas"].map(PathElement::field).into_iter().collect()
    }
}
