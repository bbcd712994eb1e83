// What is no document is an error of JavaScript with its path; everything else comes back as it went in.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import * as tenure from "tenure";

const echoed = (value) => tenure.patch.jsonMerge({}, { value }, { dialect: "standard" }).value;

test("documents come back as they went in", () => {
  const values = [true, 0, -1, 2 ** 53 - 1, 0.5, -1.25e300, 5e-324, "", "ä\u0000\u{1f600}", [], {}, [[], [{}], [null, 1, "x"]]];
  const large = [2n ** 63n - 1n, -(2n ** 63n), 2n ** 64n - 1n, [1, { a: 2n ** 60n }]];
  for (const value of [...values, { "": { "a.b/c~d": ["\n"] } }, ...large]) assert.deepEqual(echoed(value), value);
  assert.equal(echoed(5n), 5);
  assert.equal(echoed(1e21), 1e21);
});

test("what is no document is an error with its path", () => {
  const loop = [];
  loop.push(loop);
  for (const [value, kind, part] of [
    ["\ud800", RangeError, /surrogate/],
    [{ "\udfff": 1 }, RangeError, /surrogate/],
    [2n ** 64n, RangeError, /does not fit 64 bits/],
    [NaN, RangeError, /NaN/],
    [Infinity, RangeError, /Infinity/],
    [{ a: undefined }, TypeError, /^patch\.value\.a: undefined is not part of a document; leave the field out/],
    [[1, , 2], TypeError, /^patch\.value\[1\]: undefined/],
    [new Date(0), TypeError, /Date is not part of a document; write it as text/],
    [new Uint8Array(1), TypeError, /base64/],
    [new Map(), TypeError, /Object\.fromEntries/],
    [new Set(), TypeError, /make it an array/],
    [() => 1, TypeError, /a function is not part/],
    [Symbol("a"), TypeError, /a symbol is not part/],
    [loop, RangeError, /more than 256 levels, or it contains itself/],
  ]) {
    assert.throws(() => echoed(value), (error) => error instanceof kind && part.test(error.message) && error.message.startsWith("patch.value"));
  }
});

test("a panic is an exception", () => {
  const native = createRequire(import.meta.url)(createRequire(import.meta.url).resolve("tenure").replace("index.cjs", "native.cjs"));
  assert.throws(() => native.raised(), /a defect of tenure: asked for/);
});

test("import and require give the same", () => {
  const required = createRequire(import.meta.url)("tenure");
  assert.equal(required.apply, tenure.apply);
  assert.equal(required.Conflict, tenure.Conflict);
});
