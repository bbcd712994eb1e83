//! Informers: initial events in a watch, the bookmark that ends them, and changes after it.

use crate::harness::{Environment, TIMEOUT, typed};
use futures::{Stream, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    runtime::watcher::{self, Event, watcher},
};
use serde_json::json;
use std::pin::pin;
use tokio::time::timeout;

async fn next(
    events: &mut (impl Stream<Item = Result<Event<ConfigMap>, watcher::Error>> + Unpin),
) -> Event<ConfigMap> {
    let event = timeout(TIMEOUT, events.try_next()).await.expect("an event comes");
    event.expect("the watch works").expect("the watch goes on")
}

#[test]
fn informers_get_initial_events_and_then_changes() {
    Environment::run(&[], async |client| {
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        for name in ["a", "b", "c"] {
            let map = typed(json!({"metadata": {"name": name, "labels": {"suite": "informers"}}}));
            maps.create(&PostParams::default(), &map).await?;
        }
        for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
            let events = watcher(maps.clone(), config.clone().labels("suite=informers"));
            let mut events = pin!(events);
            let mut initial = Vec::new();
            loop {
                match next(&mut events).await {
                    Event::Init => {}
                    Event::InitApply(map) => initial.push(map.name_any()),
                    Event::InitDone => break,
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(initial, ["a", "b", "c"], "{config:?}");
            let change = Patch::Merge(json!({"data": {"changed": format!("{config:?}")}}));
            maps.patch("b", &PatchParams::default(), &change).await?;
            assert!(matches!(next(&mut events).await, Event::Apply(map) if map.name_any() == "b"));
            let map = typed(json!({"metadata": {"name": "d", "labels": {"suite": "informers"}}}));
            maps.create(&PostParams::default(), &map).await?;
            assert!(matches!(next(&mut events).await, Event::Apply(map) if map.name_any() == "d"));
            maps.delete("d", &DeleteParams::default()).await?;
            assert!(matches!(next(&mut events).await, Event::Delete(map) if map.name_any() == "d"));
        }
        Ok(())
    });
}
