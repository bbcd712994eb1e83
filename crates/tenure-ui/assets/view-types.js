// How each list and map of a kind merges, in words; which keys are weak; and what a new definition would change.

import { fill, h } from "./dom.js";
import { get, post } from "./api.js";
import { address, discover, go, title } from "./navigation.js";
import { field, select, sentence, show, table } from "./elements.js";
import { chip } from "./managers.js";

const COLUMNS = [["Field"], ["Type"], ["Server-side apply"], ["Strategic merge patch"]];

class TypesView extends HTMLElement {
  async connectedCallback() {
    const [apiVersion = "apps/v1", kind = "Deployment"] = this.parts;
    this.kind = { apiVersion, kind };
    this.path = this.query.get("path") ?? "";
    title(`Type ${kind}${this.path}`);
    this.body = h("div", { class: "plan" });
    const choose = h("div", { class: "tools" });
    fill(this, h("div", { class: "heading" }, h("h1", null, "Types"), h("span", { class: "muted" }, "How lists and maps merge")), choose, this.body, this.definition());
    show(this.body, "Reading the type…", async () => this.draw(await get("type", { ...this.kind, path: this.path })));
    const { kinds } = await discover().catch(() => ({ kinds: [] }));
    const here = address("types", [apiVersion, kind]);
    const options = kinds.map((known) => [address("types", [known.apiVersion, known.kind]), `${known.kind} · ${known.apiVersion}`]);
    const menu = select(options.some(([to]) => to === here) ? options : [[here, `${kind} · ${apiVersion}`], ...options], here, go);
    menu.setAttribute("aria-label", "Kind");
    fill(choose, menu);
  }

  link(label, path) {
    return h("a", { href: address("types", [this.kind.apiVersion, this.kind.kind], { path }) }, label);
  }

  draw(type) {
    const steps = this.path.split(".").filter(Boolean);
    const crumbs = h("nav", { class: "type-path", "aria-label": "Path" }, this.link(type.kind, ""), steps.map((step, at) => [h("span", { class: "muted", "aria-hidden": "true" }, "."), this.link(step, `.${steps.slice(0, at + 1).join(".")}`)]));
    const fact = (name, text) => text && [h("dt", null, name), h("dd", null, sentence(text))];
    return [
      h("section", { class: "card" }, crumbs, h("dl", { class: "facts" }, fact("Type", type.type), fact("Presence", type.presence), fact("Server-side apply", type.serverSideApply),
        fact("Strategic merge patch", type.strategicMergePatch), fact("JSON merge patch", type.jsonMergePatch))),
      type.weakKeys.length > 0 && h("section", { class: "card" }, h("h2", null, "Weak keys"), type.weakKeys.map((weak) => h("div", { class: "weak" },
        h("b", null, weak.field), h("span", null, `Merged by ${weak.mergeKey ?? (weak.mapKeys.join(", ") || "no key")}: ${weak.reasons.join("; ")}.`), h("span", { class: "muted" }, sentence(weak.advice))))),
      type.fields.length > 0 && table("Fields", COLUMNS, type.fields.map((below) => [
        h("span", null, below.hasFields ? this.link(below.name, `${this.path}.${below.name}`) : h("code", null, below.name), below.required && h("span", { class: "muted" }, " required")),
        h("code", null, below.type), below.serverSideApply, below.strategicMergePatch])),
    ];
  }

  definition() {
    const text = h("textarea", { rows: "8", spellcheck: "false", autocomplete: "off" });
    const result = h("div", { class: "plan", "aria-live": "polite" });
    const compare = () => show(result, "Comparing…", async () => this.changes(await post("definition", { definition: text.value })));
    return h("details", { class: "card" }, h("summary", null, "What would a new definition change?"),
      field("CustomResourceDefinition", text, "It is compared with the one that the server has now. Nothing is written."),
      h("p", { class: "actions" }, h("button", { type: "button", class: "button", onclick: compare }, "Compare")), result);
  }

  changes({ versions }) {
    return versions.map(({ apiVersion, kind, changes }) => h("section", null, h("h2", null, `${kind} ${apiVersion}`),
      changes.length === 0 ? h("p", null, "All lists and maps merge as before.") : changes.map((change) => h("div", { class: "weak" }, h("code", null, change.path),
        h("span", null, `Was ${change.before}, becomes ${change.after}: ${change.consequence}.`),
        change.affects.length > 0 ? h("ul", null, change.affects.map((affected) => h("li", null, affected.object, " ", chip(affected)))) : h("span", { class: "muted" }, "No object is affected.")))));
  }
}

customElements.define("types-view", TypesView);
