//! Writes to a fork are not visible in its origin or in other forks, and the fork equals a server that received the same
//! requests.

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use tenure_testing::{TestError, TestServer};

/// A request to a server.
#[derive(Clone, Debug)]
enum Step {
    Apply { name: u8, manager: u8, value: u8 },
    Merge { name: u8, value: u8 },
    Own { name: u8, owner: u8 },
    Delete { name: u8 },
    Generate,
    Advance { seconds: u16 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4u8, 0..3u8, 0..3u8).prop_map(|(name, manager, value)| Step::Apply { name, manager, value }),
        2 => (0..4u8, 0..3u8).prop_map(|(name, value)| Step::Merge { name, value }),
        1 => (0..4u8, 0..4u8).prop_map(|(name, owner)| Step::Own { name, owner }),
        1 => (0..4u8).prop_map(|name| Step::Delete { name }),
        1 => Just(Step::Generate),
        1 => (0..5000u16).prop_map(|seconds| Step::Advance { seconds }),
    ]
}

async fn carry_out(server: &TestServer, step: &Step) {
    let object = |name: &u8| server.object("ConfigMap", "default", &format!("map-{name}"));
    // Some requests are refused, by every server in the same way.
    match step {
        Step::Apply { name, manager, value } => {
            let map = crate::map(&format!("map-{name}"), &value.to_string());
            drop(server.apply_as(&format!("manager-{manager}"), map).await);
        }
        Step::Merge { name, value } => {
            drop(object(name).merge(json!({"data": {"m": value.to_string()}})).await);
        }
        Step::Own { name, owner } => {
            let Ok(Some(found)) = object(owner).get().await else { return };
            let reference = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "name": format!("map-{owner}"), "uid": found["metadata"]["uid"],
            });
            if name != owner {
                drop(object(name).merge(json!({"metadata": {"ownerReferences": [reference]}})).await);
            }
        }
        Step::Delete { name } => drop(object(name).delete().await),
        Step::Generate => {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "made-"}});
            drop(server.create(map).await);
        }
        Step::Advance { seconds } => server.advance(std::time::Duration::from_secs(u64::from(*seconds))),
    }
    server.settle().await;
}

/// Returns everything that a client can see of a server's config maps.
async fn content(server: &TestServer) -> Result<Value, TestError> {
    let uri = "/api/v1/namespaces/default/configmaps";
    let (_, list) = server.request(http::Method::GET, uri, None).await?;
    Ok(json!([list, server.revision(), server.clock().text()]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_fork_equals_a_server_with_the_same_requests(
        steps in vec((0..4usize, step(), 0..8u8), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let result: Result<(), TestError> = runtime.block_on(async {
            let mut servers = vec![(TestServer::builder().seed(3).start().await?, Vec::new())];
            for (which, step, action) in &steps {
                let which = which % servers.len();
                if *action == 0 && servers.len() < 4 {
                    let (origin, given) = &servers[which];
                    let fork = (origin.fork(), given.clone());
                    servers.push(fork);
                }
                let (server, given) = &mut servers[which];
                carry_out(server, step).await;
                given.push(step.clone());
            }
            for (server, given) in &servers {
                let alone = TestServer::builder().seed(3).start().await?;
                for step in given {
                    carry_out(&alone, step).await;
                }
                assert_eq!(content(server).await?, content(&alone).await?, "after {given:?}");
            }
            Ok(())
        });
        result.unwrap();
    }

    /// A restored server continues as if the writes after the snapshot had never happened.
    #[test]
    fn a_restored_server_equals_one_without_later_writes(
        before in vec(step(), 0..12), undone in vec(step(), 0..12), after in vec(step(), 0..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let result: Result<(), TestError> = runtime.block_on(async {
            let server = TestServer::builder().seed(5).start().await?;
            let alone = TestServer::builder().seed(5).start().await?;
            for step in &before {
                carry_out(&server, step).await;
                carry_out(&alone, step).await;
            }
            let snapshot = server.snapshot();
            for step in &undone {
                carry_out(&server, step).await;
            }
            server.restore(&snapshot);
            for step in &after {
                carry_out(&server, step).await;
                carry_out(&alone, step).await;
            }
            assert_eq!(content(&server).await?, content(&alone).await?);
            Ok(())
        });
        result.unwrap();
    }
}
