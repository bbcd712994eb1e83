//! Priority: resolves the `PriorityClass` of new pods, or the global default one, and keeps that unique.

use super::{fields, meta_text, with_spec};
use crate::{AdmissionAttributes, AdmissionContext, AdmissionPlugin, Cluster, Operation, ResourceRule};
use async_trait::async_trait;
use tenure_meta::ApiError;
use tenure_value::{Text, Value};

const API_VERSION: &str = "scheduling.k8s.io/v1";
const KIND: &str = "PriorityClass";
const GROUP: &str = "scheduling.k8s.io";
const PREEMPT: &str = "PreemptLowerPriority";
/// The classes that exist in every cluster, with their values.
const SYSTEM_CLASSES: [(&str, i64); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

const NEW_POD: ResourceRule = ResourceRule::new(&[Operation::Create], "", "pods");

/// Sets the priority of pods.
pub(crate) struct Priority;

#[async_trait]
impl AdmissionPlugin for Priority {
    fn rules(&self) -> &'static [ResourceRule] {
        const { &[NEW_POD, ResourceRule::new(&[Operation::Create, Operation::Update], GROUP, "priorityclasses")] }
    }

    async fn admit(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        if !NEW_POD.matches(&attributes.action()) {
            return Ok(());
        }
        let named = attributes.object.at(["spec", "priorityClassName"]).and_then(Value::as_str);
        let class = match named.filter(|name| !name.is_empty()) {
            Some(name) => Some(find_class(context.cluster, name).await?.ok_or_else(|| {
                attributes.forbidden(&format!("no PriorityClass with name {name} was found"))
            })?),
            None => global_default(context.cluster).await?.map(|class| PodClass::of(&class)),
        };
        check_given(&attributes.object, class.as_ref()).map_err(|why| attributes.forbidden(&why))?;
        if let Some(class) = class {
            let spec = fields(attributes.object.get("spec"))
                .with("priorityClassName", class.name)
                .with("priority", class.value)
                .with("preemptionPolicy", class.preemption_policy);
            attributes.object = with_spec(&attributes.object, spec);
        }
        Ok(())
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        if NEW_POD.matches(&attributes.action()) || !is_global_default(&attributes.object) {
            return Ok(());
        }
        match global_default(context.cluster).await? {
            Some(class) if meta_text(&class, "name") != attributes.name.as_str() => Err(attributes
                .forbidden(&format!(
                    "PriorityClass {} is already marked as default. Only one default can exist",
                    meta_text(&class, "name")
                ))),
            _ => Ok(()),
        }
    }
}

/// What a class gives a pod.
struct PodClass {
    name: Text,
    value: i64,
    preemption_policy: Text,
}

impl PodClass {
    fn of(class: &Value) -> PodClass {
        let policy = class.get("preemptionPolicy").and_then(Value::as_str).unwrap_or(PREEMPT);
        PodClass {
            name: meta_text(class, "name").into(),
            value: class.get("value").and_then(Value::as_i64).unwrap_or(0),
            preemption_policy: policy.into(),
        }
    }
}

async fn find_class(cluster: &dyn Cluster, name: &str) -> Result<Option<PodClass>, ApiError> {
    if let Some((name, value)) = SYSTEM_CLASSES.iter().find(|(system, _)| *system == name) {
        let class = PodClass { name: (*name).into(), value: *value, preemption_policy: PREEMPT.into() };
        return Ok(Some(class));
    }
    Ok(cluster.get(API_VERSION, KIND, "", name).await?.map(|class| PodClass::of(&class)))
}

/// Returns the global default class; of several, the one with the lowest value.
async fn global_default(cluster: &dyn Cluster) -> Result<Option<Value>, ApiError> {
    let classes = cluster.list(API_VERSION, KIND, "").await?;
    let defaults = classes.into_iter().filter(is_global_default);
    Ok(defaults.min_by_key(|class| class.get("value").and_then(Value::as_i64).unwrap_or(0)))
}

fn is_global_default(class: &Value) -> bool {
    class.get("globalDefault") == Some(&Value::Bool(true))
}

/// Checks that a pod does not give another priority or preemption policy than its class.
fn check_given(pod: &Value, class: Option<&PodClass>) -> Result<(), String> {
    let computed = class.map_or(0, |class| class.value);
    if let Some(given) =
        pod.at(["spec", "priority"]).and_then(Value::as_i64).filter(|given| *given != computed)
    {
        return Err(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {computed} from the given PriorityClass name"
        ));
    }
    let computed = class.map_or(PREEMPT, |class| class.preemption_policy.as_str());
    match pod.at(["spec", "preemptionPolicy"]).and_then(Value::as_str) {
        Some(given) if given != computed => Err(format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed {computed} from the given PriorityClass name"
        )),
        _ => Ok(()),
    }
}
