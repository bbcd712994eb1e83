//! Pod Security: what each level refuses, in the words of Kubernetes.

use tenure_admission::pod_security::{Level, Policy, PolicyLevel, Version, describe, violations};
use tenure_value::{Limits, Value, yaml};

fn document(text: &str) -> Value {
    yaml::parse(text.as_bytes(), &Limits::default()).expect("the test's own YAML")
}

fn check(level: Level, version: Version, spec: &str) -> String {
    let pod = document(&format!("{{metadata: {{name: p}}, spec: {spec}}}"));
    describe(&violations(PolicyLevel { level, version }, &pod))
}

#[test]
fn levels_refuse_what_they_do_not_permit() {
    const SAFE: &str = "allowPrivilegeEscalation: false, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}, capabilities: {drop: [ALL]}";
    let cases = [
        // A plain container passes the baseline level and violates four checks of the restricted level.
        (Level::Baseline, "{containers: [{name: c}]}", ""),
        (
            Level::Restricted,
            "{containers: [{name: c}]}",
            r#"allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")"#,
        ),
        (Level::Restricted, &format!("{{containers: [{{name: c, securityContext: {{{SAFE}}}}}]}}"), ""),
        (Level::Privileged, "{hostNetwork: true, containers: [{name: c}]}", ""),
        (
            Level::Baseline,
            "{hostNetwork: true, hostIPC: true, containers: [{name: c}]}",
            "host namespaces (hostNetwork=true, hostIPC=true)",
        ),
        (
            Level::Baseline,
            "{initContainers: [{name: a, securityContext: {privileged: true}}], containers: [{name: b, securityContext: {privileged: true}}]}",
            r#"privileged (containers "a", "b" must not set securityContext.privileged=true)"#,
        ),
        (
            Level::Baseline,
            "{containers: [{name: c, securityContext: {capabilities: {add: [NET_RAW, CHOWN, BPF]}}}]}",
            r#"non-default capabilities (container "c" must not include "BPF", "NET_RAW" in securityContext.capabilities.add)"#,
        ),
        (
            Level::Baseline,
            "{containers: [{name: c, ports: [{hostPort: 81}, {hostPort: 80}]}]}",
            r#"hostPort (container "c" uses hostPorts 80, 81)"#,
        ),
        (
            Level::Baseline,
            "{volumes: [{name: a, hostPath: {path: /}}, {name: b, emptyDir: {}}], containers: [{name: c}]}",
            r#"hostPath volumes (volume "a")"#,
        ),
        (
            Level::Restricted,
            &format!(
                "{{volumes: [{{name: a, hostPath: {{path: /}}}}, {{name: b, nfs: {{}}}}], containers: [{{name: c, securityContext: {{{SAFE}}}}}]}}"
            ),
            r#"restricted volume types (volumes "a", "b" use restricted volume types "hostPath", "nfs")"#,
        ),
        (
            Level::Baseline,
            "{securityContext: {seLinuxOptions: {type: spc_t, user: u}}, containers: [{name: c}]}",
            r#"seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set)"#,
        ),
        (
            Level::Baseline,
            "{securityContext: {seccompProfile: {type: Unconfined}}, containers: [{name: c, securityContext: {seccompProfile: {type: Unconfined}}}]}",
            r#"seccompProfile (pod and container "c" must not set securityContext.seccompProfile.type to "Unconfined")"#,
        ),
        (
            Level::Baseline,
            "{securityContext: {sysctls: [{name: kernel.msgmax}, {name: net.ipv4.tcp_rmem}]}, containers: [{name: c}]}",
            "forbidden sysctls (kernel.msgmax)",
        ),
        (
            Level::Baseline,
            "{containers: [{name: c, livenessProbe: {httpGet: {host: 1.2.3.4}}}]}",
            r#"probe or lifecycle host (container "c" uses probe or lifecycle host "1.2.3.4")"#,
        ),
        (
            Level::Baseline,
            "{containers: [{name: c, securityContext: {procMount: Unmasked}}]}",
            r#"procMount (container "c" must not set securityContext.procMount to "Unmasked")"#,
        ),
        (
            Level::Baseline,
            "{hostUsers: false, containers: [{name: c, securityContext: {procMount: Unmasked}}]}",
            "",
        ),
        (
            Level::Restricted,
            &format!(
                "{{securityContext: {{runAsUser: 0}}, containers: [{{name: c, securityContext: {{{SAFE}}}}}]}}"
            ),
            "runAsUser=0 (pod must not set runAsUser=0)",
        ),
    ];
    for (level, spec, expected) in cases {
        assert_eq!(check(level, Version::Latest, spec), expected, "{spec}");
    }
}

#[test]
fn a_pinned_version_keeps_the_checks_of_its_time() {
    let rmem = "{securityContext: {sysctls: [{name: net.ipv4.tcp_rmem}]}, containers: [{name: c}]}";
    assert_eq!(check(Level::Baseline, Version::Minor(31), rmem), "forbidden sysctls (net.ipv4.tcp_rmem)");
    assert_eq!(check(Level::Baseline, Version::Minor(32), rmem), "");
    assert_eq!(check(Level::Baseline, Version::Minor(99), rmem), "");
}

#[test]
fn labels_choose_levels() {
    let cases = [
        ("{}", "privileged:latest privileged:latest privileged:latest", ""),
        (
            "{pod-security.kubernetes.io/enforce: baseline}",
            "baseline:latest privileged:latest baseline:latest",
            "",
        ),
        (
            "{pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/enforce-version: v1.30, pod-security.kubernetes.io/warn: baseline}",
            "restricted:v1.30 privileged:latest baseline:latest",
            "",
        ),
        (
            "{pod-security.kubernetes.io/enforce: strict, pod-security.kubernetes.io/audit-version: v2}",
            "restricted:latest privileged:latest privileged:latest",
            "pod-security.kubernetes.io/enforce: must be one of privileged, baseline, restricted; pod-security.kubernetes.io/audit-version: must be \"latest\" or \"v1.x\"",
        ),
    ];
    for (labels, expected, errors) in cases {
        let (policy, found) = Policy::of_labels(Some(&document(labels)), Policy::default());
        assert_eq!(format!("{} {} {}", policy.enforce, policy.audit, policy.warn), expected, "{labels}");
        let found: Vec<String> =
            found.iter().map(|error| format!("{}: {}", error.label, error.message)).collect();
        assert_eq!(found.join("; "), errors, "{labels}");
    }
}
