//! Known managers: the names under which common programs write, and what these programs are. The table is data; the first row that
//! fits an owner wins, so that rows for one operation or subresource stand before the general row of the same name.

use tenure_apply::{Operation, Owner};

/// The part a program plays for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Declares objects from files: `kubectl apply --server-side`, Helm, Argo CD, Flux, Terraform.
    Deployer,
    /// Declared objects before server-side apply and left its entry behind.
    ClientSideApply,
    /// A command or a user interface with which a person changed a field.
    Person,
    /// Scales workloads.
    Autoscaler,
    /// Maintains fields by itself.
    Controller,
    /// A name that many programs share: that of a client library, of a default binary, or none.
    Anonymous,
}

/// Programs that stand for each other: two managers of one family are the same tool under two names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The variants are the names of the tools.
pub enum Family {
    Kubectl,
    Helm,
    ArgoCd,
    FluxKustomize,
    FluxHelm,
    Terraform,
    Pulumi,
    Crossplane,
    Rancher,
    Other,
}

/// A program that is known by its manager's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The program, as its users call it.
    pub name: &'static str,
    /// What it does to objects.
    pub role: Role,
    /// The tools that it stands for.
    pub family: Family,
}

/// How a row recognizes the name of a manager.
#[derive(Clone, Copy, Debug)]
enum Name {
    Is(&'static str),
    Begins(&'static str),
}

/// One row of the table: a manager's name, the operation and the subresource if they matter, and the program.
struct Row(Name, Option<Operation>, Option<&'static str>, Tool);

const fn tool(name: &'static str, role: Role, family: Family) -> Tool {
    Tool { name, role, family }
}

const fn is(manager: &'static str, tool: Tool) -> Row {
    Row(Name::Is(manager), None, None, tool)
}

const fn begins(manager: &'static str, tool: Tool) -> Row {
    Row(Name::Begins(manager), None, None, tool)
}

const fn updates(manager: &'static str, tool: Tool) -> Row {
    Row(Name::Is(manager), Some(Operation::Update), None, tool)
}

const fn scales(manager: &'static str, tool: Tool) -> Row {
    Row(Name::Is(manager), None, Some("scale"), tool)
}

use Family::{ArgoCd, Crossplane, FluxHelm, FluxKustomize, Helm, Kubectl, Other, Pulumi, Rancher, Terraform};
use Role::{Anonymous, Autoscaler, ClientSideApply, Controller, Deployer, Person};

const ROWS: &[Row] = &[
    // Autoscalers write through the subresource scale.
    scales("kube-controller-manager", tool("HorizontalPodAutoscaler", Autoscaler, Other)),
    begins("keda", tool("KEDA", Autoscaler, Other)),
    begins("vpa-", tool("VerticalPodAutoscaler", Autoscaler, Other)),
    is("cluster-autoscaler", tool("cluster autoscaler", Autoscaler, Other)),
    is("karpenter", tool("Karpenter", Autoscaler, Other)),
    // kubectl, by subcommand.
    is("kubectl-client-side-apply", tool("kubectl apply (client-side)", ClientSideApply, Kubectl)),
    is("kubectl-last-applied", tool("kubectl apply (client-side)", ClientSideApply, Kubectl)),
    is("kubectl-create", tool("kubectl create", ClientSideApply, Kubectl)),
    is("before-first-apply", tool("writes before the first apply", ClientSideApply, Other)),
    is("kubectl-edit", tool("kubectl edit", Person, Kubectl)),
    is("kubectl-patch", tool("kubectl patch", Person, Kubectl)),
    is("kubectl-replace", tool("kubectl replace", Person, Kubectl)),
    is("kubectl-scale", tool("kubectl scale", Person, Kubectl)),
    is("kubectl-set", tool("kubectl set", Person, Kubectl)),
    is("kubectl-label", tool("kubectl label", Person, Kubectl)),
    is("kubectl-annotate", tool("kubectl annotate", Person, Kubectl)),
    is("kubectl-rollout", tool("kubectl rollout", Person, Kubectl)),
    is("kubectl-run", tool("kubectl run", Person, Kubectl)),
    is("kubectl-expose", tool("kubectl expose", Person, Kubectl)),
    is("kubectl-autoscale", tool("kubectl autoscale", Person, Kubectl)),
    is("kubectl-taint", tool("kubectl taint", Person, Kubectl)),
    is("kubectl-drain", tool("kubectl drain", Person, Kubectl)),
    is("kubectl-debug", tool("kubectl debug", Person, Kubectl)),
    updates("kubectl", tool("kubectl", Person, Kubectl)),
    is("kubectl", tool("kubectl apply --server-side", Deployer, Kubectl)),
    begins("kubectl-", tool("kubectl", Person, Kubectl)),
    is("oc", tool("oc", Person, Other)),
    // Deployment tools.
    updates("helm", tool("Helm 3", ClientSideApply, Helm)),
    is("helm", tool("Helm", Deployer, Helm)),
    begins("terraform-provider-helm", tool("Terraform's Helm provider", Deployer, Helm)),
    updates("argocd-controller", tool("Argo CD (client-side)", ClientSideApply, ArgoCd)),
    is("argocd-controller", tool("Argo CD", Deployer, ArgoCd)),
    is("argocd-application-controller", tool("Argo CD", Deployer, ArgoCd)),
    is("argocd-server", tool("Argo CD's interface", Person, ArgoCd)),
    is("kustomize-controller", tool("Flux (kustomize-controller)", Deployer, FluxKustomize)),
    is("helm-controller", tool("helm-controller (Flux or k3s)", Deployer, FluxHelm)),
    is("source-controller", tool("Flux (source-controller)", Controller, Other)),
    is("notification-controller", tool("Flux (notification-controller)", Controller, Other)),
    is("image-automation-controller", tool("Flux (image-automation-controller)", Controller, Other)),
    is("image-reflector-controller", tool("Flux (image-reflector-controller)", Controller, Other)),
    is("flux", tool("flux (command line)", Deployer, FluxKustomize)),
    is("Terraform", tool("Terraform", Deployer, Terraform)),
    is("HashiCorp", tool("Terraform", Deployer, Terraform)),
    begins("terraform-provider-kubernetes", tool("Terraform", Deployer, Terraform)),
    begins("pulumi", tool("Pulumi", Deployer, Pulumi)),
    begins("apiextensions.crossplane.io", tool("Crossplane composition", Deployer, Crossplane)),
    begins("crossplane", tool("Crossplane", Deployer, Crossplane)),
    begins("kapp", tool("kapp", Deployer, Other)),
    is("kluctl", tool("kluctl", Deployer, Other)),
    is("fleetagent", tool("Rancher Fleet", Deployer, Rancher)),
    is("fleet-agent", tool("Rancher Fleet", Deployer, Rancher)),
    begins("rancher", tool("Rancher", Deployer, Rancher)),
    begins("deploy@", tool("k3s manifests", Deployer, Rancher)),
    is("skaffold", tool("Skaffold", Deployer, Other)),
    is("tilt", tool("Tilt", Deployer, Other)),
    is("kubeadm", tool("kubeadm", Deployer, Other)),
    begins("capi-", tool("Cluster API", Controller, Other)),
    // Interfaces for people.
    is("k9s", tool("k9s", Person, Other)),
    begins("Lens", tool("Lens", Person, Other)),
    begins("freelens", tool("Freelens", Person, Other)),
    begins("headlamp", tool("Headlamp", Person, Other)),
    is("dashboard", tool("Kubernetes Dashboard", Person, Other)),
    is("Mozilla", tool("a browser (a web console)", Person, Other)),
    is("curl", tool("curl", Person, Other)),
    // Controllers of Kubernetes and of common add-ons.
    is("kube-controller-manager", tool("kube-controller-manager", Controller, Other)),
    is("cloud-controller-manager", tool("cloud-controller-manager", Controller, Other)),
    is("kube-scheduler", tool("kube-scheduler", Controller, Other)),
    is("kube-apiserver", tool("kube-apiserver", Controller, Other)),
    is("kubelet", tool("kubelet", Controller, Other)),
    begins("cert-manager", tool("cert-manager", Controller, Other)),
    is("cainjector", tool("cert-manager's CA injector", Controller, Other)),
    is("external-secrets", tool("External Secrets", Controller, Other)),
    is("external-dns", tool("ExternalDNS", Controller, Other)),
    is("PrometheusOperator", tool("Prometheus Operator", Controller, Other)),
    is("pilot-discovery", tool("Istio", Controller, Other)),
    is("istiod", tool("Istio", Controller, Other)),
    begins("linkerd", tool("Linkerd", Controller, Other)),
    is("cilium-operator", tool("Cilium", Controller, Other)),
    is("cilium-agent", tool("Cilium", Controller, Other)),
    is("rollouts-controller", tool("Argo Rollouts", Controller, Other)),
    is("argo-rollouts", tool("Argo Rollouts", Controller, Other)),
    is("flagger", tool("Flagger", Autoscaler, Other)),
    begins("kyverno", tool("Kyverno", Controller, Other)),
    begins("gatekeeper", tool("Gatekeeper", Controller, Other)),
    is("Reloader", tool("Reloader", Controller, Other)),
    begins("velero", tool("Velero", Controller, Other)),
    begins("sealed-secrets", tool("Sealed Secrets", Controller, Other)),
    is("cluster-version-operator", tool("OpenShift's cluster version operator", Controller, Other)),
    begins("openshift-", tool("OpenShift", Controller, Other)),
    is("olm", tool("Operator Lifecycle Manager", Controller, Other)),
    is("catalog", tool("Operator Lifecycle Manager (catalog)", Controller, Other)),
    is("kopf", tool("an operator written with kopf", Controller, Other)),
    // Names that say nothing about the program.
    is("manager", tool("an operator built with kubebuilder", Anonymous, Other)),
    is("controller", tool("a controller", Anonymous, Other)),
    is("operator", tool("an operator", Anonymous, Other)),
    is("main", tool("a program named main", Anonymous, Other)),
    is("unknown", tool("a client without a name", Anonymous, Other)),
    is("Go-http-client", tool("a Go program", Anonymous, Other)),
    is("OpenAPI-Generator", tool("a program with a generated client, such as Python's", Anonymous, Other)),
    is("python-requests", tool("a Python program", Anonymous, Other)),
    is("kubernetes-client", tool("a program with a generated client", Anonymous, Other)),
    begins("fabric8", tool("a Java program with fabric8's client", Anonymous, Other)),
    is("okhttp", tool("a Java program", Anonymous, Other)),
    is("node-fetch", tool("a JavaScript program", Anonymous, Other)),
    is("axios", tool("a JavaScript program", Anonymous, Other)),
];

/// Returns the program behind an owner, if its manager's name is known.
pub fn recognize(owner: &Owner) -> Option<Tool> {
    let fits = |row: &&Row| {
        let Row(name, operation, subresource, _) = row;
        let named = match name {
            Name::Is(text) => owner.name.as_str() == *text,
            Name::Begins(text) => owner.name.as_str().starts_with(text),
        };
        named
            && operation.is_none_or(|operation| operation == owner.operation)
            && subresource.is_none_or(|subresource| subresource == owner.subresource.as_str())
    };
    ROWS.iter().find(fits).map(|row| row.3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str, operation: Operation, subresource: &str) -> Owner {
        Owner {
            name: name.into(),
            operation,
            api_version: "apps/v1".into(),
            subresource: subresource.into(),
            time: None,
        }
    }

    #[test]
    fn owners_are_recognized_by_name_operation_and_subresource() {
        use Operation::{Apply, Update};
        for (name, operation, subresource, expected) in [
            ("kube-controller-manager", Update, "scale", Some(("HorizontalPodAutoscaler", Autoscaler))),
            ("kube-controller-manager", Update, "status", Some(("kube-controller-manager", Controller))),
            ("helm", Update, "", Some(("Helm 3", ClientSideApply))),
            ("helm", Apply, "", Some(("Helm", Deployer))),
            ("terraform-provider-helm_v3.0.2_x5", Update, "", Some(("Terraform's Helm provider", Deployer))),
            ("pulumi-kubernetes-1a2b3c4d", Apply, "", Some(("Pulumi", Deployer))),
            ("cert-manager-certificates-issuing", Update, "", Some(("cert-manager", Controller))),
            ("kubectl", Update, "", Some(("kubectl", Person))),
            ("kubectl-rollout", Update, "", Some(("kubectl rollout", Person))),
            ("kubectl-something-new", Update, "", Some(("kubectl", Person))),
            ("Mozilla", Update, "", Some(("a browser (a web console)", Person))),
            ("my-controller", Update, "", None),
        ] {
            let tool = recognize(&owner(name, operation, subresource));
            assert_eq!(tool.map(|tool| (tool.name, tool.role)), expected, "{name} {operation}");
        }
    }

    #[test]
    fn every_row_can_be_reached() {
        for Row(name, operation, subresource, tool) in ROWS {
            let text = match name {
                Name::Is(text) | Name::Begins(text) => text,
            };
            let operations = operation.map_or([Operation::Apply, Operation::Update], |only| [only, only]);
            let found =
                operations.map(|operation| recognize(&owner(text, operation, subresource.unwrap_or(""))));
            assert!(found.contains(&Some(*tool)), "{text} is hidden by an earlier row");
        }
    }
}
