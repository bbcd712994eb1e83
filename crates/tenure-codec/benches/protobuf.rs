//! Protobuf compared with JSON: decoding a big Deployment, and encoding a list of 10,000 pods.

#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use tenure_codec::protobuf;
use tenure_value::{Limits, Value, json};

/// The allocator of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BIG: &str = include_str!("../../../bench/inputs/smp/deployment-big.original.json");
/// The defaulted spec of a pod.
const SPEC: &str = r#"{"containers":[{"image":"nginx:1.25","imagePullPolicy":"IfNotPresent","name":"c","resources":{},
    "terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst",
    "enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority","priority":0,"restartPolicy":"Always",
    "schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30,"tolerations":[
    {"effect":"NoExecute","key":"node.kubernetes.io/not-ready","operator":"Exists","tolerationSeconds":300},
    {"effect":"NoExecute","key":"node.kubernetes.io/unreachable","operator":"Exists","tolerationSeconds":300}]}"#;
const MANAGERS: &str = r#"[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:containers":{
    "k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{},
    "f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{},
    "f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}},
    "manager":"creator","operation":"Update","time":"2026-11-15T00:45:20Z"}]"#;

fn pods(number: usize, managers: Option<&Value>) -> Value {
    let pod = |at: usize| {
        // Parsed for each pod, so that no two pods share memory.
        let spec: Value = SPEC.parse().expect("the spec is JSON");
        let metadata = [
            ("name", Value::from(format!("pod-{at:05}"))),
            ("namespace", Value::from("default")),
            ("uid", Value::from(format!("6a1f0c1e-7c5b-4a57-9d7e-{at:012}"))),
            ("resourceVersion", Value::from((at + 1000).to_string())),
            ("creationTimestamp", Value::from("2026-11-15T00:45:20Z")),
            ("generation", Value::from(1)),
            ("labels", Value::object([("app", Value::from("x")), ("tier", Value::from("backend"))])),
        ];
        let managed = managers.map(|managers| ("managedFields", managers.clone()));
        let status =
            Value::object([("phase", Value::from("Pending")), ("qosClass", Value::from("BestEffort"))]);
        let metadata = Value::object(metadata.into_iter().chain(managed));
        Value::object([("metadata", metadata), ("spec", spec), ("status", status)])
    };
    Value::object([
        ("apiVersion", Value::from("v1")),
        ("kind", Value::from("PodList")),
        ("metadata", Value::object([("resourceVersion", Value::from("20000"))])),
        ("items", Value::array((0..number).map(pod))),
    ])
}

fn decode(criterion: &mut Criterion) {
    let document: Value = BIG.parse().expect("the deployment is JSON");
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
    let managers: Value = MANAGERS.parse().expect("the managers are JSON");
    for (name, managers) in [("10000-pods", None), ("10000-pods-with-managers", Some(&managers))] {
        let list = pods(10_000, managers);
        let (text, bytes) = (json::to_vec(&list), protobuf::encode(&list).expect("a list has a form"));
        println!("{name}: {} bytes of JSON, {} of protobuf", text.len(), bytes.len());
        let mut group = criterion.benchmark_group(format!("encode/{name}"));
        group.sample_size(10);
        group.bench_function("json", |bencher| bencher.iter(|| json::to_vec(black_box(&list))));
        group.bench_function("protobuf", |bencher| bencher.iter(|| protobuf::encode(black_box(&list))));
        group.finish();
    }
}

criterion_group!(benches, decode, encode);
criterion_main!(benches);
