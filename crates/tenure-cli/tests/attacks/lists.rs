//! Objects of built-in kinds with long lists, of distinct and of equal items.

use super::{
    bodies::list,
    server::{Attack, JSON},
};

/// A kind of object with a list: its path, its beginning, one item in which `@` stands for a number, and its end.
const LISTS: [(&str, &str, &str, &str, &str); 31] = [
    (
        "host ports",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","ports":["#,
        r#"{"containerPort":1,"hostPort":@}"#,
        "]}]}}",
    ),
    (
        "named ports",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","ports":["#,
        r#"{"name":"p@","containerPort":1}"#,
        "]}]}}",
    ),
    (
        "containers",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":["#,
        r#"{"name":"c@","image":"i"}"#,
        "]}}",
    ),
    (
        "init containers",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"initContainers":["#,
        r#"{"name":"c@","image":"i"}"#,
        "]}}",
    ),
    (
        "volumes",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"volumes":["#,
        r#"{"name":"v@","emptyDir":{}}"#,
        "]}}",
    ),
    (
        "mounts",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","volumeMounts":["#,
        r#"{"name":"v@","mountPath":"/m@"}"#,
        "]}]}}",
    ),
    (
        "variables",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","env":["#,
        r#"{"name":"V@","value":"x"}"#,
        "]}]}}",
    ),
    (
        "sources of variables",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","envFrom":["#,
        r#"{"configMapRef":{"name":"m@"}}"#,
        "]}]}}",
    ),
    (
        "arguments",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","args":["#,
        r#""a@""#,
        "]}]}}",
    ),
    (
        "tolerations",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"tolerations":["#,
        r#"{"key":"k@","operator":"Exists"}"#,
        "]}}",
    ),
    (
        "host aliases",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"hostAliases":["#,
        r#"{"ip":"1.2.3.4","hostnames":["h@"]}"#,
        "]}}",
    ),
    (
        "pull secrets",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"imagePullSecrets":["#,
        r#"{"name":"s@"}"#,
        "]}}",
    ),
    (
        "spread constraints",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"topologySpreadConstraints":["#,
        r#"{"maxSkew":1,"topologyKey":"k@","whenUnsatisfiable":"DoNotSchedule"}"#,
        "]}}",
    ),
    (
        "scheduling gates",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"schedulingGates":["#,
        r#"{"name":"g@"}"#,
        "]}}",
    ),
    (
        "node terms",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":["#,
        r#"{"matchExpressions":[{"key":"k@","operator":"Exists"}]}"#,
        "]}}}}}",
    ),
    (
        "projected items",
        "/api/v1/namespaces/default/pods",
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v","projected":{"sources":[{"secret":{"name":"s","items":["#,
        r#"{"key":"k@","path":"p@"}"#,
        "]}}]}}]}}",
    ),
    (
        "owner references",
        "/api/v1/namespaces/default/configmaps",
        r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","ownerReferences":["#,
        r#"{"apiVersion":"v1","kind":"Node","name":"n","uid":"u@"}"#,
        "]}}",
    ),
    (
        "finalizers",
        "/api/v1/namespaces/default/configmaps",
        r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","finalizers":["#,
        r#""example.com/f@""#,
        "]}}",
    ),
    (
        "service ports",
        "/api/v1/namespaces/default/services",
        r#"{"kind":"Service","apiVersion":"v1","metadata":{"name":"s"},"spec":{"ports":["#,
        r#"{"name":"p@","port":@}"#,
        "]}}",
    ),
    (
        "external addresses",
        "/api/v1/namespaces/default/services",
        r#"{"kind":"Service","apiVersion":"v1","metadata":{"name":"s"},"spec":{"ports":[{"port":1}],"externalIPs":["#,
        r#""1.2.3.@""#,
        "]}}",
    ),
    (
        "address families",
        "/api/v1/namespaces/default/services",
        r#"{"kind":"Service","apiVersion":"v1","metadata":{"name":"s"},"spec":{"ports":[{"port":1}],"ipFamilies":["#,
        r#""IPv@""#,
        "]}}",
    ),
    (
        "subsets",
        "/api/v1/namespaces/default/endpoints",
        r#"{"kind":"Endpoints","apiVersion":"v1","metadata":{"name":"e"},"subsets":["#,
        r#"{"addresses":[{"ip":"1.2.3.4"}],"ports":[{"port":@}]}"#,
        "]}",
    ),
    (
        "rules of a role",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
        r#"{"kind":"Role","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"r"},"rules":["#,
        r#"{"apiGroups":[""],"resources":["r@"],"verbs":["get"]}"#,
        "]}",
    ),
    (
        "subjects",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
        r#"{"kind":"RoleBinding","apiVersion":"rbac.authorization.k8s.io/v1","metadata":{"name":"r"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"},"subjects":["#,
        r#"{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"u@"}"#,
        "]}",
    ),
    (
        "ingress rules",
        "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
        r#"{"kind":"Ingress","apiVersion":"networking.k8s.io/v1","metadata":{"name":"i"},"spec":{"rules":["#,
        r#"{"host":"h@.example.com"}"#,
        "]}}",
    ),
    (
        "network policies",
        "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
        r#"{"kind":"NetworkPolicy","apiVersion":"networking.k8s.io/v1","metadata":{"name":"n"},"spec":{"podSelector":{},"egress":["#,
        r#"{"ports":[{"port":@}]}"#,
        "]}}",
    ),
    (
        "topologies",
        "/apis/storage.k8s.io/v1/storageclasses",
        r#"{"kind":"StorageClass","apiVersion":"storage.k8s.io/v1","metadata":{"name":"s"},"provisioner":"p","allowedTopologies":["#,
        r#"{"matchLabelExpressions":[{"key":"k@","values":["v"]}]}"#,
        "]}",
    ),
    (
        "webhooks",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        r#"{"kind":"ValidatingWebhookConfiguration","apiVersion":"admissionregistration.k8s.io/v1","metadata":{"name":"w"},"webhooks":["#,
        r#"{"name":"w@.example.com","clientConfig":{"url":"https://example.com"},"sideEffects":"None","admissionReviewVersions":["v1"]}"#,
        "]}",
    ),
    (
        "review versions",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        r#"{"kind":"ValidatingWebhookConfiguration","apiVersion":"admissionregistration.k8s.io/v1","metadata":{"name":"w"},"webhooks":[{"name":"w.example.com","clientConfig":{"url":"https://example.com"},"sideEffects":"None","admissionReviewVersions":["#,
        r#""v@""#,
        "]}]}",
    ),
    (
        "quota scopes",
        "/api/v1/namespaces/default/resourcequotas",
        r#"{"kind":"ResourceQuota","apiVersion":"v1","metadata":{"name":"q"},"spec":{"scopes":["#,
        r#""Scope@""#,
        "]}}",
    ),
    (
        "limits",
        "/api/v1/namespaces/default/limitranges",
        r#"{"kind":"LimitRange","apiVersion":"v1","metadata":{"name":"l"},"spec":{"limits":["#,
        r#"{"type":"T@","max":{"cpu":"1"}}"#,
        "]}}",
    ),
];

/// The bytes of an object.
const BYTES: usize = 160_000;

pub fn attacks() -> Vec<Attack> {
    let attack = |(name, path, start, item, end): (&str, &str, &str, &str, &str), equal: bool| {
        let count = BYTES / (item.len() + 4);
        let items = list(count, |at| item.replace('@', &if equal { 1 } else { at + 1 }.to_string()));
        let name = format!("list: {} {name}", if equal { "equal" } else { "distinct" });
        Attack::new(name, ("POST", &format!("{path}?dryRun=All")), JSON, format!("{start}{items}{end}"))
    };
    LISTS.into_iter().flat_map(|row| [attack(row, false), attack(row, true)]).collect()
}
