//! Functions that rules call by name because data cannot express them, and merging of maps.

use super::label_keys;
use std::collections::BTreeMap;
use tenure_meta::{CreateContext, Edit, Quantity, base64, time::Precision};
use tenure_value::{Object, Text, Value};

/// A function that rules name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    AffinityLabelKeys,
    KindList,
    LowerKind,
    MetadataNameLabel,
    Now,
    PodRequests,
    PriorityOfClass,
    PreemptionPolicyOfClass,
    QosClass,
    SpreadLabelKeys,
    StorageVersionNames,
}

/// The names of the functions.
const FUNCTIONS: [(&str, Function); 11] = [
    ("affinityLabelKeys", Function::AffinityLabelKeys),
    ("kindList", Function::KindList),
    ("lowerKind", Function::LowerKind),
    ("metadataNameLabel", Function::MetadataNameLabel),
    ("now", Function::Now),
    ("podRequestsFromContainers", Function::PodRequests),
    ("priorityOfClass", Function::PriorityOfClass),
    ("preemptionPolicyOfClass", Function::PreemptionPolicyOfClass),
    ("qosClass", Function::QosClass),
    ("spreadLabelKeys", Function::SpreadLabelKeys),
    ("storageVersionNames", Function::StorageVersionNames),
];

impl Function {
    pub(crate) fn named(name: &str) -> Option<Function> {
        FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    /// Whether the function is called for a target that is present too.
    pub(crate) fn completes(self) -> bool {
        let replaces = [Function::AffinityLabelKeys, Function::PodRequests, Function::SpreadLabelKeys];
        self.merges() || replaces.contains(&self)
    }

    /// Whether the result is a map of keys to set in the target rather than the target itself.
    fn merges(self) -> bool {
        self == Function::MetadataNameLabel
    }

    /// Computes the value from the node; `None` if there is none.
    pub(crate) fn call(self, node: &Edit<'_>, around: &mut dyn CreateContext) -> Option<Value> {
        let at = |path: &[&str]| -> Option<&Value> {
            let (first, rest) = path.split_first()?;
            rest.iter().try_fold(node.get(first)?, |value, name| value.get(name))
        };
        match self {
            Function::Now => Some(around.now().format(Precision::Seconds).into()),
            Function::KindList => Some(format!("{}List", at(&["names", "kind"])?.as_str()?).into()),
            Function::LowerKind => Some(at(&["names", "kind"])?.as_str()?.to_lowercase().into()),
            Function::MetadataNameLabel => {
                let name = at(&["metadata", "name"])?.clone();
                Some(Value::object([("kubernetes.io/metadata.name", name)]))
            }
            Function::PodRequests => pod_requests(at(&["spec"])?),
            Function::PriorityOfClass => around
                .priority_class(at(&["spec", "priorityClassName"])?.as_str()?)
                .map(|class| class.0.into()),
            Function::PreemptionPolicyOfClass => around
                .priority_class(at(&["spec", "priorityClassName"])?.as_str()?)
                .map(|class| class.1.into()),
            Function::QosClass => Some(qos_class(at(&["spec"])?).into()),
            Function::AffinityLabelKeys => {
                label_keys::affinity(at(&["spec", "affinity"])?, at(&["metadata", "labels"])?.as_object()?)
            }
            Function::SpreadLabelKeys => {
                label_keys::constraints(at(&["spec"])?, at(&["metadata", "labels"])?.as_object()?)
            }
            Function::StorageVersionNames => {
                let versions = at(&["spec", "versions"])?.as_array()?;
                let stored =
                    versions.iter().find(|version| version.get("storage") == Some(&Value::Bool(true)))?;
                Some(Value::array([stored.get("name")?.clone()]))
            }
        }
    }
}

/// Merges the result of a function into the target.
pub(crate) fn merged(target: Option<&Value>, result: &Value, function: Function) -> Value {
    match function.merges() {
        true => with_keys(target, Some(result)).or_else(|| target.cloned()).unwrap_or_default(),
        false => result.clone(),
    }
}

/// Returns a map with the missing entries of another; `None` if none is missing.
pub(crate) fn with_missing_keys(target: Option<&Value>, from: Option<&Value>) -> Option<Value> {
    let have = target.and_then(Value::as_object).cloned().unwrap_or_default();
    let missing = from?.as_object()?.iter().filter(|(name, _)| !have.contains(name));
    let missing: Vec<_> = missing.map(|(name, value)| (name.clone(), value.clone())).collect();
    if missing.is_empty() {
        return None;
    }
    Some(Object::from_unsorted(have.fields().iter().cloned().chain(missing).collect()).into())
}

/// Returns a map overwritten with the entries of another; `None` if nothing changes.
pub(crate) fn with_keys(target: Option<&Value>, from: Option<&Value>) -> Option<Value> {
    let have = target.and_then(Value::as_object).cloned().unwrap_or_default();
    let keys = from?.as_object()?;
    if keys.iter().all(|(name, value)| have.get(name) == Some(value)) {
        return None;
    }
    Some(Object::from_unsorted(have.fields().iter().chain(keys.fields()).cloned().collect()).into())
}

/// Returns a map of bytes overwritten with the encoded strings of another.
pub(crate) fn with_encoded(target: Option<&Value>, from: Option<&Value>) -> Option<Value> {
    let encoded = from?.as_object()?.iter().map(|(name, value)| {
        (name.clone(), Value::from(base64::encode(value.as_str().unwrap_or_default().as_bytes())))
    });
    let encoded = Value::from(Object::from_sorted(encoded));
    with_keys(target, Some(&encoded))
}

/// Whether a literal contains placeholders for values of the request.
pub(crate) fn has_words(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with('$') || text.starts_with('<') && text.ends_with('>'),
        Value::Array(items) => items.iter().any(has_words),
        Value::Object(fields) => fields.iter().any(|(_, value)| has_words(value)),
        _ => false,
    }
}

/// Replaces the placeholders of a literal; `None` if a value is not available.
pub(crate) fn fill(value: &Value, name: &Value, around: &mut dyn CreateContext) -> Option<Value> {
    Some(match value {
        Value::String(word) => match word.as_str() {
            "$uid" => around.uid().into(),
            "$name" => name.clone(),
            "<now>" => around.now().format(Precision::Seconds).into(),
            "<requester name>" => around.requester().0.into(),
            "<requester uid>" => around.requester().1.into(),
            "<requester groups>" => Value::array(around.requester().2.into_iter().map(Value::from)),
            _ => value.clone(),
        },
        Value::Array(items) => {
            let items: Option<Vec<Value>> = items.iter().map(|item| fill(item, name, around)).collect();
            Value::Array(items?.into())
        }
        Value::Object(fields) => {
            let fields: Option<Vec<(Text, Value)>> = fields
                .iter()
                .map(|(field, value)| Some((field.clone(), fill(value, name, around)?)))
                .collect();
            Object::from_sorted(fields?).into()
        }
        other => other.clone(),
    })
}

/// The resources that count at pod level.
fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

fn requests_of(container: &Value) -> impl Iterator<Item = (&Text, Quantity)> {
    let requests = container.at(["resources", "requests"]).and_then(Value::as_object);
    let fields = requests.map(|map| map.fields()).unwrap_or_default();
    fields.iter().filter_map(|(name, value)| Some((name, Quantity::parse(value.as_str()?)?)))
}

fn containers<'s>(spec: &'s Value, list: &str) -> &'s [Value] {
    spec.get(list).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
}

fn is_sidecar(container: &Value) -> bool {
    container.get("restartPolicy").and_then(Value::as_str) == Some("Always")
}

/// Sums up the requests of containers as the scheduler does: those that run together add up; init containers
/// need the maximum of each, plus the sidecars started before.
fn effective_requests(spec: &Value) -> BTreeMap<Text, Quantity> {
    let (mut sum, mut most, mut sidecars) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    fn add(to: &mut BTreeMap<Text, Quantity>, name: &Text, amount: Quantity) {
        to.entry(name.clone()).and_modify(|sum| *sum = sum.plus(amount)).or_insert(amount);
    }
    fn raise(to: &mut BTreeMap<Text, Quantity>, name: &Text, amount: Quantity) {
        to.entry(name.clone()).and_modify(|most| *most = (*most).max(amount)).or_insert(amount);
    }
    for container in containers(spec, "containers") {
        for (name, amount) in requests_of(container) {
            add(&mut sum, name, amount);
        }
    }
    for container in containers(spec, "initContainers") {
        for (name, amount) in requests_of(container) {
            let started: Option<&Quantity> = sidecars.get(name);
            raise(&mut most, name, started.map_or(amount, |started| started.plus(amount)));
            if is_sidecar(container) {
                add(&mut sidecars, name, amount);
                add(&mut sum, name, amount);
            }
        }
    }
    for (name, needed) in most {
        raise(&mut sum, &name, needed);
    }
    sum
}

/// Returns the pod-level requests if only limits are given.
fn pod_requests(spec: &Value) -> Option<Value> {
    let limits = spec.at(["resources", "limits"])?.as_object()?;
    let given = spec.at(["resources", "requests"]).and_then(Value::as_object).cloned().unwrap_or_default();
    let sums = effective_requests(spec);
    let mut requests: Vec<(Text, Value)> = given.fields().to_vec();
    for (name, sum) in sums.iter().filter(|(name, _)| is_pod_level(name) && !given.contains(name)) {
        requests.push((name.clone(), sum.canonical().into()));
    }
    for (name, limit) in limits {
        let known = given.contains(name) || sums.contains_key(name);
        if is_pod_level(name) && !known {
            requests.push((name.clone(), limit.clone()));
        }
    }
    (!requests.is_empty()).then(|| Object::from_unsorted(requests).into())
}

/// Returns the QoS class of a pod.
pub(crate) fn qos_class(spec: &Value) -> &'static str {
    let amount = |holder: &Value, list: &str, name: &str| {
        let amount = holder.at(["resources", list, name])?;
        Quantity::parse(amount.as_str()?).filter(|amount| amount.nanos() != 0)
    };
    let pod_level = spec.get("resources").is_some_and(|resources| {
        resources
            .get("limits")
            .is_some_and(|limits| limits.as_object().is_some_and(|amounts| !amounts.is_empty()))
            || resources
                .get("requests")
                .is_some_and(|requests| requests.as_object().is_some_and(|amounts| !amounts.is_empty()))
    });
    let all: Vec<&Value> = match pod_level {
        true => vec![spec],
        false => containers(spec, "initContainers").iter().chain(containers(spec, "containers")).collect(),
    };
    let (mut any, mut guaranteed) = (false, true);
    for holder in all {
        for name in ["cpu", "memory"] {
            let (request, limit) = (amount(holder, "requests", name), amount(holder, "limits", name));
            any |= request.is_some() || limit.is_some();
            guaranteed &= limit.is_some() && request == limit;
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_qos_class_follows_requests_and_limits() {
        let class = |spec: &str| qos_class(&spec.parse().unwrap());
        assert_eq!(class(r#"{"containers":[{}]}"#), "BestEffort");
        assert_eq!(class(r#"{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}"#), "Burstable");
        let full =
            r#"{"resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"1","memory":"1Gi"}}}"#;
        assert_eq!(class(&format!(r#"{{"containers":[{full}]}}"#)), "Guaranteed");
        assert_eq!(class(&format!(r#"{{"containers":[{full},{{}}]}}"#)), "Burstable");
    }
}
