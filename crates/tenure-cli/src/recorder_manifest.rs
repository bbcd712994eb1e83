//! The objects that run a recorder in a cluster: it may read everything and review readers, and nothing else.

use tenure_server::HistoryOptions;

/// Returns the manifest of a recorder in a namespace.
pub fn manifest(image: &str, namespace: &str) -> String {
    let excluded = [&HistoryOptions::EXCLUDED[..], &["secrets"]].concat().join(",");
    MANIFEST
        .replace("EXCLUDED", &format!("{excluded:?}"))
        .replace("NAMESPACE", namespace)
        .replace("IMAGE", image)
}

const MANIFEST: &str = r#"apiVersion: v1
kind: Namespace
metadata:
  name: NAMESPACE
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: tenure-recorder
  namespace: NAMESPACE
---
# Reads every kind. To leave Secrets out, list the other resources here, and add "--exclude", EXCLUDED below.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: tenure-recorder
rules:
- apiGroups: ["*"]
  resources: ["*"]
  verbs: [list, watch]
# Asks the cluster who a reader is and what they may read; stores nothing.
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: tenure-recorder
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: tenure-recorder
subjects:
- kind: ServiceAccount
  name: tenure-recorder
  namespace: NAMESPACE
---
# Bind this role to users who may read the history of every object.
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: tenure-history-reader
rules:
- apiGroups: ["*"]
  resources: ["*/history"]
  verbs: [get]
- nonResourceURLs: [/history/fights, /history/writers]
  verbs: [get]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: tenure-recorder
  namespace: NAMESPACE
spec:
  accessModes: [ReadWriteOnce]
  resources:
    requests:
      storage: 4Gi
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: tenure-recorder
  namespace: NAMESPACE
spec:
  replicas: 1
  # Two recorders cannot share the volume.
  strategy:
    type: Recreate
  selector:
    matchLabels:
      app: tenure-recorder
  template:
    metadata:
      labels:
        app: tenure-recorder
    spec:
      serviceAccountName: tenure-recorder
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        fsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
      - name: recorder
        image: IMAGE
        args: [record, /var/lib/tenure, --listen, "0.0.0.0:8443"]
        ports:
        - name: https
          containerPort: 8443
        readinessProbe:
          httpGet:
            path: /readyz
            port: https
            scheme: HTTPS
        resources:
          requests:
            cpu: 250m
            memory: 512Mi
          limits:
            memory: 1Gi
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities:
            drop: [ALL]
        volumeMounts:
        - name: history
          mountPath: /var/lib/tenure
      volumes:
      - name: history
        persistentVolumeClaim:
          claimName: tenure-recorder
---
apiVersion: v1
kind: Service
metadata:
  name: tenure-recorder
  namespace: NAMESPACE
spec:
  selector:
    app: tenure-recorder
  ports:
  - name: https
    port: 443
    targetPort: https
---
# Readers reach the recorder, which itself reaches only API servers and DNS.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: tenure-recorder
  namespace: NAMESPACE
spec:
  podSelector:
    matchLabels:
      app: tenure-recorder
  policyTypes: [Ingress, Egress]
  ingress:
  - ports:
    - port: 8443
  egress:
  - ports:
    - port: 443
    - port: 6443
    - port: 53
      protocol: UDP
    - port: 53
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_value::{Limits, Value, yaml};

    #[test]
    fn the_manifest_reads_everything_and_writes_nothing() {
        let text = manifest("example.com/tenure:1", "audit");
        let objects: Vec<Value> = text
            .split("---\n")
            .map(|document| yaml::parse(document.as_bytes(), &Limits::default()).unwrap())
            .collect();
        let kinds: Vec<&str> =
            objects.iter().map(|object| object.get("kind").unwrap().as_str().unwrap()).collect();
        assert_eq!(kinds.iter().filter(|kind| **kind == "Deployment").count(), 1, "{kinds:?}");
        assert!(kinds.contains(&"NetworkPolicy") && kinds.contains(&"PersistentVolumeClaim"), "{kinds:?}");
        for role in
            objects.iter().filter(|object| object.get("kind").unwrap().as_str() == Some("ClusterRole"))
        {
            for rule in role.get("rules").unwrap().as_array().unwrap() {
                let is_review =
                    rule.get("resources").is_some_and(|resources| resources.to_string().contains("reviews"));
                for verb in rule.get("verbs").unwrap().as_array().unwrap() {
                    let verb = verb.as_str().unwrap();
                    assert!(
                        ["get", "list", "watch"].contains(&verb) || (is_review && verb == "create"),
                        "{verb}"
                    );
                }
            }
        }
        assert!(!text.contains("NAMESPACE") && !text.contains("IMAGE"));
    }
}
