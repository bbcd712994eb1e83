// Trying an apply: a manifest and a manager on one side, on the other what would happen, with every conflict to be settled.

import { announce, debounce, fill, h, icon } from "./dom.js";
import { get, post } from "./api.js";
import { objectAddress, setQuery, title } from "./navigation.js";
import { choices, emptyState, errorState, field, guarded, loading, pathNode, sentence, valueNode } from "./elements.js";
import { described } from "./managers.js";
import { differs, sideBySide } from "./side-by-side.js";
import { causeList } from "./causes.js";
import { afterConflict, handoverPreview, ownerChanges, valueChanges } from "./changes.js";

// How a conflict can be settled: name, label, what it means.
const SETTLEMENTS = [
  ["take", "Take", "Set my value and become the only owner"],
  ["share", "Share", "Keep their value and own it together with them"],
  ["leave-out", "Leave out", "Keep their value and do not own the field"],
  ["transfer", "Transfer", "Keep their value and become the only owner"],
];

const VERDICTS = { "owners change": "owners", change: "change", create: "create", conflict: "conflict", refused: "refused" };

class ApplyView extends HTMLElement {
  async connectedCallback() {
    title("Try an apply");
    this.settlements = new Map();
    this.closed = new Set();
    this.manager = h("input", { value: this.query.get("manager") ?? "kubectl", spellcheck: "false", autocomplete: "off", oninput: () => this.changed() });
    this.manifest = h("textarea", { spellcheck: "false", autocomplete: "off", "aria-label": "Manifest", oninput: () => this.changed() });
    this.result = h("div", { class: "plan", "aria-live": "polite" });
    this.later = debounce(() => this.plan(), 450);
    fill(this,
      h("div", { class: "editor" }, h("h1", null, "Try an apply"),
        field("Field manager", this.manager, "The name under which the fields are owned."),
        field("Manifest", this.manifest)),
      this.result);
    this.idle();
    if (this.query.get("name")) await this.load();
  }

  disconnectedCallback() {
    this.abort?.abort();
    this.gone = true;
  }

  idle() {
    fill(this.result, emptyState("Nothing is written yet", "Write or paste a manifest. The server computes what would happen, and stores nothing."));
  }

  /** Starts with what a manager of an object applies. */
  async load() {
    const object = Object.fromEntries(["apiVersion", "resource", "namespace", "name", "manager"].map((name) => [name, this.query.get(name)]));
    fill(this.result, loading("Reading the object…"));
    try {
      const { manifest, manager } = await get("manifest", object);
      this.manifest.value = manifest;
      if (manager) this.manager.value = manager;
      await this.plan();
    } catch (error) {
      fill(this.result, errorState("The object cannot be read", error, () => this.load()));
    }
  }

  changed() {
    this.settlements.clear();
    setQuery({ manager: this.manager.value === "kubectl" ? "" : this.manager.value });
    this.later();
  }

  request() {
    const settlements = [...this.settlements].map(([key, choice]) => ({ ...JSON.parse(key), choice }));
    return { manifest: this.manifest.value, manager: this.manager.value, settlements };
  }

  async plan() {
    this.abort?.abort();
    if (this.gone) return;
    if (this.manifest.value.trim() === "") return this.idle();
    this.abort = new AbortController();
    const { signal } = this.abort;
    this.result.setAttribute("aria-busy", "true");
    try {
      const { plans } = await post("plan", this.request(), signal);
      this.plans = plans;
      this.draw();
    } catch (error) {
      if (error.name !== "AbortError") fill(this.result, errorState("This cannot be planned", error, () => this.plan()));
    } finally {
      this.result.removeAttribute("aria-busy");
    }
  }

  draw(done) {
    const open = this.plans.filter(({ plan }) => plan.action === "conflict").length;
    const refused = this.plans.find(({ plan }) => plan.error);
    const nothing = this.plans.every(({ plan, transfer }) => plan.action === "unchanged" && !transfer);
    const reason = open > 0 ? "settle every conflict first" : refused ? refused.plan.error : nothing ? "nothing would change" : "";
    const label = this.plans.length > 1 ? `Apply ${this.plans.length} objects` : "Apply";
    const button = guarded(label, reason, () => this.apply(), "button primary");
    button.id = "apply";
    const focus = document.activeElement?.closest?.(".conflict-card")?.dataset.key;
    fill(this.result, done, this.plans.map((entry, document) => this.card(entry, document)),
      h("div", { class: "bottom" }, button, h("span", { class: "muted" }, reason ? sentence(reason.length > 80 ? "the server refuses it" : reason) : "The plan is checked again before anything is written.")));
    if (focus) [...this.result.querySelectorAll(".conflict-card")].find((card) => card.dataset.key === focus)?.querySelector("input:checked")?.focus();
  }

  /** Returns the live object beside what the manifest would make of it. */
  comparison({ plan, rows, exists }, document) {
    if (!differs(rows)) return undefined;
    const secret = plan.object.kind === "Secret" && plan.object.apiVersion === "v1";
    const details = h("details", { open: !this.closed.has(document), ontoggle: () => (details.open ? this.closed.delete(document) : this.closed.add(document)) },
      h("summary", null, exists ? "Compared with the live object" : "The new object"),
      sideBySide(`${plan.object.kind} ${plan.object.name}, live and applied`, rows, ["Live", plan.action === "conflict" ? "If every field is taken" : "Applied"], secret));
    return details;
  }

  card({ plan, conflicts, causes, transfer, resource, exists, rows }, document) {
    const { object } = plan;
    const name = exists ? h("a", { href: objectAddress({ ...object, resource }) }, `${object.kind} ${object.name}`) : `${object.kind} ${object.name}`;
    return h("article", { class: "card" },
      h("header", null, h("h2", null, name), object.namespace && h("span", { class: "muted" }, object.namespace),
        h("span", { class: `verdict ${VERDICTS[plan.action] ?? ""}` }, sentence(plan.action))),
      plan.error && h("p", { class: "problem" }, plan.error),
      plan.warnings.length > 0 && h("ul", { class: "notes" }, plan.warnings.map((warning) => h("li", null, warning))),
      conflicts.length > 0 && h("section", null, h("h3", null, conflicts.length === 1 ? "One conflict" : `${conflicts.length} conflicts`), conflicts.map((conflict) => this.conflict(conflict, document))),
      causes.length > 0 && h("section", null, h("h3", null, "Why they conflict"), causeList(causes)),
      transfer && h("section", null, h("h3", null, "First, owners hand over"), handoverPreview(transfer)),
      this.comparison({ plan, rows, exists }, document) ?? (plan.values.length > 0 && h("section", null, h("h3", null, "Values"), valueChanges(plan.values))),
      plan.owners.length > 0 && h("section", null, h("h3", null, plan.action === "conflict" ? "Owners, if every field is taken" : "Owners"), ownerChanges(plan.owners)),
      plan.zeros.length > 0 && h("section", null, h("h3", null, "Zero values that may be unintended"), h("ul", { class: "changes" }, plan.zeros.map((zero) => h("li", null, pathNode(zero.path), valueNode(zero.value))))),
      plan.lingering.length > 0 && h("section", null, h("h3", null, "Not in the manifest, and stays"),
        h("ul", { class: "changes" }, plan.lingering.map((stays) => h("li", null, pathNode(stays.path), h("span", null, "owned by "), stays.owners.map(described))))),
      plan.action === "unchanged" && conflicts.length === 0 && h("p", { class: "muted" }, "The object is already as the manifest describes it, and the manager owns what it applies."));
  }

  conflict(conflict, document) {
    const key = JSON.stringify({ document, path: conflict.path });
    const chosen = this.settlements.get(key);
    const hint = SETTLEMENTS.find(([name]) => name === chosen)?.[2];
    return h("div", { class: `conflict-card${chosen ? " settled" : ""}`, "data-key": key }, pathNode(conflict.path),
      h("div", { class: "sides" },
        h("div", null, h("span", { class: "label" }, "Theirs"), valueNode(conflict.live), conflict.owners.map(described)),
        h("div", null, h("span", { class: "label" }, "Mine"), valueNode(conflict.proposed), described({ manager: this.manager.value || "kubectl", operation: "Apply" }))),
      choices("settle", `Settle ${conflict.path}`, SETTLEMENTS, chosen, (choice) => {
        this.settlements.set(key, choice);
        this.plan();
      }),
      h("p", { class: "hint" }, hint ?? "Choose what happens to the field."));
  }

  async apply() {
    fill(this.result, loading("Applying…"));
    try {
      const { results, undo, manifest } = await post("apply", { ...this.request(), digests: this.plans.map(({ digest }) => digest) });
      announce("Applied");
      const shown = results.slice(0, 5).flatMap(({ object, resource }, at) => [at > 0 && ", ", h("a", { href: objectAddress({ ...object, resource }) }, `${object.kind} ${object.name}`)]);
      const done = h("div", { class: "done", role: "status" }, icon("check"), h("span", { class: "words" }, shown, results.length > 5 && ` and ${results.length - 5} more`, " applied.",
        // What was settled is part of the manifest now; the old text would conflict again.
        manifest && " The manifest beside is the one that was applied, as you settled it."),
        undo && h("button", { type: "button", class: "button", onclick: () => this.undo(undo, done, {}) }, "Undo"));
      this.settlements.clear();
      if (manifest) this.manifest.value = manifest;
      const { plans } = await post("plan", this.request());
      this.plans = plans;
      this.draw(done);
    } catch (error) {
      fill(this.result, errorState(error.code === 409 ? "The object has changed" : "The apply was refused", error, () => this.plan()));
    }
  }

  /** Takes the last apply back: values, owners, and objects that it created. */
  async undo(id, done, since) {
    try {
      const { left } = await post("undo", { id, ...since });
      announce("Undone");
      const { plans } = await post("plan", this.request());
      this.plans = plans;
      this.draw(h("div", { class: "done", role: "status" }, icon("check"), h("span", { class: "words" }, left.length > 0 ? `Undone, except for what was written since. ${sentence(left.join("; "))}` : "Undone. The objects are as they were before the apply.")));
    } catch (error) {
      done.classList.add("asks");
      fill(done, icon("warn"), h("span", { class: "words" }, sentence(error.message)), afterConflict(error, true, since, (chosen) => this.undo(id, done, chosen)));
    }
  }
}

customElements.define("apply-view", ApplyView);
