//! Limit ranges: what the containers of new pods of a namespace may use where they do not say, and the least and the most
//! that containers, pods and claims of storage may ask for. What is already there is left alone.

use super::{
    Api,
    object::{fields, meta_text, metadata, with_metadata},
    target::Target,
};
use crate::{Failure, kinds::scalar::Quantity};
use tenure_value::{Object, Text, Value};

/// Where a pod is told what was set in it.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";
/// The lists of containers, what they are called, and the amounts of a container that are set by default.
const CONTAINERS: [(&str, &str); 2] = [("containers", "container"), ("initContainers", "init container")];
const DEFAULTS: [(&str, &str, &str); 2] =
    [("defaultRequest", "requests", "request"), ("default", "limits", "limit")];

impl Api {
    /// Returns a new pod with what the limit ranges of its namespace set, if they let it be; claims of storage are only
    /// checked, and other objects returned as they are.
    pub(crate) async fn with_limits(&self, target: &Target, object: Value) -> Result<Value, Failure> {
        let resource = &target.served.resource;
        let of_core = resource.group.is_empty();
        let limited = of_core && matches!(resource.name.as_str(), "pods" | "persistentvolumeclaims");
        let Some(ranges) = crate::kinds::registry().find("", "v1", "limitranges").filter(|_| limited) else {
            return Ok(object);
        };
        let ranges = self.read_all(ranges, &target.namespace).await?;
        let items: Vec<Value> = ranges
            .iter()
            .flat_map(|range| list(range.object.at(["spec", "limits"])).iter().cloned())
            .collect();
        if items.is_empty() {
            return Ok(object);
        }
        let is_pod = resource.name == "pods";
        let object = if is_pod { with_defaults(&object, &items) } else { object };
        let broken = if is_pod { broken_by_pod(&object, &items) } else { broken_by_claim(&object, &items) };
        let why = match broken.as_slice() {
            [] => return Ok(object),
            [only] => only.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        Err(Failure::forbidden("", &resource.name, meta_text(&object, "name"), &why))
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(|list| list.items()).unwrap_or_default()
}

fn is_for(item: &Value, kind: &str) -> bool {
    item.get("type").and_then(Value::as_str) == Some(kind)
}

fn amount(value: Option<&Value>) -> Option<Quantity> {
    value.and_then(Value::as_str).and_then(Quantity::parse)
}

/// Sets what the containers of a pod do not say.
fn with_defaults(pod: &Value, items: &[Value]) -> Value {
    let mut spec = fields(pod.get("spec"));
    let mut told = Vec::new();
    for (name, called) in CONTAINERS {
        let containers = list(spec.get(name)).to_vec();
        if !containers.is_empty() {
            let filled = containers.iter().map(|container| filled(container, called, items, &mut told));
            spec = spec.with(name, Value::array(filled.collect::<Vec<_>>()));
        }
    }
    if told.is_empty() {
        return pod.clone();
    }
    let metadata = metadata(pod);
    let annotations = fields(metadata.get("annotations"))
        .with(ANNOTATION, format!("LimitRanger plugin set: {}", told.join("; ")));
    let pod = with_metadata(pod, metadata.with("annotations", annotations));
    fields(Some(&pod)).with("spec", spec).into()
}

/// Sets what a container does not say, and tells what it was.
fn filled(container: &Value, called: &str, items: &[Value], told: &mut Vec<String>) -> Value {
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
            told.push(format!("{} {word} for {called} {name}", set.join(", ")));
        }
    }
    fields(Some(container)).with("resources", resources).into()
}

/// What something asks for and is limited to.
struct Usage {
    requests: Object,
    limits: Object,
}

impl Usage {
    fn of(container: &Value) -> Usage {
        let amounts = |kind: &str| fields(container.at(["resources", kind]));
        Usage { requests: amounts("requests"), limits: amounts("limits") }
    }

    /// What a whole pod uses: all containers together, or an earlier one alone that needs more.
    fn of_pod(pod: &Value) -> Usage {
        let total = |kind: &str| {
            let together = list(pod.at(["spec", "containers"])).iter().fold(Object::default(), |sum, of| {
                merged(sum, &fields(of.at(["resources", kind])), Quantity::plus)
            });
            list(pod.at(["spec", "initContainers"])).iter().fold(together, |most, of| {
                let stays = of.get("restartPolicy").and_then(Value::as_str) == Some("Always");
                let join = if stays { Quantity::plus } else { Quantity::max };
                merged(most, &fields(of.at(["resources", kind])), join)
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

/// Returns what a pod breaks.
fn broken_by_pod(pod: &Value, items: &[Value]) -> Vec<String> {
    let mut broken = Vec::new();
    for item in items {
        if is_for(item, "Container") {
            for (name, _) in CONTAINERS {
                for container in list(pod.at(["spec", name])) {
                    check(item, "Container", &Usage::of(container), &mut broken);
                }
            }
        } else if is_for(item, "Pod") {
            check(item, "Pod", &Usage::of_pod(pod), &mut broken);
        }
    }
    broken
}

/// Returns what a claim of storage breaks: it asks, and has no limit.
fn broken_by_claim(claim: &Value, items: &[Value]) -> Vec<String> {
    const KIND: &str = "PersistentVolumeClaim";
    let usage = Usage::of(&fields(claim.get("spec")).into());
    let mut broken = Vec::new();
    for item in items.iter().filter(|item| is_for(item, KIND)) {
        for (bound, word) in [("min", "minimum"), ("max", "maximum")] {
            for (resource, set) in &fields(item.get(bound)) {
                let told = format!("{word} {resource} usage per {KIND} is {}", plain(set));
                match (amount(usage.requests.get(resource)), amount(Some(set))) {
                    (None, _) => broken.push(format!("{told}.  No request is specified")),
                    (Some(is), Some(set)) if is < set && bound == "min" || is > set && bound == "max" => {
                        broken
                            .push(format!("{told}, but request is {}", plain_at(&usage.requests, resource)));
                    }
                    _ => {}
                }
            }
        }
    }
    broken
}

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn plain_at<'o>(amounts: &'o Object, resource: &str) -> &'o str {
    amounts.get(resource).map(plain).unwrap_or_default()
}

/// Checks a usage against the bounds of an item.
fn check(item: &Value, kind: &str, usage: &Usage, broken: &mut Vec<String>) {
    for (resource, least) in &fields(item.get("min")) {
        let told = format!("minimum {resource} usage per {kind} is {}", plain(least));
        let (request, limit) = (amount(usage.requests.get(resource)), amount(usage.limits.get(resource)));
        let Some(least) = amount(Some(least)) else { continue };
        match (request, limit) {
            (None, _) => broken.push(format!("{told}.  No request is specified")),
            (Some(request), _) if request < least => {
                broken.push(format!("{told}, but request is {}", plain_at(&usage.requests, resource)));
            }
            (_, Some(limit)) if limit < least => {
                broken.push(format!("{told}, but limit is {}", plain_at(&usage.limits, resource)));
            }
            _ => {}
        }
    }
    for (resource, most) in &fields(item.get("max")) {
        let told = format!("maximum {resource} usage per {kind} is {}", plain(most));
        let (request, limit) = (amount(usage.requests.get(resource)), amount(usage.limits.get(resource)));
        let Some(most) = amount(Some(most)) else { continue };
        match (request, limit) {
            (_, None) => broken.push(format!("{told}.  No limit is specified")),
            (_, Some(limit)) if limit > most => {
                broken.push(format!("{told}, but limit is {}", plain_at(&usage.limits, resource)));
            }
            (Some(request), _) if request > most => {
                broken.push(format!("{told}, but request is {}", plain_at(&usage.requests, resource)));
            }
            _ => {}
        }
    }
    for (resource, most) in &fields(item.get("maxLimitRequestRatio")) {
        let told = format!("{resource} max limit to request ratio per {kind} is {}", plain(most));
        let nanos =
            |amounts: &Object| amount(amounts.get(resource)).map(Quantity::nanos).filter(|of| *of != 0);
        let Some(most) = amount(Some(most)) else { continue };
        match (nanos(&usage.requests), nanos(&usage.limits)) {
            (None, _) => broken.push(format!("{told}, but no request is specified or request is 0")),
            (_, None) => broken.push(format!("{told}, but no limit is specified or limit is 0")),
            (Some(request), Some(limit)) => {
                let ratio = limit as f64 / request as f64;
                if ratio > most.nanos() as f64 / 1e9 {
                    broken.push(format!("{told}, but provided ratio is {ratio:.6}"));
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
    fn containers_get_what_they_do_not_say_and_the_pod_tells_it() {
        let items = items(
            r#"[{"type":"Container","default":{"cpu":"2","memory":"1Gi"},"defaultRequest":{"cpu":"1"}}]"#,
        );
        let pod = r#"{"spec":{"containers":[{"name":"a"},{"name":"b","resources":{"limits":{"cpu":"3","memory":"1"},"requests":{"cpu":"3"}}}]}}"#;
        let expected = r#"{"metadata":{"annotations":{"kubernetes.io/limit-ranger":"LimitRanger plugin set: cpu request for container a; cpu, memory limit for container a"}},"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"2","memory":"1Gi"},"requests":{"cpu":"1"}}},{"name":"b","resources":{"limits":{"cpu":"3","memory":"1"},"requests":{"cpu":"3"}}}]}}"#;
        assert_eq!(with_defaults(&pod.parse().unwrap(), &items), expected.parse().unwrap());
    }

    #[test]
    fn what_is_out_of_bounds_is_told() {
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
            assert_eq!(broken_by_pod(&pod, &items(&format!("[{item}]"))), expected, "{item}");
        }
        let claim: Value = r#"{"spec":{"resources":{"requests":{"storage":"5Gi"}}}}"#.parse().unwrap();
        let bounds =
            items(r#"[{"type":"PersistentVolumeClaim","min":{"storage":"1Gi"},"max":{"storage":"2Gi"}}]"#);
        assert_eq!(
            broken_by_claim(&claim, &bounds),
            ["maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 5Gi"]
        );
    }
}
