// The owners of every line of a Kubernetes object, computed from its own managedFields: no server, no schema, no dependency. What is
// owned as a unit (an atomic list or map) is recognized by the fact that a manager owns it and none owns anything inside.

import { byCodePoint, toLines } from "./yaml.js";

/** Fields that identify an object or that the server writes; they have no owner. */
const SERVER_MAINTAINED = new Set([".apiVersion", ".kind", ".metadata.name", ".metadata.namespace", ".metadata.uid", ".metadata.resourceVersion",
  ".metadata.generation", ".metadata.creationTimestamp", ".metadata.deletionTimestamp", ".metadata.selfLink"]);

/** Fields of built-in kinds whose objects are owned as a unit. Other objects are owned field by field. */
const ATOMIC = new Set(["claimRef", "configMapKeyRef", "controllerExpandSecretRef", "controllerPublishSecretRef", "dataSource", "fieldRef", "fileKeyRef",
  "involvedObject", "labelSelector", "matchConstraints", "matchResources", "namespaceSelector", "nodeExpandSecretRef", "nodePublishSecretRef", "nodeSelector",
  "nodeStageSecretRef", "nodeTopology", "objectSelector", "paramKind", "paramRef", "podSelector", "port", "preference", "regarding", "related", "required",
  "requiredDuringSchedulingIgnoredDuringExecution", "resource", "resourceFieldRef", "roleRef", "scaleTargetRef", "scopeSelector", "secretKeyRef", "secretRef",
  "selector", "target", "targetRef"]);

/** Whether an object that a manager owns, and nobody owns inside, is owned as a unit. Of custom resources the schema is unknown. */
function isAtomic(apiVersion, pointer) {
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  if (group.includes(".") && !group.endsWith(".k8s.io")) return true;
  // An item without owned fields is owned as a unit.
  if (typeof pointer.at(-1) === "number") return true;
  // The same words are ordinary structures here.
  if (apiVersion === "autoscaling/v2" || pointer.includes("envFrom")) return false;
  return ATOMIC.has(pointer.at(-1));
}

const isContainer = (value) => value !== null && typeof value === "object" && (Array.isArray(value) ? value.length : Object.keys(value).length) > 0;

/** Returns the entries of managedFields that can be read: each with its owner and its fields. */
function managersOf(object) {
  const entries = object?.metadata?.managedFields;
  if (!Array.isArray(entries)) return [];
  return entries.filter((entry) => entry?.fieldsType === "FieldsV1" && entry.fieldsV1 !== null && typeof entry.fieldsV1 === "object").map((entry) => ({
    owner: { manager: entry.manager ?? "", operation: entry.operation ?? "", subresource: entry.subresource ?? "", apiVersion: entry.apiVersion ?? "", time: entry.time },
    fields: entry.fieldsV1,
  }));
}

/** Whether a set contains the place itself: it is a leaf, or says so with a dot. */
const includes = (set) => Object.keys(set).length === 0 || Object.hasOwn(set, ".");

const hasInside = (set) => Object.keys(set).some((name) => name !== ".");

/** Compares values as JSON does, whatever the order of their members. */
function same(a, b) {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object" || Array.isArray(a) !== Array.isArray(b)) return false;
  const [names, others] = [Object.keys(a), Object.keys(b)];
  return names.length === others.length && names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the keys and values by which sets name the items of a list, each parsed once. */
function itemNames(sets) {
  const names = new Map();
  for (const [, set] of sets) {
    for (const name of Object.keys(set)) {
      if (names.has(name)) continue;
      const rest = name.slice(2);
      if (name.startsWith("k:")) names.set(name, { kind: "key", value: parsed(rest) });
      else if (name.startsWith("v:")) names.set(name, { kind: "value", value: parsed(rest) });
      else if (name.startsWith("i:")) names.set(name, { kind: "index", value: Number(rest) });
    }
  }
  return names;
}

/** Returns for each item of a list the names under which sets own it. */
function itemsByName(items, sets) {
  const names = itemNames(sets);
  const keyNames = [...names.values()].find((name) => name.kind === "key" && name.value)?.value;
  const index = new Map();
  const add = (identity, name) => index.set(identity, [...(index.get(identity) ?? []), name]);
  for (const [name, { kind, value }] of names) {
    if (value !== undefined) add(`${kind} ${canonical(value)}`, name);
  }
  const identified = items.map((item, at) => {
    const found = [...(index.get(`value ${canonical(item)}`) ?? []), ...(index.get(`index ${at}`) ?? [])];
    if (keyNames && item !== null && typeof item === "object" && !Array.isArray(item)) {
      const key = {};
      for (const name of Object.keys(keyNames)) if (Object.hasOwn(item, name)) key[name] = item[name];
      // A key that the object leaves out has its default, which only the set tells.
      const exact = index.get(`key ${canonical(key)}`);
      found.push(...(exact ?? [...names].filter(([, name]) => name.kind === "key" && covers(name.value, key)).map(([name]) => name)));
    }
    return found;
  });
  // Items with the same key cannot be told apart: none of them has an owner of its own. Of equal values the first one has.
  const times = new Map();
  for (const name of identified.flat()) times.set(name, (times.get(name) ?? 0) + 1);
  const isOwn = (name) => (name.startsWith("k:") ? times.get(name) === 1 : times.delete(name));
  return identified.map((found) => found.filter(isOwn));
}

/** Whether a key has all members of another one. */
const covers = (key, part) => key !== undefined && Object.keys(part).length > 0 && Object.keys(part).every((name) => same(key[name], part[name]));

function canonical(value) {
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  return `{${Object.keys(value).sort(byCodePoint).map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join()}}`;
}

const word = (name) => (/^[\p{Alphabetic}\p{N}_$-]+$/u.test(name) && !/^[-+]?\d+$/.test(name) ? name : JSON.stringify(name));

/** Returns the element of a path for an item, as Tenure writes it. */
function itemElement(names, at) {
  const name = names.find((each) => each.startsWith("k:")) ?? names.find((each) => each.startsWith("v:"));
  if (name === undefined) return `[${at}]`;
  const value = parsed(name.slice(2));
  if (name.startsWith("v:")) return `[=${canonical(value)}]`;
  return `[${Object.keys(value).sort(byCodePoint).map((key) => `${word(key)}=${canonical(value[key])}`).join()}]`;
}

class Places {
  constructor(apiVersion) {
    this.apiVersion = apiVersion;
    this.byPointer = new Map();
  }

  /** Records a value and everything inside it that has owners of its own. `sets` are pairs of a manager's number and its fields here. */
  add(value, pointer, path, sets) {
    const key = JSON.stringify(pointer);
    const inside = sets.filter(([, set]) => hasInside(set));
    // A list that no manager owns is shown as one: its keys, if it has any, are unknown.
    const isUnit = inside.length === 0 && (Array.isArray(value) || (sets.length > 0 && isAtomic(this.apiVersion, pointer)));
    if (!isContainer(value) || isUnit) {
      const owners = sets.filter(([, set]) => includes(set)).map(([number]) => number);
      this.byPointer.set(key, { path, owners, state: SERVER_MAINTAINED.has(path) ? "" : owners.length > 0 ? "owned" : "unowned" });
      return;
    }
    // A manager that owns a field inside is shown there.
    const owners = sets.filter(([, set]) => includes(set) && !hasInside(set)).map(([number]) => number);
    if (path !== "") this.byPointer.set(key, { path, owners, state: owners.length > 0 ? "owned" : "" });
    this.parts(value, pointer, path, inside);
  }

  parts(value, pointer, path, sets) {
    const below = (names) => sets.flatMap(([number, set]) => {
      const name = names.find((each) => Object.hasOwn(set, each));
      return name === undefined || set[name] === null || typeof set[name] !== "object" ? [] : [[number, set[name]]];
    });
    if (!Array.isArray(value)) {
      for (const name of Object.keys(value)) this.add(value[name], [...pointer, name], `${path}.${word(name)}`, below([`f:${name}`]));
      return;
    }
    const names = itemsByName(value, sets);
    value.forEach((item, at) => this.add(item, [...pointer, at], `${path}${itemElement(names[at], at)}`, below(names[at])));
  }

  /** Returns the place of a line: that of its value, or of the unit that it is part of. */
  of(pointer) {
    for (let length = pointer.length; length > 0; length -= 1) {
      const place = this.byPointer.get(JSON.stringify(pointer.slice(0, length)));
      if (place) return place;
    }
    return { path: "", owners: [], state: "" };
  }
}

/**
 * Returns an object with the owners of every line.
 *
 * `owners` are the managers; each line has its text, the path of its field, the numbers of its owners, and a state: `owned`, `unowned`
 * (such as a default), or empty if it cannot be owned.
 */
export function blame(object) {
  if (object === null || typeof object !== "object" || Array.isArray(object)) throw new TypeError("a Kubernetes object is needed");
  const managers = managersOf(object);
  const { managedFields: _, ...metadata } = object.metadata ?? {};
  const shown = object.metadata === undefined ? object : { ...object, metadata };
  const places = new Places(String(object.apiVersion ?? ""));
  places.add(shown, [], "", managers.map(({ fields }, number) => [number, fields]));
  const lines = toLines(shown).map(({ text, at }) => ({ text, ...places.of(at) }));
  return { owners: managers.map(({ owner }) => owner), lines };
}

/** Returns the operation of an owner, with the subresource if there is one. */
export const operation = (owner) => (owner.subresource ? `${owner.operation}/${owner.subresource}` : owner.operation);

const UNITS = [["d", 86400, 172800], ["h", 3600, 7200], ["m", 60, 120], ["s", 1, 0]];

/** Returns the age of a time in one unit. */
export function age(time, now = Date.now()) {
  const from = Date.parse(time ?? "");
  if (Number.isNaN(from)) return "";
  const seconds = Math.max(0, Math.floor((now - from) / 1000));
  const [letter, size] = UNITS.find(([, , least]) => seconds >= least);
  return `${Math.floor(seconds / size)}${letter}`;
}

const HUES = [262, 150, 40, 325, 205, 95, 15, 235, 65, 178, 295, 122];

/** Returns the hue of each manager of an object. A hue that another manager has is avoided while there are others. */
export function hues(owners) {
  const taken = new Map();
  for (const { manager } of owners) {
    if (taken.has(manager)) continue;
    let hash = 7;
    for (const character of manager) hash = (hash * 31 + character.codePointAt(0)) >>> 0;
    let number = hash % HUES.length;
    const used = [...taken.values()];
    if (used.length < HUES.length) while (used.includes(HUES[number])) number = (number + 1) % HUES.length;
    taken.set(manager, HUES[number]);
  }
  return taken;
}
