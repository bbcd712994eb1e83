// Recorded strategic merges and applies, through this package: the same files as the tests in Rust and Python.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { test } from "node:test";
import { Conflict, TenureError, Types, apply, patch } from "tenure";

const folder = join(process.env.TENURE_REPOSITORY, "crates/tenure-patch/tests/vectors");

// JSON.parse does not tell 80 from 80.0, nor 2^53 from 2^53 + 1: these lines say nothing to a program in JavaScript.
const LOST = new Set(["hand-port-int-float", "hand-port-big", "hand-port-two-way-int-float", "hand-diff-int-float"]);

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])]));
}

// JavaScript has one kind of number.
const plain = (value) => JSON.parse(JSON.stringify(value, (_, value) => (typeof value === "bigint" ? Number(value) : value)));

function same(line, found, expected) {
  const [a, b] = line.unordered ? [sorted(plain(found)), sorted(plain(expected))] : [plain(found), plain(expected)];
  try {
    assert.deepEqual(a, b);
    return true;
  } catch {
    return false;
  }
}

function judge(file, line) {
  const options = { compatibility: file === "patch-merge-key.jsonl" ? "kubernetes+ClientMergeKeys" : "kubernetes" };
  if (line.schema) options.schema = Types.ofSchema(line.schema);
  else options.kind = line.kind;
  const input = (name) => (line[`${name}_text`] === undefined ? line[name] ?? null : JSON.parse(line[`${name}_text`]));
  const applied = (change) => patch.strategicMerge(input(line.op === "three-way" ? "current" : "original"), change, options);
  if (line.op === "round-trip") {
    const change = patch.twoWay(input("original"), input("modified"), { ...options, keys: "recommended" });
    return same(line, applied(change), input("modified")) ? undefined : "does not lead to the modified document";
  }
  let result, error;
  try {
    if (line.op === "apply") result = patch.strategicMerge(input("original"), input("patch"), options);
    else if (line.op === "two-way") result = patch.twoWay(input("original"), input("modified"), options);
    else result = patch.threeWay(input("modified"), input("current"), { ...options, lastApplied: input("original") ?? {}, overwrite: line.overwrite });
  } catch (thrown) {
    error = thrown;
  }
  const problems = (line.any_of ?? [line.openapi ?? line]).map((recorded) => {
    if (error) {
      if (recorded.error === undefined) return `throws ${error}`;
      return error instanceof Conflict === Boolean(recorded.conflict) ? undefined : `conflict: ${error}`;
    }
    if (!("result" in recorded)) return `gives ${JSON.stringify(plain(result))}, recorded ${recorded.error}`;
    if (!same(line, result, recorded.result)) return `gives ${JSON.stringify(plain(result))}, recorded ${JSON.stringify(recorded.result)}`;
    if ("applied" in recorded && !same(line, applied(result), recorded.applied)) return "another result when applied";
    return undefined;
  });
  return problems.includes(undefined) ? undefined : problems[0];
}

test("every recorded strategic merge has its outcome", () => {
  let total = 0;
  const problems = [];
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".jsonl"))) {
    for (const text of readFileSync(join(folder, file), "utf8").split("\n").filter((text) => text.trim())) {
      const line = JSON.parse(text);
      total += 1;
      if (LOST.delete(line.id)) continue;
      const problem = judge(file, line);
      if (problem) problems.push(`${file}: ${line.id}: ${problem}`);
    }
  }
  assert.deepEqual(problems, [], `${problems.length} of ${total}`);
  assert.equal(LOST.size, 0);
  assert.ok(total > 600, String(total));
});

const scenarios = join(process.env.TENURE_REPOSITORY, "conformance/scenarios");
// Recordings have UID for any uid, and TIME for any time.
const UID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

const isObject = (answer) => Boolean(answer?.kind && !["Status", "Table"].includes(answer.kind) && answer.metadata);
const isTrue = (flag) => flag !== undefined && !["0", "false"].includes(flag.toLowerCase());

// Yields recorded applies to built-in kinds whose live object is known.
function* recordedApplies() {
  for (const file of readdirSync(scenarios).filter((name) => /^ssa-.*\.json$/.test(name)).sort()) {
    for (const { name, steps } of JSON.parse(readFileSync(join(scenarios, file), "utf8"))) {
      let stored = {};
      for (const { do: verb, path = "", type, body, ignore, query = {}, expect = {} } of steps) {
        const answer = expect.body;
        const isApply = verb === "PATCH" && type === "application/apply-patch+yaml" && typeof body === "object" && body !== null;
        const isNamed = [6, 7].includes(path.split("/").length - 1);
        if (isApply && isNamed && typeof answer === "object" && answer !== null && !ignore?.length) {
          yield { name, live: stored[path], body, code: expect.code, answer, query };
        }
        if ("dryRun" in query) continue;
        if (["PUT", "PATCH", "POST", "DELETE"].includes(verb) && !isObject(answer)) {
          if ((expect.code ?? 0) < 300) stored = {};
        } else if (isObject(answer) && verb !== "DELETE") {
          const at = verb === "POST" ? `${path}/${answer.metadata.name}` : path;
          stored = at.split("/").pop() === answer.metadata.name ? { [at]: answer } : {};
        } else stored = {};
      }
    }
  }
}

const managers = (object) => (object.metadata.managedFields ?? []).map(({ time, ...entry }) => JSON.stringify(sorted(entry))).sort();

test("recorded applies have their conflicts and owners", () => {
  const problems = [];
  let [succeeded, contested] = [0, 0];
  for (const { name, live, body, code, answer, query } of recordedApplies()) {
    const [manager, group] = [query.fieldManager, body.apiVersion ?? ""];
    if (typeof manager !== "string" || !manager || group.includes("example") || group.startsWith("autoscaling")) continue;
    const isConflict = code === 409 && String(answer.message).startsWith("Apply failed");
    if (!isConflict && !([200, 201].includes(code) && isObject(answer))) continue;
    // The object was created before, and the recording does not show it.
    if (live === undefined && (isConflict || code === 200)) continue;
    const known = live && JSON.parse(JSON.stringify(live).replaceAll('"TIME"', '"2026-01-01T00:00:00Z"'));
    try {
      const applied = apply(known ?? null, body, manager, { force: isTrue(query.force) });
      succeeded += 1;
      if (isConflict) problems.push(`${name}: no conflict, recorded ${answer.message}`);
      else if (!isDeepStrictEqual(managers(applied.object), managers(answer))) problems.push(`${name}: other managers`);
    } catch (error) {
      if (!(error instanceof TenureError)) throw error;
      if (!(error instanceof Conflict)) problems.push(`${name}: ${error}`);
      else {
        contested += 1;
        if (!isConflict || error.message.replace(UID, "UID") !== answer.message) problems.push(`${name}: ${error}, recorded ${answer.message}`);
      }
    }
  }
  assert.deepEqual(problems, [], `${problems.length} of ${succeeded + contested}`);
  // As many as through the package for Python.
  assert.deepEqual([succeeded, contested], [224, 36]);
});
