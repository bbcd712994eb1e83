// The past: the changes of a field as a list, and a slider through the versions of an object.

import { announce, fill, h } from "./dom.js";
import { get, post } from "./api.js";
import { loading, prose, sentence, valueNode } from "./elements.js";
import { valueChanges } from "./changes.js";
import { objectAddress, setQuery } from "./navigation.js";
import { ago, colour, who as link } from "./managers.js";

// A recorder does not know who only removed fields, and knows of writes that it missed no more than their number.
const who = (item) => (item.gap ? "writes that were not seen" : item.manager || item.user || "an unknown manager");
const missed = ({ writes }) => `at least ${writes} ${writes === 1 ? "write was" : "writes were"} not seen`;
const missedManagers = ({ managers }) => (managers?.length > 0 ? [" (", managers.flatMap(({ manager }, at) => [at > 0 && ", ", link(manager)]), ")"] : []);
const by = (item) => (item.user ? ` by ${item.user}` : "");
const verb = (item) => (item.subresource ? `${item.verb}/${item.subresource}` : item.verb);

/** Returns the changes of a field, newest first; `masked` hides the values. */
export function fieldHistory(object, path, masked, signal) {
  const list = h("div", null, loading("Reading the history…"));
  const section = h("section", { class: "history" }, h("h3", null, "History"), list);
  get("history", { ...object, path }, signal).then(({ available, reason, items, beginsAfter }) => {
    if (!available) return fill(list, h("p", { class: "muted" }, prose(reason || "This server keeps no history.")));
    if (items.length === 0) return fill(list, h("p", { class: "muted" }, "No change of it is kept."));
    const row = (item) => {
      const change = item.changes[0] ?? {};
      // Values of a Secret are withheld, so that they do not tell whether they changed.
      const same = item.changed === false;
      return h("li", null,
        item.gap ? h("b", null, "Gap") : item.manager ? link(item.manager) : h("b", null, who(item)),
        h("span", { class: "muted", title: `${item.time}, revision ${item.revision}${item.user && `, by ${item.user}`}` }, ` ${item.gap ? missed(item.gap) : verb(item)}, ${ago(item.time)}`),
        h("span", { class: "change" }, same ? "other owners, the same value" : masked ? "changed" : [valueNode(change.from, "before"),
          h("span", { class: "hidden-text" }, " becomes "), h("span", { class: "to", "aria-hidden": "true" }, "→"), valueNode(change.to, "after")]),
        h("span", { class: "links" },
          h("a", { href: objectAddress(object, { path, at: item.revision }) }, "This version"),
          item.previous && item.type !== "Created" && h("a", { href: objectAddress(object, { path, at: item.previous }) }, "Before this change")));
    };
    fill(list, h("ol", { class: "plain" }, items.map(row)), beginsAfter && h("p", { class: "muted" }, `Older changes are not kept.`));
  }).catch((error) => {
    if (error.name !== "AbortError") fill(list, h("p", { class: "muted" }, error.message));
  });
  return section;
}

/** A slider through the versions of an object; the version is part of the address. Tells "version" with what the lines show, "now" for
 * the live object, and "changed" after a change was undone. */
class HistorySlider extends HTMLElement {
  /** Reads the versions and shows one of them; the newest if none is named. */
  async open(object, at, access) {
    this.abort = new AbortController();
    Object.assign(this, { object, access });
    fill(this, loading("Reading the history…"));
    try {
      const { available, reason, items, exists } = await get("history", object, this.abort.signal);
      // A removal left no version to show.
      this.items = items.filter((item) => item.type !== "Deleted").reverse();
      this.deletion = exists === false ? items.find((item) => item.type === "Deleted") : undefined;
      if (!available || this.items.length === 0) return fill(this, h("p", { class: "muted" }, prose(reason || "This server keeps no history of the object.")));
      this.draw();
      const number = at ? this.items.findLastIndex((item) => Number(item.revision) <= Number(at)) : this.items.length - 1;
      if (at && number < 0) return fill(this.label, `Revision ${at} is not kept any more.`);
      this.range.value = String(number);
      if (at || this.deletion) await this.choose(number);
      else this.describe(number);
    } catch (error) {
      if (error.name !== "AbortError") fill(this, h("p", { class: "muted" }, error.message));
    }
  }

  disconnectedCallback() {
    this.abort?.abort();
  }

  get last() {
    return this.items.length - 1;
  }

  /** Whether a version is what the object is now. */
  isLive(at) {
    return at === this.last && !this.deletion;
  }

  draw() {
    this.label = h("p", { class: "moment", id: "moment", "aria-live": "polite" });
    this.range = h("input", { type: "range", min: "0", max: String(this.last), step: "1", value: String(this.last), "aria-label": "Version of the object", "aria-describedby": "moment", oninput: () => this.choose(Number(this.range.value)) });
    const step = (by) => () => this.choose(Math.max(0, Math.min(this.last, Number(this.range.value) + by)));
    // A mark for each version in the colour of who wrote it; a taller one where it is another than before.
    const mark = (item, at) => h("i", { class: `tick ${colour(who(item))}${item.otherWriter ? " other" : ""}`, title: `${who(item)}, revision ${item.revision}`, vars: { "--at": String(this.last > 0 ? at / this.last : 1) } });
    this.actions = h("div", { class: "actions" });
    this.plan = h("div", { class: "undo-plan", "aria-live": "polite" });
    fill(this, h("div", { class: "slider" },
      h("button", { type: "button", class: "button", onclick: step(-1) }, "Older"),
      h("div", { class: "track" }, this.range, h("div", { class: "ticks", "aria-hidden": "true" }, this.items.map(mark))),
      h("button", { type: "button", class: "button", onclick: step(1) }, "Newer"),
      h("button", { type: "button", class: "button", onclick: () => this.choose(this.last) }, this.deletion ? "Last" : "Now")), this.label, this.actions, this.plan);
  }

  describe(at) {
    const item = this.items[at];
    const fields = item.changes.map(({ path }) => path);
    const what = item.type === "Created" ? "created it" : fields.length > 0 ? `changed ${fields.slice(0, 3).join(", ")}${fields.length > 3 ? ` and ${fields.length - 3} more` : ""}` : "changed its owners";
    fill(this.label, h("b", null, this.isLive(at) ? "Now" : `Revision ${item.revision}`), `, ${ago(item.time)}: `,
      item.gap ? [h("b", null, missed(item.gap)), missedManagers(item.gap), `, which ${what}`]
        : [item.manager ? link(item.manager) : h("b", null, who(item)), ` ${what} (${verb(item)}${by(item)})`], item.otherWriter && !item.gap && h("span", { class: "tag" }, "another writer than before"));
    this.range.setAttribute("aria-valuetext", this.label.textContent);
    const difference = (label, from, to) => h("a", { class: "button", href: objectAddress(this.object, { from, to }, "difference") }, label);
    const modified = item.type === "Modified" && !this.deletion && this.access?.allowed !== false;
    fill(this.actions,
      at > 0 && h("button", { type: "button", class: "button", onclick: () => this.choose(at - 1) }, "Blame before this change"),
      at > 0 && difference("What this change did", this.items[at - 1].revision, item.revision),
      !this.isLive(at) && !this.deletion && difference("Compare with now", item.revision, ""),
      modified && h("button", { type: "button", class: "button", onclick: () => this.previewUndo(item) }, "Undo this change"));
    fill(this.plan);
  }

  async choose(at) {
    this.range.value = String(at);
    this.describe(at);
    this.chosen?.abort();
    this.chosen = new AbortController();
    const item = this.items[at];
    setQuery({ at: this.isLive(at) ? "" : item.revision });
    if (this.isLive(at)) return this.dispatchEvent(new Event("now"));
    try {
      const view = await get("version", { ...this.object, at: item.revision }, this.chosen.signal);
      this.dispatchEvent(new CustomEvent("version", { detail: { view, at: item.revision, paths: item.changes.map(({ path }) => path) } }));
      announce(this.label.textContent);
    } catch (error) {
      if (error.name !== "AbortError") fill(this.label, error.message);
    }
  }

  /** Shows what undoing a change would do, and offers to do it. */
  async previewUndo(item) {
    fill(this.plan, loading("Computing the undo…"));
    try {
      const { edits, conflicts, digest } = await get("change", { ...this.object, revision: item.revision });
      const carryOut = async (overwrite) => {
        try {
          await post("change/undo", { ...this.object, revision: item.revision, digest, overwrite });
          fill(this.plan, h("p", { class: "done", role: "status" }, `Revision ${item.revision} is undone.`));
          this.dispatchEvent(new Event("changed"));
        } catch (error) {
          fill(this.plan, h("p", { class: "problem", role: "alert" }, sentence(error.message)));
        }
      };
      const button = (label, overwrite, primary) => h("button", { type: "button", class: `button${primary ? " primary" : ""}`, onclick: () => carryOut(overwrite) }, label);
      fill(this.plan, h("h2", null, `Undo revision ${item.revision}`),
        edits.length > 0 ? valueChanges(edits) : h("p", { class: "muted" }, conflicts.length > 0 ? "" : "Nothing to do: the values are those from before the change."),
        conflicts.length > 0 && [h("p", null, "Changed again since, and stays unless you take it back, too:"), valueChanges(conflicts)],
        h("p", { class: "actions" }, edits.length > 0 && button("Undo", false, true), conflicts.length > 0 && button("Undo, and take these back, too", true, edits.length === 0),
          h("button", { type: "button", class: "button", onclick: () => fill(this.plan) }, "Cancel")));
    } catch (error) {
      fill(this.plan, h("p", { class: "problem", role: "alert" }, sentence(error.message)));
    }
  }
}

customElements.define("history-slider", HistorySlider);
