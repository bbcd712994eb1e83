// What a plan, a handover or a write changes: values, and the fields that managers gain and lose.

import { h } from "./dom.js";
import { described } from "./managers.js";
import { pathNode, valueNode } from "./elements.js";

/** Returns the values that change; whole, where a person decides about them. */
export function valueChanges(values, whole = false) {
  return h("ul", { class: "changes" }, values.map((change) => h("li", null, pathNode(change.path),
    h("span", { class: "change" }, valueNode(change.before, "before", whole), h("span", { class: "hidden-text" }, " becomes "),
      h("span", { class: "to", "aria-hidden": "true" }, "→"), valueNode(change.after, "after", whole)))));
}

const KINDS = [
  ["gained", "gains", "+"],
  ["shared", "shares", "="],
  ["lost", "loses", "−"],
  ["removed", "loses, as it is removed:", "−"],
];

/** Returns what each manager gains and loses. */
export function ownerChanges(owners) {
  return h("ul", { class: "owners" }, owners.map((owner) => h("li", null, described(owner),
    h("ul", null, KINDS.flatMap(([name, words, sign]) =>
      (name === "shared" ? (owner.shared ?? []).filter((path) => owner.gained.includes(path)) : owner[name] ?? [])
        .filter((path) => name !== "gained" || !(owner.shared ?? []).includes(path))
        .map((path) => h("li", { class: name }, h("span", { class: "sign", "aria-hidden": "true" }, sign),
          h("span", { class: "hidden-text" }, words), pathNode(path))))))));
}

/** Returns the preview of a change of ownership. */
export function handoverPreview(handover) {
  return [
    handover.empty && h("p", { class: "muted" }, "Nothing would change."),
    handover.removed.length > 0 && h("section", null, h("h3", null, "Leaves the object"),
      h("ul", { class: "changes" }, handover.removed.map((removed) => h("li", null, pathNode(removed.path), h("span", { class: "change" }, valueNode(removed.value, "before")))))),
    handover.owners.length > 0 && h("section", null, h("h3", null, "Owners"), ownerChanges(handover.owners)),
    handover.notes.length > 0 && h("ul", { class: "notes" }, handover.notes.map((note) => h("li", null, note))),
  ];
}

/** Returns the buttons that offer how to undo a step whose objects were written since; `since` is what was tried. */
export function afterConflict(error, writes, since, work) {
  if (error.code !== 409) return undefined;
  const button = (label, chosen) => h("button", { type: "button", class: "button", onclick: () => work(chosen) }, label);
  return [!since.rebase && !since.overwrite && button("Undo and keep later changes", { rebase: true }), writes && !since.overwrite && button("Undo, and take these back, too", { overwrite: true })];
}
