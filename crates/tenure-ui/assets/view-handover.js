// Handing over: moving the ownership of fields without changing values, with a preview; and undoing it.

import { announce, debounce, download, fill, h, icon } from "./dom.js";
import { get, once, post } from "./api.js";
import { address, objectAddress, objectOf, setQuery, title } from "./navigation.js";
import { choices, crumbs, emptyState, errorPage, errorState, field, guarded, loading, sentence } from "./elements.js";
import { ago, colour, label } from "./managers.js";
import { afterConflict, handoverPreview } from "./changes.js";

// The actions: name, label, what it does, and which inputs it needs.
const ACTIONS = [
  ["transfer", "Transfer", "Move single fields to another manager. Values stay.", ["to", "paths", "from"]],
  ["release", "Release", "Give up single fields. A field without any other owner is removed, unless you keep its value.", ["paths", "from", "keep"]],
  ["adopt", "Adopt", "Move everything that some managers own to another one.", ["to", "from"]],
  ["migrate", "Migrate", "Move everything that client-side apply left behind to server-side apply, and remove its annotation.", ["to", "from"]],
];

class HandoverView extends HTMLElement {
  async connectedCallback() {
    title("Hand over");
    this.abort = new AbortController();
    this.undoList = h("section", { class: "card", "aria-label": "Steps that can be undone" });
    if (this.parts.length !== 4) {
      fill(this, h("h1", null, "Hand over"), emptyState("Choose an object first", "Open an object and choose “Hand over”. What you do can be undone here.", h("a", { class: "button", href: address("objects") }, "Objects")), this.undoList);
      return this.drawUndo();
    }
    this.object = objectOf(this.parts);
    fill(this, loading("Reading the object…"));
    try {
      const view = await this.read();
      if (this.isConnected) this.start(view);
    } catch (error) {
      fill(this, errorPage("The object cannot be read", error, () => this.connectedCallback()));
    }
  }

  disconnectedCallback() {
    this.abort.abort();
  }

  async read() {
    const one = new AbortController();
    let view;
    await once("object", this.object, one.signal, (line) => {
      view ??= line;
      one.abort();
    });
    return view;
  }

  start(view) {
    this.view = view;
    const managers = [...new Map(view.owners.map((owner) => [owner.manager, owner])).keys()];
    const path = this.query.get("path");
    this.form = { action: this.query.get("action") || "transfer", paths: new Set(path ? [path] : []), from: new Set(), to: "", keep: false };
    this.inputs = {
      paths: this.fieldChoice(view),
      from: this.checks("Managers to take from", managers.map((name) => [name, label(view.owners.find((owner) => owner.manager === name))]), this.form.from, "None chosen means all of them."),
      to: this.managerChoice(managers),
      keep: h("label", { class: "check" }, h("input", { type: "checkbox", onchange: (event) => this.change(() => (this.form.keep = event.target.checked)) }), " Keep the values, without an owner"),
    };
    this.formBody = h("div", { class: "field" });
    this.preview = h("div", { class: "card plan", "aria-live": "polite" });
    this.later = debounce(() => this.plan(), 300);
    fill(this,
      h("div", null, crumbs(this.object, view.object.kind, true), h("h1", null, "Hand over")),
      h("div", { class: "two" }, h("form", { class: "card", onsubmit: (event) => event.preventDefault() },
        choices("action", "What to do", ACTIONS.map(([name, label, hint]) => [name, label, hint]), this.form.action, (action) => {
          this.form.action = action;
          setQuery({ action });
          this.drawForm();
          this.later();
        }), this.formBody), this.preview), this.undoList);
    this.drawForm();
    this.plan();
    this.drawUndo();
  }

  change(work) {
    work();
    this.later();
  }

  fieldChoice(view) {
    const owned = [...new Map(view.lines.filter((line) => line[1] === "o").map((line) => [line[3], line])).values()];
    const filter = h("input", { type: "search", placeholder: "Filter fields", "aria-label": "Filter fields" });
    const entries = owned.map(([, , owners, path]) => [path, h("code", null, path), h("span", { class: `who ${colour(view.owners[owners[0]].manager)}` }, h("i", { class: "dot" }), view.owners[owners[0]].manager)]);
    const box = this.checks("Fields", entries, this.form?.paths ?? new Set());
    filter.addEventListener("input", () => {
      for (const label of box.querySelectorAll("label")) label.hidden = !label.textContent.toLowerCase().includes(filter.value.trim().toLowerCase());
    });
    box.querySelector(".checks").before(filter);
    return box;
  }

  checks(title, entries, set, hint) {
    return h("fieldset", { class: "field" }, h("legend", { class: "label" }, title), h("div", { class: "checks", tabindex: "0", role: "group", "aria-label": title }, entries.map(([value, ...content]) =>
      h("label", null, h("input", { type: "checkbox", value, checked: set.has(value), onchange: (event) => this.change(() => (event.target.checked ? set.add(value) : set.delete(value))) }), content))),
      hint && h("p", { class: "hint" }, hint));
  }

  managerChoice(managers) {
    const list = h("datalist", { id: "managers" }, managers.map((name) => h("option", { value: name })));
    const input = h("input", { list: "managers", autocomplete: "off", spellcheck: "false", placeholder: "for example argocd", oninput: (event) => this.change(() => (this.form.to = event.target.value)) });
    return h("div", null, field("New owner", input, "A manager that applies."), list);
  }

  drawForm() {
    const [, , hint, inputs] = ACTIONS.find(([name]) => name === this.form.action) ?? ACTIONS[0];
    fill(this.formBody, h("p", { class: "muted" }, hint), inputs.map((name) => this.inputs[name]));
  }

  request() {
    const { action, paths, from, to, keep } = this.form;
    const uses = (name) => ACTIONS.find(([known]) => known === action)[3].includes(name);
    return { ...this.object, action, paths: uses("paths") ? [...paths] : [], from: [...from], to: uses("to") ? to : "", keepValues: keep };
  }

  async plan() {
    const { action, paths, from, to } = this.form;
    const missing = ["transfer", "release"].includes(action) && paths.size === 0 ? "Choose the fields."
      : action === "adopt" && from.size === 0 ? "Choose the managers to adopt from."
      : action !== "release" && to.trim() === "" ? "Name the new owner." : "";
    if (missing) return fill(this.preview, h("h2", null, "Preview"), h("p", { class: "muted" }, missing));
    try {
      const shown = await post("handover", this.request());
      const reason = this.view.patch?.allowed === false ? this.view.patch.reason : shown.empty ? "nothing would change" : "";
      fill(this.preview, h("h2", null, "Preview"), handoverPreview(shown),
        h("div", { class: "actions" }, guarded(sentence(action), reason, () => this.carryOut(shown.digest), "button primary"), reason && !shown.empty && h("p", { class: "hint" }, reason)));
    } catch (error) {
      fill(this.preview, h("h2", null, "Preview"), h("p", { class: "problem", role: "alert" }, sentence(error.message)));
    }
  }

  async carryOut(digest) {
    try {
      const { id } = await post("handover/carry-out", { ...this.request(), digest });
      announce("Done");
      this.view = await this.read();
      await this.drawUndo();
      fill(this.preview, h("p", { class: "done", role: "status" }, icon("check"), "Done. It can be undone below.", h("button", { type: "button", class: "button", onclick: () => this.undo({ id }, {}) }, "Undo")), h("a", { class: "button", href: objectAddress(this.object) }, "Show the object"));
    } catch (error) {
      fill(this.preview, errorState("This was refused", error, () => this.plan()));
    }
  }

  async drawUndo() {
    const { steps } = await get("undo").catch(() => ({ steps: [] }));
    const problem = h("p", { class: "problem", role: "alert" });
    this.undo = async (step, since) => {
      try {
        const { left } = await post("undo", { id: step.id, ...since });
        announce("Undone");
        await this.drawUndo();
        if (left.length > 0) fill(this.undoList.querySelector(".problem"), `Written since, and stays: ${left.join("; ")}`);
        if (this.view) this.plan();
      } catch (error) {
        fill(problem, sentence(error.message), " ", afterConflict(error, step.writes, since, (chosen) => this.undo(step, chosen)));
      }
    };
    const save = async ({ id }) => {
      try {
        download(`tenure-undo-${id}.json`, JSON.stringify(await get("undo/file", { id }), null, 2));
      } catch (error) {
        fill(problem, sentence(error.message));
      }
    };
    fill(this.undoList, h("h2", null, "Undo"), problem, steps.length === 0
      ? h("p", { class: "muted" }, "Nothing was done yet that could be undone.")
      : h("ul", { class: "steps" }, steps.map((step) => h("li", null, h("span", null, sentence(step.title), step.time && h("time", { class: "muted", datetime: step.time, title: step.time }, ` ${ago(step.time)}`)),
        h("button", { type: "button", class: "button", onclick: () => save(step) }, "Save undo file"),
        h("button", { type: "button", class: "button", onclick: () => this.undo(step, {}) }, "Undo")))));
  }
}

customElements.define("handover-view", HandoverView);
