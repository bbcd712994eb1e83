//! Definitions as they come and go one by one: what is served equals what a new catalog reads, and one more definition costs the
//! same whether there are a hundred or thousands.

use std::sync::Arc;
use tenure_apply::Managers;
use tenure_catalog::{Catalog, DEFINITIONS_PREFIX, object};
use tenure_crd::NamesInUse;
use tenure_meta::{Timestamp, time::Precision};
use tenure_profile::Profile;
use tenure_store::{Expected, MemoryStore, Store, Transaction};
use tenure_value::{Text, Value};

fn definition(group: &str, plural: &str, kind: &str, versions: &[&str]) -> Value {
    let version = |(at, name): (usize, &&str)| {
        let schema: Value =
            r#"{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}"#.parse().unwrap();
        Value::object([
            ("name", Value::from(*name)),
            ("served", true.into()),
            ("storage", (at == 0).into()),
            ("schema", schema),
        ])
    };
    let names = [
        ("plural", plural.to_string()),
        ("singular", plural.trim_end_matches('s').to_string()),
        ("kind", kind.to_string()),
        ("listKind", format!("{kind}List")),
    ];
    Value::object([
        ("apiVersion", Value::from("apiextensions.k8s.io/v1")),
        ("kind", "CustomResourceDefinition".into()),
        ("metadata", Value::object([("name", Value::from(format!("{plural}.{group}")))])),
        (
            "spec",
            Value::object([
                ("group", Value::from(group)),
                ("scope", "Namespaced".into()),
                ("names", Value::object(names.map(|(field, word)| (field, Value::from(word))))),
                ("versions", Value::array(versions.iter().enumerate().map(version))),
            ]),
        ),
    ])
}

struct Definitions {
    store: Arc<dyn Store>,
    catalog: Arc<Catalog>,
}

impl Definitions {
    async fn new() -> Definitions {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let catalog = Catalog::open(store.clone(), Profile::kubernetes()).await.unwrap();
        Definitions { store, catalog }
    }

    /// Stores a definition with the names that are free, and follows it as a server does.
    async fn put(&self, definition: &Value) {
        let now = Timestamp::parse("2026-11-18T00:00:00Z", Precision::Seconds).unwrap();
        let names: NamesInUse = self.catalog.snapshot().names_in_use(definition);
        let accepted = tenure_crd::accept(definition, &names, now);
        let bytes = object::encode(&accepted, &Managers::default()).unwrap();
        let key = format!("{DEFINITIONS_PREFIX}{}", object::meta_text(definition, "name"));
        self.store.commit(Transaction::new().put(key.clone(), Expected::Anything, bytes)).await.unwrap();
        self.catalog.refresh_key(&key.into()).await.unwrap();
    }

    async fn delete(&self, name: &str) {
        let key = format!("{DEFINITIONS_PREFIX}{name}");
        self.store.commit(Transaction::new().delete(key.clone(), Expected::Anything)).await.unwrap();
        self.catalog.refresh_key(&key.into()).await.unwrap();
    }
}

/// What a catalog serves beside the built-in resources, in the order of discovery.
fn served(catalog: &Catalog) -> (Vec<String>, Vec<String>, Vec<(Text, Text)>) {
    let snapshot = catalog.snapshot();
    let builtin = tenure_builtin::registry();
    let groups = snapshot.registry().groups().iter();
    let groups = groups.filter(|group| !builtin.groups().iter().any(|listed| listed.name == group.name));
    let resources = snapshot.registry().resources().iter().skip(builtin.resources().len());
    let resources: Vec<String> = resources
        .map(|resource| format!("{}/{} {}", resource.api_version, resource.name, resource.kind))
        .collect();
    (
        groups.map(|group| format!("{} {:?}", group.name, group.versions)).collect(),
        resources,
        snapshot.custom_versions().collect(),
    )
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_followed_equals_what_is_read() {
    let definitions = Definitions::new().await;
    let steps: [(&str, &str, &str, &[&str]); 9] = [
        ("example.com", "widgets", "Widget", &["v1"]),
        ("example.com", "gadgets", "Gadget", &["v1", "v1beta1"]),
        // The kind is taken: it is not served until the other one is gone.
        ("example.com", "tools", "Widget", &["v1"]),
        ("other.example", "widgets", "Widget", &["v1alpha1"]),
        ("apps", "deployers", "Deployer", &["v1", "v2"]),
        ("example.com", "widgets", "Widget", &["v2", "v1"]),
        ("example.com", "gadgets", "", &[]),
        ("example.com", "widgets", "", &[]),
        ("example.com", "tools", "Widget", &["v1"]),
    ];
    for (group, plural, kind, versions) in steps {
        match versions.is_empty() {
            true => definitions.delete(&format!("{plural}.{group}")).await,
            false => definitions.put(&definition(group, plural, kind, versions)).await,
        }
        let read = Catalog::open(definitions.store.clone(), Profile::kubernetes()).await.unwrap();
        assert_eq!(served(&definitions.catalog), served(&read), "after {plural}.{group} {versions:?}");
        definitions.catalog.refresh().await.unwrap();
        assert_eq!(
            served(&definitions.catalog),
            served(&read),
            "read again after {plural}.{group} {versions:?}"
        );
    }
    let of_kind = |version: &str, kind: &str| {
        definitions.catalog.resource_of_kind(version, kind).map(|handler| handler.resource.name.to_string())
    };
    assert_eq!(of_kind("example.com/v1", "Widget").as_deref(), Some("tools"));
    assert_eq!(of_kind("example.com/v1", "Gadget"), None);
    assert_eq!(of_kind("apps/v2", "Deployer").as_deref(), Some("deployers"));
    // A version of a built-in group has its built-in resources alone.
    assert_eq!(of_kind("apps/v1", "Deployer"), None);
    assert_eq!(of_kind("apps/v1", "Deployment").as_deref(), Some("deployments"));
    assert!(definitions.catalog.has_group("other.example") && !definitions.catalog.has_group("other"));
    let stored = definitions.catalog.stored_resource("apps", "deployers").unwrap();
    assert_eq!(stored.resource.version, "v2");
}

#[test]
fn one_more_definition_costs_the_same_among_thousands() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let definitions = runtime.block_on(Definitions::new());
    let put = |at: usize| {
        let definition = definition(
            &format!("g{}.example", at % 40),
            &format!("things{at}s"),
            &format!("Thing{at}"),
            &["v1"],
        );
        let measured = allocation_counter::measure(|| runtime.block_on(definitions.put(&definition)));
        measured.bytes_total
    };
    let mut cost = Vec::new();
    for at in 0..3_000 {
        cost.push(put(at));
    }
    let least = |range: std::ops::Range<usize>| cost[range].iter().min().copied().unwrap();
    let (among_few, among_many) = (least(100..150), least(2_950..3_000));
    println!("{among_few} bytes allocated among 100 definitions, {among_many} among 3,000");
    assert!(
        among_many < among_few * 3 / 2,
        "{among_few} bytes among 100 definitions, {among_many} among 3,000"
    );
}
