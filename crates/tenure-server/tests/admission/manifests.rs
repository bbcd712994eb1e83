//! Webhooks and policies of files: they hold before the API configures any, and it can neither change nor remove them.

use crate::server::Server;
use std::{fs, path::Path};
use tenure_admission::{AdmissionChain, PluginConfiguration, PluginSelection};
use tenure_http::Administrator;
use tenure_profile::KubernetesVersion;
use tenure_server::{Profile, ServerOptions};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";

/// A policy that refuses objects with a label, among them the policies of the API, and its binding.
fn policy(label: &str) -> String {
    format!(
        "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: p.static.k8s.io}}
spec:
  matchConstraints:
    resourceRules:
    - {{apiGroups: ['', admissionregistration.k8s.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: ['*']}}
  validations: [{{expression: '!has(object.metadata.labels) || !({label:?} in object.metadata.labels)'}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: b.static.k8s.io}}
spec: {{policyName: p.static.k8s.io, validationActions: [Deny]}}
"
    )
}

fn read(directory: &Path, version: KubernetesVersion) -> Result<AdmissionChain, String> {
    let config = directory.join("admission.yaml");
    let text = format!(
        "apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ValidatingAdmissionPolicy
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ValidatingAdmissionPolicyConfiguration
    staticManifestsDir: {}
",
        directory.join("manifests").display()
    );
    fs::write(&config, text).unwrap();
    let configuration = PluginConfiguration::read(&config, version).map_err(|error| error.to_string())?;
    AdmissionChain::configured(&PluginSelection::default(), &configuration).map_err(|error| error.to_string())
}

#[test]
fn a_policy_of_a_file_holds_from_the_start_until_the_file_changes() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("manifests")).unwrap();
    let file = directory.path().join("manifests/policy.yaml");
    fs::write(&file, policy("forbidden")).unwrap();
    let error = read(directory.path(), KubernetesVersion::V1_36).err().unwrap_or_default();
    let gate = "staticManifestsDir: Forbidden: staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate";
    assert!(error.contains(gate), "{error}");
    let chain = read(directory.path(), KubernetesVersion::V1_37).unwrap();
    let manifests = chain.manifests().unwrap().clone();
    let mut options = ServerOptions::new(Administrator::Anyone);
    options.profile = Profile::kubernetes();
    options.admission = chain;
    let server = Server::configured(options);
    let map = |name: &str, label: &str| {
        let body = format!(r#"{{"metadata":{{"name":"{name}","labels":{{"{label}":"x"}}}}}}"#);
        server.post(MAPS, &body)
    };
    let refused = map("a", "forbidden");
    let message = refused.field("message");
    assert_eq!(refused.code, 422, "{message}");
    assert!(
        message.contains("ValidatingAdmissionPolicy 'p.static.k8s.io' with binding 'b.static.k8s.io'"),
        "{message}"
    );
    assert_eq!(map("a", "allowed").code, 201);
    // The API does not have it, and policies of files see policies of the API.
    assert_eq!(server.get(&format!("{POLICIES}/p.static.k8s.io")).code, 404);
    let of_api = |label: &str| {
        format!(
            r#"{{"metadata":{{"name":"q","labels":{{"{label}":"x"}}}},"spec":{{"matchConstraints":{{"resourceRules":[{{"apiGroups":[""],
            "apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}}]}},"validations":[{{"expression":"true"}}]}}}}"#
        )
    };
    assert_eq!(server.post(POLICIES, &of_api("forbidden")).code, 422);
    assert_eq!(server.post(POLICIES, &of_api("allowed")).code, 201);
    let metrics = server.get("/metrics").text();
    assert!(
        metrics.contains("apiserver_manifest_admission_config_controller_last_config_info{"),
        "{metrics}"
    );
    // Another file is read while the server runs; one that is wrong changes nothing.
    fs::write(&file, policy("allowed")).unwrap();
    assert_eq!(map("b", "forbidden").code, 422, "not read so far");
    manifests.reload().unwrap();
    assert_eq!((map("b", "forbidden").code, map("c", "allowed").code), (201, 422));
    fs::write(&file, "kind: Nothing").unwrap();
    assert!(manifests.reload().is_err());
    assert_eq!(map("c", "allowed").code, 422);
    fs::remove_file(&file).unwrap();
    manifests.reload().unwrap();
    assert_eq!(map("c", "allowed").code, 201);
}
