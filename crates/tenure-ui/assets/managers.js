// How managers look: each has a colour, the same in all views, and an operation and an age in words.

import { h } from "./dom.js";
import { address } from "./navigation.js";

const COLOURS = 12;
const STORED = "manager-colours";
const taken = remembered();
const used = new Array(COLOURS).fill(0);
for (const number of taken.values()) used[number] += 1;

/** Returns the colours that managers had on an earlier visit, so that they keep them. */
function remembered() {
  try {
    const stored = JSON.parse(localStorage.getItem(STORED) ?? "[]");
    return new Map(stored.filter(([name, number]) => typeof name === "string" && number >= 0 && number < COLOURS).slice(-500));
  } catch {
    return new Map();
  }
}

/** Returns the class of a manager's colour. A colour that another manager has is avoided while there are others. */
export function colour(name) {
  let number = taken.get(name);
  if (number === undefined) {
    let hash = 7;
    for (const character of name) hash = (hash * 31 + character.codePointAt(0)) >>> 0;
    number = hash % COLOURS;
    const fewest = Math.min(...used);
    while (used[number] > fewest) number = (number + 1) % COLOURS;
    used[number] += 1;
    taken.set(name, number);
    localStorage.setItem(STORED, JSON.stringify([...taken]));
  }
  return `m m${number}`;
}

/** Returns the operation of an owner, with the subresource if there is one. */
export const operation = (owner) => (owner.subresource ? `${owner.operation}/${owner.subresource}` : owner.operation);

const UNITS = [["d", 86400, 172800], ["h", 3600, 7200], ["m", 60, 120], ["s", 1, 0]];

/** Returns a number of seconds in one unit. */
function duration(seconds) {
  const [letter, size] = UNITS.find(([, , from]) => seconds >= from);
  return `${Math.floor(seconds / size)}${letter}`;
}

/** Returns the age of a time in one unit. */
export const age = (time) => (time ? duration(Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000))) : "");

/** Returns the time between two times in one unit, at least a second. */
export const span = (from, to) => duration(Math.max(1, Math.round((Date.parse(to) - Date.parse(from)) / 1000)));

/** Returns how long ago a time is, in words. */
export const ago = (time) => (age(time) === "0s" ? "now" : `${age(time)} ago`);

/** Returns how recent a time is: 1 for now, 0 for half a year ago or unknown. */
export function heat(time) {
  if (!time) return 0;
  const seconds = Math.max(1, (Date.now() - Date.parse(time)) / 1000);
  return Math.max(0, 1 - Math.log(1 + seconds / 60) / Math.log(1 + 180 * 1440));
}

/** Returns the address of what a manager owns. */
export const managerAddress = (name, query) => address("manager", [name], query);

/** Returns the name of a manager, which leads to what it owns. */
export const managerLink = (name) => h("a", { class: "name", href: managerAddress(name), title: `What ${name} owns` }, name);

const titleOf = (owner) => [owner.manager, owner.operation && operation(owner), owner.time && `since ${owner.time}`].filter(Boolean).join(" · ");

/** Returns a manager as a small label. */
export const label = (owner) => h("span", { class: `chip ${colour(owner.manager)}`, title: titleOf(owner) }, h("i", { class: "dot" }), h("b", null, owner.manager));

/** Returns a manager as a small label that leads to what it owns. */
export const chip = (owner) => h("a", { class: `chip ${colour(owner.manager)}`, title: titleOf(owner), href: managerAddress(owner.manager) }, h("i", { class: "dot" }), h("b", null, owner.manager));

/** Returns a manager with its dot, as text lists it. */
export const who = (name) => h("span", { class: `who ${colour(name)}` }, h("i", { class: "dot" }), managerLink(name));

/** Returns a manager with its operation and age, as panels list it. */
export function described(owner) {
  return h("span", { class: `who ${colour(owner.manager)}` },
    h("i", { class: "dot" }), managerLink(owner.manager),
    h("span", { class: "muted" }, operation(owner)),
    owner.time && h("time", { class: "muted", datetime: owner.time, title: owner.time }, ago(owner.time)));
}

/** Returns owners as words, for screen readers. */
export const inWords = (owners) => owners.map((owner) => `${owner.manager}, ${operation(owner)}`).join(" and ");

/** Returns a count of bytes in words. */
export const bytes = (count) => (count < 1000 ? `${count} B` : count < 1e6 ? `${(count / 1000).toFixed(1)} kB` : `${(count / 1e6).toFixed(1)} MB`);
