// One object: its lines with their owners, why each is as it is, and every change as it happens.

import { announce, fill, h } from "./dom.js";
import { follow, get } from "./api.js";
import { address, objectAddress, objectOf, setQuery, title } from "./navigation.js";
import { emptyPage, errorPage, guarded, loading, toggle, valueText } from "./elements.js";
import { colour, inWords, operation } from "./managers.js";
import { isSecret } from "./object-lines.js";
import "./why-panel.js";
import "./history.js";

const KEPT_CHANGES = 50;

class ObjectView extends HTMLElement {
  connectedCallback() {
    this.abort = new AbortController();
    if (this.parts.length !== 4) return fill(this, emptyPage("No object is named in this address", "Choose one from the list.", h("a", { class: "button", href: "/ui/objects" }, "Objects")));
    this.object = objectOf(this.parts);
    title(this.object.name);
    this.header = h("div", { class: "header" });
    this.legend = h("div", { class: "legend", role: "group", "aria-label": "Managers" });
    this.activity = h("section", { class: "activity", "aria-label": "Changes while you watch", hidden: true });
    this.lines = document.createElement("object-lines");
    this.panel = document.createElement("why-panel");
    this.panel.hidden = true;
    this.lines.options = { manager: this.query.get("manager") ?? "", heat: this.query.get("heat") === "1", dim: this.query.get("dim") !== "0" };
    this.lines.addEventListener("ask", (event) => this.explain(event.detail));
    this.panel.addEventListener("closed", () => this.explain(""));
    this.slider = document.createElement("history-slider");
    this.slider.hidden = true;
    this.slider.addEventListener("version", (event) => this.showPast(event.detail));
    this.slider.addEventListener("now", () => this.showPast(undefined));
    this.split = h("div", { class: "split" }, this.lines, this.panel);
    fill(this, loading("Reading the object…"));
    this.listen();
  }

  disconnectedCallback() {
    this.abort?.abort();
  }

  async listen() {
    try {
      await follow("object", this.object, this.abort.signal, (line) => this.onLine(line));
    } catch (error) {
      const missing = error.code === 404;
      fill(this, errorPage(missing ? "The object does not exist" : error.code === 403 ? "You may not read this object" : "The object cannot be read", error, () => this.connectedCallback()));
    }
  }

  onLine(line) {
    if (line.type === "deleted") {
      this.note(h("li", { class: "deleted" }, "The object was deleted."), "The object was deleted");
      return;
    }
    const first = !this.view;
    this.access = line.patch ?? this.access;
    this.view = line;
    if (first) {
      // Secret values are shown on request only, because other people may see the screen.
      this.lines.options.masked = this.isSecret();
      fill(this, this.header, this.activity, this.slider, this.split);
      this.tellFights();
    }
    this.drawHeader();
    // While a past version is shown, the lines stay.
    if (!this.past) this.lines.show(line);
    this.drawLegend();
    if (line.change) this.onChange(line.change);
    const path = this.query.get("path");
    if (first && path) this.explain(path);
    else if (this.path) this.ask(this.path);
  }

  ask(path) {
    const masked = this.lines.options.masked && isSecret(path);
    this.panel.explain(this.object, path, { kind: this.view.object.kind, access: this.access, masked });
  }

  drawHeader() {
    const { object } = this.view;
    const reason = this.access?.allowed === false ? this.access.reason : "";
    const list = address("objects", [object.apiVersion, this.object.resource], { namespace: object.namespace });
    const link = (label, view) => (reason ? guarded(label, reason) : h("a", { class: "button", href: view === "apply" ? address("apply", [], this.object) : objectAddress(this.object, {}, view) }, label));
    fill(this.header,
      h("div", { class: "heading" },
        h("p", { class: "crumbs" }, h("a", { href: list }, object.kind), object.namespace && h("span", null, object.namespace)),
        h("h1", null, object.name)),
      h("div", { class: "actions" }, link("Try an apply", "apply"), link("Hand over", "handover")));
    if (reason) this.header.append(h("p", { class: "hint" }, reason));
  }

  /** Shows a past version, or the live object if there is none. */
  showPast(past) {
    this.past = past;
    this.classList.toggle("past", Boolean(past));
    this.lines.show(past ? past.view : this.view);
    if (past) this.lines.flash(past.paths);
  }

  /** Opens and closes the slider through the versions of the object. */
  toggleHistory(on) {
    this.slider.hidden = !on;
    if (on) this.slider.open(this.object);
    else if (this.past) this.showPast(undefined);
  }

  /** Tells which managers fight over fields of the object. */
  async tellFights() {
    const { items } = await get("fights", {}, this.abort.signal).catch(() => ({ items: [] }));
    const { namespace, name } = this.object;
    const ours = items.filter(({ object }) => object.kind === this.view.object.kind && object.name === name && (object.namespace ?? "") === (namespace ?? ""));
    for (const { message, advice } of ours) this.note(h("li", { class: "fight" }, h("b", null, `${message}.`), ` ${advice}.`), message);
  }

  isSecret() {
    return this.view.object.kind === "Secret" && this.view.object.apiVersion === "v1";
  }

  drawLegend() {
    const { options } = this.lines;
    const totals = new Map();
    for (const [, , owners] of this.view.lines) for (const number of owners) totals.set(number, (totals.get(number) ?? 0) + 1);
    const unowned = this.view.lines.filter((line) => line[1] === "u").length;
    const names = new Map();
    this.view.owners.forEach((owner, number) => {
      const entry = names.get(owner.manager) ?? { lines: 0, operations: [] };
      entry.lines += totals.get(number) ?? 0;
      entry.operations.push(operation(owner));
      names.set(owner.manager, entry);
    });
    const change = (name, value, query) => {
      options[name] = value;
      setQuery(query);
      this.lines.arrange();
      this.drawLegend();
    };
    const button = ([name, { lines, operations }]) => h("button", {
      type: "button", class: `manager ${colour(name)}`, "aria-pressed": String(options.manager === name), title: `Show only the fields of ${name} (${operations.join(", ")})`,
      onclick: () => change("manager", options.manager === name ? "" : name, { manager: options.manager === name ? "" : name }),
    }, h("i", { class: "dot" }), h("b", null, name), h("span", { class: "muted" }, String(lines)));
    fill(this.legend, [...names].map(button),
      unowned > 0 && h("span", { class: "manager none" }, h("i", { class: "dot" }), "no owner ", h("span", { class: "muted" }, String(unowned))),
      h("span", { class: "spring" }),
      toggle("History", !this.slider.hidden, (on) => this.toggleHistory(on)),
      toggle("Age", options.heat, (on) => change("heat", on, { heat: on ? "1" : "" })),
      toggle("Dim unowned", options.dim, (on) => change("dim", on, { dim: on ? "" : "0" })),
      this.isSecret() && toggle("Show values", !options.masked, (on) => {
        options.masked = !on;
        this.lines.arrange();
        if (this.path) this.explain(this.path);
      }),
      toggle("Fold", this.lines.folded.size > 0, (on) => this.lines.foldAll(on)));
    if (!this.legend.isConnected) this.split.before(this.legend);
  }

  explain(path) {
    this.path = path;
    setQuery({ path });
    this.query.set("path", path);
    this.panel.hidden = !path;
    this.split.classList.toggle("open", Boolean(path));
    this.lines.select(path);
    if (path) this.ask(path);
    else this.lines.focus({ preventScroll: true });
  }

  onChange(change) {
    if (change.values.length === 0 && change.owners.length === 0) return;
    const who = change.authors.length > 0 ? inWords(change.authors) : "The server";
    const what = change.values.length > 0
      ? change.values.slice(0, 3).map(({ path, before, after }) => [h("code", null, path), before === undefined ? " set to " : after === undefined ? " removed" : ` ${valueText(before)} → `, after !== undefined && h("code", null, valueText(after).slice(0, 80))])
      : change.owners.slice(0, 3).map((owner) => [h("b", null, owner.manager), ` ${owner.gained.length > 0 ? "gains" : "loses"} ${(owner.gained[0] ?? owner.lost[0] ?? owner.removed[0]) || ""}`]);
    const more = Math.max(change.values.length, 0) - 3;
    const author = change.authors[0]?.manager;
    this.note(h("li", null, h("span", { class: `who ${author ? colour(author) : ""}` }, h("i", { class: "dot" }), h("b", null, who)),
      what.map((part) => h("span", { class: "what" }, part)), more > 0 && h("span", { class: "muted" }, `and ${more} more`),
      h("time", { class: "muted" }, new Date().toLocaleTimeString())), `${who} changed ${change.values.map(({ path }) => path).slice(0, 3).join(", ") || "owners"}`);
    this.lines.flash(change.values.map(({ path }) => path));
  }

  note(item, words) {
    announce(words);
    this.notes ??= h("ol", { reversed: true });
    this.notes.prepend(item);
    while (this.notes.children.length > KEPT_CHANGES) this.notes.lastChild.remove();
    this.activity.hidden = false;
    fill(this.activity, h("h2", null, "Changes while you watch"), this.notes);
  }
}

customElements.define("object-view", ObjectView);
