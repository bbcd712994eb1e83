// The past: the changes of a field as a list, and a slider through the versions of an object.

import { announce, fill, h } from "./dom.js";
import { get } from "./api.js";
import { loading, valueNode } from "./elements.js";
import { age, colour } from "./managers.js";

const who = (item) => item.manager || item.user || "the server";
const verb = (item) => (item.subresource ? `${item.verb}/${item.subresource}` : item.verb);

/** Returns the changes of a field, newest first; `masked` hides the values. */
export function fieldHistory(object, path, masked, signal) {
  const list = h("div", null, loading("Reading the history…"));
  const section = h("section", { class: "history" }, h("h3", null, "History"), list);
  get("history", { ...object, path }, signal).then(({ available, reason, items, beginsAfter }) => {
    if (!available) return fill(list, h("p", { class: "muted" }, reason || "This server keeps no history."));
    if (items.length === 0) return fill(list, h("p", { class: "muted" }, "No change of it is kept."));
    const row = (item) => {
      const change = item.changes[0] ?? {};
      // Values of a Secret are withheld, so that they do not tell whether they changed.
      const same = item.changed === false;
      return h("li", null,
        h("span", { class: `who ${colour(who(item))}` }, h("i", { class: "dot" }), h("b", null, who(item))),
        h("span", { class: "muted", title: `${item.time}, revision ${item.revision}, by ${item.user}` }, ` ${verb(item)}, ${age(item.time)} ago`),
        h("span", { class: "change" }, same ? "other owners, the same value" : masked ? "changed" : [valueNode(change.from, "before"),
          h("span", { class: "hidden-text" }, " becomes "), h("span", { class: "to", "aria-hidden": "true" }, "→"), valueNode(change.to, "after")]));
    };
    fill(list, h("ol", { class: "plain" }, items.map(row)), beginsAfter && h("p", { class: "muted" }, `Older changes are not kept.`));
  }).catch((error) => {
    if (error.name !== "AbortError") fill(list, h("p", { class: "muted" }, error.message));
  });
  return section;
}

/** A slider through the versions of an object. Tells "version" with what the lines show, and "now" for the live object. */
class HistorySlider extends HTMLElement {
  async open(object) {
    this.abort = new AbortController();
    this.object = object;
    fill(this, loading("Reading the history…"));
    try {
      const { available, reason, items } = await get("history", object, this.abort.signal);
      // A removal left no version to show.
      this.items = items.filter((item) => item.type !== "Deleted").reverse();
      if (!available || this.items.length === 0) return fill(this, h("p", { class: "muted" }, reason || "This server keeps no history of the object."));
      this.draw();
    } catch (error) {
      if (error.name !== "AbortError") fill(this, h("p", { class: "muted" }, error.message));
    }
  }

  disconnectedCallback() {
    this.abort?.abort();
  }

  draw() {
    const last = this.items.length - 1;
    this.label = h("p", { class: "moment", id: "moment", "aria-live": "polite" });
    this.range = h("input", { type: "range", min: "0", max: String(last), step: "1", value: String(last), "aria-label": "Version of the object", "aria-describedby": "moment", oninput: () => this.choose(Number(this.range.value)) });
    const step = (by) => () => this.choose(Math.max(0, Math.min(last, Number(this.range.value) + by)));
    fill(this, h("div", { class: "slider" },
      h("button", { type: "button", class: "button", onclick: step(-1) }, "Older"), this.range,
      h("button", { type: "button", class: "button", onclick: step(1) }, "Newer"),
      h("button", { type: "button", class: "button", onclick: () => this.choose(last) }, "Now")), this.label);
    this.describe(last);
  }

  describe(at) {
    const item = this.items[at];
    const fields = item.changes.map(({ path }) => path);
    const what = item.type === "Created" ? "created it" : fields.length > 0 ? `changed ${fields.slice(0, 3).join(", ")}${fields.length > 3 ? ` and ${fields.length - 3} more` : ""}` : "changed its owners";
    fill(this.label, h("b", null, at === this.items.length - 1 ? "Now" : `Revision ${item.revision}`), `, ${age(item.time)} ago: `,
      h("span", { class: `who ${colour(who(item))}` }, h("i", { class: "dot" }), h("b", null, who(item))), ` ${what} (${verb(item)} by ${item.user})`);
    this.range.setAttribute("aria-valuetext", this.label.textContent);
  }

  async choose(at) {
    this.range.value = String(at);
    this.describe(at);
    this.chosen?.abort();
    this.chosen = new AbortController();
    if (at === this.items.length - 1) return this.dispatchEvent(new Event("now"));
    try {
      const view = await get("version", { ...this.object, at: this.items[at].revision }, this.chosen.signal);
      this.dispatchEvent(new CustomEvent("version", { detail: { view, paths: this.items[at].changes.map(({ path }) => path) } }));
      announce(this.label.textContent);
    } catch (error) {
      if (error.name !== "AbortError") fill(this.label, error.message);
    }
  }
}

customElements.define("history-slider", HistorySlider);
