// The lines of an object with the gutter of owners. It is a list of options: arrow keys move, Enter asks why, left and right fold.

import { h } from "./dom.js";
import { age, colour, heat, inWords, operation } from "./managers.js";
import { VirtualList } from "./virtual-list.js";

const [TEXT, STATE, OWNERS, PATH] = [0, 1, 2, 3];

class ObjectLines extends VirtualList {
  constructor() {
    super();
    this.rowHeight = 24;
    this.folded = new Set();
    this.active = -1;
    this.flashed = new Set();
    this.options = {};
  }

  connectedCallback() {
    super.connectedCallback();
    this.setAttribute("role", "listbox");
    this.setAttribute("tabindex", "0");
    this.setAttribute("aria-label", "Lines of the object with their owners");
    this.space.setAttribute("role", "presentation");
    this.addEventListener("keydown", (event) => this.onKey(event));
    this.addEventListener("click", (event) => this.onClick(event));
  }

  /** Shows an object as the endpoint describes it. */
  show(view) {
    const folded = new Set([...this.folded].map((at) => this.keyOf(at)));
    this.view = view;
    this.lines = view.lines;
    this.ends = foldEnds(view.lines);
    this.folded = new Set();
    if (folded.size > 0) this.lines.forEach((line, at) => this.ends[at] && folded.has(this.keyOf(at)) && this.folded.add(at));
    this.arrange();
  }

  keyOf(at) {
    return `${this.lines[at]?.[PATH]} ${this.lines[at]?.[TEXT]}`;
  }

  /** Chooses the visible lines: those of one manager with their parents, without folded ones. */
  arrange() {
    if (!this.lines) return;
    const wanted = this.options.manager;
    let kept;
    if (wanted) {
      kept = new Uint8Array(this.lines.length);
      const open = [];
      this.lines.forEach((line, at) => {
        while (open.length > 0 && open[open.length - 1][1] <= at) open.pop();
        if (line[OWNERS].some((number) => this.view.owners[number].manager === wanted)) {
          kept[at] = 1;
          for (const [parent] of open) kept[parent] = 1;
        }
        if (this.ends[at]) open.push([at, this.ends[at]]);
      });
    }
    this.seen = [];
    for (let at = 0; at < this.lines.length; at += 1) {
      if (!kept || kept[at]) this.seen.push(at);
      if (this.folded.has(at)) at = this.ends[at] - 1;
    }
    this.update(this.seen.length);
  }

  foldAll(on) {
    this.folded = new Set();
    if (on) this.ends.forEach((end, at) => end && indent(this.lines[at][TEXT]) <= 2 && this.folded.add(at));
    this.arrange();
  }

  /** Marks the lines of paths that have just changed. */
  flash(paths) {
    this.flashed = new Set(paths);
    for (const row of this.rows) row.index = -1;
    this.render();
    clearTimeout(this.flashing);
    this.flashing = setTimeout(() => {
      this.flashed = new Set();
      for (const row of this.rows) row.index = -1;
      this.render();
    }, 4000);
  }

  draw = (row, index) => {
    const at = this.seen[index];
    const [shown, state, numbers, path] = this.lines[at];
    const text = this.options.masked && isSecret(path) ? mask(shown) : shown;
    const owners = numbers.map((number) => this.view.owners[number]);
    const previous = index > 0 ? this.lines[this.seen[index - 1]] : undefined;
    const same = previous && previous[STATE] === state && previous[OWNERS].join() === numbers.join() && owners.length > 0;
    const first = owners[0];
    const newest = owners.map((owner) => owner.time ?? "").sort().at(-1);
    const selected = path !== "" && path === this.options.path;
    const folded = this.folded.has(at);
    row.id = `line-${at}`;
    row.className = ["row", state === "u" ? "unowned" : state === "" ? "plain" : "owned", this.options.dim && state !== "o" && "dim",
      this.flashed.has(path) && "flash", at === this.active && "active"].filter(Boolean).join(" ");
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(selected));
    row.setAttribute("aria-setsize", String(this.seen.length));
    row.setAttribute("aria-posinset", String(index + 1));
    row.style.setProperty("--heat", this.options.heat && newest ? heat(newest).toFixed(3) : "0");
    row.replaceChildren(
      h("span", { class: "gutter", "aria-hidden": "true" },
        h("span", { class: "marks" }, owners.slice(0, 4).map((owner) => h("i", { class: `mark ${colour(owner.manager)}` }))),
        !same && first && h("span", { class: `owner ${colour(first.manager)}`, title: inWords(owners) }, first.manager),
        !same && owners.length > 1 && h("span", { class: "more" }, `+${owners.length - 1}`),
        !same && first && h("span", { class: "meta" }, `${operation(first)} ${age(first.time)}`),
        state === "u" && h("span", { class: "owner none" }, "no owner")),
      h("span", { class: `fold${this.ends[at] ? folded ? " folded" : " open" : ""}` }),
      code(text, folded),
      h("span", { class: "hidden-text" }, `${folded ? ", folded" : ""}. ${state === "o" ? `Owned by ${inWords(owners)}` : state === "u" ? "No owner" : ""}`));
  };

  onKey(event) {
    const index = this.seen.indexOf(this.active);
    const at = this.active;
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -Infinity, End: Infinity }[event.key];
    if (move !== undefined) this.activate(this.seen[Math.max(0, Math.min(this.seen.length - 1, index + move))]);
    else if (event.key === "ArrowLeft" && at >= 0) this.fold(this.ends[at] && !this.folded.has(at) ? at : this.parentOf(at), true);
    else if (event.key === "ArrowRight" && at >= 0) this.fold(at, false);
    else if ((event.key === "Enter" || event.key === " ") && at >= 0) this.ask(at);
    else return;
    event.preventDefault();
  }

  parentOf(at) {
    for (let parent = at - 1; parent >= 0; parent -= 1) if (this.ends[parent] > at) return parent;
    return at;
  }

  onClick(event) {
    const row = event.target.closest(".row");
    if (!row) return;
    const at = this.seen[row.index];
    if (event.target.classList.contains("fold") && this.ends[at]) return this.fold(at, !this.folded.has(at));
    this.activate(at);
    this.ask(at);
  }

  fold(at, on) {
    if (!this.ends[at]) return;
    if (on) this.folded.add(at);
    else this.folded.delete(at);
    this.arrange();
    this.activate(at);
  }

  activate(at) {
    if (at === undefined) return;
    this.active = at;
    this.reveal(this.seen.indexOf(at));
    for (const row of this.rows) row.classList.toggle("active", this.seen[row.index] === at);
    this.setAttribute("aria-activedescendant", `line-${at}`);
  }

  ask(at) {
    const path = this.lines[at][PATH];
    if (path) this.dispatchEvent(new CustomEvent("ask", { detail: path }));
  }

  /** Marks the field that is explained. */
  select(path) {
    this.options.path = path;
    for (const row of this.rows) row.setAttribute("aria-selected", String(Boolean(path) && this.lines[this.seen[row.index]]?.[PATH] === path));
    const at = path && this.active < 0 ? this.lines.findIndex((line) => line[PATH] === path) : -1;
    if (at >= 0) this.activate(at);
  }
}

/** Whether a path of a Secret is a secret value. */
export const isSecret = (path) => /^\.(data|stringData)\./.test(path);

/** Hides the value of a line. */
export const mask = (text) => (/^\s*[^\s:]+:/.exec(text)?.[0] ?? text.replace(/\S.*/, "")) + " ••••••";

const indent = (text) => text.length - text.trimStart().length;

/** Returns for each line the end of its content, or 0 if it has none. */
function foldEnds(lines) {
  const ends = new Array(lines.length).fill(0);
  const open = [];
  const close = (at) => {
    const { start } = open.pop();
    if (at > start + 1) ends[start] = at;
  };
  lines.forEach(([text], at) => {
    if (text.trim() === "") return;
    const depth = indent(text);
    const item = text.startsWith("- ", depth);
    // The items of a list stand as deep as its name.
    while (open.length > 0 && (open.at(-1).depth > depth || (open.at(-1).depth === depth && !(item && !open.at(-1).item)))) close(at);
    open.push({ start: at, depth, item });
  });
  while (open.length > 0) close(lines.length);
  return ends;
}

/** Returns a line of YAML with its key and value marked. */
function code(text, folded) {
  const match = /^(\s*(?:- )*)([^\s"'#][^:]*|"[^"]*"):(?= |$)(.*)$/.exec(text);
  const tail = folded && h("span", { class: "ellipsis" }, " …");
  if (!match) return h("span", { class: "code" }, text, tail);
  return h("span", { class: "code" }, match[1], h("span", { class: "key" }, match[2]), ":", h("span", { class: "val" }, match[3]), tail);
}

customElements.define("object-lines", ObjectLines);
