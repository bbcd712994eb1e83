//! Field names that are frequent in documents of the built-in kinds, stored in a static hash table. A name is
//! looked up by its first sixteen bytes, then the rest is compared; a miss costs one lookup.

use super::name_key::{NameKey, hash};
use crate::Text;

const SLOTS: usize = 2048;

/// The content of an empty slot.
const EMPTY: u16 = u16::MAX;

/// The index of the entry in each slot; most slots are empty, so probing ends soon.
type Slots = [u16; SLOTS];

macro_rules! names {
    ($($name:literal)*) => {
        static NAMES: &[(NameKey, Text)] = &[$((key_of($name), name($name))),*];
        static TABLE: Slots = hash_table(&[$(key_of($name)),*]);
    };
}

names! {
    "$patch" "$retainKeys" "$setElementOrder/containers" "$setElementOrder/env"
    "$setElementOrder/ports" "$setElementOrder/volumes" "accessModes" "activeDeadlineSeconds" "add"
    "address" "addresses" "affinity" "allocatable" "allowPrivilegeEscalation" "annotations" "apiGroup"
    "apiGroups" "apiVersion" "app" "args" "automountServiceAccountToken" "availableReplicas" "backend"
    "backoffLimit" "capabilities" "capacity" "claimName" "clusterIP" "clusterIPs" "command"
    "completionMode" "completions" "concurrencyPolicy" "conditions" "configMap" "configMapKeyRef"
    "configMapRef" "containerID" "containerPort" "containerStatuses" "containers" "controller" "cpu"
    "creationTimestamp" "currentReplicas" "data" "default" "defaultMode" "deletionGracePeriodSeconds"
    "deletionTimestamp" "desiredReplicas" "dnsPolicy" "drop" "effect" "emptyDir" "enableServiceLinks"
    "endpoints" "env" "envFrom" "ephemeral-storage" "exec" "failureThreshold" "fieldPath" "fieldRef"
    "fieldsType" "fieldsV1" "finalizers" "fsGroup" "generateName" "generation" "group" "groups" "hard"
    "host" "hostIP" "hostIPs" "hostNetwork" "hostPath" "hostPort" "hostname" "httpGet" "httpHeaders"
    "image" "imageID" "imagePullPolicy" "imagePullSecrets" "images" "immutable" "ingress"
    "ingressClassName" "initContainers" "initialDelaySeconds" "internalTrafficPolicy" "ip" "ipFamilies"
    "ipFamilyPolicy" "items" "jobTemplate" "key" "kind" "labelSelector" "labels" "lastHeartbeatTime"
    "lastProbeTime" "lastState" "lastTransitionTime" "lastUpdateTime" "limits" "livenessProbe"
    "loadBalancer" "managedFields" "manager" "matchExpressions" "matchLabels" "maxReplicas" "maxSkew"
    "maxSurge" "maxUnavailable" "memory" "message" "metadata" "minAvailable" "minReadySeconds"
    "minReplicas" "mountPath" "name" "names" "namespace" "nodeAffinity" "nodeInfo" "nodeName"
    "nodePort" "nodeSelector" "nodeSelectorTerms" "number" "observedGeneration" "operation" "operator"
    "optional" "ownerReferences" "parallelism" "path" "pathType" "paths" "paused" "periodSeconds"
    "persistentVolumeClaim" "phase" "podAffinity" "podAntiAffinity" "podCIDR" "podCIDRs" "podIP"
    "podIPs" "podSelector" "pods" "policyTypes" "port" "ports" "preemptionPolicy"
    "preferredDuringSchedulingIgnoredDuringExecution" "priority" "priorityClassName" "privileged"
    "progressDeadlineSeconds" "protocol" "publishNotReadyAddresses" "qosClass" "readOnly"
    "readOnlyRootFilesystem" "readinessProbe" "ready" "readyReplicas" "reason" "replicas" "requests"
    "requiredDuringSchedulingIgnoredDuringExecution" "resource" "resourceName" "resourceNames"
    "resourceVersion" "resources" "restartCount" "restartPolicy" "revisionHistoryLimit" "roleRef"
    "rollingUpdate" "rules" "runAsGroup" "runAsNonRoot" "runAsUser" "running" "scaleTargetRef"
    "schedule" "schedulerName" "scheme" "seccompProfile" "secret" "secretKeyRef" "secretName"
    "secretRef" "secrets" "securityContext" "selector" "serviceAccount" "serviceAccountName"
    "serviceName" "sessionAffinity" "sizeBytes" "spec" "startTime" "started" "startedAt" "startupProbe"
    "state" "status" "storage" "storageClassName" "strategy" "stringData" "subjects" "subresource"
    "successThreshold" "suspend" "taints" "target" "targetPort" "tcpSocket" "template" "terminated"
    "terminationGracePeriodSeconds" "terminationMessagePath" "terminationMessagePolicy" "tier" "time"
    "timeoutSeconds" "tolerationSeconds" "tolerations" "topologyKey" "topologySpreadConstraints" "type"
    "uid" "unavailableReplicas" "updateStrategy" "updatedReplicas" "value" "valueFrom" "values" "verbs"
    "version" "volumeClaimTemplates" "volumeMounts" "volumeName" "volumes" "waiting" "weight"
    "whenUnsatisfiable" "workingDir"
}

/// Returns the first name with this key that `matches`.
#[inline(always)]
pub(super) fn find(key: NameKey, matches: impl Fn(&str) -> bool) -> Option<&'static Text> {
    let mut slot = hash(key) as usize;
    loop {
        let (name_key, name) = NAMES.get(usize::from(TABLE[slot % SLOTS]))?;
        if *name_key == key && matches(name) {
            return Some(name);
        }
        slot += 1;
    }
}

const fn name(name: &'static str) -> Text {
    if name.len() <= 23 { Text::new_inline(name) } else { Text::new_static(name) }
}

const fn key_of(name: &str) -> NameKey {
    let bytes = name.as_bytes();
    let mut key = [0; 2];
    let mut at = 0;
    while at < bytes.len() && at < 16 {
        key[at / 8] |= (bytes[at] as u64) << (at % 8 * 8);
        at += 1;
    }
    key
}

const fn hash_table(keys: &[NameKey]) -> Slots {
    let mut slots = [EMPTY; SLOTS];
    let mut number = 0;
    while number < keys.len() {
        let mut slot = hash(keys[number]) as usize % SLOTS;
        while slots[slot] != EMPTY {
            slot = (slot + 1) % SLOTS;
        }
        slots[slot] = number as u16;
        number += 1;
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_frequent_names_are_found_and_no_others() {
        for (key, name) in NAMES {
            assert_eq!(find(*key, |found| found == name), Some(name));
        }
        assert_eq!(find(key_of("metadat"), |_| true), None);
        assert_eq!(find(key_of("terminationMessagePathology"), |name| name.len() == 27), None);
    }
}
