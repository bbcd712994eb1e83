//! The Node authorizer: a kubelet reads what the pods of its node refer to, and no other objects. The reasons are those of Kubernetes.

use proptest::prelude::*;
use tenure_authorization::{
    Decision,
    node::{NodeAuthorizer, NodeGraph, Relations, node_name},
};
use tenure_meta::{Attributes, ResourceAttributes, UserInfo};
use tenure_profile::KubernetesVersion;
use tenure_value::{Limits, Value, yaml};

fn object(text: &str) -> Value {
    yaml::parse(text.as_bytes(), &Limits::default()).unwrap()
}

/// The objects of the tests, with their resources.
const OBJECTS: &[(&str, &str)] = &[
    (
        "pods",
        "{metadata: {namespace: ns, name: web}, spec: {nodeName: a, serviceAccountName: robot, imagePullSecrets: [{name: pull}],
          initContainers: [{envFrom: [{secretRef: {name: init}}, {configMapRef: {name: init}}]}],
          containers: [{env: [{valueFrom: {secretKeyRef: {name: env}}}, {valueFrom: {configMapKeyRef: {name: env}}}, {value: x}]}],
          ephemeralContainers: [{envFrom: [{secretRef: {name: debug}}]}],
          volumes: [{name: s, secret: {secretName: volume}}, {name: c, configMap: {name: volume}},
                    {name: p, projected: {sources: [{secret: {name: projected}}, {configMap: {name: projected}}]}},
                    {name: scratch, ephemeral: {}}, {name: data, persistentVolumeClaim: {claimName: data}},
                    {name: d, csi: {driver: d, nodePublishSecretRef: {name: csi}}}, {name: f, cephfs: {secretRef: {name: ceph}}},
                    {name: z, azureFile: {secretName: azure}}, {name: e, emptyDir: {}}],
          resourceClaims: [{name: own, resourceClaimName: gpu}, {name: made, resourceClaimTemplateName: t}, {name: none, resourceClaimTemplateName: t}]},
          status: {resourceClaimStatuses: [{name: made, resourceClaimName: made-7}, {name: other, resourceClaimName: other-7}],
                   extendedResourceClaimStatus: {resourceClaimName: extended}}}",
    ),
    (
        "pods",
        "{metadata: {namespace: ns, name: mirror, annotations: {kubernetes.io/config.mirror: x}},
          spec: {nodeName: a, serviceAccountName: admin, volumes: [{secret: {secretName: stolen}}]}}",
    ),
    ("pods", "{metadata: {namespace: ns, name: unbound}, spec: {volumes: [{secret: {secretName: unbound}}]}}"),
    (
        "pods",
        "{metadata: {namespace: ns, name: other}, spec: {nodeName: b, volumes: [{configMap: {name: other}}, {configMap: {name: volume}}]}}",
    ),
    (
        "persistentvolumes",
        "{metadata: {name: disk}, spec: {claimRef: {namespace: ns, name: data},
          csi: {nodeStageSecretRef: {namespace: storage, name: stage}, controllerPublishSecretRef: {namespace: storage, name: publish}}}}",
    ),
    (
        "persistentvolumes",
        "{metadata: {name: share}, spec: {claimRef: {namespace: ns, name: data}, iscsi: {secretRef: {name: chap}}}}",
    ),
    ("persistentvolumes", "{metadata: {name: free}, spec: {cephfs: {secretRef: {namespace: ns, name: unused}}}}"),
    ("volumeattachments", "{metadata: {name: attached}, spec: {nodeName: a}}"),
    ("resourceslices", "{metadata: {name: local}, spec: {nodeName: a}}"),
    ("resourceslices", "{metadata: {name: shared}, spec: {allNodes: true}}"),
];

fn graph() -> NodeGraph {
    let mut graph = NodeGraph::default();
    for (resource, text) in OBJECTS {
        graph.set(Relations::of_object(resource, &object(text)).unwrap());
    }
    graph
}

/// Reads a request: the verb, `GROUP/RESOURCE` or `GROUP/RESOURCE/SUBRESOURCE`, `NAMESPACE/NAME`, and maybe a field selector.
fn request(line: &str) -> Attributes {
    let words: Vec<&str> = line.split(' ').collect();
    if words[1].starts_with('/') && words.len() == 2 {
        return Attributes::NonResource { verb: words[0].into(), path: words[1].into() };
    }
    let path: Vec<&str> = words[1].split('/').collect();
    let (namespace, name) = words[2].split_once('/').unwrap();
    Attributes::Resource(ResourceAttributes {
        verb: words[0].into(),
        group: path[0].into(),
        version: "v1".into(),
        resource: path[1].into(),
        subresource: path.get(2).copied().unwrap_or_default().into(),
        namespace: namespace.into(),
        name: name.into(),
        field_selector: words.get(3).copied().unwrap_or_default().into(),
        ..ResourceAttributes::default()
    })
}

fn decide(graph: &NodeGraph, node: &str, line: &str) -> Decision {
    let authorizer = NodeAuthorizer::new(KubernetesVersion::V1_36).unwrap();
    authorizer.authorize(node, &request(line), |related, namespace, name| {
        graph.relates(node, related, namespace, name)
    })
}

const UNRELATED: &str = "no relationship found between node 'a' and this object";

#[test]
fn a_kubelet_reads_what_its_pods_refer_to() {
    let graph = graph();
    for (lines, reason) in [
        (
            &[
                "get /secrets ns/pull",
                "get /secrets ns/init",
                "get /secrets ns/env",
                "get /secrets ns/debug",
                "list /secrets ns/volume",
                "watch /secrets ns/projected",
                "get /secrets ns/csi",
                "get /secrets ns/ceph",
                "get /secrets ns/azure",
                "get /configmaps ns/init",
                "get /configmaps ns/env",
                "list /configmaps ns/volume",
                "watch /configmaps ns/projected",
                "get /secrets storage/stage",
                "get /secrets ns/chap",
                "get /persistentvolumeclaims ns/data",
                "get /persistentvolumeclaims ns/web-scratch",
                "patch /persistentvolumeclaims/status ns/data",
                "get /persistentvolumes /disk",
                "get /persistentvolumes /share",
                "get resource.k8s.io/resourceclaims ns/gpu",
                "get resource.k8s.io/resourceclaims ns/made-7",
                "get resource.k8s.io/resourceclaims ns/extended",
                "get storage.k8s.io/volumeattachments /attached",
                "get /serviceaccounts ns/robot",
                "create /serviceaccounts/token ns/robot",
                "get /pods ns/web",
                "list /pods ns/web",
                "get /pods ns/mirror",
                "list /pods / spec.nodeName=a",
                "watch /pods / spec.nodeName==a,status.phase!=Failed",
                "create /pods ns/",
                "delete /pods ns/web",
                "patch /pods/status ns/web",
                "create /pods/eviction ns/web",
                "get /nodes /a",
                "watch /nodes /a",
                "create /nodes /",
                "update /nodes /a",
                "patch /nodes/status /a",
                "create coordination.k8s.io/leases kube-node-lease/",
                "update coordination.k8s.io/leases kube-node-lease/a",
                "get storage.k8s.io/csinodes /a",
                "create storage.k8s.io/csinodes /",
                "get resource.k8s.io/resourceslices /local",
                "create resource.k8s.io/resourceslices /",
                "deletecollection resource.k8s.io/resourceslices / spec.nodeName=a",
                "list /services /",
                "create /events ns/",
                "create authorization.k8s.io/subjectaccessreviews /",
                "get node.k8s.io/runtimeclasses /x",
            ][..],
            None,
        ),
        (
            &[
                "get /secrets ns/stolen",
                "get /secrets ns/unbound",
                "get /secrets other/pull",
                "get /secrets storage/publish",
                "get /secrets ns/unused",
                "get /configmaps ns/other",
                "get /configmaps ns/pull",
                "get /persistentvolumeclaims ns/other",
                "get /persistentvolumes /free",
                "get resource.k8s.io/resourceclaims ns/other-7",
                "get storage.k8s.io/volumeattachments /other",
                "get /pods ns/other",
                "watch /pods ns/other",
                "get /serviceaccounts ns/admin",
                "create /serviceaccounts/token ns/admin",
                "get resource.k8s.io/resourceslices /shared",
                "update resource.k8s.io/resourceslices /other",
            ],
            Some(UNRELATED),
        ),
        (&["list /secrets ns/", "watch /configmaps ns/"], Some("No Object name found")),
        (&["list /secrets /x", "get /configmaps /"], Some("can only read namespaced object of this type")),
        (
            &["update /secrets ns/pull", "delete /configmaps ns/env"],
            Some("can only read resources of this type"),
        ),
        (&["get /secrets/status ns/pull"], Some("cannot read subresource")),
        (
            &[
                "list /persistentvolumes /",
                "delete /persistentvolumeclaims ns/data",
                "list resource.k8s.io/resourceclaims ns/",
            ],
            Some("can only get individual resources of this type"),
        ),
        (&["get /persistentvolumes/status /disk"], Some("cannot get subresource")),
        (&["get /persistentvolumeclaims/status ns/data"], Some("can only get/update/patch this type")),
        (
            &[
                "create /serviceaccounts ns/",
                "list /serviceaccounts ns/",
                "create /serviceaccounts/token ns/",
            ],
            Some("can only create tokens for individual service accounts"),
        ),
        (
            &["create /serviceaccounts/status ns/robot"],
            Some("can only create token subresource of serviceaccount"),
        ),
        (
            &["list coordination.k8s.io/leases kube-node-lease/"],
            Some("can only get, create, update, patch, or delete a node lease"),
        ),
        (
            &["get coordination.k8s.io/leases ns/a"],
            Some("can only access leases in the \"kube-node-lease\" system namespace"),
        ),
        (
            &["get coordination.k8s.io/leases kube-node-lease/b"],
            Some("can only access node lease with the same name as the requesting node"),
        ),
        (
            &["list storage.k8s.io/csinodes /"],
            Some("can only get, create, update, patch, or delete a CSINode"),
        ),
        (&["get storage.k8s.io/csinodes/status /a"], Some("cannot authorize CSINode subresources")),
        (
            &["get storage.k8s.io/csinodes /b"],
            Some("can only access CSINode with the same name as the requesting node"),
        ),
        (
            &[
                "list resource.k8s.io/resourceslices /",
                "watch resource.k8s.io/resourceslices / spec.nodeName=b",
                "deletecollection resource.k8s.io/resourceslices / spec.nodeName!=a",
            ],
            Some("can only list/watch/deletecollection resourceslices with nodeName field selector"),
        ),
        (
            &["get resource.k8s.io/resourceslices/status /local"],
            Some("cannot authorize ResourceSlice subresources"),
        ),
        (&["list /nodes /"], Some("node 'a' cannot read all nodes, only its own Node object")),
        (&["get /nodes /b"], Some("node 'a' cannot read 'b', only its own Node object")),
        (
            &["list /pods /", "list /pods ns/ spec.nodeName=b", "watch /pods / spec.nodeName!=a"],
            Some("can only list/watch pods with spec.nodeName field selector"),
        ),
        (
            &[
                "delete /nodes /a",
                "get /nodes/status /a",
                "update /pods ns/web",
                "get /pods/log ns/web",
                "get /metrics",
                "get apps/deployments ns/web",
                "delete /services ns/web",
                "get certificates.k8s.io/podcertificaterequests ns/x",
            ],
            Some(""),
        ),
    ] {
        for line in lines {
            let want = reason.map_or_else(Decision::allowed, Decision::no_opinion);
            assert_eq!(decide(&graph, "a", line), want, "{line}");
        }
    }
}

#[test]
fn only_kubelets_are_nodes() {
    for (name, groups, node) in [
        ("system:node:a", &["system:nodes"][..], Some("a")),
        ("system:node:", &["x", "system:nodes"], Some("")),
        ("system:node:a", &["system:authenticated"], None),
        ("unknown", &["system:nodes"], None),
    ] {
        let user = groups.iter().fold(UserInfo::new(name), |user, group| user.with_group(*group));
        assert_eq!(node_name(&user), node, "{name} {groups:?}");
    }
    let unknown = decide(&graph(), "", "get /nodes /a");
    assert_eq!(unknown, Decision::no_opinion("unknown node for user \"system:node:\""));
}

#[test]
fn relations_end_with_their_objects() {
    let mut graph = graph();
    let volume = "get /configmaps ns/volume";
    let is_allowed = |graph: &NodeGraph, node: &str, line: &str| decide(graph, node, line).is_allowed();
    let gone = |resource: &str, name: &str| {
        let namespace = if resource == "pods" { "ns" } else { "" };
        Relations::of_deleted(resource, namespace, name).unwrap()
    };
    assert!(is_allowed(&graph, "a", volume) && is_allowed(&graph, "b", volume));
    graph.set(gone("pods", "other"));
    assert!(is_allowed(&graph, "a", volume) && !is_allowed(&graph, "b", volume));
    graph.set(gone("persistentvolumes", "share"));
    assert!(
        !is_allowed(&graph, "a", "get /secrets ns/chap")
            && is_allowed(&graph, "a", "get /secrets storage/stage")
    );
    graph.retain("volumeattachments", |_, name| name != "attached");
    assert!(!is_allowed(&graph, "a", "get storage.k8s.io/volumeattachments /attached"));
    graph.set(gone("pods", "web"));
    for line in [volume, "get /persistentvolumes /disk", "get /secrets storage/stage", "get /pods ns/web"] {
        assert!(!is_allowed(&graph, "a", line), "{line}");
    }
    assert!(is_allowed(&graph, "a", "get resource.k8s.io/resourceslices /local"));
}

/// A write of a pod with its node and secrets, or its deletion.
type Change = (u8, Option<(u8, Vec<u8>)>);

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let pod = (0..3u8, proptest::collection::vec(0..4u8, 0..3));
    proptest::collection::vec((0..4u8, proptest::option::of(pod)), 0..24)
}

proptest! {
    /// Whatever is written and deleted in whatever order, the graph is the one of the objects that are left.
    #[test]
    fn the_order_of_changes_does_not_matter(changes in changes()) {
        let relations = |name: u8, pod: &Option<(u8, Vec<u8>)>| match pod {
            None => Relations::of_deleted("pods", "ns", &format!("p{name}")).unwrap(),
            Some((node, secrets)) => {
                let volumes: Vec<String> = secrets.iter().map(|secret| format!("{{secret: {{secretName: s{secret}}}}}")).collect();
                let text = format!(
                    "{{metadata: {{namespace: ns, name: p{name}}}, spec: {{nodeName: n{node}, volumes: [{}]}}}}",
                    volumes.join(",")
                );
                Relations::of_object("pods", &object(&text)).unwrap()
            }
        };
        let mut graph = NodeGraph::default();
        let mut last = std::collections::BTreeMap::new();
        for (name, pod) in &changes {
            graph.set(relations(*name, pod));
            prop_assert!(graph.has(&relations(*name, pod)));
            last.insert(*name, pod.clone());
        }
        for node in 0..3u8 {
            for secret in 0..4u8 {
                let want = last.values().flatten().any(|(owner, secrets)| *owner == node && secrets.contains(&secret));
                let line = format!("get /secrets ns/s{secret}");
                prop_assert_eq!(decide(&graph, &format!("n{node}"), &line).is_allowed(), want);
            }
        }
    }
}

#[test]
fn a_kubelet_requests_certificates_since_1_37() {
    let graph = graph();
    let decided = [KubernetesVersion::V1_36, KubernetesVersion::V1_37].map(|version| {
        let authorizer = NodeAuthorizer::new(version).unwrap();
        ["create", "get", "delete"].map(|verb| {
            let line = format!("{verb} certificates.k8s.io/podcertificaterequests ns/x");
            authorizer.authorize("a", &request(&line), |related, namespace, name| {
                graph.relates("a", related, namespace, name)
            })
        })
    });
    let refused = Decision::no_opinion;
    let since =
        [Decision::allowed(), refused(UNRELATED), refused("nodes may not delete podcertificaterequests")];
    assert_eq!(decided, [[refused(""), refused(""), refused("")], since]);
}
