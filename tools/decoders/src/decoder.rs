//! The table of decoders.

use crate::{
    mutation::{Random, mutate},
    seeds::{corpus, objects, pairs, texts},
    targets::{self, Body},
};
use tenure_value::Value;

#[path = "../../../crates/tenure-codec/tests/cbor/fuzzed/mod.rs"]
mod cbor;
#[path = "../../../crates/tenure-fields/tests/fuzzed/compact.rs"]
mod compact;
#[path = "../../../crates/tenure-fields/tests/fuzzed/mod.rs"]
mod fields;
#[path = "../../../crates/tenure-apply/tests/fuzz_bodies/ownership.rs"]
mod ownership;
#[path = "../../../crates/tenure-patch/tests/fuzzed/mod.rs"]
mod patch;
#[path = "../../../crates/tenure-codec/tests/protobuf/fuzzed/mod.rs"]
mod protobuf;
#[path = "../../../crates/tenure-schema/tests/fuzz_bodies/schema.rs"]
mod schema;
#[path = "../../../crates/tenure-value/tests/fuzzed/mod.rs"]
mod value;

/// A decoder and the documents that its inputs are made from.
pub struct Decoder {
    /// The name.
    pub name: &'static str,
    /// The seeds.
    pub seeds: Vec<Vec<u8>>,
    body: Body,
}

impl Decoder {
    /// Feeds the decoder one input, which a number determines.
    pub fn run(&self, number: u64) {
        (self.body)(&self.input(number));
    }

    /// Returns the input of a number.
    pub fn input(&self, number: u64) -> Vec<u8> {
        let mut random = Random::new(number);
        let seed = &self.seeds[random.below(self.seeds.len())];
        mutate(seed, &self.seeds, &mut random)
    }
}

/// Returns all decoders.
pub fn decoders() -> Vec<Decoder> {
    let objects = objects();
    let lines = |values: &[Value]| -> Vec<Vec<u8>> {
        values.iter().map(|value| value.to_string().into_bytes()).collect()
    };
    let is_definition = |object: &&Value| object.get("kind") == Some(&"CustomResourceDefinition".into());
    let definitions: Vec<Value> = objects.iter().filter(is_definition).cloned().collect();
    let with_object = |definition: &Value| {
        let object = r#"{"apiVersion":"a.example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"l":["a"],"m":{"k":"v"},"n":1,"size":3,"items":[{"name":"a","value":"b"}]}}"#;
        format!("{definition}\n{object}").replace("{id}", "a").into_bytes()
    };
    let yaml: Vec<Vec<u8>> =
        objects.iter().map(|object| tenure_value::yaml::to_string(object).into_bytes()).collect();
    let with = |saved: Vec<Vec<u8>>, more: Vec<Vec<u8>>| saved.into_iter().chain(more).collect();
    let bootstrap: Vec<Value> =
        tenure_flowcontrol::bootstrap::objects().into_iter().map(|object| object.object).collect();
    let levels: Vec<&Value> =
        bootstrap.iter().filter(|object| object.get("kind") != Some(&"FlowSchema".into())).collect();
    let flows = bootstrap
        .iter()
        .zip(levels.iter().cycle())
        .map(|(schema, level)| format!("{schema}\n{level}").into_bytes())
        .collect();
    let table: [(&'static str, Vec<Vec<u8>>, Body); 18] = [
        ("json", with(corpus("tenure-value", "json"), lines(&objects)), value::json),
        ("yaml", with(corpus("tenure-value", "yaml"), yaml.clone()), value::yaml),
        ("manifests", yaml, targets::manifest),
        ("protobuf", corpus("tenure-codec", "protobuf"), protobuf::protobuf),
        ("CBOR", objects.iter().map(tenure_codec::cbor::encode).collect(), cbor::cbor),
        ("patches", with(corpus("tenure-patch", "patch"), pairs(&objects)), patch::patch),
        ("apply", corpus("tenure-apply", "ownership"), ownership::run),
        ("schemas", with(corpus("tenure-schema", "schema"), lines(&definitions)), schema::run),
        ("FieldsV1", corpus("tenure-fields", "fields_v1"), fields::fields_v1),
        ("paths", corpus("tenure-fields", "path"), fields::path),
        ("compact sets", corpus("tenure-fields", "compact"), compact::compact),
        ("built-in kinds", pairs(&objects), targets::builtin),
        ("definitions", definitions.iter().map(with_object).collect(), targets::definition),
        ("CEL", texts(EXPRESSIONS), targets::cel),
        ("selectors and scalars", texts(SCALARS), targets::scalars),
        ("policies, tokens and certificates", texts(CREDENTIALS), targets::authentication),
        ("flow control", flows, targets::flow_control),
        ("managed fields", managed_fields(&objects), fields::fields_v1),
    ];
    let decoders = table.into_iter().map(|(name, seeds, body)| Decoder { name, seeds, body });
    decoders.collect()
}

/// Returns the field sets of everything that the objects have.
fn managed_fields(objects: &[Value]) -> Vec<Vec<u8>> {
    let set = |object: &Value| {
        let set = tenure_fields::FieldSet::of(object, tenure_schema::TypeRef::untyped()).ok()?;
        Some(tenure_fields::fields_v1::to_value(&set).to_string().into_bytes())
    };
    objects.iter().filter_map(set).collect()
}

const EXPRESSIONS: &[&str] = &[
    "self.a.all(x, x != null) && size(self.s) < 10",
    "self.n.map(i, i * 2).filter(i, i > 2).exists(i, i == 4)",
    "has(self.m.k) ? self.m['k'].startsWith('v') : self.?m.?x.orValue('none') == 'y'",
    "'%s has %d of %.2f'.format([self.s, size(self.n), 1.5])",
    "self.m.transformMap(k, v, k + v)['k'] == 'kv'",
    "timestamp(self.t) < timestamp('2027-01-01T00:00:00Z') && duration('1h30m') > duration('5m')",
    "quantity(self.q).isGreaterThan(quantity('500Mi')) && isQuantity('1k')",
    "ip('192.168.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.2.3')",
    "url('https://example.com:80/path?a=b').getHostname() == 'example.com'",
    "[1, 2, 3].sum() == 6 && ['b', 'a'].sort() == ['a', 'b'] && lists.range(3).reverse() == [2, 1, 0]",
    "self.s.matches('^[a-z]+$') && self.s.find('t') == 't' && self.s.split('e').join('-') == 't-xt'",
    "semver('1.2.3').isLessThan(semver('1.3.0')) && format.dns1123Label().validate(self.s).hasValue()",
    "{'a': [1, 2u, 3.0, b'x', null], 1: true}[1] || sets.contains([1, 2], [2])",
    "type(self.a) == list && int('7') + 1 == 8 && string(true) == 'true' && -(-1) == 1 && !false",
    "optional.of(1).optMap(x, x + 1).value() == 2 && [?optional.none(), 1].size() == 1",
];

const SCALARS: &[&str] = &[
    "app=web,tier!=front,env in (a, b),!gone,exists,x notin (y)",
    "app.kubernetes.io/name==web",
    "metadata.name=a,metadata.namespace!=default,status.phase=Running\\,x",
    "1.5Gi",
    "-0.000000001",
    "12e6",
    "100m",
    "1h30m5.5s",
    "-15ms",
    ".spec.replicas",
    "{.status.conditions[?(@.type==\"Ready\")].status}",
    ".spec.list[*].name",
    "{\"matchLabels\":{\"a\":\"b\"},\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\",\"values\":[\"v\"]}]}",
];

const CREDENTIALS: &[&str] = &[
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules:\n- {level: None, verbs: [get, list]}\n- {level: Metadata, users: [ann], resources: [{group: '', resources: [secrets], resourceNames: [a]}]}\n- {level: Request, nonResourceURLs: ['/healthz*'], omitManagedFields: true}\n",
    "0123456789abcdef,ann,1,\"devs,ops\"\nfedcba9876543210,bob,2\n",
    "Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.eyJpc3MiOiJodHRwczovL2t1YmVybmV0ZXMiLCJhdWQiOlsiYSJdLCJleHAiOjE4MDAwMDAwMDB9.c2lnbmF0dXJl",
    "eyJhbGciOiJFUzI1NiIsImtpZCI6ImEifQ.eyJpc3MiOiJhIiwic3ViIjoiYiIsImF1ZCI6WyJhIl0sImV4cCI6MTgwMDAwMDAwMH0.c2lnbmF0dXJl",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEJ0dDZ5o6q6sTWmUuEzl3nyHWuk4L\nHwbYFlpZbkHnkqDmcdKw3vWbWoJdsHGsuXbXjbLGFHzRRvyA1nuMvd7V0A==\n-----END PUBLIC KEY-----\n",
    "0\u{82}\u{1}\u{a}0\u{1}\u{2}\u{3}\u{13}ann0\u{d}\u{6}\u{9}*",
];
