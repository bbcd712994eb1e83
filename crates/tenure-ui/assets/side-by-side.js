// Two states of an object side by side, as the server pairs their lines.

import { h } from "./dom.js";
import { colour } from "./managers.js";
import { isSecret, mask } from "./object-lines.js";

const SIGNS = { same: ["", ""], owners: ["·", "other owners: "], changed: ["~", "changed: "], added: ["+", "added: "], removed: ["−", "removed: "] };

/** Returns a table of the rows; `masked` hides the values of a Secret. */
export function sideBySide(caption, rows, [before, after], masked) {
  const text = (row, line) => (line === null ? "" : masked && isSecret(row.path) ? mask(line) : line);
  const owners = (names) => names.map((name) => h("span", { class: `by ${colour(name)}` }, name));
  const cell = (row, line, names, side) => h("td", { class: line === null ? "none" : row.kind === "same" || row.kind === "owners" ? "" : side },
    h("span", { class: "line" }, h("code", null, text(row, line)), line !== null && names.length > 0 && h("span", { class: "owners-of" }, owners(names))));
  const draw = (row) => {
    if (typeof row === "number") return h("tr", { class: "gap" }, h("td", { colspan: "3" }, `${row} equal ${row === 1 ? "line" : "lines"}`));
    const [sign, words] = SIGNS[row.kind];
    return h("tr", { class: row.kind }, cell(row, row.before, row.beforeOwners, "before"), h("td", { class: "sign" }, h("span", { "aria-hidden": "true" }, sign), h("span", { class: "hidden-text" }, words)),
      cell(row, row.after, row.afterOwners, "after"));
  };
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { class: "side-by-side" }, h("caption", { class: "hidden-text" }, caption),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, before), h("th", { scope: "col", class: "sign" }, h("span", { class: "hidden-text" }, "Difference")), h("th", { scope: "col" }, after))),
      h("tbody", null, rows.map(draw))));
}

/** Whether any row differs. */
export const differs = (rows) => rows.some((row) => typeof row !== "number" && row.kind !== "same");
