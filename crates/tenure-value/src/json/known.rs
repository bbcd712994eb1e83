//! Field names that documents of the built-in kinds are full of, made when the program is. A name is looked up by
//! its first sixteen bytes, and the rest is compared; one that is not here costs the look and no more.

use super::names::{Key, mix};
use crate::Text;

const SLOTS: usize = 2048;

/// The number of no entry.
const NONE: u16 = u16::MAX;

/// Which entry is in a slot; most have none, so that a search ends soon.
type Slots = [u16; SLOTS];

macro_rules! names {
    ($($name:literal)*) => {
        static KNOWN: &[(Key, Text)] = &[$((key_of($name), made($name))),*];
        static PLACES: Slots = places(&[$(key_of($name)),*]);
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

/// Returns the first name that has this key and fits; without another that has the key, any does.
#[inline(always)]
pub(super) fn find(key: Key, fits: impl Fn(&str) -> bool) -> Option<&'static Text> {
    let mut place = mix(key) as usize;
    loop {
        let (known, name) = KNOWN.get(usize::from(PLACES[place % SLOTS]))?;
        if *known == key && fits(name) {
            return Some(name);
        }
        place += 1;
    }
}

const fn made(name: &'static str) -> Text {
    if name.len() <= 23 { Text::new_inline(name) } else { Text::new_static(name) }
}

const fn key_of(name: &str) -> Key {
    let bytes = name.as_bytes();
    let mut key = [0; 2];
    let mut at = 0;
    while at < bytes.len() && at < 16 {
        key[at / 8] |= (bytes[at] as u64) << (at % 8 * 8);
        at += 1;
    }
    key
}

const fn places(keys: &[Key]) -> Slots {
    let mut slots = [NONE; SLOTS];
    let mut number = 0;
    while number < keys.len() {
        let mut place = mix(keys[number]) as usize % SLOTS;
        while slots[place] != NONE {
            place = (place + 1) % SLOTS;
        }
        slots[place] = number as u16;
        number += 1;
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_name_is_found_and_no_other() {
        for (key, name) in KNOWN {
            assert_eq!(find(*key, |found| found == name), Some(name));
        }
        assert_eq!(find(key_of("metadat"), |_| true), None);
        assert_eq!(find(key_of("terminationMessagePathology"), |name| name.len() == 27), None);
    }
}
