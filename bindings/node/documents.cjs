// JavaScript's values as JSON and back. What JSON has no form for is an error that says where it is: nothing is changed without a word.
"use strict";

const { randomUUID } = require("node:crypto");

const DEPTH = 256;
const LEAST = -(2n ** 63n);
const MOST = 2n ** 64n - 1n;

class Problem {
  constructor(kind, what) {
    this.kind = kind;
    this.what = what;
    this.upwards = [];
  }

  below(step) {
    this.upwards.push(step);
    return this;
  }

  raise(name) {
    // A circle is as deep as the limit: its path would say nothing more.
    const path = this.upwards.reverse().slice(0, 16).join("");
    return new this.kind(`${name}${path}: ${this.what}`);
  }
}

const NAMES = { undefined: "undefined is not part of a document; leave the field out, or write null" };

// Returns what is wrong with a value, or undefined. Remembers in `seen` whether there are integers that JSON.stringify refuses.
function problem(value, depth, seen) {
  switch (typeof value) {
    case "string":
      if (value.isWellFormed()) return undefined;
      return new Problem(RangeError, "the text has a surrogate without its partner, which is no character");
    case "number":
      if (Number.isFinite(value)) return undefined;
      return new Problem(RangeError, `${value} is no number that a document can have`);
    case "boolean":
      return undefined;
    case "bigint":
      seen.large = true;
      if (value >= LEAST && value <= MOST) return undefined;
      return new Problem(RangeError, "the integer does not fit 64 bits; write it as a string, or as a number");
    case "object":
      return value === null ? undefined : inside(value, depth, seen);
    default:
      return new Problem(TypeError, NAMES[typeof value] ?? `a ${typeof value} is not part of a document`);
  }
}

function inside(value, depth, seen) {
  if (depth >= DEPTH) return new Problem(RangeError, `there are more than ${DEPTH} levels, or it contains itself`);
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const found = problem(value[at], depth + 1, seen);
      if (found) return found.below(`[${at}]`);
    }
    return undefined;
  }
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  if (tag !== "Object" || typeof value.toJSON === "function") {
    const right = {
      Date: "write it as text, such as value.toISOString()",
      Uint8Array: "write it as text, such as Buffer.from(value).toString('base64')",
      Map: "make it an object, such as Object.fromEntries(value)",
      Set: "make it an array, such as [...value]",
    };
    const name = tag === "Object" ? value.constructor?.name ?? "object" : tag;
    return new Problem(TypeError, `a ${name} is not part of a document; ${right[tag] ?? "documents have plain objects and arrays"}`);
  }
  for (const name of Object.keys(value)) {
    if (!name.isWellFormed()) return new Problem(RangeError, "a key has a surrogate without its partner, which is no character");
    const found = problem(value[name], depth + 1, seen);
    if (found) return found.below(`.${name}`);
  }
  return undefined;
}

// Returns a document as JSON.
function written(name, value) {
  const seen = { large: false };
  const found = problem(value, 0, seen);
  if (found) throw found.raise(name);
  if (!seen.large) return JSON.stringify(value);
  // JSON.stringify has no form for integers of any size: they are marked, and the marks removed from the text.
  const mark = `integer-${randomUUID()}-`;
  const text = JSON.stringify(value, (_, value) => (typeof value === "bigint" ? mark + value : value));
  return text.replace(new RegExp(`"${mark}(-?[0-9]+)"`, "g"), "$1");
}

// Returns arguments as the JSON of an object. Those that are undefined have their defaults.
function writtenArguments(given) {
  const fields = [];
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) fields.push(`${JSON.stringify(name)}:${written(name, value)}`);
  }
  return `{${fields.join(",")}}`;
}

// Returns the document of JSON; integers that numbers do not hold are BigInts.
function read([text, ...large]) {
  let value = JSON.parse(text);
  for (const found of large) {
    const { path, digits } = JSON.parse(found);
    if (path.length === 0) value = BigInt(digits);
    else path.slice(0, -1).reduce((at, step) => at[step], value)[path[path.length - 1]] = BigInt(digits);
  }
  return value;
}

module.exports = { read, written, writtenArguments };
