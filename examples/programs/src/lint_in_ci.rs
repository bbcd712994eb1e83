//! What a pipeline can know about manifests and patches before they reach a cluster: fields that do not exist, list entries that
//! cannot be merged, directives in the wrong place. Every finding says where, what, and how to fix it.

use crate::Outcome;
use tenure::{
    patch::lint::{Subject, lint},
    prelude::*,
};

const MANIFEST: &str = "
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: web, image: nginx, imagePulPolicy: Always}
  - {image: sidecar}
";

pub fn run() -> Outcome {
    let manifest = yaml::parse(MANIFEST.as_bytes(), &Limits::default())?;
    let text = |name: &str| manifest.get(name).and_then(Value::as_str).unwrap_or_default();
    let pod = Schema::builtin().kind(text("apiVersion"), text("kind")).ok_or("no such kind")?;

    let findings = lint(&manifest, pod, Subject::Manifest);
    findings.iter().for_each(|finding| println!("pod.yaml{finding}"));
    assert_eq!(findings.len(), 2, "the misspelled field and the entry without a name");

    let patch: Value = r#"{"spec": {"containers": [{"name": "web", "$patch": "remove"}]}}"#.parse()?;
    let findings = lint(&patch, pod, Subject::Patch);
    findings.iter().for_each(|finding| println!("patch.yaml{finding}"));
    assert_eq!(findings.len(), 1, "the directive is called delete");
    Ok(())
}
