// The program that the package puts on the PATH.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { version } from "tenure";

const run = (args, input) => spawnSync("npx", ["--no-install", "tenure", ...args], { input, encoding: "utf8" });

test("the program is the binary", () => {
  assert.equal(run(["--version"]).stdout.split("\n")[0], `tenure ${version}`);
  const shown = run(["fields", "decode", "-"], '[4,"spec",[0,"replicas"]]');
  assert.deepEqual([shown.status, shown.stdout], [0, ".spec.replicas\n"]);
  assert.equal(run(["blmae"]).status, 1);
});
