// Parts that several views use: the way to an object, states (loading, empty, error), values, paths, tables and choices.

import { fill, h, icon } from "./dom.js";
import { address, objectAddress, setQuery } from "./navigation.js";

/** Returns the way to an object: the list of its kind and its namespace, and for views below it the object itself. */
export const crumbs = (object, kind, below = false) => h("p", { class: "crumbs" },
  h("a", { href: address("objects", [object.apiVersion, object.resource], { namespace: object.namespace }) }, kind),
  object.namespace && h("span", null, object.namespace), below && h("a", { href: objectAddress(object) }, object.name));

/** Returns a text in which commands stand between backticks, as the messages of the server write them. */
export const prose = (text) => String(text).split("`").map((part, at) => (at % 2 === 1 ? h("code", null, part) : part));

/** Returns a placeholder while something is read. */
export const loading = (what) =>
  h("div", { class: "state", role: "status" }, h("div", { class: "bars", "aria-hidden": "true" }, h("i"), h("i"), h("i")), h("p", null, what));

/** Returns the placeholder of an empty part. */
export const emptyState = (title, text, ...actions) =>
  h("div", { class: "state" }, h("h2", null, title), text && h("p", null, prose(text)), actions.length > 0 && h("p", { class: "actions" }, ...actions));

/** Returns an error, with a way to try again. */
export const errorState = (title, error, retry, level = "h2") =>
  h("div", { class: "state error", role: "alert" }, icon("warn"), h(level, null, title), h("p", null, prose(sentence(error.message ?? String(error)))),
    retry && h("button", { class: "button", type: "button", onclick: retry }, icon("refresh"), "Try again"));

/** Returns a text that begins with a capital. */
export const sentence = (text) => (text ? text[0].toUpperCase() + text.slice(1) : text);

/** Returns a value as one line of text. */
export function valueText(value) {
  if (value === undefined) return "not set";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** How many characters of a value are shown at first. */
const LONG = 400;

/** Returns a value. A long one is cut, or if a person decides about it, whole in a box that scrolls; a button shows it all. */
export function valueNode(value, className = "", whole = false) {
  const text = valueText(value);
  if (value === undefined) return h("span", { class: `value none ${className}` }, text);
  const code = h("code", { class: `value ${className}` }, text === "" ? '""' : text);
  if (text.length <= LONG) return code;
  const button = h("button", { type: "button", class: "more", onclick: () => draw(button.getAttribute("aria-expanded") !== "true") });
  const draw = (all) => {
    code.textContent = all || whole ? text : text.slice(0, LONG) + "…";
    code.classList.toggle("box", !all);
    // What scrolls is reached with the keyboard.
    if (all) code.removeAttribute("tabindex");
    else code.tabIndex = 0;
    button.setAttribute("aria-expanded", String(all));
    button.textContent = all ? "Show less" : `Show all ${text.length.toLocaleString("en")} characters`;
  };
  draw(false);
  return h("span", { class: "long" }, code, button);
}

/** Returns a path with places to break a line. */
export function pathNode(path) {
  const code = h("code", { class: "path" });
  for (const part of path.split(/(?=[.[])/)) code.append(part, document.createElement("wbr"));
  return code;
}

/** Returns a field of a form with its label. */
export function field(label, control, hint) {
  const id = control.id || `f${(field.next = (field.next ?? 0) + 1)}`;
  control.id = id;
  if (hint) control.setAttribute("aria-describedby", `${id}h`);
  return h("div", { class: "field" }, h("label", { for: id }, label), control, hint && h("p", { class: "hint", id: `${id}h` }, hint));
}

/** Returns a switch that is on or off. */
export function toggle(label, on, onChange) {
  const button = h("button", { type: "button", class: "toggle", "aria-pressed": String(on), onclick: () => {
    const next = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(next));
    onChange(next);
  } }, label);
  return button;
}

/** Returns a menu of choices: pairs of value and label. */
export function select(options, value, onChange) {
  return h("select", { onchange: (event) => onChange(event.target.value) },
    options.map(([key, label]) => h("option", { value: key, selected: key === value }, label)));
}

/** Returns a group of choices of which one is selected: entries are value, label and explanation. */
export function choices(name, legend, entries, value, onChange) {
  const id = `c${(choices.next = (choices.next ?? 0) + 1)}`;
  return h("fieldset", { class: "choices" }, h("legend", { class: "hidden-text" }, legend), entries.map(([key, label, hint]) =>
    h("label", { class: "choice", title: hint }, h("input", { type: "radio", name: `${name}-${id}`, value: key, checked: key === value, onchange: () => onChange(key) }),
      h("span", null, label))));
}

/** Returns a button that cannot be used while there is a reason, which it shows. */
export function guarded(label, reason, onClick, className = "button") {
  if (!reason) return h("button", { type: "button", class: className, onclick: onClick }, label);
  return h("button", { type: "button", class: className, "aria-disabled": "true", title: sentence(reason) }, label);
}

/** Returns a table. Columns are [title, class]; rows are arrays of nodes. */
export function table(caption, columns, rows) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", null, h("caption", { class: "hidden-text" }, caption),
      h("thead", null, h("tr", null, columns.map(([title, name]) => h("th", { scope: "col", class: name }, title)))),
      h("tbody", null, rows.map((row) => h("tr", null, row.map((cell, at) => h("td", { class: columns[at][1] }, cell)))))));
}

/** Compares two values: numbers as such, texts byte by byte, as the server does. */
export const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the head of a column that sorts, as a cell of the given tag. `order` is the name of the column, with a minus if it descends. */
export function sortHead(tag, attributes, column, order, onSort) {
  const [title, key] = column;
  if (!key) return h(tag, attributes, title);
  const current = order === key ? "ascending" : order === `-${key}` ? "descending" : "none";
  const next = current === "none" ? (column.first ?? key) : current === "ascending" ? `-${key}` : key;
  return h(tag, { ...attributes, "aria-sort": current }, h("button", { type: "button", class: `sort ${current}`, onclick: () => onSort(next) }, title));
}

/** Sorts items by a column; `by` returns the value of an item. */
export function sortItems(items, order, by) {
  const sign = order.startsWith("-") ? -1 : 1;
  return items.toSorted((a, b) => sign * compare(by(a), by(b)));
}

/** Returns a table whose columns sort; the order is part of the address. A column has a title, a class, the value that it sorts by, and
 * the cell of an item. Numbers are sorted with the largest first. */
export function sortedTable(caption, columns, items, query, initial) {
  const place = h("div");
  const draw = (order) => {
    const by = columns.find(({ key }) => key === order.replace("-", ""))?.by;
    const sorted = by ? sortItems(items, order, by) : items;
    const onSort = (next) => {
      setQuery({ sort: next });
      draw(next);
      [...place.querySelectorAll("th button")].find((button) => button.closest("[aria-sort]:not([aria-sort=none])"))?.focus();
    };
    const head = ({ title, name, key, number }) => sortHead("th", { scope: "col", class: name ?? (number ? "number" : undefined) }, Object.assign([title, key], { first: number ? `-${key}` : key }), order, onSort);
    fill(place, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      h("table", null, h("caption", { class: "hidden-text" }, caption), h("thead", null, h("tr", null, columns.map(head))),
        h("tbody", null, sorted.map((item) => h("tr", null, columns.map(({ cell, name, number }) => h("td", { class: name ?? (number ? "number" : undefined) }, cell(item)))))))));
  };
  draw(query.get("sort") ?? initial ?? "");
  return place;
}

/** Returns an error in place of a whole view. */
export const errorPage = (title, error, retry) => errorState(title, error, retry, "h1");

/** Returns the placeholder of an empty view. */
export const emptyPage = (title, text, ...actions) =>
  h("div", { class: "state" }, h("h1", null, title), h("p", null, prose(text)), h("p", { class: "actions" }, ...actions));

/** Replaces the contents of an element with the result of some work, and shows its progress and its errors. */
export async function show(element, what, work) {
  fill(element, loading(what));
  try {
    fill(element, await work());
  } catch (error) {
    if (error.name === "AbortError") return;
    fill(element, errorState("This did not work", error, () => show(element, what, work)));
  }
}
