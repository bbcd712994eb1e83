//! The situations in which teams meet conflicts, each with the cause that is named and the command that settles it.

use tenure_apply::Timestamp;
use tenure_ownership::{
    ApplyingManager, ConflictCause, ForcedFields, LiveObject, Manifest, Profile, Verdict,
    diagnosis::{CommandLine, Diagnosis, RemedyKind, diagnose},
    plan,
};
use tenure_schema::Schema;

/// One conflict: who owns the field, on which object, and who applies what.
struct Situation {
    name: &'static str,
    /// `manager operation subresource`, the last may be missing.
    owner: &'static str,
    /// Metadata of the live object, as members.
    marks: &'static str,
    /// The fields that the owner owns, as `FieldsV1`.
    fields: &'static str,
    spec: &'static str,
    applier: &'static str,
    /// Metadata of the manifest, as members.
    declared: &'static str,
    proposed: &'static str,
    who: &'static str,
    cause: ConflictCause,
    remedy: RemedyKind,
    command: Option<&'static str>,
}

const REPLICAS: &str = r#"{"f:spec":{"f:replicas":{}}}"#;

/// Helm applies two replicas, and another manager owns the five that there are.
const REPLICAS_OF_A_CHART: Situation = Situation {
    name: "",
    owner: "",
    marks: "",
    fields: REPLICAS,
    spec: r#"{"replicas":5}"#,
    applier: "helm",
    declared: "",
    proposed: r#"{"replicas":2}"#,
    who: "",
    cause: ConflictCause::OtherApplier,
    remedy: RemedyKind::LeaveOut,
    command: None,
};

const SITUATIONS: &[Situation] = &[
    Situation {
        name: "an autoscaler owns the replicas of a chart",
        owner: "kube-controller-manager Update scale",
        who: "HorizontalPodAutoscaler via scale",
        cause: ConflictCause::Autoscaler,
        ..REPLICAS_OF_A_CHART
    },
    Situation {
        name: "client-side apply left its entry",
        owner: "kubectl-client-side-apply Update",
        applier: "kubectl",
        who: "kubectl apply (client-side)",
        cause: ConflictCause::ClientSideApply,
        remedy: RemedyKind::Migrate,
        command: Some("tenure migrate deployment.apps/web -n shop --to kubectl"),
        ..REPLICAS_OF_A_CHART
    },
    Situation {
        name: "Helm 3 left its entry, and Helm 4 applies",
        owner: "helm Update",
        marks: r#","annotations":{"meta.helm.sh/release-name":"web","meta.helm.sh/release-namespace":"shop"}"#,
        declared: r#","annotations":{"meta.helm.sh/release-name":"web","meta.helm.sh/release-namespace":"shop"}"#,
        who: "Helm release shop/web",
        cause: ConflictCause::ClientSideApply,
        remedy: RemedyKind::Adopt,
        command: Some("tenure adopt deployment.apps/web -n shop --from helm --to helm"),
        ..REPLICAS_OF_A_CHART
    },
    Situation {
        name: "two releases claim one object",
        owner: "helm Apply",
        marks: r#","annotations":{"meta.helm.sh/release-name":"old","meta.helm.sh/release-namespace":"shop"}"#,
        applier: "helm-two",
        declared: r#","annotations":{"meta.helm.sh/release-name":"new","meta.helm.sh/release-namespace":"shop"}"#,
        who: "Helm release shop/old",
        cause: ConflictCause::OtherApplication,
        ..REPLICAS_OF_A_CHART
    },
    Situation {
        name: "Terraform applied the chart under the name of its binary",
        owner: "terraform-provider-helm_v3.0.2_x5 Apply",
        who: "Terraform's Helm provider",
        cause: ConflictCause::SameTool,
        remedy: RemedyKind::Adopt,
        command: Some(
            "tenure adopt deployment.apps/web -n shop --from terraform-provider-helm_v3.0.2_x5 --to helm",
        ),
        ..REPLICAS_OF_A_CHART
    },
    Situation {
        name: "an operator that uses Helm as a library installed the release",
        owner: "shop-operator Update",
        marks: r#","annotations":{"meta.helm.sh/release-name":"web","meta.helm.sh/release-namespace":"shop"}"#,
        fields: r#"{"f:metadata":{"f:annotations":{"f:meta.helm.sh/release-name":{}}},"f:spec":{"f:replicas":{}}}"#,
        declared: r#","annotations":{"meta.helm.sh/release-name":"web","meta.helm.sh/release-namespace":"shop"}"#,
        who: "shop-operator",
        cause: ConflictCause::SameTool,
        remedy: RemedyKind::Adopt,
        command: Some("tenure adopt deployment.apps/web -n shop --from shop-operator --to helm"),
        ..REPLICAS_OF_A_CHART
    },
    Situation {
        name: "a chart writes a zero value that another tool set",
        owner: "argocd-controller Apply",
        marks: r#","annotations":{"argocd.argoproj.io/tracking-id":"shop:apps/Deployment:shop/web"}"#,
        fields: r#"{"f:spec":{"f:minReadySeconds":{}}}"#,
        spec: r#"{"minReadySeconds":5}"#,
        proposed: r#"{"minReadySeconds":0}"#,
        who: "Argo CD application shop",
        cause: ConflictCause::DefaultValue,
        ..REPLICAS_OF_A_CHART
    },
    Situation {
        name: "somebody edited what Argo CD applies",
        owner: "kubectl-edit Update",
        applier: "argocd-controller",
        who: "kubectl edit",
        cause: ConflictCause::ChangedByHand,
        remedy: RemedyKind::Take,
        command: Some("tenure apply -f web.yaml --manager argocd-controller --force-path .spec.replicas"),
        ..REPLICAS_OF_A_CHART
    },
    Situation {
        name: "a webhook injected a container",
        owner: "some-operator Update",
        fields: r#"{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"istio-proxy\"}":{"f:image":{}}}}}}}"#,
        spec: r#"{"template":{"spec":{"containers":[{"name":"istio-proxy","image":"proxy:2"}]}}}"#,
        proposed: r#"{"template":{"spec":{"containers":[{"name":"istio-proxy","image":"proxy:1"}]}}}"#,
        who: "some-operator",
        cause: ConflictCause::Injected,
        ..REPLICAS_OF_A_CHART
    },
    Situation {
        name: "a controller maintains the field",
        owner: "cert-manager-cainjector Update",
        who: "cert-manager",
        cause: ConflictCause::Controller,
        ..REPLICAS_OF_A_CHART
    },
    Situation {
        name: "a client without a name of its own",
        owner: "manager Update",
        who: "an operator built with kubebuilder",
        cause: ConflictCause::AnonymousClient,
        remedy: RemedyKind::Take,
        command: Some("tenure apply -f web.yaml --manager helm --force-path .spec.replicas"),
        ..REPLICAS_OF_A_CHART
    },
    Situation {
        name: "another manager applies the field",
        owner: "platform Apply",
        applier: "team",
        who: "platform",
        cause: ConflictCause::OtherApplier,
        ..REPLICAS_OF_A_CHART
    },
];

fn diagnosed(situation: &Situation) -> Diagnosis {
    let mut words = situation.owner.split(' ');
    let (manager, operation) = (words.next().unwrap(), words.next().unwrap());
    let subresource = words.next().map(|name| format!(r#","subresource":"{name}""#)).unwrap_or_default();
    let live = format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web","namespace":"shop"{},"managedFields":[
            {{"manager":"{manager}","operation":"{operation}","apiVersion":"apps/v1","fieldsType":"FieldsV1",
              "fieldsV1":{}{subresource}}}]}},"spec":{}}}"#,
        situation.marks, situation.fields, situation.spec
    );
    let config = format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web","namespace":"shop"{}}},"spec":{}}}"#,
        situation.declared, situation.proposed
    );
    let live = LiveObject::read(&live.parse().expect(situation.name)).expect(situation.name);
    let ty = Schema::builtin().kind("apps/v1", "Deployment").unwrap();
    let manifest = Manifest::new(config.parse().unwrap(), "web.yaml", ty);
    let applier = ApplyingManager {
        manager: situation.applier.into(),
        force: ForcedFields::None,
        now: Timestamp::from_unix(1_800_000_000),
    };
    let plan = plan::offline(&manifest, Some(&live), &applier, Profile::kubernetes());
    let Verdict::Conflicts(conflicts, _) = &plan.verdict else { panic!("{}: no conflict", situation.name) };
    let mut found = diagnose(&conflicts[..1], &manifest, &live, &applier);
    assert_eq!(found.len(), 1, "{}", situation.name);
    found.remove(0)
}

const LINE: CommandLine<'_> = CommandLine { program: "tenure", files: "-f web.yaml", server: "" };

#[test]
fn conflicts_are_named_by_their_cause() {
    for situation in SITUATIONS {
        let found = diagnosed(situation);
        let first = &found.remedies[0];
        assert_eq!(
            (found.who.as_str(), found.cause, first.kind, first.command(&LINE).as_deref()),
            (situation.who, situation.cause, situation.remedy, situation.command),
            "{}",
            situation.name
        );
    }
}

#[test]
fn a_diagnosis_is_a_document_with_remedies_as_data() {
    let found = diagnosed(&SITUATIONS[0]).to_value(&LINE);
    assert_eq!(found.get("cause").and_then(|cause| cause.as_str()), Some("Autoscaler"));
    let remedies = found.get("remedies").and_then(|remedies| remedies.as_array()).unwrap();
    let kinds: Vec<_> = remedies.iter().filter_map(|remedy| remedy.get("kind")?.as_str()).collect();
    assert_eq!(kinds, ["LeaveOut", "Take"]);
}
