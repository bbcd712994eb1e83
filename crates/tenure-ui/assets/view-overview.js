// The start: what deserves attention now, each part with the way to what it tells of.

import { fill, h } from "./dom.js";
import { address, objectAddress, title } from "./navigation.js";
import { pathNode, prose } from "./elements.js";
import { ago, bytes, chip, who } from "./managers.js";
import { hiddenNotes } from "./hidden.js";
import { readSurvey } from "./survey.js";

const number = (count) => count.toLocaleString("en");
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

/** Returns an object as a link with its kind and namespace. */
const objectLink = (object, query, view) => (object.resource
  ? h("span", { class: "object" }, h("a", { href: objectAddress(object, query, view) }, object.name), h("span", { class: "muted" }, ` ${object.kind}${object.namespace ? ` in ${object.namespace}` : ""}`))
  : h("span", null, object.name));

class OverviewView extends HTMLElement {
  connectedCallback() {
    title("Overview");
    this.abort = new AbortController();
    const namespace = this.query.get("namespace");
    this.now = h("div", { class: "cards" });
    this.all = h("div", { class: "plan" });
    fill(this, h("div", { class: "heading" }, h("h1", null, "Overview"), h("span", { class: "muted" }, "Who owns what, and where they disagree")), this.now, this.all);
    readSurvey(this.all, "overview", { namespace }, this.abort.signal, (line) => (line.type === "now" ? this.drawNow(line) : this.drawAll(line)));
  }

  disconnectedCallback() {
    this.abort.abort();
  }

  card(heading, count, items, none, more) {
    return h("section", { class: "card brief" }, h("header", null, h("h2", null, heading), count > 0 && h("span", { class: "count-badge" }, number(count))),
      items.length > 0 ? h("ul", { class: "brief-list" }, items.map((item) => h("li", null, item))) : h("p", { class: "muted" }, none), more);
  }

  drawNow({ fights, conflicts, writers, hasHistory }) {
    if (!hasHistory) {
      return fill(this.now, h("p", { class: "muted" }, prose("Who fights, what was refused and who writes most is known from a history that you may read. A Tenure server keeps one; for other clusters, start `tenure record`.")));
    }
    const fight = ({ object, path, sides, overwrites, last }) => [objectLink(object, { path }),
      h("span", { class: "line-of" }, object.resource ? h("a", { class: "quiet-link", href: objectAddress(object, { path }) }, pathNode(path)) : pathNode(path)),
      h("span", { class: "line-of" }, sides.map(({ manager }) => who(manager)), h("span", { class: "muted" }, `${plural(overwrites, "overwrite")}, last ${ago(last)}`))];
    const conflict = ({ object, manager, fields, count, time }) => [objectLink(object),
      h("span", { class: "line-of" }, fields.slice(0, 3).map(({ path }) => h("a", { class: "quiet-link", href: objectAddress(object, { path }) }, pathNode(path))), fields.length > 3 && h("span", { class: "muted" }, `and ${fields.length - 3} more`)),
      h("span", { class: "line-of" }, who(manager), h("span", { class: "muted" }, "against"), [...new Set(fields.flatMap(({ owners }) => owners))].slice(0, 3).map(who), h("span", { class: "muted" }, `${count > 1 ? `${count} times, ` : ""}${ago(time)}`))];
    const most = Math.max(1, ...writers.map(({ changes, noops }) => changes + noops));
    const writer = ({ manager, changes, noops }) => [h("span", { class: "line-of spread" }, manager ? who(manager) : h("span", { class: "muted" }, "without a name"),
      h("span", { class: "muted" }, `${plural(changes, "change")}${noops > 0 ? `, ${number(noops)} without effect` : ""}`)),
      h("span", { class: "meter", vars: { "--part": `${(100 * (changes + noops)) / most}%` } }, h("i"))];
    fill(this.now,
      this.card("Fights now", fights.length, fights.slice(0, 4).map(fight), "No managers keep overwriting each other."),
      this.card("Refused lately", conflicts?.length ?? 0, (conflicts ?? []).slice(0, 4).map(conflict), conflicts ? "No apply was refused in the last day." : "Only the server itself knows what it refused; a recorder does not."),
      this.card("Top writers", 0, writers.slice(0, 4).map(writer), "Nobody has written since the server started."));
  }

  drawAll(line) {
    const { objects, fields, unownedFields, unowned, clientSide, clientSideObjects, largest, managers, bytes: size } = line;
    const names = new Set(managers.map(({ manager }) => manager));
    const tile = (href, value, words) => h("a", { class: "tile", href }, h("strong", null, value), h("span", null, words));
    const left = ({ managers: owners, ...object }) => [objectLink(object, { action: "migrate" }, "handover"), h("span", { class: "line-of" }, owners.map((manager) => chip({ manager, operation: "Update" })))];
    const none = ({ kind, apiVersion, resource, objects: count, fields: open }) => h("span", { class: "line-of spread" }, h("a", { href: address("objects", [apiVersion, resource], { unowned: "1", sort: "-unowned" }) }, kind), h("span", { class: "muted" }, `${plural(open, "field")} in ${plural(count, "object")}`));
    const grown = ({ bytes: now, dayAgo, ...object }) => {
      const change = dayAgo === undefined ? "" : dayAgo === 0 ? "new today" : now === dayAgo ? "as a day ago" : `${now > dayAgo ? "+" : "−"}${bytes(Math.abs(now - dayAgo))} in a day`;
      return h("span", { class: "line-of spread" }, objectLink(object), h("span", { class: "muted" }, bytes(now), change && `, ${change}`));
    };
    fill(this.all,
      h("div", { class: "tiles" }, tile(address("objects"), number(objects), "objects"), tile(address("managers"), number(names.size), "managers"),
        tile(address("managers", [], { sort: "-fields" }), number(fields), "fields"), tile(address("managers", [], { sort: "-bytes" }), bytes(size), "of managed fields")),
      h("div", { class: "cards" },
        this.card("Left by client-side apply", clientSideObjects, clientSide.slice(0, 6).map(left), "Nothing. All appliers apply on the server."),
        this.card("Fields without an owner", unownedFields, unowned.slice(0, 6).map(none), "Every field has an owner."),
        this.card(largest.some(({ dayAgo }) => dayAgo !== undefined) ? "Growth of managed fields" : "Largest managed fields", 0, largest.slice(0, 6).map(grown), "There are no managed fields.")),
      hiddenNotes(line));
  }
}

customElements.define("overview-view", OverviewView);
