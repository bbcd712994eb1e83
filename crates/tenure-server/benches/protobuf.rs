//! Protobuf beside JSON: reading a big Deployment, and writing a list of 10,000 pods.

#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use tenure_server::protobuf;
use tenure_value::{Limits, Value, json};

fn container(at: usize) -> String {
    let env =
        (0..20).map(|of| format!(r#"{{"name":"VARIABLE_{of}","value":"value {of} of container {at}"}}"#));
    let ports =
        (0..4).map(|of| format!(r#"{{"containerPort":{},"name":"port-{of}","protocol":"TCP"}}"#, 8000 + of));
    format!(
        r#"{{"name":"container-{at}","image":"registry.example.com/team/image-{at}:1.2.3","imagePullPolicy":"IfNotPresent",
        "env":[{}],"ports":[{}],"resources":{{"limits":{{"cpu":"500m","memory":"256Mi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},
        "terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",
        "livenessProbe":{{"httpGet":{{"path":"/healthz","port":"port-0","scheme":"HTTP"}},"periodSeconds":10,"timeoutSeconds":1,
        "successThreshold":1,"failureThreshold":3}},"volumeMounts":[{{"name":"data","mountPath":"/data"}}]}}"#,
        env.collect::<Vec<_>>().join(","),
        ports.collect::<Vec<_>>().join(","),
    )
}

fn spec(containers: usize) -> String {
    let containers = (0..containers).map(container).collect::<Vec<_>>().join(",");
    format!(
        r#"{{"containers":[{containers}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler",
        "securityContext":{{}},"terminationGracePeriodSeconds":30,"volumes":[{{"name":"data","emptyDir":{{}}}}]}}"#
    )
}

fn big_deployment() -> Value {
    let text = format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"big","namespace":"default","labels":{{"app":"big"}}}},
        "spec":{{"replicas":3,"selector":{{"matchLabels":{{"app":"big"}}}},"template":{{"metadata":{{"labels":{{"app":"big"}}}},
        "spec":{}}}}},"status":{{}}}}"#,
        spec(20)
    );
    text.parse().expect("the deployment is JSON")
}

fn pods(number: usize) -> Value {
    let spec: Value = spec(1).parse().expect("the spec is JSON");
    let pod = |at: usize| {
        let metadata = Value::object([
            ("name", Value::from(format!("pod-{at:05}"))),
            ("namespace", Value::from("default")),
            ("uid", Value::from(format!("6a1f0c1e-7c5b-4a57-9d7e-{at:012}"))),
            ("resourceVersion", Value::from((at + 1000).to_string())),
            ("creationTimestamp", Value::from("2026-11-15T00:45:20Z")),
            ("labels", Value::object([("app", Value::from("x")), ("tier", Value::from("backend"))])),
        ]);
        let status =
            Value::object([("phase", Value::from("Pending")), ("qosClass", Value::from("Burstable"))]);
        Value::object([("metadata", metadata), ("spec", spec.clone()), ("status", status)])
    };
    Value::object([
        ("apiVersion", Value::from("v1")),
        ("kind", Value::from("PodList")),
        ("metadata", Value::object([("resourceVersion", Value::from("20000"))])),
        ("items", Value::array((0..number).map(pod))),
    ])
}

fn decode(criterion: &mut Criterion) {
    let document = big_deployment();
    let (text, bytes) =
        (json::to_vec(&document), protobuf::encode(&document).expect("a deployment has a form"));
    println!("big deployment: {} bytes of JSON, {} of protobuf", text.len(), bytes.len());
    let limits = Limits::default();
    let mut group = criterion.benchmark_group("decode/big-deployment");
    group.bench_function("json", |bencher| bencher.iter(|| json::parse(black_box(&text), &limits)));
    group.bench_function("protobuf", |bencher| bencher.iter(|| protobuf::decode(black_box(&bytes), &limits)));
    group.finish();
}

fn encode(criterion: &mut Criterion) {
    let list = pods(10_000);
    let (text, bytes) = (json::to_vec(&list), protobuf::encode(&list).expect("a list has a form"));
    println!("10,000 pods: {} bytes of JSON, {} of protobuf", text.len(), bytes.len());
    let mut group = criterion.benchmark_group("encode/10000-pods");
    group.sample_size(10);
    group.bench_function("json", |bencher| bencher.iter(|| json::to_vec(black_box(&list))));
    group.bench_function("protobuf", |bencher| bencher.iter(|| protobuf::encode(black_box(&list))));
    group.finish();
}

criterion_group!(benches, decode, encode);
criterion_main!(benches);
