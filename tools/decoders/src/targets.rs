//! The bodies of decoders without a fuzz target of their own. None of them may panic on any bytes.

use std::sync::OnceLock;
use tenure_audit::Policy;
use tenure_authentication::credentials::TokenFile;
use tenure_builtin::{BuiltinStrategy, registry};
use tenure_cel::{Decl, Env, Limits as CostLimits, Val};
use tenure_crd::{Definition, JsonPath, SimplePath, duration_nanoseconds};
use tenure_flowcontrol::{Config, Scheduler, dangling_conditions};
use tenure_meta::{
    Attributes, CreateContext, Endpoint, FieldSelector, LabelSelector, Previous, Quantity,
    ResourceAttributes, Strategy, SystemMetadata, Timestamp, UserInfo,
};
use tenure_profile::Profile;
use tenure_value::{Limits, Text, Value, json, yaml};

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn document(bytes: &[u8]) -> Option<Value> {
    json::parse(bytes, &Limits::default()).ok()
}

/// What a write takes from its surroundings.
struct Context;

impl CreateContext for Context {
    fn now(&self) -> Timestamp {
        Timestamp { seconds: 1_700_000_000, nanos: 0 }
    }

    fn uid(&self) -> Text {
        "00000000-0000-0000-0000-000000000001".into()
    }

    fn priority_class(&self, _: &str) -> Option<(i64, Text)> {
        Some((1000, "Never".into()))
    }

    fn cluster_ip(&mut self, _: tenure_meta::IpFamily) -> Option<Text> {
        Some("10.0.0.7".into())
    }

    fn node_port(&mut self) -> Option<u16> {
        Some(30_001)
    }

    fn requester(&self) -> (Text, Text, Vec<Text>) {
        ("ann".into(), "1".into(), vec!["system:authenticated".into()])
    }
}

/// Takes a document through all phases of a create; what is valid can be encoded, stored, shown as a row of a table, and read.
fn create(strategy: &dyn Strategy, body: &Value) -> Option<Value> {
    let now = Context.now();
    let decoded = strategy.decode(body, Previous::UNKNOWN, now).ok()?.value;
    let _ = strategy.decode_applied(body, Previous::UNKNOWN, now);
    let system = SystemMetadata {
        name: "a".into(),
        namespace: Some("default".into()),
        uid: Context.uid(),
        now,
        keeps_marks: false,
    };
    let object = strategy.with_system_metadata(&decoded, &system);
    let object = strategy.prepare_for_create(&object, &mut Context);
    if !strategy.validate(&object).is_empty() {
        return Some(object);
    }
    let _ = strategy.warnings(&object, None);
    let object = strategy.canonicalize(object, Previous::UNKNOWN);
    let _ = strategy.table_cells(&object, now);
    if let Ok(stored) = strategy.to_storage(&object, Previous::UNKNOWN) {
        let _ = strategy.from_storage(&stored);
    }
    Some(object)
}

/// Creates an object of a built-in kind from the first line, and updates it to the second.
pub fn builtin(bytes: &[u8]) {
    let mut lines = bytes.splitn(2, |byte| *byte == b'\n');
    let (Some(first), Some(second)) = (lines.next().and_then(document), lines.next().and_then(document))
    else {
        return;
    };
    let member = |name: &str| first.get(name).and_then(Value::as_str).unwrap_or_default();
    let Some(resource) = registry().of_kind(member("apiVersion"), member("kind")) else { return };
    let strategy = BuiltinStrategy::new(resource.clone(), Profile::tenure());
    let (Some(old), Some(new)) = (create(&strategy, &first), create(&strategy, &second)) else { return };
    for endpoint in [Endpoint::Main, Endpoint::Status] {
        let prepared = strategy.prepare_for_update(endpoint, &old, &new, &mut Context);
        let _ = strategy.validate_update(
            endpoint,
            &old,
            &prepared,
            Previous::of(&old),
            Context.now(),
            &mut Vec::new(),
        );
    }
}

/// Checks and compiles a definition from the first line, and validates an object of it from the second.
pub fn definition(bytes: &[u8]) {
    let mut lines = bytes.splitn(2, |byte| *byte == b'\n');
    let (Some(definition), Some(object)) = (lines.next().and_then(document), lines.next().and_then(document))
    else {
        return;
    };
    let errors = tenure_crd::check_create(&definition, Profile::tenure());
    let _ = tenure_crd::check_update(&object, &definition, Profile::tenure());
    // Only valid definitions are compiled; stored ones are.
    if !errors.is_empty() {
        return;
    }
    let Ok(compiled) = Definition::read(&definition, Profile::tenure()) else { return };
    for version in compiled.versions.iter() {
        if let Ok(decoded) = version.complete(&object) {
            let _ = compiled.trimmed(&decoded.value, &format!("{}/{}", compiled.group, version.name));
        }
    }
}

/// Compiles an expression and evaluates it.
pub fn cel(bytes: &[u8]) {
    static ENV: OnceLock<Env> = OnceLock::new();
    static SELF: OnceLock<Value> = OnceLock::new();
    let Some(expression) = text(bytes) else { return };
    if let Ok(ast) = tenure_cel::parse(expression) {
        assert_eq!(tenure_cel::parse(&ast.to_string()).as_ref(), Ok(&ast), "{expression}");
    }
    let env = ENV.get_or_init(|| Env::kubernetes().with_variable("self", Decl::dynamic()));
    let Ok(program) = env.compile(expression) else { return };
    let document = SELF.get_or_init(|| {
        r#"{"a":[1,"b",{"c":null}],"s":"text","n":[1,2,3],"m":{"k":"v","x":"y"},"t":"2026-01-01T00:00:00Z","q":"1Gi"}"#
            .parse()
            .unwrap_or_default()
    });
    let Ok(value) = Val::from_document(document, None) else { return };
    // A small budget: the run is about decoding.
    let limits = CostLimits { cost: 20_000, bytes: 1 << 20, scanned: 4 << 20 };
    if let Ok(made) = program.eval(&[value], limits).result {
        let _ = made.to_document();
    }
}

/// Parses label and field selectors, quantities, durations, times and paths of columns.
pub fn scalars(bytes: &[u8]) {
    let Some(text) = text(bytes) else { return };
    let labels: Value = r#"{"app":"web","tier":"front"}"#.parse().unwrap_or_default();
    if let Ok(selector) = LabelSelector::parse(text) {
        let _ = selector.matches(Some(&labels));
    }
    if let Ok(selector) = FieldSelector::parse(text) {
        let _ = selector.decide("a", "default");
    }
    if let Some(quantity) = Quantity::parse(text) {
        let canonical = quantity.canonical();
        assert!(Quantity::parse(&canonical).is_some(), "{text} becomes {canonical}");
        let _ = (quantity.ceil(), quantity.plus(quantity), quantity.minus(quantity));
    }
    let _ = duration_nanoseconds(text);
    if let Ok(path) = JsonPath::parse(text) {
        let _ = path.find(&labels);
    }
    let _ = SimplePath::parse(text);
    if let Some(value) = document(bytes) {
        let _ = LabelSelector::of_object(&value);
    }
}

/// Parses what operators write: audit policies, token files; and the bearer tokens and certificates of clients.
pub fn authentication(bytes: &[u8]) {
    use tenure_authentication::credentials as auth;
    let _ = tenure_transport::serving::certificate_expiry(bytes);
    let _ = tenure_transport::serving::user_of_certificate(bytes);
    let Some(text) = text(bytes) else { return };
    if let Ok(policy) = Policy::parse(text) {
        let request =
            ResourceAttributes { verb: "get".into(), resource: "pods".into(), ..Default::default() };
        let _ = policy.select(Some(&UserInfo::new("ann")), &Attributes::Resource(request));
    }
    if let Ok(tokens) = TokenFile::parse(text) {
        let _ = tokens.user("token");
    }
    let _ = auth::bearer_token(text);
    let _ = auth::verify(&[], text);
    let _ = auth::VerifyingKey::all_from_pem(text);
}

/// Reads a flow schema and a priority level, and lets a request arrive.
pub fn flow_control(bytes: &[u8]) {
    let mut lines = bytes.splitn(2, |byte| *byte == b'\n');
    let (Some(schema), Some(level)) = (lines.next().and_then(document), lines.next().and_then(document))
    else {
        return;
    };
    let (schemas, levels) = ([schema], [level]);
    let config = Config::read(&schemas, &levels);
    let request = Attributes::NonResource { verb: "get".into(), path: "/version".into() };
    let flow = config.classify(&UserInfo::new("ann").with_group("system:authenticated"), &request);
    let mut scheduler = Scheduler::new(&config, 10);
    let _ = scheduler.arrive(&flow, 3);
    let _ = dangling_conditions(&schemas, &levels);
}

/// Parses several YAML documents, as files have them, without the limits of requests.
pub fn manifest(bytes: &[u8]) {
    let limits = Limits { bytes: 1 << 20, nodes: 100_000, ..Limits::default() };
    for value in yaml::parse_all(bytes, &limits).unwrap_or_default() {
        let again = yaml::parse(yaml::to_string(&value).as_bytes(), &Limits::TRUSTED);
        assert_eq!(again.as_ref(), Ok(&value));
    }
}

/// The body of a decoder.
pub(crate) type Body = fn(&[u8]);
