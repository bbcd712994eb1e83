// Keys that work in every view: `/` goes to the search, `?` lists the keys.

import { fill, h, icon } from "./dom.js";
import { address, go } from "./navigation.js";

const KEYS = [
  ["/", "Search in this view, or among the objects"],
  ["?", "Show these keys"],
  ["g then o", "Go to the overview"],
  ["g then l", "Go to the list of objects"],
  ["g then a", "Go to Try an apply"],
  ["g then m", "Go to the managers"],
  ["g then p", "Go to the plans that wait for approval"],
  ["↑ ↓", "Move in a list or in the lines of an object"],
  ["← →", "Fold and unfold in the lines of an object"],
  ["Enter", "Explain the chosen line"],
  ["Esc", "Close the explanation"],
];
const PLACES = { o: "overview", l: "objects", a: "apply", m: "managers", p: "approvals" };

/** Whether a person is typing a text. */
const isTyping = (element) => element?.matches?.("input:not([type=range], [type=checkbox], [type=radio]), textarea, select") || element?.isContentEditable;

function search() {
  const field = [...document.querySelectorAll("main input[type=search][data-search], main input[type=search]")].find((one) => one.checkVisibility());
  if (field) {
    field.focus();
    field.select();
  } else {
    go(address("objects", [], { focus: "search" }));
  }
}

let dialog;

/** Shows the keys. */
export function showKeys() {
  dialog?.remove();
  const close = h("button", { type: "button", class: "quiet", title: "Close", onclick: () => dialog.close() }, icon("close"), h("span", { class: "hidden-text" }, "Close"));
  dialog = h("dialog", { class: "keys", "aria-labelledby": "keys-title" });
  fill(dialog, h("div", { class: "top" }, h("h2", { id: "keys-title" }, "Keys"), close),
    h("dl", null, KEYS.flatMap(([keys, words]) => [h("dt", null, keys.split(" then ").flatMap((key, at) => [at > 0 && " then ", h("kbd", null, key)])), h("dd", null, words)])));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

let leader = false;

/** Listens for the keys. */
export function listenForKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const place = leader && PLACES[event.key];
    leader = event.key === "g";
    if (place) go(address(place));
    else if (event.key === "/") search();
    else if (event.key === "?") showKeys();
    else return;
    event.preventDefault();
  });
}
