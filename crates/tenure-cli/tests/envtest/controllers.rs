//! The objects behave as in a cluster without nodes: namespaces are finalized and dependents collected, unless a flag turns
//! this off for suites that rely on it.

use crate::harness::{Environment, TIMEOUT, code, typed};
use k8s_openapi::{
    api::{
        coordination::v1::Lease,
        core::v1::{ConfigMap, Namespace},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    serde::de::DeserializeOwned,
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    runtime::wait::{await_condition, conditions::is_deleted},
};
use serde_json::{Value, json};
use std::fmt::Debug;
use tokio::time::timeout;

/// Deletes an object and waits until it is gone.
async fn delete<K>(api: &Api<K>, name: &str) -> Result<(), kube::Error>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let uid = api.get(name).await?.uid().expect("a uid");
    api.delete(name, &DeleteParams::background()).await?;
    gone(api, name, &uid).await;
    Ok(())
}

async fn gone<K>(api: &Api<K>, name: &str, uid: &str)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let waiting = await_condition(api.clone(), name, is_deleted(uid));
    let ended = timeout(TIMEOUT, waiting).await.unwrap_or_else(|_| panic!("{name} is still there"));
    ended.expect("the watch works");
}

fn map(name: &str, owner: Option<&ConfigMap>) -> ConfigMap {
    let owners: Vec<Value> = owner
        .map(|owner| {
            let uid = owner.uid().expect("a uid");
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner.name_any(), "uid": uid})
        })
        .into_iter()
        .collect();
    typed(json!({"metadata": {"name": name, "ownerReferences": owners}}))
}

/// Creates a namespace with an object in it, and in `default` an owner with a dependent.
async fn populate(client: &Client) -> Result<(), kube::Error> {
    let post = PostParams::default();
    let namespace: Namespace = typed(json!({"metadata": {"name": "suite"}}));
    Api::all(client.clone()).create(&post, &namespace).await?;
    Api::namespaced(client.clone(), "suite").create(&post, &map("content", None)).await?;
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let owner = maps.create(&post, &map("owner", None)).await?;
    maps.create(&post, &map("dependent", Some(&owner))).await?;
    Ok(())
}

#[test]
fn namespaces_are_finalized_and_dependents_collected() {
    Environment::run(&[], async |client| {
        populate(&client).await?;
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let dependent = maps.get("dependent").await?.uid().expect("a uid");
        delete(&maps, "owner").await?;
        gone(&maps, "dependent", &dependent).await;
        let namespaces: Api<Namespace> = Api::all(client.clone());
        delete(&namespaces, "suite").await?;
        let content: Api<ConfigMap> = Api::namespaced(client, "suite");
        assert_eq!(code(content.get("content").await), 404);
        Ok(())
    });
}

#[test]
fn a_flag_turns_finalization_and_collection_off() {
    let flags = ["--controllers=*,-namespace-controller,-garbage-collector-controller"];
    Environment::run(&flags, async |client| {
        populate(&client).await?;
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let namespaces: Api<Namespace> = Api::all(client.clone());
        delete(&maps, "owner").await?;
        namespaces.delete("suite", &DeleteParams::default()).await?;
        // The deletion of a definition is work of the same queue, and comes behind the others.
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        let definition = typed(json!({
            "metadata": {"name": "probes.example.org"},
            "spec": {"group": "example.org", "scope": "Cluster", "names": {"plural": "probes", "kind": "Probe"},
                     "versions": [{"name": "v1", "served": true, "storage": true,
                                   "schema": {"openAPIV3Schema": {"type": "object"}}}]},
        }));
        definitions.create(&PostParams::default(), &definition).await?;
        delete(&definitions, "probes.example.org").await?;
        let phase = namespaces.get("suite").await?.status.and_then(|status| status.phase);
        assert_eq!(phase.as_deref(), Some("Terminating"));
        let content: Api<ConfigMap> = Api::namespaced(client, "suite");
        content.get("content").await?;
        maps.get("dependent").await?;
        Ok(())
    });
}

/// Returns a lease as a candidate wants it.
fn lease(holder: &str, transitions: u32) -> Value {
    json!({
        "metadata": {"name": "leader"},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": transitions,
                 "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z"},
    })
}

#[test]
fn one_candidate_leads() {
    Environment::run(&[], async |client| {
        let leases: Api<Lease> = Api::default_namespaced(client);
        let post = PostParams::default();
        let held = leases.create(&post, &typed(lease("a", 0))).await?;
        assert_eq!(code(leases.create(&post, &typed(lease("b", 0))).await), 409, "a was first");
        // The leader renews; a candidate that saw the lease before cannot take it.
        let mut renewed = held.clone();
        renewed.spec.get_or_insert_default().renew_time = None;
        let renewed = leases.replace("leader", &post, &renewed).await?;
        let mut taken = held;
        taken.spec.get_or_insert_default().holder_identity = Some("b".into());
        assert_eq!(code(leases.replace("leader", &post, &taken).await), 409);
        // One that saw the renewal takes it over, and the old leader finds out.
        taken.metadata.resource_version = renewed.resource_version();
        leases.replace("leader", &post, &taken).await?;
        assert_eq!(code(leases.replace("leader", &post, &renewed).await), 409);
        let release = Patch::Merge(json!({"spec": {"holderIdentity": ""}}));
        let released = leases.patch("leader", &PatchParams::default(), &release).await?;
        assert_eq!(released.spec.and_then(|spec| spec.holder_identity).as_deref(), Some(""));
        Ok(())
    });
}
