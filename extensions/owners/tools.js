// Who an owner is: the application that a deployment tool marks on the object, the tool that is known by the manager's name, or the name.

import { KNOWN_MANAGERS } from "./managers.js";

/** Marks of deployment tools, the outermost first: where, the key of the name, the key of the namespace, the tool's family, a word. */
const MARKS = [
  ["labels", "helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace", "FluxHelm", "Flux HelmRelease"],
  ["labels", "kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace", "FluxKustomize", "Flux Kustomization"],
  ["annotations", "argocd.argoproj.io/tracking-id", undefined, "ArgoCd", "Argo CD application"],
  ["annotations", "meta.helm.sh/release-name", "meta.helm.sh/release-namespace", "Helm", "Helm release"],
  ["labels", "crossplane.io/composite", undefined, "Crossplane", "Crossplane composite"],
];

const MEANING = {
  Autoscaler: "An autoscaler sets this field. A manifest that contains it resets what was scaled: leave the field out.",
  ClientSideApply: "Written before server-side apply was used, and left behind: a field that leaves the manifest stays. Run `tenure migrate` or `tenure adopt`.",
  Person: "Somebody changed this by hand.",
  Controller: "A controller maintains this field: leave it out of manifests.",
  Deployer: "Declared by this tool: change it there.",
  Anonymous: "The manager's name does not tell which program this is.",
};

/** Returns the row of the table that fits an owner. */
export const recognize = (owner) => KNOWN_MANAGERS.find((row) =>
  (row.prefix === undefined ? owner.manager === row.manager : owner.manager.startsWith(row.prefix))
  && (row.operation === undefined || row.operation === owner.operation)
  && (row.subresource === undefined || row.subresource === owner.subresource));

/** Returns who an owner is. */
export function who(owner, object) {
  const tool = recognize(owner);
  const via = owner.subresource ? ` via ${owner.subresource}` : "";
  if (!tool) return owner.manager + via;
  if (tool.role === "Deployer" || tool.role === "ClientSideApply") {
    for (const [place, key, namespaceKey, family, word] of MARKS) {
      const marks = object?.metadata?.[place];
      const name = String(marks?.[key] ?? "").split(":")[0];
      if (family !== tool.family || name === "") continue;
      const namespace = namespaceKey && marks[namespaceKey];
      return `${word} ${namespace ? `${namespace}/` : ""}${name}${via}`;
    }
  }
  return tool.tool + via;
}

/** Returns what it means for a field that an owner has it, in a sentence; empty if that is unknown. */
export const meaning = (owner) => MEANING[recognize(owner)?.role] ?? "";
