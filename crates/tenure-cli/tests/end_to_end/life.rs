//! `kubectl` and deletion: finalizers, cascading and orphaning, and pruning.

use crate::{
    kubectl::{Cluster, version},
    process::{CommandOutput, read_until, run},
};

const OWNER: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: nginx}]
";

/// Creates a deployment and a replica set that it owns, as its controller would.
fn family(cluster: &Cluster, name: &str) {
    cluster.with(&OWNER.replace("NAME", name), "apply --validate=false -f -").succeeds_with("created");
    let uid = cluster.kubectl(&format!("get deployment {name} -o jsonpath={{.metadata.uid}}")).out;
    let owned = OWNER.replace("kind: Deployment", "kind: ReplicaSet").replace(
        "  name: NAME\n",
        &format!(
            "  name: {name}-1\n  ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: {name}, uid: {uid}, controller: true, blockOwnerDeletion: true}}]\n"
        ),
    );
    cluster.with(&owned, "apply --validate=false -f -").succeeds_with("created");
}

fn is_there(cluster: &Cluster, what: &str) -> bool {
    !cluster.kubectl(&format!("get {what} --ignore-not-found -o name")).out.is_empty()
}

fn wait_until_gone(cluster: &Cluster, what: &str) {
    cluster.kubectl(&format!("wait {what} --for=delete --timeout=50s"));
    assert!(!is_there(cluster, what), "{what}");
}

#[test]
fn deletions_cascade_as_requested() {
    let cluster = Cluster::start();
    family(&cluster, "web");
    cluster.kubectl("delete deployment web --cascade=foreground").succeeds_with("deleted");
    assert!(
        !is_there(&cluster, "deployment/web") && !is_there(&cluster, "replicaset/web-1"),
        "the owner goes last"
    );
    family(&cluster, "web");
    cluster.kubectl("delete deployment web --cascade=background").succeeds_with("deleted");
    wait_until_gone(&cluster, "replicaset/web-1");
    family(&cluster, "web");
    cluster.kubectl("delete deployment web --cascade=orphan").succeeds_with("deleted");
    assert!(!is_there(&cluster, "deployment/web"));
    let owners =
        cluster.kubectl("get replicaset web-1 -o jsonpath={.metadata.ownerReferences}").succeeds_with("").out;
    assert_eq!(owners, "", "an orphan has no owner");
    // It stays while what came later is collected.
    family(&cluster, "later");
    cluster.kubectl("delete deployment later --cascade=background").succeeds_with("deleted");
    wait_until_gone(&cluster, "replicaset/later-1");
    assert!(is_there(&cluster, "replicaset/web-1"), "an orphan stays");
}

#[test]
fn a_deletion_waits_for_finalizers() {
    let cluster = Cluster::start();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, finalizers: [example.com/held]}\n";
    cluster.with(map, "create --validate=false -f -").succeeds_with("created");
    let mut watch = cluster.begin("get configmap held -w --output-watch-events");
    let mut events = watch.stdout.take().expect("its output");
    read_until(&mut events, "ADDED");
    let mut deletion = cluster.begin("delete configmap held --wait=true --timeout=50s");
    read_until(&mut events, "MODIFIED");
    assert!(deletion.try_wait().expect("its state").is_none(), "it waits");
    cluster.kubectl("delete configmap held --wait=false").succeeds_with("deleted");
    assert!(is_there(&cluster, "configmap/held"));
    cluster
        .kubectl("patch configmap held --type=merge -p '{\"metadata\":{\"finalizers\":null}}'")
        .succeeds_with("patched");
    assert!(deletion.wait().expect("it ends").success());
    read_until(&mut events, "DELETED");
    watch.kill().expect("the watch is killed");
    watch.wait().expect("it ends");
    cluster.kubectl("create namespace short").succeeds_with("created");
    cluster.kubectl("create configmap c -n short").succeeds_with("created");
    cluster.kubectl("delete namespace short").succeeds_with("deleted");
    assert!(!is_there(&cluster, "namespace/short"));
    cluster.kubectl("run pod --image=i").succeeds_with("created");
    cluster.kubectl("delete pod pod --force --grace-period=0").succeeds_with("deleted");
    assert!(!is_there(&cluster, "pod/pod"));
}

fn two_maps(which: &[&str]) -> String {
    let map = |name: &&str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{part: ours}}}}\n---\n")
    };
    which.iter().map(map).collect()
}

#[test]
fn what_is_not_applied_any_more_is_pruned() {
    let cluster = Cluster::start();
    cluster.kubectl("create configmap theirs").succeeds_with("created");
    let line = "apply --validate=false --prune -l part=ours --prune-allowlist=core/v1/ConfigMap -f -";
    // Since 1.26 the flag has this name.
    if version() >= 26 {
        cluster.with(&two_maps(&["one", "two"]), line).succeeds_with("configmap/two created");
        cluster.with(&two_maps(&["one"]), line).succeeds_with("configmap/two pruned");
        assert!(!is_there(&cluster, "configmap/two") && is_there(&cluster, "configmap/theirs"));
    }
    // ApplySets exist since 1.27, and so does validation with OpenAPI as JSON.
    if version() < 27 {
        println!("kubectl 1.{} knows no sets of what was applied", version());
        return;
    }
    let in_set = |input: &str| -> CommandOutput {
        let line = "apply --server-side --force-conflicts --prune --applyset=parts -n default -f -";
        run(cluster.command(line).env("KUBECTL_APPLYSET", "true"), input)
    };
    in_set(&two_maps(&["three", "four"])).succeeds_with("configmap/four serverside-applied");
    in_set(&two_maps(&["three"])).succeeds_with("configmap/four pruned");
    assert!(!is_there(&cluster, "configmap/four") && is_there(&cluster, "configmap/three"));
    assert!(is_there(&cluster, "configmap/theirs"));
}
