// All managers with what they own and when they were last active.

import { fill, h } from "./dom.js";
import { once } from "./api.js";
import { discover, setQuery, title } from "./navigation.js";
import { emptyState, errorState, select, table } from "./elements.js";
import { bytes, colour, operation } from "./managers.js";

const COLUMNS = [["Manager"], ["Operation"], ["Objects", "number"], ["Fields", "number"], ["Managed fields", "number"], ["Last active", "number"], ["Kinds"]];

class ManagersView extends HTMLElement {
  async connectedCallback() {
    title("Managers");
    this.body = h("div", { class: "plan" });
    this.namespace = this.query.get("namespace") ?? "";
    const choose = h("div", { class: "tools" });
    fill(this, h("div", { class: "heading" }, h("h1", null, "Managers"), h("span", { class: "muted" }, "All field managers")), choose, this.body);
    const { namespaces } = await discover().catch(() => ({ namespaces: [] }));
    const menu = select([["", "All namespaces"], ...namespaces.map((name) => [name, name])], this.namespace, (namespace) => {
      this.namespace = namespace;
      setQuery({ namespace });
      this.read();
    });
    menu.setAttribute("aria-label", "Namespace");
    fill(choose, menu);
    this.read();
  }

  disconnectedCallback() {
    this.abort?.abort();
  }

  async read() {
    this.abort?.abort();
    this.abort = new AbortController();
    const bar = h("progress", { max: "1", value: 0, "aria-label": "Progress" });
    const words = h("p", null, "Reading all objects…");
    fill(this.body, h("div", { class: "state" }, bar, words));
    try {
      await once("managers", { namespace: this.namespace }, this.abort.signal, (line) => {
        if (line.type === "progress") {
          bar.max = line.of;
          bar.value = line.done;
          words.textContent = `Reading ${line.kind}…`;
        } else if (line.type === "survey") this.draw(line);
      });
    } catch (error) {
      fill(this.body, errorState("The managers cannot be read", error, () => this.read()));
    }
  }

  draw(survey) {
    const managers = survey.managers.toSorted((a, b) => b.fields - a.fields);
    const most = Math.max(1, ...managers.map((manager) => manager.fields));
    const number = (count) => count.toLocaleString("en");
    const left = managers.filter((manager) => manager.clientSide);
    const tile = (value, words) => h("div", { class: "tile" }, h("strong", null, value), h("span", null, words));
    if (managers.length === 0) return fill(this.body, emptyState("No managers", "No object has managed fields."));
    fill(this.body,
      h("div", { class: "tiles" }, tile(number(survey.objects), "objects"), tile(number(new Set(managers.map(({ manager }) => manager)).size), "managers"),
        tile(bytes(survey.bytes), "of managed fields"), tile(number(managers.filter(({ stale }) => stale).length), "stale for 90 days"),
        tile(number(survey.lastApplied), "with the annotation of client-side apply"), tile(number(survey.withoutManagers), "without managers")),
      left.length > 0 && h("ul", { class: "notes" }, h("li", null, `Client-side apply left fields behind under ${left.map(({ manager }) => manager).join(", ")}. “Migrate”, in the view of an object under “Hand over”, moves them to server-side apply.`)),
      table("Managers", COLUMNS, managers.map((manager) => [
        h("span", { class: `who ${colour(manager.manager)}` }, h("i", { class: "dot" }), h("b", null, manager.manager), manager.clientSide && h("span", { class: "tag" }, "client-side"), manager.stale && h("span", { class: "tag" }, "stale")),
        operation(manager), number(manager.objects),
        h("span", null, number(manager.fields), h("span", { class: `meter ${colour(manager.manager)}`, vars: { "--part": `${(100 * manager.fields) / most}%` } }, h("i"))),
        bytes(manager.bytes), manager.age ? h("time", { datetime: manager.last, title: manager.last }, manager.age) : "unknown",
        h("span", { class: "muted", title: manager.kinds.join(", ") }, manager.kinds.slice(0, 4).join(", ") + (manager.kinds.length > 4 ? ` and ${manager.kinds.length - 4} more` : "")),
      ])),
      survey.skipped.length > 0 && h("p", { class: "hint" }, `Not counted, because you may not list them: ${survey.skipped.join(", ")}.`));
  }
}

customElements.define("managers-view", ManagersView);
