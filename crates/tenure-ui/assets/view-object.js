// One object: its lines with their owners, why each is as it is, and every change as it happens.

import { announce, fill, h } from "./dom.js";
import { follow, get, post } from "./api.js";
import { address, go, objectAddress, objectOf, setQuery, title } from "./navigation.js";
import { crumbs, emptyPage, errorPage, guarded, loading, sentence, toggle, valueText } from "./elements.js";
import { ago, colour, inWords, managerAddress, managerLink, operation, span, who as link } from "./managers.js";
import { isSecret } from "./object-lines.js";
import "./why-panel.js";
import "./history.js";

const KEPT_CHANGES = 50;

/** Returns in a sentence, without its end, who fights over a field, how often and since when. */
function fightWords({ path, sides, overwrites, since, last }) {
  const side = ({ manager, value, hidden }) => (value === undefined && !hidden ? `${manager} removes it` : hidden ? `${manager} sets it` : `${manager} sets it to ${value}`);
  return `Managers keep overwriting ${path}: ${sides.map(side).join(", ")}; ${overwrites} times in ${span(since, last)}, last ${ago(last)}`;
}

class ObjectView extends HTMLElement {
  connectedCallback() {
    this.abort = new AbortController();
    if (this.parts.length !== 4) return fill(this, emptyPage("No object is named in this address", "Choose one from the list.", h("a", { class: "button", href: address("objects") }, "Objects")));
    this.object = objectOf(this.parts);
    title(this.object.name);
    this.header = h("div", { class: "header" });
    this.legend = h("div", { class: "legend", role: "group", "aria-label": "Managers" });
    this.fights = h("section", { class: "fights", "aria-label": "Fights", hidden: true });
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
    this.at = this.query.get("at") ?? "";
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
      if (missing && (await this.showDeleted())) return;
      fill(this, errorPage(missing ? "The object does not exist" : error.code === 403 ? "You may not read this object" : "The object cannot be read", error, () => this.connectedCallback()));
    }
  }

  onLine(line) {
    if (line.type === "deleted") {
      this.note(h("li", { class: "deleted" }, "The object was deleted. ", h("button", { type: "button", class: "button", onclick: () => go(objectAddress(this.object)) }, "Show its last version")), "The object was deleted");
      return;
    }
    const first = !this.view;
    this.access = line.patch ?? this.access;
    this.view = line;
    if (first) {
      // Secret values are shown on request only, because other people may see the screen.
      this.lines.options.masked = this.isSecret();
      fill(this, this.header, this.fights, this.activity, this.slider, this.split);
      this.tellFights();
      if (this.at) this.toggleHistory(true, this.at);
    }
    this.drawHeader();
    // While a past version is shown, the lines stay.
    if (!this.past) this.lines.show(line);
    this.drawLegend();
    if (line.change) {
      this.onChange(line.change);
      this.stale = true;
      if (!this.past) this.refreshSlider();
    }
    const path = this.query.get("path");
    if (first && path) this.explain(path);
    else if (this.path) this.ask(this.path);
  }

  ask(path) {
    const masked = this.lines.options.masked && isSecret(path);
    this.panel.explain(this.object, path, { kind: this.view.object.kind, access: this.access, masked, at: this.past?.at });
  }

  drawHeader() {
    const { object } = this.view;
    const reason = this.access?.allowed === false ? this.access.reason : "";
    const link = (label, view) => (reason ? guarded(label, reason) : h("a", { class: "button", href: view === "apply" ? address("apply", [], this.object) : objectAddress(this.object, {}, view) }, label));
    fill(this.header,
      h("div", { class: "heading" },
        crumbs(this.object, object.kind),
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
    else this.refreshSlider();
    // The explanation is that of the version that is shown.
    if (this.path) this.ask(this.path);
  }

  /** Shows the last version of an object that was deleted; returns false if nothing is known of it. */
  async showDeleted() {
    const { available, items } = await get("history", this.object, this.abort.signal).catch(() => ({ available: false }));
    const deletion = available && items[0]?.type === "Deleted" ? items[0] : undefined;
    if (!deletion) return false;
    const { name } = this.object;
    const view = await get("version", { ...this.object, at: deletion.previous }, this.abort.signal);
    this.view = view;
    this.lines.options.masked = this.isSecret();
    const place = h("div", { class: "restore" });
    // A recorder without audit events does not know who deleted it.
    const whoDeleted = deletion.manager && deletion.user ? ` by ${deletion.manager} (${deletion.user})` : deletion.manager || deletion.user ? ` by ${deletion.manager || deletion.user}` : "";
    fill(this.header, h("div", { class: "heading" }, crumbs(this.object, view.object.kind), h("h1", null, name)),
      h("div", { class: "actions" }, h("button", { type: "button", class: "button primary", onclick: () => this.previewRestore(place) }, "Restore")),
      h("p", { class: "hint" }, `Deleted ${ago(deletion.time)}${whoDeleted}. This is its last version.`));
    this.slider.hidden = false;
    fill(this, this.header, place, this.slider, this.split);
    this.lines.show(view);
    this.drawLegend();
    this.past = { view, at: deletion.previous, paths: [] };
    this.classList.add("past");
    await this.slider.open(this.object, this.at, { allowed: false });
    return true;
  }

  /** Shows how the object would be brought back, and offers to do it. */
  async previewRestore(place) {
    fill(place, loading("Reading its last version…"));
    try {
      const { notes, digest } = await get("restore", this.object, this.abort.signal);
      const carryOut = async () => {
        try {
          await post("restore", { ...this.object, digest });
          announce("Restored");
          go(objectAddress(this.object));
        } catch (error) {
          fill(place, h("p", { class: "problem", role: "alert" }, sentence(error.message)));
        }
      };
      fill(place, h("p", null, "The object is created again as it was, with the owners of its fields. It gets a new uid, and its status is left to controllers."),
        notes.length > 0 && h("ul", { class: "notes" }, notes.map((note) => h("li", null, note))),
        h("p", { class: "actions" }, h("button", { type: "button", class: "button primary", onclick: carryOut }, `Restore ${this.object.name}`), h("button", { type: "button", class: "button", onclick: () => fill(place) }, "Cancel")));
    } catch (error) {
      fill(place, h("p", { class: "problem", role: "alert" }, sentence(error.message)));
    }
  }

  /** Reads the versions again if the object has changed since. */
  refreshSlider() {
    if (!this.stale || this.slider.hidden) return;
    this.stale = false;
    this.slider.open(this.object, "", this.access);
  }

  /** Opens and closes the slider through the versions of the object. */
  toggleHistory(on, at) {
    this.slider.hidden = !on;
    if (on) return this.slider.open(this.object, at, this.access);
    setQuery({ at: "" });
    if (this.past) this.showPast(undefined);
  }

  /** Tells which managers fight over fields of the object. */
  async tellFights() {
    const { items } = await get("fights", {}, this.abort.signal).catch(() => ({ items: [] }));
    const { namespace, name } = this.object;
    const ours = items.filter(({ object }) => object.kind === this.view.object.kind && object.name === name && (object.namespace ?? "") === (namespace ?? ""));
    if (ours.length === 0) return;
    announce(ours.map(fightWords).join(". "));
    const fight = (one) => h("li", null, h("b", null, `${fightWords(one)}.`), h("span", null, `${one.advice}.`),
      h("span", { class: "links" }, h("a", { href: objectAddress(this.object, { path: one.path }) }, `Why ${one.path}`), one.sides.map(({ manager }) => link(manager))));
    this.fights.hidden = false;
    const list = h("ul", null, ours.map(fight));
    // Many would leave no room for the object.
    if (ours.length === 1) return fill(this.fights, h("h2", null, "Managers fight over a field"), list);
    const paths = ours.slice(0, 3).map(({ path }) => path).join(", ");
    fill(this.fights, h("details", null, h("summary", null, h("h2", null, `Managers fight over ${ours.length} fields`), h("span", { class: "muted" }, ours.length > 3 ? `${paths} and ${ours.length - 3} more` : paths)), list));
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
      options.manager && names.has(options.manager) && h("a", { class: "elsewhere", href: managerAddress(options.manager) }, `Everything ${options.manager} owns`),
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
    // On a narrow screen the explanation is below the lines, which then begin at the top.
    if (path && matchMedia("(max-width: 860px)").matches) this.split.scrollIntoView({ block: "start" });
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
    this.note(h("li", null, h("span", { class: `who ${author ? colour(author) : ""}` }, h("i", { class: "dot" }), change.authors.length === 1 ? managerLink(author) : h("b", null, who)),
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
