// Any two versions of an object side by side, with their owners. Both are part of the address.

import { fill, h } from "./dom.js";
import { get } from "./api.js";
import { discover, go, objectAddress, objectOf, title } from "./navigation.js";
import { crumbs, emptyPage, errorPage, loading, select, show, toggle } from "./elements.js";
import { ago } from "./managers.js";
import { ownerChanges } from "./changes.js";
import { differs, sideBySide } from "./side-by-side.js";

class DifferenceView extends HTMLElement {
  async connectedCallback() {
    if (this.parts.length !== 4) return fill(this, emptyPage("No object is named in this address", "Choose one from the list."));
    this.object = objectOf(this.parts);
    title(`Versions of ${this.object.name}`);
    fill(this, loading("Reading the history…"));
    try {
      const { available, reason, items } = await get("history", this.object);
      if (!this.isConnected) return;
      if (!available) return fill(this, emptyPage("There is no history", reason || "This server keeps no history.", h("a", { class: "button", href: objectAddress(this.object) }, "Show the object")));
      const { kinds } = await discover().catch(() => ({ kinds: [] }));
      const { apiVersion, resource } = this.object;
      const known = kinds.find((kind) => kind.apiVersion === apiVersion && kind.resource === resource);
      if (this.isConnected) this.start(items, known?.kind ?? resource);
    } catch (error) {
      fill(this, errorPage("The history cannot be read", error, () => this.connectedCallback()));
    }
  }

  start(items, kind) {
    const [from, to] = ["from", "to"].map((name) => this.query.get(name) ?? "");
    const versions = items.filter((item) => item.type !== "Deleted");
    const name = (item) => `${item.revision} · ${ago(item.time)} · ${item.gap ? "gap" : item.manager || item.user || "an unknown manager"}`;
    const options = [["", "Now"], ...versions.map((item) => [item.revision, name(item)])];
    const choose = (label, value, change) => {
      const known = options.some(([revision]) => revision === value) ? options : [...options, [value, `Revision ${value}`]];
      const menu = select(known, value, (chosen) => go(objectAddress(this.object, { from, to, ...change(chosen) }, "difference")));
      menu.setAttribute("aria-label", label);
      return h("label", { class: "pair" }, h("span", { "aria-hidden": "true" }, label), menu);
    };
    const body = h("div", { class: "plan" });
    fill(this,
      h("div", null, crumbs(this.object, kind, true), h("h1", null, "Two versions")),
      h("div", { class: "tools" }, choose("From", from, (chosen) => ({ from: chosen })), choose("To", to, (chosen) => ({ to: chosen }))), body);
    show(body, "Comparing…", async () => this.draw(await get("difference", { ...this.object, from, to }), from, to));
  }

  draw({ object, rows, owners }, from, to) {
    const secret = object.kind === "Secret" && object.apiVersion === "v1";
    const place = h("div");
    const head = [from ? `Revision ${from}` : "Now", to ? `Revision ${to}` : "Now"];
    const fillTable = (masked) => fill(place, sideBySide("Versions side by side", rows, head, masked));
    fillTable(secret);
    if (!differs(rows)) return h("p", { class: "muted" }, "Values and owners are the same.");
    return [secret && h("p", null, toggle("Show values", false, (on) => fillTable(!on))), place,
      owners.length > 0 && h("section", { class: "card" }, h("h2", null, "Owners"), ownerChanges(owners))];
  }
}

customElements.define("difference-view", DifferenceView);
