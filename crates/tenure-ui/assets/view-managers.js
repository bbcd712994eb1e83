// All managers with what they own and when they were last active.

import { fill, h } from "./dom.js";
import { discover, setQuery, title } from "./navigation.js";
import { emptyState, select, sortedTable } from "./elements.js";
import { bytes, colour, managerAddress, managerLink, operation } from "./managers.js";
import { hiddenNotes } from "./hidden.js";
import { readSurvey } from "./survey.js";

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

  read() {
    this.abort?.abort();
    this.abort = new AbortController();
    readSurvey(this.body, "managers", { namespace: this.namespace }, this.abort.signal, (survey) => this.draw(survey));
  }

  draw(survey) {
    const { managers } = survey;
    const most = Math.max(1, ...managers.map((manager) => manager.fields));
    const number = (count) => count.toLocaleString("en");
    const left = managers.filter((manager) => manager.clientSide);
    const tile = (value, words) => h("div", { class: "tile" }, h("strong", null, value), h("span", null, words));
    if (managers.length === 0) {
      const hidden = survey.skipped.length > 0;
      return fill(this.body, emptyState("No managers", hidden ? "No object that you may list has managed fields. Others may exist." : "No object has managed fields."), hiddenNotes(survey));
    }
    const name = (manager) => h("span", { class: `who ${colour(manager.manager)}` }, h("i", { class: "dot" }), managerLink(manager.manager), manager.clientSide && h("span", { class: "tag" }, "client-side"), manager.stale && h("span", { class: "tag" }, "stale"));
    const columns = [
      { title: "Manager", key: "manager", by: ({ manager }) => manager, cell: name },
      { title: "Operation", key: "operation", by: operation, cell: operation },
      { title: "Objects", key: "objects", number: true, by: ({ objects }) => objects, cell: ({ manager, objects }) => h("a", { href: managerAddress(manager, { namespace: this.namespace }) }, number(objects)) },
      { title: "Fields", key: "fields", number: true, by: ({ fields }) => fields, cell: ({ manager, fields }) => h("span", null, number(fields), h("span", { class: `meter ${colour(manager)}`, vars: { "--part": `${(100 * fields) / most}%` } }, h("i"))) },
      { title: "Managed fields", key: "bytes", number: true, by: (manager) => manager.bytes, cell: (manager) => bytes(manager.bytes) },
      { title: "Last active", key: "last", number: true, by: ({ last }) => last ?? "", cell: ({ last, age }) => (age ? h("time", { datetime: last, title: last }, age) : "unknown") },
      { title: "Kinds", cell: ({ kinds }) => h("span", { class: "muted", title: kinds.join(", ") }, kinds.slice(0, 4).map((kind) => kind.split(".")[0]).join(", ") + (kinds.length > 4 ? ` and ${kinds.length - 4} more` : "")) },
    ];
    fill(this.body,
      h("div", { class: "tiles" }, tile(number(survey.objects), "objects"), tile(number(new Set(managers.map(({ manager }) => manager)).size), "managers"),
        tile(bytes(survey.bytes), "of managed fields"), tile(number(managers.filter(({ stale }) => stale).length), "stale for 90 days"),
        tile(number(survey.lastApplied), "with the annotation of client-side apply"), tile(number(survey.withoutManagers), "without managers")),
      left.length > 0 && h("ul", { class: "notes" }, h("li", null, `Client-side apply left fields behind under ${left.map(({ manager }) => manager).join(", ")}. “Migrate”, in the view of an object under “Hand over”, moves them to server-side apply.`)),
      sortedTable("Managers", columns, managers, this.query, "-fields"), hiddenNotes(survey));
  }
}

customElements.define("managers-view", ManagersView);
