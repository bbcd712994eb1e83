// What was not read, because the user may not, or because it is too much: said wherever numbers could be taken for the whole.

import { h } from "./dom.js";

const MOST = 6;
const some = (names) => names.slice(0, MOST).join(", ") + (names.length > MOST ? ` and ${names.length - MOST} more` : "");

/** Returns sentences about what a reading of all objects did not cover. */
export function hiddenNotes({ skipped = [], narrowed = [], namespace, truncated }) {
  const notes = [
    narrowed.length > 0 && `Only the namespace ${namespace} is counted for ${some(narrowed)}: you may not list them in all namespaces.`,
    skipped.length > 0 && `Not counted, because you may not list them: ${some(skipped)}.`,
    truncated && "There are more objects than are counted here; choose a namespace.",
  ].filter(Boolean);
  return notes.length > 0 && h("ul", { class: "hidden-notes" }, notes.map((note) => h("li", { class: "hint", title: [...narrowed, ...skipped].join(", ") }, note)));
}
