//! ResourceQuota: what objects count for, scopes, and the error when they do not fit.

use tenure_admission::resource_quota::{GroupResource, Quota, growth, usage_of};
use tenure_meta::Quantity;
use tenure_value::{Limits, Value, yaml};

const PODS: GroupResource<'static> = GroupResource { group: "", resource: "pods" };

fn document(text: &str) -> Value {
    yaml::parse(text.as_bytes(), &Limits::default()).expect("the test's own YAML")
}

fn usage(resource: GroupResource<'_>, object: &str) -> String {
    let usage = usage_of(resource, &document(object));
    let listed = usage.iter().map(|(name, amount)| format!("{name}={}", amount.canonical()));
    listed.collect::<Vec<_>>().join(" ")
}

#[test]
fn objects_count_for_what_they_use() {
    let core = |resource| GroupResource { group: "", resource };
    let cases = [
        (GroupResource { group: "apps", resource: "deployments" }, "{}", "count/deployments.apps=1"),
        (core("configmaps"), "{}", "configmaps=1 count/configmaps=1"),
        (core("events"), "{}", "count/events=1"),
        (
            core("services"),
            "{spec: {type: LoadBalancer, ports: [{}, {}]}}",
            "count/services=1 services=1 services.loadbalancers=1 services.nodeports=2",
        ),
        (
            core("services"),
            "{spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{}, {nodePort: 30000}]}}",
            "count/services=1 services=1 services.loadbalancers=1 services.nodeports=1",
        ),
        (
            core("persistentvolumeclaims"),
            "{spec: {storageClassName: fast, resources: {requests: {storage: 3Gi}}}}",
            "count/persistentvolumeclaims=1 fast.storageclass.storage.k8s.io/persistentvolumeclaims=1 fast.storageclass.storage.k8s.io/requests.storage=3Gi persistentvolumeclaims=1 requests.storage=3Gi",
        ),
        (PODS, "{status: {phase: Succeeded}, spec: {containers: [{resources: {requests: {cpu: 1}}}]}}", "count/pods=1"),
        (
            PODS,
            "{spec: {containers: [{resources: {requests: {cpu: 200m}}}, {resources: {requests: {cpu: 300m, example.com/gpu: '2'}, limits: {cpu: '1'}}}],
              initContainers: [{resources: {requests: {cpu: 600m}}}]}}",
            "count/pods=1 cpu=600m limits.cpu=1 pods=1 requests.cpu=600m requests.example.com/gpu=2",
        ),
        // A sidecar runs beside the containers and beside the init containers after it.
        (
            PODS,
            "{spec: {containers: [{resources: {requests: {cpu: 100m}}}],
              initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 100m}}}, {resources: {requests: {cpu: 150m}}}]}}",
            "count/pods=1 cpu=250m pods=1 requests.cpu=250m",
        ),
    ];
    for (resource, object, expected) in cases {
        assert_eq!(usage(resource, object), expected, "{object}");
    }
}

#[test]
fn scopes_choose_pods() {
    let cases = [
        ("{scopes: [BestEffort]}", "{}", true),
        ("{scopes: [BestEffort]}", "{containers: [{resources: {limits: {cpu: '1'}}}]}", false),
        ("{scopes: [NotBestEffort]}", "{containers: [{resources: {requests: {memory: '1'}}}]}", true),
        ("{scopes: [Terminating]}", "{activeDeadlineSeconds: 5}", true),
        ("{scopes: [Terminating]}", "{}", false),
        ("{scopes: [NotTerminating, BestEffort]}", "{}", true),
        (
            "{scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}}",
            "{priorityClassName: high}",
            true,
        ),
        (
            "{scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}}",
            "{priorityClassName: low}",
            false,
        ),
        ("{scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: Exists}]}}", "{}", false),
        (
            "{scopes: [CrossNamespacePodAffinity]}",
            "{affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{namespaces: [a]}]}}}",
            true,
        ),
    ];
    for (scopes, spec, is_counted) in cases {
        let mut quota = document(&format!("{{metadata: {{name: q}}, spec: {scopes}}}"));
        if let Value::Object(object) = &quota {
            let spec = object.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
            let spec = spec.with("hard", document("{pods: 5}".replace('5', "'5'").as_str()));
            quota = Value::Object(object.with("spec", Value::Object(spec)));
        }
        let pod = document(&format!("{{spec: {spec}}}"));
        assert_eq!(!Quota::read(&quota).counted(PODS, &pod).is_empty(), is_counted, "{scopes} {spec}");
    }
    let quota =
        document("{metadata: {name: q}, spec: {scopes: [BestEffort], hard: {count/configmaps: '1'}}}");
    let resource = GroupResource { group: "", resource: "configmaps" };
    assert!(Quota::read(&quota).counted(resource, &document("{}")).is_empty());
}

#[test]
fn what_exceeds_a_limit_is_named_with_its_amounts() {
    let quota =
        document("{metadata: {name: q}, spec: {hard: {requests.cpu: '1', requests.memory: 1Gi, pods: '5'}}}");
    let quota = Quota::read(&quota);
    let pod = |cpu: &str, memory: &str| {
        document(&format!(
            "{{spec: {{containers: [{{name: c, resources: {{requests: {{cpu: {cpu}, memory: {memory}}}}}}}]}}}}"
        ))
    };
    let (first, second) = (pod("500m", "512Mi"), pod("600m", "600Mi"));
    let used = quota.charge(&quota.recount([]), &quota.counted(PODS, &first)).expect("fits");
    assert_eq!(used, quota.recount([(PODS, &first)]));
    let error = quota.charge(&used, &quota.counted(PODS, &second)).expect_err("exceeds");
    assert_eq!(
        error,
        "exceeded quota: q, requested: requests.cpu=600m,requests.memory=600Mi, used: requests.cpu=500m,requests.memory=512Mi, limited: requests.cpu=1,requests.memory=1Gi"
    );
    // A smaller object always fits, however much is used already.
    let change = growth(&quota.counted(PODS, &second), &quota.counted(PODS, &first));
    let full = quota.recount([(PODS, &first), (PODS, &second), (PODS, &second)]);
    let after = quota.charge(&full, &change).expect("shrinks");
    assert_eq!(after.get("requests.cpu"), Quantity::parse("1600m").as_ref());
    let bare = document("{spec: {containers: [{name: c}], initContainers: [{name: a}]}}");
    assert_eq!(
        quota.missing_constraints(PODS, &bare).as_deref(),
        Some("failed quota: q: must specify requests.cpu for: a,c; requests.memory for: a,c")
    );
}
