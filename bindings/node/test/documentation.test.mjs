// The examples of the documentation run as they stand, each as a module of its own.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

test("examples run", () => {
  const text = readFileSync(join(process.env.TENURE_REPOSITORY, "docs/javascript.md"), "utf8");
  const blocks = [...text.matchAll(/^```js\n(.*?)^```/gms)].map((found) => found[1]);
  assert.ok(blocks.length >= 2, String(blocks.length));
  const folder = mkdtempSync(join(process.cwd(), "examples-"));
  // The folder of definitions that an example names.
  mkdirSync(join(folder, "config/crd"), { recursive: true });
  try {
    blocks.forEach((block, at) => {
      writeFileSync(join(folder, `example-${at + 1}.mjs`), block);
      const { NODE_TEST_CONTEXT, ...env } = process.env;
      const done = spawnSync(process.execPath, [`example-${at + 1}.mjs`], { cwd: folder, env, encoding: "utf8" });
      assert.equal(done.status, 0, `example ${at + 1}:\n${done.stdout}${done.stderr}`);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
