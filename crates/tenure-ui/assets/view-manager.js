// What one manager owns: the objects in which it has fields.

import { fill, h } from "./dom.js";
import { address, objectAddress, title } from "./navigation.js";
import { emptyState, sortedTable } from "./elements.js";
import { ago, colour } from "./managers.js";
import { hiddenNotes } from "./hidden.js";
import { readSurvey } from "./survey.js";

class ManagerView extends HTMLElement {
  connectedCallback() {
    const [name = ""] = this.parts;
    title(`Manager ${name}`);
    this.abort = new AbortController();
    const body = h("div", { class: "plan" });
    fill(this, h("div", null, h("p", { class: "crumbs" }, h("a", { href: address("managers") }, "Managers")),
      h("h1", { class: colour(name) }, h("i", { class: "dot" }), " ", name)), body);
    readSurvey(body, "owned", { manager: name, namespace: this.query.get("namespace") }, this.abort.signal, (line) => this.draw(body, name, line));
  }

  disconnectedCallback() {
    this.abort.abort();
  }

  draw(body, name, line) {
    const { objects, count } = line;
    if (count === 0) return fill(body, emptyState("It owns nothing here", "No object that you may list has fields of this manager.", h("a", { class: "button", href: address("managers") }, "All managers")), hiddenNotes(line));
    const columns = [
      { title: "Object", key: "name", by: ({ object }) => `${object.name}`, cell: ({ object }) => h("a", { href: objectAddress(object, { manager: name }) }, object.name) },
      { title: "Kind", key: "kind", by: ({ object }) => object.kind, cell: ({ object }) => h("a", { href: address("objects", [object.apiVersion, object.resource], { manager: name }) }, object.kind) },
      { title: "Namespace", key: "namespace", by: ({ object }) => object.namespace ?? "", cell: ({ object }) => object.namespace ?? "" },
      { title: "Operation", key: "operation", by: ({ operations }) => operations.join(), cell: ({ operations }) => operations.join(", ") },
      { title: "Fields", key: "fields", number: true, by: ({ fields }) => fields, cell: ({ fields }) => fields.toLocaleString("en") },
      { title: "Last change", key: "last", number: true, by: ({ last }) => last ?? "", cell: ({ last }) => (last ? h("time", { datetime: last, title: last }, ago(last)) : "unknown") },
    ];
    fill(body, h("p", { class: "muted" }, `Owns fields in ${count.toLocaleString("en")} ${count === 1 ? "object" : "objects"}${objects.length < count ? `; the first ${objects.length.toLocaleString("en")} are listed` : ""}.`),
      sortedTable(`Objects of ${name}`, columns, objects, this.query, "-fields"), hiddenNotes(line));
  }
}

customElements.define("manager-view", ManagerView);
