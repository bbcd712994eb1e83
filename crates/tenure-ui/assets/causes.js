// Why managers conflict, in the words of the trade, and the commands that settle it, to be pasted.

import { announce, h } from "./dom.js";
import { sentence } from "./elements.js";

// What stands before a remedy, as on the command line.
const LABELS = { LeaveOut: "Leave it out", Share: "Share it", Transfer: "Hand it over", Adopt: "Adopt all", Migrate: "Migrate", Take: "Take it" };

/** Returns a command with a button that copies it. */
export function commandLine(command) {
  const button = h("button", { type: "button", class: "quiet copy", onclick: async () => {
    await navigator.clipboard?.writeText(command).then(() => announce("Copied"), () => {});
    button.textContent = "Copied";
  } }, "Copy");
  return h("span", { class: "command" }, h("code", null, command), button);
}

/** Returns the causes of conflicts, each with its remedies, the gentlest first. A cause may begin with the name of a manager, which stays as it is. */
export function causeList(causes) {
  return h("ul", { class: "causes" }, causes.map(({ message, remedies }) => h("li", null, h("p", null, message),
    h("details", null, h("summary", null, "Settle it on the command line"),
      h("dl", null, remedies.flatMap(({ kind, effect, command }) => [h("dt", null, LABELS[kind] ?? kind), h("dd", null, h("span", null, sentence(effect)), command && commandLine(command))]))))));
}

/** Returns what to know about the owners of a field, with the command that acts on it. */
export const adviceList = (advice) => h("ul", { class: "sentences" }, advice.map(({ message, command }) => h("li", null, message, command && commandLine(command))));
