//! A controller as people write them with the `kube` crate: it watches custom objects and what they own, holds them by
//! a finalizer, creates children and reports in the status. The server is restarted twice meanwhile; in the end the state is the
//! desired one.

use crate::{
    client::{request, text},
    process::Tenure,
};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, Config, Resource, ResourceExt,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams},
    runtime::{
        Controller,
        controller::Action,
        finalizer::{Error, Event, finalizer},
        watcher,
    },
};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tenure_value::Value;

const WIDGETS: usize = 1_000;
const FINALIZER: &str = "example.com/widget";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const PATH: &str = "/apis/example.com/v1/namespaces/default/widgets";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const TIMEOUT: Duration = Duration::from_secs(240);
const JSON: &str = "application/json";

const DEFINITION: &str = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
 "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget"},
 "versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{
   "spec":{"type":"object","properties":{"children":{"type":"integer"}}},
   "status":{"type":"object","properties":{"ready":{"type":"integer"}}}}}}}]}}"#;

/// The context of the reconciler.
struct Context {
    client: Client,
    resource: ApiResource,
    /// The objects that were cleaned up.
    cleaned: Mutex<BTreeSet<String>>,
    /// The objects that are reconciled now.
    reconciled: Mutex<BTreeSet<String>>,
}

impl Context {
    fn widgets(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), "default", &self.resource)
    }

    async fn apply(&self, widget: &DynamicObject) -> Result<Action, kube::Error> {
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), "default");
        let wanted = widget.data["spec"]["children"].as_u64().unwrap_or_default();
        for child in 0..wanted {
            let name = format!("{}-{child}", widget.name_any());
            let map = json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name, "ownerReferences": [widget.controller_owner_ref(&self.resource)]},
                "data": {"of": widget.name_any()},
            });
            maps.patch(&name, &PatchParams::apply("widgets"), &Patch::Apply(&map)).await?;
        }
        if widget.data["status"]["ready"].as_u64() != Some(wanted) {
            let status = json!({"status": {"ready": wanted}});
            let name = widget.name_any();
            self.widgets().patch_status(&name, &PatchParams::default(), &Patch::Merge(&status)).await?;
        }
        Ok(Action::await_change())
    }

    fn clean(&self, widget: &DynamicObject) -> Action {
        self.cleaned.lock().expect("no panic before").insert(widget.name_any());
        Action::await_change()
    }
}

async fn reconcile(widget: Arc<DynamicObject>, context: Arc<Context>) -> Result<Action, Error<kube::Error>> {
    let name = widget.name_any();
    context.reconciled.lock().expect("no panic before").insert(name.clone());
    let done = finalizer(&context.widgets(), FINALIZER, widget, |event| async {
        match event {
            Event::Apply(widget) => context.apply(&widget).await,
            Event::Cleanup(widget) => Ok(context.clean(&widget)),
        }
    })
    .await;
    context.reconciled.lock().expect("no panic before").remove(&name);
    done
}

/// Runs the controller until the runtime is dropped.
async fn control(context: Arc<Context>) {
    let maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), "default");
    let resource = context.resource.clone();
    Controller::new_with(context.widgets(), watcher::Config::default(), resource)
        .owns(maps, watcher::Config::default().streaming_lists())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(300)), context)
        .for_each(|_| async {})
        .await;
}

/// Runs a function for each number, a few at a time.
fn for_all(some: impl Iterator<Item = usize> + Clone + Send, each: impl Fn(usize) + Sync) {
    thread::scope(|scope| {
        for worker in 0..4 {
            let (each, some) = (&each, some.clone());
            scope.spawn(move || some.filter(|at| at % 4 == worker).for_each(each));
        }
    });
}

fn name(at: usize) -> String {
    format!("widget-{at:04}")
}

fn items(list: &Value) -> Vec<Value> {
    list.get("items")
        .and_then(Value::as_array)
        .map(|items| items.iter().cloned().collect())
        .unwrap_or_default()
}

/// Returns the widgets with how many children they want and have reported, and the children with their owners.
fn state(address: &str) -> (BTreeMap<String, (i64, i64)>, BTreeSet<String>) {
    let number = |object: &Value, path: [&str; 2]| object.at(path).and_then(Value::as_i64).unwrap_or(-1);
    let widgets = items(&request(address, "GET", PATH, None).1);
    let widgets = widgets.iter().map(|widget| {
        let counts = (number(widget, ["spec", "children"]), number(widget, ["status", "ready"]));
        (text(widget, &["metadata", "name"]).to_string(), counts)
    });
    let maps = items(&request(address, "GET", MAPS, None).1);
    let names = maps.iter().map(|object| text(object, &["metadata", "name"]).to_string());
    (widgets.collect(), names.collect())
}

#[test]
fn a_controller_brings_everything_to_its_end_through_two_restarts() {
    let directory = TempDir::new().expect("a directory");
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let listen = format!("127.0.0.1:{port}");
    let start = || Tenure::start(directory.path(), &["--insecure-http", "--listen", &listen]);
    let mut tenure = start();
    let address = tenure.address.clone();
    let (code, response) = request(&address, "POST", DEFINITIONS, Some((JSON, DEFINITION)));
    assert_eq!(code, 201, "{response}");

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let config = Config::new(address.parse().expect("an address"));
    let client = runtime.block_on(async { Client::try_from(config) }).expect("a client");
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"));
    let (cleaned, reconciled) = (Mutex::default(), Mutex::default());
    let context = Arc::new(Context { client, resource, cleaned, reconciled });
    runtime.spawn(control(context.clone()));

    let create = |at: usize| {
        let body = format!(
            r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"{}"}},"spec":{{"children":1}}}}"#,
            name(at)
        );
        // A request whose response was lost may have succeeded.
        let (code, response) = request(&address, "POST", PATH, Some((JSON, &body)));
        assert!(matches!(code, 201 | 409), "{response}");
    };
    for_all(0..WIDGETS / 2, create);
    assert_eq!(tenure.terminate().code(), Some(0));
    tenure = start();
    for_all(WIDGETS / 2..WIDGETS, create);
    // A third is deleted, and every tenth of the others gets another child.
    for_all((0..WIDGETS).filter(|at| at % 3 == 0), |at| {
        let (code, response) = request(&address, "DELETE", &format!("{PATH}/{}", name(at)), None);
        assert!(matches!(code, 200 | 404), "{response}");
    });
    tenure.signal("KILL");
    tenure.wait();
    let tenure = start();
    for_all((0..WIDGETS).filter(|at| at % 3 != 0 && at % 10 == 0), |at| {
        let patch = ("application/merge-patch+json", r#"{"spec":{"children":2}}"#);
        let (code, response) = request(&address, "PATCH", &format!("{PATH}/{}", name(at)), Some(patch));
        assert_eq!(code, 200, "{response}");
    });

    let children = |at: usize| if at.is_multiple_of(10) { 2 } else { 1 };
    let stay = || (0..WIDGETS).filter(|at| at % 3 != 0);
    let widgets: BTreeMap<_, _> = stay().map(|at| (name(at), (children(at), children(at)))).collect();
    let maps: BTreeSet<_> =
        stay().flat_map(|at| (0..children(at)).map(move |child| format!("{}-{child}", name(at)))).collect();
    let began = Instant::now();
    loop {
        let (is, owned) = state(&address);
        if is == widgets && owned == maps {
            break;
        }
        assert!(
            began.elapsed() < TIMEOUT,
            "{} widgets of {}, {} children of {}, not ready: {:?}, being reconciled: {:?}",
            is.len(),
            widgets.len(),
            owned.len(),
            maps.len(),
            is.iter().filter(|(_, (wanted, ready))| wanted != ready).take(5).collect::<Vec<_>>(),
            context.reconciled.lock()
        );
        thread::sleep(Duration::from_millis(300));
    }
    let cleaned = context.cleaned.lock().expect("no panic before").clone();
    assert!(cleaned.iter().all(|name| !widgets.contains_key(name)), "nothing that stays was cleaned up");
    runtime.shutdown_background();
    drop(tenure);
}
