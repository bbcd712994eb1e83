// The objects of a kind as a live list, with filters that are part of the address.

import { debounce, fill, h, icon } from "./dom.js";
import { follow } from "./api.js";
import { address, discover, go, objectAddress, setQuery, title } from "./navigation.js";
import { compare, emptyPage, emptyState, errorPage, errorState, loading, select, sortHead, sortItems, toggle } from "./elements.js";
import { age, bytes, chip } from "./managers.js";
import { VirtualList } from "./virtual-list.js";

const SIZES = [["", "Any size"], ["1000", "Over 1 kB"], ["10000", "Over 10 kB"], ["100000", "Over 100 kB"]];
// The kinds that the list begins with: the first that the server has and the user may list.
const START = [["apps/v1", "deployments"], ["v1", "configmaps"], ["v1", "pods"]];

// The columns: title, key, and the value that each sorts by.
const COLUMNS = [
  ["Name", "name", (row) => row.name],
  ["Managers", "managers", (row) => row.managers.length],
  ["Fields", "fields", (row) => row.fields ?? 0],
  ["Unowned", "unowned", (row) => row.unowned ?? 0],
  ["Managed fields", "bytes", (row) => row.bytes ?? 0],
  ["Age", "created", (row) => row.created ?? ""],
];

/** Returns the name of a kind, which may be broken between its words. */
const breakable = (name) => name.split(/(?<=[a-z])(?=[A-Z])/).flatMap((word, at) => (at ? [h("wbr"), word] : [word]));

class ObjectsView extends HTMLElement {
  async connectedCallback() {
    this.abort = new AbortController();
    fill(this, loading("Reading the kinds of the server…"));
    try {
      const { kinds, namespaces, allNamespaces } = await discover(true);
      this.allNamespaces = allNamespaces;
      if (this.isConnected) this.start(kinds, namespaces);
    } catch (error) {
      fill(this, errorPage("The kinds cannot be read", error, () => this.connectedCallback()));
    }
  }

  disconnectedCallback() {
    this.abort.abort();
  }

  start(kinds, namespaces) {
    const named = ([version, plural]) => kinds.find((kind) => kind.apiVersion === version && kind.resource === plural);
    const begin = START.map(named).find((kind) => kind?.listable) ?? kinds.find((kind) => kind.listable && kind.namespaced) ?? kinds[0];
    const [apiVersion, resource] = this.parts.length === 2 ? this.parts : [begin?.apiVersion, begin?.resource];
    this.kind = named([apiVersion, resource]);
    this.order = this.query.get("sort") ?? "";
    if (!this.kind) {
      return fill(this, emptyPage("The server has no such kind", `${resource} of ${apiVersion} is not served.`, h("a", { class: "button", href: address("objects") }, "All objects")));
    }
    title(`${this.kind.kind} objects`);
    this.objects = new Map();
    const query = this.query;
    this.filter = {
      namespace: this.kind.namespaced ? query.get("namespace") ?? "" : "", q: query.get("q") ?? "", labels: query.get("labels") ?? "",
      manager: query.get("manager") ?? "", unowned: query.get("unowned") === "1", size: query.get("size") ?? "",
    };
    this.count = h("p", { class: "count", role: "status" });
    this.body = h("div", { class: "list" });
    fill(this, this.sidebar(kinds), h("div", { class: "content" },
      h("div", { class: "heading" }, h("h1", null, this.kind.kind), h("span", { class: "muted" }, this.kind.apiVersion),
        h("a", { class: "link", href: address("types", [this.kind.apiVersion, this.kind.kind]) }, "How it merges")),
      this.tools(namespaces), this.count, this.body));
    this.listen();
  }

  sidebar(kinds) {
    const shown = kinds.filter((kind) => kind.preferred && (kind.listable || kind === this.kind));
    const hidden = kinds.filter((kind) => kind.preferred && !kind.listable && kind !== this.kind);
    const groups = new Map();
    for (const kind of shown) groups.set(kind.group, [...(groups.get(kind.group) ?? []), kind]);
    const current = (kind) => kind.resource === this.kind.resource && kind.apiVersion === this.kind.apiVersion;
    const href = (kind) => address("objects", [kind.apiVersion, kind.resource], { namespace: this.query.get("namespace") });
    const lists = [...groups].map(([group, members]) => h("section", null, h("h2", null, group || "core"),
      h("ul", null, members.map((kind) => h("li", null, h("a", { href: href(kind), "aria-current": current(kind) ? "true" : undefined }, breakable(kind.kind)))))));
    const search = h("input", { type: "search", placeholder: "Filter kinds", "aria-label": "Filter kinds", oninput: () => {
      const wanted = search.value.trim().toLowerCase();
      for (const section of lists) {
        let any = false;
        for (const item of section.querySelectorAll("li")) {
          item.hidden = !item.textContent.toLowerCase().includes(wanted);
          any ||= !item.hidden;
        }
        section.hidden = !any;
      }
    } });
    const options = shown.map((kind) => [href(kind), `${kind.kind}${kind.group ? ` · ${kind.group}` : ""}`]);
    const narrow = select(options, href(this.kind), go);
    narrow.setAttribute("aria-label", "Kind");
    const wide = h("nav", { class: "kinds", "aria-label": "Kinds" }, search, lists, hidden.length > 0 && h("details", null,
      h("summary", null, `${hidden.length} kinds that you may not list`), h("ul", null, hidden.map((kind) => h("li", null, h("a", { href: href(kind) }, kind.kind))))));
    requestAnimationFrame(() => wide.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" }));
    return h("div", { class: "sidebar" }, h("div", { class: "narrow" }, narrow), wide);
  }

  tools(namespaces) {
    const changed = (name, value, again) => {
      this.filter[name] = value;
      setQuery({ [name]: value === true ? "1" : value });
      if (again) this.listen();
      else this.refresh();
    };
    const named = (control, label) => {
      control.setAttribute("aria-label", label);
      return control;
    };
    const text = (name, label, placeholder, again) => h("input", {
      type: "search", value: this.filter[name], "aria-label": label, placeholder, spellcheck: "false",
      oninput: debounce((event) => changed(name, event.target.value.trim(), again), again ? 500 : 120),
    });
    const choose = this.filter.namespace && !namespaces.includes(this.filter.namespace) ? [...namespaces, this.filter.namespace] : namespaces;
    const searchField = text("q", "Search by name", "Search by name");
    searchField.setAttribute("data-search", "");
    if (this.query.get("focus") === "search") requestAnimationFrame(() => searchField.focus());
    this.managerChoice = named(select([["", "Any manager"]], "", (value) => changed("manager", value)), "Manager");
    return h("div", { class: "tools", role: "search" },
      h("div", { class: "search" }, icon("search"), searchField),
      this.kind.namespaced && this.namespaceChoice(choose, named, (value) => changed("namespace", value, true)),
      text("labels", "Label selector", "Label: app=web", true),
      this.managerChoice,
      named(select(SIZES, this.filter.size, (value) => changed("size", value)), "Size of managed fields"),
      toggle("Unowned fields", this.filter.unowned, (on) => changed("unowned", on)));
  }

  /** Returns the choice of a namespace: from all of them, or by name where the user may not list them. */
  namespaceChoice(namespaces, named, onChange) {
    if (this.allNamespaces) return named(select([["", "All namespaces"], ...namespaces.map((name) => [name, name])], this.filter.namespace, onChange), "Namespace");
    const list = h("datalist", { id: "namespaces" }, namespaces.map((name) => h("option", { value: name })));
    return [named(h("input", { list: "namespaces", value: this.filter.namespace, placeholder: "Namespace", spellcheck: "false", autocomplete: "off", onchange: (event) => onChange(event.target.value.trim()) }), "Namespace"), list];
  }

  async listen() {
    this.abort.abort();
    this.abort = new AbortController();
    this.objects.clear();
    this.synced = false;
    this.scope = undefined;
    fill(this.body, loading("Reading objects…"));
    const { namespace, labels } = this.filter;
    const query = { apiVersion: this.kind.apiVersion, resource: this.kind.resource, namespace, labelSelector: labels };
    const key = (row) => `${row.namespace ?? ""}/${row.name}`;
    const later = debounce(() => this.refresh(), 60);
    try {
      await follow("objects", query, this.abort.signal, (line) => {
        if (line.type === "scope") this.scope = line;
        else if (line.type === "begin") this.objects.clear();
        else if (line.type === "rows") for (const row of line.rows) this.objects.set(key(row), row);
        else if (line.type === "changed") this.objects.set(key(line.row), { ...line.row, fresh: performance.now() });
        else if (line.type === "deleted") this.objects.delete(key(line.row));
        else if (line.type === "synced") this.synced = true;
        later();
      });
    } catch (error) {
      fill(this.count);
      fill(this.body, errorState(error.code === 403 ? "You may not list these objects" : "The objects cannot be read", error, () => this.listen()));
    }
  }

  refresh() {
    const { q, manager, unowned, size } = this.filter;
    const all = [...this.objects.values()];
    const wanted = q.toLowerCase();
    this.shown = all.filter((row) =>
      (!wanted || `${row.namespace ?? ""}/${row.name}`.toLowerCase().includes(wanted)) &&
      (!manager || row.managers.some((owner) => owner.manager === manager)) &&
      (!unowned || row.unowned > 0) && (!size || row.bytes > Number(size)));
    this.shown.sort((a, b) => compare(a.namespace ?? "", b.namespace ?? "") || compare(a.name, b.name));
    const by = COLUMNS.find(([, key]) => key === this.order.replace("-", ""))?.[2];
    if (by) this.shown = sortItems(this.shown, this.order, by);
    this.offerManagers(all);
    const number = (count) => count.toLocaleString("en");
    const of = this.shown.length === all.length ? number(all.length) : `${number(this.shown.length)} of ${number(all.length)}`;
    fill(this.count, this.synced ? `${of} ${all.length === 1 ? "object" : "objects"}` : `${of} so far…`, this.synced && h("span", { class: "live", title: "Changes are shown as they happen" }, "Live"),
      this.scope && h("span", { class: "scope", title: this.scope.reason }, `Only the namespace ${this.scope.namespace}: you may not list ${this.kind.kind} objects in all namespaces.`));
    if (this.shown.length === 0) {
      if (!this.synced) return;
      const filtered = all.length > 0;
      return fill(this.body, emptyState(filtered ? "No object matches" : `No ${this.kind.kind} ${this.scope ? `in ${this.scope.namespace}` : "here"}`, filtered ? "Change the filters above." : "Objects appear here as soon as they are created."));
    }
    if (!this.table?.isConnected) this.draw();
    this.table.list.update(this.shown.length);
    // The head leaves room for the scroll bar of the rows.
    this.table.style.setProperty("--bar", `${this.table.list.offsetWidth - this.table.list.clientWidth}px`);
    this.table.setAttribute("aria-rowcount", String(this.shown.length + 1));
  }

  offerManagers(all) {
    const found = new Set();
    for (const row of all) for (const owner of row.managers) found.add(owner.manager);
    const names = [...found].sort();
    if (this.filter.manager && !names.includes(this.filter.manager)) names.unshift(this.filter.manager);
    const key = names.join("\n");
    if (key === this.offered) return;
    this.offered = key;
    fill(this.managerChoice, ["", ...names].map((name) => h("option", { value: name, selected: name === this.filter.manager }, name || "Any manager")));
  }

  draw() {
    const list = new VirtualList();
    list.rowHeight = 44;
    list.setAttribute("role", "rowgroup");
    const onSort = (next) => {
      this.order = next;
      setQuery({ sort: next });
      this.table.remove();
      this.refresh();
      this.table.querySelector("[aria-sort]:not([aria-sort=none]) button")?.focus();
    };
    const first = (key) => (key === "name" || key === "created" ? key : `-${key}`);
    const head = h("div", { class: "head", role: "row", "aria-rowindex": "1" }, COLUMNS.map(([name, key], at) =>
      sortHead("div", { role: "columnheader", class: `c${at}` }, Object.assign([name, key], { first: first(key) }), this.order, onSort)));
    this.table = h("div", { class: "objects", role: "table", "aria-label": `${this.kind.kind} objects` }, h("div", { role: "rowgroup" }, head), list);
    this.table.list = list;
    list.draw = (element, index) => this.drawRow(element, this.shown[index], index);
    list.addEventListener("keydown", (event) => this.onKey(event, list));
    fill(this.body, this.table);
  }

  drawRow(element, row, index) {
    const object = { apiVersion: this.kind.apiVersion, resource: this.kind.resource, namespace: row.namespace, name: row.name };
    const cell = (at, ...content) => h("div", { role: "cell", class: `c${at}` }, ...content);
    const unique = [...new Map(row.managers.map((owner) => [owner.manager, owner])).values()];
    element.setAttribute("role", "row");
    element.setAttribute("aria-rowindex", String(index + 2));
    element.classList.toggle("fresh", row.fresh !== undefined && performance.now() - row.fresh < 2000);
    fill(element,
      cell(0, h("a", { href: objectAddress(object) }, row.name), row.namespace && h("span", { class: "muted" }, row.namespace)),
      cell(1, unique.slice(0, 3).map(chip), unique.length > 3 && h("span", { class: "muted" }, `+${unique.length - 3}`)),
      cell(2, String(row.fields ?? "")), cell(3, row.unowned ? h("span", { class: "unowned" }, String(row.unowned)) : h("span", { class: "muted" }, "0")),
      cell(4, bytes(row.bytes ?? 0)), cell(5, age(row.created)));
  }

  onKey(event, list) {
    const row = event.target.closest(".row");
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (!row || !step) return;
    event.preventDefault();
    const index = Math.max(0, Math.min(this.shown.length - 1, row.index + step));
    list.reveal(index);
    list.rowAt(index)?.querySelector("a")?.focus({ preventScroll: true });
  }
}

customElements.define("objects-view", ObjectsView);
