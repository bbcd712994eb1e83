//! The `kube` crate with types of `k8s-openapi`, against a server with TLS and a token.

use crate::process::Tenure;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Namespace, Pod},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    serde::de::DeserializeOwned,
};
use kube::{
    Api, Client, Config, Discovery, ResourceExt,
    api::{
        ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
        PostParams, WatchEvent, WatchParams,
    },
    config::{KubeConfigOptions, Kubeconfig},
    core::PartialObjectMeta,
    discovery::{self, Scope},
};
use serde_json::{Value, json};
use std::future::Future;
use tempfile::TempDir;

/// Lets a client work with a server of its own.
fn with_client<F: Future<Output = Result<(), kube::Error>>>(work: impl FnOnce(Client) -> F) {
    let directory = TempDir::new().expect("a directory");
    let tenure = Tenure::secure(&directory);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let kubeconfig = Kubeconfig::read_from(tenure.kubeconfig()).expect("a kubeconfig");
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let client = Client::try_from(config.expect("the kubeconfig is whole")).expect("a client");
        work(client).await.expect("the server does as it is asked");
    });
}

fn typed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the object is of its type")
}

fn map(name: &str, value: &str) -> ConfigMap {
    typed(json!({"metadata": {"name": name, "labels": {"of": value}}, "data": {"k": value}}))
}

fn deployment() -> Value {
    let pod = json!({"containers": [{"name": "web", "image": "nginx:1"}]});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}},
                 "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod}},
    })
}

/// Returns the code of a refusal.
#[track_caller]
fn code<T: std::fmt::Debug>(response: Result<T, kube::Error>) -> u16 {
    match response {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("no refusal but {other:?}"),
    }
}

#[test]
fn objects_are_made_read_changed_and_deleted() {
    with_client(async |client| {
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        let made = maps.create(&PostParams::default(), &map("a", "x")).await?;
        assert!(made.uid().is_some() && made.resource_version().is_some());
        assert_eq!(code(maps.create(&PostParams::default(), &map("a", "x")).await), 409);
        assert_eq!(maps.get("a").await?.data, made.data);
        assert!(maps.get_opt("b").await?.is_none());
        assert_eq!(maps.get_metadata("a").await?.labels()["of"], "x");
        let mut next = made.clone();
        next.data.get_or_insert_default().insert("k".into(), "y".into());
        let replaced = maps.replace("a", &PostParams::default(), &next).await?;
        assert_ne!(replaced.resource_version(), made.resource_version());
        assert_eq!(code(maps.replace("a", &PostParams::default(), &made).await), 409, "it is out of date");
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        maps.create(&dry, &map("b", "z")).await?;
        assert!(maps.get_opt("b").await?.is_none());
        let entry = maps.entry("c").await?.or_insert(|| map("c", "w"));
        entry
            .and_modify(|map| _ = map.data.get_or_insert_default().insert("m".into(), "n".into()))
            .commit(&PostParams::default())
            .await
            .expect("the entry is stored");
        assert_eq!(maps.get("c").await?.data.unwrap_or_default().len(), 2);
        assert!(maps.delete("a", &DeleteParams::default()).await?.is_right(), "a map is gone at once");
        assert_eq!(code(maps.delete("a", &DeleteParams::default()).await), 404);
        maps.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
        assert!(maps.list(&ListParams::default()).await?.items.is_empty());
        Ok(())
    });
}

#[test]
fn applies_conflict_and_are_forced_and_every_patch_is_understood() {
    with_client(async |client| {
        let deployments: Api<Deployment> = Api::default_namespaced(client);
        let replicas = |deployment: &Deployment| deployment.spec.as_ref().and_then(|spec| spec.replicas);
        let alice = PatchParams::apply("alice");
        let made = deployments.patch("web", &alice, &Patch::Apply(deployment())).await?;
        assert_eq!(replicas(&made), Some(2));
        let mut more = deployment();
        more["spec"]["replicas"] = json!(3);
        let bob = PatchParams::apply("bob");
        assert_eq!(code(deployments.patch("web", &bob, &Patch::Apply(&more)).await), 409);
        let forced = deployments.patch("web", &bob.clone().force(), &Patch::Apply(&more)).await?;
        assert_eq!(replicas(&forced), Some(3));
        let holders = forced.managed_fields().iter().filter_map(|entry| entry.manager.as_deref());
        assert_eq!(holders.collect::<Vec<_>>(), ["alice", "bob"]);
        let plain = PatchParams::default();
        let merged = Patch::Merge(json!({"spec": {"replicas": 4}}));
        assert_eq!(replicas(&deployments.patch("web", &plain, &merged).await?), Some(4));
        let side = json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "s"}]}}}});
        let strategic = deployments.patch("web", &plain, &Patch::Strategic(side)).await?;
        let pod = strategic.spec.and_then(|spec| spec.template.spec).expect("a template");
        assert_eq!(
            pod.containers.iter().map(|container| container.name.as_str()).collect::<Vec<_>>(),
            ["side", "web"]
        );
        let operations = typed(json!([{"op": "replace", "path": "/spec/replicas", "value": 5}]));
        let patched = deployments.patch("web", &plain, &Patch::<()>::Json(operations)).await?;
        assert_eq!(replicas(&patched), Some(5));
        let strict = PatchParams { field_validation: Some(kube::api::ValidationDirective::Strict), ..plain };
        let unknown = Patch::Merge(json!({"spec": {"replicaz": 4}}));
        assert!(matches!(code(deployments.patch("web", &strict, &unknown).await), 400 | 422));
        Ok(())
    });
}

#[test]
fn status_and_scale_are_objects_of_their_own() {
    with_client(async |client| {
        let deployments: Api<Deployment> = Api::default_namespaced(client);
        let made = deployments.create(&PostParams::default(), &typed(deployment())).await?;
        let status = Patch::Merge(json!({"spec": {"replicas": 9}, "status": {"replicas": 1}}));
        let shown = deployments.patch_status("web", &PatchParams::default(), &status).await?;
        assert_eq!(shown.spec.as_ref().and_then(|spec| spec.replicas), Some(2), "status changes no more");
        assert_eq!(shown.status.as_ref().and_then(|status| status.replicas), Some(1));
        let mut next = deployments.get_status("web").await?;
        next.status.get_or_insert_default().replicas = Some(2);
        assert_eq!(
            deployments.replace_status("web", &PostParams::default(), &next).await?.status,
            next.status
        );
        assert_eq!(deployments.get_scale("web").await?.spec.and_then(|spec| spec.replicas), Some(2));
        let scale = Patch::Merge(json!({"spec": {"replicas": 7}}));
        deployments.patch_scale("web", &PatchParams::default(), &scale).await?;
        let scaled = deployments.get("web").await?;
        assert_eq!(scaled.spec.and_then(|spec| spec.replicas), Some(7));
        assert_eq!(scaled.metadata.generation, made.metadata.generation.map(|generation| generation + 1));
        Ok(())
    });
}

#[test]
fn lists_are_selected_paged_and_watched() {
    with_client(async |client| {
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        for at in 0..25 {
            let value = if at % 5 == 0 { "five" } else { "other" };
            maps.create(&PostParams::default(), &map(&format!("m-{at:02}"), value)).await?;
        }
        let five = maps.list(&ListParams::default().labels("of in (five)")).await?;
        assert_eq!(five.items.len(), 5);
        assert_eq!(maps.list(&ListParams::default().labels("of!=five")).await?.items.len(), 20);
        let one = maps.list(&ListParams::default().fields("metadata.name=m-03")).await?;
        assert_eq!(one.items.len(), 1);
        assert_eq!(code(maps.list(&ListParams::default().fields("data.k=x")).await), 400);
        let (mut names, mut page) = (Vec::new(), ListParams::default().limit(10));
        loop {
            let part = maps.list(&page).await?;
            names.extend(part.items.iter().map(ResourceExt::name_any));
            match part.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => page = page.continue_token(&token),
                None => break,
            }
        }
        assert_eq!(names, (0..25).map(|at| format!("m-{at:02}")).collect::<Vec<_>>());
        let metadata = maps.list_metadata(&ListParams::default().labels("of=five")).await?;
        assert_eq!(metadata.items.len(), 5);
        let everywhere: Api<ConfigMap> = Api::all(client);
        assert_eq!(everywhere.list(&ListParams::default().labels("of")).await?.items.len(), 25);

        let from = five.metadata.resource_version.expect("a list has a version");
        let mut events = maps.watch(&WatchParams::default().labels("of=five"), &from).await?.boxed();
        maps.delete("m-00", &DeleteParams::default()).await?;
        maps.create(&PostParams::default(), &map("n", "five")).await?;
        let leave = Patch::Merge(json!({"metadata": {"labels": {"of": "none"}}}));
        maps.patch("m-05", &PatchParams::default(), &leave).await?;
        let mut seen = Vec::new();
        while seen.len() < 3 {
            match events.try_next().await?.expect("the watch goes on") {
                WatchEvent::Added(object) => seen.push(format!("+{}", object.name_any())),
                WatchEvent::Deleted(object) => seen.push(format!("-{}", object.name_any())),
                WatchEvent::Bookmark(_) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(seen, ["-m-00", "+n", "-m-05"]);
        let mut partial = maps.watch_metadata(&WatchParams::default(), "0").await?.boxed();
        let first: Option<WatchEvent<PartialObjectMeta<ConfigMap>>> = partial.try_next().await?;
        assert!(matches!(first, Some(WatchEvent::Added(_))), "{first:?}");
        Ok(())
    });
}

#[test]
fn discovery_finds_built_in_and_custom_kinds() {
    with_client(async |client| {
        let version = client.apiserver_version().await?;
        assert_eq!((version.major.as_str(), version.minor.as_str()), ("1", "37"));
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let definition = typed(json!({
            "metadata": {"name": "gadgets.example.org"},
            "spec": {"group": "example.org", "scope": "Namespaced",
                     "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget"},
                     "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]},
        }));
        definitions.create(&PostParams::default(), &definition).await?;
        let kind = GroupVersionKind::gvk("example.org", "v1", "Gadget");
        let (resource, capabilities) = discovery::pinned_kind(&client, &kind).await?;
        assert_eq!((resource.plural.as_str(), capabilities.scope), ("gadgets", Scope::Namespaced));
        let gadgets: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
        let gadget = DynamicObject::new("g", &resource).data(json!({"spec": {"size": 3}}));
        let made = gadgets.create(&PostParams::default(), &gadget).await?;
        assert_eq!(made.data["spec"]["size"], 3);
        let all = Discovery::new(client.clone()).run().await?;
        let found = |kind: &str| all.groups().any(|group| group.recommended_kind(kind).is_some());
        assert!(found("Deployment") && found("Pod") && found("Gadget") && !found("Nothing"));
        let aggregated = Discovery::new(client.clone()).run_aggregated().await?;
        let (pods, _) =
            aggregated.resolve_gvk(&GroupVersionKind::gvk("", "v1", "Pod")).expect("pods are served");
        assert_eq!(pods, ApiResource::erase::<Pod>(&()));
        let namespaces: Api<Namespace> = Api::all(client);
        assert!(
            namespaces.list(&ListParams::default()).await?.iter().any(|list| list.name_any() == "default")
        );
        Ok(())
    });
}
