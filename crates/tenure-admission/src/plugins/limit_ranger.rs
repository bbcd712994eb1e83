//! LimitRanger: sets the default requests and limits of containers, and checks that containers, pods and claims stay
//! within the limit ranges of their namespace. Only new objects are checked.

use super::{fields, items, with_spec};
use crate::{AdmissionAttributes, AdmissionContext, AdmissionPlugin, Operation, ResourceRule};
use async_trait::async_trait;
use tenure_meta::{ApiError, Quantity};
use tenure_value::{Object, Text, Value};

/// The annotation that lists the defaults that were set.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";
/// The lists of containers with their names in messages, and the defaults with what they set.
const CONTAINERS: [(&str, &str); 2] = [("containers", "container"), ("initContainers", "init container")];
const DEFAULTS: [(&str, &str, &str); 2] =
    [("defaultRequest", "requests", "request"), ("default", "limits", "limit")];

/// Applies limit ranges.
pub(crate) struct LimitRanger;

#[async_trait]
impl AdmissionPlugin for LimitRanger {
    fn rules(&self) -> &'static [ResourceRule] {
        const CREATED: &[Operation] = &[Operation::Create];
        const {
            &[
                ResourceRule::new(CREATED, "", "pods"),
                ResourceRule::new(CREATED, "", "persistentvolumeclaims"),
            ]
        }
    }

    async fn admit(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        if attributes.requested().resource == "pods" {
            let items = limits(attributes, context).await?;
            attributes.object = with_defaults(&attributes.object, &items);
        }
        Ok(())
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let items = limits(attributes, context).await?;
        let violations = match attributes.requested().resource.as_str() {
            "pods" => pod_violations(&attributes.object, &items),
            _ => claim_violations(&attributes.object, &items),
        };
        match violations.as_slice() {
            [] => Ok(()),
            [only] => Err(attributes.forbidden(only)),
            several => Err(attributes.forbidden(&format!("[{}]", several.join(", ")))),
        }
    }
}

/// Returns the items of all limit ranges of the namespace.
async fn limits(
    attributes: &AdmissionAttributes,
    context: &AdmissionContext<'_>,
) -> Result<Vec<Value>, ApiError> {
    let ranges = context.cluster.list("v1", "LimitRange", &attributes.namespace).await?;
    Ok(ranges.iter().flat_map(|range| items(range.at(["spec", "limits"])).iter().cloned()).collect())
}

fn is_for(item: &Value, kind: &str) -> bool {
    item.get("type").and_then(Value::as_str) == Some(kind)
}

fn amount(value: Option<&Value>) -> Option<Quantity> {
    value.and_then(Value::as_str).and_then(Quantity::parse)
}

/// Returns a pod with the default requests and limits of its containers.
fn with_defaults(pod: &Value, limits: &[Value]) -> Value {
    let mut spec = fields(pod.get("spec"));
    let mut changes = Vec::new();
    for (name, called) in CONTAINERS {
        let containers = items(spec.get(name)).to_vec();
        if !containers.is_empty() {
            let filled = containers
                .iter()
                .map(|container| with_container_defaults(container, called, limits, &mut changes));
            spec = spec.with(name, Value::array(filled.collect::<Vec<_>>()));
        }
    }
    if changes.is_empty() {
        return pod.clone();
    }
    let metadata = fields(pod.get("metadata"));
    let annotations = fields(metadata.get("annotations"))
        .with(ANNOTATION, format!("LimitRanger plugin set: {}", changes.join("; ")));
    let pod = fields(Some(pod)).with("metadata", metadata.with("annotations", annotations)).into();
    with_spec(&pod, spec)
}

/// Returns a container with default requests and limits, and adds a description of each change.
fn with_container_defaults(
    container: &Value,
    called: &str,
    items: &[Value],
    changes: &mut Vec<String>,
) -> Value {
    let mut resources = fields(container.get("resources"));
    for (default, kind, word) in DEFAULTS {
        let mut amounts = fields(resources.get(kind));
        let mut set: Vec<Text> = Vec::new();
        for item in items.iter().filter(|item| is_for(item, "Container")) {
            for (resource, amount) in &fields(item.get(default)) {
                if !amounts.contains(resource) {
                    amounts = amounts.with(resource.clone(), amount.clone());
                    set.push(resource.clone());
                }
            }
        }
        if !set.is_empty() {
            set.sort();
            resources = resources.with(kind, amounts);
            let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
            changes.push(format!("{} {word} for {called} {name}", set.join(", ")));
        }
    }
    fields(Some(container)).with("resources", resources).into()
}

/// Requests and limits.
struct Usage {
    requests: Object,
    limits: Object,
}

impl Usage {
    fn of(container: &Value) -> Usage {
        let amounts = |kind: &str| fields(container.at(["resources", kind]));
        Usage { requests: amounts("requests"), limits: amounts("limits") }
    }

    /// The usage of a pod: the sum of its containers, or that of an init container which needs more.
    fn of_pod(pod: &Value) -> Usage {
        let total = |kind: &str| {
            let together =
                items(pod.at(["spec", "containers"])).iter().fold(Object::default(), |sum, container| {
                    merged(sum, &fields(container.at(["resources", kind])), Quantity::plus)
                });
            items(pod.at(["spec", "initContainers"])).iter().fold(together, |most, container| {
                let is_sidecar = container.get("restartPolicy").and_then(Value::as_str) == Some("Always");
                let join = if is_sidecar { Quantity::plus } else { Quantity::max };
                merged(most, &fields(container.at(["resources", kind])), join)
            })
        };
        Usage { requests: total("requests"), limits: total("limits") }
    }
}

fn merged(to: Object, from: &Object, join: fn(Quantity, Quantity) -> Quantity) -> Object {
    from.iter().fold(to, |to, (resource, more)| match (amount(to.get(resource)), amount(Some(more))) {
        (Some(has), Some(more)) => to.with(resource.clone(), join(has, more).canonical()),
        _ => to.with(resource.clone(), more.clone()),
    })
}

/// Returns the violations of a pod.
fn pod_violations(pod: &Value, limits: &[Value]) -> Vec<String> {
    let mut violations = Vec::new();
    for item in limits {
        if is_for(item, "Container") {
            for (name, _) in CONTAINERS {
                for container in items(pod.at(["spec", name])) {
                    check(item, "Container", &Usage::of(container), &mut violations);
                }
            }
        } else if is_for(item, "Pod") {
            check(item, "Pod", &Usage::of_pod(pod), &mut violations);
        }
    }
    violations
}

/// Returns the violations of a claim, which has requests and no limits.
fn claim_violations(claim: &Value, items: &[Value]) -> Vec<String> {
    const KIND: &str = "PersistentVolumeClaim";
    let usage = Usage::of(&fields(claim.get("spec")).into());
    let mut violations = Vec::new();
    for item in items.iter().filter(|item| is_for(item, KIND)) {
        for (bound, word) in [("min", "minimum"), ("max", "maximum")] {
            for (resource, set) in &fields(item.get(bound)) {
                let bound_text = format!("{word} {resource} usage per {KIND} is {}", plain(set));
                match (amount(usage.requests.get(resource)), amount(Some(set))) {
                    (None, _) => violations.push(format!("{bound_text}.  No request is specified")),
                    (Some(is), Some(set)) if is < set && bound == "min" || is > set && bound == "max" => {
                        violations.push(format!(
                            "{bound_text}, but request is {}",
                            plain_at(&usage.requests, resource)
                        ));
                    }
                    _ => {}
                }
            }
        }
    }
    violations
}

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn plain_at<'o>(amounts: &'o Object, resource: &str) -> &'o str {
    amounts.get(resource).map(plain).unwrap_or_default()
}

/// Checks a usage against the bounds of an item.
fn check(item: &Value, kind: &str, usage: &Usage, violations: &mut Vec<String>) {
    for (resource, least) in &fields(item.get("min")) {
        let bound_text = format!("minimum {resource} usage per {kind} is {}", plain(least));
        let (request, limit) = (amount(usage.requests.get(resource)), amount(usage.limits.get(resource)));
        let Some(least) = amount(Some(least)) else { continue };
        match (request, limit) {
            (None, _) => violations.push(format!("{bound_text}.  No request is specified")),
            (Some(request), _) if request < least => {
                violations
                    .push(format!("{bound_text}, but request is {}", plain_at(&usage.requests, resource)));
            }
            (_, Some(limit)) if limit < least => {
                violations.push(format!("{bound_text}, but limit is {}", plain_at(&usage.limits, resource)));
            }
            _ => {}
        }
    }
    for (resource, most) in &fields(item.get("max")) {
        let bound_text = format!("maximum {resource} usage per {kind} is {}", plain(most));
        let (request, limit) = (amount(usage.requests.get(resource)), amount(usage.limits.get(resource)));
        let Some(most) = amount(Some(most)) else { continue };
        match (request, limit) {
            (_, None) => violations.push(format!("{bound_text}.  No limit is specified")),
            (_, Some(limit)) if limit > most => {
                violations.push(format!("{bound_text}, but limit is {}", plain_at(&usage.limits, resource)));
            }
            (Some(request), _) if request > most => {
                violations
                    .push(format!("{bound_text}, but request is {}", plain_at(&usage.requests, resource)));
            }
            _ => {}
        }
    }
    for (resource, most) in &fields(item.get("maxLimitRequestRatio")) {
        let bound_text = format!("{resource} max limit to request ratio per {kind} is {}", plain(most));
        let nanos =
            |amounts: &Object| amount(amounts.get(resource)).map(Quantity::nanos).filter(|nanos| *nanos != 0);
        let Some(most) = amount(Some(most)) else { continue };
        match (nanos(&usage.requests), nanos(&usage.limits)) {
            (None, _) => {
                violations.push(format!("{bound_text}, but no request is specified or request is 0"))
            }
            (_, None) => violations.push(format!("{bound_text}, but no limit is specified or limit is 0")),
            (Some(request), Some(limit)) => {
                let ratio = limit as f64 / request as f64;
                if ratio > most.nanos() as f64 / 1e9 {
                    violations.push(format!("{bound_text}, but provided ratio is {ratio:.6}"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Vec<Value> {
        text.parse::<Value>().unwrap().as_array().unwrap().to_vec()
    }

    #[test]
    fn containers_get_defaults_and_the_pod_an_annotation() {
        let items = items(
            r#"[{"type":"Container","default":{"cpu":"2","memory":"1Gi"},"defaultRequest":{"cpu":"1"}}]"#,
        );
        let pod = r#"{"spec":{"containers":[{"name":"a"},{"name":"b","resources":{"limits":{"cpu":"3","memory":"1"},"requests":{"cpu":"3"}}}]}}"#;
        let expected = r#"{"metadata":{"annotations":{"kubernetes.io/limit-ranger":"LimitRanger plugin set: cpu request for container a; cpu, memory limit for container a"}},"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1"}}},{"name":"b","resources":{"limits":{"cpu":"3","memory":"1"},"requests":{"cpu":"3"}}}]}}"#;
        assert_eq!(with_defaults(&pod.parse().unwrap(), &items), expected.parse().unwrap());
    }

    #[test]
    fn usage_out_of_bounds_is_a_violation() {
        let pod = |requests: &str, limits: &str| -> Value {
            format!(r#"{{"spec":{{"containers":[{{"name":"a","resources":{{"requests":{{{requests}}},"limits":{{{limits}}}}}}},{{"name":"b","resources":{{"requests":{{{requests}}},"limits":{{{limits}}}}}}}]}}}}"#)
                .parse()
                .unwrap()
        };
        let cases = [
            (r#"{"type":"Pod","max":{"cpu":"3"}}"#, pod(r#""cpu":"1""#, r#""cpu":"1""#), vec![]),
            (
                r#"{"type":"Pod","max":{"cpu":"3"}}"#,
                pod(r#""cpu":"1""#, r#""cpu":"2""#),
                vec!["maximum cpu usage per Pod is 3, but limit is 4"],
            ),
            (
                r#"{"type":"Pod","min":{"memory":"1Gi"}}"#,
                pod("", ""),
                vec!["minimum memory usage per Pod is 1Gi.  No request is specified"],
            ),
            (
                r#"{"type":"Container","min":{"cpu":"500m"}}"#,
                pod(r#""cpu":"100m""#, ""),
                vec!["minimum cpu usage per Container is 500m, but request is 100m"; 2],
            ),
            (
                r#"{"type":"Container","maxLimitRequestRatio":{"cpu":"2"}}"#,
                pod(r#""cpu":"1""#, r#""cpu":"3""#),
                vec!["cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"; 2],
            ),
        ];
        for (item, pod, expected) in cases {
            assert_eq!(pod_violations(&pod, &items(&format!("[{item}]"))), expected, "{item}");
        }
        let claim: Value = r#"{"spec":{"resources":{"requests":{"storage":"5Gi"}}}}"#.parse().unwrap();
        let bounds =
            items(r#"[{"type":"PersistentVolumeClaim","min":{"storage":"1Gi"},"max":{"storage":"2Gi"}}]"#);
        assert_eq!(
            claim_violations(&claim, &bounds),
            ["maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 5Gi"]
        );
    }
}
